"""Bombs: processes, threads, memory, descriptors, files, processors. Every control is bounded and harmless."""
import os
import re

from harness import row

MIB = 1 << 20


def limit_denial(case, answer, operation, what):
    """The result says which limit was reached."""
    found = [denial for denial in answer['denials'] if denial.get('kind') == 'limit'
             and denial.get('operation') == operation]
    case.check(found, f'{what}: no denial of kind limit for {operation}: {answer["denials"]}', answer['outcome'])


def made(text):
    match = re.search(r'made (\d+)', text)
    return int(match[1]) if match else -1


# -- A-res-1: processes and threads -----

def refuse_crowd(attack, name):
    @row('A-res-1', f'{name} stop at the limit of processes, with a typed reason')
    def refuse(case):
        argv = [case.attack, attack, '300']
        outside = case.plain(argv)
        case.control(outside.code == 0, f'300 of them do not work outside: {outside.out}')
        case.worked(case.inside(argv), 'below the default limit of 512 it works inside')
        answer = case.result(argv, ['--processes', '64'])
        case.check('refused' in answer['stdout'], 'not stopped', answer['outcome'])
        case.check(20 <= made(answer['stdout']) <= 64, f'stopped at {made(answer["stdout"])}, the limit is 64')
        limit_denial(case, answer, 'processes', name)
        # The limit is the sandbox's own: the same user goes on outside, and in the next sandbox.
        case.worked(case.plain(argv), 'the same outside afterwards')
    refuse.__name__ = 'crowd_' + attack.replace('-', '_')
    return refuse


for crowd, crowd_name in (('forks', 'many children'), ('forks-deep', 'sessions in a chain'),
                          ('threads', 'many threads')):
    refuse_crowd(crowd, crowd_name)


@row('A-res-1', 'a limit of processes counts for the sandbox: two sandboxes do not share it')
def separate_counts(case):
    control = case.plain([case.attack, 'forks', '40'])
    case.control(control.code == 0, f'40 processes do not work outside: {control.out}')
    first = case.popen(case.sandboxed(['sh', '-c', 'for i in $(seq 40); do sleep 600 & done; echo ready; wait'],
                                      ['--processes', '50']))
    case.cleanups += [first.wait, first.kill]
    case.check(b'ready' in first.stdout.readline(), 'the first sandbox does not start')
    case.worked(case.inside([case.attack, 'forks', '40'], ['--processes', '50']), 'the second sandbox at the same time')


@row('A-res-1', 'a fork bomb is held, ends at the timeout, and the host is unhurt', only='user')
def fork_bomb(case):
    control = case.plain([case.attack, 'forks', '300'])
    case.control(control.code == 0, f'300 processes do not work outside: {control.out}')
    answer = case.result([case.attack, 'bomb'], ['--processes', '64', '--timeout', '2'])
    case.same((answer['exitCode'], answer['timedOut']), (124, True), 'exitCode and timedOut', answer['outcome'])
    limit_denial(case, answer, 'processes', 'a fork bomb')
    case.worked(case.plain([case.attack, 'forks', '300']), 'the user can start processes afterwards')


@row('A-res-1', 'a bounded storm of forks is held and ends at the timeout', only='root')
def fork_storm(case):
    control = case.plain([case.attack, 'forks', '300'])
    case.control(control.code == 0, f'300 processes do not work outside: {control.out}')
    storm = ['sh', '-c', 'i=0; while [ $i -lt 700 ]; do i=$((i + 1)); sleep 600 & done; sleep 600']
    answer = case.result(storm, ['--processes', '64', '--timeout', '2'])
    case.check(answer['exitCode'] in (124, 2), f'exitCode {answer["exitCode"]}', answer['outcome'])
    limit_denial(case, answer, 'processes', 'a storm of forks')
    case.check('fork' in answer['stderr'].lower(), 'no fork was refused', answer['outcome'])


# -- A-res-1: memory -----

def memory_hit(case, answer, what):
    case.check(answer['exitCode'] != 0 and 'worked' not in answer['stdout'], f'{what}: not stopped', answer['outcome'])
    case.check(answer['outOfMemory'], f'{what}: outOfMemory is not true', answer['outcome'])
    limit_denial(case, answer, 'memory', what)


def is_told(answer):
    """A limit that no control group holds cannot see the kernel's own memory; then the result must say so."""
    gaps = [gap['what'] for gap in answer['sandbox'].get('notEnforced', [])]
    return answer['sandbox']['limitsBy']['memory'] != 'cgroup' and any('memory' in what for what in gaps)


def refuse_memory(kind, name):
    @row('A-res-1', f'{name} beyond the limit is stopped, with a typed reason')
    def refuse(case):
        argv = [case.attack, 'memory', kind, str(300 * MIB)]
        outside = case.plain(argv)
        case.control(outside.code == 0, f'300 MiB do not work outside: {outside.out}')
        case.worked(case.inside(argv, ['--memory', '1g']), 'below the limit it works inside')
        answer = case.result(argv, ['--memory', '100m'])
        if kind not in ('flight', 'sockets') or not is_told(answer):
            memory_hit(case, answer, name)
    refuse.__name__ = f'memory_{kind}'
    return refuse


for memory_kind, memory_name in (('private', 'memory of one process'), ('shared', 'shared memory of one process'),
                                 ('memfd', 'memory in an unmapped memfd'),
                                 ('flight', 'memory in descriptors on their way over a socket'),
                                 ('sockets', 'memory in the buffers of sockets'),
                                 ('sysv', 'System V shared memory')):
    refuse_memory(memory_kind, memory_name)


@row('A-res-1', 'memory of many processes together, each below the limit, is stopped')
def memory_of_many(case):
    argv = [case.attack, 'memory', 'private', str(20 * MIB), '20']
    outside = case.plain(argv)
    case.control(outside.code == 0, f'20 times 20 MiB do not work outside: {outside.out}')
    case.worked(case.inside(argv, ['--memory', '1g']), 'below the limit it works inside')
    memory_hit(case, case.result(argv, ['--memory', '100m']), 'memory of many processes')


@row('A-res-1', 'memory in many memfds of many processes is stopped')
def memory_of_many_descriptors(case):
    argv = [case.attack, 'memory', 'memfd', str(20 * MIB), '20']
    outside = case.plain(argv)
    case.control(outside.code == 0, f'20 times 20 MiB do not work outside: {outside.out}')
    memory_hit(case, case.result(argv, ['--memory', '100m']), 'memory in many memfds')


@row('A-res-1', 'System V segments that nobody is attached to count too')
def memory_detached(case):
    argv = [case.attack, 'sysv-keep', str(320 * MIB)]
    outside = case.plain(argv)
    for number in re.findall(r'id (\d+)', outside.out):
        case.plain(['ipcrm', '-m', number])
    case.control(outside.code == 0, f'320 MiB do not work outside: {outside.out[-200:]}')
    answer = case.result(argv, ['--memory', '100m'])
    refused = answer['exitCode'] == 1 and 'refused: shmget' in answer['stdout']
    if not refused:
        memory_hit(case, answer, 'detached segments')


@row('A-res-1', 'a memory bomb that grows step by step, in a language runtime, is stopped')
def memory_growing(case):
    script = ['/usr/bin/python3', '-c',
              'held = []\nfor _ in range(300): held.append(b"x" * (1 << 20))\nprint("worked")']
    outside = case.plain(script)
    case.control(outside.out == 'worked\n', f'300 MiB do not work outside: {outside.describe()}')
    answer = case.result(script, ['--memory', '100m'])
    # Python may see its own allocation fail before the whole is too big: that is a stop at the limit as well.
    if 'MemoryError' not in answer['stderr']:
        memory_hit(case, answer, 'a growing program')
    case.check('worked' not in answer['stdout'], 'not stopped', answer['outcome'])


@row('A-res-1', 'what is stopped for its memory leaves the caller and the next run unhurt')
def memory_afterwards(case):
    argv = [case.attack, 'memory', 'private', str(300 * MIB)]
    case.control(case.plain(argv).code == 0, '300 MiB do not work outside')
    outcome = case.inside(argv, ['--memory', '100m'])
    case.check(outcome.code not in (0, 125), 'not stopped', outcome)
    case.worked(case.inside(['true'], ['--memory', '100m']), 'the next run')


# -- A-res-1: descriptors -----

@row('A-res-1', 'a descriptor bomb stops at the limit of open files')
def descriptor_bomb(case):
    argv = [case.attack, 'descriptors', '300']
    outside = case.plain(argv)
    case.control(outside.code == 0, f'300 descriptors do not work outside: {outside.out}')
    case.worked(case.inside(argv), 'below the default limit it works inside')
    inside = case.inside(argv, case.policy({'limits': {'openFiles': 64}}))
    case.refused(inside, ['EMFILE'])
    case.check(32 <= made(inside.out) <= 64, f'stopped at {made(inside.out)}, the limit is 64')


# -- A-res-4 -----

def number_of(name, outcome):
    match = re.search(name + r' (\d+)', outcome.out)
    return int(match[1]) if match else -1


@row('A-res-4', 'a command for one processor gets no second one, also when it asks for all')
def one_processor(case):
    argv = [case.attack, 'burn', '8', '700']
    outside = case.plain(argv)
    # How much it gets depends on who else is at work; that it gets more than one processor does not.
    case.control(number_of('processors', outside) > 1, f'there is one processor only: {outside.out}')
    held_by = case.result(['true'], ['--cpus', '1'])['sandbox']['limitsBy']['cpus']
    for _ in range(3):
        inside = case.inside(argv, ['--cpus', '1'])
        case.same(inside.code, 0, 'exit code', inside)
        case.check(0 < number_of('percent', inside) <= 125, 'more than one processor was used', inside)
        if held_by != 'cgroup':  # a group holds the time and not the place
            case.same(number_of('processors', inside), 1, f'processors it ran on, held by {held_by}', inside)


@row('A-res-4', 'the set of processors cannot be widened from inside, by a child or a thread either')
def widen(case):
    count = os.cpu_count()
    case.control(len(os.sched_getaffinity(0)) > 1, 'this machine has one processor')
    answer = case.result(['true'], ['--cpus', '1'])
    if answer['sandbox']['limitsBy']['cpus'] == 'cgroup':
        # The group holds the time whatever the set says; one_processor measures that.
        return
    case.denied(['processors', str(count - 1)], ['--cpus', '1'])
    for script in ('"$0" processors 1 & wait $!', 'taskset -pc 0-63 $$ >/dev/null 2>&1; "$0" processors 1'):
        inside = case.inside(['sh', '-c', script, case.attack], ['--cpus', '1'])
        case.check('processors 1\n' in inside.out, 'more than one processor', inside)


@row('A-res-4', 'scheduling above everybody else is refused', only='root')
def realtime(case):
    for policy in ('1', '2', '0'):
        case.denied(['realtime', policy], errors=['EPERM', 'EACCES'])
