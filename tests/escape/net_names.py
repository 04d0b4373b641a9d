"""Names and addresses in every spelling; names that lead to where nobody may go; lookups that carry data."""
from harness import row
from harness_far import echo_once
from harness_world import HOST, HOST6, World, filtered
from net_filtered import ALLOW, check_table, reached

# Every way in that takes a name. `{target}` is as a client writes it, `address` as it stands in the protocol.
EVERY_WAY = r'''
    def every_way(label, name):
        say('lookup ' + label, lookup(name))
        say('connect ' + label, connect_by(f'{name}:80', plain_inside(name)))
        say('absolute ' + label, short(by_proxy(f'GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n'
                                                .encode('latin-1', 'replace'))))
        say('socks ' + label, socks5(name.encode('utf-8'), 80, plain_inside(name)))
        say('socks 4 ' + label, socks4(name, 80, plain_inside(name)) if name.isascii() else 'none')
        say('host ' + label, http('www.example.org', name=name) if name.isascii() else 'none')
        say('sni ' + label, https('www.example.org', sni=name, check=False))
'''


# -- A-net-2 ---------------------------------------------------------------------------------------------------------

SPELLINGS_REFUSED = (
    'denied.example.net', 'registry.example.com.evil.test', 'evil.example.com', 'xregistry.example.com', 'example.com',
    'com',
    'sub.registry.example.com', 'registry.example.com.evil.test.', 'registry..example.com', '.registry.example.com',
    'registry.example.com..', 'registry.example.com%2eevil.test', 'registry.example.com%00.evil.test',
    '[registry.example.com]', 'registry.example.com@denied.example.net', 'denied.example.net#registry.example.com',
    'denied.example.net/registry.example.com', 'denied.example.net\\registry.example.com',
    'denied.example.net?registry.example.com',
    'denied.example.net registry.example.com', 'denied.example.net\tregistry.example.com',
    'registry.example.com:80@denied.example.net',
    'xn--registry-example-com', 'registry_example.com', 'registry.example.co', 'registry-example.com', '*',
    '*.example.org',
    'xexample.org', 'example.org', 'www.example.org.', '..example.org', '.example.org',
    'denied.example.net%.example.org',
    'a' * 64 + '.example.org', '.'.join(['a' * 60] * 5) + '.example.org',
)


@row('A-net-2', 'a name is judged on its canonical form: every other spelling is refused, whatever way it comes')
def spellings(case):
    world = World(case)
    first, second, other = world.sites()
    for name in ('*.evil.test', '*.example.com', '*.example.net', 'example.com', 'xexample.org'):
        world.name(name, '203.0.113.30', '2001:db8::30')
    outside = world.ask('for name in sys.argv[1:]: say(name, http(name))',
                        arguments=['denied.example.net', 'registry.example.com.evil.test', 'xregistry.example.com'])
    case.control(all(answer.startswith('200 ') for answer in outside.values()), f'outside: {outside}')
    for site in (first, second, other):
        site.forget()
    world.resolver.forget()
    wrong = [name for name in SPELLINGS_REFUSED if name != 'www.example.org.']
    inside = world.ask(EVERY_WAY + '\n    for name in sys.argv[1:]:\n        every_way(name, name)\n',
                       filtered('registry.example.com', '*.example.org'), wrong, patience=120)
    case.check(len(inside) == 7 * len(wrong), f'only {len(inside)} attempts were made')
    del inside['lookup *']  # glibc answers it by itself, with loopback
    check_table(case, inside, (), inside, [first, second, other])
    asked = {name for name in world.resolver.names() if name not in ('registry.example.com', 'www.example.org')}
    case.same(asked, set(), 'names that were asked for at the resolver')


@row('A-net-2', 'a NUL, a control byte or another byte that no name has ends no name early')
def odd_bytes(case):
    world = World(case)
    first, second, other = world.sites()
    inside = world.ask(r'''
        for byte in [0, 1, 9, 10, 13, 27, 32, 34, 37, 39, 47, 58, 64, 91, 92, 93, 127, 128, 160, 255]:
            for left, right in ((b'registry.example.com', b'.denied.example.net'), (b'denied.example.net', b'.example.org'),
                                (b'registry.example.com', b'')):
                raw = left + bytes([byte]) + right
                label = repr(raw)
                say('socks ' + label, socks5(raw, 80, plain_inside('registry.example.com')))
                say('connect ' + label, short(by_proxy(b'CONNECT ' + raw + b':80 HTTP/1.1\r\nHost: ' + raw + b':80\r\n\r\n'
                                                       + request('registry.example.com'))))
                say('dns ' + label, dns_udp('203.0.113.53', dns_message(raw.split(b'.'))))
                say('dns label ' + label, dns_udp('203.0.113.53', dns_message([raw[:60], b'example', b'org'])))
    ''', ALLOW, patience=120)
    plain = {name for name, answer in inside.items() if answer.startswith('code ') and not answer.endswith('answers 0')}
    case.same(plain, set(), 'odd names that the resolver gave an address')
    check_table(case, inside, (), {name for name in inside if not name.startswith('dns')}, [first, second, other])
    case.same(world.resolver.names() - {'registry.example.com'}, set(), 'what was asked for at the resolver')


@row('A-net-2', 'capital letters and one trailing dot are the same name, allowed and denied alike')
def same_name(case):
    world = World(case)
    first, second, other = world.sites()
    script = EVERY_WAY + '''
    for name in sys.argv[1:]:
        every_way(name, name)
    '''
    good = ['REGISTRY.Example.COM', 'registry.example.com.', 'wWw.eXample.ORG.']
    bad = ['DENIED.example.NET', 'denied.example.net.', 'A.B.Example.Org', 'a.b.example.org.']
    inside = world.ask(script, filtered('registry.example.com', '*.example.org', deny=['A.b.Example.org']), good + bad)
    # TLS and Host are tried on www.example.org's connection: they must name it.
    ways = ('lookup', 'connect', 'absolute', 'socks', 'socks 4')
    check_table(case, inside,
                [f'{way} {name}' for way in ways for name in good] + ['host wWw.eXample.ORG.', 'sni wWw.eXample.ORG.'],
                [f'{way} {name}' for way in (*ways, 'host', 'sni') for name in bad], [other])


@row('A-net-2', 'letters beyond ASCII are their A-label, and look-alikes of an allowed name are not it')
def international(case):
    world = World(case)
    first, _, other = world.sites()
    world.name('xn--bcher-kva.example.com', '203.0.113.10')
    world.name('xn--rgistry-xfe.example.com', '203.0.113.30')
    script = '''
        for name in ('b\\u00fccher.example.com', 'B\\u00dcCHER.example.com', 'xn--bcher-kva.example.com', 'XN--BCHER-KVA.example.com',
                     'r\\u0435gistry.example.com', 'regi\\u017ftry.example.net', 'registry\\u200b.example.com'):
            say('socks ' + name, socks5(name.encode('utf-8'), 80, plain_inside('xn--bcher-kva.example.com')))
            if not name.isascii():
                say('connect ' + name, short(by_proxy(f'CONNECT {name}:80 HTTP/1.1\\r\\nHost: {name}:80\\r\\n\\r\\n'.encode('utf-8'))))
    '''
    inside = world.ask(script, filtered('xn--bcher-kva.example.com', 'registry.example.com'))
    check_table(case, inside, [f'socks {name}' for name in ('b\u00fccher.example.com', 'xn--bcher-kva.example.com',
                                                            'XN--BCHER-KVA.example.com')],
                [f'{way} {name}' for way in ('socks', 'connect') for name in (
                    'r\u0435gistry.example.com', 'regi\u017ftry.example.net', 'registry\u200b.example.com')], [other])


# -- A-net-3 ---------------------------------------------------------------------------------------------------------

LOOPBACK = ('127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0x7f.0.0.0x1', '017700000001',
            '0177.0.0.1',
            '0', '0.0.0.0', '127.255.255.254', '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]',
            '[::ffff:7f00:1]',
            '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]',
            '[2001:0:7f00:1::80ff:fffe]', '[::ffff:0:127.0.0.1]', '127.0.0.1.', '0x7f000001.', '[::1%lo]', '[::1%25lo]')
METADATA = ('169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518',
            '[::ffff:169.254.169.254]',
            '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[fd00:ec2::254]', '100.100.100.200', '[fe80::1]',
            '168.63.129.16')
PRIVATE = ('10.20.0.5', '10.1310725', '0x0a140005', '[::ffff:10.20.0.5]', '[64:ff9b::a14:5]', '[2002:a14:5::]',
           '172.16.0.1',
           '192.168.0.1', '100.64.0.1', '[fd00::1]', '[fc00::1]', '224.0.0.1', '[ff02::1]', '255.255.255.255',
           '240.0.0.1')
FORMS = r'''
    for form in sys.argv[1:]:
        say('connect ' + form, connect_by(form + ':8111', raw_inside(b'ping')))
        say('absolute ' + form, short(by_proxy(f'GET http://{form}:8111/ HTTP/1.1\r\nHost: {form}:8111\r\n\r\n'.encode())))
        bare = form.strip('[]')
        say('socks ' + form, socks5(bare, 8111, raw_inside(b'ping')))
        for kind, family in ((1, socket.AF_INET), (4, socket.AF_INET6)):
            try:
                packed = socket.inet_pton(family, bare)
            except OSError:
                continue
            say(f'socks {kind} {form}', socks5(packed, 8111, raw_inside(b'ping'), kind=kind))
            say('plain ' + form, echoed(bare, 8111))
'''


@row('A-net-3', 'every form of an address is judged as the address it is: loopback, metadata, private')
def address_forms(case):
    world = World(case)
    servers = [world.serve(address, 8111, echo_once, where='host')
               for address in ('127.0.0.1', '::1', '127.255.255.254')]
    servers += [world.serve(address, 8111, echo_once) for address in (
        '169.254.169.254', 'fd00:ec2::254', '10.20.0.5', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::a14:5',
        '64:ff9b:1::7f00:1', '2002:7f00:1::', '2002:a14:5::', '100.100.100.200', '168.63.129.16', '172.16.0.1',
        '192.168.0.1',
        '100.64.0.1', 'fd00::1', 'fc00::1', '2001:0:7f00:1::80ff:fffe', '240.0.0.1')]
    outside = world.ask('for form in sys.argv[1:]: say(form, echoed(form, 8111))', arguments=[
        '127.0.0.1', '127.1', '2130706433', '0x7f000001', '0', '::ffff:127.0.0.1', '169.254.169.254', '0xa9fea9fe',
        '10.20.0.5',
        '64:ff9b::7f00:1', '2002:7f00:1::', 'fd00:ec2::254'])
    case.control(all(answer == 'ok ping' for answer in outside.values()), f'outside: {outside}')
    for server in servers:
        server.got.clear()
    for rules in (['*'], ['registry.example.com']):
        inside = world.ask(FORMS, filtered(*rules), LOOPBACK + METADATA + PRIVATE, patience=120)
        check_table(case, inside, (), inside, servers)
    inside = world.ask(FORMS, filtered('*', '0.0.0.0/0', '::/0', deny=['127.0.0.0/8', '10.0.0.0/8', '::1']),
                       [form for form in LOOPBACK + PRIVATE[:6] if form not in ('0', '0.0.0.0', '[::]')], patience=120)
    check_table(case, inside, (), inside, servers[:3])
    case.same(world.resolver.names(), set(), 'forms of an address that were looked up as names')


@row('A-net-3', 'an allowed address is allowed in every form, and a metadata address needs an entry of its own')
def allowed_forms(case):
    world = World(case)
    world.serve('203.0.113.10', 8111, echo_once)
    metadata = world.serve('169.254.169.254', 8111, echo_once)
    forms = ['203.0.113.10', '3405803786', '0xcb00710a', '203.0.28938', '0313.0.0161.012', '[::ffff:203.0.113.10]',
             '[::ffff:cb00:710a]']
    inside = world.ask(FORMS, filtered('203.0.113.10'), [*forms, '203.0.113.11', '169.254.169.254'])
    good = [f'{way} {form}' for way in ('connect', 'socks') for form in forms]
    check_table(case, inside, [*good, 'plain 203.0.113.10', 'socks 1 203.0.113.10', 'plain [::ffff:203.0.113.10]'],
                [name for name in inside if name.endswith(('113.11', '169.254'))], [metadata])
    inside = world.ask(FORMS, filtered('169.254.0.0/16', '0.0.0.0/0'), METADATA[:8])
    check_table(case, inside, (), inside, [metadata])
    inside = world.ask(FORMS, filtered('169.254.169.254'), METADATA[:7])
    check_table(case, inside, [f'connect {form}' for form in METADATA[:7]], ())


# -- A-net-4 ---------------------------------------------------------------------------------------------------------

BACK = {'loopback': '127.0.0.1', 'six': '::1', 'ninth': '127.0.0.9', 'own': HOST, 'ownsix': HOST6, 'zero': '0.0.0.0',
        'mapped': '::ffff:127.0.0.1', 'metadata': '169.254.169.254', 'meta6': 'fd00:ec2::254',
        'nat64': '64:ff9b::7f00:1',
        'sixto4': '2002:7f00:1::', 'alibaba': '100.100.100.200', 'azure': '168.63.129.16', 'private': '10.20.0.5',
        'shared': '100.64.0.1', 'unique': 'fd00::1', 'linklocal': '169.254.7.7', 'reserved': '240.0.0.1',
        'ownnat': '64:ff9b::c000:201', 'ownsixto4': '2002:c000:201::'}  # HOST by a translator
OF_THE_HOST = {'loopback', 'six', 'ninth', 'own', 'ownsix', 'zero', 'mapped'}
PRIVATES = {'private', 'shared', 'unique'}
BY_NAME = '''
    for word in sys.argv[1:]:
        name = word + '.example.org'
        say('http ' + word, http(name))
        say('echo ' + word, echoed(name, 8111))
        if 'http_proxy' in os.environ:
            say('connect ' + word, connect_by(name + ':80', plain_inside(name)))
            say('absolute ' + word, short(by_proxy(request(name, f'http://{name}/'))))
            say('socks ' + word, socks5(name, 80, plain_inside(name)))
            say('https ' + word, connect_by(name + ':443', tls_inside(name, check=False)))
'''


def back_world(case):
    """Names of example.org that lead back, and a server at each of their addresses."""
    world = World(case)
    servers = []
    for word, address in BACK.items():
        world.name(f'{word}.example.org', address)
        if word in ('zero', 'mapped'):
            continue  # they end at 127.0.0.1
        where = 'host' if word in OF_THE_HOST else 'far'
        servers += [world.web(address, where=where), world.serve(address, 8111, where=where)]
    return world, dict(zip([word for word in BACK if word not in ('zero', 'mapped')], zip(servers[::2], servers[1::2])))


@row('A-net-4', 'an allowed name that resolves to loopback, link-local, metadata, own or reserved addresses is refused')
def leads_back(case):
    world, servers = back_world(case)
    outside = world.ask(BY_NAME, arguments=BACK)
    wanted = {f'{how} {word}' for word in BACK for how in ('http', 'echo')}
    case.control(all(outside[way].startswith(('200', 'ok ping')) for way in wanted), f'outside: {outside}')
    flat = [server for pair in servers.values() for server in pair]
    for server in flat:
        server.got.clear()
    bad = set(BACK) - PRIVATES
    inside = world.ask(BY_NAME, filtered('*.example.org'), bad)
    check_table(case, inside, (), inside, [server for word, pair in servers.items() if word in bad for server in pair])
    # What "*" allows are public addresses.
    inside = world.ask(BY_NAME, filtered('*'), BACK)
    check_table(case, inside, (), inside, flat)


@row('A-net-4',
     'a private address behind a name that is allowed itself is reached, and any listed address behind a name')
def leads_to_listed(case):
    world, servers = back_world(case)
    inside = world.ask(BY_NAME, filtered('*.example.org'), PRIVATES)
    check_table(case, inside, inside, ())
    for pair in servers.values():
        for server in pair:
            server.got.clear()
    listed = {'loopback': '127.0.0.1', 'own': HOST, 'metadata': '169.254.169.254', 'six': '::1',
              'private': '10.20.0.0/16'}
    inside = world.ask(BY_NAME, filtered('*', *listed.values()), BACK)
    # Those that hold the address of a listed one are judged as it, and lead elsewhere.
    same = {*listed, 'mapped', 'nat64', 'sixto4', 'ownnat', 'ownsixto4'}
    unlisted = [server for word, pair in servers.items() if word not in same for server in pair]
    check_table(case, inside, [name for name in inside if name.split()[1] in listed],
                [name for name in inside if name.split()[1] not in same], unlisted)
    # The rule names the port as well.
    inside = world.ask(BY_NAME, filtered('*.example.org', '127.0.0.1:8111'), ['loopback'])
    check_table(case, inside, ['echo loopback'],
                ['http loopback', 'connect loopback', 'absolute loopback', 'https loopback'])


# -- A-net-5 ---------------------------------------------------------------------------------------------------------

@row('A-net-5', 'a name whose answers change between check and dial: only addresses that were judged are dialled')
def rebinding(case):
    world = World(case)
    good = world.web('203.0.113.10')
    bad = [world.web('127.0.0.1', where='host'), world.web('169.254.169.254'), world.web(HOST, where='host')]
    turn = ['203.0.113.10', '127.0.0.1', '169.254.169.254', HOST]
    for number in range(16):  # each name begins with another answer than the one before, and never says the same twice
        world.resolver.zone[f'flip{number}.example.org'] = \
            lambda count, kind, number=number: [turn[(number + count) % 4]] if kind == 1 else []
    script = '''
        for number in range(16):
            name = f'flip{number}.example.org'
            say(f'plain {number}', http(name))
            if 'http_proxy' in os.environ:
                say(f'connect {number}', connect_by(name + ':80', plain_inside(name)))
                say(f'absolute {number}', short(by_proxy(request(name, f'http://{name}/'))))
                say(f'socks {number}', socks5(name, 80, plain_inside(name)))
    '''
    outside = world.ask(script)
    case.control(all(server.got for server in [good, *bad]), f'outside not every server was reached: {outside}')
    for server in [good, *bad]:
        server.forget()
    inside = world.ask(script, filtered('*.example.org'))
    case.check(good.got, f'no name is ever reached by its good address: {inside}')
    check_table(case, {}, (), (), bad)
    for server in bad:
        case.same(server.connections, [], 'connections to an address that may not be dialled')
    pages = {answer for answer in inside.values() if answer.startswith('200')}
    case.check(all(page.startswith('200 203.0.113.10 GET flip') for page in pages), f'pages: {pages}')


@row('A-net-5', 'a name with good and bad addresses at once leads to the good ones only, in any order and for both IPs')
def mixed_answers(case):
    world = World(case)
    good = [world.web('203.0.113.10', https=None), world.web('2001:db8::10', https=None)]
    bad = [world.web(address, https=None, where='host') for address in ('127.0.0.1', '::1', HOST)]
    world.name('a.example.org', '127.0.0.1', '203.0.113.10', HOST)
    world.name('b.example.org', '::1', '2001:db8::10')
    world.name('c.example.org', '203.0.113.10', '::1')
    world.name('d.example.org', '127.0.0.1', '2001:db8::10')
    world.name('e.example.org', '127.0.0.1', '::1', HOST)
    world.name('f.example.org', '203.0.113.99', '2001:db8::99', '203.0.113.10')  # nobody listens at the first two
    script = '''
        for word in 'abcdef':
            for number in range(3):
                say(f'{word} {number}', http(word + '.example.org'))
    '''
    inside = world.ask(script, filtered('*.example.org'))
    check_table(case, inside, [f'f {number}' for number in range(3)], [f'e {number}' for number in range(3)], bad)
    for server in bad:
        case.same(server.connections, [], 'connections to an address that may not be dialled')
    case.check(good[0].got and good[1].got, f'the good ones are never reached: {inside}')


# -- A-net-8 ---------------------------------------------------------------------------------------------------------

LOOKUPS = r'''
    data = 'the-secret-0123456789abcdef'
    for name in (data + '.denied.example.net', data + '.registry.example.com', data + '.evil.test', data, data + '.com',
                 'registry.example.com.' + data + '.net', data + '.local', '1.2.0.192.in-addr.arpa', data + '.onion'):
        for family in (socket.AF_INET, socket.AF_INET6, 0):
            say(f'lookup {family} {name}', lookup(name, family))
        for server in ('203.0.113.53', '198.51.100.1', '2001:db8::53', '127.0.0.53', '127.0.0.1'):
            for kind in (1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 35, 41, 64, 65, 255, 257):
                if server == '203.0.113.53' or kind in (1, 28):
                    say(f'udp {server} {kind} {name}', dns_udp(server, dns_message(name, kind)))
            say(f'tcp {server} {name}', dns_tcp(server, dns_message(name)))
        if 'http_proxy' in os.environ:
            say('connect ' + name, connect_by(name + ':443', tls_inside(name)))
            say('absolute ' + name, short(by_proxy(request(name, f'http://{name}/'))))
            say('socks ' + name, socks5(name, 443))
            say('host ' + name, http('registry.example.com', name=name))
            say('sni ' + name, https('registry.example.com', sni=name, check=False))
'''


@row('A-net-8',
     'no lookup of a name that is not allowed leaves, whatever its type and transport: data in labels stays in')
def lookups(case):
    world = World(case)
    world.sites()
    world.name('*.evil.test', '203.0.113.30')
    outside = world.ask('say("it", lookup("the-secret-0123456789abcdef.evil.test"))')
    case.control(any('secret' in name for name in world.resolver.names()), f'no query arrives outside: {outside}')
    world.resolver.forget()
    inside = world.ask(LOOKUPS, ALLOW, patience=120)
    case.check(len(inside) > 200, f'only {len(inside)} attempts')
    leaks = {name for name in world.resolver.names() if name not in ('registry.example.com', 'www.example.org')}
    case.same(leaks, set(), 'what the resolver of the host was asked')
    found = {name: answer for name, answer in inside.items()
             if reached(answer) or (answer.startswith('code') and not answer.endswith('answers 0'))}
    case.same(found, {}, 'denied names that were found')


@row('A-net-8',
     'a denied name is answered at once that it does not exist, by any server address; an allowed one has one')
def resolver_answers(case):
    world = World(case)
    world.sites()
    inside = world.ask('''
        for server in ('203.0.113.53', '8.8.8.8', '2001:db8::53', '10.0.0.1'):
            for name in ('denied.example.net', 'registry.example.com', 'www.example.org'):
                say(f'udp {server} {name}', dns_udp(server, dns_message(name)))
                say(f'tcp {server} {name}', dns_tcp(server, dns_message(name)))
                say(f'six {server} {name}', dns_udp(server, dns_message(name, 28)))
        say('getaddrinfo', lookup('denied.example.net'))
        for family in (socket.AF_INET, socket.AF_INET6, 0):  # as ssh -4 asks: only for what the host has itself
            found = socket.getaddrinfo('registry.example.com', 22, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
            say(f'configured {int(family)}', 'ok' if found else 'nothing')
        found = lookup('registry.example.com')
        say('stand-in', found)
        say('again', lookup('registry.example.com'))
        say('other', lookup('www.example.org'))
        say('reverse', socket.gethostbyaddr(found.split()[-1])[0])
    ''', ALLOW)
    for name, answer in inside.items():
        if name.startswith(('udp', 'tcp', 'six')):
            case.same(answer, 'code 3 answers 0' if 'denied' in name else 'code 0 answers 1', name)
    case.same(inside['getaddrinfo'], 'NXDOMAIN', 'a denied name')
    case.same(inside['again'], inside['stand-in'], 'the same name twice')
    case.check(inside['other'] != inside['stand-in'], f'two names have one address: {inside}')
    case.same(inside['reverse'], 'registry.example.com', 'the name behind a stand-in address')


@row('A-net-8', 'a resolver on the host\'s loopback or reached by IPv6 serves the broker, and is itself out of reach')
def local_resolver(case):
    for resolver in ('127.0.0.53', '2001:db8::53', '::1'):
        world = World(case, resolver=resolver)
        world.sites()
        script = '''
            say('page', http('registry.example.com'))
            say('other', http('denied.example.net'))
            say('question', dns_udp(sys.argv[1], dns_message('secret.denied.example.net')))
        '''
        outside = world.ask(script, arguments=[resolver])
        case.control(reached(outside['page']) and reached(outside['other']) and 'secret.denied.example.net' in
                     world.resolver.names(), f'outside: {outside}')
        world.resolver.forget()
        inside = world.ask(script, ALLOW, [resolver])
        check_table(case, inside, ['page'], ['other'])
        case.same(inside['question'], 'code 3 answers 0', 'a question to the resolver\'s address inside')
        case.same(world.resolver.names(), {'registry.example.com'}, 'what was asked for outside')
        world.close()
        case.enter = None


@row('A-net-8', 'hostile DNS messages are answered or dropped, and the resolver goes on')
def hostile_messages(case):
    world = World(case)
    world.sites()
    inside = world.ask(r'''
        import random
        good = dns_message('registry.example.com')
        odd = [b'', b'\0', good[:11], good[:12], good[:-1], good[:-4], good + b'\0' * 400, b'\xff' * 12, b'\xff' * 512,
               good[:2] + b'\x81\x80' + good[4:], good[:4] + b'\0\2' + good[6:], good[:4] + b'\0\0' + good[6:],
               good[:12] + b'\xc0\x0c\0\1\0\1', good[:12] + b'\xc0\xff\0\1\0\1', good[:12] + b'\x40a\0\0\1\0\1',
               dns_message([b'a' * 63] * 4), dns_message([b'a' * 63] * 60), dns_message([b'a'] * 127), good[:12] + b'\0\0\1\0\1',
               dns_message('registry.example.com', 1, b'\0\0\x29\xff\xff\0\0\0\0\xff\xff'), good[:2] + b'\x29\0' + good[4:]]
        generator = random.Random(4711)
        odd += [bytes(generator.randrange(256) for _ in range(generator.randrange(1, 600))) for _ in range(200)]
        odd += [good[:at] + bytes([generator.randrange(256)]) + good[at + 1:] for at in range(len(good)) for _ in range(3)]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            made.connect(('203.0.113.53', 53))
            for message in odd:
                made.send(message)
        for message in odd[:40]:
            with socket.create_connection(('203.0.113.53', 53), PATIENCE) as made:
                try:
                    made.sendall(struct.pack('!H', len(message)) + message)
                    made.shutdown(socket.SHUT_WR)
                    read_all(made)
                except OSError:  # it may be gone before the end
                    pass
        say('udp', dns_udp('203.0.113.53', good))
        say('tcp', dns_tcp('203.0.113.53', good))
        say('page', http('registry.example.com'))
    ''', ALLOW)
    case.same((inside['udp'], inside['tcp']), ('code 0 answers 1',) * 2, 'the resolver afterwards')
    case.check(inside['page'].startswith('200 '), f'the page afterwards: {inside["page"]}')
    case.same(world.resolver.names() - {'registry.example.com'}, set(), 'what was asked for outside')


@row('A-net-4', 'a name that does not exist, is never answered, or leads nowhere ends in an error of its own')
def nowhere(case):
    world = World(case)
    world.resolver.zone.update({'never.example.org': 'never', 'empty.example.org': [],
                                'closed.example.org': ['203.0.113.44'],
                                'gone.example.org': None})
    inside = world.ask('''
        for word in ('gone', 'never', 'empty', 'closed'):
            name = word + '.example.org'
            say('plain ' + word, http(name))
            say('connect ' + word, connect_by(name + ':80', plain_inside(name)))
            say('socks ' + word, socks5(name, 80))
    ''', filtered('*.example.org'), patience=120)
    check_table(case, inside, (), inside)
    for word in ('gone', 'never', 'empty', 'closed'):
        case.check(inside[f'connect {word}'].startswith(('502 ', '504 ')),
                   f'a proxy\'s own word for a server it cannot reach: {inside[f"connect {word}"]}')
