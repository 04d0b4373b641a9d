"""Repositories that a command makes: git works in them as ever, and leaves nothing that the host's git would run."""
import json
import os
import shutil
import signal
import stat
import subprocess

from fs_git import project
from harness import row
from harness_host import descendants

# Settings, what then triggers them on the host. {tool} writes the marker.
KEYS = {'core.fsmonitor': '{tool}', 'core.hooksPath': '{folder}', 'core.sshCommand': '{tool}', 'core.pager': '{tool}',
        'diff.external': '{tool}', 'diff.x.textconv': '{tool}', 'filter.x.smudge': '{tool}', 'merge.x.driver': '{tool}',
        'alias.st': '!{tool}', 'alias.up': 'fetch --upload-pack={tool}', 'credential.helper': '{tool}',
        'include.path': '../../settings', 'includeIf.gitdir:/.path': '../../settings', 'gpg.program': '{tool}',
        'remote.o.uploadpack': '{tool}', 'submodule.x.update': '!{tool}', 'core.worktree': '{home}',
        'url.ext::x.insteadOf': 'https://'}
CONFIG = '[core]\n\tfsmonitor = {tool}\n'


def tool(case):
    """A program that the host's git must never run; what it writes when it does."""
    marker = os.path.join(case.base, 'ran')
    return case.script('tool.sh', f'#!/bin/sh\necho "$0" >>{marker}\n'), marker


def ran(marker):
    return os.path.exists(marker)


def settings(folder):
    with open(os.path.join(folder, 'config'), encoding='utf-8', errors='replace') as file:
        return file.read()


def shape(top):
    """Names, kinds, modes and settings; not what holds a time."""
    seen = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and '/objects/' in path:
                continue
            text = settings(folder) if name == 'config' else ''
            seen[os.path.relpath(path, top)] = (oct(status.st_mode), text)
    return seen


def same_as_outside(case, text, check=None):
    """Runs a script outside and inside, in a fresh folder each time; the trees must be the same."""
    folder, trees = os.path.join(case.work, 'here'), []
    script = case.write(os.path.join(case.outside, 'script'), 'set -e\n' + text)
    for inside in (False, True):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        env = {**case.env, 'GIT_TEMPLATE_DIR': '', 'GIT_COMMITTER_DATE': '1000000000 +0000', 'GIT_AUTHOR_DATE': '1000000000 +0000'}
        argv = ['sh', script]
        outcome = case.plain(case.sandboxed(argv) if inside else argv, cwd=folder, env=env)
        if not inside:
            case.control(outcome.code == 0, f'it does not work outside: {outcome.err[-300:]}')
        case.worked(outcome, 'the script')
        if inside and check:
            check(folder)
        trees.append(shape(folder))
    outside, inside = trees
    changed = sorted(path for path in outside.keys() | inside.keys() if outside.get(path) != inside.get(path))
    case.check(not changed, f'the trees differ: {[(path, outside.get(path), inside.get(path)) for path in changed[:3]]}')


@row('W-git-1', 'init, commit, remotes, push, clone, bare clones and worktrees of new repositories are as outside')
def repositories(case):
    project(case, 'old')
    same_as_outside(case, '''
        git init -q a && cd a
        git config user.name "Another Person"; git config --unset user.name; git config core.autocrlf input
        echo text >file; git add file; git commit -qm one
        git init -q --bare ../b.git; git remote add origin ../b.git; git push -q -u origin HEAD
        git checkout -qb topic; git worktree add -q ../w; git -C ../w config extensions.worktreeConfig true
        git -C ../w config --worktree user.email me@example.com; git -C ../w commit -q --allow-empty -m two
        cd ..; git clone -q a c; git clone -q --bare a d.git; git clone -q --depth 1 "file://$PWD/a" e
        git clone -q ../old o; git -C o pull -q; mv c moved; git -C moved config user.name x
        git clone -q a gone; rm -rf gone; git init -q --template=/usr/share/git-core/templates t
    ''')


@row('W-git-2', 'submodules are added to new repositories, cloned with them and updated')
def submodules(case):
    project(case, 'old')
    same_as_outside(case, '''
        git init -q a; cd a; git submodule --quiet add "$PWD/../../old" lib/old; git commit -qm "with a module"
        cd ..; git clone -q --recurse-submodules a b; git clone -q a c; cd c; git submodule --quiet update --init
        git -C lib/old checkout -q HEAD~1; git submodule --quiet update; git submodule --quiet deinit -f lib/old
        cd ..; git clone -q --recurse-submodules a gone; rm -rf gone
    ''')


@row('W-git-3', 'what makes a repository as libgit2 does, with an empty config and examples of hooks, goes on')
def library(case):
    tool(case)
    script = '''
import os
os.makedirs('r/.git/hooks'); os.makedirs('r/.git/objects/info'); os.makedirs('r/.git/refs/heads')
open('r/.git/HEAD', 'w').write('ref: refs/heads/main\\n')
os.close(os.open('r/.git/config', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666))
open('r/.git/hooks/README.sample', 'w').write('see githooks')
with open('r/.git/config.lock', 'x') as file: file.write('[core]\\n\\tbare = false\\n')
os.rename('r/.git/config.lock', 'r/.git/config')
os.chmod('r/.git/config', 0o600)
'''
    same_as_outside(case, f'python3 - <<"P"\n{script}\nP\n')


@row('W-git-4', 'npm installs a git dependency')
def npm_git_dependency(case):
    folder = project(case, 'dependency')
    case.write('dependency/package.json', '{"name": "dependency", "version": "1.0.0"}')
    case.worked(case.plain(['sh', '-c', 'git add -A && git commit -qm package'], cwd=folder))
    case.write('package.json', json.dumps({'name': 'app', 'version': '1.0.0',
                                           'dependencies': {'dependency': f'git+file://{folder}'}}))
    argv = ['npm', 'install', '--no-audit', '--no-fund', '--offline', f'--cache={case.work}/.cache']
    for inside in (False, True):
        outcome = case.plain(case.sandboxed(argv) if inside else argv)
        if not inside:
            case.control(outcome.code == 0, f'npm does not work outside: {outcome.err[-300:]}')
        case.worked(outcome, 'npm install')
        case.check(os.path.exists(os.path.join(case.work, 'node_modules/dependency/file')), 'nothing was installed')
        for name in ('node_modules', '.cache', 'package-lock.json'):
            path = os.path.join(case.work, name)
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


@row('W-git-5', 'in a repository that was there, work goes on, and a refused setting is named')
def existing_repository(case):
    folder = project(case)
    case.worked(case.plain(['sh', '-c', 'git init -q --bare ../remote.git && mv ../remote.git . && '
                            'git remote add origin ./remote.git'], cwd=folder))
    text = '''
        set -e
        git checkout -qb topic; echo three >>file; git commit -qam three; git worktree add -q ../work/tree
        git -C tree commit -q --allow-empty -m four; git rebase -q HEAD~1; git checkout -q main; git merge -q topic
        git push -q -u origin topic || true
        git config user.name Somebody && exit 1
        git ls-remote origin | grep topic
    '''
    before = settings(os.path.join(folder, '.git'))
    answer = case.result(['sh', '-c', text])
    case.worked(answer['outcome'])
    case.same(settings(os.path.join(folder, '.git')), before, 'the settings')
    details = [denial.get('detail', '') for denial in answer['denials'] if denial['target'].endswith('/.git/config')]
    for key in ('branch.topic.remote', 'user.name'):
        case.check(any(key in detail for detail in details), f'{key} is not named: {answer["denials"]}')
    case.same(answer['findings'], [], 'findings')


@row('A-git-1', 'in a new repository git sets nothing that runs a program or leads elsewhere, and says which key')
def set_keys(case):
    project(case, 'old')
    path, _ = tool(case)
    values = {key: value.format(tool=path, folder='../hooks', home=case.home) for key, value in KEYS.items()}
    script = 'git init -q new && cd new && cp .git/config before || exit 3\n'
    for key, value in values.items():
        script += f"git config '{key}' '{value}' && echo 'set {key}'\ncmp -s .git/config before || exit 4\n"
    for inside in (False, True):
        shutil.rmtree(os.path.join(case.work, 'new'), ignore_errors=True)
        if not inside:
            outcome = case.plain(['sh', '-c', script.replace('cmp -s .git/config before || exit 4', '')])
            case.same(outcome.out.count('set '), len(KEYS), 'keys that can be set outside', outcome)
            continue
        for key, value in values.items():
            shutil.rmtree(os.path.join(case.work, 'new'), ignore_errors=True)
            answer = case.result(['sh', '-c', 'git init -q new && cd new && git config user.name x && '
                                  f"git config '{key}' '{value}'"])
            case.check(answer['exitCode'] not in (0, 125), f'{key} was set', answer['outcome'])
            name = key.rsplit('.', 1)
            wanted = (key.split('.')[0].lower() + key[len(key.split('.')[0]):len(name[0])] + '.' + name[1].lower())
            case.check(any(wanted in (denial.get('detail', '')) for denial in answer['denials']),
                       f'{wanted} is not named', answer['outcome'])
            case.check(value not in settings(os.path.join(case.work, 'new/.git')), f'{key} stands in the file')
            left = sorted(os.listdir(os.path.join(case.work, 'new/.git')))
            case.same(left, ['HEAD', 'config', 'objects', 'refs'], 'the git folder')


# Each tries to bring CONFIG into new/.git/config, and says what it could. {0} is the tool's path.
ROUTES = {
    'direct': '''
file = open(CONFIG, 'w'); file.write(BAD); file.close()''',
    'appended': '''
file = open(CONFIG, 'a'); file.write(BAD); file.close()''',
    'renamed': '''
open(CONFIG + '.x', 'w').write(BAD); os.rename(CONFIG + '.x', CONFIG)''',
    'locked': '''
open(CONFIG + '.lock', 'w').write(BAD); os.rename(CONFIG + '.lock', CONFIG)''',
    'kept open': '''
file = open(CONFIG + '.lock', 'w+'); file.write(GOOD); file.flush(); os.rename(CONFIG + '.lock', CONFIG)
file.seek(0); file.truncate(); file.write(BAD); file.flush()''',
    'mapped': '''
import mmap
file = open(CONFIG + '.lock', 'w+'); file.write(GOOD + ' ' * 200); file.flush()
page = mmap.mmap(file.fileno(), 0); os.rename(CONFIG + '.lock', CONFIG)
page[:len(BAD)] = BAD.encode(); page.flush()''',
    'linked before': '''
open('other', 'w').write(GOOD); os.link('other', CONFIG + '.lock'); os.rename(CONFIG + '.lock', CONFIG)
open('other', 'w').write(BAD)''',
    'linked after': '''
os.link(CONFIG, 'other'); open('other', 'w').write(BAD)''',
    'linked to': '''
open('other', 'w').write(BAD); os.unlink(CONFIG); os.link('other', CONFIG)''',
    'symbolic link': '''
open('other', 'w').write(BAD); os.unlink(CONFIG); os.symlink('../../other', CONFIG)''',
    'lock is a link': '''
open('other', 'w').write(BAD); os.symlink('../../other', CONFIG + '.lock'); os.rename(CONFIG + '.lock', CONFIG)''',
    'opened by number': '''
fd = os.open(CONFIG, os.O_RDONLY); file = open('/proc/self/fd/%d' % fd, 'w'); file.write(BAD); file.close()''',
    'cut short': '''
open(CONFIG + '.lock', 'w').write(GOOD + '[core]\\n\\tfsmonitor = ' + TOOL); os.rename(CONFIG + '.lock', CONFIG)''',
    'hidden': '''
open(CONFIG + '.lock', 'w').write(GOOD + '\\0\\n' + BAD); os.rename(CONFIG + '.lock', CONFIG)''',
    'exchanged': '''
import ctypes
open('other', 'w').write(BAD)
if ctypes.CDLL(None, use_errno=True).renameat2(-100, b'other', -100, CONFIG.encode(), 2) != 0: raise OSError('refused')''',
    'folder': '''
os.makedirs('prepared'); shutil.copytree('new/.git', 'prepared/g'); open('prepared/g/config', 'w').write(BAD)
shutil.rmtree('new/.git'); os.rename('prepared/g', 'new/.git')''',
    'folder above': '''
os.makedirs('prepared'); shutil.move('new', 'prepared/new'); os.rename('prepared/new/.git', 'prepared/new/g')
open('prepared/new/g/config', 'w').write(BAD); os.rename('prepared/new/g', 'prepared/new/.git')
os.rename('prepared/new', 'new')''',
    'made anew': '''
shutil.rmtree('new/.git'); os.mkdir('g'); shutil.rmtree('g'); os.makedirs('g/objects'); os.makedirs('g/refs/heads')
open('g/HEAD', 'w').write('ref: refs/heads/x'); open('g/config', 'w').write(BAD); os.rename('g', 'new/.git')''',
    'threads': '''
import threading
stop = False
def swap():
    while not stop:
        for text in (GOOD, BAD):
            try:
                open('swapped', 'w').write(text); os.rename('swapped', CONFIG + '.lock')
            except OSError: pass
def scribble():
    while not stop:
        try:
            file = open(CONFIG + '.lock', 'r+'); file.write(BAD); file.close()
        except OSError: pass
threads = [threading.Thread(target=f) for f in (swap, swap, scribble)]
[thread.start() for thread in threads]
end = time.monotonic() + 3
while time.monotonic() < end:
    try: os.rename(CONFIG + '.lock', CONFIG)
    except OSError: pass
    if 'fsmonitor' in open(CONFIG).read(): break
stop = True
[thread.join() for thread in threads]
try: os.unlink(CONFIG + '.lock')
except OSError: pass''',
}
AROUND = '''
import os, shutil, sys, time
CONFIG, TOOL, GOOD = 'new/.git/config', sys.argv[1], '[core]\\n\\tbare = false\\n'
BAD = '[core]\\n\\tfsmonitor = ' + TOOL + '\\n'
'''


@row('A-git-2', 'no route brings a setting into a new repository unseen: descriptors, links, races, prepared folders')
def git_routes(case):
    project(case, 'old')
    path, marker = tool(case)
    live = 0
    for name, route in ROUTES.items():
        script = case.write(os.path.join(case.outside, 'route.py'), AROUND + route)
        for inside in (False, True):
            for folder in ('new', 'prepared', 'g', 'other', 'swapped'):
                gone = os.path.join(case.work, folder)
                (shutil.rmtree if os.path.isdir(gone) else os.unlink)(gone) if os.path.lexists(gone) else None
            argv = ['sh', '-c', f'git init -q new && python3 {script} {path}; true']
            outcome = case.plain(case.sandboxed(argv) if inside else argv)
            case.worked(outcome, f'{name}: git init')
            for top in ('new', 'prepared/new'):
                if os.path.isdir(os.path.join(case.work, top)):
                    case.plain(['git', 'status'], cwd=os.path.join(case.work, top))
            if inside:
                case.check(not ran(marker), f'{name}: the host\'s git ran the program', outcome)
            elif ran(marker):
                live += 1
                os.unlink(marker)
    case.control(live >= len(ROUTES) - 2, f'only {live} of {len(ROUTES)} routes work outside')


@row('A-git-3', 'hooks do not come into a new repository')
def new_hooks(case):
    project(case, 'old')
    path, marker = tool(case)
    tries = ['mkdir -p {0}/hooks && cp {1} {0}/hooks/post-commit', 'mkdir prep; cp {1} prep/post-commit; mv prep {0}/hooks',
             'mkdir prep; cp {1} prep/post-commit; ln -s ../../prep {0}/hooks',
             'mkdir -p {0}/hooks; cp {1} {0}/hooks/x.sample; mv {0}/hooks/x.sample {0}/hooks/post-commit',
             'mkdir -p {0}/hooks; cp {1} {0}/hooks/x.sample; ln {0}/hooks/x.sample {0}/hooks/post-commit',
             'mkdir -p t/hooks; cp {1} t/hooks/post-commit; rm -r new; git init -q --template=t new',
             'mkdir -p t/hooks; cp {1} t/hooks/post-commit; cd new; GIT_TEMPLATE_DIR=../t git init -q; git init -q .']
    for text in tries:
        for inside in (False, True):
            for name in ('new', 'prep', 't'):
                shutil.rmtree(os.path.join(case.work, name), ignore_errors=True)
            argv = ['sh', '-c', 'git init -q new; ' + text.format('new/.git', path) + '; true']
            outcome = case.plain(case.sandboxed(argv) if inside else argv, env={**case.env, 'GIT_TEMPLATE_DIR': ''})
            case.worked(outcome)
            case.plain(['git', 'commit', '-q', '--allow-empty', '-m', 'x'], cwd=os.path.join(case.work, 'new'))
            case.check(inside or ran(marker), f'{text}: it does nothing outside', outcome)
            case.check(not inside or not ran(marker), f'{text}: the hook ran', outcome)
            if ran(marker):
                os.unlink(marker)


BARE = '''
git init -q --bare x.git; mkdir -p x.git/hooks; cp tool.sh x.git/hooks/pre-receive; echo mine >x.git/hooks/pre-receive.quarantined
mkdir -p g/objects g/refs/heads; cp x.git/HEAD g; printf '[core]\\n\\tbare = false\\n\\tfsmonitor = %s\\n' "$PWD/tool.sh" >g/config
mkdir -p h/objects h/refs/heads m; cp x.git/HEAD h; ln -s ../m h/hooks; cp tool.sh m/post-commit; cp x.git/config h
sed -i s/true/false/ h/config; mkdir a b; echo "gitdir: ../g" >a/.git; echo "gitdir: ../h" >b/.git
mkdir p; cp -r h p/q; mv p z
'''
USE = '''git -C a status; git -C b commit --allow-empty -m x; git -C old push ../x.git HEAD; true'''


@row('A-git-4', 'what a run leaves in git folders of any name is told and put out of the reach of the host\'s git')
def findings(case):
    project(case, 'old')
    path, marker = tool(case)

    def run(inside, mode=None):
        for name in os.listdir(case.work):
            if name not in ('old', 'escape-attack', 'tool.sh'):
                gone = os.path.join(case.work, name)
                (shutil.rmtree if os.path.isdir(gone) else os.unlink)(gone)
        answer = None
        if inside:
            answer = case.result(['sh', '-c', BARE], case.policy({'filesystem': {'gitFindings': mode}}))
            case.worked(answer['outcome'])
        else:
            case.worked(case.plain(['sh', '-c', BARE], env={**case.env, 'GIT_TEMPLATE_DIR': ''}))
        case.plain(['sh', '-c', USE])
        count = len(open(marker, encoding='utf-8').readlines()) if ran(marker) else 0
        if ran(marker):
            os.unlink(marker)
        return answer, count

    _, count = run(False)
    case.control(count >= 3, f'only {count} of the programs are run outside')
    told, count = run(True, 'report')
    case.check(count >= 3, 'with "report" everything stays as it is')
    case.check(all(finding['movedTo'] is None and finding['error'] is None for finding in told['findings']), 'not moved')
    moved, count = run(True, 'quarantine')
    case.same(count, 0, 'programs that the host\'s git ran')

    def names(answer):
        return sorted((finding['kind'], os.path.relpath(finding['path'], case.work), finding['what'])
                      for finding in answer['findings'])
    wanted = [('gitConfig', 'g/config', 'core.fsmonitor'), ('gitHook', 'h/hooks', 'hooks'),
              ('gitHook', 'x.git/hooks/pre-receive', 'pre-receive'), ('gitHook', 'z/q/hooks', 'hooks')]
    case.same(names(told), wanted, 'findings with "report"')
    case.same(names(moved), wanted, 'findings')
    for finding in moved['findings']:
        last = '.quarantined.2' if finding['what'] == 'pre-receive' else '.quarantined'
        case.same(finding['movedTo'], finding['path'] + last, 'where it was moved')
        case.check(os.path.lexists(finding['movedTo']) and not os.path.lexists(finding['path']), 'it was not moved')
        case.check(finding['path'] in moved['outcome'].err, 'a person is not told', moved['outcome'])
    case.same(open(os.path.join(case.work, 'x.git/hooks/pre-receive.quarantined'), encoding='utf-8').read(), 'mine\n',
              'what had that name')
    case.same(moved['findingsLeftOut'], 0, 'left out')


@row('A-git-5', 'what was there before is not moved, whatever the run does around it')
def untouched(case):
    folder = project(case)
    path, marker = tool(case)
    hook = case.write('.git/hooks/post-commit', f'#!/bin/sh\nexec {path}\n', 0o755)
    case.worked(case.plain(['git', 'config', 'core.pager', 'less'], cwd=folder))
    text = '''git commit -q --allow-empty -m x; git worktree add -q t; rm -rf .git/refs/tags; mkdir -p .git/refs/tags
              mv .git/refs .git/r; mv .git/r .git/refs; mv .git/HEAD .git/H; cp .git/H .git/HEAD; rm .git/H'''
    answer = case.result(['sh', '-c', text])
    case.same(answer['findings'], [], 'findings', answer['outcome'])
    case.check(os.path.exists(hook), 'the hook is gone')
    case.plain(['git', 'commit', '-q', '--allow-empty', '-m', 'y'], cwd=folder)
    case.check(ran(marker), 'the user\'s own hook runs as ever')


@row('A-git-6', 'a supervisor that is killed leaves no repository that runs anything')
def killed(case):
    project(case, 'old')
    path, marker = tool(case)
    script = case.write(os.path.join(case.outside, 'busy.py'), AROUND + '''
import itertools, subprocess
for n in itertools.count():
    folder = 'r%d' % n
    subprocess.run(['git', 'init', '-q', folder])
    for text in (GOOD, BAD, GOOD + BAD):
        try:
            open(folder + '/.git/config.lock', 'w').write(text); os.rename(folder + '/.git/config.lock', folder + '/.git/config')
        except OSError: pass
    open('count', 'w').write(str(n))
''')
    for wait in (2, 5, 9):
        process = case.popen(case.sandboxed(['python3', script, path]))
        count = os.path.join(case.work, 'count')
        case.wait_until(lambda: os.path.exists(count) and (open(count, encoding='utf-8').read() or '0') >= str(wait),
                        'repositories are made')
        os.kill(process.pid, signal.SIGKILL)
        case.finish(process)
        case.wait_until(lambda: not descendants(process.pid), 'the command ends')
        made = 0
        for name in os.listdir(case.work):
            if name.startswith('r') and os.path.isdir(os.path.join(case.work, name)):
                made += 1
                case.plain(['git', 'status'], cwd=os.path.join(case.work, name))
                shutil.rmtree(os.path.join(case.work, name))
        case.check(made > 1, 'nothing was made')
        case.check(not ran(marker), 'the host\'s git ran the program')
        os.unlink(count)
    outside = case.write('o/x', '')
    subprocess.run(['git', 'init', '-q', os.path.dirname(outside)], env=case.env, check=True)
    case.write('o/.git/config', CONFIG.format(tool=path))
    case.plain(['git', 'status'], cwd=os.path.dirname(outside))
    case.control(ran(marker), 'the setting does nothing outside')
