"""A connection to a host under no rule waits for the caller's word: once, for this run, no, or none at all."""
import json
import os
import select
import textwrap
import time

from harness import Failure, row
from harness_world import PYTHON, World, filtered
from net_filtered import check_table

GOOD = 'registry.example.com'


class Asked:
    """A run with --ask-network. `answer(request)`: what to say of each, or None to keep silent."""

    def __init__(self, case, script, answer, options=(), timeout='60', argv=None):
        self.case, self.answer, self.requests, self.events = case, answer, [], []
        events, self.events_end = os.pipe()
        self.control_end, self.control = os.pipe()
        argv = argv or [PYTHON, '-B', '-c', 'from world_client import *\n' + textwrap.dedent(script)]
        options = [*filtered(GOOD), *options, '--ask-network', '--ask-timeout', timeout,
                   '--events-fd', str(self.events_end), '--control-fd', str(self.control_end)]
        self.process = case.popen(case.sandboxed(argv, options), pass_fds=[self.events_end, self.control_end])
        case.cleanups += [self.process.wait, self.process.kill]
        os.close(self.events_end)
        os.close(self.control_end)
        self.events_file = events

    def say(self, order):
        os.write(self.control, json.dumps(order).encode() + b'\n')

    def approve(self, ident, answer):
        self.say({'approve': {'id': ident, 'answer': answer}})

    def finish(self):
        """Answers until the run is over. What the script said."""
        rest, end = b'', time.monotonic() + 90
        while True:
            if not select.select([self.events_file], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure('the run with questions hangs\n' + self.case.finish(self.process, patience=1).describe())
            data = os.read(self.events_file, 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b'\n')
            for line in lines:
                self.take(json.loads(line))
        os.close(self.events_file)
        self.outcome = self.case.finish(self.process)
        os.close(self.control)
        return self.outcome

    def take(self, event):
        self.events.append(event)
        if event['event'] == 'networkRequest':
            self.requests.append(event)
            word = self.answer(event)
            if word:
                self.approve(event['id'], word)

    def hosts(self):
        return [(request['host'], request['port']) for request in self.requests]


def ask(case, world, script, answer, **keywords):
    asked = Asked(case, script, answer, **keywords)
    return world.said(asked.finish()), asked


THREE = '''
    for number in range(3):
        say(f'http {number}', http('denied.example.net'))
        say(f'connect {number}', connect_by('denied.example.net:80', plain_inside('denied.example.net')))
    say('allowed', http('registry.example.com'))
'''
TRIES = [f'{way} {number}' for way in ('http', 'connect') for number in range(3)]


@row('W-net-1', 'a host under no rule is asked for: once allows one connection, for this run all, and a no refuses')
def answers(case):
    world = World(case)
    _, _, other = world.sites()
    outside = world.ask("say('it', http('denied.example.net'))")
    case.control(outside['it'].startswith('200 '), f'outside: {outside}')
    host = ('denied.example.net', 80)
    said, asked = ask(case, world, THREE, lambda request: 'allow-once')
    check_table(case, said, [*TRIES, 'allowed'], ())
    case.same(asked.hosts(), [host] * 6, 'questions when each is allowed once')
    said, asked = ask(case, world, THREE, lambda request: 'allow-run')
    check_table(case, said, [*TRIES, 'allowed'], ())
    case.same(asked.hosts(), [host], 'questions when it is allowed for the run')
    other.forget()
    said, asked = ask(case, world, THREE, lambda request: 'deny')
    check_table(case, said, ['allowed'], TRIES, [other])
    case.same(asked.hosts(), [host] * 6, 'questions when each is refused')
    turns = iter(['deny', 'allow-once', 'deny', 'allow-run'])
    said, asked = ask(case, world, THREE, lambda request: next(turns))
    case.same([said[name].startswith('200 ')
               for name in ('http 0', 'connect 0', 'http 1', 'connect 1', 'http 2', 'connect 2')],
              [False, True, False, True, True, True], 'answers in turn')


@row('A-net-4',
     'a name that an answer allowed leads to no private address: the command chose it, and nobody saw where it leads')
def leads_inside(case):
    world = World(case)
    site = world.web('10.20.0.5')
    world.name('inside.example.net', '10.20.0.5')
    outside = world.ask("say('it', http('inside.example.net'))")
    case.control(outside['it'].startswith('200 '), f'outside: {outside}')
    script = '''
        say('http', http('inside.example.net'))
        say('connect', connect_by('inside.example.net:80', plain_inside('inside.example.net')))
        say('address', http('10.20.0.5'))
    '''
    for word in ('allow-once', 'allow-run'):
        site.forget()
        said, asked = ask(case, world, script, lambda request: word)
        check_table(case, said, ['address'], ['http', 'connect'])
        case.check(('10.20.0.5', 80) in asked.hosts(), f'the address itself is asked for: {asked.hosts()}')
        case.same(len(site.got), 1, 'requests that arrived')


@row('W-net-1',
     'no answer is a refusal when its time is over, and so is a word that is none, an unknown number, a late answer')
def silence(case):
    world = World(case)
    _, _, other = world.sites()
    script = '''
        say('first', http('denied.example.net'))
        say('allowed', http('registry.example.com'))
    '''
    for answer in (lambda request: None, lambda request: 'yes', lambda request: 'ALLOW-ONCE'):
        said, asked = ask(case, world, script, answer, timeout='0.5')
        check_table(case, said, ['allowed'], ['first'], [other])
        case.same(len(asked.requests), 1, 'questions')
    asked = Asked(case, script, lambda request: asked.approve(request['id'] + 1, 'allow-run'), timeout='0.5')
    for order in ({'approve': {'id': 0, 'answer': 'allow-run'}}, {'approve': {'id': 7777, 'answer': 'allow-run'}},
                  {'approve': {'id': -1, 'answer': 'allow-run'}}, {'approve': {'id': 'x'}}, {'approve': []},
                  {'approve': {'answer': 'deny'}}):
        asked.say(order)
    said = world.said(asked.finish())
    check_table(case, said, ['allowed'], ['first'], [other])


@row('W-net-1', 'while one waits, others for the same host and port join it; another port is a question of its own')
def joined(case):
    world = World(case)
    _, _, other = world.sites()
    world.serve('203.0.113.30', 7777)
    script = '''
        import world_client
        def work(number):
            if number % 3 == 2:
                return connect_by('denied.example.net:80', plain_inside('denied.example.net'))
            if number % 3 == 1:
                return http('denied.example.net', family=socket.AF_INET)
            return echoed('denied.example.net', 7777, 'ping,', socket.AF_INET)
        for number, answer in enumerate(together(30, work)):
            say(str(number), answer)
    '''
    waiting = []

    def later(request):
        # The first is answered when the other is there too, and the rest had time to join.
        waiting.append(request)
        if len({one['port'] for one in waiting}) == 2:
            case.pause(0.5)
            for one in waiting:
                asked.approve(one['id'], 'allow-once')
            waiting.clear()
    asked = Asked(case, script, later)
    said = world.said(asked.finish())
    check_table(case, said, [str(number) for number in range(30)], ())
    case.check({port for _, port in asked.hosts()} == {80, 7777} and len(asked.requests) <= 10,
               f'questions: {asked.hosts()}')
    case.check(len(other.got) == 20, f'requests that came: {len(other.got)}')


@row('W-net-1',
     'a rule stands above an answer: denied names, loopback and what a name leads to are not asked for or not given')
def above(case):
    world = World(case)
    world.sites()
    world.name('back.example.net', '127.0.0.1')
    local = world.web('127.0.0.1', https=None, where='host')
    metadata = world.web('169.254.169.254', https=None)
    script = '''
        for name in ('evil.example.com', 'back.example.net', '127.0.0.1', 'localhost', '169.254.169.254', '192.0.2.1'):
            say(name, connect_by(name + ':80', plain_inside(name)))
        say('plain back', http('back.example.net'))
        say('plain metadata', http('169.254.169.254'))
        say('fronted', http('registry.example.com', name='denied.example.net'))
    '''
    said, asked = ask(case, world, script, lambda request: 'allow-run', options=['--deny-domain', 'evil.example.com'])
    check_table(case, said, (), said, [local, metadata])
    case.check({host for host, _ in asked.hosts()} <= {'back.example.net'}, f'questions: {asked.hosts()}')


@row('A-sys-6', 'a thousand hosts that wait at once: questions are bounded, others are served, and the run ends')
def many(case):
    world = World(case)
    world.sites()
    world.name('*.evil.test', '203.0.113.30')
    script = '''
        made = []
        for number in range(1000):
            try:
                one = socket.create_connection(proxy_address(), PATIENCE)
            except OSError:
                break
            one.sendall(f'CONNECT n{number}.evil.test:80 HTTP/1.1\\r\\nHost: n{number}.evil.test:80\\r\\n\\r\\n'.encode())
            made.append(one)
        say('made', str(len(made)))
        say('allowed', http('registry.example.com'))
        say('refused', str(sum(b' 403 ' in one.recv(20, socket.MSG_DONTWAIT) for one in made[900:])))
    '''
    said, asked = ask(case, world, script, lambda request: None)
    case.same((said['made'], said['allowed'][:4]), ('1000', '200 '), 'while they wait')
    case.check(0 < len(asked.requests) <= 512, f'{len(asked.requests)} questions')
    case.check(int(said['refused']) > 0, 'beyond the bound connections are refused')
    case.same(len({request['id'] for request in asked.requests}), len(asked.requests), 'numbers of questions')


@row('W-net-1', 'asking needs the two channels; without --ask-network nobody is asked; the run ends while one waits')
def channels(case):
    world = World(case)
    world.sites()
    inside = case.inside(['true'], [*filtered(GOOD), '--ask-network'])
    case.check(inside.code == 125 and '--events-fd' in inside.err, 'asking without channels', inside)
    asked = Asked(case, '', lambda request: os.kill(asked.process.pid, 15),
                  argv=['curl', '-s', 'http://denied.example.net/'])
    outcome = asked.finish()
    case.check(not outcome.hung and outcome.code != 0, 'a run that is ended while it waits', outcome)
    case.check(len(asked.requests) == 1, f'questions: {asked.requests}')
