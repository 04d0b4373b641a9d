"""Rules by name that hold for names made later: every route to such a name, races, and what must go on working."""
import json
import os
import shutil

from fs_tree import Tree
from harness import row

RULES = ['--deny-write', '**/*.key', '--deny-write', 'hold/secret', '--deny-write', 'gone/secret',
         '--deny-write', '**/.conf/rc']
FENCED = 16  # matches that get a mount of their own: the ones here are found first


def prepare(case):
    """The folder that attack_guard.c counts on; what it attacks has no mount of its own."""
    for name in os.listdir(case.work):
        path = os.path.join(case.work, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif name != 'escape-attack':
            os.unlink(path)
    for number in range(FENCED):
        case.write(f'fenced{number}.key', 'fenced')
    for name in ('deep/old.key', 'deep/dir.key/f', 'prep/secret', 'conf/rc', 'plain'):
        case.write(name, 'as it was')
    for name in ('hold', 'sub'):
        os.mkdir(os.path.join(case.work, name))


def is_denied(path):
    parts = path.split('/')
    return (any(part.endswith('.key') for part in parts) or path.startswith(('hold/secret', 'gone/secret')) or
            any(parts[i:i + 2] == ['.conf', 'rc'] for i in range(len(parts))))


def denied_names(case):
    """What the rules speak of, as it is on the host: also by way of a link that stands in for a folder."""
    seen = {}
    walks = [os.walk(case.work)]
    walks += [os.walk(os.path.join(case.work, name), followlinks=True) for name in ('gone', 'sub/.conf')]
    for folder, folders, files in (found for walk in walks for found in walk):
        for name in folders + files:
            path = os.path.join(folder, name)
            if is_denied(os.path.relpath(path, case.work)):
                status = os.lstat(path)
                data = open(path, 'rb').read() if os.path.isfile(path) else b''
                seen[path] = (status.st_ino, status.st_mode, status.st_nlink, status.st_mtime_ns, data,
                              tuple(os.listxattr(path)))
    return seen


@row('A-guard-1', 'no route leads to a name that a live rule denies')
def routes(case):
    names = case.plain([case.attack, 'guard']).out.split()
    case.check(len(names) > 50, 'the attack tool must know its routes')
    live, failed = 0, []
    for name in names:
        prepare(case)
        outside = case.plain([case.attack, 'guard', name], env={**case.env, 'QSB_CONTROL': '1'})
        live += outside.code == 0
        prepare(case)
        before = denied_names(case)
        inside = case.inside([case.attack, 'guard', name], RULES)
        if outside.code == 0 and inside.code == 0:
            failed.append(f'{name} worked: {inside.describe()}')
        if inside.code not in (1, 2) or (inside.code == 2 and outside.code != 2 and 'EACCES' not in inside.out and
                                         'denied' not in inside.out):
            failed.append(f'{name} gave no verdict: {inside.describe()}')
        if denied_names(case) != before:
            failed.append(f'{name} changed a denied name')
    case.check(not failed, '\n'.join(failed))
    case.control(live > len(names) - 6, f'only {live} of {len(names)} routes work outside')


@row('A-guard-3', 'a file that may not be read is not read under its name, by a link or a descriptor, also when made later')
def reading(case):
    script = case.script('try.sh', '''
        for path in deep/late.key ./deep/../deep/late.key "$PWD/deep/late.key" /proc/self/cwd/deep/late.key link; do
            cat "$path" && echo "read $path"
        done
        ln deep/late.key alias && cat alias
        mv deep/late.key moved && cat moved
        mv deep other && cat other/late.key
        exec 5< deep/late.key && cat <&5
        cp -a deep/late.key copy; cat copy
        python3 -c 'import os; fd = os.open("deep/late.key", os.O_PATH); print(open("/proc/self/fd/%d" % fd).read())'
        getfattr --only-values -n user.note deep/late.key
        true
    ''')
    case.write('deep/late.key', 'the-secret')
    os.symlink('deep/late.key', os.path.join(case.work, 'link'))
    for number in range(FENCED):
        case.write(f'fenced{number}.key', 'fenced')
    outside = case.plain(['sh', script])
    case.control('the-secret' in outside.out, 'it can be read outside')
    for name in ('moved', 'alias', 'copy', 'other', 'deep'):
        path = os.path.join(case.work, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.path.lexists(path) and os.unlink(path)
    case.write('deep/late.key', 'the-secret')
    try:
        os.setxattr(os.path.join(case.work, 'deep/late.key'), 'user.note', b'the-secret')
    except OSError:
        pass
    inside = case.inside(['sh', script], ['--deny-read', '**/*.key'])
    case.check('the-secret' not in inside.out + inside.err, 'the secret was read', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'copy')) or
               not os.path.getsize(os.path.join(case.work, 'copy')), 'the secret was copied', inside)


@row('A-guard-3', 'two rules meet: a file kept from writing by one is kept from reading by the other, found at the start or not')
def two_rules(case):
    for number in range(2 * FENCED):
        case.write(f'a{number}.txt', 'a')
    case.write('deep/b.key', 'the-secret')
    for number in range(FENCED):
        case.write(f'fenced{number}.key', 'fenced')
    options = ['--deny-read', '**/*.key', '--deny-write', 'deep/b.*']
    inside = case.inside(['cat', 'deep/b.key'], options)
    case.control('the-secret' in case.plain(['cat', 'deep/b.key']).out, 'it can be read outside')
    case.check('the-secret' not in inside.out, 'the secret was read', inside)


@row('A-guard-4', 'what the guard does for a command is not more than the command may')
def not_more(case):
    case.write('old.key', 'old')
    outside = os.path.join(case.outside, 'file')
    case.write(outside, 'host')
    fifo = os.path.join(case.outside, 'fifo')
    os.mkfifo(fifo)
    attempts = {
        'a FIFO in a folder of the host': 'mkfifo ff',
        'a FIFO of the host': f'python3 -c "import os; os.open(\'{fifo}\', os.O_RDWR)"',
        'a file outside': f'echo x > {outside}',
        'a new file outside': f'echo x > {case.outside}/new',
        'a setuid file': 'cp plain suid && chmod u+s suid',
        'the input opened again for writing': 'echo x > /dev/stdin',
        'a trusted attribute in the sandbox\'s own folder':
            'python3 -c "import os; open(\'/tmp/x\', \'w\'); os.setxattr(\'/tmp/x\', \'security.capability\', b\'x\' * 20)"',
        'the first process\'s memory': 'cat /proc/1/environ',
        'the first process\'s map': 'cat /proc/1/maps',
        'a kernel setting': 'echo 1 > /proc/sys/net/ipv4/ip_forward',
        'an id map': 'echo 0 0 1 > /proc/self/uid_map',
        'a folder in a read-only mount': 'mkdir /usr/new',
    }
    case.write('plain', 'plain')
    for option in ('--deny-write', '--deny-read'):
        for what, attempt in attempts.items():
            with open(outside, 'rb') as file:
                inside = case.inside(['sh', '-c', f'{attempt} && echo DONE'], [option, '**/*.key'], stdin=file)
            case.check('DONE' not in inside.out, f'{what} ({option})', inside)
    case.same(open(outside).read(), 'host', 'the file outside')
    case.check(not os.path.exists(os.path.join(case.work, 'ff')), 'no FIFO on the host')
    works = case.inside(['sh', '-c', 'mkfifo /tmp/ff && echo x > /dev/null && echo y > plain && cat plain'],
                        ['--deny-write', '**/*.key'])
    case.same(works.out, 'y\n', 'honest work', works)


@row('A-guard-5', 'mount points inside cannot be removed or renamed by the guard either')
def mount_points(case):
    for name in ('kept/file', 'kept/folder/x'):
        case.write(name, 'kept')
    tree = Tree(os.path.join(case.work, 'kept'))
    options = ['--deny-write', 'kept/file', '--deny-write', 'kept/folder', '--deny-write', '**/*.key']
    for attempt in ('rm -f kept/file', 'rm -rf kept', 'mv kept/file kept/other', 'mv kept other', 'echo x > new && mv new kept/file',
                    'mv kept/folder kept/renamed', 'echo x > kept/file', 'python3 -c "import os; os.rmdir(\'kept/folder\')"'):
        case.inside(['sh', '-c', attempt], options)
        case.same(tree.changes(), [], attempt)


@row('W-guard-1', 'refusals are told: what, by which rule, for which process, and what would allow it')
def told(case):
    answer = case.result(['sh', '-c', 'echo x > made.key; mkdir d.key; echo x > made.key; true'],
                         ['--deny-write', '**/*.key'])
    found = {(denial['operation'], os.path.basename(denial['target'])): denial for denial in answer['denials']}
    case.same(sorted(found), [('create', 'd.key'), ('create', 'made.key')], 'denials', answer['outcome'])
    denial = found['create', 'made.key']
    case.same((denial['kind'], denial['count'], denial['process']), ('file', 2, 'sh'), 'the denial')
    case.check('--deny-write' in denial['rule'] and denial['pid'] > 1, f'rule and pid: {denial}')
    case.same(denial['suggestion'], 'take it out of --deny-write (command line)', 'suggestion')
    answer = case.result(['sh', '-c', 'echo x > made.key'], ['--deny-write', '**/*.key', '--write', 'made.key'])
    case.check(answer['exitCode'] == 0 or not os.path.exists(os.path.join(case.work, 'made.key')), 'an allowance by name')


@row('W-guard-2', 'a policy with live rules says that they are enforced')
def enforced(case):
    answer = case.result(['true'], ['--deny-write', 'not-yet', '--deny-write', '**/*.key'])
    case.check(answer['sandbox']['enforced']['nameRules'] in (True, 'asked'), json.dumps(answer['sandbox']))
    case.check(not any('not-yet' in gap['what'] for gap in answer['sandbox']['notEnforced']), 'no gap is left')
    plain = case.result(['true'])
    case.check(plain['sandbox']['enforced']['nameRules'] in (False, True), 'and without, what is true')


@row('W-guard-3', 'a policy that the guard cannot hold is refused with cause and fix')
def refused(case):
    policy = {'allowNestedSandbox': True, 'filesystem': {'denyWrite': ['*.key']}}
    outcome = case.inside(['true'], case.policy(policy))
    case.same(outcome.code, 125, 'exit status', outcome)
    case.check('allowNestedSandbox' in outcome.err, 'the cause', outcome)
