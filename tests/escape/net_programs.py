"""Real programs, with the proxies' variables and without: an allowed name works, any other is refused with its rule."""
import os
import shutil
import subprocess

from harness import row
from harness_far import banner
from harness_sites import registry_of
from harness_world import NO_PROXIES, PYTHON, World, needs
from net_filtered import ALLOW, check_table

GOOD, BAD = 'registry.example.com', 'denied.example.net'
WAYS = (('with the variables', []), ('without', NO_PROXIES))


def program(case, world, make, options=ALLOW, ways=WAYS, patience=60):
    """`make(name)`: an argument vector that prints the page of `name`. It works for both names outside and for the
    allowed one inside; for the other one it ends with an error, and no server hears of it. Returns what it then said."""
    said = []
    for name in (GOOD, BAD):
        outside = case.plain(make(name), patience=patience)
        case.control(f'GET {name} /' in outside.out, f'{make(name)[0]} does not work outside: {outside.describe()}')
    for label, prefix in ways:
        for site in world.three:
            site.forget()
        inside = case.inside([*prefix, *make(GOOD)], options, patience=patience)
        case.check(f'GET {GOOD} /' in inside.out and inside.code == 0, f'an allowed name, {label}', inside)
        inside = case.inside([*prefix, *make(BAD)], options, patience=patience)
        case.check(inside.code not in (0, 125), f'a name under no rule must end with an error, {label}', inside)
        case.check(f'GET {BAD}' not in inside.out, f'the page of a name under no rule, {label}', inside)
        case.same((world.three[2].got, world.three[2].connections), ([], []), f'what its server got, {label}')
        said.append(inside)
    return said


def three(case):
    world = World(case)
    world.three = world.sites()
    return world


# -- curl ------------------------------------------------------------------------------------------------------------

@row('A-net-9', 'curl: HTTP and HTTPS, through the proxies and past them')
def curl(case):
    world = three(case)
    needs(case, 'curl')
    for words, ways in ((['http://{}/page'], WAYS), (['--cacert', '{ca}', 'https://{}/page'], WAYS),
                        (['-4', 'http://{}/page'], WAYS), (['-6', 'http://{}/page'], WAYS[1:]),
                        (['--http1.0', 'http://{}/page'], WAYS)):
        def make(name, words=words):
            return ['curl', '-sSf', *[word.format(name, ca=case.env['TEST_CA']) for word in words]]
        program(case, world, make, ways=ways)


@row('A-net-9',
     'a refusal is in the protocol\'s own terms and names the rule: HTTP 403 by a proxy and past it, a TLS alert')
def refusal(case):
    three(case)
    needs(case, 'curl')
    for prefix in ([], NO_PROXIES):
        inside = case.inside([*prefix, 'curl', '-sS', '-o', '-', '-w', '%{http_code}', 'http://203.0.113.30/'], ALLOW)
        case.check(inside.out.endswith('403') and '/network/' in inside.out and '203.0.113.30' in inside.out,
                   f'an answer of 403 with the rule and the address: {prefix[:1]}', inside)
    inside = case.inside(['curl', '-sS', '-o', '-', '-w', '%{http_code}', f'http://{BAD}/'], ALLOW)
    case.check(inside.out.endswith('403') and '/network/allowedDomains' in inside.out and BAD in inside.out,
               'by the proxy', inside)
    case.check(f'--allow-domain {BAD}' in inside.out, 'the smallest fix is in the answer', inside)
    inside = case.inside(['curl', '-sS', f'https://{BAD}/'], ALLOW)
    case.check('403' in inside.err, 'by CONNECT', inside)
    inside = case.inside([*NO_PROXIES, 'curl', '-sSk', 'https://203.0.113.30/'], ALLOW)
    case.check(inside.code == 35 and 'alert' in inside.err, 'a TLS alert for an address under no rule', inside)
    for prefix, status in (([], '400'), (NO_PROXIES, '421')):
        inside = case.inside([*prefix, 'curl', '-sS', '-w', '%{http_code}', f'http://{GOOD}/', '-H', f'Host: {BAD}'],
                             ALLOW)
        case.check(inside.out.endswith(status) and 'Host' in inside.out or 'names another host' in inside.out,
                   'a Host of another name', inside)


@row('A-net-9', 'curl by SOCKS: 5 with the name told to the proxy, 5 with an own lookup, 4a and 4')
def curl_socks(case):
    world = three(case)
    needs(case, 'curl')
    world.ask('')
    for scheme in ('socks5h', 'socks5', 'socks4a', 'socks4'):
        for name in (GOOD, BAD):
            text = f'curl -sSf --proxy {scheme}://127.0.0.1:1080 http://{name}/page'
            inside = case.inside(['sh', '-c', text], ALLOW)
            case.same(inside.code == 0, name == GOOD, f'{scheme} to {name}', inside)
    case.same(world.three[2].connections, [], 'what the other server got')


@row('A-net-9',
     'HTTP as programs speak it: kept connections, chunked and large uploads, Expect, HEAD, ranges, HTTP/1.0')
def http_features(case):
    world = three(case)
    needs(case, 'curl')
    first = world.three[0]
    case.write('large', os.urandom(300000))
    url = f'http://{GOOD}'
    calls = [['curl', '-sS', f'{url}/1', f'{url}/2', f'{url}/3'], ['curl', '-sS', '-T', 'large', f'{url}/put'],
             ['curl', '-sS', '-H', 'Transfer-Encoding: chunked', '--data-binary', '@large', f'{url}/chunked'],
             ['curl', '-sS', '-H', 'Expect: 100-continue', '--data-binary', '@large', f'{url}/expect'],
             ['curl', '-sS', '-I', f'{url}/head'], ['curl', '-sS', '-0', f'{url}/old'],
             ['curl', '-sS', '-X', 'OPTIONS', f'{url}/o'],
             ['curl', '-sS', '-X', 'PROPFIND', f'{url}/dav'],
             ['curl', '-sS', '-H', f'X-Long: {"x" * 20000}', f'{url}/long'],
             ['curl', '-sS', '-H', 'Connection: keep-alive, X-Hop', '-H', 'X-Hop: 1', '-H', 'TE: trailers',
              f'{url}/hop']]
    for words in calls:
        outside = case.plain(words)
        case.control(outside.code == 0, f'does not work outside: {outside.describe()}')
        for _, prefix in WAYS:
            first.forget()
            inside = case.inside([*prefix, *words], ALLOW)
            case.same(inside.code, 0, 'exit code', inside)
            shown = [[line for line in text.splitlines() if not line.startswith(('Date:', 'Connection:', 'Via:'))]
                     for text in (inside.out.replace('2001:db8::10', '203.0.113.10'),
                                  outside.out.replace('2001:db8::10', '203.0.113.10'))]
            case.same(shown[0], shown[1], 'what came', inside)
            for note in first.got:
                case.same((note['host'], len(note['body']) in (0, 300000)), (GOOD, True), 'the request that came')


@row('A-net-9', 'a web socket works: the upgrade and bytes both ways, plain and TLS, by the proxy and past it')
def web_socket(case):
    world = World(case)
    world.web('203.0.113.10', handler=registry_of(case.outside))
    world.name(GOOD, '203.0.113.10')
    script = r'''
        ask = ('GET {}/socket HTTP/1.1\r\nHost: registry.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
               'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
        def talk(made, target=''):
            made.sendall(ask.format(target).encode())
            head = head_of(made)
            if b' 101 ' not in head or b's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' not in head:
                return 'no upgrade ' + head.decode('latin-1')
            for _ in range(3):
                made.sendall(b'\x81\x85abcd' + bytes(range(128, 250)))
                got = b''
                while len(got) < 128:
                    got += made.recv(128 - len(got)) or b'?' * 200
                if got != b'\x81\x85abcd' + bytes(range(128, 250)):
                    return 'other bytes'
            return 'ok'
        def safe(made):
            return talk(trust().wrap_socket(made, server_hostname='registry.example.com'))
        say('plain', talk(connected('registry.example.com', 80)))
        say('tls', safe(connected('registry.example.com', 443)))
        if 'http_proxy' in os.environ:
            say('absolute', talk(connected(*proxy_address()), 'http://registry.example.com'))
            say('connect', connect_by('registry.example.com:80', talk))
            say('connect tls', connect_by('registry.example.com:443', safe))
            say('socks', socks5('registry.example.com', 80, talk))
    '''
    outside = world.ask(script)
    case.control(set(outside.values()) == {'ok'}, f'outside: {outside}')
    inside = world.ask(script, ALLOW)
    check_table(case, inside, inside, ())


@row('A-net-9',
     'protocols where the server speaks first work on any port: SSH\'s banner on 22, SMTP\'s on 25, 21, 3306, 443, 80')
def speaks_first(case):
    world = World(case)
    ports = (22, 25, 21, 3306, 443, 80)
    servers = [world.serve('203.0.113.10', port, banner(b'SSH-2.0-Test_1.0\r\n')) for port in ports]
    others = [world.serve('203.0.113.30', port, banner(b'SSH-2.0-Test_1.0\r\n')) for port in ports]
    world.name(GOOD, '203.0.113.10')
    world.name(BAD, '203.0.113.30')
    script = '''
        for host in sys.argv[1:]:
            for port in (22, 25, 21, 3306, 443, 80):
                with_data = tcp(host, port, b'SSH-2.0-Client\\r\\n', half_close=True) if port not in (80, 443) else 'none'
                say(f'{host} {port}', tcp(host, port, half_close=True))
                say(f'talks {host} {port}', with_data)
                if 'http_proxy' in os.environ and port not in (80, 443):
                    say(f'connect {host} {port}', connect_by(f'{host}:{port}', raw_inside(b'')))
                    say(f'socks {host} {port}', socks5(host, port, raw_inside(b'')))
    '''
    outside = world.ask(script, arguments=[GOOD, BAD, '203.0.113.30'])
    case.control(all('SSH-2.0-Test' in answer or answer == 'none' for answer in outside.values()),
                 f'outside: {outside}')
    for server in others:
        server.got.clear()
    inside = world.ask(script, ALLOW, [GOOD, BAD, '203.0.113.30'])
    # On 80 and 443 the client speaks first, or there is nothing to judge but the address.
    good = [name for name in inside if GOOD in name and inside[name] != 'none'
            and name.split()[-1] not in ('80', '443')]
    check_table(case, inside, good, [name for name in inside if GOOD not in name], others)
    for server, port in zip(servers, ports):
        if port not in (80, 443):
            case.check({note['received'] for note in server.got} >= {b'SSH-2.0-Client\r\n'},
                       f'the client\'s bytes on {port}')


# -- languages -------------------------------------------------------------------------------------------------------

@row('A-net-9', 'Python: urllib over HTTP and TLS')
def python(case):
    world = three(case)
    text = 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())'
    case.env['SSL_CERT_FILE'] = world.authority.ca and case.env['TEST_CA']
    for scheme in ('http', 'https'):
        program(case, world, lambda name: [PYTHON, '-c', text, f'{scheme}://{name}/page'])


NODE = '''
const [way, url] = process.argv.slice(2);
const fail = (error) => { console.error(String(error), String(error.cause || '')); process.exit(1); };
if (way === 'fetch') fetch(url).then((answer) => answer.text()).then((text) => console.log(text), fail);
else require(url.split(':')[0]).get(url, (answer) => {
  let text = '';
  answer.on('data', (part) => text += part).on('end', () => console.log(text));
}).on('error', fail);
'''


@row('A-net-9', 'Node: fetch and the http and https modules, which read no proxy variables')
def node(case):
    world = three(case)
    needs(case, 'node')
    script = case.write('get.js', NODE)
    case.env['NODE_EXTRA_CA_CERTS'] = case.env['TEST_CA']
    for way, scheme in (('fetch', 'https'), ('fetch', 'http'), ('module', 'https'), ('module', 'http')):
        program(case, world, lambda name: ['node', script, way, f'{scheme}://{name}/page'], ways=WAYS[:1])


GO = '''
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "socket" {
		made, err := net.Dial("tcp", os.Args[2]+":80")
		fail(err)
		fmt.Fprintf(made, "GET /page HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n", os.Args[2])
		_, err = io.Copy(os.Stdout, made)
		fail(err)
		return
	}
	answer, err := http.Get(os.Args[1] + "://" + os.Args[2] + "/page")
	fail(err)
	if answer.StatusCode != 200 {
		fail(fmt.Errorf("%s", answer.Status))
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	fail(err)
}
'''


def go_program(case):
    """Built once for a run of the tests, static, with Go's own resolver."""
    place = os.path.join(os.path.dirname(case.base), 'go')
    built = os.path.join(place, 'get')
    if not os.path.exists(built):
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, 'get.go'), 'w', encoding='utf-8') as file:
            file.write(GO)
        done = subprocess.run(['go', 'build', '-o', built, 'get.go'], cwd=place, capture_output=True, text=True,
                              check=False,
                              env={**case.env, 'CGO_ENABLED': '0', 'GO111MODULE': 'off',
                                   'GOCACHE': os.path.join(place, 'cache'),
                                   'GOFLAGS': '', 'GOTMPDIR': place})
        case.control(done.returncode == 0, f'the Go client is not built: {done.stderr[-300:]}')
        shutil.rmtree(os.path.join(place, 'cache'), ignore_errors=True)
    return shutil.copy(built, case.work)


@row('A-net-9', 'Go: a static program with its own resolver, by net/http and a plain socket')
def go(case):
    world = three(case)
    needs(case, 'go')
    binary = go_program(case)
    case.env['SSL_CERT_FILE'] = case.env['TEST_CA']
    for way in ('http', 'https', 'socket'):
        said = program(case, world, lambda name: [binary, way, name], ways=WAYS if way != 'socket' else WAYS[:1])
        if way == 'socket':
            case.check('no such host' in said[0].err, 'Go\'s resolver hears that there is no such name', said[0])


JAVA = '''
import java.io.*;
import java.net.*;
import java.net.http.*;

public class Get {
    public static void main(String[] words) throws Exception {
        String url = words[1] + "://" + words[2] + "/page";
        if (words[0].equals("client")) {
            HttpResponse<String> answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).build(),
                HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) throw new IOException("status " + answer.statusCode());
            System.out.println(answer.body());
        } else if (words[0].equals("connection")) {
            System.out.println(new String(new URL(url).openConnection().getInputStream().readAllBytes()));
        } else try (Socket made = new Socket(words[2], 80)) {
            made.getOutputStream().write(("GET /page HTTP/1.1\\r\\nHost: " + words[2] + "\\r\\nConnection: close\\r\\n\\r\\n").getBytes());
            System.out.println(new String(made.getInputStream().readAllBytes()));
        }
    }
}
'''


@row('A-net-9', 'Java: HttpClient, HttpURLConnection and Socket, which read no proxy variables')
def java(case):
    world = three(case)
    needs(case, 'java', 'javac', 'keytool')
    case.write('Get.java', JAVA)
    store = os.path.join(case.work, 'trust.p12')
    for words in (['javac', '-J-XX:-UsePerfData', '-d', '.', 'Get.java'],
                  ['keytool', '-J-XX:-UsePerfData', '-importcert', '-noprompt', '-alias', 'ca', '-file',
                   case.env['TEST_CA'],
                   '-keystore', store, '-storetype', 'PKCS12', '-storepass', 'password']):
        done = case.plain(words)
        case.control(done.code == 0, f'{words[0]} does not work outside: {done.describe()}')
    start = ['java', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData', '-Xmx256m', f'-Djavax.net.ssl.trustStore={store}',
             '-Djavax.net.ssl.trustStorePassword=password', '-cp', '.', 'Get']
    for way, scheme in (('client', 'https'), ('connection', 'https'), ('socket', 'http')):
        program(case, world, lambda name: [*start, way, scheme, name], ways=WAYS[:1])
