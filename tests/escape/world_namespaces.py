"""Makes the namespaces of a world and holds them: the host's network and one that plays the rest of the internet.

    world_namespaces.py FD RESOLV_CONF HOSTS

FD is a SOCK_SEQPACKET socket. First comes one message that says where the namespaces are; then each request for a
socket in one of the two networks is answered with a descriptor; at the end of FD the namespaces go. An ordinary user
is root in a user namespace for this, and its programs run in one more, where it is itself again: they have no power
over the networks, as on a real host.

    host 192.0.2.1, 2001:db8:ffff::1  --veth--  192.0.2.2, 2001:db8:ffff::2 far: every other address there is
"""
import ctypes
import json
import os
import socket
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NS, NEW_USER, NEW_NET = 0x00020000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
IP_FREEBIND, IPV6_FREEBIND = 15, 78

HOST = '''\
link set lo up
link add eth0 type veth peer name eth0 netns {far}
link set eth0 up
addr add 192.0.2.1/24 dev eth0
addr add 2001:db8:ffff::1/64 dev eth0 nodad
route add default via 192.0.2.2
route add default via 2001:db8:ffff::2
'''
# Every other address is this one's own: nothing is ever passed on, as there is no other way out.
FAR = '''\
link set lo up
link set eth0 up
addr add 192.0.2.2/24 dev eth0
addr add 2001:db8:ffff::2/64 dev eth0 nodad
route add local default dev lo table main
route add local ::/0 dev lo table main
'''


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f'{name}: {os.strerror(number)}')


def mount(source, target, flags):
    call('mount', source, target.encode(), None, ctypes.c_ulong(flags), None)


def write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def map_ids(pid, uid, to_uid, gid, to_gid):
    write(f'/proc/{pid}/setgroups', 'deny')
    write(f'/proc/{pid}/uid_map', f'{uid} {to_uid} 1')
    write(f'/proc/{pid}/gid_map', f'{gid} {to_gid} 1')


def own_user_namespace(uid, gid):
    """A user namespace below this one in which our user is itself again. Returns a descriptor of it."""
    ready, there = os.pipe()
    go, gone = os.pipe()
    pid = os.fork()
    if pid == 0:
        call('unshare', NEW_USER)
        os.write(there, b'x')
        os.close(gone)
        os.read(go, 1)
        os._exit(0)
    os.read(ready, 1)
    map_ids(pid, uid, 0, gid, 0)
    namespace = os.open(f'/proc/{pid}/ns/user', os.O_RDONLY)
    os.write(gone, b'x')
    os.waitpid(pid, 0)
    for fd in (ready, there, go, gone):
        os.close(fd)
    return namespace


def in_network(fd):
    call('setns', fd, NEW_NET)


def new_network():
    call('unshare', NEW_NET)
    return os.open('/proc/self/ns/net', os.O_RDONLY)


def configure(batch):
    subprocess.run(['ip', '-batch', '-'], input=batch, check=True, text=True, stdout=subprocess.DEVNULL)


def only_ways():
    with open('/proc/self/net/dev', encoding='ascii') as file:
        return sorted(line.partition(':')[0].strip() for line in file if ':' in line)


def make_networks():
    far = new_network()
    host = new_network()
    configure(HOST.format(far=f'/proc/{os.getpid()}/fd/{far}'))
    ways = only_ways()
    in_network(far)
    configure(FAR)
    if ways != ['eth0', 'lo'] or only_ways() != ways:
        raise OSError(f'there is another way out than the test\'s own: {ways}, {only_ways()}')
    in_network(host)
    return {'host': host, 'far': far}


def is_dual(family, order):
    return family == socket.AF_INET6 and order['address'] == '::' and order.get('dual')


def new_socket(networks, order):
    """A socket, bound (and listening, when it is of a stream) where an address is given."""
    in_network(networks[order['where']])
    family = socket.AF_INET6 if order['family'] == 6 else socket.AF_INET
    made = socket.socket(family, getattr(socket, 'SOCK_' + order.get('kind', 'stream').upper()),
                         order.get('protocol', 0))
    if order.get('address') is None:
        return made
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if is_dual(family, order) else 1)
        made.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    else:
        made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    made.bind((order['address'], order['port']))
    if made.type == socket.SOCK_STREAM:
        made.listen(1024)
    return made


def serve(channel, networks):
    while True:
        request = channel.recv(4096)
        if not request:
            return
        try:
            made = new_socket(networks, json.loads(request))
        except OSError as error:
            channel.send(str(error).encode())
            continue
        socket.send_fds(channel, [b''], [made.fileno()])
        made.close()


def main():
    channel = socket.socket(fileno=int(sys.argv[1]))
    uid, gid = os.getuid(), os.getgid()
    answer = {'pid': os.getpid()}
    try:
        if uid:
            call('unshare', NEW_USER)
            map_ids('self', 0, uid, 0, gid)
        call('unshare', NEW_NS)
        mount(None, '/', MS_REC | MS_PRIVATE)
        for source, target in ((sys.argv[2], '/etc/resolv.conf'), (sys.argv[3], '/etc/hosts')):
            mount(source.encode(), target, MS_BIND)
        networks = make_networks()
        if uid:
            answer['user'] = own_user_namespace(uid, gid)
    except (OSError, subprocess.SubprocessError) as error:
        channel.send(json.dumps({'error': str(error)}).encode())
        return 1
    answer.update(networks)
    channel.send(json.dumps(answer).encode())
    serve(channel, networks)
    return 0


sys.exit(main())
