"""Peers that are slow, silent, greedy or rude, many of them at once, and a broker that dies."""
import json
import os
import signal
import textwrap

from harness import row
from harness_far import drain, echo, flood, reset, silent
from harness_host import children_of_all, descendants, program_name
from harness_world import PYTHON, World, filtered
from net_filtered import check_table

ALLOW = filtered('*.example.org')


def peers(case):
    """A world with a server of every kind, each under a name of its own."""
    world = World(case)
    kinds = {'echo': echo, 'silent': silent, 'reset': reset, 'drain': drain, 'flood': flood(1 << 28), 'page': None}
    world.kinds = {}
    for number, (word, talk) in enumerate(kinds.items(), 40):
        world.name(f'{word}.example.org', f'203.0.113.{number}')
        world.kinds[word] = world.serve(f'203.0.113.{number}', 7777,
                                        talk) if talk else world.web(f'203.0.113.{number}', https=None)
    return world


def outside_and_inside(case, world, script, options=ALLOW, **keywords):
    outside = world.ask(script, **keywords)
    return outside, world.ask(script, options, **keywords)


# -- slow, silent, rude ----------------------------------------------------------------------------------------------

@row('A-net-9', 'a client of another protocol that says one word and waits is answered; a request cannot hide behind it')
def lone_word(case):
    world = peers(case)
    script = r'''
        @trying
        def pieces(*texts):
            with socket.create_connection(('echo.example.org', 7777), PATIENCE) as made:
                said = b''
                for text in texts:
                    made.sendall(text)
                    said += made.recv(4096)
                return text_of(said)
        for name, texts in json.loads(sys.argv[1]).items():
            say(name, pieces(*[text.encode() for text in texts]))
    '''
    words = {'word': ['ping'], 'words': ['pi', 'ng', ' more\r\n', 'x'], 'binary': ['\x01\x02', 'GET / HTTP/1.1\r\n']}
    tricks = {'unknown method': ['FO', 'O / HTTP/1.1\r\nHost: other.example.net\r\n\r\n'],
              'small letters': ['ge', 't / HTTP/1.1\r\nHost: other.example.net\r\n\r\n']}
    outside, inside = outside_and_inside(case, world, script, arguments=[json.dumps({**words, **tricks})])
    for name, texts in {**words, **tricks}.items():
        case.control(outside[name] == 'ok ' + ''.join(texts), f'outside: {outside}')
    for name, texts in words.items():
        case.same(inside[name], 'ok ' + ''.join(texts), f'{name}: the answer')
    for name in tricks:
        case.check('HTTP' not in str(inside[name]), f'{name}: the request went on: {inside[name]}')

@row('A-net-9', 'a client that sends one byte at a time is served when it is done, and holds nobody else up')
def slow_client(case):
    world = peers(case)
    # They are at it until the others have been served, however long that takes.
    script = r'''
        served = threading.Event()
        def thin(data, address=('page.example.org', 80)):
            with socket.create_connection(address, PATIENCE) as made:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in data:
                    made.sendall(bytes([byte]))
                    served.wait(0.3)
                return short(text_of(read_all(made)))
        head = b'GET /slow HTTP/1.1\r\nHost: page.example.org\r\nConnection: close\r\n\r\n'
        works = [lambda: thin(head)]
        if 'http_proxy' in os.environ:
            connect = b'CONNECT page.example.org:80 HTTP/1.1\r\nHost: page.example.org:80\r\n\r\n'
            works += [lambda: thin(head.replace(b'/slow', b'http://page.example.org/slow'), proxy_address()),
                      lambda: thin(connect + head, proxy_address())]
        def others(number):
            if number < len(works):
                return works[number]()
            time.sleep(0.3)
            for number in range(20):
                say(f'meanwhile {number}', http('page.example.org'))
            served.set()
        for number, answer in enumerate(together(len(works) + 1, others)[:-1]):
            say(f'slow {number}', answer)
    '''
    outside, inside = outside_and_inside(case, world, script)
    case.control(outside['slow 0'].startswith('200 '), f'outside: {outside}')
    check_table(case, inside, ['slow 0', 'slow 1', *[f'meanwhile {number}' for number in range(20)]], ())
    case.check(' 200 ' in inside['slow 2'][:20] or inside['slow 2'].startswith('200'),
               f'a slow CONNECT: {inside["slow 2"]}')


@row('A-net-9', 'a server that never answers, one that resets and one that closes are seen as what they are')
def server_manners(case):
    world = peers(case)
    script = '''
        def first_byte(name, port, wait):
            try:
                with socket.create_connection((name, port), PATIENCE) as made:
                    made.sendall(b'hello')
                    made.settimeout(wait)
                    return text_of(made.recv(100))
            except OSError as error:
                return fault(error)
        say('silent', first_byte('silent.example.org', 7777, 1))
        say('reset', first_byte('reset.example.org', 7777, 10))
        say('echo', first_byte('echo.example.org', 7777, 10))
        say('closed', first_byte('echo.example.org', 7778, 10))
    '''
    outside, inside = outside_and_inside(case, world, script)
    case.control((outside['silent'], outside['reset'], outside['echo'], outside['closed']) ==
                 ('timeout', 'reset', 'ok hello', 'ECONNREFUSED'), f'outside: {outside}')
    case.same((inside['silent'], inside['echo']), ('timeout', 'ok hello'), 'silence and an echo')
    case.check(inside['reset'] in ('reset', 'end'), f'a reset: {inside["reset"]}')
    case.check(inside['closed'] in ('ECONNREFUSED', 'reset', 'end'), f'a port where nobody listens: {inside["closed"]}')


@row('A-net-9', 'a client that never reads stops its own transfer only, and the broker keeps no more than a buffer')
def never_reads(case):
    world = peers(case)
    inside = world.ask('''
        greedy = [socket.create_connection(('flood.example.org', 7777), PATIENCE) for _ in range(20)]
        for made in greedy:
            made.sendall(b'x')
        time.sleep(0.5)
        for number in range(5):
            say(f'page {number}', http('page.example.org'))
        say('first', text_of(greedy[0].recv(4, socket.MSG_WAITALL)).encode('latin-1').hex())
    ''', ALLOW)
    check_table(case, inside, [f'page {number}' for number in range(5)], ())
    case.same(inside['first'], b'ok \0\1\2\3'.hex(), 'the first bytes, late')
    sent = [note.get('sent', 0) for note in world.kinds['flood'].got]
    case.same(len(sent), 20, 'connections to the server')
    case.check(max(sent) < 1 << 26, f'a client that does not read took {max(sent)} bytes')


@row('A-net-9',
     'half-closed both ways: a client that has sent all still gets the answer, a server\'s end leaves the other way open')
def half_closed(case):
    world = peers(case)
    half = world.serve('203.0.113.50', 7777, half_server)
    world.name('half.example.org', '203.0.113.50')
    script = '''
        say('client first', str(len(echoed('echo.example.org', 7777, 'a ' * 150000))))
        with socket.create_connection(('half.example.org', 7777), PATIENCE) as made:
            say('server first', text_of(read_all(made)))
            made.sendall(b'after the end')
            made.shutdown(socket.SHUT_WR)
            time.sleep(0.1)
        if 'http_proxy' in os.environ:
            def talk(made):
                got = read_all(made)
                made.sendall(b'after the end')
                made.shutdown(socket.SHUT_WR)
                return text_of(got)
            say('connect', connect_by('half.example.org:7777', talk))
            say('socks', socks5('half.example.org', 7777, talk))
    '''
    outside = world.ask(script)
    case.wait_until(lambda: half.got and half.got[-1]['received'] == b'after the end', 'the end arrives outside')
    case.control(outside['client first'] == '300003', f'outside: {outside}')
    half.got.clear()
    inside = world.ask(script, ALLOW)
    case.same(inside, {'client first': '300003', 'server first': 'ok bye', 'connect': 'ok bye', 'socks': 'ok bye'},
              'what came')
    case.wait_until(lambda: [note['received'] for note in half.got] == [b'after the end'] * 3,
                    f'what was sent after the end arrives: {half.got}')


def half_server(connection, note):
    connection.sendall(b'bye')
    connection.shutdown(1)
    drain(connection, note)


# -- many and large --------------------------------------------------------------------------------------------------

@row('A-net-9', '200 connections at once, each with its own bytes, direct and through both proxies')
def many(case):
    world = peers(case)
    script = '''
        def work(number):
            text = f'{number} ' * 2000
            way = number % 3 if 'http_proxy' in os.environ else 0
            if way == 1:
                answer = connect_by('echo.example.org:7777', raw_inside(text.encode()))
            elif way == 2:
                answer = socks5('echo.example.org', 7777, raw_inside(text.encode()))
            else:
                answer = echoed('echo.example.org', 7777, text)
            return 'ok' if answer == 'ok ' + text else answer[:60]
        answers = together(200, work)
        say('wrong', ', '.join(sorted({answer for answer in answers if answer != 'ok'})))
        with_all = [socket.create_connection(('echo.example.org', 7777), PATIENCE) for _ in range(200)]
        for number, made in enumerate(with_all):
            made.sendall(str(number).encode())
        for number, made in enumerate(with_all):
            if made.recv(10) != str(number).encode():
                say('mixed up', str(number))
    '''
    outside, inside = outside_and_inside(case, world, script)
    case.control(outside == {'wrong': ''}, f'outside: {outside}')
    case.same(inside, {'wrong': ''}, 'what was wrong inside')


@row('A-net-9', 'large transfers both ways at once are exact, direct, by CONNECT, by SOCKS and by plain HTTP')
def large(case):
    world = peers(case)
    script = '''
        import hashlib
        block = bytes(range(256)) * 4096
        def both(made, megabytes=24):
            sent, got = hashlib.sha256(), hashlib.sha256()
            def send():
                for number in range(megabytes):
                    part = number.to_bytes(4, 'big') + block[4:]
                    sent.update(part)
                    made.sendall(part)
                made.shutdown(socket.SHUT_WR)
            thread = threading.Thread(target=send)
            thread.start()
            size = 0
            while True:
                data = made.recv(1 << 18)
                if not data:
                    break
                size += len(data)
                got.update(data)
            thread.join()
            return 'ok' if size == megabytes << 20 and sent.digest() == got.digest() else f'{size} bytes'
        say('direct', both(connected('echo.example.org', 7777)))
        if 'http_proxy' in os.environ:
            say('connect', connect_by('echo.example.org:7777', both))
            say('socks', socks5('echo.example.org', 7777, both))
        body = b'x' * (8 << 20)
        answer = tcp('page.example.org', 80, request('page.example.org', '/up', 'POST', f'Content-Length: {len(body)}\\r\\n') + body)
        say('post', short(answer))
    '''
    outside, inside = outside_and_inside(case, world, script)
    case.control(outside['direct'] == 'ok' and outside['post'].endswith(str(8 << 20)), f'outside: {outside}')
    case.same({name: inside[name] for name in ('direct', 'connect', 'socks')},
              dict.fromkeys(('direct', 'connect', 'socks'), 'ok'), 'transfers')
    case.check(inside['post'].startswith('200 ') and inside['post'].endswith(str(8 << 20)),
               f'an upload: {inside["post"]}')


@row('A-sys-6',
     'clients that hog (idle, with half a head, half a hello, half a question) hold nobody up and take bounded memory')
def hogs(case):
    world = peers(case)
    text = r'''
        def many(count, address, data):
            made = []
            for _ in range(count):
                one = socket.create_connection(address, PATIENCE)
                try:
                    one.sendall(data)
                except OSError:
                    pass
                made.append(one)
            return made
        def check(label):
            say('page ' + label, http('page.example.org'))
            say('connect ' + label, connect_by('page.example.org:80', plain_inside('page.example.org')))
            say('dns ' + label, dns_udp('203.0.113.53', dns_message('page.example.org')))
        half = b'GET / HTTP/1.1\r\nHost: page.example.org\r\nX: ' + b'a' * 60000
        hello = b'\x16\3\1\x40\0' + b'\1\0\x3f\xfc' + b'a' * 16000
        kinds = (('idle', proxy_address(), b''), ('socks', socks_address(), b'\5'), ('heads', proxy_address(), half),
                 ('plain heads', ('page.example.org', 80), half), ('hellos', ('page.example.org', 443), hello),
                 ('questions', ('203.0.113.53', 53), b'\0\x40half'), ('silent', ('page.example.org', 80), b''))
        kept = []
        for label, address, data in kinds:
            kept.append(many(120, address, data))
            check(label)
        print('up', flush=True)
        sys.stdin.readline()
        for one in sum(kept, []):
            one.close()
        say('tcp', dns_tcp('203.0.113.53', dns_message('page.example.org')))
        check('after')
    '''
    argv = [PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(text)]
    process = case.popen(case.sandboxed(argv, ALLOW), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    lines = []
    while not lines or lines[-1] not in (b'up\n', b''):
        lines.append(process.stdout.readline())
    resident = resident_kilobytes(broker_of(case, process.pid))
    outcome = case.finish(process, b'go\n')
    outcome.out = b''.join(lines).decode() + outcome.out
    said = world.said(outcome)
    check_table(case, said, [name for name in said if name.startswith(('page', 'connect'))], ())
    case.same({said[name] for name in said if name.startswith(('dns', 'tcp'))}, {'code 0 answers 1'}, 'lookups')
    case.same(len(said), 8 * 3 + 1, 'attempts')
    if 'QSB_SANITIZED' not in os.environ:  # whose runtime has memory of its own
        case.check(resident < 100_000, f'the broker takes {resident} kB')


def resident_kilobytes(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:'))


@row('A-net-9', 'a thousand connections one after another leave nothing behind in the broker')
def in_turn(case):
    world = peers(case)
    text = '''
        for number in range(1000):
            answer = echoed('echo.example.org', 7777, str(number))
            if answer != f'ok {number}':
                say(str(number), answer)
        say('up', 'ok')
        sys.stdin.read()
    '''
    process = case.popen(case.sandboxed([PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(text)],
                                        ALLOW), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    case.same(process.stdout.readline(), b'{"say": "up", "what": "ok"}\n', 'the thousand connections')
    broker = broker_of(case, process.pid)

    def descriptors():
        return len(os.listdir(f'/proc/{broker}/fd'))
    if case.is_root:  # an ordinary user may not look at a process that gave up its dumpability
        case.wait_until(lambda: descriptors() < 60, f'descriptors go: {descriptors()}')
    case.same(case.finish(process, b'').code, 0, 'the exit code')


# -- the broker's death ----------------------------------------------------------------------------------------------

def broker_of(case, supervisor):
    """The supervisor's child that is the broker."""
    children = children_of_all().get(supervisor, [])
    found = [pid for pid in children if program_name(pid) == 'qsb-broker']
    case.check(len(found) == 1, f'one broker below the supervisor: {[(pid, program_name(pid)) for pid in children]}')
    return found[0]


@row('A-net-9',
     'a broker killed in mid-transfer: the command sees its connections die, nothing leaks, the result says it')
def broker_killed(case):
    world = peers(case)
    script = '''
        made = socket.create_connection(('flood.example.org', 7777), PATIENCE)
        made.sendall(b'x')
        made.recv(65536)
        print('up', flush=True)
        sys.stdin.readline()
        made.settimeout(20)
        try:
            while made.recv(1 << 20):
                pass
            say('transfer', 'end')
        except OSError as error:
            say('transfer', fault(error))
        say('direct', http('203.0.113.45'))
        say('name', lookup('page.example.org'))
        say('page', http('page.example.org'))
        say('proxy', connect_by('page.example.org:80', plain_inside('page.example.org')))
        say('socks', socks5('page.example.org', 80))
    '''
    argv = [PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(script)]
    read_end, write_end = os.pipe()
    with open(read_end, 'rb') as result:
        process = case.popen(case.sandboxed(argv, [*ALLOW, '--result-fd', str(write_end)]), stdin=-1,
                             pass_fds=[write_end])
        os.close(write_end)
        case.cleanups += [process.wait, process.kill]
        case.same(process.stdout.readline(), b'up\n', 'the transfer has begun')
        broker = broker_of(case, process.pid)
        os.kill(broker, signal.SIGKILL)
        outcome = case.finish(process, b'go\n')
        answer = json.loads(result.read() or b'{}')
    case.check(not outcome.hung, 'the run hangs', outcome)
    if outcome.code == 0:  # the command went on without a network
        said = world.said(outcome)
        case.check(said['transfer'] in ('reset', 'end'), f'the transfer: {said["transfer"]}')
        check_table(case, said, (), [name for name in said if name != 'transfer'], [world.kinds['page']])
    case.check('broker' in json.dumps(answer).lower() or 'network' in json.dumps(answer.get('error', '')).lower(),
               f'the result says nothing of it: {json.dumps(answer)[:1500]}')
    case.same(descendants(process.pid), [], 'processes that are left')


@row('A-net-9', 'a broker killed before the first connection: there is no network then, and no way around')
def broker_killed_early(case):
    world = peers(case)
    script = '''
        print('up', flush=True)
        sys.stdin.readline()
        say('direct', http('203.0.113.45'))
        say('page', http('page.example.org'))
        say('name', lookup('page.example.org'))
        say('proxy', connect_by('page.example.org:80', plain_inside('page.example.org')))
        say('own', 'ok')
    '''
    argv = [PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(script)]
    process = case.popen(case.sandboxed(argv, filtered('*')), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    case.same(process.stdout.readline(), b'up\n', 'the start')
    os.kill(broker_of(case, process.pid), signal.SIGKILL)
    outcome = case.finish(process, b'go\n')
    case.check(not outcome.hung, 'the run hangs', outcome)
    if outcome.code == 0:
        said = world.said(outcome)
        check_table(case, said, ['own'], ['direct', 'page', 'name', 'proxy'])
    else:
        case.check(outcome.code in (125, 137), 'the run ended with our own failure', outcome)
    case.same((world.kinds['page'].got, world.resolver.names()), ([], set()), 'what arrived outside')


@row('A-net-9',
     'the broker ends with the run: by its end, by a signal to the supervisor, and by the supervisor\'s death')
def broker_ends(case):
    world = peers(case)
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        process = case.popen(case.sandboxed(['sh', '-c', 'echo up; read line'], ALLOW), stdin=-1)
        case.cleanups += [process.wait, process.kill]
        case.same(process.stdout.readline(), b'up\n', 'the start')
        broker = broker_of(case, process.pid)
        if number:
            os.kill(process.pid, number)
        case.finish(process, b'\n')
        case.wait_until(lambda: not os.path.exists(f'/proc/{broker}') or is_zombie(broker),
                        f'the broker ends, {number}')
    case.check(world.kinds['page'].got == [], 'nobody was called')


def is_zombie(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            return file.read().rsplit(')', 1)[1].split()[0] == 'Z'
    except OSError:
        return True


@row('A-net-9', 'the broker has no capability, no way to gain one, no files, and none of the caller\'s secrets')
def broker_confined(case):
    peers(case)
    case.env['GITHUB_TOKEN'] = 'the-secret'
    process = case.popen(case.sandboxed(['sh', '-c', 'echo up; read line'], ALLOW), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    case.same(process.stdout.readline(), b'up\n', 'the start')
    broker = broker_of(case, process.pid)
    with open(f'/proc/{broker}/status', encoding='utf-8', errors='replace') as file:
        status = dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)
    case.same((status['NoNewPrivs'], status['Seccomp']), ('1', '2'), 'no new privileges, and a filter of system calls')
    case.same(status['CapPrm'], '0' * 16, 'capabilities')
    if case.is_root:
        kinds = [os.readlink(f'/proc/{broker}/fd/{fd}') for fd in os.listdir(f'/proc/{broker}/fd')]
        files = [name for name in kinds if name.startswith('/') and not name.startswith(('/dev/null', '/etc/'))]
        case.same(files, [], 'files that it has open')
        with open(f'/proc/{broker}/environ', 'rb') as file:
            case.check(b'the-secret' not in file.read(), 'a secret of the caller\'s environment is in its memory')
    case.same(case.finish(process, b'\n').code, 0, 'the exit code')
