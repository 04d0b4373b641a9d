"""Processes, descriptors, environment: what runs outside cannot be seen, reached or outlived."""
import os
import resource
import signal
import socket

from harness import row

CANARY = 'canary-7391-of-the-caller'


def witness(case, env=None):
    """A harmless process of the same user outside."""
    process = case.popen(['sleep', '600'], env={**case.env, **(env or {})})
    case.cleanups.append(process.wait)
    case.cleanups.append(process.kill)
    return process


# -- A-proc-1 -----

@row('A-proc-1', 'no process that can be seen inside shows a secret of the caller\'s environment')
def environment_of_others(case):
    case.env['MY_SECRET'] = CANARY
    witness(case)
    attack = [case.attack, 'find-text', CANARY[:9], CANARY[9:]]
    outside = case.plain(attack)
    case.control(outside.code == 0, f'another process\'s environment cannot be read outside: {outside.out}')
    case.refused(case.inside(attack), ['ENOENT'])
    case.refused(case.inside(attack, ['--env', 'OTHER=x', '--tty']), ['ENOENT'])


@row('A-proc-1', 'no process that can be seen inside shows the policy in its arguments')
def policy_in_arguments(case):
    secret = os.path.join(case.home, CANARY)
    os.mkdir(secret)
    attack = [case.attack, 'find-text', CANARY[:9], CANARY[9:]]
    process = case.popen(['tail', '-f', '/dev/null', secret])
    case.cleanups += [process.wait, process.kill]
    outside = case.plain(attack)
    case.control(outside.code == 0, f'another process\'s arguments cannot be read outside: {outside.out}')
    outcome = case.inside(attack, ['--deny-read', secret, '--deny-write', os.path.join(case.work, 'x')])
    # A mount over the path may show the path itself: that is no more than what `ls` of its folder shows.
    if outcome.code == 0:
        case.check('mountinfo' in outcome.out, 'the policy shows in a process', outcome)
    else:
        case.refused(outcome)


def refuse_proc_files(case, names):
    """Each /proc/PID/NAME of a process of ours can be read outside; the same of pid 1 not inside."""
    other = witness(case)
    case.wait_until(lambda: os.readlink(f'/proc/{other.pid}/exe').endswith('sleep'), 'the witness runs')
    for name in names:
        outside = case.plain([case.attack, 'proc-read', f'/proc/{other.pid}/{name}'])
        case.control(outside.code == 0, f'/proc/PID/{name} cannot be read outside: {outside.out}')
        case.refused(case.inside([case.attack, 'proc-read', f'/proc/1/{name}']))


@row('A-proc-1', 'the environment of pid 1 inside is empty or closed')
def environ_of_init(case):
    refuse_proc_files(case, ['environ'])


@row('A-proc-1', 'the arguments of pid 1 inside show nothing of the caller')
def cmdline_of_init(case):
    other = witness(case)
    outside = case.plain(['cat', f'/proc/{other.pid}/cmdline'])
    case.control('sleep' in outside.out, 'arguments cannot be read outside')
    inside = case.inside(['sh', '-c', 'tr "\\0" "\\n" </proc/1/cmdline; echo end'], ['--deny-read', case.outside])
    case.check(inside.code == 0 and inside.out.endswith('end\n'), 'did not run', inside)
    for text in (case.base, '--workspace', '--deny-read', 'run'):
        case.check(text not in inside.out, f'pid 1 shows {text!r}', inside)


@row('A-proc-1', 'descriptors, memory map, folder and program of pid 1 inside are closed')
def files_of_init(case):
    refuse_proc_files(case, ['fd', 'fdinfo', 'maps', 'smaps', 'map_files', 'auxv', 'cwd', 'root', 'exe', 'ns/net',
                             'stack' if case.is_root else 'io'])


@row('A-proc-1', 'the memory of pid 1 inside cannot be read')
def memory_of_init(case):
    other = witness(case)
    with open(f'/proc/{other.pid}/maps', encoding='ascii') as maps:
        address = '0x' + maps.readline().split('-')[0]
    outside = case.plain([case.attack, 'proc-memory', str(other.pid), address])
    case.control(outside.code == 0, f'another process\'s memory cannot be read outside: {outside.out}')
    case.refused(case.inside([case.attack, 'proc-memory', '1', '0x400000']), ['EACCES', 'EPERM'])


@row('A-proc-1', 'only processes of the sandbox can be seen inside')
def visible_processes(case):
    other = witness(case)
    script = 'for d in /proc/[0-9]*; do echo ${d#/proc/}; done'
    outside = case.plain(['sh', '-c', script])
    case.control(str(other.pid) in outside.out.split(), 'other processes cannot be seen outside')
    inside = case.inside(['sh', '-c', script])
    pids = inside.out.split()
    case.check('1' in pids, 'no /proc inside', inside)
    case.check(len(pids) <= 4, f'more than the sandbox\'s own processes: {pids}', inside)


# -- A-proc-2 -----

CALLS = ('ptrace', 'process_vm_readv', 'pidfd_open', 'pidfd_getfd', 'prlimit', 'setpriority', 'sched_setaffinity',
         'sched_setscheduler', 'ioprio_set', 'kill', 'tgkill', 'rt_sigqueueinfo', 'pidfd_send_signal', 'getpgid',
         'get_robust_list', 'migrate_pages', 'move_pages')


def refuse_call(call):
    @row('A-proc-2', f'{call} does not reach a process of the host')
    def refuse(case):
        other = witness(case)
        case.wait_until(lambda: os.readlink(f'/proc/{other.pid}/exe').endswith('sleep'), 'the witness runs')
        case.denied(['on-process', call, str(other.pid)], errors=['ESRCH', 'EPERM', 'EACCES', 'ENOSYS', 'EINVAL'])
    refuse.__name__ = f'host_process_{call}'
    return refuse


for name in CALLS:
    refuse_call(name)


@row('A-proc-2', 'ptrace, process_vm_readv and pidfd_getfd do not reach pid 1 inside')
def reach_init(case):
    other = witness(case)
    case.wait_until(lambda: os.readlink(f'/proc/{other.pid}/exe').endswith('sleep'), 'the witness runs')
    for call in ('ptrace', 'process_vm_readv', 'pidfd_getfd'):
        outside = case.plain([case.attack, 'on-process', call, str(other.pid)])
        case.control(outside.code == 0, f'{call} does not work outside: {outside.out}')
        case.refused(case.inside([case.attack, 'on-process', call, '1']))


@row('A-proc-2', 'a signal to the own process group stays inside the sandbox')
def signal_to_group(case):
    def ending(argv, number):
        return case.plain(['sh', '-c', '"$@"; sleep 0.5; echo "survived"', 'sh', *argv, str(int(number))])

    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
        attack = [case.attack, 'kill-group']
        if number != signal.SIGSTOP:  # a stopped control would have to be found again
            outside = ending(attack, number)
            case.control(outside.code == 128 + number, f'kill(0) does not reach the caller outside: {outside.code}')
        inside = ending(case.sandboxed(attack, ['--timeout', '5']), number)
        case.check('survived' in inside.out, f'signal {number} to the group reached the caller', inside)


@row('A-proc-2', 'a priority change of the own process group stays inside the sandbox')
def priority_of_group(case):
    def niceness(argv):
        script = 'sleep 600 & pid=$!; "$@"; cut -d" " -f19 /proc/$pid/stat; kill $pid'
        outcome = case.plain(['sh', '-c', script, 'sh', *argv])
        return outcome.out.split()[-1] if outcome.out.split() else outcome.describe()

    attack = [case.attack, 'nice-group']
    case.control(niceness(attack) == '17', 'setpriority on a group does not work outside')
    case.same(niceness(case.sandboxed(attack)), '0', 'niceness of the caller\'s other process')


@row('A-proc-2', 'kill of every process ends none outside')
def signal_to_all(case):
    other = witness(case)
    outside = case.plain(['unshare', '--user', '--map-root-user', '--pid', '--fork', 'sh', '-c',
                          f'sleep 600 & {case.attack} kill-all; wait $!; echo "was=$?"'])
    case.control('was=137' in outside.out, f'kill(-1) does not work in a process namespace: {outside.describe()}')
    spaces = case.plain(['readlink', '/proc/self/ns/pid']).out, case.inside(['readlink', '/proc/self/ns/pid']).out
    case.check(spaces[1].startswith('pid:') and spaces[0] != spaces[1], f'no process namespace of its own: {spaces}')
    case.worked(case.inside([case.attack, 'kill-all']))
    case.same(other.poll(), None, 'the process outside was ended')


# -- A-proc-3 -----

def open_number(case, fd, number):
    """The same open file under another number, closed at the end."""
    os.dup2(fd, number)
    os.set_inheritable(number, True)
    case.cleanups.append(lambda: os.close(number))
    os.close(fd)
    return number


def refuse_descriptor(case, attack, number):
    keywords = {'pass_fds': [number]}
    outside = case.plain([case.attack, *attack], **keywords)
    case.control(outside.code == 0, f'an inherited descriptor does not work outside: {outside.out}')
    case.refused(case.inside([case.attack, *attack], **keywords), ['EBADF', 'ENOTSOCK'])
    answer = case.result([case.attack, *attack], **keywords)
    case.same(answer['exitCode'], 1, f'exit code with --json; it printed {answer["stdout"]!r}')
    outcome = case.inside([case.attack, *attack], ['--pass-fd', str(number)], **keywords)
    case.worked(outcome, 'the same descriptor, passed on purpose')


@row('A-proc-3', 'an open file of the caller is closed, unless passed on purpose')
def inherited_file(case):
    with open(os.path.join(case.outside, 'secret'), 'w', encoding='ascii') as file:
        file.write(CANARY)
    number = open_number(case, os.open(file.name, os.O_RDONLY), 17)
    refuse_descriptor(case, ['read-fd', '17'], number)


@row('A-proc-3', 'an open folder of the caller is closed, and never passed: it leads to the whole host')
def inherited_folder(case):
    with open(os.path.join(case.outside, 'secret'), 'w', encoding='ascii') as file:
        file.write(CANARY)
    number = open_number(case, os.open(case.outside, os.O_RDONLY | os.O_DIRECTORY), 18)
    case.denied(['open-below-fd', '18', 'secret'], errors=['EBADF'], pass_fds=[number])
    outcome = case.inside([case.attack, 'open-below-fd', '18', 'secret'], ['--pass-fd', '18'], pass_fds=[number])
    case.same(outcome.code, 125, 'a folder passed on purpose: nothing runs', outcome)
    case.check('folder' in outcome.err, 'the error does not say what is wrong', outcome)


@row('A-proc-3', 'a folder as one of the standard streams leads nowhere')
def folder_as_stream(case):
    secret = os.path.join(case.home, 'denied')
    os.mkdir(secret)
    with open(os.path.join(secret, 'secret'), 'w', encoding='ascii') as file:
        file.write(CANARY)
    options = ['--deny-read', secret]
    for flags in (os.O_RDONLY | os.O_DIRECTORY, os.O_PATH | os.O_DIRECTORY):
        folder = os.open(case.outside, flags)
        for road in ('../home/denied/secret', '../../../../../../..' + secret + '/secret'):
            attack = [case.attack, 'open-below-fd', '0', road]
            outside = case.plain(attack, stdin=folder)
            case.control(outside.code == 0, f'a folder as stdin does not work outside: {outside.out}')
            inside = case.inside(attack, options, stdin=folder)
            case.check(inside.code == 125 or (inside.code == 1 and 'refused' in inside.out),
                       'the folder on stdin leads to a denied file', inside)
        os.close(folder)


@row('A-proc-3', 'a connected socket of the caller is closed, unless passed on purpose')
def inherited_socket(case):
    ours, theirs = socket.socketpair()
    number = open_number(case, theirs.detach(), 19)
    refuse_descriptor(case, ['write-fd', '19'], number)
    ours.setblocking(False)
    case.same(ours.recv(100), b'pwnedpwned', 'what arrived: the control\'s and the passed one\'s')


@row('A-proc-3', 'a descriptor above 1024 is closed, unless passed on purpose')
def inherited_high(case):
    with open(os.path.join(case.outside, 'secret'), 'w', encoding='ascii') as file:
        file.write(CANARY)
    number = open_number(case, os.open(file.name, os.O_RDONLY), 1500)
    refuse_descriptor(case, ['read-fd', '1500'], number)


@row('A-proc-3', 'a descriptor above the limit of open files is closed too')
def inherited_above_limit(case):
    with open(os.path.join(case.outside, 'secret'), 'w', encoding='ascii') as file:
        file.write(CANARY)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    high = min(hard, 100000) - 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    case.cleanups.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    number = open_number(case, os.open(file.name, os.O_RDONLY), high)
    lower = f'ulimit -Sn 256; exec "$@" {case.attack} read-fd {number}'
    outside = case.plain(['bash', '-c', lower.replace('"$@" ', '')], pass_fds=[number])
    case.control(outside.code == 0, f'a descriptor above the limit does not work outside: {outside.out}')
    inside = case.plain(['bash', '-c', lower, 'bash', *case.sandboxed([])], pass_fds=[number])
    case.refused(inside, ['EBADF'])


@row('A-proc-3', 'the command has no descriptor above 2, in whatever way it is run')
def no_descriptor(case):
    attack = [case.attack, 'open-fds']
    number = open_number(case, os.open('/dev/null', os.O_RDONLY), 23)
    outside = case.plain(attack, pass_fds=[number])
    case.control('open 23 /dev/null' in outside.out, f'an inherited descriptor is not seen outside: {outside.out}')
    case.refused(case.inside(attack, pass_fds=[number]), ['EBADF'])
    answer = case.result(attack, pass_fds=[number])
    case.check('refused: fstat: EBADF' in answer['stdout'], f'with --json: {answer["stdout"]}')
    text = case.terminal(case.sandboxed(attack, ['--tty'])).drain()
    case.check('refused: fstat: EBADF' in text, f'with --tty: {text}')


@row('A-proc-3', 'the descriptors for events, control, result and policy do not reach the command')
def own_descriptors(case):
    ends = [os.pipe() for _ in range(3)]
    for pair in ends:
        case.cleanups.append(lambda pair=pair: [os.close(end) for end in pair])
    events, control, result = ends[0][1], ends[1][0], ends[2][1]
    given = [events, control, result]
    outside = case.plain([case.attack, 'open-fds'], pass_fds=given)
    case.control(outside.code == 0, 'inherited descriptors are not seen outside')
    options = ['--events-fd', str(events), '--control-fd', str(control), '--result-fd', str(result)]
    case.refused(case.inside([case.attack, 'open-fds'], options, pass_fds=given), ['EBADF'])
    case.check(os.read(ends[2][0], 1 << 16).startswith(b'{'), 'no result came on --result-fd')
    file = os.open(case.write('p.json', '{"version": 1}'), os.O_RDONLY)
    case.cleanups.append(lambda: os.close(file))
    case.refused(case.inside([case.attack, 'open-fds'], ['--policy-fd', str(file)], pass_fds=[file]), ['EBADF'])


@row('A-proc-3', 'only the descriptor that is passed on purpose reaches the command')
def only_passed(case):
    first = open_number(case, os.open('/dev/null', os.O_RDONLY), 31)
    second = open_number(case, os.open('/dev/zero', os.O_RDONLY), 32)
    outside = case.plain([case.attack, 'open-fds'], pass_fds=[first, second])
    case.control('open 31' in outside.out and 'open 32' in outside.out, 'inherited descriptors are not seen outside')
    inside = case.inside([case.attack, 'open-fds'], ['--pass-fd', '32'], pass_fds=[first, second])
    lines = [line for line in inside.out.splitlines() if line.startswith('open')]
    case.same(lines, ['open 32 /dev/zero'], 'descriptors inside', inside)
