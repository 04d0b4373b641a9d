"""A mechanism of the kernel is missing. A filter in front of the program takes system calls away, as an old kernel, a
container or AppArmor does. The sandbox then holds its whole policy in another way, or says why and runs nothing."""
import os
import shutil

from harness import row

EPERM, ENOSYS, EINVAL, ENOSPC = 1, 38, 22, 28
NEWUSER, ANY_NAMESPACE, CLONE_FS = 0x10000000, 0x7e020000, 0x200
CLONE, CLONE3, UNSHARE, SETNS, PRCTL, SECCOMP = 56, 435, 272, 308, 157, 317
MOUNT, UMOUNT, PIVOT_ROOT = 165, 166, 155
OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
PIDFD_OPEN, PIDFD_SEND, PIDFD_GETFD, CLOSE_RANGE, OPENAT2, EPOLL_PWAIT2 = 434, 424, 438, 436, 437, 441
PRLIMIT, SETRLIMIT, SETHOSTNAME, MEMFD, SOCKETPAIR, STATX = 302, 160, 170, 319, 53, 332

# What a host may lack: rules for escape-attack's `without`.
NO_USER_NAMESPACES = [f'{EPERM}:{CLONE}&{NEWUSER}', f'{EPERM}:{UNSHARE}&{NEWUSER}', f'{ENOSYS}:{CLONE3}']
HOSTS = (
    ('no user namespaces (refused)', NO_USER_NAMESPACES),
    ('no user namespaces (not built in)', [f'{EINVAL}:{CLONE}&{NEWUSER}', f'{EINVAL}:{UNSHARE}&{NEWUSER}', f'{EINVAL}:{CLONE3}']),
    ('no more user namespaces', [f'{ENOSPC}:{CLONE}&{NEWUSER}', f'{ENOSPC}:{UNSHARE}&{NEWUSER}', f'{ENOSPC}:{CLONE3}']),
    ('no namespaces at all, as in a container', [f'{EPERM}:{CLONE}&{ANY_NAMESPACE}', f'{EPERM}:{UNSHARE}', f'{ENOSYS}:{CLONE3}']),
    ('no thread with a folder and umask of its own', [f'{EPERM}:{UNSHARE}&{CLONE_FS}']),
    ('namespaces but no mounts, as AppArmor has it', [f'{EPERM}:{number}' for number in (
        MOUNT, UMOUNT, PIVOT_ROOT, OPEN_TREE, MOVE_MOUNT, FSOPEN, FSMOUNT, MOUNT_SETATTR)]),
    ('no Landlock', [f'{ENOSYS}:{number}' for number in (LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT)]),
    ('Landlock that is switched off', [f'95:{LANDLOCK_CREATE}']),
    ('Landlock that refuses', [f'{EPERM}:{LANDLOCK_RESTRICT}']),
    ('no seccomp', [f'{ENOSYS}:{SECCOMP}', f'{EINVAL}:{PRCTL}']),
    ('no seccomp call', [f'{ENOSYS}:{SECCOMP}']),
    ('seccomp that refuses', [f'{EPERM}:{SECCOMP}']),
    ('no clone3 (before 5.3)', [f'{ENOSYS}:{CLONE3}']),
    ('no pidfd (before 5.3)', [f'{ENOSYS}:{number}' for number in (PIDFD_OPEN, PIDFD_SEND, PIDFD_GETFD, CLONE3)]),
    ('no new mount calls (before 5.2)', [f'{ENOSYS}:{number}' for number in (
        OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, MOUNT_SETATTR)]),
    ('no mount_setattr (before 5.12)', [f'{ENOSYS}:{MOUNT_SETATTR}']),
    ('no old mount call', [f'{ENOSYS}:{MOUNT}']),
    ('no close_range (before 5.9)', [f'{ENOSYS}:{CLOSE_RANGE}']),
    ('no openat2 (before 5.6)', [f'{ENOSYS}:{OPENAT2}']),
    ('no statx (before 4.11)', [f'{ENOSYS}:{STATX}']),
    ('no memfd', [f'{ENOSYS}:{MEMFD}']),
    ('no limits', [f'{EPERM}:{PRLIMIT}', f'{EPERM}:{SETRLIMIT}']),
    ('no socket pairs', [f'{EPERM}:{SOCKETPAIR}']),
    ('an old kernel: none of the calls since 5.1', [f'{ENOSYS}:{number}' for number in range(424, 460)]),
)
# One command that tries everything the default policy forbids, and shows by the marker that it ran.
EVERYTHING = '''echo ran >marker
cat "$1" && echo READ
(echo x >"$2/planted") 2>/dev/null && echo WROTE
echo x >>.git/hooks/pre-commit
python3 -c 'import socket,sys; s=socket.socket(); s.settimeout(2); s.connect(("127.0.0.1", int(sys.argv[1]))); print("CONNECTED")' "$3"
python3 -c 'import os; os.kill(int(os.environ["HOSTPID"]), 0); print("SIGNALLED")'
test -n "$DEPLOY_TOKEN" && echo TOKEN
"$4" call 425 4 b:128 >/dev/null && echo RING
"$4" call 248 s:user s:qsb-escape s:x 1 -3 >/dev/null && echo KEY
(ulimit -n 100000) 2>/dev/null && echo LIMIT
test -e "$5" && echo HOSTTMP
true'''
FORBIDDEN = ('READ', 'WROTE', 'CONNECTED', 'SIGNALLED', 'TOKEN', 'RING', 'KEY', 'HOSTTMP')


def fixture(case):
    """Everything that the command must not reach. Returns its arguments."""
    import socket
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen(64)
    case.cleanups.append(server.close)
    case.env.update(DEPLOY_TOKEN='secret-token-1', HOSTPID=str(os.getpid()))
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    host_tmp = f'/tmp/escape-host-{os.getpid()}'
    case.write(host_tmp, '')
    case.cleanups.append(lambda: os.unlink(host_tmp))
    case.write('.git/hooks/pre-commit', 'as it was\n')
    return [key, case.outside, str(server.getsockname()[1]), case.attack, host_tmp]


def judge(case, outcome, name, may_run=True):
    """Either the whole policy held, or nothing ran and the error says why."""
    marker = os.path.join(case.work, 'marker')
    ran = os.path.exists(marker)
    if outcome.code == 125:
        case.check(not ran, f'{name}: exit 125, but the command ran', outcome)
        case.check(len(outcome.err.strip()) > 30, f'{name}: the error must say the cause and the fix', outcome)
        return False
    case.check(may_run, f'{name}: nothing may run', outcome)
    case.check(ran, f'{name}: neither 125 nor did the command run', outcome)
    os.unlink(marker)
    broken = [word for word in FORBIDDEN if word in outcome.out.split()]
    case.check(not broken, f'{name}: ran without the whole policy: {broken}', outcome)
    case.check(not os.listdir(case.outside), f'{name}: the outside was written', outcome)
    with open(os.path.join(case.work, '.git/hooks/pre-commit'), encoding='ascii') as file:
        case.same(file.read(), 'as it was\n', f'{name}: the hook', outcome)
    return True


def attempt(case, arguments, before=()):
    return case.plain([*before, *case.sandboxed(['sh', '-c', EVERYTHING, 'sh', *arguments])], patience=20)


@row('A-fail-1', 'with everything there the policy holds, and outside it would not')
def everything_there(case):
    arguments = fixture(case)
    outside = case.plain(['sh', '-c', EVERYTHING, 'sh', *arguments])
    missing = [word for word in FORBIDDEN if word not in outside.out.split()]
    case.control(not missing, f'these do not work outside: {missing}')
    for path in (os.path.join(case.outside, 'planted'), os.path.join(case.work, 'marker')):
        os.unlink(path)
    case.write('.git/hooks/pre-commit', 'as it was\n')
    case.check(judge(case, attempt(case, arguments), 'an ordinary host'), 'it must run on an ordinary host')


def missing_mechanism(name, rules):
    def test(case):
        arguments = fixture(case)
        tool = shutil.copy(case.attack, os.path.join(case.base, 'without'))
        before = [tool, 'without', *rules, '--']
        control = case.plain([*before, 'true'])
        case.control(control.code in (0, 1), f'such a host cannot be made here: {control.out.strip()}')
        judge(case, attempt(case, arguments, before), name)
    test.__name__ = 'missing_' + '_'.join(name.replace('(', '').replace(')', '').replace(',', '').split())
    row('A-fail-1', f'on a host with {name}: the whole policy, or nothing runs')(test)


for host in HOSTS:
    missing_mechanism(*host)


@row('A-fail-1', 'without user namespaces and without any other way the error names the cause and a fix')
def error_text(case):
    arguments = fixture(case)
    tool = shutil.copy(case.attack, os.path.join(case.base, 'without'))
    outcome = attempt(case, arguments, [tool, 'without', *NO_USER_NAMESPACES, f'{ENOSYS}:{LANDLOCK_CREATE}', '--'])
    judge(case, outcome, 'no user namespaces', may_run=False)
    case.check('namespace' in outcome.err, 'the cause must be named', outcome)


@row('A-fail-1', 'no user namespaces by the kernel\'s own setting: the whole policy, or nothing runs')
def setting(case):
    arguments = fixture(case)
    # The setting of a user namespace of our own: the host's is not touched.
    before = ['unshare', '--user', '--map-root-user', 'sh', '-c', 'echo 0 >/proc/sys/user/max_user_namespaces || exit 99; exec "$@"', 'sh']
    control = case.plain([*before, 'unshare', '-U', 'true'])
    case.control(control.code not in (0, 99), 'user namespaces cannot be switched off for a test here')
    judge(case, attempt(case, arguments, before), 'max_user_namespaces = 0')


@row('A-fail-1', 'hardly any descriptors: the command runs or is refused, and no call of it waits for ever')
def few_descriptors(case):
    ended = set()
    for most in [8, 12, *range(16, 72, 4), *range(26, 40)]:
        outcome = case.plain(['sh', '-c', f'ulimit -n {most} && exec "$@"', 'sh',
                              *case.sandboxed(['sh', '-c', 'echo x >made; mkdir -p folder; mv made folder; echo ran'])], patience=20)
        case.check(outcome.code in (0, 125) or outcome.err, f'{most} descriptors: nothing is said', outcome)
        ended.add('ran' in outcome.out)
    case.control(ended == {True, False}, f'these numbers are not at the border: {ended}')


@row('A-fail-1', 'no bubblewrap, no tools at all in PATH: nothing but the kernel is needed')
def no_tools(case):
    arguments = fixture(case)
    case.check(judge(case, attempt(case, arguments), 'with tools'), 'runs')
    folder = os.path.join(case.base, 'empty')
    os.mkdir(folder)
    case.env['PATH'] = folder
    shell = shutil.which('sh')
    outcome = case.plain([case.program, 'run', '--workspace', case.work, '--', shell, '-c', 'echo works'])
    case.same(outcome.out, 'works\n', 'with an empty PATH', outcome)


@row('A-fail-1', 'a policy that no mechanism here can hold is refused, and the error says which part')
def unsupported(case):
    policy = {'network': {'mode': 'filtered', 'allowedDomains': ['example.com'], 'publishPorts': [8080]}}
    outcome = case.inside(['sh', '-c', 'echo ran >marker'], case.policy(policy))
    ran = os.path.exists(os.path.join(case.work, 'marker'))
    case.check(outcome.code in (0, 125), 'holds it, or refuses', outcome)
    case.check(ran == (outcome.code == 0), 'the exit code says whether it ran', outcome)
    case.check(outcome.code == 0 or 'network' in outcome.err or 'ublish' in outcome.err, 'the error names the part', outcome)


@row('A-fail-1', 'a back end that is named and cannot be used is an error, never another one in its place')
def named_backend(case):
    tool = shutil.copy(case.attack, os.path.join(case.base, 'without'))
    for before, name in (([tool, 'without', *NO_USER_NAMESPACES, '--'], 'namespaces'), ([], 'no-such-backend')):
        outcome = case.plain([*before, *case.sandboxed(['sh', '-c', 'echo ran >marker'], ['--backend', name])])
        case.same(outcome.code, 125, f'--backend {name}', outcome)
        case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'nothing may run', outcome)


@row('A-fail-1', 'no /proc on the host: the whole policy, or nothing runs')
def no_proc(case):
    arguments = fixture(case)
    tool = ['unshare', '--mount'] if case.is_root else ['unshare', '--user', '--map-root-user', '--mount']
    before = [*tool, 'sh', '-c', 'mount -t tmpfs none /proc || exit 99; exec "$@"', 'sh']
    control = case.plain([*before, 'test', '-e', '/proc/self'])
    case.control(control.code == 1, '/proc cannot be covered for a test here')
    judge(case, attempt(case, arguments, before), 'no /proc')


@row('A-fail-1', 'no free descriptor, little memory, no room for processes: the whole policy, or nothing runs')
def no_resources(case):
    arguments = fixture(case)
    for limit in ('-n 3', '-n 8', '-n 16', '-v 4096', '-v 20000', '-s 64', '-f 0', '-l 0', '-d 1000'):
        outcome = attempt(case, arguments, ['bash', '-c', f'ulimit {limit} || exit 99; exec "$@"', 'bash'])
        marker = os.path.join(case.work, 'marker')
        if outcome.code in (125, 99, 126, 127, 139, 137, 134) or not os.path.exists(marker):
            # The loader may already fail, or the command's own shell: then nothing ran that could do harm.
            case.check(outcome.code != 0 or '-f 0' in limit, f'{limit}: success, but nothing ran', outcome)
            if os.path.exists(marker):
                os.unlink(marker)
            continue
        judge(case, outcome, f'ulimit {limit}')


# Installs a filter with a listener, keeps that open, and runs the command below it.
TAKEN = '''import ctypes, os, sys
class Instruction(ctypes.Structure):
    _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.POINTER(Instruction))]
libc = ctypes.CDLL(None, use_errno=True)
allow = Instruction(6, 0, 0, 0x7fff0000)
program = Program(1, ctypes.pointer(allow))
number = 317 if os.uname().machine == 'x86_64' else 277
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(number, 1, 8, ctypes.byref(program)) >= 0
child = os.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'''


@row('A-fail-1', 'below a sandbox that answers system calls already, nothing runs, and the cause and the way out are said')
def listener_taken(case):
    below = ['python3', '-c', TAKEN]
    case.control(case.plain([*below, '/bin/sh', '-c', 'exit 7']).code == 7, 'no such filter can be installed here')
    for options in ((), ('--protect-new-names', 'false')):
        outcome = case.plain([*below, case.program, 'run', '--workspace', case.work, *options, '--', 'sh', '-c', 'echo ran >marker'])
        case.same(outcome.code, 125, 'exit status', outcome)
        case.check('answers system calls already' in outcome.err and 'outside' in outcome.err, 'cause and fix', outcome)
        case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'the command ran', outcome)
    outcome = case.plain([*below, case.program, 'doctor'])
    rows = [line for line in outcome.out.splitlines() if 'live rules' in line or 'system call filter' in line]
    case.check(len(rows) >= 2 and all('already' in line for line in rows), 'doctor', outcome)
