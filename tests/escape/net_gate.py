"""The gate before a server: no state of the broker, and no odd first byte, opens it for bytes that were not read."""
from harness import row
from harness_far import drain
from harness_world import World, filtered

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
        for name, beginning in (('empty lines', b'\r\n'), ('a method', b''), ('another method', b'FROB /'),
                                ('a URL', b'FROB http://x/'), ('blanks', b'   '), ('letters', b'a')):
            say(name, short(tcp('registry.example.com', 8080, beginning + b'A' * 200000)))
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
