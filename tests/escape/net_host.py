"""The host's network, shared: what is not the internet stays closed. And `explain host`, beside the broker."""
import json
import textwrap

from harness import row
from harness_world import HOST, PYTHON, World, filtered
from net_filtered import check_table, reached


@row('A-ipc-1', 'with the host\'s network, abstract unix sockets of the host are refused, and the internet is in reach')
def abstract_sockets(case):
    world = World(case)
    world.web(HOST, https=None, where='host')
    text = ('import socket, sys\nkind = getattr(socket, "SOCK_" + sys.argv[1])\ns = socket.socket(socket.AF_UNIX, kind)\n'
            's.bind("\\0qsb-test-" + sys.argv[1])\nif sys.argv[1] != "DGRAM": s.listen(8)\nprint("up", flush=True)\nsys.stdin.read()')
    servers = [case.popen([PYTHON, '-c', text, kind], stdin=-1) for kind in ('STREAM', 'SEQPACKET', 'DGRAM')]
    for server in servers:
        case.cleanups += [server.wait, server.kill]
        case.same(server.stdout.readline(), b'up\n', 'a server on the host')
    script = '''
        for label in ('STREAM', 'SEQPACKET', 'DGRAM'):
            kind = getattr(socket, 'SOCK_' + label)
            try:
                with socket.socket(socket.AF_UNIX, kind) as made:
                    made.connect('\\0qsb-test-' + label)
                    say(label, 'ok')
            except OSError as error:
                say(label, fault(error))
        say('page', http('192.0.2.1'))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    inside = world.ask(script, ['--network', 'host'])
    check_table(case, inside, ['page'], ['STREAM', 'SEQPACKET', 'DGRAM'])


@row('A-ipc-5', 'with the host\'s network, raw, packet, vsock and netfilter sockets are refused')
def families(case):
    world = World(case)
    script = '''
        for label, family, kind, protocol in (
                ('raw', 2, 3, 1), ('raw tcp', 2, 3, 6), ('raw ip', 2, 3, 255), ('raw six', 10, 3, 58), ('packet', 17, 3, 768),
                ('packet dgram', 17, 2, 768), ('vsock', 40, 1, 0), ('vsock dgram', 40, 2, 0), ('alg', 38, 5, 0),
                ('netfilter', 16, 3, 12), ('xdp', 44, 3, 0), ('bluetooth', 31, 3, 0), ('can', 29, 3, 1), ('audit', 16, 3, 9)):
            try:
                socket.socket(family, kind, protocol).close()
                say(label, 'ok')
            except OSError as error:
                say(label, fault(error))
    '''
    own = ['unshare', '--net'] if case.is_root else ['unshare', '--user', '--map-root-user', '--net']
    outside = case.plain([*own, PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(script)])
    opened = [name for name, answer in world.said(outside).items() if answer == 'ok']
    case.control({'raw', 'packet', 'netfilter'} <= set(opened), f'they cannot be had outside: {outside.describe()}')
    inside = world.ask(script, ['--network', 'host'])
    check_table(case, inside, (), inside)


@row('W-net-1', 'with the host\'s network everything that TCP and UDP reach outside is reached inside')
def shared(case):
    world = World(case)
    world.sites()
    local = world.serve('127.0.0.1', 8111, where='host')
    made = world.listen('203.0.113.10', 9999, 'dgram')
    case.cleanups.append(made.close)
    script = '''
        for name in ('registry.example.com', 'denied.example.net', '203.0.113.30'):
            say(name, http(name))
        say('tls', https('registry.example.com'))
        say('loopback', echoed('127.0.0.1', 8111))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            made.sendto(b'datagram', ('203.0.113.10', 9999))
        say('proxies', ' '.join(name for name in os.environ if name.lower().endswith('_proxy')))
    '''
    outside = world.ask(script)
    good = [name for name in outside if name != 'proxies']
    case.control(all(reached(outside[name]) for name in good), f'outside: {outside}')
    made.settimeout(5)
    made.recv(100)
    local.got.clear()
    inside = world.ask(script, ['--network', 'host'])
    check_table(case, inside, good, ())
    case.same((made.recv(100), inside['proxies']), (b'datagram', ''), 'a datagram, and no proxies of ours')


VERDICTS = (  # the rules, what is asked for, is it reached
    (['registry.example.com'], 'registry.example.com', True), (['registry.example.com'], 'REGISTRY.example.com.', True),
    (['registry.example.com'], 'denied.example.net', False),
    (['registry.example.com'], 'x.registry.example.com', False),
    (['*.example.org'], 'a.b.example.org', True), (['*.example.org'], 'example.org', False),
    (['*'], 'denied.example.net', True),
    (['registry.example.com:81'], 'registry.example.com', False),
    (['registry.example.com:80'], 'registry.example.com', True),
    (['*', '!denied.example.net'], 'denied.example.net', False),
    (['*', '!denied.example.net'], 'registry.example.com', True),
    (['203.0.113.0/27'], '203.0.113.10', True), (['203.0.113.0/27'], '203.0.113.40', False),
    (['*'], '203.0.113.30', True),
    (['*', '!203.0.113.30'], '203.0.113.30', False), (['*'], '127.0.0.1', False), (['*'], '10.20.0.5', False),
    (['10.0.0.0/8'], '10.20.0.5', True), (['10.0.0.0/8', '!10.20.0.0/16'], '10.20.0.5', False),
    (['*'], '169.254.169.254', False),
    (['169.254.0.0/16'], '169.254.169.254', False), (['169.254.169.254'], '169.254.169.254', True),
    (['*'], '::1', False),
    (['*'], 'fd00::1', False), (['fd00::/8'], 'fd00::1', True), (['*'], '64:ff9b::a14:5', False),
    (['*'], '2002:a14:5::', False),
    (['2001:db8::/64'], '2001:db8::10', True), (['*'], '2001:db8::10', True),
    (['*', '!2001:db8::/32'], '2001:db8::10', False),
    (['*'], '::ffff:10.20.0.5', False), (['*'], 'localhost', False),
    (['*.example.org', '!*.b.example.org'], 'a.b.example.org', False),
)


@row('W-net-1', 'explain host gives the verdict and the rule that the broker gives, for names and addresses alike')
def explain(case):
    world = World(case)
    world.sites()
    for address in ('10.20.0.5', '169.254.169.254', 'fd00::1', '64:ff9b::a14:5', '2002:a14:5::', '203.0.113.40'):
        world.web(address, https=None)
    world.web('127.0.0.1', https=None, where='host')
    for family in dict.fromkeys(tuple(rules) for rules, _, _ in VERDICTS):
        options = filtered(*[rule for rule in family if rule[0] != '!'],
                           deny=[rule[1:] for rule in family if rule[0] == '!'])
        hosts = [(host, good) for rules, host, good in VERDICTS if tuple(rules) == family]
        inside = world.ask('''
            for host in sys.argv[1:]:
                target = f'[{host}]' if ':' in host else host
                found = short(by_proxy(request(target + ':80', f'http://{target}:80/')))
                say(host, found)
        ''', options, [host for host, _ in hosts])
        for host, good in hosts:
            target = f'[{host}]:80' if ':' in host else f'{host}:80'
            told = case.plain([case.program, 'explain', '--json', '--workspace', case.work, *options, 'host', target])
            verdict = json.loads(told.out)
            case.same(verdict['allowed'], good, f'explain host {target} with {family}', told)
            case.same(inside[host].startswith('200 '), good, f'the broker, {target} with {family}: {inside[host]}')
            if not good:
                case.check(verdict['rule'] in inside[host] and verdict['fix'] in inside[host],
                           f'rule and fix of {verdict} in the broker\'s answer {inside[host]!r}')


@row('W-net-1', 'explain host asks nobody: no lookup, no connection')
def explain_silent(case):
    world = World(case)
    sites = world.sites()
    case.control(case.plain(['getent', 'hosts', 'registry.example.com']).code == 0 and world.resolver.names(),
                 'no lookup arrives outside')
    world.resolver.forget()
    for host in ('registry.example.com', 'denied.example.net', '203.0.113.10', 'secret.example.org'):
        told = case.plain([case.program, 'explain', '--json', '--workspace', case.work,
                           *filtered('registry.example.com', '*.example.org'),
                           'host', host])
        case.same(told.code, 0, 'exit code', told)
    case.same((world.resolver.names(), [site.connections for site in sites]), (set(), [[], [], []]), 'what arrived')


@row('A-net-1',
     'with the network off nothing of the world is in reach: not by name, address, loopback or proxy variables')
def off(case):
    world = World(case)
    first, second, other = world.sites()
    local = world.serve('127.0.0.1', 8111, where='host')
    script = '''
        for name in ('registry.example.com', '203.0.113.10', '2001:db8::10'):
            say(name, http(name))
        say('lookup', lookup('registry.example.com'))
        say('dns', dns_udp('203.0.113.53', dns_message('registry.example.com')))
        say('loopback', echoed('127.0.0.1', 8111))
    '''
    outside = world.ask(script)
    case.control(all(reached(answer) or answer == 'code 0 answers 1' for answer in outside.values()),
                 f'outside: {outside}')
    for server in (first, second, other, local):
        server.got.clear()
    world.resolver.forget()
    inside = world.ask(script, ['--network', 'off'])
    check_table(case, inside, (), inside, [first, second, other, local])
    case.same(world.resolver.names(), set(), 'what the resolver was asked')
