"""The gate before a server: no state of the broker, and no odd first byte, opens it for bytes that were not read."""
import os
import time

from harness import row
from harness_far import drain
from harness_world import PYTHON, World, filtered
from net_peers import broker_of
from net_ports import serving

ALLOW_8080 = filtered('registry.example.com')


@row('A-net-6', 'a broker with no room for a client\'s first bytes lets none of them through unread')
def no_room(case):
    world = World(case)
    world.name('registry.example.com', '203.0.113.10')
    server = world.serve('203.0.113.10', 8080, drain)
    inside = world.ask(r'''
        full = []
        for _ in range(560):
            made = socket.create_connection(proxy_address(), PATIENCE)
            made.sendall(b'GET http://registry.example.com/' + b'a' * 50000)
            full.append(made)
        time.sleep(1)
        for number in range(3):
            say(f'misdirected {number}', tcp('registry.example.com', 8080, request('denied.example.net')))
        for made in full:
            made.close()
        time.sleep(1)
        say('afterwards', tcp('registry.example.com', 8080, request('denied.example.net')))
    ''', ALLOW_8080, patience=120)
    case.same(len(inside), 4, 'attempts')
    case.same([note['received'] for note in server.got if note['received']], [], 'what reached the server')


@row('A-net-6', 'a first line of 64 KiB and more is refused and keeps nobody waiting')
def no_end(case):
    world = World(case)
    world.name('registry.example.com', '203.0.113.10')
    server = world.serve('203.0.113.10', 8080, drain)
    inside = world.ask(r'''
        for name, beginning in (('empty lines', b'\r\n'), ('another method', b'FROB /'), ('a URL', b'FROB http://x/'),
                                ('blanks', b'   ')):
            say(name, short(tcp('registry.example.com', 8080, beginning + (beginning * 100000 if beginning.isspace() else b'A' * 200000))))
    ''', ALLOW_8080, patience=200)
    case.same({name for name, answer in inside.items() if answer == 'timeout'}, set(), 'who got no answer')
    case.same([note['received'] for note in server.got if note['received']], [], 'what reached the server')


@row('A-net-6', 'what a lenient server reads as a request or as TLS is no other protocol')
def lenient(case):
    world = World(case)
    world.name('registry.example.com', '203.0.113.10')
    servers = [world.serve('203.0.113.10', port, drain) for port in (8080, 443)]
    inside = world.ask(r'''
        rest = b' HTTP/1.1\r\nHost: denied.example.net:443\r\n\r\n'
        begun = {
            'connect': b'connect denied.example.net:443' + rest, 'Connect': b'Connect denied.example.net:443' + rest,
            'a vertical tab': b'CONNECT\x0bdenied.example.net:443' + rest, 'a form feed': b'GET\x0c/' + rest,
            'a bare CR': b'GET\r/' + rest, 'a blank in front': b' GET /' + rest, 'a tab in front': b'\tGET /' + rest,
            'a line and a blank': b'\r\n GET /' + rest,
            'an alert first': bytes.fromhex('15030100020129') + b'hello', 'a cipher change first': bytes.fromhex('140303000101'),
            'data first': bytes.fromhex('1703030001') + b'hello', 'a heartbeat first': bytes.fromhex('1803030001') + b'hello',
        }
        for name, data in begun.items():
            for port in (8080, 443):
                say(f'{name} {port}', short(tcp('registry.example.com', port, data, half_close=True)))
        say('other', tcp('registry.example.com', 8080, b'another protocol\n', half_close=True))
    ''', ALLOW_8080, patience=200)
    case.same(len(inside), 25, 'attempts')
    case.same([note['received'] for server in servers for note in server.got if note['received']], [b'another protocol\n'],
              'what reached the servers')


@row('A-net-6', 'a request or a hello is none the less one when it comes in pieces, or has no end but the client\'s own')
def pieces(case):
    world = World(case)
    world.name('registry.example.com', '203.0.113.10')
    servers = [world.serve('203.0.113.10', port, drain) for port in (8080, 443)]
    inside = world.ask(r'''
        @trying
        def slowly(port, first, *parts):
            with connected('registry.example.com', port) as made:
                made.sendall(first)
                for part in parts:
                    time.sleep(0.7)
                    made.sendall(part)
                made.shutdown(socket.SHUT_WR)
                return text_of(read_all(made))
        head = b' / HTTP/1.1\r\nHost: denied.example.net\r\n'
        cut = {
            'no empty line': (b'GET' + head,), 'no empty line, other method': (b'FROB' + head,),
            'no end of the line': (b'GET / HTTP/1.1\r\nHost: denied.example.net',),
            'an alert': (b'\x15', b'\3\1\0\2\1)', b'the hello'), 'a cipher change': (b'\x14', b'\3\3\0\1\1', b'the hello'),
            'a method in two': (b'FRO', b'B' + head + b'\r\n'), 'connect in two': (b'conn', b'ect denied.example.net:1' + head[2:]),
            'a blank first': (b' ', b'GET' + head + b'\r\n'), 'a hello': (b'\x16', b'\3\1'),
        }
        for name, parts in cut.items():
            for port in (8080, 443):
                say(f'{name} {port}', slowly(port, *parts))
        say('a slow request', slowly(8080, b'GET / HTTP/1.1\r\n', b'Host: registry.example.com:8080\r\n', b'\r\n'))
    ''', ALLOW_8080, patience=200)
    case.same(len(inside), 19, 'attempts')
    whole = [note['received'] for server in servers for note in server.got
             if b'denied' in note['received'] or b'hello' in note['received'] or note['received'][:1] in (b'\x14', b'\x15')]
    case.same(whole, [], 'what reached the servers')
    case.check(any(b'Host: registry' in note['received'] for note in servers[0].got), f'a slow request arrives: {inside["a slow request"]}')


# -- no way to keep the broker busy with nothing ------------------------------------------------------------------------

FULL = r'''
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
made = []
# As many as one process may have, more than once.
for part in range(7):
    read, write = os.pipe()
    if os.fork() == 0:
        for _ in range(600):
            made.append(socket.create_connection((proxy.hostname, proxy.port), 20))
            made[-1].sendall(b'GET ')
        os.write(write, b'.')
        sys.stdin.read()
        os._exit(0)
    os.close(write)
    if os.read(read, 1) != b'.':
        sys.exit('no connections')
print('up', flush=True)
sys.stdin.read()
'''


def ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        words = file.read().rpartition(')')[2].split()
    return int(words[11]) + int(words[12])


@row('A-net-10', 'a visitor of a published port who must wait, as all connections are taken, keeps the broker idle')
def full(case):
    world = World(case)
    port = world.free_port()
    process = serving(case, [PYTHON, '-c', FULL], filtered('registry.example.com', more=['--publish', str(port)]))
    broker = broker_of(case, process.pid)
    visitors = [world.connect('127.0.0.1', port) for _ in range(3)]
    case.cleanups += [visitor.close for visitor in visitors]
    time.sleep(1)
    before = ticks(broker)
    time.sleep(2)
    spent = ticks(broker) - before
    case.check(spent < os.sysconf('SC_CLK_TCK') / 2, f'the broker worked for {spent} of {2 * os.sysconf("SC_CLK_TCK")} ticks')
    case.same(case.finish(process, b'').code, 0, 'the exit code')


def resident(pid):
    """Megabytes."""
    with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:')) >> 10


MANY_HEADS = r'''
import os, socket, sys
head = b'GET / HTTP/1.1\r\nHost: ' + sys.argv[1].encode() + b'\r\nX: ' + b'a' * 60000 + b'\r\n\r\n'
made = []
for part in range(4):
    read, write = os.pipe()
    if os.fork() == 0:
        for _ in range(600):
            made.append(socket.create_connection((sys.argv[1], 80), 20))
            made[-1].sendall(head)
        os.write(write, b'.')
        sys.stdin.read()
        os._exit(0)
    os.close(write)
    os.read(read, 1)
print('up', flush=True)
sys.stdin.read()
'''


def endless_head(connection, note):
    connection.recv(65536)
    connection.sendall(b'HTTP/1.1 200 OK\r\nX: ' + b'a' * 60000)
    drain(connection, note)


@row('A-net-10', 'heads without number, of requests that wait and of answers without end, take no more than 64 MB')
def heads(case):
    for talk in (None, endless_head):
        world = World(case)
        # Without a server the connections wait: nobody takes them there.
        world.name('registry.example.com', '203.0.113.10')
        if talk:
            world.serve('203.0.113.10', 80, talk)
        else:
            silent = world.socket('far', address='203.0.113.10', port=80)
            case.cleanups.append(silent.close)
        process = serving(case, [PYTHON, '-c', MANY_HEADS, 'registry.example.com'], filtered('registry.example.com'))
        broker = broker_of(case, process.pid)
        time.sleep(1)
        size = resident(broker)
        case.check(size < 64, f'the broker holds {size} MB, {talk}')
        case.finish(process, b'')
        world.close()
