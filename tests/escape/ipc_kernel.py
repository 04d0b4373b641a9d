"""System V and POSIX objects, keyrings and the address families that reach into the kernel."""
import os
import random

from harness import row

REFUSED = ['EPERM', 'EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ESOCKTNOSUPPORT', 'ENOSYS']


# -- A-ipc-3 -----

def refuse_sysv(kind, name):
    @row('A-ipc-3', f'{name} of the host cannot be reached, by key or by number')
    def refuse(case):
        key = hex(random.randrange(0x10000000, 0x7FFFFFFF))
        made = case.plain([case.attack, 'sysv-make', kind, key])
        case.control(made.code == 0, f'no System V {kind} here: {made.out}')
        case.cleanups.append(lambda: case.plain([case.attack, 'sysv-remove', kind, key]))
        number = made.out.split()[1]
        case.denied(['sysv-open', kind, key], errors=['ENOENT', 'ENOSYS', 'EPERM'])
        case.denied(['sysv-use', kind, number], errors=['EINVAL', 'EIDRM', 'ENOSYS', 'EPERM'])
        if kind == 'shm':
            case.denied(['sysv-open', kind, key], ['--network', 'host'], errors=['ENOENT', 'ENOSYS', 'EPERM'])
        # What is made inside is the sandbox's own: it is not on the host, also under the same key.
        case.plain([case.attack, 'sysv-remove', kind, key])
        case.worked(case.inside([case.attack, 'sysv-make', kind, key]), 'own objects can be made inside')
        left = case.plain([case.attack, 'sysv-open', kind, key])
        case.same(left.code, 1, 'an object made inside is on the host', left)
    refuse.__name__ = f'sysv_{kind}'
    return refuse


for sysv_kind, sysv_name in (('shm', 'System V shared memory'), ('sem', 'System V semaphores'),
                             ('msg', 'System V message queues')):
    refuse_sysv(sysv_kind, sysv_name)


@row('A-ipc-3', 'POSIX message queues of the host cannot be reached')
def message_queues(case):
    name = f'/escape-{os.getpid()}'
    made = case.plain([case.attack, 'mq-make', name])
    case.control(made.code == 0, f'no POSIX message queues here: {made.out}')
    case.cleanups.append(lambda: case.plain([case.attack, 'mq-remove', name]))
    case.denied(['mq-use', name], errors=['ENOENT', 'ENOSYS', 'EPERM', 'EACCES'])
    case.refused(case.inside([case.attack, 'mq-remove', name]))
    case.worked(case.plain([case.attack, 'mq-use', name]), 'the queue is still there')


@row('A-ipc-3', 'shared memory below the host\'s /dev/shm cannot be seen, opened or left')
def shared_memory(case):
    name = f'escape-{os.getpid()}'
    path = '/dev/shm/' + name
    with open(path, 'w', encoding='ascii') as file:
        file.write('x' * 64)
    case.cleanups.append(lambda: os.path.exists(path) and os.unlink(path))
    case.denied(['shm-use', '/' + name], errors=['ENOENT'])
    outside = case.plain(['ls', '/dev/shm'])
    case.control(name in outside.out, '/dev/shm cannot be listed outside')
    script = f'ls -A /dev/shm; echo mine >/dev/shm/{name}-inside && cat /dev/shm/{name}-inside'
    inside = case.inside(['sh', '-c', script])
    case.same(inside.out, 'mine\n', '/dev/shm inside: empty, and writable', inside)
    case.check(not os.path.exists(path + '-inside'), 'a file made inside is in the host\'s /dev/shm')


# -- A-ipc-4 -----

def refuse_key(call):
    @row('A-ipc-4', f'kernel keyrings: {call} is refused')
    def refuse(case):
        case.denied(['key', call], errors=['EPERM', 'ENOSYS', 'EACCES'])
    refuse.__name__ = 'key_' + call.replace('-', '_')
    return refuse


for key_call in ('add_key', 'keyctl', 'keyctl-read', 'request_key'):
    refuse_key(key_call)


# -- A-ipc-5 -----

HIGH = 1 << 32
FAMILIES = {
    'AF_VSOCK': [(40, 1, 0), (40, 2, 0), (40, 5, 0)],
    'AF_PACKET': [(17, 3, 0), (17, 2, 0), (17, 3, 0x300)],
    'netfilter netlink': [(16, 3, 12), (16, 2, 12)],
    'netlink other than ROUTE': [(16, 3, 4), (16, 3, 9), (16, 3, 15), (16, 3, 16), (16, 2, 16), (16, 3, 6)],
    'raw IPv4 and IPv6': [(2, 3, 255), (2, 3, 1), (2, 3, 6), (10, 3, 255), (10, 3, 58)],
    'SOCK_PACKET': [(2, 10, 0x300)],
}


def refuse_family(name):
    @row('A-ipc-5', f'{name} sockets are refused, also with high bits set')
    def refuse(case):
        # An ordinary user gets the privileged ones in a user namespace of his own, as an attacker would.
        own = [] if case.is_root else ['unshare', '--user', '--map-root-user', '--net']
        tried = 0
        for numbers in FAMILIES[name]:
            arguments = [str(number) for number in numbers]
            outside = case.plain([*own, case.attack, 'socket', *arguments])
            if outside.code != 0:
                continue
            tried += 1
            family, kind, protocol = numbers
            for odd in (numbers, (family | HIGH, kind, protocol), (family, kind | HIGH, protocol),
                        (family, kind | 0o2000000, protocol), (family, kind | 0o4000, protocol | HIGH)):
                case.refused(case.inside([case.attack, 'socket', *map(str, odd)]), REFUSED)
            case.refused(case.inside([case.attack, 'socket', *arguments], ['--network', 'host']), REFUSED)
        case.control(tried, f'this kernel makes no {name} socket: {outside.out}')
    refuse.__name__ = 'family_' + ''.join(c if c.isalnum() else '_' for c in name).lower()
    return refuse


for family_name in FAMILIES:
    refuse_family(family_name)


@row('A-ipc-5', 'of all address families and protocols only UNIX, INET, INET6 and ROUTE netlink can be made')
def sweep(case):
    """AF_ALG, AF_VSOCK, AF_CAN, AF_TIPC, AF_XDP …: whatever this kernel has, tried one by one."""
    own = [] if case.is_root else ['unshare', '--user', '--map-root-user', '--net']
    outside = case.plain([*own, case.attack, 'socket-sweep'])
    wide = {line.split('/')[0] for line in outside.out.split()}
    case.control(len(wide - {'1', '2', '10'}) >= 2, f'this kernel has no other family: {sorted(wide)}')
    inside = case.inside([case.attack, 'socket-sweep'])
    case.same(inside.code, 0, 'exit code', inside)
    made = [tuple(map(int, line.split('/'))) for line in inside.out.split()]
    case.check(made, 'no socket at all can be made inside', inside)
    wrong = []
    for family, kind, protocol in made:
        good = {1: kind in (1, 5), 2: kind in (1, 2), 10: kind in (1, 2), 16: protocol == 0}.get(family, False)
        if not good:
            wrong.append(f'{family}/{kind}/{protocol}')
    case.same(wrong, [], 'family/type/protocol that can be made and must not')


@row('A-ipc-5', 'socketpair makes no family but UNIX stream and seqpacket')
def socket_pairs(case):
    case.denied(['socket-pair', '1', '2', '0'], errors=REFUSED)
    case.denied(['socket-pair', '1', '3', '0'], errors=REFUSED)
    case.denied(['socket-pair', str(1 | HIGH), str(2 | HIGH), '0'], errors=REFUSED)
    case.allowed(['socket-pair', '1', '1', '0'])
    case.allowed(['socket-pair', '1', '5', '0'])
    case.allowed(['socket-pair', '1', str(1 | 0o2000000), '0'])
