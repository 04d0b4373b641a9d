"""Honest work on real projects: what works outside works inside, with the default policy and without a network."""
import os
import shutil
import sys

from fs_tree import describe
from harness import row


def needs(case, *tools):
    missing = [tool for tool in tools if not shutil.which(tool, path=case.env['PATH'])]
    case.control(not missing, f'not installed: {", ".join(missing)}')


def inside_as_outside(case, text, options=(), fresh=True, patience=240, **keywords):
    """The shell text says the same inside as outside. `fresh`: what it makes in `out` goes in between."""
    outside = case.plain(['sh', '-ec', text], patience=patience, **keywords)
    case.control(outside.code == 0, f'does not work outside: {outside.describe()}')
    if fresh:
        shutil.rmtree(os.path.join(case.work, 'out'), ignore_errors=True)
    before = describe(case.home), describe(case.base)
    inside = case.inside(['sh', '-ec', text], options, patience=patience, **keywords)
    case.same((inside.code, inside.out), (0, outside.out), 'inside as outside', inside)
    case.same((describe(case.home), describe(case.base)), before, 'the folders around the workspace')
    return inside


# -- Node ------------------------------------------------------------------------------------------------------------

def package(case, folder, name='left', script=''):
    case.write(f'{folder}/package.json', f'{{"name": "{name}", "version": "1.2.3", "main": "index.js", "bin": {{"{name}": "cli.js"}}'
               f'{script}}}')
    case.write(f'{folder}/index.js', 'module.exports = (text) => text.padStart(10, ".");\n')
    case.write(f'{folder}/cli.js', '#!/usr/bin/env node\nconsole.log(require("./index.js")(process.argv[2]));\n', 0o755)


@row('W-work-1', 'npm --version, node scripts, workers and child processes work')
def node(case):
    needs(case, 'node', 'npm')
    case.write('script.js', '''
const fs = require('fs'), os = require('os'), path = require('path'), {Worker} = require('worker_threads');
const {spawnSync, execFileSync} = require('child_process');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'x-'));
fs.writeFileSync(path.join(folder, 'f'), 'text');
console.log(fs.readFileSync(path.join(folder, 'f'), 'utf8'), spawnSync('cat', {input: 'through'}).stdout.toString());
console.log(execFileSync(process.execPath, ['-p', '1+1']).toString().trim());
const worker = new Worker('require("worker_threads").parentPort.postMessage(21 * 2)', {eval: true});
worker.on('message', (answer) => console.log('worker', answer));
require('http').createServer((q, a) => a.end('served')).listen(0, '127.0.0.1', function () {
  require('http').get({port: this.address().port, host: '127.0.0.1'}, (answer) => {
    answer.on('data', (d) => console.log(d.toString())).on('end', () => this.close());
  });
});
fs.watch('.', () => {}).close();
''')
    case.write('module.mjs', 'import {readFile} from "node:fs/promises"; console.log((await readFile("module.mjs")).length);\n')
    inside_as_outside(case, 'npm --version; node --version; node script.js | sort; node module.mjs; node --test-reporter=tap -e 0')


@row('W-work-1', 'npm install from a folder and a tarball, npm run, npm test, npx and npm ci work without a network')
def npm(case):
    needs(case, 'node', 'npm')
    package(case, 'left')
    package(case, 'right', 'right', ', "scripts": {"postinstall": "node -e \\"require(\'fs\').writeFileSync(\'installed\', \'yes\')\\""}')
    case.worked(case.plain(['npm', 'pack', '--silent', './right'], patience=120), 'packing')
    case.write('app/package.json', '{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js", "hello": "left hello"}}')
    case.write('app/test.js', 'console.log(require("left")("ok"), require("right")("ok"));\n')
    text = ('rm -rf out; cp -r app out; cd out; npm install --offline --no-audit --no-fund --silent ../left ../right-1.2.3.tgz; '
            'npm test --silent; npm run --silent hello; npx --offline left there; ls node_modules/right/installed; '
            'npm ci --offline --no-audit --no-fund --silent; npm ls --parseable | wc -l')
    case.env['npm_config_cache'] = os.path.join(case.work, 'npm-cache')
    inside_as_outside(case, text)


@row('W-work-1', 'npm install works though its cache in the home is not writable')
def npm_cache(case):
    needs(case, 'node', 'npm')
    package(case, 'left')
    case.write('app/package.json', '{"name": "app", "version": "1.0.0"}')
    case.worked(case.plain(['npm', 'pack', '--silent', './left'], patience=120), 'packing')
    for source in ('../left', '../left-1.2.3.tgz'):
        text = f'rm -rf out; cp -r app out; cd out; npm install --offline --no-audit --no-fund --silent {source}; npx --offline left there'
        outside = case.plain(['sh', '-ec', text], patience=120)
        case.control(outside.code == 0, f'does not work outside: {outside.describe()}')
        # Where there is a cache it stays in reach, to be read: npm ci works from it, and a tarball, which npm must write, does not.
        shutil.rmtree(os.path.join(case.home, '.npm'), ignore_errors=True)
        inside = case.inside(['sh', '-ec', text], patience=120)
        case.same((inside.code, inside.out), (0, outside.out), source, inside)
        case.check(not os.path.exists(os.path.join(case.home, '.npm')), 'nothing is written in the home', inside)


@row('W-work-1', 'a cache of npm\'s that is there stays in reach, one that the caller names is used')
def npm_cache_there(case):
    needs(case, 'npm')
    os.makedirs(os.path.join(case.home, '.npm/_cacache'))
    for cache in (None, os.path.join(case.work, 'mine')):
        if cache:
            case.env['NPM_CONFIG_CACHE'] = cache
        inside = case.inside(['npm', 'config', 'get', 'cache'], patience=60)
        case.same(inside.out.strip(), cache or os.path.join(case.home, '.npm'), 'the cache', inside)


# -- Python ----------------------------------------------------------------------------------------------------------

def system_python(case):
    """The system's own Python, which has pytest and xdist from the distribution."""
    for python in ('/usr/bin/python3', sys.executable):
        if case.plain([python, '-c', 'import pytest, xdist']).code == 0:
            return python
    case.control(False, 'pytest and xdist are not installed')


@row('W-work-2', 'python -m venv and an installed package in it work')
def venv(case):
    python = system_python(case)
    case.control(case.plain([python, '-c', 'import venv, ensurepip']).code == 0, 'venv is not installed')
    case.write('package/setup.py', 'from setuptools import setup\nsetup(name="mine", version="1.0", py_modules=["mine"])\n')
    case.write('package/mine.py', 'def answer(): return 42\n')
    inside_as_outside(case, f'rm -rf out; {python} -m venv --system-site-packages out; out/bin/python -c "import sys; '
                            'print(sys.prefix.rsplit(\'/\', 1)[1])"; cp package/mine.py out/lib/python3*/site-packages/; '
                            'cd /; "$OLDPWD/out/bin/python" -c "import mine; print(mine.answer())"; cd "$OLDPWD"; '
                            'out/bin/python -m pip --version | cut -d" " -f1; out/bin/python -m compileall -q out/lib | wc -l')


@row('W-work-2', 'pytest works, in one process and with xdist on several')
def pytest(case):
    python = system_python(case)
    case.write('tests/test_some.py', '''
import multiprocessing, os, pytest, socket, subprocess, tempfile, threading
@pytest.mark.parametrize("n", range(20))
def test_square(n, tmp_path):
    (tmp_path / "f").write_text(str(n * n)); assert int((tmp_path / "f").read_text()) == n * n
def twice(n): return 2 * n
def test_pool():
    with multiprocessing.Pool(2) as pool: assert pool.map(twice, range(50)) == [2 * n for n in range(50)]
def test_shared():
    with multiprocessing.Manager() as manager:
        values = manager.list(); lock = manager.Lock()
        with lock: values.append(1)
        assert list(values) == [1]
def test_network():
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: server.accept()[0].sendall(b"x"), daemon=True).start()
    assert socket.create_connection(server.getsockname()).recv(1) == b"x"
def test_program(capfd): subprocess.run(["echo", "out"], check=True); assert capfd.readouterr().out == "out\\n"
''')
    for options in ('-p no:cacheprovider', '-n 2', '-n 2 --dist loadfile', '-p no:xdist --capture=sys'):
        inside_as_outside(case, f'{python} -B -m pytest -q {options} tests | grep -o "[0-9]* passed"')


@row('W-work-2', 'asyncio, subprocess pipes, signals, select and ssl contexts of Python work')
def python_parts(case):
    case.write('parts.py', '''
import asyncio, concurrent.futures, ctypes, os, signal, sqlite3, ssl, subprocess, sys, time, zipfile
async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await process.communicate(b"through"))[0])
    server = await asyncio.start_unix_server(lambda r, w: w.write(b"u") or w.close(), "own.sock")
    reader, writer = await asyncio.open_unix_connection("own.sock"); print(await reader.read(1)); server.close()
asyncio.run(main()); os.unlink("own.sock")
with concurrent.futures.ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-1, 2])))
signal.signal(signal.SIGUSR1, lambda *_: print("signal")); os.kill(os.getpid(), signal.SIGUSR1)
print(ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED, os.cpu_count() > 0, time.localtime().tm_year > 2000)
print(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode, len(os.urandom(8)), os.getlogin.__name__)
import pwd, locale, getpass; print(pwd.getpwuid(os.getuid()).pw_name == getpass.getuser())
''')
    inside_as_outside(case, 'python3 parts.py')


# -- C, make, Rust -----------------------------------------------------------------------------------------------------

@row('W-work-3', 'a C project builds with make -j and gcc, and its tests run')
def make(case):
    needs(case, 'make', 'gcc')
    for number in range(12):
        case.write(f'src/part{number}.c', f'int part{number}(void) {{ return {number}; }}\n')
    case.write('src/main.c', '#include <stdio.h>\n#include <math.h>\n' + ''.join(f'int part{n}(void);\n' for n in range(12))
               + 'int main(void) { printf("%d %.0f\\n", ' + ' + '.join(f'part{n}()' for n in range(12)) + ', sqrt(16.0)); return 0; }\n')
    case.write('Makefile', 'OBJECTS = $(patsubst src/%.c,out/%.o,$(wildcard src/*.c))\nout/program: $(OBJECTS)\n\t$(CC) -o $@ $^ -lm\n'
               'out/%.o: src/%.c | out\n\t$(CC) -g -O2 -c -o $@ $<\nout:\n\tmkdir -p out\n'
               'check: out/program\n\t./out/program\n\tar rcs out/all.a $(OBJECTS)\n\tranlib out/all.a\n')
    inside_as_outside(case, 'make -s -j4 check; make -q out/program && echo up to date; gcc -shared -fPIC -o out/lib.so src/part1.c && '
                            'python3 -c "import ctypes; print(ctypes.CDLL(\'./out/lib.so\').part1())"; strip out/program; ./out/program')


@row('W-work-3', 'configure-like scripts, pkg-config, find, xargs, tar, patch and sed -i work')
def scripts(case):
    case.write('a/one', 'first\n')
    case.write('a/two', 'second\n')
    inside_as_outside(case, 'mkdir out; cp -r a out/; cd out; sed -i s/first/1st/ a/one; find a -type f | sort | xargs -P2 -n1 cat | sort; '
                            'tar czf a.tgz a; mkdir b; tar xzf a.tgz -C b; diff -r a b/a && echo same; cp a/two new; echo third >>new; '
                            'diff -u a/two new >p || true; patch -s a/two p; cat a/two; sort -o new new; split -b 4 new part; ls | wc -l; '
                            'echo "int main(){return 3;}" >c.c; gcc -o c c.c; ./c || echo $?; for i in $(seq 50); do (echo $i) & done | sort -n | tail -n1; wait')


@row('W-work-3', 'cargo builds and tests a crate without dependencies')
def cargo(case):
    needs(case, 'cargo')
    case.write('crate/Cargo.toml', '[package]\nname = "some"\nversion = "0.1.0"\nedition = "2021"\n')
    case.write('crate/src/main.rs', 'fn twice(n: u32) -> u32 { 2 * n }\nfn main() { println!("{}", twice(21)); }\n'
               '#[test]\nfn works() { assert_eq!(twice(2), 4); }\n')
    inside_as_outside(case, 'mkdir -p out; cp -r crate out/; cd out/crate; export CARGO_HOME=$PWD/home; cargo run -q --offline; '
                            'cargo test -q --offline 2>&1 | grep -o "1 passed"')


# -- data and shells -------------------------------------------------------------------------------------------------

@row('W-work-4', 'the sqlite3 tool with a write-ahead log and two processes works')
def sqlite(case):
    needs(case, 'sqlite3')
    inside_as_outside(case, 'mkdir out; cd out; sqlite3 b.db "pragma journal_mode=wal; create table t(x integer);"; '
                            'for i in 1 2 3 4; do (for j in 1 2 3 4 5; do sqlite3 -cmd ".timeout 20000" b.db "insert into t values($i);"; done) & done; '
                            'wait; sqlite3 b.db "select count(*), sum(x) from t; pragma integrity_check; vacuum; .dump" | tail -n 3')


@row('W-work-4', 'bash with job control, here-documents, process substitution, traps and pipes works')
def bash(case):
    needs(case, 'bash')
    case.write('s.sh', 'set -euo pipefail\ncat <<X\nhere $((6*7))\nX\ndiff <(echo a) <(echo a) && echo same\ntrap "echo bye" EXIT\n'
               'set -m; sleep 0.1 & wait %1; echo "job $?"\ncoproc cat; echo x >&"${COPROC[1]}"; read -r y <&"${COPROC[0]}"; echo "$y"; '
               'eval "exec ${COPROC[1]}>&-"; wait\nmapfile -t l < <(seq 3); echo "${#l[@]}"; printf "%s\\n" "!" "\\$HOME" "a;b" | sort\n'
               'exec 5>fd5; echo z >&5; cat fd5; rm fd5; umask; ulimit -c; echo "$BASHPID" | grep -c .\n')
    inside_as_outside(case, 'bash s.sh')


@row('W-work-5', 'git hooks that the user set up run inside on commit')
def own_hooks(case):
    needs(case, 'git')
    case.write(os.path.join(case.home, '.gitconfig'), '[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n')
    case.worked(case.plain(['sh', '-ec', 'git init -q repo; printf "#!/bin/sh\\necho hook ran >&2\\n" >repo/.git/hooks/pre-commit; '
                            'chmod 755 repo/.git/hooks/pre-commit']), 'a repository with a hook')
    inside_as_outside(case, 'cd repo; echo x >>f; git add f; git commit -qm x 2>&1; git status --short')
