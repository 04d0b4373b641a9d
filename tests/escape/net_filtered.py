"""Filtered network: any program reaches what the rules allow, by name, and nothing else. (World: harness_world.py)"""
import re

from harness import row
from harness_far import echo_once
from harness_world import HOST, HOST6, NO_PROXIES, PYTHON, World, filtered

ALLOW = filtered('registry.example.com', '*.example.org')
ALLOWED = ('registry.example.com', 'www.example.org', 'a.b.example.org')
OTHERS = ('denied.example.net', 'evil.example.com', 'registry.example.com.evil.test', 'example.org')


def reached(answer):
    """Did a server of the world answer? An error of HTTP and an alert of TLS are the broker's."""
    return answer.startswith('200 ') or (answer.startswith('ok')
                                         and not re.match('ok (HTTP/1.[01] [45]|\x15\x03)', answer))


def check_table(case, answers, good, bad, servers=()):
    """Those under `good` were reached, those under `bad` not, and `servers` got nothing."""
    for name in good:
        case.check(reached(answers.get(name, 'nothing')), f'{name!r} must work: {answers.get(name)!r}')
    for name in bad:
        case.check(name in answers and not reached(answers[name]), f'{name!r} must be refused: {answers.get(name)!r}')
    case.pause(0.05)
    for server in servers:
        case.same(server.got, [], 'what a server under no rule got')


REACH = '''
    for name in sys.argv[1:]:
        for family, way in ((socket.AF_INET, 4), (socket.AF_INET6, 6)):
            say(f'http {name} {way}', http(name, family=family))
            say(f'https {name} {way}', https(name, family=family, check=False))
            say(f'echo {name} {way}', echoed(name, 7777, family=family))
            say(f'name {name} {way}', lookup(name, family))
'''


def ways(*names):
    return [f'{how} {name} {way}' for name in names for how in ('http', 'https', 'echo', 'name') for way in (4, 6)]


def echoes(world, port=7777):
    """An echo at each of the usual sites, by both IPs."""
    return {number: [world.serve(address, port) for address in (f'203.0.113.{number}', f'2001:db8::{number}')]
            for number in (10, 20, 30)}


@row('A-net-9', 'a plain connect reaches allowed names over HTTP, TLS and other TCP, IPv4 and IPv6, and no other name')
def plain_connect(case):
    world = World(case)
    first, second, other = world.sites()
    echo = echoes(world)
    names = ALLOWED + OTHERS
    outside = world.ask(REACH, arguments=names)
    case.control(all(reached(outside[way]) for way in ways(*names)), f'outside: {outside}')
    for site in (first, second, other, *echo[30], *echo[20]):
        site.got.clear()
    inside = world.ask(REACH, ALLOW, names)
    check_table(case, inside, ways(*ALLOWED), ways(*OTHERS), [other, *echo[30]])
    for name in ALLOWED:
        case.check(f'GET {name} /' in inside[f'http {name} 4'], f'another page came: {inside[f"http {name} 4"]}')
    hosts = {note['host'] for note in second.got}
    case.same(hosts, {'www.example.org', 'a.b.example.org'}, 'the names that www.example.org was asked for')


@row('A-net-9', 'an address that no rule allows is refused, though a server is there: TCP, TLS and HTTP, IPv4 and IPv6')
def plain_address(case):
    world = World(case)
    _, _, other = world.sites()
    echo = echoes(world)
    script = '''
        for address in ('203.0.113.30', '2001:db8::30'):
            say('http ' + address, http(address))
            say('allowed Host ' + address, http(address, name='registry.example.com'))
            say('https ' + address, https(address, check=False))
            say('allowed SNI ' + address, https(address, sni='registry.example.com'))
            say('no SNI ' + address, https(address, sni=''))
            say('echo ' + address, echoed(address, 7777))
            say('speaks last ' + address, tcp(address, 7777, b'GET', half_close=True))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    for server in (other, *echo[30]):
        server.got.clear()
    other.connections.clear()
    inside = world.ask(script, ALLOW)
    # Where Host and SNI name what is allowed, the broker may go there, never to the address that was asked for.
    named = {name for name in inside if name.startswith('allowed')}
    check_table(case, inside, (), set(outside) - named, [other, *echo[30]])
    for name in named:
        case.check(not reached(inside[name]) or '200 203.0.113.10 ' in inside[name]
                   or '200 2001:db8::10 ' in inside[name],
                   f'{name} led to {inside[name]}')
    case.same(other.connections, [], 'connections that the server got')


@row('A-net-9', 'an address and a range that are allowed themselves are reached, and their neighbours are not')
def allowed_address(case):
    world = World(case)
    first, second, other = world.sites()
    private = world.web('10.20.0.5', https=None)
    script = '''
        for address in ('203.0.113.10', '2001:db8::10', '203.0.113.20', '2001:db8::20', '203.0.113.30', '10.20.0.5'):
            say(address, http(address))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    for site in (first, second, other, private):
        site.forget()
    inside = world.ask(script, filtered('203.0.113.10', '2001:db8::10/127', '10.20.0.0/16'))
    check_table(case, inside, ['203.0.113.10', '2001:db8::10', '10.20.0.5'],
                ['203.0.113.20', '2001:db8::20', '203.0.113.30'], [second, other])


@row('A-net-9', 'a port in a rule is the only one, for a name and for an address, also through the proxies')
def ports(case):
    world = World(case)
    world.sites()
    echo = echoes(world)
    script = '''
        ask = request('registry.example.com')
        say('80', http('registry.example.com'))
        say('443', https('registry.example.com'))
        say('7777', echoed('registry.example.com', 7777))
        say('address 7777', echoed('203.0.113.20', 7777))
        say('address 80', http('203.0.113.20'))
        if 'http_proxy' in os.environ:
            say('connect 443', connect_by('registry.example.com:443', tls_inside('registry.example.com')))
            say('connect 7777', connect_by('registry.example.com:7777', raw_inside(b'ping')))
            say('connect 80', connect_by('registry.example.com:80', raw_inside(ask)))
            say('socks 443', socks5('registry.example.com', 443, tls_inside('registry.example.com')))
            say('socks 7777', socks5('registry.example.com', 7777, raw_inside(b'ping')))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    echo[10][0].got.clear()
    echo[10][1].got.clear()
    inside = world.ask(script, filtered('registry.example.com:443', '203.0.113.20:7777'))
    good = ['443', 'address 7777', 'connect 443', 'socks 443']
    check_table(case, inside, good, set(inside) - set(good), echo[10])


@row('A-net-9', 'a denied name or address wins over an allowed one, for the whole of a family too')
def denied_wins(case):
    world = World(case)
    first, second, other = world.sites()
    script = '''
        for name in ('registry.example.com', 'www.example.org', 'a.b.example.org', 'denied.example.net'):
            say(name, http(name))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    for allow, deny, good in ((['*'], ['*.b.example.org', 'denied.example.net'],
                               ['registry.example.com', 'www.example.org']),
                              (['*'], ['203.0.113.0/25', '2001:db8::/64'], []),
                              (['*.example.org', 'registry.example.com'], ['*.example.org'], ['registry.example.com']),
                              (['*'], ['203.0.113.30', '2001:db8::30'],
                               ['registry.example.com', 'www.example.org', 'a.b.example.org'])):
        for site in (first, second, other):
            site.forget()
        inside = world.ask(script, filtered(*allow, deny=deny))
        check_table(case, inside, good, set(outside) - set(good), [other])


@row('A-net-9',
     'a name of the host\'s hosts file is reached as the host does, and one of the sandbox\'s own is no way around')
def hosts_file(case):
    world = World(case,
                  '127.0.0.1 localhost\n::1 localhost\n203.0.113.10 build.internal\n203.0.113.30 other.internal\n')
    first, _, other = world.sites()
    script = '''
        for name in ('build.internal', 'other.internal'):
            say(name, http(name))
            if 'http_proxy' in os.environ:
                say('proxy ' + name, connect_by(name + ':80', plain_inside(name)))
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    for site in (first, other):
        site.forget()
    inside = world.ask(script, filtered('build.internal'))
    # The file is in the sandbox too: the plain connect goes to an address, which is taken for the name that has it.
    check_table(case, inside, ['build.internal', 'proxy build.internal'], ['other.internal', 'proxy other.internal'],
                [other])
    for site in (first, other):
        site.forget()
    inside = world.ask(script, filtered('*.example.org'))
    check_table(case, inside, (), inside, [first, other])


@row('A-net-9',
     'no interface but loopback, no process of ours, no listener on the host and no privilege comes with the filter')
def nothing_inside(case):
    world = World(case)
    world.sites()
    look = 'cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 | awk \'{print $2}\' | sort; cut -sd" " -f8 /proc/net/unix | grep .'
    before = case.plain(['sh', '-c', look])
    case.control('0100007F' not in before.out, f'something listens in an empty world: {before.out}')
    process = case.popen(case.sandboxed(['sh', '-c', 'echo up; read line'], ALLOW), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    case.same(process.stdout.readline(), b'up\n', 'the start')
    during = case.plain(['sh', '-c', look])
    case.same(during.out, before.out, 'sockets of the host while a sandbox runs')
    case.worked(case.finish(process, b'\n'), 'the run')
    inside = case.inside(['sh', '-c',
                          'tail -n +3 /proc/net/dev | cut -d: -f1; ls /proc | grep -c "^[0-9]"; ls /proc/self/fd;'
                          'grep -E "CapEff|NoNewPrivs" /proc/self/status'], ALLOW)
    words = inside.out.split()
    case.same(words[0], 'lo', 'the only interface', inside)
    case.check(int(words[1]) <= 4, 'processes besides the first, the shell and its own', inside)
    case.same(words[-4:], ['CapEff:', '0000000000000000', 'NoNewPrivs:', '1'], 'privileges', inside)
    case.same(words[2:-4], ['0', '1', '2', '3'], 'descriptors of ls (its own is 3)', inside)


@row('A-net-9', 'the network\'s settings cannot be changed from inside: addresses, routes, packet filters, sysctls')
def settings(case):
    world = World(case)
    _, _, other = world.sites()
    script = '''
        import subprocess
        for words in ('ip link add new0 type veth peer name new1', 'ip addr add 203.0.113.30/32 dev lo', 'ip route del local default dev lo',
                      'ip route add 203.0.113.30/32 dev lo', 'ip rule add prio 1 lookup main', 'nft flush ruleset',
                      'nft list ruleset', 'ip link set lo down', 'ip route flush table local'):
            done = subprocess.run(words.split(), capture_output=True)
            say(words, 'ok' if done.returncode == 0 and words != 'nft list ruleset' else 'refused')
        for path in ('net/ipv4/ip_forward', 'net/ipv4/conf/all/route_localnet', 'net/ipv4/ip_nonlocal_bind'):
            try:
                with open('/proc/sys/' + path, 'w') as file:
                    file.write('1')
                say(path, 'ok')
            except OSError as error:
                say(path, fault(error))
        say('denied', http('203.0.113.30'))
    '''
    inside = world.ask(script, ALLOW)
    check_table(case, inside, (), inside, [other])
    own = [] if case.is_root else ['unshare', '--user', '--map-root-user', '--net']
    if case.is_root:
        own = ['unshare', '--net']
    outside = case.plain([*own, 'ip', 'link', 'add', 'new0', 'type', 'veth'])
    case.control(outside.code == 0, f'an interface cannot be made outside: {outside.err}')


@row('A-net-10',
     'services on the host\'s loopback and at its own addresses are out of reach, whatever is allowed by name')
def loopback_services(case):
    world = World(case, '127.0.0.1 localhost\n::1 localhost\n192.0.2.1 thishost\n127.0.0.9 ninth\n')
    servers = [world.serve(address, 8111, echo_once, where='host')
               for address in ('127.0.0.1', '::1', '127.0.0.9', HOST, HOST6)]
    servers += [world.serve('127.0.0.1', port, echo_once, where='host') for port in (80, 443)]
    script = '''
        proxies = 'http_proxy' in os.environ
        for host in ('127.0.0.1', '::1', '127.0.0.9', '192.0.2.1', '2001:db8:ffff::1', 'localhost', 'thishost', 'ninth',
                     '0.0.0.0', '::', '::ffff:127.0.0.1'):
            target = f'[{host}]' if ':' in host else host
            say('connect ' + host, echoed(host, 8111))
            if proxies:
                say('proxy ' + host, connect_by(f'{target}:8111', raw_inside(b'ping')))
                say('proxy 80 ' + host, connect_by(f'{target}:80', raw_inside(b'ping')))
                say('absolute ' + host, short(by_proxy(request(f'{target}:8111', f'http://{target}:8111/'))))
                say('socks ' + host, socks5(host, 8111, raw_inside(b'ping')))
                say('socks 4 ' + host, socks4(host, 8111, raw_inside(b'ping')) if ':' not in host else 'none')
    '''
    outside = world.ask(script)
    case.control(all(map(reached, outside.values())), f'outside: {outside}')
    for server in servers:
        server.got.clear()
    for rules in (['*'], ['localhost', 'thishost', 'ninth'], ['*', '192.0.0.0/8', '127.0.0.2']):
        inside = world.ask(script, filtered(*rules))
        # A range that holds an own address does mean it.
        good = [name for name in inside if '192.0.0.0/8' in rules and not name.startswith('proxy 80')
                and name.endswith((' thishost', ' 192.0.2.1'))]
        check_table(case, inside, (), set(inside) - set(good), [server for server in servers if not good])
        for server in servers:
            server.got.clear()


@row('A-net-10', 'another sandbox\'s proxies, servers and broker are out of reach')
def another_sandbox(case):
    world = World(case)
    world.sites()
    text = ('import os,socket,sys; s = socket.create_server(("0.0.0.0", 8222)); '
            'print(os.environ["http_proxy"], flush=True); sys.stdin.read()')
    process = case.popen(case.sandboxed([PYTHON, '-c', text], ALLOW), stdin=-1)
    case.cleanups += [process.wait, process.kill]
    proxy = process.stdout.readline().decode().strip()
    case.check(proxy.startswith('http://'), f'the first sandbox says {proxy}')
    script = '''
        port = int(sys.argv[1])
        for host in ('127.0.0.1', '192.0.2.1', '198.18.0.1', '::1'):
            say('server ' + host, echoed(host, 8222))
        with socket.socket() as probe:
            own = proxy_address()[1]
            say('other port', 'same' if own == port else echoed('127.0.0.1', port))
    '''
    port = re.search(r':(\d+)', proxy.partition('//')[2]).group(1)
    inside = world.ask(script, filtered('denied.example.net'), [port])
    check_table(case, inside, (), inside)
    # The two use the same port and not the same broker: the rules are each one's own.
    script = '''
        for name in ('registry.example.com', 'denied.example.net'):
            say(name, connect_by(name + ':80', plain_inside(name)))
    '''
    inside = world.ask(script, filtered('denied.example.net'))
    check_table(case, inside, ['denied.example.net'], ['registry.example.com'])
    case.finish(process, b'')


@row('A-net-9', 'programs that were started without the proxies\' variables are filtered all the same')
def no_variables(case):
    world = World(case)
    _, _, other = world.sites()
    text = 'import sys, urllib.request as u; print(u.urlopen("http://" + sys.argv[1] + "/", timeout=20).read().decode())'
    for prefix in ([], NO_PROXIES, ['env', '-i']):
        argv = [*prefix, PYTHON, '-c', text]
        outside = case.plain([*argv, 'denied.example.net'])
        case.control('GET denied.example.net /' in outside.out, f'outside: {outside.describe()}')
        other.forget()
        inside = case.inside([*argv, 'registry.example.com'], ALLOW)
        case.check('GET registry.example.com /' in inside.out, 'the page must come', inside)
        inside = case.inside([*argv, 'denied.example.net'], ALLOW)
        case.same((inside.code, inside.out), (1, ''), 'a name under no rule', inside)
        case.same(other.got, [], 'what the other server got')
