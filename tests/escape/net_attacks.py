"""Network off: no way to the host's services or to the world, and no way in; the own loopback works."""
import socket

from harness import row
from harness_server import serve

V4, V6 = socket.AF_INET, socket.AF_INET6
# A socket of another protocol may be refused before it is connected.
REFUSED = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EPERM', 'EACCES', 'EPROTONOSUPPORT',
           'ESOCKTNOSUPPORT', 'ENOTCONN']


def host_address(family=V4):
    """An address of this host besides loopback, None when there is none. No packet is sent."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(('192.0.2.1' if family == V4 else '2001:db8::1', 9))
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith('127.') or address == '::1' else address


def refuse_way(case, server, attack):
    """The attack reaches the host's server outside; inside it gets an error and nothing arrives."""
    outside = case.plain([case.attack, *attack])
    case.control(outside.code == 0, f'{" ".join(attack)} does not work outside: {outside.out}')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    case.refused(case.inside([case.attack, *attack]), REFUSED)
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


def refuse_own_loopback_datagram(case, server, attack):
    """A datagram to an address of the own loopback is sent and goes nowhere: it must not arrive outside."""
    outside = case.plain([case.attack, *attack])
    case.control(outside.code == 0, f'{" ".join(attack)} does not work outside: {outside.out}')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    inside = case.inside([case.attack, *attack])
    case.check(inside.code in (0, 1), 'the attack broke', inside)
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


@row('A-net-1', 'TCP to services on the host\'s loopback is refused, IPv4 and IPv6')
def loopback_tcp(case):
    for family, address in ((V4, '127.0.0.1'), (V4, '127.8.9.10'), (V6, '::1')):
        server = serve(case, family, 'stream', (address, 0))
        refuse_way(case, server, ['net-connect', 'tcp', address, str(server.port)])
    server = serve(case, V4, 'stream', ('0.0.0.0', 0))
    refuse_way(case, server, ['net-connect', 'tcp', '0.0.0.0', str(server.port)])
    refuse_way(case, server, ['net-connect', 'tcp', '::ffff:127.0.0.1', str(server.port)])


@row('A-net-1', 'TCP to the host\'s own addresses is refused')
def host_tcp(case):
    case.control(host_address() or host_address(V6), 'this host has no address but loopback')
    for family in (V4, V6):
        address = host_address(family)
        if not address:
            continue
        server = serve(case, family, 'stream', (address, 0))
        refuse_way(case, server, ['net-connect', 'tcp', address, str(server.port)])


@row('A-net-1', 'UDP to the host is refused or lost, by sendto, sendmsg, sendmmsg and connect')
def udp(case):
    for how in ('sendto', 'sendmsg', 'sendmmsg', 'connect'):
        for family, address in ((V4, '127.0.0.1'), (V6, '::1')):
            server = serve(case, family, 'dgram', (address, 0))
            refuse_own_loopback_datagram(case, server, ['net-send', how, address, str(server.port)])
        if host_address():
            server = serve(case, V4, 'dgram', (host_address(), 0))
            refuse_way(case, server, ['net-send', how, host_address(), str(server.port)])


@row('A-net-1', 'addresses of the world have no route inside')
def world(case):
    # Outside the route is looked at only: connect of a UDP socket sends no packet.
    script = 'import socket, sys; s = socket.socket(socket.AF_INET, 2); s.connect(("198.51.100.7", 9)); print("route")'
    outside = case.plain(['/usr/bin/python3', '-c', script])
    case.control('route' in outside.out, 'this host has no route to the world')
    inside = case.inside(['/usr/bin/python3', '-c', script])
    case.check('unreachable' in inside.err and inside.code == 1, 'there is a route inside', inside)
    for address in ('198.51.100.7', '169.254.169.254', '10.0.0.1', '224.0.0.1', '255.255.255.255', 'fe80::1', 'ff02::1',
                    '2001:db8::1', '64:ff9b::7f00:1'):
        for attack in (['net-connect', 'tcp', address, '80'], ['net-send', 'sendto', address, '53']):
            case.refused(case.inside([case.attack, *attack]), REFUSED + ['EINVAL'])


@row('A-net-1', 'the only interface inside is an own loopback that is up')
def interfaces(case):
    script = ['sh', '-c', 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; readlink /proc/self/ns/net']
    outside = case.plain(script)
    case.control(len(outside.out.split()) > 1, 'interfaces cannot be listed outside')
    inside = case.inside(script)
    names = inside.out.split()
    case.same(names[:-1], ['lo'], 'interfaces inside', inside)
    case.check(names[-1] != outside.out.split()[-1], 'the network namespace is the host\'s', inside)


@row('A-net-1', 'a port opened inside is not opened on the host')
def bind(case):
    def comes_in(argv, port, address):
        process = case.popen(argv)
        case.cleanups += [process.wait, process.kill]
        line = process.stdout.readline()
        if b'listening' not in line:
            return line.decode()
        try:
            with socket.create_connection((address, port), 1):
                pass
        except OSError:
            pass
        return case.finish(process).out

    for listen, come in (('0.0.0.0', '127.0.0.1'), ('127.0.0.1', '127.0.0.1'), ('::', '::1')):
        with socket.socket(V6 if ':' in listen else V4) as free:
            free.bind((come, 0))
            port = free.getsockname()[1]
        attack = [case.attack, 'listen', listen, str(port), '1']
        outside = comes_in(attack, port, come)
        case.control('worked: accept' in outside, f'a port cannot be opened outside: {outside}')
        inside = comes_in(case.sandboxed(attack), port, come)
        case.check('refused: poll: ETIMEDOUT' in inside, f'somebody came, or it could not listen: {inside!r}')


@row('A-net-1', 'a name lookup reaches no resolver of the host')
def lookup(case):
    server = serve(case, V4, 'dgram', ('127.0.0.1', 0))
    # The resolver's own code, pointed at a server of ours: what counts is whether the question arrives.
    question = (r'import socket,sys; s = socket.socket(socket.AF_INET, 2); '
                r's.sendto(b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\6secret\4test\0\0\1\0\1", ("127.0.0.1", int(sys.argv[1])))')
    argv = ['/usr/bin/python3', '-c', question, str(server.port)]
    case.plain(argv)
    case.pause()
    case.control(server.got, 'a question does not arrive outside')
    server.got.clear()
    case.inside(argv)
    inside = case.inside(['sh', '-c', 'getent hosts secret.example.com; echo "code=$?"'])
    case.check('code=2' in inside.out, 'a name is resolved inside', inside)
    case.same(server.got, [], 'questions that arrived')
    inside = case.inside(['getent', 'hosts', 'localhost'])
    case.same(inside.code, 0, 'localhost is known inside: exit code', inside)


@row('A-net-1', 'ICMP does not reach the host')
def icmp(case):
    address = host_address()
    case.control(address, 'this host has no address but loopback')
    own = [] if case.is_root else ['unshare', '--user', '--map-root-user', '--net', 'sh', '-c',
                                   'ip link set lo up; exec "$@"', 'sh']
    for kind in ('raw', 'dgram'):
        target = address if case.is_root else '127.0.0.1'
        outside = case.plain([*own, case.attack, 'ping', kind, target])
        if kind == 'raw' or outside.code == 0:
            case.control(outside.code == 0, f'ping by a {kind} socket does not work outside: {outside.out}')
        case.refused(case.inside([case.attack, 'ping', kind, address]))


# -- A-net-11 -----

@row('A-net-11', 'TCP fast open does not reach the host')
def fast_open(case):
    for family, address in ((V4, '127.0.0.1'), (V6, '::1')):
        server = serve(case, family, 'stream', (address, 0))
        refuse_way(case, server, ['net-connect', 'fastopen', address, str(server.port)])
    if host_address():
        server = serve(case, V4, 'stream', (host_address(), 0))
        refuse_way(case, server, ['net-connect', 'fastopen', host_address(), str(server.port)])


@row('A-net-11', 'other protocols over IP do not reach the host: multipath TCP, SCTP, UDP-Lite')
def other_protocols(case):
    tried = []
    server = serve(case, V4, 'stream', ('127.0.0.1', 0))
    for how in ('mptcp', 'sctp'):
        attack = ['net-connect', how, '127.0.0.1', str(server.port)]
        if case.plain([case.attack, *attack]).code == 0:
            tried.append(how)
            case.wait_until(lambda: server.got, 'the first try arrives')
            server.got.clear()  # else it is taken for the control's, which then arrives late
            refuse_way(case, server, attack)
        else:
            case.refused(case.inside([case.attack, *attack]))
    with socket.socket(V4, socket.SOCK_DGRAM, 136) as lite:
        lite.bind(('127.0.0.1', 0))
        lite.settimeout(0.5)
        attack = [case.attack, 'net-send', 'lite', '127.0.0.1', str(lite.getsockname()[1])]
        if case.plain(attack).code == 0 and lite.recv(64) == b'pwned':
            tried.append('lite')
            case.inside(attack)
            try:
                got = lite.recv(64)
            except TimeoutError:
                got = b''
            case.same(got, b'', 'what arrived by UDP-Lite')
    case.control(tried, 'this kernel has none of them')


@row('A-net-11', 'QUIC has no way out: UDP to port 443 of the world and of the host')
def quic(case):
    address = host_address()
    case.control(address, 'this host has no address but loopback')
    server = serve(case, V4, 'dgram', (address, 0))
    refuse_way(case, server, ['net-send', 'connect', address, str(server.port)])
    for target in ('198.51.100.7', '2001:db8::7'):
        case.refused(case.inside([case.attack, 'net-send', 'sendto', target, '443']), REFUSED)


@row('A-net-11', 'raw IP does not reach the host')
def raw_ip(case):
    own = [] if case.is_root else ['unshare', '--user', '--map-root-user', '--net', 'sh', '-c',
                                   'ip link set lo up; exec "$@"', 'sh']
    server = serve(case, V4, 'dgram', ('127.0.0.1', 0))
    attack = [case.attack, 'ip-raw', '127.0.0.1', str(server.port)]
    outside = case.plain([*own, *attack])
    case.control(outside.code == 0, f'raw IP does not work outside: {outside.out}')
    case.pause()  # what the control sent must have arrived before it is forgotten
    server.got.clear()
    case.refused(case.inside(attack), ['EPERM', 'EACCES', 'EPROTONOSUPPORT', 'ESOCKTNOSUPPORT'])
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


# -- W-net-1 -----

SERVER = r'''
import http.server, socket, threading, urllib.request
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if {v6} else socket.AF_INET
server = Server(("{listen}", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in {hosts}:
    with urllib.request.urlopen("http://%s:%d/page.txt" % (host, server.server_port), timeout=20) as answer:
        assert answer.read() == b"a page\n"
print("fine")
'''


@row('A-net-11', 'the network inside cannot be rearranged: transparent sockets, routes, interfaces, ports below 1024')
def rearrange(case):
    # Whoever may: somebody with every right in a network of their own.
    own = ['unshare', '--user', '--map-root-user', '--net']
    for attack in (['transparent', '4'], ['transparent', '6'], ['route', '4', 'lo'], ['route', '6', 'lo'],
                   ['interface-down', 'lo'], ['bind', '127.0.0.1', '1023'], ['bind', '::', '53']):
        outside = case.plain([*own, case.attack, *attack])
        case.control(outside.code == 0, f'{" ".join(attack)} does not work in a network of one\'s own: {outside.out}')
        for options in ([], ['--network', 'filtered', '--allow-domain', 'example.com']):
            case.refused(case.inside([case.attack, *attack], options), ['EPERM', 'EACCES'])


@row('W-net-1', 'a development server inside is reached from inside: 127.0.0.1, localhost, ::1, any address')
def server_inside(case):
    case.write('page.txt', 'a page\n')
    for listen, hosts in (('127.0.0.1', ['127.0.0.1', 'localhost', '127.1']), ('0.0.0.0', ['127.0.0.1', 'localhost']),
                          ('::1', ['[::1]']), ('::', ['[::1]', '127.0.0.1'])):
        text = SERVER.format(v6=':' in listen, listen=listen, hosts=hosts)
        outside = case.plain(['/usr/bin/python3', '-c', text])
        case.control(outside.out.endswith('fine\n'), f'a server does not work outside: {listen} {outside.err[-300:]}')
        inside = case.inside(['/usr/bin/python3', '-c', text])
        case.check(inside.code == 0 and inside.out.endswith('fine\n'), f'a server on {listen} does not work', inside)


@row('W-net-1', 'a Node server on localhost is reached by curl and by Node\'s fetch inside')
def node_server(case):
    script = case.write('server.js', '''
const http = require('http');
const server = http.createServer((q, r) => r.end('served ' + q.url)).listen(0, 'localhost', async () => {
  const base = 'http://localhost:' + server.address().port;
  console.log(await (await fetch(base + '/a')).text());
  const done = (error, out) => { console.log(error || out); server.close(); };
  require('child_process').execFile('curl', ['-s', base + '/b'], done);
});
''')
    outside = case.plain(['node', script])
    case.control(outside.out == 'served /a\nserved /b\n', f'node or curl does not work outside: {outside.err[-300:]}')
    inside = case.inside(['node', script])
    case.same(inside.out, 'served /a\nserved /b\n', 'what was served', inside)


@row('W-net-1', 'two sandboxes may use the same port at the same time')
def same_port(case):
    attack = [case.attack, 'listen', '127.0.0.1', '18080', '1']
    first, second = case.popen(case.sandboxed(attack)), case.popen(case.sandboxed(attack))
    case.cleanups += [first.wait, first.kill, second.wait, second.kill]
    outcomes = [case.finish(process) for process in (first, second)]
    for outcome in outcomes:
        case.check('listening' in outcome.out, 'a sandbox cannot open its own port', outcome)
    clash = case.plain(['sh', '-c', '"$@" >/dev/null & sleep 0.3; "$@"; wait', 'sh', *attack])
    case.control('EADDRINUSE' in clash.out, f'two programs may use one port outside: {clash.out}')
