"""A filtered network that leaves by somebody else's proxy: the rules hold before it, its password stays outside."""
import re
import shutil

from harness import row
from harness_far import silent
from harness_upstream import Upstream
from harness_world import PYTHON, filtered, needs
from net_filtered import check_table, reached
from net_packages import BAD, GOOD, registry_world, repository

PROXY = '198.51.100.9'
SECRET = 'pass:w@rd/%20'
USES = '''
    for name in sys.argv[1:]:
        say('http ' + name, http(name, path='/simple/leftpad/')[:3] + ' ')
        say('https ' + name, https(name, path='/simple/leftpad/')[:3] + ' ')
        say('echo ' + name, echoed(name, 7777))
        say('connect ' + name, connect_by(name + ':443', tls_inside(name, '/simple/leftpad/'))[:3] + ' ')
        say('absolute ' + name, short(by_proxy(request(name, f'http://{name}/simple/leftpad/')))[:3] + ' ')
        say('socks ' + name, socks5(name, 7777, raw_inside(b'ping')))
'''


def behind(case, **keywords):
    """A registry that the host reaches by itself too, and a proxy: a connection by it comes from another address."""
    world = registry_world(case)
    world.echo = [world.serve(f'203.0.113.{number}', 7777) for number in (10, 30)]
    return world, Upstream(world, PROXY, 3128, **keywords)


def by(upstream, *allow, password=None, resolve='local', more=()):
    return filtered(*allow, more=['--upstream-proxy', upstream.url(password), '--upstream-resolve', resolve, *more])


def direct(world):
    """Connections to the sites that came from the host itself."""
    return [note for site in (*world.sites_of.values(), *world.echo) for note in getattr(site, 'connections', site.got)
            if note['peer'].startswith(('192.0.2.', '2001:db8:ffff'))]


def forget(world, upstream):
    for site in world.sites_of.values():
        site.forget()
    for server in world.echo:
        server.got.clear()
    upstream.asked.clear()
    upstream.heads.clear()
    world.resolver.forget()


@row('A-net-6', 'the upstream proxy is never asked for an address that only stands for a name')
def stand_ins(case):
    world, proxy = behind(case)
    inside = world.ask('''
        address = socket.gethostbyname(sys.argv[1])
        say('absolute', by_proxy(request(address, f'http://{address}/simple/leftpad/')))
        say('other host', by_proxy(request(sys.argv[1], f'http://{address}/simple/leftpad/')))
        say('connect', connect_by(address + ':80', plain_inside(sys.argv[1], '/simple/leftpad/')))
        say('socks', socks5(address, 80, plain_inside(sys.argv[1], '/simple/leftpad/')))
    ''', by(proxy, GOOD, resolve='proxy'), [GOOD])
    case.check(inside['connect'].startswith('200 ') and inside['socks'].startswith('200 '), f'tunnels: {inside}')
    case.same([asked for asked in map(str, proxy.asked) if '198.18.' in asked or 'fd71:' in asked], [], 'what the proxy was asked for')


@row('W-net-2',
     'everything allowed leaves by the upstream proxy, HTTP with Basic and SOCKS with a password, and nothing else reaches it')
def upstream(case):
    for kind in ('http', 'socks5'):
        world, proxy = behind(case, kind=kind, user='me', password=SECRET)
        for resolve in ('local', 'proxy'):
            forget(world, proxy)
            inside = world.ask(USES, by(proxy, GOOD, resolve=resolve), [GOOD, BAD])
            check_table(case, inside, [name for name in inside if name.endswith(GOOD)],
                        [name for name in inside if name.endswith(BAD)])
            case.same(direct(world), [], f'connections past the proxy: {kind}, {resolve}')
            case.check(len(proxy.asked) >= 6, f'what the proxy was asked for: {proxy.asked}')
            wanted = GOOD if resolve == 'proxy' else '203.0.113.10'
            case.check(all(re.search(rf'[ /]{re.escape(wanted)}[:/]', text) for text in proxy.asked),
                       f'the proxy is to be asked for {wanted}: {proxy.asked}')
            case.same(world.resolver.names(), set() if resolve == 'proxy' else {GOOD},
                      f'names that were looked up: {resolve}')
            case.same(proxy.refused, 0, 'wrong passwords')
        world.close()
        case.enter = None
        shutil.rmtree(world.projects)


@row('W-net-2', 'curl, git, npm and pip work through the upstream proxy')
def programs(case):
    world, proxy = behind(case, user='me', password=SECRET)
    needs(case, 'curl', 'git', 'npm')
    repository(case, world)
    case.write('app/package.json', '{"name": "app", "version": "1.0.0"}')
    for name, text, wanted in (
            ('curl', f'curl -sSf --cacert "$TEST_CA" https://{GOOD}/simple/leftpad/', 'leftpad-1.2.3'),
            ('git', f'git clone -q https://{GOOD}/git/left.git copy; cat copy/file', 'text'),
            ('npm', f'cd app; npm install --registry https://{GOOD}/npm/ --no-audit --no-fund --silent left; ls node_modules', 'left'),
            ('pip', f'{PYTHON} -m pip download -q --index-url https://{GOOD}/simple/ -d wheels leftpad; ls wheels',
             'leftpad-1.2.3')):
        forget(world, proxy)
        inside = case.inside(['sh', '-ec', text], by(proxy, GOOD), patience=120)
        case.check(inside.code == 0 and wanted in inside.out, f'{name} through the proxy', inside)
        case.check(proxy.asked, f'{name} did not go by the proxy', inside)
        case.same(direct(world), [], f'connections of {name} past the proxy')


@row('A-net-6',
     'the upstream proxy\'s password is not told to the command: not in its environment, not in an answer or event')
def password(case):
    world, proxy = behind(case, user='me', password='hunter2secret')
    needs(case, 'curl')
    text = (f'env; cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/*/cmdline | tr "\\0" "\\n"; curl -sS -v http://{GOOD}/ 2>&1; '
            f'curl -sSv http://{BAD}/ 2>&1; curl -sSv http://{GOOD}:81/ 2>&1')
    case.env['HTTPS_PROXY'] = proxy.url()
    for options in (by(proxy, GOOD), filtered(GOOD, more=['--upstream-proxy', 'environment'])):
        answer = case.result(['sh', '-c', text], options)
        case.check(any('hunter2secret' in proxy.given(head) for head in proxy.heads),
                   f'the proxy was not given it: {proxy.heads}')
        for secret in ('hunter2secret', 'bWU6aHVudGVyMnNlY3JldA'):
            case.check(secret not in str(answer['stdout']) + str(answer['stderr']) + str(answer['denials']),
                       'the password is inside', answer['outcome'])
        sent = [note['headers'] for site in world.sites_of.values() for note in site.got]
        case.check(sent and not any('uthorization' in str(headers) for headers in sent),
                   f'what a server was told: {sent}')


@row('W-net-2', 'a wrong password, a proxy that is not there and one that never answers are told as what they are')
def refused_by_upstream(case):
    world, proxy = behind(case, user='me', password=SECRET)
    needs(case, 'curl')
    world.serve(PROXY, 3129, silent)
    socks = Upstream(world, PROXY, 1080, kind='socks5', user='me', password=SECRET)
    for options, wanted in ((by(proxy, GOOD, password='wrong'), 'password'),
                            (by(socks, GOOD, password='wrong'), 'password'),
                            (filtered(GOOD, more=['--upstream-proxy', f'http://{PROXY}:3999']), 'upstream')):
        inside = case.inside(['curl', '-sS', '-w', '%{http_code}', f'http://{GOOD}/'], options)
        case.check(inside.out.endswith('502'), 'the answer\'s status', inside)
        case.check('proxy' in inside.out.lower() and SECRET not in inside.out and 'wrong' not in inside.out,
                   'what it says', inside)
        answer = case.result(['curl', '-sS', f'https://{GOOD}/'], options)
        case.check(answer['exitCode'] in (56, 7, 35, 97), f'by CONNECT: {answer["exitCode"]}', answer['outcome'])
    case.check(proxy.refused and socks.refused, 'the proxies were not asked')
    case.same(direct(world), [], 'connections past the proxy')
    inside = world.ask(f'''
        made = socket.create_connection(proxy_address(), PATIENCE)
        made.sendall(b'CONNECT {GOOD}:443 HTTP/1.1\\r\\nHost: {GOOD}:443\\r\\n\\r\\n')
        made.settimeout(1)
        try:
            say('silence', text_of(made.recv(10)))
        except OSError as error:
            say('silence', fault(error))
    ''', filtered(GOOD, more=['--upstream-proxy', f'http://{PROXY}:3129']))
    case.same(inside, {'silence': 'timeout'}, 'a proxy that says nothing')


@row('W-net-2',
     'the caller\'s HTTPS_PROXY is used when the policy says so, NO_PROXY leads past it, and neither is used unasked')
def environment(case):
    world, proxy = behind(case)
    other = 'mirror.example.com'
    world.name(other, '203.0.113.30')
    options = filtered(GOOD, other)
    script = 'for name in sys.argv[1:]: say(name, https(name, path="/simple/leftpad/")[:3] + " ")'
    for no_proxy, past in (('', set()), ('mirror.example.com', {other}), ('.example.com', {GOOD, other}),
                           ('example.com', {GOOD, other}),
                           ('x.example.com, mirror.example.com', {other}), ('*', {GOOD, other})):
        case.env.update({'HTTPS_PROXY': proxy.url(), 'NO_PROXY': no_proxy})
        forget(world, proxy)
        inside = world.ask(script, [*options, '--upstream-proxy', 'environment', '--upstream-resolve', 'proxy'],
                           [GOOD, other])
        check_table(case, inside, [GOOD, other], ())
        went = {text.split()[1].rpartition(':')[0] for text in proxy.asked}
        case.same(went, {GOOD, other} - past, f'names by the proxy with NO_PROXY={no_proxy!r}')
        case.same(len(direct(world)), len(past), f'connections past it with NO_PROXY={no_proxy!r}')
    case.env['NO_PROXY'] = ''
    forget(world, proxy)
    inside = world.ask(script, options, [GOOD])
    check_table(case, inside, [GOOD], ())
    case.same((proxy.asked, len(direct(world))), ([], 1), 'with the variable and no word in the policy')


@row('A-net-4', 'with local names an allowed name that leads back is refused before the upstream proxy is asked')
def judged_before(case):
    world, proxy = behind(case)
    backs = {'a': '127.0.0.1', 'b': '169.254.169.254', 'c': '192.0.2.1', 'd': '10.20.0.5'}
    for word, address in backs.items():
        world.name(f'{word}.example.com', address)
        world.web(address, https=None, where='host' if word in 'ac' else 'far')
    script = 'for word in sys.argv[1:]: say(word, http(word if "." in word or ":" in word else word + ".example.com"))'
    names = [*backs, '127.0.0.1', '169.254.169.254', '10.20.0.5', '203.0.113.30', '2001:db8::30']
    inside = world.ask(script, by(proxy, '*', resolve='local',
                                  more=['--deny-domain', '203.0.113.30', '--deny-domain', '2001:db8::30']), names)
    check_table(case, inside, (), inside)
    case.same(proxy.asked, [], 'what the proxy was asked for')
    # When the proxy turns names into addresses, only addresses asked for by themselves can be judged here.
    inside = world.ask(script, by(proxy, '*.example.com', resolve='proxy'), names)
    check_table(case, inside, (), names[4:])
    asked = {text.split('/')[2] if '://' in text else text.split()[1] for text in proxy.asked}
    case.check(all(text.endswith(('.example.com', '.example.com:80')) for text in asked),
               f'what the proxy was asked for: {asked}')


@row('A-net-6',
     'what a client says to a proxy is not handed on: Proxy-Authorization, Proxy-Connection, and what Connection names')
def headers(case):
    world, proxy = behind(case, user='me', password=SECRET)
    lines = 'Proxy-Authorization: Basic c3RvbGVu\\r\\nProxy-Connection: keep-alive\\r\\nX-Hop: 1\\r\\nConnection: X-Hop\\r\\nX-End: 2\\r\\n'
    script = f'''
        head = 'GET {{}}/simple/leftpad/ HTTP/1.1\\r\\nHost: {GOOD}\\r\\n{lines}\\r\\n'
        say('absolute', short(by_proxy(head.format('http://{GOOD}').encode()))[:3] + ' ')
        say('plain', short(tcp('{GOOD}', 80, head.format('').encode()))[:3] + ' ')
    '''
    for options in (by(proxy, GOOD), filtered(GOOD)):
        forget(world, proxy)
        inside = world.ask(script, options)
        check_table(case, inside, ['absolute', 'plain'], ())
        for note in world.sites_of[GOOD].got:
            names = {name.lower() for name in note['headers']}
            case.check('x-end' in names and not names & {'x-hop', 'proxy-authorization', 'proxy-connection'},
                       f'headers: {note["headers"]}')
        case.check(not any('c3RvbGVu' in head for head in proxy.heads), f'what the upstream proxy got: {proxy.heads}')
        case.check(reached(inside['plain']), 'the plain one')
