"""Files that other programs run or trust: not changed, not replaced, not rebuilt under a parent of another name."""
import json
import os
import shutil

from fs_tree import Tree, Watch, clean
from harness import row

# Files of each kind: what git, shells, editors, agents, hooks, package managers and build servers run or trust.
PROTECTED = ('.git/hooks/pre-commit', '.git/hooks/post-checkout', '.git/config', '.git/config.worktree',
             '.git/info/attributes', '.gitmodules', '.gitconfig', '.vscode/tasks.json', '.vscode/settings.json',
             '.idea/workspace.xml', '.devcontainer/devcontainer.json', '.mcp.json', '.claude/settings.json',
             '.claude/hooks/start.sh', '.claude/commands/go.md', '.cursor/mcp.json', '.codex/config.toml',
             '.gemini/settings.json', '.envrc', '.mise.toml', '.bashrc', '.bash_profile', '.bash_login', '.profile',
             '.zshrc', '.zshenv', '.zprofile', '.husky/pre-commit', '.husky/_/husky.sh', '.pre-commit-config.yaml',
             '.github/workflows/ci.yml', '.gitlab-ci.yml', '.circleci/config.yml', '.npmrc', '.yarnrc.yml',
             '.cargo/config.toml', '.vimrc', '.exrc', '.hg/hgrc', '.ripgreprc', '.qiming-sandbox.json')
DEEP = 'packages/app/vendor'
# What is done to a protected file, and to the folder that it lies in when that is protected as a whole.
CHANGES = ('write', 'create', 'truncate', 'read-truncate', 'unlink', 'rename', 'exchange', 'chmod', 'utime', 'xattr',
           'reopen', 'map')


def build(case, root):
    """A project with every protected file in it, and a file to put in their place."""
    for name in PROTECTED:
        top = os.path.join(root, name.split('/')[0])
        shutil.rmtree(top) if os.path.isdir(top) else os.path.lexists(top) and os.unlink(top)
    for name in PROTECTED:
        case.write(os.path.join(root, name), '{}' if name.endswith('.json') else 'as it was\n', 0o755)
    case.write(os.path.join(root, '.git/HEAD'), 'ref: refs/heads/main\n')
    return case.write(os.path.join(root, 'planted'), 'planted\n')


def each_change(case, root, options=()):
    """No change to any protected file works inside; a fair share of them does outside."""
    live = 0
    planted = build(case, root)
    for name in PROTECTED:
        path = os.path.join(root, name)
        for change in CHANGES:
            attack = ['fs', change, path] + ([planted] if change in ('rename', 'exchange') else [])
            if change == 'create':  # the whole way outside for one kind of change is enough of a control
                live += case.plain([case.attack, *attack]).code == 0
                build(case, root)
            before = describe_all(root)
            inside = case.inside([case.attack, *attack], options)
            case.refused(inside)
            case.check(describe_all(root) == before, f'{change} changed {name}', inside)
    case.control(live == len(PROTECTED), f'only {live} of {len(PROTECTED)} can be written outside')


def describe_all(root):
    seen = {}
    for name in PROTECTED:
        path = os.path.join(root, name)
        status = os.lstat(path)
        with open(path, 'rb') as file:
            seen[name] = (status.st_ino, status.st_mode, status.st_mtime_ns, status.st_nlink, file.read(),
                          tuple(os.listxattr(path)))
    return seen


@row('A-fs-4', 'existing protected files of the workspace cannot be changed by any call')
def existing(case):
    each_change(case, os.path.join(case.work))


@row('A-fs-4', 'existing protected files deep in the workspace cannot be changed by any call')
def existing_deep(case):
    each_change(case, os.path.join(case.work, DEEP))


@row('A-fs-4', 'existing protected files in a second writable folder cannot be changed by any call')
def existing_other_root(case):
    root = os.path.join(case.outside, 'other/project')
    each_change(case, root, ['--write', os.path.join(case.outside, 'other')])


@row('A-fs-4', 'nothing new is put into a protected folder')
def into_folders(case):
    build(case, case.work)
    folders = ('.git/hooks', '.vscode', '.husky', '.husky/_', '.github/workflows', '.idea', '.claude/hooks',
               '.claude/commands', '.cursor', '.codex', '.circleci')
    for folder in folders:
        for attack in (['create', f'{folder}/new'], ['mkdir', f'{folder}/new'], ['symlink', f'{folder}/new'],
                       ['link', f'{folder}/new', 'planted'], ['rename', f'{folder}/new', 'planted'],
                       ['tmpfile', folder], ['at', folder], ['chdir', folder], ['chmod', folder]):
            if attack[0] == 'create':
                outside = case.plain([case.attack, 'fs', *attack])
                case.control(outside.code == 0, f'{attack} does not work outside')
                os.unlink(os.path.join(case.work, folder, 'new'))
            before = Tree(os.path.join(case.work, folder))
            inside = case.inside([case.attack, 'fs', *attack])
            case.refused(inside)
            clean(case, before, ' '.join(attack), inside)


NEW = ('.git/hooks/pre-commit', '.git/config', '.vscode/tasks.json', '.mcp.json', '.envrc', '.bashrc', '.zshrc',
       '.profile', '.husky/pre-commit', '.github/workflows/ci.yml', 'sub/.git/hooks/pre-commit', 'sub/.mcp.json',
       'made/later/.envrc', 'made/later/.husky/pre-commit')


def says_it(result, *words):
    """The result's own account of what it holds speaks of these words."""
    text = json.dumps(result['sandbox']).lower()
    return all(word in text for word in words)


def creates_all(case, options=()):
    text = 'for name; do mkdir -p "$(dirname "$name")" && echo planted >"$name"; done; true'
    return case.result(['sh', '-c', text, 'sh', *NEW], options)


@row('A-fs-4', 'protected names that do not exist yet are refused, and the result says that they are held')
def new_names(case):
    os.makedirs(os.path.join(case.work, 'sub'))
    outside = case.plain([case.attack, 'fs', 'create', '.envrc'])
    case.control(outside.code == 0, 'cannot be created outside')
    os.unlink(os.path.join(case.work, '.envrc'))
    result = creates_all(case)
    made = [name for name in NEW if os.path.lexists(os.path.join(case.work, name))]
    # git begins a new repository with settings that say nothing.
    if '.git/config' in made and os.path.getsize(os.path.join(case.work, '.git/config')) == 0:
        made.remove('.git/config')
    case.check(not made, f'{made} were made', result['outcome'])
    case.same((result['sandbox']['enforced']['protectedNames'], result['sandbox']['enforced']['nameRules']), (True, True),
              'what the result says', result['outcome'])
    case.check(not says_it(result, 'not exist'), 'and no gap: ' + json.dumps(result['sandbox']['notEnforced']))


@row('A-fs-4', 'where the caller gives them up, protected names that do not exist yet can be made, and the result says so')
def new_names_given_up(case):
    result = creates_all(case, ['--protect-new-names', 'false'])
    case.control(os.path.lexists(os.path.join(case.work, '.envrc')), 'nothing was made')
    case.check(says_it(result, 'not exist'), 'a gap: ' + json.dumps(result['sandbox']))
    case.check(result['sandbox']['enforced']['protectedNames'] is not True, 'what the result says', result['outcome'])


@row('A-fs-4', 'a name that the caller denies by itself and that does not exist: refused, or nothing runs')
def asked_new_name(case):
    case.control(case.plain([case.attack, 'fs', 'create', 'later']).code == 0, 'cannot be created outside')
    os.unlink(os.path.join(case.work, 'later'))
    for name in ('later', 'folder/later'):
        inside = case.inside(['sh', '-c', 'echo ran >marker; mkdir -p folder; echo x >"$1"', 'sh', name],
                             ['--deny-write', os.path.join(case.work, name)])
        case.check(not os.path.lexists(os.path.join(case.work, name)), f'{name} was made', inside)
        if inside.code == 125:
            case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'nothing may run', inside)
            case.check('later' in inside.err, 'the error must name the path', inside)


@row('A-fs-4', 'no placeholder of a protected name appears on the host, not even for a moment')
def placeholders(case):
    os.makedirs(os.path.join(case.work, 'a/b/c'))
    case.write('a/.git/HEAD', 'ref: refs/heads/main\n')
    os.makedirs(os.path.join(case.work, '.git/objects'))
    watch, before = Watch(case, case.base), Tree(case.base)
    control = os.path.join(case.work, 'short-lived')
    os.close(os.open(control, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(control)
    case.control(any('short-lived' in event for event in watch.events()), 'the watch sees nothing')
    os.utime(case.work, ns=(before.before[case.work]['time'],) * 2)
    watch.events()
    for options in ((), ('--deny-write', case.attack), ('--deny-read', case.attack), ('--write', case.outside),
                    ('--preset', 'read-only'), ('--preset', 'workspace-online'), ('--preset', 'locked-down')):
        case.inside(['true'], options)
        events = watch.events()
        case.check(not events, f'setting up with {options} touched the host: ' + '; '.join(events[:5]))
    clean(case, before, 'the folder of the host')


@row('A-fs-4', 'a killed sandbox leaves no placeholder and no change')
def placeholders_killed(case):
    case.write('a/.git/HEAD', 'ref: refs/heads/main\n')
    before = Tree(case.base)
    for _ in range(10):
        process = case.popen(case.sandboxed(['sleep', '30']))
        process.kill()
        case.finish(process)
    clean(case, before, 'after ten killed starts')


# -- A-fs-3: the parent goes another way ------------------------------------------------------------------------------

def rebuilds(case, protected, commands, options=(), root=None):
    """A new tree in the place of the old: the protected file keeps its content, whatever the commands do."""
    root = root or case.work
    for command in commands:
        for run in (case.plain, lambda argv: case.inside(argv, options)):
            shutil.rmtree(os.path.join(root, 'top'), ignore_errors=True)
            shutil.rmtree(os.path.join(root, 'moved'), ignore_errors=True)
            case.write(os.path.join(root, protected), 'as it was\n', 0o755)
            case.write(os.path.join(root, 'top/project/.git/HEAD'), 'ref: refs/heads/main\n')
            case.write(os.path.join(root, 'top/project/code.c'), 'int main;\n')
            outcome = run(['sh', '-c', f'cd "$0"\n{command}\nmkdir -p "$(dirname "$1")"; echo planted >"$1"', root,
                           protected])
            path = os.path.join(root, protected)
            content = open(path, encoding='ascii').read() if os.path.isfile(path) else None
            if run == case.plain:
                case.control(content == 'planted\n', f'does not work outside: {command}: {outcome.describe()}')
            else:
                case.same(content, 'as it was\n', f'the protected file after: {command}', outcome)
                case.check(outcome.code != 125, 'the sandbox must start', outcome)


EXCHANGE = ('mkdir -p other/{0}; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b\'{1}\', -100, '
            'b\'other\', 2)"')
MOVES = ('mv top moved', 'mv top/project top/moved; rm -rf top/moved', 'mv top/project moved', 'mkdir x; mv top x/',
         'mv top/project/.git top/project/.git2', 'mv top/project/.git top/moved', 'rm -rf top', 'rm -rf top/project/.git',
         'mv top moved; ln -s moved top; rm top', EXCHANGE.format('project/.git', 'top'),
         'cp -r top new; rm -rf top; mv new top', 'rmdir top/project/.git/hooks; mv top/project/.git/hooks top/h',
         'python3 -c "import os; d = os.open(\'top\', os.O_PATH); os.rename(\'project\', \'moved\', src_dir_fd=d, '
         'dst_dir_fd=d)"')


@row('A-fs-3', 'renaming or removing a parent of the git hooks gives no new hook')
def parent_hooks(case):
    rebuilds(case, 'top/project/.git/hooks/pre-commit', MOVES)


@row('A-fs-3', 'renaming or removing a parent of the git configuration gives no new one')
def parent_config(case):
    rebuilds(case, 'top/project/.git/config', MOVES[:11])


@row('A-fs-3', 'renaming or removing a parent of a path that the caller denies gives no new one')
def parent_denied(case):
    rebuilds(case, 'top/project/conf/locked', MOVES[:4] + MOVES[6:7] + (EXCHANGE.format('project/conf', 'top'),
                                                                       'mv top/project/conf moved'),
             ['--deny-write', os.path.join(case.work, 'top/project/conf/locked')])


@row('A-fs-3', 'a protected file\'s own folder cannot be renamed, removed or exchanged for another')
def parent_inner(case):
    for name in ('.git/hooks/pre-commit', '.git/config', '.vscode/tasks.json', '.github/workflows/ci.yml', '.claude/settings.json',
                 '.claude/hooks/x', '.cargo/config.toml', '.hg/hgrc', '.husky/_/husky.sh', '.gitea/workflows/x.yml'):
        folder = 'top/project/' + name.split('/')[0]
        rebuilds(case, 'top/project/' + name, (f'mv {folder} moved', f'rm -rf {folder}', f'mv {folder} {folder}2; ln -s {folder[12:]}2 {folder}',
                                               f'mv {os.path.dirname("top/project/" + name)} moved',
                                               f'mkdir top/new; mv -T --exchange top/new {folder} 2>/dev/null || mv {folder} moved'))


@row('A-fs-3', 'a project folder with other protected files cannot be replaced')
def parent_other_names(case):
    for name in ('.envrc', '.mcp.json', '.vscode/tasks.json', '.husky/pre-commit', '.bashrc'):
        path = os.path.join(case.work, 'top/project', name)
        for run in (case.plain, case.result):
            shutil.rmtree(os.path.join(case.work, 'top'), ignore_errors=True)
            shutil.rmtree(os.path.join(case.work, 'moved'), ignore_errors=True)
            case.write(path, 'as it was\n')
            answer = run(['sh', '-c', 'mv top moved; mkdir -p "$(dirname "$1")"; echo planted >"$1"; true', 'sh', path])
            with open(path, encoding='ascii') as file:
                planted = file.read() == 'planted\n'
            if run == case.plain:
                case.control(planted, 'does not work outside')
            else:
                case.check(not planted, f'{name} was replaced', answer['outcome'])


@row('A-fs-3', 'the same holds in a second writable folder')
def parent_other_root(case):
    root = os.path.join(case.outside, 'other')
    rebuilds(case, 'top/project/.git/hooks/pre-commit', MOVES, ['--write', root], root)


@row('A-fs-3', 'the second writable folder itself cannot be moved away')
def root_itself(case):
    root = os.path.join(case.work, 'root')
    case.write('root/.git/hooks/pre-commit', 'as it was\n')
    case.write('root/.git/HEAD', 'ref: refs/heads/main\n')
    inside = case.inside(['sh', '-c', 'mv root moved; mkdir -p root/.git/hooks; echo planted >root/.git/hooks/pre-commit'],
                         ['--write', root])
    with open(os.path.join(root, '.git/hooks/pre-commit'), encoding='ascii') as file:
        case.same(file.read(), 'as it was\n', 'the hook', inside)


@row('A-fs-3', 'beside a protected file, and out of its folder, files and folders are moved as ever')
def parent_work(case):
    case.write('top/project/.git/hooks/pre-commit', 'as it was\n')
    text = ('rm -rf top/project/src top/project/lib; mkdir top/project/src; echo x >top/project/src/a; cd top/project; mv src/a src/b; '
            'mv src lib; mkdir src; mv lib/b src/c; ln src/c src/d; mv src/c ../out; mv ../out .; mv lib ../lib; mv ../lib .; '
            'rmdir lib; find . -path ./.git -prune -o -print | sort; cat out')
    outside = case.plain(['sh', '-ec', text])
    case.control(outside.code == 0, f'does not work outside: {outside.describe()}')
    os.unlink(os.path.join(case.work, 'top/project/out'))
    inside = case.inside(['sh', '-ec', text])
    case.same((inside.code, inside.out), (0, outside.out), 'the same moves', inside)


@row('A-fs-3', 'renaming a parent of a read-denied file does not make it readable')
def parent_secret(case):
    path = case.write('top/private/key', 'the secret itself\n')
    for command in ('mv top moved; cat moved/private/key', 'mv top/private moved; cat moved/key',
                    'mkdir -p other/private; mv top other/; cat other/top/private/key', 'ln -s top t; cat t/private/key',
                    'cp -r top t2; cat t2/private/key'):
        for run in (case.plain, lambda argv: case.inside(argv, ['--deny-read', path])):
            for name in ('top', 'moved', 'other', 't', 't2'):
                old = os.path.join(case.work, name)
                os.unlink(old) if os.path.islink(old) else shutil.rmtree(old, ignore_errors=True)
            case.write('top/private/key', 'the secret itself\n')
            outcome = run(['sh', '-c', command])
            told = 'the secret itself' in outcome.out
            if run == case.plain:
                case.control(told, f'{command} does not work outside')
            else:
                case.check(not told, f'read by: {command}', outcome)


@row('W-fs-3', 'ordinary folders beside protected ones can be renamed, removed and made')
def ordinary_renames(case):
    case.write('top/project/.git/hooks/pre-commit', 'as it was\n')
    text = ('mkdir -p build/obj && mv build out && mv out/obj out/lib && rm -rf out && mkdir top/new && mv top/new top/n2 && '
            'echo x >top/project/file && mv top/project/file top/project/f2 && mkdir -p top/project/.git/objects/aa && '
            'mv top/project/.git/objects/aa top/project/.git/objects/bb && echo done')
    for run in (case.plain, case.inside):
        shutil.rmtree(os.path.join(case.work, 'top/n2'), ignore_errors=True)
        shutil.rmtree(os.path.join(case.work, 'top/project/.git/objects'), ignore_errors=True)
        outcome = run(['sh', '-c', text])
        case.same(outcome.out.strip(), 'done', 'renames', outcome)
