"""What a run leaves in git folders: told, and out of the reach of the host's git."""
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import time

from fs_git import project
from guard_git import AROUND, CONFIG, ran, tool
from harness import row
from harness_host import descendants

BARE = '''
git init -q --bare x.git; mkdir -p x.git/hooks; cp tool.sh x.git/hooks/pre-receive; echo mine >x.git/hooks/pre-receive.quarantined
mkdir -p g/objects g/refs/heads; cp x.git/HEAD g; printf '[core]\\n\\tbare = false\\n\\tfsmonitor = %s\\n' "$PWD/tool.sh" >g/config
mkdir -p h/objects h/refs/heads m; cp x.git/HEAD h; ln -s ../m h/hooks; cp tool.sh m/post-commit; cp x.git/config h
sed -i s/true/false/ h/config; mkdir a b; echo "gitdir: ../g" >a/.git; echo "gitdir: ../h" >b/.git
mkdir p; cp -r h p/q; mv p z; mkdir -p s/objects s/refs s/hooks; cp tool.sh s/hooks/update; chmod 500 s/hooks; chmod 0 s
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
                case.plain(['chmod', '-R', 'u+rwx', gone])
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
              ('gitHook', 's/hooks/update', 'update'),
              ('gitHook', 'x.git/hooks/pre-receive', 'pre-receive'), ('gitHook', 'z/q/hooks', 'hooks')]
    case.same(names(told), wanted, 'findings with "report"')
    case.same(names(moved), wanted, 'findings')
    shut = os.path.join(case.work, 's')
    case.same(stat.S_IMODE(os.stat(shut).st_mode), 0, 'what was shut')
    os.chmod(shut, 0o700)
    case.same(stat.S_IMODE(os.stat(shut + '/hooks').st_mode), 0o500, 'what was shut')
    for finding in moved['findings']:
        last = '.quarantined.2' if finding['what'] == 'pre-receive' else '.quarantined'
        case.same(finding['movedTo'], finding['path'] + last, 'where it was moved')
        case.check(os.path.lexists(finding['movedTo']) and not os.path.lexists(finding['path']), 'it was not moved')
    case.same(open(os.path.join(case.work, 'x.git/hooks/pre-receive.quarantined'), encoding='utf-8').read(), 'mine\n',
              'what had that name')
    case.same(moved['findingsLeftOut'], 0, 'left out')
    outcome = case.inside(['sh', '-c', 'mkdir -p n/objects n/refs n/hooks; echo >n/hooks/update'])
    case.check('n/hooks/update.quarantined' in outcome.err and outcome.code == 0, 'a person is not told', outcome)


NODES = """
import os, stat, sys
os.mkdir('d'); os.mkdir('a')
for name, text in (('HEAD', 'ref: refs/heads/x'), ('commondir', '../old/.git')):
    os.mknod('d/' + name, stat.S_IFREG | 0o644)
    open('d/' + name, 'r+').write(text + chr(10))
open('d/config.worktree', 'w').write('[core]' + chr(10) + 'fsmonitor = ' + sys.argv[1] + chr(10))
open('a/.git', 'w').write('gitdir: ../d' + chr(10))
"""


@row('A-git-4', 'a git folder whose files were made by mknod is looked at as well')
def by_nodes(case):
    case.worked(case.plain(['git', 'config', 'extensions.worktreeConfig', 'true'], cwd=project(case, 'old')))
    path, marker = tool(case)
    for inside in (False, True):
        for name in ('a', 'd'):
            shutil.rmtree(os.path.join(case.work, name), ignore_errors=True)
        argv = ['python3', '-c', NODES, path]
        answer = case.result(argv) if inside else None
        case.worked(answer['outcome'] if inside else case.plain(argv))
        case.plain(['git', 'status'], cwd=os.path.join(case.work, 'a'))
        if not inside:
            case.control(ran(marker), 'the setting does nothing outside')
            os.unlink(marker)
    case.same([(os.path.relpath(finding['path'], case.work), finding['what']) for finding in answer['findings']],
              [('d/config.worktree', 'core.fsmonitor')], 'findings', answer['outcome'])
    case.check(not ran(marker), 'the host\'s git ran the program', answer['outcome'])


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


@row('W-git-6', 'what the caller allows by name is no finding, and stays')
def allowed(case):
    folder = project(case)
    for name in ('post-commit', 'post-merge'):
        case.write(f'.git/hooks/{name}', '#!/bin/sh\n', 0o755)
    bare = os.path.join(case.work, 'bare.git')
    text = 'echo "#!/bin/sh" >.git/hooks/pre-push; chmod +x .git/hooks/*; echo "# mine" >>.git/hooks/post-commit'
    case.worked(case.plain(['git', 'init', '-q', '--bare', bare]))
    for options, commands in ((['--write', '.git/hooks'], text),
                              (['--write', '.git/hooks/post-merge'], 'echo "#!/bin/sh" >.git/hooks/post-merge'),
                              (['--write', 'bare.git/hooks'], 'echo "#!/bin/sh" >bare.git/hooks/update')):
        answer = case.result(['sh', '-c', commands], options)
        case.same(answer['exitCode'], 0, 'writing what is allowed', answer['outcome'])
        case.same(answer['findings'], [], 'findings', answer['outcome'])
    left = sorted(name for name in os.listdir(os.path.join(folder, '.git/hooks')) if not name.endswith('.sample'))
    case.same(left, ['post-commit', 'post-merge', 'pre-push'], 'the hooks')


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


FLOOD = """
import os, sys
made = 0
for n in range(400):
    top = 'flood/%d/' % n
    try:
        os.makedirs(top + 'objects'); os.makedirs(top + 'refs/heads')
        open(top + 'config', 'w').write('[core]\\n\\tfsmonitor = ' + sys.argv[1] + '\\n')
        open(top + 'HEAD', 'w').write('ref: refs/heads/x\\n')
        made += 1
    except OSError: pass
print(made)
"""


@row('A-git-8', 'a flood of git folders leaves none that was not looked at')
def git_flood(case):
    path, _ = tool(case)
    script = case.write(os.path.join(case.outside, 'flood.py'), FLOOD)

    def left():
        tops = [os.path.join(case.work, 'flood', name) for name in os.listdir(os.path.join(case.work, 'flood'))]
        return sum(os.path.exists(os.path.join(top, 'config')) and os.path.exists(os.path.join(top, 'objects')) and
                   os.path.exists(os.path.join(top, 'refs')) for top in tops)

    def limited(argv):
        return ['sh', '-c', 'ulimit -Sn 1024 && ulimit -Hn 1024 && exec "$@"', 'sh', *argv]
    outside = case.plain(limited(['python3', script, path]))
    case.control(outside.code == 0 and left() == 400, f'the flood does not come about outside: {outside.err}')
    shutil.rmtree(os.path.join(case.work, 'flood'))
    outcome = case.plain(limited(case.sandboxed(['python3', script, path], ['--json'])))
    case.worked(outcome)
    answer = json.loads(outcome.out)
    made = int(answer['stdout'])
    case.check(50 < made < 300, f'{made} folders were made', outcome)
    case.check(any('looked at' in (denial.get('detail', '')) for denial in answer['denials']), 'no denial says why', outcome)
    case.same(left(), 0, 'git folders with settings that nobody looked at', outcome)
    case.check(len(answer['findings']) + answer['findingsLeftOut'] >= made, 'each is a finding', outcome)


@row('W-git-6', 'hundreds of git folders are made where a soft limit on open files is as low as usual')
def many(case):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    case.control(hard >= 4096, f'this host gives nobody more than {hard} open files')
    script = 'i=0; while [ $i -lt 400 ]; do i=$((i+1)); mkdir -p r$i/.git/objects r$i/.git/refs; done'
    outcome = case.plain(['sh', '-c', 'ulimit -Sn 1024 && exec "$@"', 'sh',
                          *case.sandboxed(['sh', '-c', script], ['--json'])])
    case.worked(outcome)
    answer = json.loads(outcome.out)
    case.same((answer['denials'], answer['findingsLeftOut']), ([], 0), 'what was refused', outcome)
    case.check(os.path.isdir(os.path.join(case.work, 'r400/.git/refs')), 'the last of them', outcome)


@row('A-git-9', 'findings are events, and come before the end')
def finding_events(case):
    project(case, 'old')
    tool(case)
    events = os.path.join(case.base, 'events')
    argv = case.sandboxed(['sh', '-c', BARE], ['--events-fd', '3'])
    case.worked(case.plain(['sh', '-c', f'exec "$@" 3>{events}', 'sh', *argv]))
    told = [json.loads(line) for line in open(events, encoding='utf-8')]
    case.same([event['event'] for event in told][-6:], ['finding'] * 5 + ['ended'], 'the last events')
    case.check(all(event['finding']['movedTo'] for event in told if event['event'] == 'finding'), 'where they went')


OLD = '''
printf '[core]\\n\\tbare = true\\n\\thooksPath = /nowhere\\n' >target/a.git/config; cp tool.sh target/b.git/hooks/post-receive
mv new target/c.git/hooks/pre-receive; mv target/d.git/hooks x; mv made target/d.git/hooks
cat tool.sh 1<>target/e.git/hooks/update; ln -s ../../../tool.sh target/f.git/hooks/post-update; cp HEAD target/g.git/description
'''


@row('A-git-4', 'what a run writes into git folders that no rule holds is told and moved, and nothing else in them is')
def unheld(case):
    path, _ = tool(case)
    for name in 'abcdefg':
        folder = f'target/{name}.git'
        case.worked(case.plain(['git', 'init', '-q', '--bare', folder], env={**case.env, 'GIT_TEMPLATE_DIR': ''}))
        case.worked(case.plain(['git', '-C', folder, 'config', 'alias.x', '!true']))
        case.write(f'{folder}/hooks/update', '#!/bin/sh\n', 0o755)
        case.write(f'{folder}/hooks/post-merge', '#!/bin/sh\n', 0o755)
    for place in ('new', 'made/update'):
        case.write(place, open(path, encoding='utf-8').read(), 0o755)
    case.write('HEAD', 'x')
    case.pause()
    answer = case.result(['sh', '-c', OLD])
    moved = sorted(os.path.relpath(finding['path'], case.work) for finding in answer['findings'] if finding['movedTo'])
    case.same(moved, ['target/a.git/config', 'target/b.git/hooks/post-receive', 'target/c.git/hooks/pre-receive',
                      'target/d.git/hooks/update', 'target/e.git/hooks/update', 'target/f.git/hooks/post-update'],
              'what was moved', answer['outcome'])
    told = sorted(os.path.relpath(finding['path'], case.work) for finding in answer['findings'] if not finding['movedTo'])
    case.same(told, ['target/d.git/config'], 'what was told of a folder that got other hooks')
    case.same(answer['findingsLeftOut'], 0, 'left out')


TAKEN = '''import os, sys
HOOK = '#!/bin/sh\\n'
def make(top):
    for part in ('objects', 'refs', 'hooks'):
        os.makedirs(os.path.join(top, part))
    for name, text in (('HEAD', 'ref: refs/heads/x\\n'), ('config', '[core]\\n\\tbare = true\\n'), ('hooks/update', HOOK)):
        open(os.path.join(top, name), 'w').write(text)
for number in range(230):
    make('many/%d' % number)
make('taken')
for number in range(1, 1001):
    open('taken/hooks/update.quarantined' + ('' if number == 1 else '.%d' % number), 'w').close()
start = os.getcwd()
os.mkdir('long')
os.mkdir('low')
for folder in ('long', 'low'):
    os.chdir(os.path.join(start, folder))
    for _ in range(10):
        os.mkdir('d' * 240)
        os.chdir('d' * 240)
    if folder == 'low':
        make('far')
os.chdir(start)
os.rename('low', 'long/' + '/'.join(['d' * 240] * 10) + '/low')
'''


@row('A-git-4', 'neither many findings, nor taken names, nor a path that is too long keep what a run left from being moved')
def taken(case):
    script = case.write(os.path.join(case.outside, 'taken.py'), TAKEN)
    answer = case.result(['python3', script])
    case.worked(answer['outcome'])
    for top, _, names in os.walk(os.path.join(case.work, 'many')):
        case.check('update' not in names, f'{top} still has its hook', answer['outcome'])
    case.same(len(os.listdir(os.path.join(case.work, 'many'))), 230, 'folders')
    hooks = os.listdir(os.path.join(case.work, 'taken/hooks'))
    case.check('update' not in hooks and len(hooks) == 1001, f'{len(hooks)} files are there', answer['outcome'])
    found = os.open(os.path.join(case.work, 'long'), os.O_PATH)
    for name in ['d' * 240] * 10 + ['low'] + ['d' * 240] * 10 + ['far', 'hooks']:
        below = os.open(name, os.O_RDONLY, dir_fd=found)
        os.close(found)
        found = below
    case.same(os.listdir(found), ['update.quarantined'], 'at the end of a path that is too long', answer['outcome'])
    os.close(found)
    case.worked(case.plain(['rm', '-rf', 'long']))
    case.same(len(answer['findings']) + answer['findingsLeftOut'], 232, 'findings')


LONG = '''import os
open('config', 'w').write('[a]\\n' + 'b=c\\n' * 250000)
for number in range(400):
    os.makedirs('long/%d/objects' % number)
    os.mkdir('long/%d/refs' % number)
    os.link('config', 'long/%d/config' % number)
'''


@row('A-git-8', 'long settings in many git folders do not keep the end of a run waiting, and none is left unseen')
def long_settings(case):
    script = case.write(os.path.join(case.outside, 'long.py'), LONG)
    start = time.monotonic()
    answer = case.result(['python3', script])
    case.check(time.monotonic() - start < 40, f'it took {time.monotonic() - start:.0f} s', answer['outcome'])
    case.worked(answer['outcome'])
    left = sum('config' in names for _, _, names in os.walk(os.path.join(case.work, 'long')))
    case.check(0 < left < 40, f'{left} of them were read', answer['outcome'])
    case.same(len(answer['findings']) + answer['findingsLeftOut'], 400 - left, 'findings')
