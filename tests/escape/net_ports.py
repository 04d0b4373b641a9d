"""Ports both ways: a server inside that the host may reach, a service of the host that the command may reach."""
import os
import shutil
import socket
import tempfile
import threading

from harness import Failure, row
from harness_far import echo
from harness_world import HOST, HOST6, NO_PROXIES, PYTHON, World, filtered, needs
from net_filtered import check_table, reached

INSIDE = r'''
import http.server, os, socket, sys, threading
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        text = f'inside {self.path} {self.client_address[0]}\n'.encode()
        self.send_response(200); self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
    def do_POST(self):
        data = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200); self.send_header('Content-Length', str(len(data))); self.end_headers(); self.wfile.write(data)
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
    request_queue_size = 256
for port in sys.argv[2:]:
    threading.Thread(target=Server((sys.argv[1], int(port)), Page).serve_forever, daemon=True).start()
print('up', flush=True)
sys.stdin.read()
'''


def serving(case, argv, options):
    """A program inside that says "up" when it serves; ended by its input's end."""
    process = case.popen(case.sandboxed(argv, options), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    line = process.stdout.readline()
    if line != b'up\n':
        raise Failure('the server inside did not start\n' + case.finish(process, b'').describe())
    return process


def fetch(world, address, port, data=b'', path='/page'):
    """An HTTP answer's body by a connection from the host, or the error's name."""
    try:
        with world.connect(address, port) as made:
            method = b'POST' if data else b'GET'
            made.sendall(method + f' {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n'.encode()
                         + data)
            got = b''
            while True:
                more = made.recv(65536)
                if not more:
                    break
                got += more
        return got.partition(b'\r\n\r\n')[2]
    except OSError as error:
        return type(error).__name__.encode()


@row('W-net-1',
     'a published port is reached on the host\'s loopback, IPv4 and IPv6, whatever the server inside listens on')
def publish(case):
    world = World(case)
    port, closed = world.free_port(), world.free_port()
    data = os.urandom(300000)
    for listen in ('127.0.0.1', '0.0.0.0', '::1', '::'):
        for options in (['--publish', str(port)], filtered('registry.example.com', more=['--publish', str(port)])):
            process = serving(case, [PYTHON, '-c', INSIDE, listen, str(port), str(closed)], options)
            case.check(fetch(world, '127.0.0.1', port).startswith(b'inside /page '),
                       f'{listen} by 127.0.0.1: {fetch(world, "127.0.0.1", port)}')
            case.check(fetch(world, '::1', port).startswith(b'inside /page '), f'{listen} by ::1')
            case.check(fetch(world, '127.0.0.1', port, data) == data, f'{listen}: an upload comes back')
            for address in ('127.0.0.1', '::1', HOST, HOST6):
                case.same(fetch(world, address, closed), b'ConnectionRefusedError',
                          f'a port that is not published, {address}')
            for address in (HOST, HOST6):
                case.same(fetch(world, address, port), b'ConnectionRefusedError', f'the published port at {address}')
            case.same(case.finish(process, b'').code, 0, 'the exit code')
    case.same(fetch(world, '127.0.0.1', port), b'ConnectionRefusedError', 'the published port when the run is over')


@row('W-net-1',
     'a published port before the server listens, and after it has gone: the connection ends, and the next one works')
def publish_late(case):
    world = World(case)
    port = world.free_port()
    text = INSIDE.replace("for port in sys.argv[2:]:",
                          "print('up', flush=True); sys.stdin.readline()\nfor port in sys.argv[2:]:")
    process = serving(case, [PYTHON, '-c', text, '127.0.0.1', str(port)], ['--publish', str(port)])
    early = fetch(world, '127.0.0.1', port)
    case.check(early in (b'', b'ConnectionResetError', b'BrokenPipeError'), f'too early: {early}')
    process.stdin.write(b'go\n')
    process.stdin.flush()
    case.same(process.stdout.readline(), b'up\n', 'the server')
    case.check(fetch(world, '127.0.0.1', port).startswith(b'inside /page'), 'afterwards')
    case.same(case.finish(process, b'').code, 0, 'the exit code')


@row('W-net-1', 'many visitors of a published port at once, and large answers both ways')
def publish_many(case):
    world = World(case)
    port = world.free_port()
    process = serving(case, [PYTHON, '-c', INSIDE, '127.0.0.1', str(port)], ['--publish', str(port)])
    answers = []

    def visit(number):
        data = bytes([number % 256]) * 200000
        answers.append(fetch(world, '127.0.0.1', port, data) == data)
    threads = [threading.Thread(target=visit, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    case.same(answers, [True] * 60, 'uploads that came back')
    case.same(case.finish(process, b'').code, 0, 'the exit code')


@row('W-net-1', 'a port to publish that is taken is an error with its number, and the command does not run')
def publish_taken(case):
    world = World(case)
    server = world.serve('127.0.0.1', 0, where='host')
    inside = case.inside(['touch', 'ran'], ['--publish', str(server.port)])
    case.same(inside.code, 125, 'exit code', inside)
    case.check(str(server.port) in inside.err, 'the message names the port', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'ran')), 'the command did run', inside)


@row('W-net-1',
     'Node\'s development server is published, a client inside reaches it too, with and without the proxies\' variables')
def dev_server(case):
    world = World(case)
    needs(case, 'node', 'curl')
    port = world.free_port()
    script = case.write('server.js', f'''
const http = require('http');
http.createServer((ask, answer) => answer.end('node ' + ask.url)).listen({port}, 'localhost', async () => {{
  const page = await (await fetch('http://localhost:{port}/fetch')).text();
  const {{execFileSync}} = require('child_process');
  const curl = require('util').promisify(require('child_process').execFile);
  const other = (await curl('curl', ['-s', 'http://localhost:{port}/curl'])).stdout;
  console.error(page, other);
  console.log('up');
}});
process.stdin.on('end', () => process.exit(0)).resume();
''')
    for prefix in ([], NO_PROXIES):
        process = serving(case, [*prefix, 'node', script],
                          filtered('registry.example.com', more=['--publish', str(port)]))
        case.same(fetch(world, '127.0.0.1', port), b'node /page', 'the page outside')
        ended = case.finish(process, b'')
        case.same((ended.code, ended.err), (0, 'node /fetch node /curl\n'), 'pages inside', ended)


@row('A-net-10', 'a port of the host\'s loopback is reached inside when it is named, and no other, by whatever way')
def reach(case):
    world = World(case)
    named, other = (world.serve('127.0.0.1', 0, where='host') for _ in range(2))
    elsewhere = world.serve(HOST, named.port, where='host')
    script = '''
        named, other = map(int, sys.argv[1:])
        for host in ('127.0.0.1', 'localhost', '::1', '127.0.0.9', '192.0.2.1', '2001:db8:ffff::1', '203.0.113.10'):
            say('named ' + host, echoed(host, named))
            say('other ' + host, echoed(host, other))
        if 'http_proxy' in os.environ:
            say('other proxy', connect_by(f'127.0.0.1:{other}', raw_inside(b'ping')))
            say('other socks', socks5('localhost', other, raw_inside(b'ping')))
    '''
    numbers = [str(named.port), str(other.port)]
    outside = world.ask(script, arguments=numbers)
    case.control(outside['named 127.0.0.1'] == outside['other 127.0.0.1'] == 'ok ping', f'outside: {outside}')
    for options in (['--reach', numbers[0]], filtered('registry.example.com', more=['--reach', numbers[0]]),
                    filtered('*', more=['--reach', numbers[0]])):
        for server in (named, other, elsewhere):
            server.got.clear()
        inside = world.ask(script, options, numbers)
        check_table(case, inside, ['named 127.0.0.1', 'named localhost', 'named ::1'],
                    [name for name in inside if name.startswith('other')
                     or name.endswith(('192.0.2.1', 'ffff::1', '113.10'))],
                    [other, elsewhere])
        case.check(len(named.got) >= 3, 'connections to the named one')


@row('A-net-10', 'a port to reach that nobody serves refuses, a service that listens on ::1 alone is found')
def reach_missing(case):
    world = World(case)
    missing = world.free_port()
    six = world.serve('::1', 0, where='host')
    inside = world.ask('''
        missing, six = map(int, sys.argv[1:])
        say('missing', echoed('127.0.0.1', missing))
        say('six', echoed('127.0.0.1', six))
        say('bytes', str(len(echoed('localhost', six, 'x' * 1000000))))
    ''', ['--reach', str(missing), '--reach', str(six.port)], [str(missing), str(six.port)])
    check_table(case, inside, ['six'], ['missing'])
    case.same(inside['bytes'], str(len('ok ') + 1000000), 'the size of an echo')


@row('A-net-10',
     'what is reached and published leads nowhere else: not from the published port to the host, not to another sandbox')
def no_shortcut(case):
    world = World(case)
    port, hidden = world.free_port(), world.serve('127.0.0.1', 0, where='host')
    process = serving(case, [PYTHON, '-c', INSIDE, '127.0.0.1', str(port)], ['--publish', str(port)])
    script = '''
        for port in map(int, sys.argv[1:]):
            for host in ('127.0.0.1', 'localhost', '::1', '192.0.2.1', '203.0.113.10'):
                say(f'{host} {port}', echoed(host, port))
                say(f'http {host} {port}', http(host, port))
    '''
    # A second sandbox does not see what the first one published, unless it is named.
    inside = world.ask(script, filtered('*'), [str(port), str(hidden.port)])
    check_table(case, inside, (), inside, [hidden])
    inside = world.ask(script, ['--reach', str(port)], [str(port)])
    check_table(case, inside, [f'http 127.0.0.1 {port}'], [f'http 192.0.2.1 {port}'])
    case.finish(process, b'')


@row('W-net-1', 'PostgreSQL on the host\'s loopback is used by psql inside, when its port is named')
def postgresql(case):
    world = World(case)
    place = next((folder for folder in ('/usr/lib/postgresql', '/usr/pgsql') if os.path.isdir(folder)), '')
    versions = sorted(os.listdir(place),
                      key=lambda text: [int(part) for part in text.split('.') if part.isdigit()]) if place else []
    programs = os.path.join(place, versions[-1], 'bin') if versions else os.path.dirname(shutil.which('initdb') or '/')
    case.control(os.path.exists(os.path.join(programs, 'initdb')), 'PostgreSQL is not installed')
    needs(case, 'psql')
    port = world.free_port()
    data = tempfile.mkdtemp(prefix='.qsb-escape-database-')
    case.cleanups.append(lambda: shutil.rmtree(data))
    # The server refuses to be root: there it runs as the user that owns no file.
    own = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] if case.is_root else []
    if case.is_root:
        os.chown(data, 65534, 65534)
    made = case.plain([*own, os.path.join(programs, 'initdb'), '-D', data, '-U', 'tester', '-A', 'trust', '--no-sync',
                       '--locale=C',
                       '-E', 'UTF8'], cwd='/')
    case.control(made.code == 0, f'initdb does not work outside: {made.describe()}')
    server = case.popen([*own, os.path.join(programs, 'postgres'), '-D', data, '-p', str(port), '-c',
                         'listen_addresses=127.0.0.1',
                         '-c', 'fsync=off', '-k', ''], cwd='/')
    case.cleanups += [lambda: case.finish(server, patience=20), server.terminate]
    case.env['PGCONNECT_TIMEOUT'] = '20'
    psql = ['psql', '-h', '127.0.0.1', '-p', str(port), '-U', 'tester', '-d', 'postgres', '-Atq', '-c',
            'create table t (n int); insert into t select generate_series(1, 20000); select sum(n) from t; drop table t']
    case.wait_until(lambda: case.plain(psql).out == '200010000\n', 'PostgreSQL answers outside')
    for options in (['--reach', str(port)], filtered('registry.example.com', more=['--reach', str(port)])):
        inside = case.inside(psql, options)
        case.same((inside.code, inside.out), (0, '200010000\n'), 'the answer inside', inside)
    for options in ([], filtered('*'), ['--reach', str(world.free_port())]):
        inside = case.inside(psql, options)
        case.check(inside.code == 2 and not inside.out, 'a database whose port is not named', inside)


@row('W-net-1', 'half-closed connections carry on by published and reached ports, and a client that resets is no harm')
def halves(case):
    world = World(case)
    server = world.serve('127.0.0.1', 0, echo, where='host')
    port = world.free_port()
    text = ('import socket, sys\ns = socket.create_server(("127.0.0.1", int(sys.argv[1])))\nprint("up", flush=True)\n'
            'for _ in range(3):\n    c, _ = s.accept()\n    data = b""\n    while True:\n'
            '        try:\n            more = c.recv(65536)\n        except OSError:\n            break\n'
            '        if not more: break\n        data += more\n'
            '    try:\n        c.sendall(data[::-1])\n    except OSError: pass\n    c.close()\n')
    process = serving(case, [PYTHON, '-c', text, str(port)], ['--publish', str(port)])
    for number in range(3):
        with world.connect('127.0.0.1', port) as made:
            made.sendall(b'one two')
            if number == 1:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                continue
            made.shutdown(socket.SHUT_WR)
            case.same(made.recv(100, socket.MSG_WAITALL), b'owt eno', 'what comes back after the end of what was sent')
    case.same(case.finish(process, b'').code, 0, 'the exit code')
    inside = world.ask('say("it", echoed("127.0.0.1", int(sys.argv[1]), "a" * 70000))', ['--reach', str(server.port)],
                       [str(server.port)])
    case.check(reached(inside['it']) and len(inside['it']) == 70003, 'an echo after a half-close')
