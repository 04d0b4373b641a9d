"""Files through which the kernel is told what to do. Uid 0 owns them and needs no capability to write them, so a
sandbox started by root must hold here too. No control writes anything but a file's own present content."""
import glob
import os

from harness import row
from sys_attacks import all_refused, kind

COMMANDERS = [
    '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/kernel/poweroff_cmd',
    '/proc/sys/kernel/hotplug', '/proc/sys/kernel/sysrq', '/proc/sys/kernel/panic', '/proc/sys/kernel/core_uses_pid',
    '/proc/sys/kernel/randomize_va_space', '/proc/sys/kernel/ns_last_pid', '/proc/sys/kernel/hostname',
    '/proc/sys/vm/drop_caches', '/proc/sys/vm/overcommit_memory', '/proc/sys/vm/panic_on_oom',
    '/proc/sys/fs/binfmt_misc/register', '/proc/sys/fs/protected_hardlinks', '/proc/sys/fs/suid_dumpable',
    '/proc/sys/net/ipv4/ip_forward', '/proc/sys/user/max_user_namespaces', '/proc/sysrq-trigger', '/proc/irq/0/smp_affinity',
    '/proc/irq/default_smp_affinity', '/proc/bus/pci', '/proc/mtrr', '/proc/acpi/wakeup', '/proc/scsi/scsi',
    '/sys/kernel/uevent_helper', '/sys/kernel/uevent_seqnum', '/sys/power/state', '/sys/power/disk',
    '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/kernel/profiling', '/sys/kernel/kexec_crash_size',
    '/sys/kernel/debug/sched_features', '/sys/kernel/security/lockdown', '/sys/firmware/efi/efivars',
    '/sys/module/kernel/parameters/panic', '/sys/devices/system/cpu/cpu1/online', '/sys/bus/pci/rescan',
    '/sys/block/loop0/uevent', '/sys/class/mem/null/uevent', '/dev/kmsg', '/dev/mem', '/dev/port', '/dev/loop-control',
    '/dev/vda', '/dev/sda', '/dev/nvme0n1', '/dev/zram0', '/dev/fuse', '/dev/kvm', '/dev/vsock', '/dev/userfaultfd',
    '/dev/btrfs-control', '/dev/cpu_dma_latency', '/dev/hwrng', '/dev/net/tun', '/dev/tty0', '/dev/tty1', '/dev/ttyS0',
    '/dev/vcs', '/dev/vcsu', '/dev/autofs', '/dev/console',
]


def release_agents():
    return sorted(glob.glob('/sys/fs/cgroup/release_agent') + glob.glob('/sys/fs/cgroup/*/release_agent'))


def opened_outside(case, paths):
    """Those that this caller could open for writing without the sandbox."""
    said = case.plain([case.attack, 'open-for-writing', *paths]).out
    return [line.split(': ', 1)[1] for line in said.splitlines() if line.startswith('worked: ')]


def none_opens(case, paths):
    live = opened_outside(case, paths)
    case.control(live, 'this caller can open none of these files for writing without the sandbox either')
    inside = case.inside([case.attack, 'open-for-writing', *paths])
    case.same(inside.code, 1, 'none may open for writing', inside)
    case.same(inside.out.count('refused: '), len(paths), 'each was tried', inside)


@row('A-sys-7', 'core_pattern, sysrq-trigger, uevent_helper, devices and their like cannot be opened for writing', only='root')
def commanders(case):
    none_opens(case, COMMANDERS)


@row('A-sys-7', 'release_agent and the control groups of the host cannot be written', only='root')
def agents(case):
    groups = sorted(glob.glob('/sys/fs/cgroup/*/cgroup.procs') + glob.glob('/sys/fs/cgroup/cgroup.procs'))
    none_opens(case, release_agents() + groups + sorted(glob.glob('/sys/fs/cgroup/*/notify_on_release')))


@row('A-sys-7', 'no control group can be made inside the host\'s', only='root')
def new_group(case):
    roots = [os.path.dirname(path) for path in glob.glob('/sys/fs/cgroup/*/cgroup.procs')] or ['/sys/fs/cgroup']
    # The same call on a folder of root's own is the control: making groups is not ours to try outside.
    case.control(os.access(roots[0], os.W_OK), f'{roots[0]} is not writable here')
    for root in roots:
        case.refused(case.inside([case.attack, 'fs', 'mkdir', os.path.join(root, 'qsb-escape')]))
        case.check(not os.path.exists(os.path.join(root, 'qsb-escape')), f'{root} got a new group')


kind('A-sys-7', 'a setting of the kernel cannot be written, not even with its own value',
     [('rewrite', path) for path in ('/proc/sys/vm/swappiness', '/proc/sys/kernel/core_pattern',
                                     '/proc/sys/kernel/panic', '/proc/sys/net/ipv4/ip_forward',
                                     '/sys/kernel/mm/transparent_hugepage/enabled')],
     only='root', errors=('EROFS', 'EACCES', 'EPERM', 'ENOENT'))
kind('A-sys-7', 'no namespace of one\'s own makes settings writable',
     [('own-sysctl', path) for path in ('/proc/sys/net/ipv4/ip_forward', '/proc/sys/user/max_user_namespaces',
                                        '/proc/sys/kernel/hostname', '/proc/sys/kernel/msgmax')],
     errors=('EROFS', 'EACCES', 'EPERM', 'ENOENT'))


def no_writable_file(case, folder, control):
    outside = case.plain([case.attack, 'walk-for-writing', control])
    case.control(outside.code == 0, f'nothing in {control} opens for writing outside: {outside.out.strip()}')
    inside = case.inside([case.attack, 'walk-for-writing', folder])
    case.same(inside.code, 1, f'no file of {folder} may open for writing', inside)
    case.check('files: ' in inside.out, 'files were tried', inside)


@row('A-sys-7', 'not one file of /proc/sys opens for writing', only='root')
def whole_proc_sys(case):
    no_writable_file(case, '/proc/sys', '/proc/sys/vm')


@row('A-sys-7', 'not one file of /sys opens for writing', only='root')
def whole_sys(case):
    no_writable_file(case, '/sys', '/sys/kernel/mm')


@row('A-sys-7', 'not one file of /proc/irq, /proc/bus, /proc/fs opens for writing', only='root')
def other_proc(case):
    outside = case.plain([case.attack, 'walk-for-writing', '/proc/irq'])
    case.control(outside.code == 0, f'nothing in /proc/irq opens for writing outside: {outside.out.strip()}')
    for folder in ('/proc/irq', '/proc/bus', '/proc/fs', '/proc/tty', '/proc/scsi', '/proc/acpi'):
        if os.path.isdir(folder):
            inside = case.inside([case.attack, 'walk-for-writing', folder])
            case.check(inside.code == 1 or 'broken: nftw' in inside.out, f'{folder} has a writable file', inside)


@row('A-sys-7', 'neither a detour by /proc/self/root nor by a symlink leads to a writable setting', only='root')
def detours(case):
    link = os.path.join(case.work, 'setting')
    os.symlink('/proc/sys/kernel/core_pattern', link)
    none_opens(case, [link, '/proc/self/root/proc/sys/kernel/core_pattern',
                      '/proc/1/root/proc/sys/kernel/core_pattern', '/proc/thread-self/root/proc/sys/vm/swappiness',
                      '/proc/self/cwd/../../../../../proc/sys/vm/swappiness'])


@row('A-sys-7', 'the raw disk is neither read nor written', only='root')
def raw_disk(case):
    disks = [path for path in ('/dev/vda', '/dev/sda', '/dev/nvme0n1', '/dev/loop0') if os.path.exists(path)]
    case.control(disks, 'this host has no disk device')
    all_refused(case, [('read', disk) for disk in disks], errors=('ENOENT', 'EACCES', 'EPERM', 'ENXIO'))


@row('A-sys-7', 'the device nodes that the sandbox shares with the host keep their mode, owner, times and attributes', only='root')
def device_nodes(case):
    nodes = [f'/dev/{name}' for name in ('null', 'zero', 'full', 'random', 'urandom')]
    before = [os.stat(node) for node in nodes]
    own = os.path.join(case.work, 'node')
    case.control(case.plain([case.attack, 'fs', 'fifo', own]).code == 0, 'no special file can be made outside')
    for change in ('chmod', 'fchmod', 'chown', 'utime', 'xattr', 'unlink'):
        if change in ('chmod', 'fchmod', 'utime'):  # the control: on a file of our own instead of the host's nodes
            case.worked(case.plain([case.attack, 'fs', change, case.write('file', '')]), f'{change} outside')
        for node in nodes:
            inside = case.inside([case.attack, 'fs', change, node])
            after = os.stat(node)
            keep = before[nodes.index(node)]
            if (after.st_mode, after.st_uid, after.st_mtime_ns) != (keep.st_mode, keep.st_uid, keep.st_mtime_ns):
                os.chmod(node, keep.st_mode & 0o7777)  # the host needs them, whatever the verdict
                os.utime(node, ns=(keep.st_atime_ns, keep.st_mtime_ns))
                case.check(False, f'{change} changed {node} of the host', inside)
            case.check(change == 'chown' or inside.code == 1, f'{change} of {node} must be refused', inside)
