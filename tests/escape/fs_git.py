"""git: its settings that run programs are not the command's to change, and its honest work goes on as ever."""
import os
import shutil
import stat

from fs_tree import Tree
from harness import row

# Settings that make git run a program, or read such settings from elsewhere, with what then triggers them.
RUNNERS = (('core.fsmonitor', '{tool}', 'git status'), ('core.pager', '{tool}', 'git --paginate status'),
           ('diff.external', '{tool}', 'git diff HEAD~1'), ('core.sshCommand', '{tool}', 'git ls-remote ssh://x/y'),
           ('core.editor', '{tool}', 'git commit --amend'), ('core.hooksPath', '{folder}', 'git commit --allow-empty -m x'),
           ('alias.st', '!{tool}', 'git st'), ('credential.helper', '{tool}', 'echo url=https://x | git credential fill'),
           ('filter.x.clean', '{tool}', 'echo "* filter=x" >>.git/info/attributes; touch new; git add new'),
           ('gpg.program', '{tool}', 'git commit -S --allow-empty -m x'),
           ('include.path', '{settings}', 'git status'), ('includeIf.gitdir:/.path', '{settings}', 'git status'),
           ('uploadpack.packObjectsHook', '{tool}', 'true'), ('core.attributesFile', '{settings}', 'true'))


def project(case, path='.'):
    """A repository with two commits, and a home whose settings name its user."""
    folder = os.path.join(case.work, path)
    case.write(os.path.join(case.home, '.gitconfig'),
               '[user]\n\tname = A Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n'
               '[protocol "file"]\n\tallow = always\n[core]\n\teditor = true\n\tsshCommand = false\n')
    os.makedirs(folder, exist_ok=True)
    text = ('git init -q . && echo "/escape-attack" >.git/info/exclude && echo one >file && git add file && '
            'git commit -qm one && echo two >file && git commit -qam two')
    case.worked(case.plain(['sh', '-c', text], cwd=folder), 'making a repository')
    return folder


def configuration(folder):
    """Every file of git's that holds settings or programs, with its content."""
    seen = {}
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            if name in ('config', 'config.worktree', 'attributes', 'commondir', 'gitdir') or '/hooks' in top:
                with open(path, 'rb') as file:
                    seen[path] = (os.stat(path).st_mode, file.read())
    return seen


def same_configuration(case, folder, before, what, outcome=None):
    after = configuration(folder)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    case.check(not changed, f'{what} changed: {changed[:5]}', outcome)


@row('A-fs-6', 'git config sets nothing that runs a program, locally or for the worktree')
def set_runner(case):
    folder = project(case)
    before = configuration(os.path.join(folder, '.git'))
    for name, value, _ in RUNNERS:
        value = value.format(tool='./tool', folder='./hooks', settings='../settings')
        for scope in ('--local', '--worktree', '--add'):
            attack = ['git', 'config', scope, name, value]
            outside = case.plain(attack)
            case.control(outside.code == 0, f'{name} cannot be set outside: {outside.err}')
            case.plain(['git', 'config', '--unset-all', name])
            shutil.copy2(os.path.join(folder, '.git/config'), os.path.join(case.base, 'config'))
            inside = case.inside(attack)
            case.check(inside.code not in (0, 125), f'{name} could be set with {scope}', inside)
            with open(os.path.join(folder, '.git/config'), 'rb') as file:
                case.check(b'tool' not in file.read(), f'{name} was set with {scope}', inside)
    case.check(configuration(os.path.join(folder, '.git')).keys() == before.keys(), 'no file of settings appeared')


@row('A-fs-6', 'no program of the attacker\'s is run by git on the host afterwards')
def run_by_git(case):
    folder = project(case)
    tool = case.script('tool', '#!/bin/sh\necho "$0" >>"$HOME/ran"\nexec </dev/null\n')
    os.makedirs(os.path.join(case.work, 'hooks'))
    os.symlink(tool, os.path.join(case.work, 'hooks/pre-commit'))
    settings = case.write('settings', f'[core]\n\tfsmonitor = {tool}\n')
    ran = os.path.join(case.home, 'ran')
    live = 0
    saved = os.path.join(case.base, 'saved')
    shutil.copytree(os.path.join(folder, '.git'), saved)
    for name, value, trigger in RUNNERS:
        value = value.format(tool=tool, folder=os.path.join(case.work, 'hooks'), settings=settings)
        for run in (case.plain, case.inside):
            shutil.rmtree(os.path.join(folder, '.git'))
            shutil.copytree(saved, os.path.join(folder, '.git'))
            run(['sh', '-c', 'git config "$1" "$2"; printf "[%s]\\n\\t%s = %s\\n" "${1%%.*}" "${1#*.}" "$2" >>.git/config',
                 'sh', name, value])
            if os.path.exists(ran):
                os.unlink(ran)
            case.plain(['sh', '-c', trigger])
            if run == case.plain:
                live += os.path.exists(ran)
            else:
                case.check(not os.path.exists(ran), f'{name} set inside made git run the program')
    case.control(live >= 8, f'only {live} settings run a program outside')


@row('A-fs-6', 'hooks are neither added, nor replaced, nor made executable')
def hooks(case):
    folder = project(case)
    case.write('.git/hooks/pre-push', '#!/bin/sh\n', 0o644)
    before = Tree(os.path.join(folder, '.git/hooks'))
    for text in ('echo x >.git/hooks/pre-commit', 'ln -s ../../tool .git/hooks/pre-commit', 'chmod 755 .git/hooks/pre-push',
                 'echo x >>.git/hooks/pre-push', 'mv .git/hooks .git/h2; mkdir .git/hooks; echo x >.git/hooks/pre-commit',
                 'cp tool .git/hooks/post-checkout', 'rm .git/hooks/*', 'git init --template=/tmp',
                 'mkdir /tmp/t; mkdir /tmp/t/hooks; echo x >/tmp/t/hooks/pre-commit; git init --template=/tmp/t'):
        inside = case.inside(['sh', '-c', text])
        case.check(not before.changes(), f'{text}: {before.changes()[:3]}', inside)
    case.worked(case.plain(['sh', '-c', 'echo x >.git/hooks/pre-commit']), 'adding a hook outside')


@row('A-fs-6', 'settings are not replaced by another file: by rename, by a lock file, by a link, by removing them')
def replace(case):
    folder = project(case)
    path = os.path.join(folder, '.git/config')
    with open(path, 'rb') as file:
        before = file.read()
    for text in ('echo x >.git/config.lock; mv -f .git/config.lock .git/config', 'rm -f .git/config; echo x >.git/config',
                 'echo x >new; ln -f new .git/config', 'ln -sf ../new .git/config', 'mv .git/config .git/c2; echo x >.git/config',
                 'cp /dev/null .git/config', 'mv .git g; git init; git config core.fsmonitor ./tool',
                 'rm -rf .git; git init; git config core.fsmonitor ./tool', 'sed -i s/core/x/ .git/config',
                 'python3 -c "import os; os.truncate(\'.git/config\', 0)"'):
        inside = case.inside(['sh', '-c', text])
        with open(path, 'rb') as file:
            case.same(file.read(), before, text, inside)
        lock = os.path.join(folder, '.git/config.lock')
        if os.path.exists(lock):
            os.unlink(lock)
    case.worked(case.plain(['sh', '-c', 'echo x >>.git/config']), 'changing it outside')


@row('A-fs-6', 'the user\'s and the system\'s git settings cannot be set')
def global_settings(case):
    project(case)
    path = os.path.join(case.home, '.gitconfig')
    with open(path, 'rb') as file:
        before = file.read()
    for attack in (['git', 'config', '--global', 'core.fsmonitor', './tool'],
                   ['git', 'config', '--system', 'core.fsmonitor', './tool'],
                   ['sh', '-c', 'mkdir -p ~/.config/git && echo x >~/.config/git/config']):
        inside = case.inside(attack)
        case.check(inside.code not in (0, 125), 'must be refused', inside)
    with open(path, 'rb') as file:
        case.same(file.read(), before, 'the user\'s settings')
    case.check(not os.path.exists(os.path.join(case.home, '.config/git')), 'new settings appeared')
    case.worked(case.plain(['git', 'config', '--global', 'x.y', 'z']), 'setting it outside')


@row('A-fs-6', 'settings of submodules and linked worktrees are protected as well')
def nested_settings(case):
    project(case, 'library')
    folder = project(case)
    text = ('git -c protocol.file.allow=always submodule add -q ./library part 2>&1 && git commit -qm part && '
            'git worktree add -q tree && git config extensions.worktreeConfig true && git -C tree config --worktree a.b c')
    outside = case.plain(['sh', '-c', text])
    case.control(outside.code == 0, f'no submodule can be made outside: {outside.describe()}')
    before = configuration(os.path.join(folder, '.git'))
    with open(os.path.join(folder, 'part/.git'), 'rb') as file:
        link = file.read()
    case.check(len([path for path in before if path.endswith('config')]) >= 2, 'the fixture has several settings')
    text = ('for path in $(find .git -name config -o -name config.worktree -o -name commondir -o -name gitdir); do '
            'echo "[x]" >>$path; mv $path $path.old; rm -f $path; echo x >$path; done; '
            'for path in $(find .git -name hooks -type d); do echo x >$path/pre-commit; done; '
            'git -C part config core.fsmonitor ./tool; git -C tree config --worktree core.fsmonitor ./tool; '
            'echo "gitdir: /tmp/evil" >part/.git; rm part/.git; echo "gitdir: /tmp/evil" >tree/.git; true')
    inside = case.inside(['sh', '-c', text])
    same_configuration(case, os.path.join(folder, '.git'), before, 'settings of submodules and worktrees', inside)
    with open(os.path.join(folder, 'part/.git'), 'rb') as file:
        case.same(file.read(), link, 'the link of the submodule', inside)


# -- W-fs-1 ---------------------------------------------------------------------------------------------------------

def untouched(case, folder, work):
    """Runs `work`, which must leave hooks and settings alone and no stray file behind."""
    before = configuration(folder)
    work()
    same_configuration(case, folder, before, 'hooks and settings')
    status = case.plain(['git', 'status', '--porcelain', '--ignored=no'])
    case.same(status.out, '', 'stray files', status)


def git(case, text, options=(), **keywords):
    outcome = case.inside(['sh', '-ec', text], options, **keywords)
    case.worked(outcome, text)
    return outcome


@row('W-fs-1', 'git add, commit, status, log, diff, branch, checkout, merge, rebase, stash, tag and gc work')
def daily_work(case):
    folder = project(case)
    for tool in ('git',):
        case.control(shutil.which(tool), f'{tool} is not installed')

    def work():
        git(case, 'echo three >file; git add file; git commit -qm three; git status --porcelain; git log --oneline | wc -l')
        git(case, 'git checkout -qb topic; echo a >a; git add a; git commit -qm a; git checkout -q main')
        git(case, 'echo b >b; git add b; git commit -qm b; git rebase -q main topic; git checkout -q main')
        git(case, 'git merge -q --no-edit topic; git diff HEAD~1 --stat; git tag v1; git branch -d topic')
        git(case, 'echo c >>file; git stash -q; git stash pop -q; git checkout -q file; git gc -q; git fsck; git reflog')
        git(case, 'git add -A; git commit -q --allow-empty -m all; git reset -q --hard HEAD~1; git clean -qfd -e escape-attack')
        git(case, 'git mv file moved; git commit -qm moved; git revert --no-edit HEAD; git cherry-pick --allow-empty HEAD~1 '
                  '|| git cherry-pick --skip')
    untouched(case, folder, work)
    log = case.plain(['git', 'log', '--oneline'])
    case.check(len(log.out.splitlines()) >= 7, 'the commits are there', log)


@row('W-fs-1', 'a commit in a worktree whose git directory lies elsewhere works, hooks and settings stay protected')
def worktree(case):
    main = project(case, os.path.join(case.base, 'main'))
    tree = os.path.join(case.work, 'tree')
    case.worked(case.plain(['git', 'worktree', 'add', '-q', '-b', 'side', tree], cwd=main), 'making a worktree')
    before = configuration(os.path.join(main, '.git'))
    options = ['--workspace', tree]
    outcome = case.inside(['sh', '-ec', 'git status; echo x >new; git add new; git commit -qm new; git log --oneline | wc -l; '
                           'git checkout -qb other; git checkout -q side; git status --porcelain'], options, cwd=tree)
    case.worked(outcome, 'committing in a worktree')
    case.same(case.plain(['git', 'log', '-1', '--format=%s', 'side'], cwd=main).out.strip(), 'new', 'the commit')
    attack = case.inside(['sh', '-c', 'cd "$1"; echo x >.git/hooks/pre-commit; git config core.fsmonitor x; echo x >>.git/config; '
                          'mv .git/hooks .git/h; mv .git/config .git/c; echo x >planted; mkdir .git/hooks; rm -rf .git/hooks; '
                          'git -C "$2" config core.fsmonitor x; echo "gitdir: /tmp" >"$2/.git"; true', 'sh', main, tree],
                         options, cwd=tree)
    same_configuration(case, os.path.join(main, '.git'), before, 'hooks and settings', attack)
    case.check(not os.path.exists(os.path.join(main, 'planted')), 'the main checkout was written', attack)
    with open(os.path.join(tree, '.git'), encoding='utf-8') as file:
        case.check(file.read().startswith('gitdir: ' + main), 'the worktree\'s link was changed', attack)


@row('W-fs-1', 'a file .git cannot name any folder as its git directory and so make it writable')
def forged_worktree(case):
    """What lies behind the link must look like git's own, or a cloned project could name the home."""
    victim = os.path.join(case.outside, 'victim')
    os.makedirs(victim)
    for text in (f'gitdir: {victim}\n', f'gitdir: {case.outside}\n', f'gitdir: {case.home}\n', 'gitdir: /etc\n',
                 'gitdir: ../../outside/victim\n'):
        case.write('.git', text)
        before = Tree(case.outside)
        inside = case.inside(['sh', '-c', 'echo x >"$1/planted"; echo x >"$2/planted"; echo x >"$3/planted"; true', 'sh', victim,
                              case.outside, case.home])
        changes = before.changes()
        case.check(not changes, f'{text.strip()}: {changes[:3]}', inside)
        case.check(not os.path.exists(os.path.join(case.home, 'planted')), f'{text.strip()}: the home was written', inside)


@row('W-fs-1', 'push, fetch and clone with a local bare repository work; its hooks and settings stay protected')
def push(case):
    folder = project(case)
    bare = os.path.join(case.outside, 'bare.git')
    case.worked(case.plain(['git', 'init', '-q', '--bare', bare]), 'making a bare repository')
    case.worked(case.plain(['git', 'remote', 'add', 'origin', bare]), 'naming it')
    before = configuration(bare)

    def work():
        git(case, 'git push -q origin main; git fetch -q origin; git push -q origin main:other; git ls-remote origin', ['--write', bare])
        git(case, f'git clone -q "{bare}" /tmp/copy; cd /tmp/copy; test -f file', ['--write', bare])
    untouched(case, folder, work)
    case.same(case.plain(['git', 'log', '--format=%s', 'main'], cwd=bare).out, 'two\none\n', 'what arrived')
    attack = case.inside(['sh', '-c', 'cd "$1"; echo x >hooks/post-receive; echo x >>config; git config core.fsmonitor x; mv hooks h; '
                          'mv config c; true', 'sh', bare], ['--write', bare])
    same_configuration(case, bare, before, 'hooks and settings of the bare repository', attack)


@row('W-fs-1', 'modes, times and owners in the git folder are as git leaves them outside')
def same_traces(case):
    folder = project(case)
    git(case, 'echo x >new; git add new; git commit -qm new')
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            status = os.lstat(os.path.join(top, name))
            case.same((status.st_uid, status.st_gid), (os.getuid(), os.getgid()), f'owner of {name}')
            case.check(not stat.S_IMODE(status.st_mode) & 0o7002, f'mode of {name}: {status.st_mode:o}')
