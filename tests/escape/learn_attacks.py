"""run --learn opens what the policy refuses, and never what nobody may open: each route there, while learning."""
import json
import os
import socket

from harness import row
from harness_world import HOST, World

SECRETS = {'.ssh/id_ed25519': 'key', '.aws/credentials': 'key', '.netrc': 'key', '.config/gh/hosts.yml': 'key'}


def learn(case, text, options=(), name='learned.json'):
    """Runs shell text while learning: the outcome, and the policy that was written (None = none)."""
    path = os.path.join(case.outside, name)
    outcome = case.inside(['sh', '-c', text], ['--learn', path, *options])
    policy = None
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            policy = json.load(file)
    return outcome, policy


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def write_access(policy):
    return policy.get('filesystem', {}).get('allowWrite', ['.'])


@row('A-learn-1', 'learning reads no secret, whatever may be read otherwise')
def secrets(case):
    for name in SECRETS:
        case.write(os.path.join(case.home, name), 'the secret text', 0o600)
    case.write(os.path.join(case.home, 'plain/file'), 'the plain text')
    text = ('cd; for f in .ssh/id_ed25519 .aws/credentials .netrc .config/gh/hosts.yml; do cat "$f"; cp "$f" ~/copy; '
            'ln "$f" ~/hard; ln -s "$f" ~/soft; cat ~/soft; mv "$f" ~/moved; cat ~/copy ~/hard ~/moved; '
            'mv .ssh ~/other; cat ~/other/*; done; cat plain/file; true')
    for preset in ('workspace', 'locked-down'):
        outcome, policy = learn(case, text, ['--preset', preset], f'{preset}.json')
        case.check('the plain text' in outcome.out, 'what is no secret can be read', outcome)
        case.check('the secret text' not in outcome.out + outcome.err, 'a secret was read', outcome)
        for name in SECRETS:
            case.same(read(os.path.join(case.home, name)), 'the secret text', f'{name} stays as it is')
            entries = json.dumps(policy['filesystem']) if 'filesystem' in policy else ''
            case.check(os.path.dirname(name) not in entries or os.path.dirname(name) == '', f'{name} is in an entry: {entries}')
    control = case.plain(['sh', '-c', text])
    case.control('the secret text' in control.out, 'the same reads work outside')


@row('A-learn-2', 'learning makes, changes and replaces no protected name, at any depth, there or not')
def protected(case):
    for name in ('.bashrc', 'repo/.git/config', 'repo/.git/hooks/pre-commit', 'repo/.git/HEAD', 'repo/.git/objects/x',
                 'repo/.git/refs/x', 'repo/.vscode/tasks.json'):
        case.write(os.path.join(case.home, name), 'as it was')
    text = ('cd; mkdir -p new/deep/.vscode new/.husky prepared/.vscode x; '
            'for f in .bashrc .profile .bash_profile .zshrc repo/.git/config repo/.git/hooks/pre-commit repo/.vscode/tasks.json '
            'new/deep/.vscode/tasks.json new/.envrc new/.mcp.json work/.envrc; do echo evil >"$f"; echo evil >x/tmp; '
            'mv x/tmp "$f"; echo evil >x/tmp; ln x/tmp "$f"; ln -sf ~/x/tmp "$f"; done; '
            'echo evil >prepared/hooks; mv prepared repo2; echo fine >new/fine; true')
    outcome, policy = learn(case, text)
    for folder, _, files in os.walk(case.home):
        for name in files:
            path = os.path.join(folder, name)
            below = os.path.relpath(path, case.home)
            if name in ('.bashrc', 'config', 'pre-commit', 'tasks.json', '.profile', '.bash_profile', '.zshrc', '.envrc', '.mcp.json'):
                case.check('evil' not in read(path), f'{below} was written', outcome)
                case.check(below in ('.bashrc',) or below.startswith('repo/'), f'{below} was made', outcome)
    case.same(read(os.path.join(case.home, 'new/fine')), 'fine\n', 'other names beside them are made')
    case.check('evil' not in read(os.path.join(case.home, '.bashrc')), '.bashrc', outcome)
    case.check(not {'~', '~/.bashrc', '~/repo', '~/repo/.git/hooks', '~/repo/.git/config'} & set(write_access(policy)), f'entries: {write_access(policy)}')
    case.check(any('not allowed by learning' in remark and '.bashrc' in remark for remark in policy['$comment']),
               f'the refusal is told: {policy["$comment"]}')
    control = case.plain(['sh', '-c', 'cd; echo evil >.zshrc; cat .zshrc'])
    case.control(control.out == 'evil\n', 'the write works outside')


@row('A-learn-3', 'learning leaves our own files alone: policies, the program, and the file that it will write')
def own_files(case):
    path = os.path.join(case.outside, 'l.json')
    given = os.path.join(case.outside, 'given.json')
    case.write(given, '{"$comment": "given"}')
    text = (f'mkdir -p ~/.config/qiming-sandbox; echo "{{}}" >~/.config/qiming-sandbox/policy.json; '
            f'mkdir -p ~/new/qiming-sandbox; echo "{{}}" >~/new/qiming-sandbox/policy.json; mv ~/new ~/.config; '
            f'echo "{{}}" >.qiming-sandbox.json; echo x >{given}; mv {given} {given}.moved; echo x >>{case.program}; '
            f'echo x >{path}; echo x >x; mv x {path}; ln -s /etc/passwd {path}; ln x {path}; mkdir {path}; '
            f'mv {case.outside} {case.outside}.moved; mkdir -p {case.outside}; echo x >{path}; echo done >{case.home}/done')
    before = os.stat(case.program)
    outcome = case.inside(['sh', '-c', text], ['--policy', given, '--learn', path])
    case.check('learned:' in outcome.err, 'a policy is written all the same', outcome)
    case.same(read(os.path.join(case.home, 'done')), 'done\n', 'other writes work')
    for own in ('.config/qiming-sandbox', 'work/.qiming-sandbox.json'):
        own = os.path.join(case.home, own)
        case.check(not os.path.exists(own) or os.listdir(own) == [], f'{own} was made', outcome)
    case.same((os.stat(case.program).st_mtime_ns, os.stat(case.program).st_size), (before.st_mtime_ns, before.st_size),
              'the program stays as it was')
    case.same(read(given), '{"$comment": "given"}', 'the policy in force stays as it was')
    status = os.lstat(path)
    case.same(status.st_mode & 0o177777, 0o100600, 'the file is a plain one of this user alone')
    case.check('given' in json.loads(read(path))['$comment'], 'it holds what the given policy holds')
    case.control(case.plain(['sh', '-c', f'echo y >>{given}; cat {given}']).out.endswith('y\n'), 'the write works outside')


@row('A-learn-4', 'what is there already is never replaced by what was learned, nor led elsewhere by a link')
def no_replacing(case):
    target = case.write(os.path.join(case.outside, 'precious'), 'precious')
    os.symlink(target, os.path.join(case.outside, 'link'))
    os.symlink(os.path.join(case.outside, 'nowhere'), os.path.join(case.outside, 'dangling'))
    for name in ('precious', 'link', 'dangling', '.', 'missing/file', ''):
        outcome = case.inside(['touch', 'ran'], ['--learn', os.path.join(case.outside, name)])
        case.same(outcome.code, 125, f'--learn {name}', outcome)
        case.check(not os.path.exists(os.path.join(case.work, 'ran')), f'{name}: the command must not run')
    case.same(read(target), 'precious', 'the file stays as it was')
    case.check(not os.path.exists(os.path.join(case.outside, 'nowhere')), 'nothing is made behind a link')
    outcome = case.inside(['touch', 'ran'], ['--learn', os.path.join(case.outside, 'free')])
    case.same(outcome.code, 0, 'a name that is free', outcome)


@row('A-learn-5', 'what the policy denies stays denied while learning, and no socket of the host is opened')
def denials_stay(case):
    case.write(os.path.join(case.home, 'kept/file'), 'kept text')
    case.write(os.path.join(case.home, 'shut/file'), 'shut text')
    place = os.path.join(case.home, 'host.sock')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        client = ('import socket; s = socket.socket(socket.AF_UNIX); s.connect("%s"); print("connected")' % place)
        case.control(case.plain(['python3', '-c', client]).out == 'connected\n', 'the socket works outside')
        outcome, policy = learn(case, f'cd; echo x >kept/file; echo x >kept/new; mv kept moved; cat shut/file; echo x >other; '
                                      f'python3 -c \'{client}\'; true',
                                ['--deny-write', '~/kept', '--deny-read', '~/shut'])
    case.check('connected' not in outcome.out, 'a socket of the host was reached', outcome)
    case.check('shut text' not in outcome.out, 'what may not be read was read', outcome)
    case.same((read(os.path.join(case.home, 'kept/file')), os.listdir(os.path.join(case.home, 'kept'))), ('kept text', ['file']),
              'what may not be written stays as it was')
    case.same(read(os.path.join(case.home, 'other')), 'x\n', 'other files are written')
    case.same(policy['filesystem']['denyWrite'], ['~/kept'], 'the denial is kept in what was learned')
    case.check('~/shut' in policy['filesystem']['denyRead'], 'the denial of reading is kept', outcome)
    case.check('unixSockets' not in policy.get('network', {}), f'no socket is learned: {policy}')
    case.check(any('host.sock' in remark for remark in policy['$comment']), f'the socket is told: {policy["$comment"]}')


@row('A-learn-6', 'while learning the host itself, private and metadata addresses and denied names stay out of reach')
def addresses(case):
    world = World(case)
    own = world.web(HOST, where='host')
    good, bad = world.web('203.0.113.10'), world.web('203.0.113.30')
    world.name('good.example.com', '203.0.113.10')
    world.name('bad.example.com', '203.0.113.30')
    world.name('inward.example.com', '127.0.0.1', HOST, '169.254.169.254', '10.0.0.8')
    asked = ['http://bad.example.com/', f'http://{HOST}/', 'http://127.0.0.1/', 'http://169.254.169.254/',
             'http://inward.example.com/', 'http://10.0.0.8/']
    case.control(case.plain(['curl', '-s', '-m', '5', 'http://bad.example.com/']).code == 0, 'the denied name works outside')
    for server in (own, good, bad):
        server.got.clear()
    text = 'curl -sf -m 10 http://good.example.com/ >/dev/null && echo good; ' + \
           '; '.join(f'curl -sf -m 5 {url} >/dev/null && echo "reached {url}"' for url in asked) + '; true'
    outcome, policy = learn(case, text, ['--deny-domain', 'bad.example.com'])
    case.same(outcome.out, 'good\n', 'only the name that nobody denies is reached', outcome)
    case.same((own.got, bad.got), ([], []), 'what the others got')
    case.same(policy['network']['allowedDomains'], ['good.example.com'], 'only that one is learned')
    case.same(policy['network']['deniedDomains'], ['bad.example.com'], 'the denial is kept')


@row('A-learn-8', 'a path that a command turns into a link to a secret at its end opens nothing when the policy is used')
def swapped(case):
    secret = case.write(os.path.join(case.home, '.ssh/id_ed25519'), 'the secret text', 0o600)
    keys = case.write(os.path.join(case.home, '.ssh/authorized_keys'), 'keys')
    ends = {
        'a folder': ('mkdir ~/x; for i in id_ed25519 authorized_keys 3 4 5; do echo a >~/x/$i; cat ~/x/$i; done', 'rm -r ~/x; ln -s ~/.ssh ~/x'),
        'a file': ('mkdir ~/x; echo a >~/x/id_ed25519; echo a >~/x/authorized_keys; cat ~/x/*', 'mv ~/x ~/y; ln -s .ssh ~/x'),
        'a link': ('mkdir ~/y; ln -s y ~/x; echo a >~/x/id_ed25519; echo a >~/x/authorized_keys; cat ~/x/*', 'ln -sfn .ssh ~/x'),
        'a file itself': ('echo a >~/x; cat ~/x', 'rm ~/x; ln -s .ssh/id_ed25519 ~/x'),
        'a cache': ('mkdir -p ~/.cache/x; echo a >~/.cache/x/id_ed25519; cat ~/.cache/x/*', 'rm -r ~/.cache/x; ln -s ~/.ssh ~/.cache/x'),
        'the folder above': ('mkdir -p ~/x/.ssh; echo a >~/x/.ssh/id_ed25519; cat ~/x/.ssh/*', 'rm -r ~/x; ln -s ~ ~/x'),
    }
    after = ('cat ~/x ~/x/* ~/.cache/x/* ~/x/.ssh/* ~/.ssh/* ~/y/*; for f in ~/x ~/x/id_ed25519 ~/x/authorized_keys ~/.cache/x/id_ed25519 '
             '~/x/.ssh/id_ed25519 ~/.ssh/authorized_keys; do echo evil >>$f; done; true')
    for preset in ('workspace', 'locked-down'):
        for number, (name, (text, end)) in enumerate(ends.items()):
            outcome, policy = learn(case, f'{text}; {end}; true', ['--preset', preset], f'{preset}{number}.json')
            case.check('a' in outcome.out.split(), f'{name}: the work is done', outcome)
            later = case.inside(['sh', '-c', after], ['--policy', os.path.join(case.outside, f'{preset}{number}.json')])
            case.check('the secret text' not in later.out, f'{preset}, {name}: a secret was read with {policy}', later)
            case.same((read(secret), read(keys)), ('the secret text', 'keys'), f'{preset}, {name}: a secret was written with {policy}')
            case.plain(['sh', '-c', 'rm -rf ~/x ~/y ~/.cache'])
    os.symlink('.ssh', os.path.join(case.home, 'x'))
    case.control('the secret text' in case.plain(['sh', '-c', 'cat ~/x/id_ed25519']).out, 'the link leads to the secret outside')


@row('A-learn-7', 'the machine\'s managed policy bounds what is opened while learning', only='root')
def managed(case):
    if os.path.exists('/etc/qiming-sandbox'):
        case.control(False, 'this machine has a managed policy: it is left alone')
    setup = (f'd="{case.base}/layer"; rm -rf "$d"; mkdir -p "$d"; mount -t tmpfs none "$d"; mkdir "$d/u" "$d/w"; mount -t overlay -o '
             f'lowerdir=/etc,upperdir="$d/u",workdir="$d/w" overlay /etc; mkdir -p /etc/qiming-sandbox; '
             f'printf %s "$1" >/etc/qiming-sandbox/policy.json; shift')
    attempt = ['sh', '-c', 'echo x >~/made; true']
    for number, (content, runs, writes) in enumerate((
            ('{"limits":{"timeout":50}}', True, True),
            ('{"filesystem":{"allowWrite":["."]}}', False, False),
            ('{"filesystem":{"allowRead":["@system","."]}}', False, False),
            ('{"extends":"workspace"}', False, False),
            ('{"filesystem":{"denyWrite":["~/made"]}}', True, False),
            ('{"network":{"mode":"off"}}', True, True))):
        path = os.path.join(case.outside, f'{number}.json')
        outcome = case.plain(['unshare', '--mount', 'sh', '-ec', setup + '\nexec "$@"', 'sh', content,
                              *case.sandboxed(attempt, ['--learn', path])])
        case.same(outcome.code, 0 if runs else 125, content, outcome)
        made = os.path.join(case.home, 'made')
        case.same(os.path.exists(made), writes, f'{content}: the file', outcome)
        case.same(os.path.exists(path), runs, f'{content}: the learned policy', outcome)
        if 'off' in content:
            case.check('network' not in json.loads(read(path)), 'the network stays off')
        if os.path.exists(made):
            os.unlink(made)
