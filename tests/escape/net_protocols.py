"""Requests that could mean two things, names that disagree, SOCKS and UDP: what a filter must not let through."""
import json
import textwrap

from harness import row
from harness_far import Far, drain
from harness_world import PYTHON, World, filtered
from net_filtered import ALLOW, check_table, reached

# -- A-net-6: HTTP ---------------------------------------------------------------------------------------------------

# What is sent for a request to the allowed name: transparently on port 80, and through the proxy. {t} is the request
# target's beginning there: "" or "http://registry.example.com". Each is whole, so that nobody waits for more of it.
AMBIGUOUS = {
    'two Host headers': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nHost: denied.example.net\r\n\r\n',
    'two equal Host headers': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nhost: registry.example.com\r\n\r\n',
    'another Host': 'GET {t}/x HTTP/1.1\r\nHost: denied.example.net\r\n\r\n',
    'an allowed other Host': 'GET {t}/x HTTP/1.1\r\nHost: www.example.org\r\n\r\n',
    'no Host': 'GET {t}/x HTTP/1.1\r\nAccept: */*\r\n\r\n',
    'an empty Host': 'GET {t}/x HTTP/1.1\r\nHost:\r\n\r\n',
    'a list as Host': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com, denied.example.net\r\n\r\n',
    'a Host with user information': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com@denied.example.net\r\n\r\n',
    'a Host with another port': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com:8080\r\n\r\n',
    'a blank before the colon': 'GET {t}/x HTTP/1.1\r\nHost : denied.example.net\r\nHost: registry.example.com\r\n\r\n',
    'a tab before the colon': 'GET {t}/x HTTP/1.1\r\nHost\t: denied.example.net\r\nHost: registry.example.com\r\n\r\n',
    'a blank before the first header': 'GET {t}/x HTTP/1.1\r\n Host: denied.example.net\r\nHost: registry.example.com\r\n\r\n',
    'a folded line': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nX: a\r\n Host: denied.example.net\r\n\r\n',
    'a folded Host': 'GET {t}/x HTTP/1.1\r\nHost:\r\n denied.example.net\r\n\r\n',
    'a bare LF in the head': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\nHost: denied.example.net\r\n\r\n',
    'bare LFs only': 'GET {t}/x HTTP/1.1\nHost: registry.example.com\n\n',
    'a bare CR in the head': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\rHost: denied.example.net\r\n\r\n',
    'a NUL in the head': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\0.denied.example.net\r\n\r\n',
    'a NUL in a value': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nX: a\0b\r\n\r\n',
    'a control byte in a value': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nX: a\x0bb\r\n\r\n',
    'a header without a colon': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nbroken\r\n\r\n',
    'a header without a name': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\n: a\r\n\r\n',
    'length and coding': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 4\r\n'
                         'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET {t}/smuggled HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'coding and length': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: chunked\r\n'
                         'Content-Length: 60\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'two lengths': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n'
                   'GET /smuggled HTTP/1.1\r\nHost: denied.example.net\r\n\r\n',
    'a list of lengths': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 0, 0\r\n\r\n',
    'a signed length': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: +4\r\n\r\nbody',
    'a negative length': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: -1\r\n\r\n',
    'a hex length': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 0x4\r\n\r\nbody',
    'a length beyond 64 bits': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nContent-Length: 18446744073709551620\r\n\r\nbody',
    'two codings': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: chunked\r\n'
                   'Transfer-Encoding: identity\r\n\r\n0\r\n\r\n',
    'chunked twice': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    'gzip and chunked': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'an unknown coding': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'a coding after a vertical tab': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
    'a coding in quotes': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    'a coding in HTTP/1.0': 'POST {t}/x HTTP/1.0\r\nHost: registry.example.com\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'Host named by Connection': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nConnection: close, Host\r\n\r\n',
    'length named by Connection': 'POST {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nConnection: Content-Length\r\n'
                                  'Content-Length: 44\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: denied.example.net\r\n\r\n',
    'HTTP/2 by its preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0',
    'HTTP/2 by the version': 'GET {t}/x HTTP/2\r\nHost: registry.example.com\r\n\r\n',
    'HTTP/1.2': 'GET {t}/x HTTP/1.2\r\nHost: registry.example.com\r\n\r\n',
    'HTTP/3': 'GET {t}/x HTTP/3.0\r\nHost: registry.example.com\r\n\r\n',
    'a version in small letters': 'GET {t}/x http/1.1\r\nHost: registry.example.com\r\n\r\n',
    'HTTP/0.9': 'GET {t}/x\r\n\r\n',
    'two blanks in the request line': 'GET  {t}/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a tab in the request line': 'GET\t{t}/x\tHTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a blank in the target': 'GET {t}/x y HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a fragment': 'GET {t}/x#y HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'bytes above ASCII in the target': 'GET {t}/\xe9 HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'an endless header': 'GET {t}/x HTTP/1.1\r\nHost: registry.example.com\r\nX: {long}\r\n\r\n',
    'an endless target': 'GET {t}/{long} HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'another absolute target': 'GET http://denied.example.net/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a target with user information': 'GET http://registry.example.com@denied.example.net/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'user information': 'GET http://me:secret@registry.example.com/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a backslash in the target': 'GET http://registry.example.com\\@denied.example.net/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'https in the target': 'GET https://registry.example.com/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'file in the target': 'GET file:///etc/passwd HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'no slashes': 'GET http:registry.example.com/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'port 0 in the target': 'GET http://registry.example.com:0/x HTTP/1.1\r\nHost: registry.example.com:0\r\n\r\n',
    'port 65616 in the target': 'GET http://registry.example.com:65616/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'a port that is no number': 'GET http://registry.example.com:80x/x HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'an asterisk and GET': 'GET * HTTP/1.1\r\nHost: denied.example.net\r\n\r\n',
    'CONNECT with a body': 'CONNECT registry.example.com:80 HTTP/1.1\r\nHost: registry.example.com:80\r\nContent-Length: 4\r\n\r\nbody',
    'CONNECT with another Host': 'CONNECT registry.example.com:80 HTTP/1.1\r\nHost: denied.example.net:80\r\n\r\n',
    'CONNECT without a port': 'CONNECT registry.example.com HTTP/1.1\r\nHost: registry.example.com\r\n\r\n',
    'CONNECT with a path': 'CONNECT registry.example.com:80/x HTTP/1.1\r\nHost: registry.example.com:80\r\n\r\n',
    'CONNECT to a URL': 'CONNECT http://registry.example.com:80 HTTP/1.1\r\nHost: registry.example.com:80\r\n\r\n',
    'CONNECT with two blanks': 'CONNECT registry.example.com:80  HTTP/1.1\r\nHost: registry.example.com:80\r\n\r\n',
    'nothing but a line end': '\r\n\r\n',
    'a TLS alert': '\x15\x03\x01\0\2\2\0',
}
# A bare line end is skipped by some readers: it must not begin a request that is judged as another.
TWO_WAYS = r'''
    for label, text in json.loads(sys.stdin.read()).items():
        for way, target in (('plain', ''), ('proxy', 'http://registry.example.com')):
            data = text.replace('{t}', target).replace('{long}', 'a' * 70000).encode('latin-1')
            if way == 'plain':
                say(f'plain {label}', tcp('registry.example.com', 80, data, half_close=True))
            else:
                say(f'proxy {label}', by_proxy(data))
'''


@row('A-net-6',
     'a request that could mean two things is refused, plain and through the proxy, and nothing of it goes on')
def ambiguous(case):
    world = World(case)
    first, second, other = world.sites()
    inside = world.ask(TWO_WAYS + '''
    say('plain good', http('registry.example.com', path='/good'))
    say('proxy good', short(by_proxy(request('registry.example.com', 'http://registry.example.com/good'))))
''', ALLOW, input=json.dumps(AMBIGUOUS).encode(), patience=120)
    case.check(len(inside) == 2 * len(AMBIGUOUS) + 2, f'only {len(inside)} attempts')
    got = [note for site in (first, second, other) for note in site.got if note['path'] != '/good']
    case.same([(note['host'], note['path'], note['version']) for note in got], [], 'requests that got through')
    check_table(case, inside, ['plain good', 'proxy good'], set(inside) - {'plain good', 'proxy good'})
    case.same(len(first.connections), 2, 'connections to the allowed server, for the good ones')


@row('A-net-6', 'a request that goes on says what was judged: the control shows a lenient server the smuggled one')
def smuggling(case):
    world = World(case)
    first, _, _ = world.sites()
    script = r'''
        chunk = '5\r\nhello\r\n0\r\n\r\n'
        hidden = 'GET /smuggled HTTP/1.1\r\nHost: registry.example.com\r\nConnection: close\r\n\r\n'
        head = 'POST {}/first HTTP/1.1\r\nHost: registry.example.com\r\n'
        ways = {'te': 'Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n' + chunk + hidden,
                'cl': f'Content-Length: {len(hidden)}\r\n\r\n' + hidden,
                'cl0': 'Content-Length: 0\r\nTransfer-Encoding : chunked\r\n\r\n' + hidden}
        for label, rest in ways.items():
            say('plain ' + label, tcp('registry.example.com', 80, (head.format('') + rest).encode(), half_close=True))
            if 'http_proxy' in os.environ:
                whole = head.format('http://registry.example.com') + rest
                say('proxy ' + label, by_proxy(whole.encode()))
    '''
    world.ask(script)
    case.control(any(note['path'] == '/smuggled' for note in first.got), 'the server does not fall for it outside')
    first.forget()
    world.ask(script, ALLOW)
    case.same([note['path'] for note in first.got if note['path'] == '/smuggled'], [], 'smuggled requests')


@row('A-net-6',
     'each request on a kept connection is judged: a second, pipelined or later one to another name is refused')
def second_request(case):
    world = World(case)
    first, second, other = world.sites()
    script = r'''
        def asks(made, hosts, together, absolute):
            parts = [f'GET {"http://" + host if absolute else ""}/{number} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode()
                     for number, host in enumerate(hosts)]
            if together:
                try:
                    made.sendall(b''.join(parts))
                    made.shutdown(socket.SHUT_WR)
                except OSError:  # it was refused in between
                    pass
                return
            for part in parts:
                try:
                    made.sendall(part)
                    made.settimeout(5)
                    if not made.recv(65536):
                        return
                except OSError:
                    return
        for hosts in (('registry.example.com', 'denied.example.net'), ('registry.example.com', 'denied.example.net', 'registry.example.com'),
                      ('registry.example.com', 'evil.example.com')):
            for together in (True, False):
                for way in ('plain', 'proxy', 'connect'):
                    if way != 'plain' and 'http_proxy' not in os.environ:
                        continue
                    address = ('registry.example.com', 80) if way == 'plain' else proxy_address()
                    with socket.create_connection(address, PATIENCE) as made:
                        if way == 'connect':
                            made.sendall(b'CONNECT registry.example.com:80 HTTP/1.1\r\nHost: registry.example.com:80\r\n\r\n')
                            head_of(made)
                        asks(made, hosts, together, way == 'proxy')
                        if together:
                            try:
                                read_all(made)
                            except OSError:
                                pass
        say('end', 'ok')
    '''
    world.ask(script)
    case.control(any(note['host'] == 'denied.example.net' for note in first.got),
                 'the server takes no second request outside')
    for site in (first, second, other):
        site.forget()
    world.ask(script, ALLOW)
    hosts = {note['host'] for note in first.got + second.got + other.got}
    case.same(hosts, {'registry.example.com'}, 'the names in requests that servers got')
    case.same(other.connections, [], 'connections to the other server')


@row('A-net-6', 'the server\'s name in a TLS hello must be the one of the CONNECT, of SOCKS and of the address')
def fronted_tls(case):
    world = World(case)
    first, _, other = world.sites()
    script = '''
        for sni in ('denied.example.net', 'www.example.org', 'evil.example.com', 'registry.example.com'):
            if 'http_proxy' in os.environ:
                say('connect ' + sni, connect_by('registry.example.com:443', tls_inside(sni, check=False)))
                say('socks ' + sni, socks5('registry.example.com', 443, tls_inside(sni, check=False)))
                say('socks 4 ' + sni, socks4('registry.example.com', 443, tls_inside(sni, check=False)))
                say('port 7443 ' + sni, connect_by('registry.example.com:7443', tls_inside(sni, check=False)))
                say('tls on 80 ' + sni, connect_by('registry.example.com:80', tls_inside(sni, check=False)))
            say('plain ' + sni, https('registry.example.com', sni=sni, check=False))
    '''
    world.servers.append(Far(world.listen('203.0.113.10', 7443), first.talk, world.authority.server_context(),
                             first.connections))
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    first.forget()
    inside = world.ask(script, ALLOW)
    good = [f'{way} registry.example.com' for way in ('connect', 'socks', 'socks 4', 'port 7443', 'plain')]
    check_table(case, inside, good, [name for name in inside if name.split()[-1] != 'registry.example.com'], [other])
    names = {note.get('sni') for note in first.connections} - {None}
    case.same(names, {'registry.example.com'}, 'the names in TLS hellos that the server got')


@row('A-net-6', 'a Host in a tunnel must be the tunnel\'s name, by CONNECT and SOCKS')
def fronted_http(case):
    world = World(case)
    first, _, other = world.sites()
    inside = world.ask('''
        for host in ('denied.example.net', 'www.example.org', 'registry.example.com', 'REGISTRY.example.com:80'):
            say('connect ' + host, connect_by('registry.example.com:80', plain_inside(host)))
            say('socks ' + host, socks5('registry.example.com', 80, plain_inside(host)))
            say('port 8080 ' + host, connect_by('registry.example.com:8080', plain_inside(host)))
            say('plain ' + host, http('registry.example.com', name=host))
    ''', ALLOW)
    good = [f'{way} {host}' for way in ('connect', 'socks', 'plain')
            for host in ('registry.example.com', 'REGISTRY.example.com:80')]
    check_table(case, inside, good, set(inside) - set(good), [other])
    case.same({note['host'] for note in first.got}, {'registry.example.com', 'REGISTRY.example.com:80'},
              'names that the server saw')


@row('A-net-6',
     'hostile TLS hellos reach nobody: two names, an empty one, one with a NUL, cut short, spread thin, oversized')
def hostile_hellos(case):
    world = World(case)
    first, other = (world.serve(f'203.0.113.{number}', 443, drain) for number in (10, 30))
    world.name('registry.example.com', '203.0.113.10')
    world.name('denied.example.net', '203.0.113.30')
    script = r'''
        def hello(names, cut=None, kinds=None, twice=False):
            entries = b''.join(bytes([kind]) + struct.pack('!H', len(name)) + name
                               for name, kind in zip(names, kinds or [0] * len(names)))
            server_name = b'\0\0' + struct.pack('!HH', len(entries) + 2, len(entries)) + entries
            extensions = server_name * (2 if twice else 1)
            body = b'\3\3' + b'r' * 32 + b'\0' + b'\0\2\x13\1' + b'\1\0' + struct.pack('!H', len(extensions)) + extensions
            message = b'\1' + struct.pack('!I', len(body))[1:] + body
            return message[:cut] if cut else message
        def records(message, size=16000):
            return b''.join(b'\x16\3\1' + struct.pack('!H', len(message[at:at + size])) + message[at:at + size]
                            for at in range(0, len(message), size))
        good = b'registry.example.com'
        cases = {'two names': records(hello([good, b'denied.example.net'])), 'two extensions': records(hello([good], twice=True)),
                 'empty': records(hello([b''])), 'NUL': records(hello([good + b'\0.denied.example.net'])),
                 'percent': records(hello([good + b'%00'])), 'long': records(hello([b'a' * 254])), 'address': records(hello([b'203.0.113.30'])),
                 'address in brackets': records(hello([b'[2001:db8::30]'])), 'kind 1': records(hello([good], kinds=[1])),
                 'denied': records(hello([b'denied.example.net'])), 'denied byte by byte': records(hello([b'denied.example.net']), 1),
                 'cut': records(hello([good], 60)), 'zero records': b'\x16\3\1\0\0' * 50 + records(hello([b'denied.example.net'])),
                 'length too long': b'\x16\3\1\xff\xff' + hello([good]), 'two hellos': records(hello([b'denied.example.net']) + hello([good])),
                 'alert first': b'\x15\3\1\0\2\1\0' + records(hello([b'denied.example.net'])), 'SSL 2': b'\x80\x2e\1\3\1\0\x15\0\0\0\x10' + b'x' * 37,
                 'spaces': records(hello([b' registry.example.com'])), 'huge': records(b'\1\xff\xff\xff' + b'a' * 40000)}
        for label, data in cases.items():
            say('plain ' + label, tcp('registry.example.com', 443, data, half_close=True))
            if 'http_proxy' in os.environ:
                say('connect ' + label, connect_by('registry.example.com:443', raw_inside(data)))
        say('good', tcp('registry.example.com', 443, records(hello([good])), half_close=True))
        say('good thin', tcp('registry.example.com', 443, records(hello([good]), 3), half_close=True))
    '''
    inside = world.ask(script, ALLOW, patience=120)
    # By CONNECT the server is called before the client can say more; it must hear nothing of it.
    # What is no TLS at all can name no server: the one that is allowed may have it.
    got = [note['received'] for note in first.got if note['received'][:1] not in (b'', b'\x80')]
    case.same(len(got), 2, f'hellos that reached the server: {got}, {inside}')
    case.check(all(data.startswith(b'\x16\3\1') and len(data) > 80 for data in got), f'the good ones: {got}')
    case.same(other.got, [], 'connections to the other server')
    shown = {name: answer for name,
             answer in inside.items() if answer.startswith('ok ') and not answer.startswith('ok \x15\3')}
    case.same(shown, {}, 'answers that are no TLS alert')


# -- A-net-7 ---------------------------------------------------------------------------------------------------------

@row('A-net-7',
     'SOCKS: names with odd bytes, UDP, BIND, unknown kinds and other methods are refused, a connect by name works')
def socks(case):
    world = World(case)
    first, _, other = world.sites()
    inside = world.ask(r'''
        page = plain_inside('registry.example.com')
        say('5', socks5('registry.example.com', 80, page))
        say('5 TLS', socks5('registry.example.com', 443, tls_inside('registry.example.com')))
        say('5 methods', socks5('registry.example.com', 80, page, offer=b'\5\3\1\2\0'))
        say('4a', socks4('registry.example.com', 80, page))
        say('4a TLS', socks4('registry.example.com', 443, tls_inside('registry.example.com')))
        for label, name in (('NUL', b'registry.example.com\0.denied.example.net'), ('empty', b''), ('dot', b'.'),
                            ('line', b'registry.example.com\n'), ('blank', b'registry.example.com '), ('long', b'a' * 255),
                            ('denied', b'denied.example.net'), ('percent', b'registry%2eexample.com'), ('at', b'registry.example.com@x')):
            say('bad ' + label, socks5(name, 80, page))
            if name and b'\0' not in name:
                say('bad 4 ' + label, socks4(name.decode(), 80, page))
        for command in (0, 2, 3, 4, 255):
            say(f'bad command {command}', socks5('registry.example.com', 80, page, command=command))
            say(f'bad 4 command {command}', socks4('registry.example.com', 80, page, command=command))
        say('bad udp to an address', socks5(bytes([203, 0, 113, 10]), 443, command=3, kind=1))
        say('bad port 0', socks5('registry.example.com', 0))
        for kind in (0, 2, 5, 255):
            say(f'bad kind {kind}', socks5(b'abcd', 80, page, kind=kind))
        for offer in (b'\5\0', b'\5\1\2', b'\5\1\xff', b'\5\2\1\2', b'\6\1\0', b'\0\1\0', b'\5'):
            say(f'bad offer {offer.hex()}', socks5('registry.example.com', 80, page, offer=offer + b'\0' * (offer == b'\5')))
        say('bad address', socks5(bytes([203, 0, 113, 30]), 80, page, kind=1))
        say('bad six', socks5(socket.inet_pton(socket.AF_INET6, '2001:db8::30'), 80, page, kind=4))
        say('bad 4 address', socks4('203.0.113.30', 80, page))
        with socket.create_connection(socks_address()) as made:
            try:
                made.sendall(b'\4\1\0\x50\0\0\0\1' + b'u' * 100000)
                made.shutdown(socket.SHUT_WR)
                say('bad endless user', 'refused' if read_all(made)[1:2] == b'[' else 'ok')
            except OSError as error:
                say('bad endless user', fault(error))
    ''', ALLOW, patience=120)
    check_table(case, inside, ['5', '5 TLS', '5 methods', '4a', '4a TLS'],
                [name for name in inside if name.startswith('bad')], [other])
    case.same({note['host'] for note in first.got}, {'registry.example.com'}, 'names that the server saw')
    case.same(inside['bad command 3'], 'socks 7', 'the answer to UDP ASSOCIATE')
    case.same(inside['bad command 2'], 'socks 7', 'the answer to BIND')
    case.same(inside['bad denied'], 'socks 2', 'the answer to a name under no rule')
    case.same(world.resolver.names() - {'registry.example.com'}, set(), 'what was asked for')


@row('A-net-7', 'the proxy ports tell HTTP, SOCKS and noise apart, and hold nobody up')
def noise(case):
    world = World(case)
    first, _, other = world.sites()
    inside = world.ask(r'''
        import random
        generator = random.Random(4711)
        ports = {proxy_address(), socks_address()}
        for address in ports:
            for number in range(60):
                data = bytes(generator.randrange(256) for _ in range(generator.randrange(0, 300)))
                say(f'{address} {number}', tcp(*address, data, half_close=True)[:80])
        say('http', connect_by('registry.example.com:80', plain_inside('registry.example.com')))
        say('socks', socks5('registry.example.com', 80, plain_inside('registry.example.com')))
    ''', ALLOW)
    check_table(case, inside, ['http', 'socks'], set(inside) - {'http', 'socks'}, [other])
    case.same(len(first.got), 2, 'requests that the server got')


# -- A-net-11 --------------------------------------------------------------------------------------------------------

@row('A-net-11', 'UDP goes nowhere, QUIC\'s port too: to the address of an allowed name, of another, of the host')
def udp(case):
    world = World(case)
    world.sites()
    sockets = [world.listen(address, port, 'dgram', where) for address, where in (
        ('203.0.113.10', 'far'), ('2001:db8::10', 'far'), ('203.0.113.30', 'far'), ('192.0.2.1', 'host'),
        ('127.0.0.1', 'host'))
        for port in (443, 8111)]
    case.cleanups += [made.close for made in sockets]
    script = '''
        for host in ('registry.example.com', '203.0.113.10', '2001:db8::10', '203.0.113.30', '192.0.2.1', '127.0.0.1'):
            for port in (443, 8111):
                for found in socket.getaddrinfo(host, port, 0, socket.SOCK_DGRAM):
                    with socket.socket(found[0], socket.SOCK_DGRAM) as made:
                        try:
                            made.sendto(b'from ' + host.encode(), found[4])
                            say(f'{host} {port} {found[4][0]}', 'sent')
                        except OSError as error:
                            say(f'{host} {port} {found[4][0]}', fault(error))
    '''

    def arrived():
        got = []
        for made in sockets:
            made.setblocking(False)
            while True:
                try:
                    got.append(made.recv(100))
                except BlockingIOError:
                    break
        return got
    world.ask(script)
    case.pause(0.1)
    case.control(len(arrived()) >= 12, 'datagrams do not arrive outside')
    world.ask(script, filtered('*', '203.0.113.0/24', '192.0.2.1', '127.0.0.1', '2001:db8::/32'))
    case.pause(0.2)
    case.same(arrived(), [], 'datagrams that arrived')


@row('A-net-11', 'TCP fast open, multipath TCP and SCTP are no way around: to an address under no rule nothing arrives')
def other_transports(case):
    world = World(case)
    servers = [world.serve(address, 8111) for address in ('203.0.113.30', '2001:db8::30')]
    script = '''
        for family, host in ((socket.AF_INET, '203.0.113.30'), (socket.AF_INET6, '2001:db8::30')):
            for label, protocol, fast in (('tcp', 0, False), ('fast open', 0, True), ('mptcp', 262, False), ('sctp', 132, False)):
                try:
                    with socket.socket(family, socket.SOCK_STREAM, protocol) as made:
                        if fast:
                            made.sendto(b'ping', 0x20000000, (host, 8111))
                        else:
                            made.connect((host, 8111))
                            made.sendall(b'ping')
                        made.settimeout(5)
                        made.shutdown(socket.SHUT_WR)
                        say(f'{label} {host}', text_of(read_all(made)))
                except OSError as error:
                    say(f'{label} {host}', fault(error))
    '''
    outside = world.ask(script)
    case.control(outside['tcp 203.0.113.30'] == outside['fast open 203.0.113.30'] == 'ok ping', f'outside: {outside}')
    for server in servers:
        server.got.clear()
    inside = world.ask(script, ALLOW)
    check_table(case, inside, (), inside, servers)
    inside = world.ask(script, filtered('203.0.113.30', '2001:db8::30'))
    check_table(case, inside, ['tcp 203.0.113.30', 'tcp 2001:db8::30', 'fast open 203.0.113.30'], ())


@row('A-net-11', 'raw and packet sockets, ping sockets and other families stay closed with a filtered network')
def other_families(case):
    world = World(case)
    script = '''
        for label, family, kind, protocol in (
                ('raw', 2, 3, 1), ('raw tcp', 2, 3, 6), ('raw ip', 2, 3, 255), ('raw six', 10, 3, 58), ('packet', 17, 3, 768),
                ('packet dgram', 17, 2, 768), ('vsock', 40, 1, 0), ('alg', 38, 5, 0), ('bluetooth', 31, 3, 0), ('can', 29, 3, 1),
                ('xdp', 44, 3, 0), ('netfilter', 16, 3, 12), ('tipc', 30, 1, 0), ('rds', 21, 5, 0), ('smc', 43, 1, 0)):
            try:
                socket.socket(family, kind, protocol).close()
                say(label, 'ok')
            except OSError as error:
                say(label, fault(error))
    '''
    own = ['unshare', '--net'] if case.is_root else ['unshare', '--user', '--map-root-user', '--net']
    outside = case.plain([*own, PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(script)])
    case.control('"raw", "what": "ok"' in outside.out, f'a raw socket cannot be had outside: {outside.describe()}')
    inside = world.ask(script, ALLOW)
    check_table(case, inside, (), inside)
