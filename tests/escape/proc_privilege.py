"""Processes: privilege, limits, the launcher's own program, and what reaches the command."""
import hashlib
import os
import re
import resource
import shutil
import struct

from harness import row

NOBODY = 65534


# -- A-proc-7 -----

def own_copy(case):
    """The program in a folder of the caller, writable for the caller as in a home, with its digest."""
    folder = os.path.join(case.home, 'bin')
    os.mkdir(folder)
    path = shutil.copy(case.program, folder)
    os.chmod(path, 0o755)
    return path


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def prove_overwrite(case):
    """Outside, a running program of ours is overwritten through /proc/PID/exe as soon as it has ended."""
    victim = shutil.copy('/bin/sleep', os.path.join(case.outside, 'victim'))
    process = case.popen([victim, '0.3'])
    before = digest(victim)
    outside = case.plain([case.attack, 'overwrite-exe', f'/proc/{process.pid}/exe'])
    process.wait()
    case.control(outside.code == 0 and digest(victim) != before, f'this does not work outside: {outside.out}')


@row('A-proc-7', 'the launcher cannot be overwritten through pid 1\'s /proc/PID/exe')
def overwrite_init(case):
    prove_overwrite(case)
    case.program = own_copy(case)
    before = digest(case.program)
    case.refused(case.inside([case.attack, 'overwrite-exe', '/proc/1/exe']))
    case.same(digest(case.program), before, 'digest of the program')


@row('A-proc-7', 'the launcher cannot be overwritten when the command is /proc/self/exe itself')
def overwrite_self(case):
    prove_overwrite(case)
    case.program = own_copy(case)
    before = digest(case.program)
    # A second process takes hold of the first one's program while that runs, and writes when it has ended.
    script = f'/proc/self/exe overwrite-exe /proc/$PPID/exe; {case.attack} overwrite-exe /proc/1/exe /proc/$$/exe'
    case.inside(['/proc/self/exe', 'run', '--', case.attack, 'overwrite-exe', '/proc/1/exe', '/proc/2/exe'])
    case.same(digest(case.program), before, 'digest of the program, after a nested run')
    link = os.path.join(case.work, 'link')
    os.symlink('/proc/self/exe', link)
    attacker = case.script('attacker', f'#!/bin/sh\n{case.attack} overwrite-exe /proc/[0-9]*/exe >report &\n'
                                       './link --help >/dev/null 2>&1 & ./link doctor >/dev/null 2>&1; wait\n')
    case.same(case.inside([attacker]).code, 0, 'exit code of the attacker')
    case.same(digest(case.program), before, 'digest of the program, after a symlink to it')
    interpreted = case.script('interpreted', '#!/proc/self/exe\n')
    for argv in ([interpreted], ['/proc/self/exe', 'doctor'], ['./link', '--version'], ['sh', '-c', script]):
        around = f'{case.attack} overwrite-exe /proc/[0-9]*/exe & "$@"; wait $!'
        outcome = case.inside(['sh', '-c', around, 'sh', *argv])
        case.check('refused' in outcome.out, f'{argv}: the attack got through', outcome)
        case.same(digest(case.program), before, f'digest of the program, after {argv}')
        case.inside(argv)
        case.same(digest(case.program), before, f'digest of the program, after {argv} as the command')


@row('A-proc-7', 'the program\'s own file cannot be written or replaced from inside')
def overwrite_file(case):
    program = own_copy(case)
    script = ['sh', '-c', 'printf x >>"$1"; mv "$1" "$1.old"; rm -f "$1"; ln -sf /bin/true "$1"; test -e "$1.old"',
              'sh']
    victim = shutil.copy('/bin/sleep', os.path.join(case.outside, 'victim'))
    case.plain([*script, victim])
    case.control(digest(os.path.realpath(victim)) != digest('/bin/sleep'), 'a file cannot be replaced outside')
    case.program = program
    before = digest(program)
    outcome = case.inside([*script, program])
    case.same(outcome.code, 1, 'exit code', outcome)
    case.check(os.path.isfile(program) and not os.path.islink(program), 'the program was replaced', outcome)
    case.same(digest(program), before, 'digest of the program', outcome)


# -- A-proc-8 -----

@row('A-proc-8', 'a set-user-id program of the system gains nothing', only='user')
def set_user_id(case):
    # The loader refuses to show the auxiliary vector to a program that runs with more rights: a harmless witness.
    case.env['LD_SHOW_AUXV'] = '1'
    programs = [path for path in ('/usr/bin/su', '/usr/bin/mount', '/usr/bin/passwd', '/usr/bin/chsh')
                if os.path.exists(path) and os.stat(path).st_mode & 0o4000]
    gaining = [path for path in programs if 'AT_EUID' not in case.plain([path, '--help']).out]
    case.control(gaining, 'no set-user-id program here that gains anything')
    plain = case.inside(['/bin/true'])
    case.check('AT_EUID' in plain.out, 'the witness does not work inside', plain)
    for path in gaining:
        inside = case.inside([path, '--help'])
        lines = dict(line.split(':', 1) for line in inside.out.splitlines() if line.startswith('AT_') and ':' in line)
        case.same(lines.get('AT_SECURE', '?').strip(), '0', f'{path} runs with more rights: AT_SECURE', inside)
        case.same(lines.get('AT_EUID', '?').strip(), str(os.getuid()), f'{path}: AT_EUID', inside)


@row('A-proc-8', 'a set-user-id or set-group-id program in the workspace changes no id', only='root')
def set_user_id_copy(case):
    outside = os.path.join(case.work, 'other-id')
    shutil.copy(case.attack, outside)
    os.chown(outside, NOBODY, NOBODY)
    os.chmod(outside, 0o6755)
    control = case.plain([outside, 'ids', '0'])
    case.control(f'euid {NOBODY} egid {NOBODY}' in control.out, f'the bits do nothing outside: {control.out}')
    inside = case.inside([outside, 'ids', '0'])
    case.check('euid 0 egid 0\n' in inside.out, 'the ids changed', inside)
    case.refused(inside)


@row('A-proc-8', 'the command has no capability, in no set')
def no_capabilities(case):
    attack = ['ids', str(os.getuid())]
    outside = case.plain([case.attack, *attack])
    case.control(outside.code == 0, f'there is no capability outside either: {outside.out}')
    case.refused(case.inside([case.attack, *attack]))
    case.refused(case.inside(['sh', '-c', f'{case.attack} ids {os.getuid()}; exit $?']))


@row('A-proc-8', 'file capabilities give nothing', only='root')
def file_capabilities(case):
    copy = os.path.join(case.work, 'capable')
    shutil.copy(case.attack, copy)
    # VFS_CAP_REVISION_2 with the effective bit: CAP_NET_RAW permitted.
    value = struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0)
    os.setxattr(copy, 'security.capability', value)
    # The home above is closed to others: the control needs a copy that they can reach.
    shared = os.path.join('/tmp', f'.escape-{os.getpid()}')
    shutil.copy(copy, shared)
    os.setxattr(shared, 'security.capability', value)
    case.cleanups.append(lambda: os.unlink(shared))
    control = case.plain(['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups', shared, 'ids',
                          str(NOBODY)], cwd='/')
    case.control('CapEff:\t0000000000002000' in control.out, f'file capabilities do nothing outside: {control.out}')
    case.refused(case.inside([copy, 'ids', '0']))


@row('A-proc-8', 'no new privileges is set, and stays')
def no_new_privileges(case):
    script = ['grep', '-h', 'NoNewPrivs', '/proc/self/status']
    outside = case.plain(script)
    case.control(outside.out.split()[-1:] == ['0'], 'no_new_privs is set outside as well')
    inside = case.inside(script)
    case.same(inside.out.split()[-1:], ['1'], 'NoNewPrivs', inside)


# -- A-proc-10 -----

LIMITS = {
    'open files': (resource.RLIMIT_NOFILE, 64, {'limits': {'openFiles': 64}}),
    'processes': (resource.RLIMIT_NPROC, 64, {'limits': {'processes': 64}}),
    'the size of a file': (resource.RLIMIT_FSIZE, 1 << 20, {'limits': {'fileSize': '1m'}}),
    'the size of a core': (resource.RLIMIT_CORE, 0, {}),
}


def refuse_raise(name):
    number, limit, policy = LIMITS[name]

    @row('A-proc-10', f'the limit of {name} cannot be raised')
    def refuse(case):
        # Outside the caller's own hard limit lies above, so that the same call works.
        raised = str(limit + 4096)
        options = case.policy(policy)
        for attack in ('raise-limit', 'raise-prlimit'):
            case.denied([attack, str(number), raised], options, errors=['EPERM'])
            # The limit of processes may leave room for our own.
            case.denied([attack, str(number), str(limit + 16)], options, errors=['EPERM'])
        inside = case.inside([case.attack, 'raise-limit', str(number), str(limit)], options)
        case.worked(inside, 'the limit itself can be set')
    refuse.__name__ = f'raise_{number}'
    return refuse


for limit_name in LIMITS:
    refuse_raise(limit_name)


# -- A-proc-11 -----

ODD = ['', ' ', '--', '--network', '--help', '-c', 'a b', "it's", '"quoted"', 'line\nbreak', '$HOME', '$(touch pwned)',
       '`touch pwned`', '; touch pwned', '&& touch pwned', '| touch pwned', '!!', '*', '~', '\\', '%s%n', '{a,b}', '#x',
       'é中文', '\t', '\r\n', '=', 'A=b', '../x', b'\xff\xfe not UTF-8', 'x' * 100000]


def as_hexadecimal(arguments):
    return [os.fsencode(argument).hex() for argument in arguments]


@row('A-proc-11', 'arguments reach the command byte by byte, none is an option or shell text')
def odd_arguments(case):
    outside = case.plain([case.attack, 'arguments', *ODD])
    case.control(outside.out.splitlines() == as_hexadecimal(ODD), 'odd arguments do not pass outside')
    for options in ([], ['--json']):
        inside = case.result([case.attack, 'arguments', *ODD])['stdout'] if options else \
            case.inside([case.attack, 'arguments', *ODD]).out
        case.same(inside.splitlines(), as_hexadecimal(ODD), f'arguments inside, options {options}')
    text = case.terminal(case.sandboxed([case.attack, 'arguments', *ODD[:-1]], ['--tty'])).drain()
    case.same(text.split('\r\n')[:-1], as_hexadecimal(ODD[:-1]), 'arguments inside, with --tty')
    case.check(not os.path.exists(os.path.join(case.work, 'pwned')), 'an argument was run as shell text')


@row('A-proc-11', 'a command whose name begins with dashes or holds quotes and shell signs is run as named')
def odd_commands(case):
    folder = os.path.join(case.work, 'bin')
    case.env['PATH'] = folder + ':' + case.env['PATH']
    names = ['--network', '--', '-c', '--version', "it's", 'a b', '$(touch pwned)', '; touch pwned', 'line\nbreak',
             '!x', 'A=b', b'\xff\xfe']
    for name in names:
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(folder, exist_ok=True)
        shutil.copy(case.attack, path)
        outside = case.plain([name, 'arguments', 'x', '--help'])
        case.control(outside.out == '78\n2d2d68656c70\n', f'{name!r} cannot be run outside: {outside.describe()}')
        inside = case.inside([name, 'arguments', 'x', '--help'])
        case.same(inside.out, '78\n2d2d68656c70\n', f'{name!r} inside', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'pwned')), 'a name was run as shell text')


@row('A-proc-11', 'options after the command belong to the command, with and without the dashes before it')
def options_after_command(case):
    command = ['sh', '-c', 'echo "$@"', 'sh', '--network', 'host']
    for between in (['--'], []):
        outcome = case.plain([case.program, 'run', '--workspace', case.work, *between, *command])
        case.same((outcome.code, outcome.out), (0, '--network host\n'), 'the command\'s own options', outcome)
    control = case.plain(command)
    case.control(control.out == '--network host\n', 'sh does not work outside')


@row('A-proc-11', 'a value in --env is data, never shell text')
def odd_values(case):
    for value in ODD[:-1]:
        if isinstance(value, bytes) or value == '':
            continue
        outside = case.plain(['printenv', 'ODD'], env={**case.env, 'ODD': value})
        case.control(outside.out == value + '\n', f'{value!r} does not pass outside')
        inside = case.inside(['printenv', 'ODD'], ['--env', 'ODD=' + value])
        case.same(inside.out, value + '\n', f'the value {value!r} inside', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'pwned')), 'a value was run as shell text')


# -- W-proc-1, W-proc-3 -----

@row('W-proc-1', 'a caller that ignores or blocks signals, SIGCHLD above all, gets the right exit status')
def odd_signals(case):
    prefix = {
        'SIGCHLD ignored': 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)',
        'all signals ignored': 'import os, signal, sys\n'
                               'for n in set(signal.valid_signals()) - {9, 19}: signal.signal(n, signal.SIG_IGN)',
        'all signals blocked': 'import os, signal, sys\n'
                               'signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())',
    }
    for name, text in prefix.items():
        starter = ['/usr/bin/python3', '-c', text + '\nos.execvp(sys.argv[1], sys.argv[1:])']
        script = ['sh', '-c', 'exit 7']
        case.control(case.plain([*starter, *script]).code == 7, f'{name}: does not work outside')
        for options in ([], ['--json'], ['--timeout', '30']):
            inside = case.plain([*starter, *case.sandboxed(script, options)])
            case.same(inside.code, 7, f'{name}, options {options}: exit status', inside)
        inside = case.plain([*starter, *case.sandboxed(['sleep', '600'], ['--timeout', '1'])])
        case.same(inside.code, 124, f'{name}: exit status of a timeout', inside)


@row('W-proc-1', 'a caller with closed streams gets the right exit status')
def closed_streams(case):
    for closed in ('<&-', '>&-', '2>&-', '<&- >&-', '>&- 2>&-', '<&- >&- 2>&-'):
        for argv in (['sh', '-c', 'exit 7'], case.sandboxed(['sh', '-c', 'exit 7'])):
            outcome = case.plain(['sh', '-c', f'"$@" {closed}; echo "code=$?"', 'sh', *argv])
            case.check('code=7\n' in outcome.out, f'{closed}: wrong exit status', outcome)
    outcome = case.plain(['sh', '-c', '"$@" <&- 2>&-', 'sh', *case.sandboxed([case.attack, 'open-fds'])])
    case.refused(outcome, ['EBADF'])


@row('W-proc-1', 'a caller that has reached its own limits of descriptors gets the right exit status')
def low_limits(case):
    for limit in (64, 32):
        outcome = case.plain(['sh', '-c', f'ulimit -Sn {limit}; "$@"', 'sh', *case.sandboxed(['sh', '-c', 'exit 7'])])
        case.same(outcome.code, 7, f'exit status with {limit} descriptors', outcome)


@row('W-proc-3', 'every exit code passes')
def exit_codes(case):
    for code in (0, 1, 2, 42, 63, 64, 100, 123, 124, 125, 126, 127, 128, 129, 200, 254, 255):
        outside = case.plain(['sh', '-c', f'exit {code}'])
        case.control(outside.code == code, f'exit {code} does not pass outside')
        inside = case.inside(['sh', '-c', f'exit {code}'])
        case.same(inside.code, code, 'exit code', inside)
    case.same(case.result(['sh', '-c', 'exit 42'])['exitCode'], 42, 'exitCode of --json')


@row('W-proc-3', 'death by a signal is 128 and its number')
def signal_codes(case):
    for number in (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 31, 34, 64):
        script = ['sh', '-c', f'ulimit -c 0; kill -{number} $$; sleep 1']
        case.control(case.plain(script).code == 128 + number, f'signal {number} does not end a shell outside')
        inside = case.inside(script)
        case.same(inside.code, 128 + number, f'exit code for signal {number}', inside)
    answer = case.result(['sh', '-c', 'kill -TERM $$; sleep 1'])
    case.same(answer['exitCode'], 143, 'exitCode of --json', answer['outcome'])
    case.check(answer['signal'] in (15, 'SIGTERM', 'TERM'), f'signal of --json: {answer["signal"]!r}')
    case.same(case.result(['true'])['signal'] or 0, 0, 'signal of --json without one')


@row('W-proc-3', 'a caller\'s shell sees the sandbox end by status, in pipelines and in the background too')
def statuses_in_shell(case):
    line = ' '.join("'" + word + "'" for word in case.sandboxed(['sh', '-c', 'exit 9']))
    script = f'set -o pipefail; {line} | cat; echo "pipe=$?"; {line} & wait $!; echo "background=$?"'
    outcome = case.plain(['bash', '-c', script])
    case.control(case.plain(['bash', '-c', 'set -o pipefail; (exit 9) | cat; [ $? = 9 ]']).code == 0, 'no pipefail')
    case.same(outcome.out, 'pipe=9\nbackground=9\n', 'statuses', outcome)


# -- W-proc-2 -----

@row('W-proc-2', 'strace follows the command\'s own children')
def trace(case):
    script = ['strace', '-f', '-o', 'trace', 'sh', '-c', '/bin/true; exit 5']
    for argv in (script, case.sandboxed(script)):
        outcome = case.plain(argv)
        path = os.path.join(case.work, 'trace')
        text = ''
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                text = file.read()
            os.unlink(path)
        good = outcome.code == 5 and text.count('execve(') >= 2 and 'exited with 5' in text
        if argv is script:
            case.control(good, f'strace does not work outside: {outcome.describe()}')
        else:
            case.check(good, f'strace does not work inside, it wrote {len(text)} bytes', outcome)


@row('W-proc-2', 'strace attaches to a running child')
def trace_attach(case):
    script = ['sh', '-c', 'sleep 600 & pid=$!; timeout -s INT 1 strace -o trace -p $pid; kill $pid; cat trace']
    outside = case.plain(script)
    case.control(re.search('sleep|restart_syscall', outside.out), f'strace cannot attach outside: {outside.err[-200:]}')
    inside = case.inside(script)
    case.check(re.search('sleep|restart_syscall', inside.out), 'strace cannot attach inside', inside)


@row('W-proc-2', 'gdb runs, stops and looks into the command\'s own child')
def debug(case):
    source = case.write('p.c', 'int twice(int n) { return n * 2; }\nint main(void) { return twice(21); }\n')
    built = case.plain(['cc', '-g', '-O0', '-o', 'p', source])
    case.control(built.code == 0, 'there is no C compiler')
    script = ['gdb', '-nx', '-batch', '-ex', 'break twice', '-ex', 'run', '-ex', 'print n', '-ex', 'backtrace',
              '-ex', 'continue', './p']
    outside = case.plain(script)
    case.control('$1 = 21' in outside.out, f'gdb does not work outside: {outside.describe()}')
    inside = case.inside(script)
    for text in ('$1 = 21', '#1', 'exited with code 052'):
        case.check(text in inside.out, f'gdb does not work inside: no {text!r}', inside)
