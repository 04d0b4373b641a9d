"""Protected names that need not exist: every route to them, in every writable root, in any case, with nothing put there."""
import os
import shutil
import threading

from fs_tree import Watch
from harness import row

# What attack_guard.c's routes are about, as names that the built-in rules speak of.
NAMES = 'new.key=.envrc:old.key=.mcp.json:dir.key=.vscode:.conf=.git:gone=.github:hold=.gitea:secret=workflows'
OTHER_CASE = 'new.key=.EnvRC:old.key=.MCP.json:dir.key=.VSCode:.conf=.GIT:gone=.GitHub:hold=.Gitea:secret=Workflows'
ALONE = ('.envrc', '.mcp.json', '.vscode')
PAIRS = (('.git', 'config'), ('.github', 'workflows'), ('.gitea', 'workflows'))


def bury(case, root):
    """A folder that the scan at the start does not come to: what exists there has no mount of its own."""
    for number in range(80):
        os.makedirs(os.path.join(root, f'filler{number}'), exist_ok=True)
    base = os.path.join(root, 'z/deeper/and/deeper')
    os.makedirs(base, exist_ok=True)
    return base


def prepare(case, base, names):
    named = dict(pair.split('=') for pair in names.split(':'))
    for name in os.listdir(base):
        path = os.path.join(base, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    config = 'config' if named['.conf'] == '.git' else 'Config'
    for name in (f'deep/{named["old.key"]}', f'deep/{named["dir.key"]}/f', f'prep/{named["secret"]}', f'conf/{config}', 'plain'):
        case.write(os.path.join(base, name), 'as it was')
    for name in (named['hold'], 'sub'):
        os.mkdir(os.path.join(base, name))


def is_protected(path):
    parts = path.lower().split('/')
    return any(part in ALONE for part in parts) or any(pair in PAIRS for pair in zip(parts, parts[1:]))


def protected(base):
    """All protected names on the host, also by way of a link that stands in for a folder."""
    seen = {}
    links = [os.path.join(folder, name) for folder, folders, _ in os.walk(base) for name in folders
             if name.lower() in dict(PAIRS) and os.path.islink(os.path.join(folder, name))]
    walks = [os.walk(base)] + [os.walk(link, followlinks=True) for link in links]
    for folder, folders, files in (found for walk in walks for found in walk):
        for name in folders + files:
            path = os.path.join(folder, name)
            if is_protected(os.path.relpath(path, base)):
                status = os.lstat(path)
                data = open(path, 'rb').read() if os.path.isfile(path) else b''
                seen[path] = (status.st_ino, status.st_mode, status.st_nlink, status.st_mtime_ns, data)
    return seen


def each_route(case, base, names, options):
    routes = case.plain([case.attack, 'guard']).out.split()
    env = {**case.env, 'QSB_NAMES': names}
    live, failed = 0, []
    for route in routes:
        prepare(case, base, names)
        outside = case.plain([case.attack, 'guard', route], cwd=base, env={**env, 'QSB_CONTROL': '1'})
        live += outside.code == 0
        prepare(case, base, names)
        before = protected(base)
        inside = case.inside([case.attack, 'guard', route], [*options, '--cwd', base, '--env', 'QSB_NAMES=' + names])
        if outside.code == 0 and inside.code == 0:
            failed.append(f'{route} worked: {inside.describe()}')
        if inside.code not in (1, 2):
            failed.append(f'{route} gave no verdict: {inside.describe()}')
        if protected(base) != before:
            failed.append(f'{route} changed a protected name')
    case.check(not failed, '\n'.join(failed[:10]))
    case.control(live > len(routes) - 6, f'only {live} of {len(routes)} routes work outside')


@row('A-guard-8', 'no route leads to a built-in name that need not exist')
def routes_to_names(case):
    each_route(case, bury(case, case.work), NAMES, [])


@row('A-guard-8', 'no route leads to a built-in name in a second writable root, in another letter case')
def routes_elsewhere(case):
    root = os.path.join(case.outside, 'other')
    os.mkdir(root)
    each_route(case, bury(case, root), OTHER_CASE, ['--write', root])


EVERY = ('.git/hooks/pre-commit', '.git/config', '.git/info/attributes', '.git/modules/a/b/hooks/post-checkout', '.gitconfig',
         '.mcp.json', '.envrc', '.bashrc', '.zshenv', '.profile', '.vscode/tasks.json', '.idea/workspace.xml', '.husky/pre-commit',
         '.github/workflows/x.yml', '.gitlab-ci.yml', '.npmrc', '.claude/settings.json', '.cursor/mcp.json', '.vimrc',
         '.cargo/config.toml', '.pre-commit-config.yaml', '.devcontainer/devcontainer.json', 'Jenkinsfile', '.hg/hgrc')
# What a new name could be put by, with the folder made first where it may be.
TRY = '''for folder; do
    mkdir -p "$folder" && cd "$folder" || exit 9
    for name in $NAMES; do
        mkdir -p "$(dirname "$name")" 2>/dev/null
        echo planted >"$name"; ln plain "$name"; ln -s plain "$name"; mkdir -p "$name"; mv plain "$name"
    done 2>/dev/null
    mkdir -p prepared/hooks prepared/workflows && echo x >prepared/config
    mv prepared .git; mv prepared .github; ln -s prepared .git; ln -s prepared .github
    echo ordinary >ordinary
    cd - >/dev/null
done 2>/dev/null; true'''


def was_made(path):
    """An empty settings file of a git folder that the run made does not count: git begins with one."""
    empty = path.endswith('.git/config') and os.path.isfile(path) and not os.path.islink(path) and not os.path.getsize(path)
    return os.path.lexists(path) and not empty


class Watcher(threading.Thread):
    """Every name that appears below a folder, also in folders made meanwhile, as long as it is there when looked at."""

    def __init__(self, case, tops):
        super().__init__(daemon=True)
        self.case, self.seen, self.ended = case, set(), threading.Event()
        self.watches = [Watch(case, top) for top in tops]
        self.tops = tops

    def look(self):
        for watch in self.watches:
            self.seen.update(event.split(' (event')[0] for event in watch.events())
        for top in self.tops:
            for folder, folders, files in os.walk(top):
                self.seen.update(os.path.join(folder, name) for name in folders + files)

    def run(self):
        while not self.ended.wait(0.001):
            self.look()
        self.look()


@row('A-guard-9', 'every kind of protected name, in folders old and new, of two roots: not made, and nothing appears there')
def every_name(case):
    root = os.path.join(case.outside, 'other')
    os.makedirs(root)
    for top in (case.work, root):
        os.makedirs(os.path.join(top, 'old/folder'))
    folders = [os.path.join(top, name) for top in (case.work, root) for name in ('.', 'old/folder', 'new', 'new/and/deeper')]
    env = ['--env', 'NAMES=' + ' '.join(EVERY)]
    outside = case.plain(['sh', '-c', TRY, 'sh', os.path.join(case.base, 'control')], env={**case.env, 'NAMES': ' '.join(EVERY)})
    made = [name for name in EVERY if os.path.lexists(os.path.join(case.base, 'control', name))]
    case.control(len(made) > len(EVERY) - 4, f'only {made} can be made outside: {outside.describe()}')
    watcher = Watcher(case, [case.work, root])
    watcher.start()
    inside = case.inside(['sh', '-c', TRY, 'sh', *folders], ['--write', root, *env])
    watcher.ended.set()
    watcher.join()
    case.check(inside.code == 0, 'the attempts must end', inside)
    for folder in folders:
        left = [name for name in EVERY if was_made(os.path.join(folder, name))]
        case.check(not left, f'{left} in {folder}', inside)
        case.check(os.path.exists(os.path.join(folder, 'ordinary')), f'an ordinary file in {folder}', inside)
    case.control(any(path.endswith('/ordinary') for path in watcher.seen), 'the watcher saw nothing')
    # A new git folder may get an empty `hooks`, and settings that say nothing.
    wholes = {os.path.basename(name) for name in EVERY if '/' not in name} | {'.vscode', '.idea', '.husky', '.cursor', '.devcontainer'}
    pieces = ('/.github/workflows', '/hooks/pre-commit', '/hooks/post-checkout', '/.claude/settings.json', '/.cargo/config.toml',
              '/info/attributes', '/.hg/hgrc')
    bad = [path for path in watcher.seen if os.path.basename(path) in wholes or path.endswith(pieces)]
    case.check(not bad, f'seen on the host: {bad[:5]}')


@row('A-guard-10', 'names that count in a project only may be made in folders of packages, and do not leave them')
def packages(case):
    script = '''mkdir -p node_modules/pkg/.github/workflows vendor/lib/.vscode && echo x >node_modules/pkg/.github/workflows/a.yml &&
        echo x >node_modules/pkg/.travis.yml && echo x >node_modules/pkg/.npmrc && echo x >vendor/lib/.vscode/tasks.json && echo MADE
        for name in .envrc .bashrc; do echo x >node_modules/pkg/$name; done
        mkdir -p node_modules/pkg/.git/hooks; echo x >node_modules/pkg/.git/hooks/pre-commit
        mv node_modules/pkg pkg; mv node_modules modules; mv node_modules/pkg/.github .github; mv vendor/lib/.vscode .vscode
        ln node_modules/pkg/.npmrc .npmrc; cp node_modules/pkg/.npmrc Node_Modules/.npmrc
        mkdir -p plain && mv vendor plain/other; mkdir other && mv -T --exchange other node_modules
        ln -s node_modules/pkg/.github .github; mv node_modules/pkg vendor/pkg && echo MOVED; true'''
    outside = case.plain(['sh', '-c', script])
    case.control('MADE' in outside.out and any(os.path.exists(os.path.join(case.work, top, '.github/workflows/a.yml'))
                                               for top in ('', 'pkg')), f'does not work outside: {outside.describe()}')
    for name in os.listdir(case.work):
        path = os.path.join(case.work, name)
        if name != 'escape-attack':
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    inside = case.inside(['sh', '-c', script])
    case.same(inside.out, 'MADE\nMOVED\n', 'what packages need', inside)
    found = [os.path.relpath(os.path.join(folder, name), case.work) for folder, folders, files in os.walk(case.work)
             for name in folders + files]
    bad = [path for path in found if not path.startswith(('node_modules/', 'vendor/')) and
           os.path.basename(path) in ('.github', '.travis.yml', '.npmrc', '.vscode', 'workflows')]
    case.check(not bad, f'left the packages: {bad}', inside)
    strong = [path for path in found if os.path.basename(path) in ('.envrc', '.bashrc', 'pre-commit')]
    case.check(not strong, f'held everywhere: {strong}', inside)


@row('W-guard-20', '--write for a protected name that does not exist lets it be made, there and nowhere else')
def allowed(case):
    text = 'mkdir -p .github/workflows sub; echo x >.github/workflows/a.yml; echo x >.envrc; echo x >sub/.envrc; true'
    answer = case.result(['sh', '-c', text])
    asked = [denial['suggestion'] for denial in answer['denials']]
    case.same(sorted(asked), [f'--write {case.work}/{name}' for name in ('.envrc', '.github/workflows', 'sub/.envrc')],
              'suggestions', answer['outcome'])
    options = ['--write', os.path.join(case.work, '.github/workflows'), '--write', os.path.join(case.work, '.envrc')]
    inside = case.inside(['sh', '-c', text + 'mv sub moved; mv .envrc sub/.envrc'], options)
    case.check(os.path.exists(os.path.join(case.work, '.github/workflows/a.yml')), 'the folder that was allowed', inside)
    case.check(os.path.exists(os.path.join(case.work, '.envrc')), 'the file that was allowed', inside)
    case.check(not os.path.exists(os.path.join(case.work, 'moved/.envrc')), 'no other', inside)
    refused = case.inside(['sh', '-c', 'echo x >.mcp.json; echo x >d.key; true'],
                          ['--deny-write', '*.key', '--write', os.path.join(case.work, 'd.key')])
    case.check(not os.path.exists(os.path.join(case.work, 'd.key')), 'a denial of the caller\'s own wins', refused)
