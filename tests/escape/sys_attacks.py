"""System calls: what the kernel offers and a sandbox takes away. Members of one kind share a test point: each whose
control works here must be refused, and none may work; the point is skipped only when no member's control works."""
import os
import re

from harness import Skip, row

NEWUSER, NEWNS, NEWNET, NEWPID, NEWIPC, NEWUTS, NEWCGROUP, NEWTIME = (
    0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80)
REFUSALS = ('EPERM', 'ENOSYS', 'EACCES', 'EROFS', 'ENOENT')
NAMESPACES = (('mount', NEWNS), ('network', NEWNET), ('process', NEWPID), ('ipc', NEWIPC), ('uts', NEWUTS),
              ('cgroup', NEWCGROUP))


def all_refused(case, members, errors=('EPERM', 'ENOSYS'), killed=False, options=()):
    """`members`: argument lists of escape-attack. None may work inside; at least one must work outside."""
    live, dead = 0, []
    for attack in members:
        attack = [str(word) for word in attack]
        outside = case.plain([case.attack, *attack])
        inside = case.inside([case.attack, *attack], options)
        if killed and inside.code == 128 + 31:
            live += outside.code == 0
            continue
        if outside.code == 0:
            live += 1
            case.refused(inside, errors)
        else:
            dead.append(f'{" ".join(attack)}: {outside.out.strip()}')
            case.check(inside.code != 0, 'the attack must not work inside', inside)
    if not live:
        raise Skip('no member of this kind works outside: ' + '; '.join(dead))


def kind(ident, sentence, members, only=None, **keywords):
    """Registers a test point over the members of one kind."""
    def test(case):
        all_refused(case, members(case) if callable(members) else members, **keywords)
    test.__name__ = re.sub(r'\W+', '_', f'{ident} {sentence}')
    row(ident, sentence, only)(test)


kind('A-sys-1', 'io_uring cannot be set up, entered or registered',
     [('call', 425, 4, 'b:128'), ('reach', 426, -1, 0, 0, 0, 0, 0), ('reach', 427, -1, 0, 0, 0)])

# Namespaces. An ordinary user needs a user namespace for each of the others; root does not.
for how in ('unshare', 'clone', 'clone3'):
    kind('A-sys-2', f'{how} makes no user namespace, alone or with any other',
         [('namespace', how, NEWUSER), *(('namespace', how, NEWUSER | flag) for _, flag in NAMESPACES),
          ('namespace', how, NEWUSER | NEWNS | NEWNET | NEWPID | NEWIPC | NEWUTS | NEWCGROUP)])
    kind('A-sys-2', f'{how} makes no other namespace for root', [('namespace', how, flag) for _, flag in NAMESPACES],
         only='root')
kind('A-sys-2', 'unshare makes no user namespace when high bits are set in the flags',
     [('namespace', 'unshare', NEWUSER | 0x5a << 40), ('namespace', 'clone', NEWUSER | 0x5a << 40),
      ('namespace', 'unshare', NEWUSER)])
kind('A-sys-2', 'unshare makes no time namespace', [('namespace', 'unshare', NEWTIME)], only='root')
kind('A-sys-2', 'setns joins no namespace',
     [('join', 'user', NEWUSER), ('join', 'mnt', NEWNS), ('join', 'net', NEWNET), ('join', 'ipc', NEWIPC),
      ('join', 'uts', NEWUTS), ('join', 'cgroup', NEWCGROUP), ('reach', 308, -1, 0)])


def own(case, *attack):
    return ('own-namespaces', *attack)


kind('A-sys-2', 'mount(2) mounts nothing: tmpfs, proc, bind, overlay, or another propagation', lambda case: [
    own(case, 'call', 165, 's:none', f's:{case.outside}', 's:tmpfs', 0, 0),
    own(case, 'call', 165, 's:proc', f's:{case.outside}', 's:proc', 0, 0),
    own(case, 'call', 165, 's:/etc', f's:{case.outside}', 0, 0x1000, 0),
    own(case, 'call', 165, 's:/etc', f's:{case.outside}', 0, 0x1000 | 0x4000, 0),
    own(case, 'call', 165, 's:overlay', f's:{case.outside}', 's:overlay', 0, 's:lowerdir=/etc:/usr'),
    own(case, 'call', 165, 0, 's:/', 0, 0x4000 | 1 << 18, 0),
    own(case, 'call', 165, 0, 's:/', 0, 1 << 19, 0)])
kind('A-sys-2', 'nothing is unmounted, remounted writable or moved', lambda case: [
    own(case, 'unmount', case.outside),
    own(case, 'make-writable', '/'),
    own(case, 'call', 165, 0, 's:/', 0, 0x20 | 0x1000, 0),
    own(case, 'call', 165, 0, f's:{case.work}', 0, 0x20 | 0x1000, 0)])
kind('A-sys-2', 'the new mount calls make, copy, open and attach no mount', lambda case: [
    own(case, 'new-mount', 'tmpfs', case.outside), own(case, 'new-mount', 'proc', case.outside),
    own(case, 'tree-mount', '/etc', case.outside),
    own(case, 'reach', 428, -1, 0, 1), own(case, 'reach', 429, -1, 0, -1, 0, 0), own(case, 'reach', 430, 0, 0),
    own(case, 'reach', 431, -1, 0, 0, 0, 0), own(case, 'reach', 432, -1, 0, 0), own(case, 'reach', 433, -100, 0, 0),
    own(case, 'reach', 442, -1, 's:', 0, 0, 0), own(case, 'reach', 467, -1, 0, 0, 0, 0)])
kind('A-sys-2', 'the root folder is not changed by chroot or pivot_root', lambda case: [
    own(case, 'call', 161, f's:{case.outside}'), own(case, 'pivot', case.outside)])

kind('A-sys-3', '32-bit calls by int 0x80 are killed or refused',
     [('int80', number, argument) for number, argument in
      ((20, 0), (310, 0), (310, NEWUSER), (102, 1), (21, 0), (288, 99), (1 << 30 | 20, 0))], killed=True)


@row('A-sys-3', 'x32 calls are killed or refused')
def x32(case):
    for number in (39, 272, 101, 425, 512, 520):
        inside = case.inside([case.attack, 'x32', str(number)])
        case.check(inside.code in (1, 159), 'the call must be killed or refused', inside)
        if inside.code == 1:
            case.refused(inside, ('EPERM', 'ENOSYS'))
    # This kernel may have no x32 at all: then the same call without the bit shows that the tool makes calls.
    case.worked(case.plain([case.attack, 'call', '39']), 'a call without the x32 bit')


kind('A-sys-4', 'bpf is refused', [('reach', 321, 0xffff, 'b:64', 0), ('reach', 321, 0, 'b:48', 48),
                                   ('reach', 321, 5, 'b:48', 48)])
kind('A-sys-4', 'perf_event_open is refused', [('reach', 298, 0, 0, -1, -1, 0)])
kind('A-sys-4', 'userfaultfd is refused, also for user mode only', [('call', 323, 1), ('reach', 323, 0x7ff)])
kind('A-sys-4', 'open_by_handle_at is refused', [('reach', 304, -1, 0, 0)])
kind('A-sys-4', 'modify_ldt is refused', [('call', 154, 0, 'b:4096', 4096), ('reach', 154, 1, 0, 16)])
kind('A-sys-4', 'kcmp is refused', [('call', 312, 'self', 'self', 1, 0, 0), ('reach', 312, 'self', 'self', 99, 0, 0)])
kind('A-sys-4', 'personality switches off no protection', [('personality', value) for value in (
    0x0400000, 0x0100000, 0x8000000, 0x0000001, 0x4000000, 0x0200000)])
kind('A-sys-4', 'accounting, swap and quotas cannot be touched',
     [('reach', 163, 's:/nonexistent'), ('reach', 167, 0, 0), ('reach', 168, 's:/nonexistent'),
      ('reach', 179, 0, 0, 0, 0), ('reach', 443, -1, 0, 0, 0)])
kind('A-sys-4', 'kernel code cannot be loaded, and the machine not be stopped',
     [('reach', 246, 0, 0, 0, 0), ('reach', 320, -1, -1, 0, 0, 0), ('reach', 175, 0, 0, 0), ('reach', 313, -1, 0, 0),
      ('reach', 176, 0, 0), ('reach', 169, 0, 0, 0, 0)], only='root')
kind('A-sys-4', 'the clock cannot be set', [('reach', 227, 0, 0), ('reach', 159, 0), ('reach', 305, 0, 0),
                                            ('reach', 164, 0, 0)])
kind('A-sys-4', 'the kernel log cannot be read or cleared, the host not be renamed',
     [('reach', 103, 99, 0, 0), ('reach', 103, 3, 'b:512', 512), ('reach', 170, 0, -1), ('reach', 171, 0, -1)],
     only='root')
kind('A-sys-4', 'ports of the machine cannot be opened', [('reach', 172, 4), ('reach', 173, -1, 0, 0),
                                                          ('reach', 139, 9)], errors=('EPERM', 'ENOSYS'))
kind('A-sys-4', 'no device can be made: by mknod, by mknodat, in the workspace or in /tmp', lambda case: [
    ('device', f'{case.work}/disk', 'b', 254, 0), ('device', f'{case.work}/null', 'c', 1, 3),
    ('device', f'{case.work}/old', 'c', 1, 3, 'old'), ('device', '/tmp/qsb-escape-device', 'b', 254, 0)],
     only='root', errors=('EPERM', 'EACCES'))


@row('A-sys-4', 'the devices of the host are not there, only the harmless ones')
def devices(case):
    inside = case.inside(['sh', '-c', 'find /dev -type b; find /dev -type c'])
    case.worked(inside, 'listing /dev')
    harmless = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'pts/ptmx', 'console'}
    outside = set(case.plain(['sh', '-c', 'find /dev -type b -o -type c']).out.split())
    case.control(len(outside - {'/dev/' + name for name in harmless}) > 0, 'this host has no other devices')
    left = {name for name in inside.out.split() if name[5:] not in harmless}
    case.check(not left, f'devices inside: {sorted(left)}')


# -- libseccomp as the oracle ---------------------------------------------------------------------------------------

REFUSED = set('''
io_uring_setup io_uring_enter io_uring_register setns mount umount2 pivot_root chroot open_tree move_mount fsopen
fsconfig fsmount fspick mount_setattr bpf perf_event_open userfaultfd kexec_load kexec_file_load open_by_handle_at
modify_ldt kcmp swapon swapoff acct quotactl quotactl_fd init_module finit_module delete_module add_key keyctl
request_key reboot iopl ioperm settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog
clone3 openat2 nfsservctl lookup_dcookie uselib _sysctl create_module query_module get_kernel_syms'''.split())
# All bits set in the arguments are for some calls the very thing that is refused: a namespace flag, a set-id bit, an
# unknown address family, an unknown personality.
BY_ARGUMENT = set('''clone unshare socket socketpair chmod fchmod fchmodat fchmodat2 creat mknod mknodat open openat mkdir
mkdirat personality prctl ioctl'''.split())
# A sandbox may take these away as well; nothing that works on a project needs them. Landlock: rules that a program sets
# for itself would not bind what the guard does for it.
MAY_BE_REFUSED = set('''fanotify_init fanotify_mark move_pages migrate_pages memfd_secret ustat sysfs vhangup vserver
process_vm_readv process_vm_writev pidfd_getfd name_to_handle_at mbind set_mempolicy set_mempolicy_home_node
security tuxcall afs_syscall getpmsg putpmsg epoll_ctl_old epoll_wait_old
landlock_create_ruleset landlock_add_rule landlock_restrict_self'''.split())
NEWEST_KNOWN = 470  # numbers above are unknown to every kernel that this list has seen


def ask_oracle(outcome):
    answers = {}
    for line in outcome.out.splitlines():
        number, name, answer = line.split()
        answers[int(number)] = (name, answer)
    return answers


def oracle(case):
    outside, inside = case.plain([case.attack, 'oracle']), case.inside([case.attack, 'oracle'])
    case.worked(outside, 'the oracle outside')
    case.worked(inside, 'the oracle inside')
    return ask_oracle(outside), ask_oracle(inside)


@row('A-sys-4', 'every system call that the tables name is refused, whoever calls')
def oracle_refused(case):
    outside, inside = oracle(case)
    live = [number for number, (name, answer) in outside.items()
            if name in REFUSED and answer not in ('EPERM', 'ENOSYS')]
    case.control(len(live) > 20, f'only {len(live)} of the calls reach the kernel outside')
    wrong = [f'{name} ({number}): {answer}' for number, (name, answer) in inside.items()
             if name in REFUSED and answer not in ('EPERM', 'ENOSYS', 'SIGSYS')]
    case.check(not wrong, 'not refused: ' + ', '.join(wrong))
    missing = REFUSED - {name for name, _ in inside.values()}
    case.check(not missing, f'libseccomp does not know {missing}')


@row('A-sys-4', 'system calls of the future are refused with ENOSYS')
def oracle_future(case):
    _, inside = oracle(case)
    wrong = [f'{number}: {answer}' for number, (_, answer) in inside.items()
             if number > NEWEST_KNOWN and answer != 'ENOSYS']
    case.check(not wrong, 'not refused with ENOSYS: ' + ', '.join(wrong[:10]))
    case.check(max(inside) > NEWEST_KNOWN + 20, 'the oracle must look beyond the newest call')
    for number in (1000, 0x3fffffff, 0x7fffffff, 0xffffffff):
        answer = case.inside([case.attack, 'call', str(number)])
        case.check(answer.code in (1, 159), f'call {number} must be refused', answer)


@row('A-sys-4', 'every other system call answers as it does without the sandbox')
def oracle_common(case):
    outside, inside = oracle(case)
    wrong = []
    for number, (name, answer) in inside.items():
        before = outside.get(number, ('-', 'ENOSYS'))[1]
        if name == '-' or name in REFUSED | BY_ARGUMENT | MAY_BE_REFUSED or before in ('EPERM', 'ENOSYS'):
            continue
        if answer in ('EPERM', 'ENOSYS', 'SIGSYS'):
            wrong.append(f'{name} ({number}): {before} outside, {answer} inside')
    # Root inside has no privilege over the host: such a refusal is the kernel's own.
    privileged = ('setgroups', 'fanotify_init', 'mknod')
    wrong = [line for line in wrong if not (case.is_root and line.split()[0] in privileged)]
    case.check(not wrong, 'refused though harmless: ' + ', '.join(wrong))


@row('W-sys-1', 'fork, vfork, clone with threads, and their fall-back from clone3 work')
def processes_and_threads(case):
    text = ('import os, subprocess, threading\n'
            'pid = os.fork()\n'
            'if pid == 0: os._exit(7)\n'
            'assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n'
            'threads = [threading.Thread(target=lambda: subprocess.run(["true"], check=True)) for _ in range(8)]\n'
            'for thread in threads: thread.start()\n'
            'for thread in threads: thread.join()\n'
            'print(len(threads))\n')
    for run in (case.plain, case.inside):
        outcome = run(['python3', '-c', text])
        case.same((outcome.code, outcome.out.strip()), (0, '8'), 'processes and threads', outcome)


@row('A-sys-2', 'a sandbox inside is refused by default and possible when the policy asks for it')
def nested(case):
    # The kernel maps uid 0 of a parent namespace only for a creator with CAP_SETFCAP there, which root inside has not.
    tool = ['unshare', '--user', 'echo', 'inner'] if case.is_root else ['unshare', '--user', '--map-root-user', 'id', '-u']
    outside = case.plain(tool)
    case.control(outside.code == 0, f'unshare does not work outside: {outside.err.strip()}')
    inside = case.inside(tool)
    case.check(inside.code not in (0, 125) and not inside.out, 'no user namespace by default', inside)
    allowed = case.inside(tool, case.policy({'allowNestedSandbox': True, 'filesystem': {'protectNewNames': False}}))
    case.same((allowed.code, allowed.out), (0, outside.out), 'opted in', allowed)


@row('A-sys-2', 'a sandbox inside cannot undo the one around it')
def nested_undoes(case):
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    hook = case.write('.git/hooks/pre-commit', 'as it was\n')
    attack = ['own-namespaces', 'undo', key, hook, case.outside]
    outside = case.plain([case.attack, *attack])
    case.control(outside.code == 0 and 'own: yes' in outside.out, f'no mounts can be made outside: {outside.out.strip()}')
    inside = case.inside([case.attack, *attack], case.policy({'allowNestedSandbox': True, 'filesystem': {'protectNewNames': False}}))
    case.check('own: yes' in inside.out, 'the inner sandbox can mount for itself', inside)
    case.refused(inside)
