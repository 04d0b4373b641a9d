"""What is told of a filtered network: the log and events of connections, denials and sums."""
import json
import os
import re

from harness import row
from harness_world import World, filtered, needs

GOOD, BAD = 'registry.example.com', 'denied.example.net'
ALLOW = filtered(GOOD, '*.example.org')


def lines_of(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def told(case, argv, options, patience=60):
    """Runs with a log, events and a result: (the result, the log's lines, the events)."""
    log, events, result = (os.path.join(case.base, name) for name in ('log', 'events', 'result'))
    for path in (log, events, result):
        if os.path.exists(path):
            os.unlink(path)
    with open(events, 'wb') as events_file, open(result, 'wb') as result_file:
        fds = events_file.fileno(), result_file.fileno()
        argv = case.sandboxed(argv, [*options, '--network-log', log, '--events-fd', str(fds[0]), '--result-fd',
                                     str(fds[1])])
        outcome = case.finish(case.popen(argv, pass_fds=fds), patience=patience)
    case.check(outcome.code == 0, 'the run', outcome)
    return lines_of(result)[0], lines_of(log), lines_of(events)


def client(text):
    return ['/usr/bin/python3', '-B', '-c', 'from world_client import *\n' + text]


@row('W-net-2',
     'the log has a line for each connection: name, address, port, way, exact bytes both ways, verdict and rule')
def log(case):
    world = World(case)
    world.sites()
    world.name(GOOD, '203.0.113.10')
    world.name('www.example.org', '203.0.113.20')
    world.serve('203.0.113.10', 7777)
    big = 3_000_000
    text = f'''
from world_client import raw_inside
assert len(echoed("{GOOD}", 7777, "a," * 500)) == 1003
assert len(connect_by("{GOOD}:7777", raw_inside(b"b," * 600))) == 1203
assert len(socks5("{GOOD}", 7777, raw_inside(b"c," * 700))) == 1403
assert len(echoed("{GOOD}", 7777, "d," * {big // 2}, )) > 1000000
lookup("{BAD}")
echoed("203.0.113.30", 7777)
connect_by("{BAD}:443", raw_inside(b""))
socks5("{BAD}", 22)
http("{GOOD}", path="/page")
connect_by("{GOOD}:7778", raw_inside(b""))
connect_by("www.example.org:81", raw_inside(b""))
http("www.example.org", name="{BAD}")
'''
    result, lines, events = told(case, client(text), ALLOW)
    connections = [event for event in events if event['event'] == 'connection']
    lookups = [line for line in lines if line['way'] == 'dns']
    others = [line for line in lines if line['way'] != 'dns']
    case.same({(line['host'], line['verdict']) for line in lookups}, {(BAD, 'denied')}, 'lookups in the log')
    short = [(line['way'], line['host'], line['port'], line['address'], line['verdict'], line['sent'], line['received'])
             for line in others]
    site = (GOOD, 7777, '203.0.113.10', 'allowed')
    exact = [('direct', *site, 1000, 1000), ('connect', *site, 1200, 1200), ('socks', *site, 1400, 1400),
             ('direct', *site, big, big),
             ('direct', '203.0.113.30', 7777, None, 'denied', 0, 0), ('connect', BAD, 443, None, 'denied', 0, 0),
             ('socks', BAD, 22, None, 'denied', 0, 0)]
    case.same([line for line in short if line in exact], exact, f'lines with exact numbers, of {short}')
    rest = [line for line in short if line not in exact]
    case.same([(*line[:3], line[4]) for line in rest], [
        ('http', GOOD, 80, 'allowed'), ('connect', GOOD, 7778, 'failed'), ('connect', 'www.example.org', 81, 'failed'),
        ('http', 'www.example.org', 80, 'denied')], 'the other lines')
    for line in lines:
        case.check(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', line['time']) and line['durationMs'] >= 0,
                   f'time: {line}')
        rule = '/network/allowedDomains' if line['verdict'] != 'denied' or line['host'] in (BAD, '203.0.113.30') else ''
        case.check(line['rule'].startswith(rule) or line['reason'], f'rule: {line}')
    case.same([{key: event[key] for key in event if key not in ('event', 'allowed', 'failed')}
               for event in connections],
              [{key: line[key] for key in line if key != 'verdict'} for line in others], 'events as in the log')
    net = result['sandbox']['network']
    case.same((net['connections'], net['denied'], net['failed'], net['sent'], net['received']),
              (len(others), sum(line['verdict'] == 'denied' for line in others),
               sum(line['verdict'] == 'failed' for line in others),
               sum(line['sent'] for line in others), sum(line['received'] for line in others)), 'sums in the result')


@row('W-net-2',
     'denials in the result name the kind, target, rule and the option that would allow it, each once with its count')
def denials(case):
    world = World(case)
    world.sites()
    text = f'''
for _ in range(5):
    lookup("{BAD}")
    connect_by("{BAD}:443", raw_inside(b""))
echoed("2001:db8::30", 7777)
http("203.0.113.30")
connect_by("a.b.example.org:80", raw_inside(b""))
connect_by("127.0.0.1:8111", raw_inside(b""))
'''
    answer = case.result(client(text), filtered(GOOD, '*.example.org', deny=['*.b.example.org']))
    found = {(one['operation'], one['target']): one for one in answer['denials'] if one['kind'] == 'network'}
    wanted = {('lookup', BAD): ('/network/allowedDomains: no entry means it', f'--allow-domain {BAD}'),
              ('connect', f'{BAD}:443'): ('/network/allowedDomains: no entry means it', f'--allow-domain {BAD}'),
              ('connect', '[2001:db8::30]:7777'): ('/network/allowedDomains: no entry means it',
                                                   '--allow-domain 2001:db8::30'),
              ('connect', '203.0.113.30:80'): ('/network/allowedDomains: no entry means it',
                                               '--allow-domain 203.0.113.30'),
              ('connect', 'a.b.example.org:80'): ('/network/deniedDomains: *.b.example.org',
                                                  'take *.b.example.org out of /network/deniedDomains'),
              ('connect', '127.0.0.1:8111'): ('built-in: loopback address', '--reach 8111')}
    case.same({key: (one['rule'], one['suggestion']) for key, one in found.items()}, wanted, 'the denials',
              answer['outcome'])
    unknown = [key for key, one in found.items()
               if key[0] == 'connect' and (one['process'], bool(one['pid'])) != ('python3', True)]
    case.same(unknown, [], 'whose they were', answer['outcome'])
    case.check(found['connect', f'{BAD}:443']['count'] == 5, f'the count: {found["connect", f"{BAD}:443"]}')
    case.same((answer['sandbox']['network']['mode'], answer['sandbox']['network']['denied'],
               answer['sandbox']['brokerLost']), ('filtered', 9, False), 'sums')


@row('W-net-2',
     'without --json a refusal is told on stderr, with its rule, and the command\'s exit status stays its own')
def on_stderr(case):
    World(case).sites()
    needs(case, 'curl')
    inside = case.inside(['curl', '-sf', f'https://{BAD}/'], ALLOW)
    case.same(inside.code, 22, 'curl\'s own exit code', inside)
    case.check(BAD in inside.err and '/network/allowedDomains' in inside.err, 'what is told', inside)


@row('W-net-2',
     'the log is added to, its file may be a pipe, and one that cannot be opened is an error before anything runs')
def log_file(case):
    world = World(case)
    world.sites()
    path = os.path.join(case.base, 'log')
    for _ in range(2):
        case.worked(case.inside(client(f'http("{GOOD}")'), [*ALLOW, '--network-log', path]), 'a run')
    case.same([line['host'] for line in lines_of(path)], [GOOD, GOOD], 'hosts in the log')
    mode = os.stat(path).st_mode & 0o777
    case.check(mode & 0o077 in (0, 0o044), f'who may read the log: {mode:o}')
    for bad in (os.path.join(case.base, 'missing', 'log'), case.base):
        inside = case.inside(['touch', 'ran'], [*ALLOW, '--network-log', bad])
        case.check(inside.code == 125 and bad in inside.err, f'a log at {bad}', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'ran')), 'the command did run')
    pipe = os.path.join(case.base, 'pipe')
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    case.cleanups.append(lambda: os.close(reader))
    case.worked(case.inside(client(f'http("{GOOD}")'), [*ALLOW, '--network-log', pipe]), 'a run')
    case.check(b'"host":"registry.example.com"' in os.read(reader, 65536).replace(b': ', b':'), 'the line in the pipe')


@row('A-sys-6',
     'a flood of refused connections and lookups is bounded, what is left out is counted, and verdicts stay right')
def flood(case):
    world = World(case)
    _, _, other = world.sites()
    text = f'''
for number in range(3000):
    dns_udp("203.0.113.53", dns_message(f"n{{number}}.{BAD}"))
def work(number):
    for turn in range(60):
        connect_by(f"m{{number}}-{{turn}}.{BAD}:443", raw_inside(b""))
together(50, work)
assert http("{GOOD}").startswith("200 "), http("{GOOD}")
assert not http("203.0.113.30").startswith("200 ")
'''
    result, lines, events = told(case, client(text), ALLOW, patience=120)
    case.same((other.got, world.resolver.names() - {GOOD}), ([], set()), 'what got through')
    left_out = sum(line.get('leftOut', 0) for line in lines)
    case.check(len(lines) + left_out >= 6002, f'{len(lines)} lines and {left_out} left out')
    case.check(len(result['denials']) <= 1000 and len(result['denials']) + result['denialsLeftOut'] >= 1000,
               'denials are bounded')
    case.same(result['sandbox']['network']['denied'], 3001, f'refused connections: {result["sandbox"]}')
    events_left_out = sum(event.get('eventsLeftOut', 0) for event in events)
    case.check(len(events) + events_left_out >= 3002, f'{len(events)} events, {events_left_out} left out')


@row('A-sys-6', 'hostile names appear in the log, the events and on stderr as one line of plain text')
def hostile_names(case):
    World(case)
    text = r'''
for name in (b"x\n{\"host\":\"forged\"}", b"x\x1b[2J", b"\xff\xfe", b"a" * 255, b"x\r\nforged", "r\u0435gistry".encode(), b"$(reboot)"):
    socks5(name, 80)
    dns_udp("203.0.113.53", dns_message([name[:60], b"net"]))
    by_proxy(b"CONNECT " + name + b":80 HTTP/1.1\r\nHost: x\r\n\r\n")
    by_proxy(b"GET http://" + name + b"/ HTTP/1.1\r\nHost: " + name + b"\r\n\r\n")
'''
    _, lines, events = told(case, client(text), ALLOW)
    for line in (*lines, *events):
        case.check(line.get('host') != 'forged', f'a forged line: {line}')
        if 'host' in line:
            case.check(line['host'].isascii() and line['host'].isprintable(), f'a host in the log: {line}')
    inside = case.inside(client(text), ALLOW)
    case.check('\x1b' not in inside.err and '\nforged' not in inside.err and '\n{"host"' not in inside.err,
               'on stderr', inside)
