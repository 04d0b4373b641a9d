"""With live rules, honest work does what it does without them."""
import os
import shutil
import signal
import subprocess

from fs_tree import Tree
from guard_trees import RULES, differences, shape
from harness import row
from harness_host import descendants

SEQUENCES, STEPS = int(os.environ.get('QSB_GUARD_SEQUENCES', '24')), 150
FIRST = int(os.environ.get('QSB_GUARD_SEED', '0'))


def unguarded(case):
    """The same policy with nothing in it that would need a guard."""
    return case.policy({'filesystem': {'protectNewNames': False, 'reportDenials': False}})


def open_folders(tree):
    """So that whoever looks at the tree gets into every folder; its other bits stay."""
    for folder, folders, _ in os.walk(tree):
        for name in folders:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700 | os.lstat(path).st_mode & 0o7777)


@row('W-guard-4', 'random sequences of file calls have the same results, and leave the same trees')
def same_results(case):
    tree = os.path.join(case.work, 'tree')

    def run(seed, options):
        if os.path.isdir(tree):
            open_folders(tree)
            shutil.rmtree(tree)
        start = os.path.join(tree, *'upwards')  # the calls go upwards now and then
        os.makedirs(start)
        outcome = case.inside([case.attack, 'guard-random', str(seed), str(STEPS)], options, cwd=start)
        case.worked(outcome)
        open_folders(tree)
        return outcome.out.splitlines(), shape(tree)

    answers = set()
    for seed in range(FIRST, FIRST + SEQUENCES):
        plain_calls, plain_tree = run(seed, unguarded(case))
        answers |= {tuple(line.split()[1:2] + line.split(' = ')[1].split()[1:2]) for line in plain_calls if ' = ' in line}
        for name, rule in RULES.items():
            calls, left = run(seed, rule)
            for number, (wanted, got) in enumerate(zip(plain_calls, calls)):
                case.same(got, wanted, f'seed {seed}, a rule about {name}, line {number}')
            case.same(len(calls), len(plain_calls), f'seed {seed}: calls')
            found = differences(left, plain_tree)
            case.check(not found, f'seed {seed}, a rule about {name}: ' + '; '.join(found[:8]))
    case.check(len(answers) > 4 * SEQUENCES, f'{len(answers)} kinds of answers: the sequences say little')


PROJECT = '''
set -e
mkdir -p src/deep && cd src
for i in 1 2 3 4 5 6 7 8 9; do echo "int f$i(void) { return $i; }" > f$i.c; done
ln -s f1.c link.c; ln f2.c hard.c; chmod 750 deep; touch -d @1000000000 f3.c
tar cf ../all.tar . && mkdir ../copy && tar xf ../all.tar -C ../copy
cp -a . ../second && mv ../second ../third && rm -r ../third/deep
(umask 077; echo private > private)
sed -i s/return/return\\ / f4.c
python3 - <<'P'
import os, sqlite3, tempfile
base = sqlite3.connect('data.db'); base.execute('create table t (x)'); base.execute('insert into t values (1)')
base.commit(); base.close()
with tempfile.NamedTemporaryFile(dir='.', delete=False) as file: file.write(b'x')
os.replace(file.name, 'replaced'); os.chmod('replaced', 0o640)
os.makedirs('p/q/r'); os.removedirs('p/q/r')
os.mkfifo('/tmp/pipe')
if os.fork() == 0: open('/tmp/pipe', 'w').write('through the pipe'); os._exit(0)
open('piped', 'w').write(open('/tmp/pipe').read()); os.wait()
P
echo "to the terminal's files" > /dev/stdout; cat /proc/self/comm < /dev/null > comm
'''


@row('W-guard-5', 'tar, cp, sed, sqlite, FIFOs and temporary files leave the same tree')
def same_tree(case):
    results = {}
    for name, rule in {'none': [], **RULES}.items():
        top = os.path.join(case.work, 'project')
        os.mkdir(top)
        outcome = case.inside(['sh', '-c', PROJECT], rule, cwd=top)
        case.same(outcome.code, 0, f'rule {name}', outcome)
        os.unlink(os.path.join(top, 'all.tar'))
        results[name] = (outcome.out, shape(top))
        shutil.rmtree(top)
    for name in RULES:
        case.same(results[name], results['none'], f'with a rule about {name}')


@row('W-guard-6', 'git init, add, commit, branch, merge, rebase, gc and clone work')
def git(case):
    case.control(shutil.which('git'), 'git is not installed')
    script = '''set -e
        export GIT_AUTHOR_DATE='@1000000000 +0000' GIT_COMMITTER_DATE='@1000000000 +0000'
        git init -q -b main . && git config user.email a@b && git config user.name n
        echo 1 > a && git add a && git commit -qm one
        git checkout -qb side && echo 2 > b && git add b && git commit -qm two
        git checkout -q main && echo 3 > c && git add c && git commit -qm three
        git merge -q side -m merge && git gc -q && git clone -q . ../clone && git worktree add -q ../tree side
        git stash list; git status --short; git log --format=%H'''
    answers = []
    for rule in ([], RULES['writing'], RULES['reading']):
        top = os.path.join(case.work, 'repo')
        os.makedirs(os.path.join(top, 'one'))
        outcome = case.inside(['sh', '-c', script], rule, cwd=os.path.join(top, 'one'))
        case.same(outcome.code, 0, 'git', outcome)
        answers.append((outcome.out, sorted(os.listdir(os.path.join(top, 'clone')))))
        shutil.rmtree(top)
    case.same(answers[1:], answers[:1] * 2, 'the same commits')


@row('W-guard-7', 'a C program is built and run; 32 processes that make files at once all succeed')
def many(case):
    script = '''set -e
        for p in $(seq 32); do
            (for i in $(seq 40); do echo $i > p$p-$i; mv p$p-$i q$p-$i; done) &
        done
        wait
        ls | grep -c ^q; rm q*; ls | grep -c ^[pq] || true'''
    inside = case.inside(['sh', '-c', script], RULES['writing'])
    case.same((inside.code, inside.out), (0, '1280\n0\n'), 'files of 32 processes', inside)
    if shutil.which('cc'):
        case.write('hello.c', '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
        for rule in RULES.values():
            inside = case.inside(['sh', '-c', 'cc -o hello hello.c && ./hello'], rule)
            case.same(inside.out, 'built\n', 'a program', inside)


@row('W-guard-8', 'a FIFO without its other end waits, is interrupted and is killed as without a guard')
def waiting(case):
    script = '''mkfifo /tmp/f
        timeout 1 sh -c 'echo x > /tmp/f'; echo $?
        timeout 1 cat /tmp/f; echo $?
        (sleep 0.3; echo late > /tmp/f) & cat /tmp/f
        python3 -c "import signal; signal.signal(signal.SIGALRM, lambda *a: print('alarm', flush=True)); signal.alarm(1)
try: open('/tmp/f', 'w', opener=lambda p, f: __import__('os').open(p, f))
except BaseException as e: print(e)" & sleep 1.6; cat /tmp/f; wait'''
    plain = case.inside(['sh', '-c', script])
    for rule in RULES.values():
        guarded = case.inside(['sh', '-c', script], rule)
        case.same((guarded.code, guarded.out), (plain.code, plain.out), 'FIFOs', guarded)


@row('W-guard-18', 'signals interrupt, restart, stop and kill calls as without a guard, and no others')
def signals(case):
    plain = case.inside([case.attack, 'guard-signals'], unguarded(case))
    case.control(plain.code == 0, f'it works without a guard: {plain.describe()}')
    for name, rule in RULES.items():
        guarded = case.inside([case.attack, 'guard-signals'], rule)
        case.same((guarded.code, guarded.out), (plain.code, plain.out), f'with a rule about {name}', guarded)


@row('A-guard-6', 'when the supervisor is killed, the tree under its guard dies, also while calls wait')
def supervisor_killed(case):
    script = 'echo up; while :; do echo x > a; rm a; done & mkfifo /tmp/f; cat /tmp/f & sleep 60'
    for rule in RULES.values():
        process = case.popen(case.sandboxed(['sh', '-c', script], rule))
        case.same(process.stdout.readline(), b'up\n', 'it runs')
        below = descendants(process.pid)
        case.check(below, 'the sandbox has processes')
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        case.wait_until(lambda: not any(os.path.exists(f'/proc/{pid}') and alive(pid) for pid in below), 'all are dead')
        process.stdout.close()
        process.stderr.close()


def alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


@row('A-guard-7', 'a flood of refusals is counted and bounded')
def flood(case):
    script = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo x > n$i.never; done 2>/dev/null; echo done'
    answer = case.result(['sh', '-c', script], RULES['writing'])
    case.same(answer['stdout'], 'done\n', 'the command ends', answer['outcome'])
    case.check(0 < len(answer['denials']) <= 200, f'{len(answer["denials"])} denials')
    case.same(Tree(case.work).changes(), [], 'the workspace')
    case.check(not [name for name in os.listdir(case.work) if name.endswith('.never')], 'nothing was made')
    case.check(subprocess.run(['true']).returncode == 0, 'the host goes on')


@row('W-guard-9', 'npm installs a package and runs its program, cmake builds: the same trees')
def builders(case):
    case.control(shutil.which('npm') and shutil.which('cmake'), 'npm and cmake are not both installed')
    case.write('dep/package.json', '{"name": "dep", "version": "1.0.0", "bin": {"dep": "x.js"}}')
    case.write('dep/x.js', '#!/usr/bin/env node\nconsole.log("from the package")\n')
    script = '''set -e
        export npm_config_cache=/tmp/cache
        npm pack --silent ../dep > /dev/null && npm init -y > /dev/null
        npm install --silent --offline --no-audit --no-fund ./dep-1.0.0.tgz && npx --offline dep
        printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x C)\\nadd_executable(x x.c)\\n' > CMakeLists.txt
        echo 'int main(void) { return 0; }' > x.c
        cmake -B b > /dev/null && cmake --build b > /dev/null && b/x && find . | sort'''
    answers = []
    for rule in ([], RULES['writing'], RULES['reading']):
        top = os.path.join(case.work, 'project')
        os.mkdir(top)
        outcome = case.inside(['sh', '-c', script], rule, cwd=top)
        case.same(outcome.code, 0, 'the build', outcome)
        answers.append(outcome.out)
        shutil.rmtree(top)
    case.same(answers[1:], answers[:1] * 2, 'what was said and made')


@row('W-guard-10', 'sockets are bound and connected to, by path, relative path and port')
def sockets(case):
    script = '''
import os, socket, sys, threading
SCRATCH = sys.argv[1]
os.mkdir('d'); os.umask(0o077)
for family, address in ((socket.AF_UNIX, 'here'), (socket.AF_UNIX, 'd/../d/here'), (socket.AF_UNIX, os.path.abspath('d/there')), (socket.AF_UNIX, SCRATCH),
                        (socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_INET6, ('::1', 0)), (socket.AF_UNIX, '\\0hidden')):
    server = socket.socket(family); server.bind(address); server.listen()
    if family == socket.AF_UNIX: print(server.getsockname())
    if family == socket.AF_UNIX and address[0] != '\\0': print(oct(os.stat(address).st_mode))
    thread = threading.Thread(target=lambda: server.accept()[0].sendall(b'served')); thread.start()
    client = socket.socket(family)
    client.connect(server.getsockname())
    if family == socket.AF_UNIX: print(client.getpeername())
    print(client.recv(10)); thread.join()
for address in ('here', 'no/folder'):
    try: socket.socket(socket.AF_UNIX).bind(address)
    except OSError as error: print(error.strerror)
try: socket.socket(socket.AF_INET).bind(('127.0.0.1', 80)); print('a low port')
except OSError as error: print(error.strerror)
print(len(socket.if_nameindex()))
'''
    scratch = os.path.join('/tmp', 'escape-' + os.path.basename(case.base))
    answers = []
    for rule in ([], RULES['writing'], RULES['reading']):
        top = os.path.join(case.work, 'sockets')
        os.mkdir(top)
        outcome = case.inside(['python3', '-c', script, scratch], rule, cwd=top)
        case.same(outcome.code, 0, 'sockets', outcome)
        answers.append(outcome.out)
        shutil.rmtree(top)
    case.same(answers[1:], answers[:1] * 2, 'answers')
    top = os.path.join(case.work, 'sockets')
    os.mkdir(top)
    case.cleanups.append(lambda: os.path.lexists(scratch) and os.unlink(scratch))
    outside = case.plain(['python3', '-c', script, scratch], cwd=top)
    case.control(outside.code == 0, f'sockets do not work outside: {outside.describe()}')
    served = answers[0].count('served')
    case.check(served == 7, 'every server must have been reached')
    for line in [line for line in outside.out.splitlines() if line[:1] in "b0'dh/"]:
        case.check(line in answers[0].splitlines(), f'{line!r} is what stands outside')


@row('W-guard-19', 'folder, umask, locks and programs are as the caller left them, also those that threads share')
def kept(case):
    def run(name, options):
        top = os.path.join(case.work, name)
        os.mkdir(top)
        argv = [case.attack, 'guard-kept', '300']
        outcome = case.plain(argv, cwd=top) if options is None else case.inside(argv, options, cwd=top)
        case.worked(outcome)

    run('outside', None)
    for name, rule in RULES.items():
        run(name, rule)
