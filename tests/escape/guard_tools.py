"""The tools that people use most leave the same tree under the guard as without any sandbox."""
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile

from guard_trees import Work
from harness import row

# What every tool finds: nothing of the home, and a folder for temporary files that goes before the trees are compared.
SETTINGS = 'export TMPDIR="$PWD/tmp" LC_ALL=C TZ=UTC\n'


def needs(case, *tools):
    missing = [tool for tool in tools if not shutil.which(tool, path=case.env['PATH'])]
    case.control(not missing, f'not installed: {", ".join(missing)}')


def write(top, path, text, mode=0o644):
    path = os.path.join(top, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


# -- git -------------------------------------------------------------------------------------------------------------

# New repositories get no hooks inside, by design: the same outside. Packs made by several threads differ by chance.
GIT = SETTINGS + '''
export GIT_TEMPLATE_DIR= GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_EDITOR=true
export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='@1000000000 +0000' GIT_COMMITTER_DATE='@1000000000 +0000'
export GIT_CONFIG_COUNT=4 GIT_CONFIG_KEY_0=pack.threads GIT_CONFIG_VALUE_0=1 GIT_CONFIG_KEY_1=gc.auto GIT_CONFIG_VALUE_1=0
export GIT_CONFIG_KEY_2=protocol.file.allow GIT_CONFIG_VALUE_2=always GIT_CONFIG_KEY_3=init.defaultBranch GIT_CONFIG_VALUE_3=main
commit() { mkdir -p "$(dirname "$1")"; echo "$2" >> "$1"; git add "$1"; git commit -qm "$2"; }
'''
# The index holds times and inode numbers.
GIT_FORGET = ('*/index', '*/index.lock', '*/fsmonitor*')

GIT_WORK = GIT + '''
git init -q one; cd one; git config user.name n; git config user.email a@b
commit a 1; commit dir/deep/b 2; ln -s a link; printf '#!/bin/sh\\n' > tool; chmod +x tool; git add .; git commit -qm 3
git checkout -qb side HEAD~1; commit c 4; commit d 5; git checkout -q main; commit e 6
git merge -q --no-ff -m merge side; git tag -a -m tag v1; git branch -m side old
git checkout -qb conflict HEAD~2; commit a 7; commit e 8; if git merge main; then exit 3; fi > /dev/null; git merge --abort
git checkout -q old; GIT_SEQUENCE_EDITOR='sed -i "2s/pick/squash/"' git rebase -qi HEAD~2
git rebase -q main; git cherry-pick -x conflict > /dev/null 2>&1 || git cherry-pick --abort
git checkout -q main; git revert --no-edit HEAD~0 -m 1 > /dev/null
echo change >> a; echo new > untracked; git stash push -qu -m kept; git stash list; git stash pop -q; git clean -qfd
git checkout -q -- a; git mv e moved; git rm -q link; git commit -qm moved; git reset -q --soft HEAD~1; git commit -qam again
git notes add -m note; git worktree add -q -b tree ../tree; (cd ../tree; commit t 9); git worktree move ../tree ../tree2
git worktree add -q --detach ../gone; git worktree remove ../gone; git worktree list | wc -l
git bundle create -q ../all.bundle --all; git format-patch -q -o ../patches HEAD~2; git archive -o ../source.tar HEAD
git gc -q --prune=now; git repack -adq; git pack-refs --all; git fsck 2>&1 | grep -v notice || true
cd ..; git clone -q one two; git clone -q --bare one bare.git; git clone -q all.bundle three; git clone -q --depth 1 "file://$PWD/one" four
cd two; git remote rename origin first; git remote add bare ../bare.git; commit pushed 10; git push -q bare HEAD:pushed
git checkout -qb topic; git push -qu bare topic; git fetch -q --all; git pull -q --rebase bare main 2>/dev/null
git am -q ../patches/*1* 2>/dev/null || git am --abort; git sparse-checkout set dir; ls
cd ../bare.git; git update-ref refs/heads/x main; git symbolic-ref HEAD refs/heads/x; git branch -D pushed -q
cd ../one; git log --all --format='%H %s' | sort; git status --short; git blame -s a; git rev-list --objects --all | wc -l
'''


@row('W-guard-11', 'git leaves the same tree as outside: merges, rebases, stashes, worktrees, bundles, clones, pushes, gc')
def git(case):
    needs(case, 'git')
    Work(case, GIT_WORK, forget=GIT_FORGET).compare(('writing', 'reading'))


@row('W-guard-11', 'git leaves the same tree as outside: a clone with its submodules, worked on in both')
def git_submodules(case):
    needs(case, 'git')

    def prepare(top):
        script = GIT + '''
git init -q library; cd library; commit l 1; cd ..; git init -q source; cd source; commit a 2
git submodule add -q "file://$PWD/../library" parts/library; git commit -qm submodule; git config -f .gitmodules --list'''
        subprocess.run(['sh', '-ec', script], cwd=top, check=True, stdout=subprocess.DEVNULL, env=case.env)

    # What is protected in the repository stands behind mounts of its own, which git does not link across: a clone by
    # path copies its files, with another mode. So no local clone.
    Work(case, GIT + '''
git clone -q --recurse-submodules --no-local source work; cd work; git submodule status; cd parts/library; git checkout -q -b mine
commit m 3; cd ../..; git add parts; git commit -qm bump; git submodule -q update --init; git submodule foreach -q 'echo $name'
git submodule -q deinit -f --all; git submodule -q update --init; git log --format=%H
''', prepare, forget=GIT_FORGET).compare()


def pack(path, files):
    """A compressed archive that is the same each time."""
    with gzip.GzipFile(path, 'wb', mtime=0) as stream, tarfile.open(fileobj=stream, mode='w') as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(file)
            entry.size, entry.mtime = len(text), 499162500
            entry.mode = 0o755 if '/bin/' in file else 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))


# -- Node ------------------------------------------------------------------------------------------------------------

def tarball(top, name, version='1.0.0', more=''):
    """A package as a registry would hand it out: with a program, a folder, and files that tools trust elsewhere."""
    files = {
        'package.json': f'{{"name": "{name}", "version": "{version}", "bin": {{"{name}": "bin/cli.js"}}{more}}}',
        'bin/cli.js': f'#!/usr/bin/env node\nconsole.log("{name} {version}");\n',
        'index.js': f'module.exports = "{name}";\n', 'lib/deep/data.json': '{}', 'README.md': '# readme\n',
        **{f'lib/part{number}.js': f'exports.n = {number};\n' for number in range(40)}}
    path = os.path.join(top, f'{name}-{version}.tgz')
    pack(path, {'package/' + file: text for file, text in files.items()})


SCRIPT = ', "scripts": {"postinstall": "node -e \\"require(\'fs\').writeFileSync(\'built\', \'yes\')\\""}'


def node_project(top):
    tarball(top, 'left')
    tarball(top, 'left', '2.0.0')
    tarball(top, 'right', more=SCRIPT)
    write(top, 'app/package.json', '{"name": "app", "version": "1.0.0", "private": true, "workspaces": ["packages/*"], '
          '"scripts": {"hello": "left && inner"}, "dependencies": {"left": "file:../left-1.0.0.tgz", "right": "file:../right-1.0.0.tgz"}}')
    write(top, 'app/pnpm-workspace.yaml', 'packages:\n  - packages/*\n')
    write(top, 'app/packages/inner/package.json', '{"name": "inner", "version": "1.0.0", "bin": {"inner": "run.js"}, '
          '"dependencies": {"left": "file:../../../left-1.0.0.tgz"}}')
    write(top, 'app/packages/inner/run.js', '#!/usr/bin/env node\nconsole.log("inner", require("left"));\n', 0o755)
    write(top, 'app/packages/outer/package.json', '{"name": "outer", "version": "1.0.0"}')


def node_tool(case, name):
    """Where scripts/node-tools puts it: root's folder serves everybody."""
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    for folder in (os.environ.get('QSB_NODE_TOOLS'), '/var/cache/qiming-sandbox/tools', os.path.join(home, 'qiming-sandbox/tools')):
        path = os.path.join(folder or '', 'node_modules', '.bin', name)
        if folder and os.access(path, os.X_OK):
            return path
    return case.control(False, f'{name} is not there: scripts/node-tools fetches it')


@row('W-guard-12', 'npm leaves the same tree as outside: workspaces, programs, scripts, upgrades, npm ci')
def npm(case):
    needs(case, 'node', 'npm')
    Work(case, SETTINGS + '''
export npm_config_cache="$TMPDIR/npm" npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export npm_config_loglevel=silent
cd app; npm install; cat node_modules/right/built; npm run --silent hello; npm install ../left-2.0.0.tgz; npx left
npm install -w outer ../right-1.0.0.tgz; npm uninstall -w outer right; npm ci; npm ls --all; npm rebuild > /dev/null; npm prune
npm pack --silent -w inner; npm version --no-git-tag-version minor; npm exec -- left
mkdir ../global; npm install -g --prefix ../global ../left-1.0.0.tgz; ../global/bin/left
''', node_project).compare()


@row('W-guard-12', 'pnpm leaves the same tree as outside: its store of hard links, workspaces, programs, scripts')
def pnpm(case):
    needs(case, 'node')
    tool = node_tool(case, 'pnpm')
    Work(case, SETTINGS + f'''
export XDG_CACHE_HOME="$TMPDIR" XDG_STATE_HOME="$TMPDIR" XDG_DATA_HOME="$TMPDIR" CI=1 npm_config_update_notifier=false
pnpm() {{ node {tool} --config.store-dir="$store" --config.offline=true "$@"; }}
store=$PWD/store; cd app; pnpm install --no-frozen-lockfile > /dev/null; cat node_modules/right/built; node_modules/.bin/left
(cd packages/inner && node run.js); pnpm add -w ../left-2.0.0.tgz > /dev/null; node_modules/.bin/left
pnpm remove -w right > /dev/null; rm -r node_modules; pnpm install --frozen-lockfile > /dev/null; ls node_modules packages/*/node_modules
''', node_project, forget=('*/.modules.yaml', '*/.pnpm-workspace-state.json', 'store/*/index/*', 'store/*/*-index.json')).compare()


@row('W-guard-12', 'yarn leaves the same tree as outside: workspaces, programs, scripts, upgrades')
def yarn(case):
    needs(case, 'node')
    tool = node_tool(case, 'yarn')
    Work(case, SETTINGS + f'''
export XDG_CACHE_HOME="$TMPDIR" XDG_CONFIG_HOME="$TMPDIR" YARN_CACHE_FOLDER="$TMPDIR/yarn" YARN_DISABLE_SELF_UPDATE_CHECK=true
yarn() {{ node {tool} --offline --silent --non-interactive --use-yarnrc /dev/null --no-default-rc "$@" 2>&1 | grep -v warning || true; }}
cd app; yarn install; cat node_modules/right/built; node_modules/.bin/left; node_modules/.bin/inner; yarn run hello
yarn add -W file:../left-2.0.0.tgz; node_modules/.bin/left; yarn remove -W right; rm -r node_modules
yarn install --frozen-lockfile; yarn check --integrity; yarn autoclean --init; ls node_modules node_modules/.bin
''', node_project, forget=('*/.yarn-integrity',)).compare()


# -- Python ----------------------------------------------------------------------------------------------------------

BACKEND = '''
import os, zipfile
NAME, VERSION = "mine", "1.0"
def files():
    yield "mine/__init__.py", "def main(): print('mine', __file__.rsplit('/', 2)[1])\\n"
    yield "mine/data/x.txt", "data"
    info = f"{NAME}-{VERSION}.dist-info/"
    yield info + "METADATA", f"Metadata-Version: 2.1\\nName: {NAME}\\nVersion: {VERSION}\\n"
    yield info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    yield info + "entry_points.txt", "[console_scripts]\\nmine = mine:main\\n"
def build_wheel(folder, settings=None, metadata=None):
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    record = "".join(f"{path},,\\n" for path, _ in files()) + f"{NAME}-{VERSION}.dist-info/RECORD,,\\n"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for path, text in [*files(), (f"{NAME}-{VERSION}.dist-info/RECORD", record)]:
            wheel.writestr(zipfile.ZipInfo(path), text)
    return name
'''


def python_project(top):
    values = {}
    exec(BACKEND, values)  # pylint: disable=exec-used
    os.mkdir(os.path.join(top, 'wheels'))
    for version in ('1.0', '2.0'):
        values['VERSION'] = version
        values['build_wheel'](os.path.join(top, 'wheels'))
    files = {'backend.py': BACKEND.replace('NAME, VERSION = "mine"', 'NAME, VERSION = "other"').replace('mine', 'other'),
             'pyproject.toml': '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
             'PKG-INFO': 'Metadata-Version: 2.1\nName: other\nVersion: 1.0\n'}
    pack(os.path.join(top, 'other-1.0.tar.gz'), {'other-1.0/' + file: text for file, text in files.items()})


@row('W-guard-13', 'pip leaves the same tree as outside: a wheel and a source package in a new environment, upgraded, removed')
def pip(case):
    python = '/usr/bin/python3' if os.access('/usr/bin/python3', os.X_OK) else sys.executable
    case.control(case.plain([python, '-c', 'import venv, ensurepip']).code == 0, 'venv is not installed')
    # Compiled files hold the time of their source.
    Work(case, SETTINGS + f'''
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1 PYTHONHASHSEED=0 PIP_ROOT_USER_ACTION=ignore
{python} -m venv env; . env/bin/activate; pip install -q --find-links wheels mine==1.0; mine; pip install -q ./other-1.0.tar.gz; other
pip install -q -U --find-links wheels mine; pip uninstall -qy other; pip install -q --target target --find-links wheels mine==1.0
pip list --format=freeze | grep -v -e pip -e setuptools; pip wheel -q -w built ./other-1.0.tar.gz; pip check; python -m compileall -q target
''', python_project, forget=('*.pyc',)).compare()


# -- C, C++, Rust ----------------------------------------------------------------------------------------------------

def rust_project(top):
    write(top, 'helper/Cargo.toml', '[package]\nname = "helper"\nversion = "0.1.0"\nedition = "2021"\n')
    write(top, 'helper/src/lib.rs', 'pub fn twice(x: u32) -> u32 { 2 * x }\n#[test]\nfn doubles() { assert_eq!(twice(2), 4) }\n')
    write(top, 'app/Cargo.toml', '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n'
          '[dependencies]\nhelper = { path = "../helper" }\n')
    write(top, 'app/build.rs', 'use std::{env, fs, path::Path};\nfn main() {\n'
          'let out = env::var("OUT_DIR").unwrap(); fs::write(Path::new(&out).join("made.rs"), "pub const MADE: u32 = 21;").unwrap();\n'
          'println!("cargo:rerun-if-changed=build.rs"); }\n')
    write(top, 'app/src/main.rs', 'include!(concat!(env!("OUT_DIR"), "/made.rs"));\nfn main() { println!("{}", helper::twice(MADE)); }\n'
          '#[test]\nfn made() { assert_eq!(MADE, 21) }\n')


CARGO = SETTINGS + '''
export CARGO_HOME="$PWD/cargo" CARGO_INCREMENTAL=0 CARGO_TERM_QUIET=true CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
'''
CARGO_FORGET = ('*/invoked.timestamp', '*/.rustc_info.json', '*/.git/index', '*/.git/logs/*')


def cargo_of(case):
    """The system's: a version manager's lives in a home that the case does not have."""
    needs(case, 'cargo', 'cc')
    case.control(case.plain(['cargo', '--version']).code == 0, 'cargo does not run')


@row('W-guard-14', 'cargo leaves the same tree as outside: a path dependency, a build script, tests, cargo clean')
def cargo(case):
    cargo_of(case)
    Work(case, CARGO + '''
cd app; cargo build; cargo run; cargo test > /dev/null; echo '// changed' >> src/main.rs; cargo build; cargo run
cargo new --vcs none --quiet ../fresh; cargo clean -p helper; cargo build; cargo build --release
cp -r target ../built; cargo clean; ls; cargo check; cargo metadata --format-version 1 | wc -l
''', rust_project, forget=CARGO_FORGET).compare()


@row('W-guard-14', 'cargo leaves the same tree as outside: a dependency from a git repository')
def cargo_git(case):
    cargo_of(case)
    needs(case, 'git')

    def prepare(top):
        rust_project(top)
        script = GIT + 'cd helper; git init -q; git add .; git commit -qm one'
        subprocess.run(['sh', '-ec', script], cwd=top, check=True, stdout=subprocess.DEVNULL, env=case.env)
        path = os.path.join(top, 'app/Cargo.toml')
        with open(path, encoding='utf-8') as file:
            text = file.read()
        write(top, 'app/Cargo.toml', text.replace('path = "../helper"', f'git = "file://{top}/helper"'))

    Work(case, CARGO + 'export CARGO_NET_OFFLINE=false\ncd app; cargo build; target/debug/app; cargo update; cargo build; cargo clean\n',
         prepare, forget=CARGO_FORGET, linked=False).compare()


@row('W-guard-15', 'make leaves the same tree as outside: eight jobs, generated headers, an archive, an installation')
def make(case):
    needs(case, 'make', 'cc', 'ar')

    def prepare(top):
        for number in range(40):
            write(top, f'src/f{number}.c', f'#include "made.h"\nint f{number}(void) {{ return MADE + {number}; }}\n')
        write(top, 'src/main.c', '#include <stdio.h>\nint f7(void);\nint main(void) { printf("%d\\n", f7()); return 0; }\n')
        write(top, 'Makefile', '''
OBJECTS := $(patsubst src/%.c,out/%.o,$(wildcard src/f*.c))
all: out/program
out/made.h: | out
\techo '#define MADE 35' > $@.tmp && mv $@.tmp $@
out: ; mkdir -p $@
out/%.o: src/%.c out/made.h
\t$(CC) -g -Iout -MMD -c -o $@ $<
out/libf.a: $(OBJECTS)
\trm -f $@; ar rcsD $@ $(sort $^)
out/program: src/main.c out/libf.a
\t$(CC) -o $@ $^
install: all
\tinstall -D -m 755 out/program $(DESTDIR)/usr/bin/program; install -D -m 640 out/libf.a $(DESTDIR)/usr/lib/libf.a
\tln -sf program $(DESTDIR)/usr/bin/alias; ln -f out/program $(DESTDIR)/usr/bin/same
clean: ; rm -rf out
-include $(OBJECTS:.o=.d)
''')

    Work(case, SETTINGS + '''
make -sj8; out/program; touch src/f7.c; make -sj8; make -sj8 install DESTDIR="$PWD/root"; root/usr/bin/alias
cp -a out kept; make -s clean; make -sj8 out/libf.a; make -q out/libf.a; make -sn install > said
''', prepare).compare(('writing', 'reading'))


@row('W-guard-15', 'cmake leaves the same tree as outside: configured, built, tested, installed, built anew')
def cmake(case):
    needs(case, 'cmake', 'ctest', 'make', 'cc')

    def prepare(top):
        write(top, 'CMakeLists.txt', '''
cmake_minimum_required(VERSION 3.10)
project(x C)
enable_testing()
configure_file(config.h.in config.h)
add_custom_command(OUTPUT made.c COMMAND ${CMAKE_COMMAND} -E echo "int made(void) { return 1; }" > made.c VERBATIM)
set(CMAKE_INSTALL_RPATH "\$ORIGIN/../lib")
add_library(y SHARED y.c made.c)
add_executable(x x.c)
target_include_directories(x PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(x y)
add_test(NAME runs COMMAND x)
install(TARGETS x y RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
''')
        write(top, 'config.h.in', '#define NAME "@PROJECT_NAME@"\n')
        write(top, 'y.c', 'int y(void) { return 0; }\n')
        write(top, 'x.c', '#include "config.h"\nint y(void);\nint main(void) { return y(); }\n')

    # Logs hold the names of trials and how long something took.
    Work(case, SETTINGS + '''
cmake -S . -B b > /dev/null; cmake --build b -j 4 > /dev/null; b/x; (cd b && ctest -Q); cmake --install b --prefix "$PWD/root" > /dev/null
echo '// changed' >> y.c; cmake --build b -j 4 > /dev/null; cmake -B b -DCMAKE_BUILD_TYPE=Release > /dev/null; cmake --build b -j 4 > /dev/null
cp -a b kept; cmake --build b --target clean > /dev/null; root/bin/x; ls root/*
''', prepare, forget=('*/CMakeOutput.log', '*/CMakeError.log', '*/CMakeConfigureLog.yaml', '*/LastTest.log', '*/CTestCostData.txt')
         ).compare()


# -- tar, sqlite -----------------------------------------------------------------------------------------------------

def odd_files(top):
    """A tree of everything that an archive can hold and a workspace may: no setuid bit, no device, no FIFO."""
    write(top, 'in/plain', 'plain')
    write(top, 'in/program', '#!/bin/sh\n', 0o755)
    write(top, 'in/private', 'x', 0o600)
    write(top, f'in/{"long" * 40}/{"name" * 40}', 'long')
    write(top, 'in/\u00e9 with "quotes"\nand lines', 'odd')
    for path, mode in (('in/empty', 0o755), ('in/group', 0o775), ('in/sticky', 0o1777), ('in/closed', 0o500)):
        os.mkdir(os.path.join(top, path))
        os.chmod(os.path.join(top, path), mode)
    os.symlink('plain', os.path.join(top, 'in/link'))
    os.symlink('/nowhere/at/all', os.path.join(top, 'in/dangling'))
    os.symlink('dangling', os.path.join(top, 'in/loop'))
    os.link(os.path.join(top, 'in/plain'), os.path.join(top, 'in/hard'))
    with open(os.path.join(top, 'in/sparse'), 'wb') as file:
        file.truncate(4 << 20)
        file.seek(2 << 20)
        file.write(b'middle')
    try:
        os.setxattr(os.path.join(top, 'in/plain'), 'user.note', b'a note')
    except OSError:
        pass  # not every file system holds them; then neither side has one
    for folder, folders, files in os.walk(os.path.join(top, 'in')):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (1000000000, 1000000000), follow_symlinks=False)
    os.utime(os.path.join(top, 'in'), (1000000000, 1000000000))


@row('W-guard-16', 'tar leaves the same tree as outside: links, sparse files, attributes, odd modes and names, --delete, append')
def tar(case):
    needs(case, 'tar', 'gzip')
    Work(case, SETTINGS + '''
tar() { command tar --sort=name --pax-option=exthdr.name=x,delete=atime,delete=ctime --format=posix "$@"; }
tar --xattrs --sparse-version=0.0 -cSf all.tar in; mkdir same strip fresh; tar --xattrs -xpSf all.tar -C same; tar -xf all.tar -C strip --strip-components=1
command tar --sort=name --format=gnu -cf less.tar in; command tar --delete -f less.tar in/plain in/private; tar -rf less.tar in/private; tar -uf less.tar in/link; tar -tf less.tar
cp all.tar both.tar; tar -Af both.tar less.tar; tar -czf all.tar.gz --mtime=@1000000000 --remove-files strip; tar -xzf all.tar.gz -C fresh
(umask 077; mkdir mask; tar -xf all.tar -C mask --no-same-permissions); tar -xf all.tar -C mask -k 2>&1 | wc -l
tar -xf all.tar -C mask --overwrite; tar -xf all.tar -C mask --unlink-first 2> /dev/null || echo not all; tar -xf all.tar -C mask --recursive-unlink in/empty
tar -cf - in | (mkdir piped; command tar -xf - -C piped); tar -cf links.tar --hard-dereference -h in/plain in/hard in/link
mkdir named; tar -xf all.tar -C named --transform='s,^in,out,'; tar -xf all.tar --to-stdout in/plain; tar -df all.tar && echo same
''', odd_files, drop=('*/closed/*',)).compare(('writing', 'reading'))


BASES = '''
import os, sqlite3, threading
os.umask(0o027)
for mode in ("delete", "truncate", "persist", "memory", "wal"):
    path = f"{mode}.db"
    base = sqlite3.connect(path, isolation_level=None)
    print(base.execute(f"pragma journal_mode={mode}").fetchone())
    base.execute("create table t (x integer primary key, y text)")
    base.execute("begin"); base.executemany("insert into t values (?, ?)", ((i, "x" * 300) for i in range(2000))); base.execute("commit")
    base.execute("begin"); base.execute("delete from t"); base.execute("rollback")
    # A writer that dies in the middle leaves a hot journal: the next reader rolls it back.
    if os.fork() == 0:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("pragma cache_size=5"); other.execute("begin immediate"); other.execute("update t set y = 'lost'")
        os._exit(0)
    os.wait()
    if mode != "memory":
        print(mode, base.execute("select count(*), min(y) = max(y), length(min(y)) from t").fetchone(), base.execute("pragma integrity_check").fetchone())
    base.close()
base = sqlite3.connect("delete.db", isolation_level=None)
base.execute("delete from t where x % 2"); base.execute("vacuum"); base.execute("vacuum into 'into.db'")
base.execute("attach 'attached.db' as a"); base.execute("create table a.u as select * from t where x < 50")
base.execute("begin"); base.execute("insert into t values (1, 'both')"); base.execute("insert into a.u values (1, 'both')"); base.execute("commit")
copy = sqlite3.connect("backup.db"); base.backup(copy); copy.close(); base.close()
def write(n):
    mine = sqlite3.connect("wal.db", timeout=60, isolation_level=None)
    for i in range(20): mine.execute("insert into t values (?, 'thread')", (10000 + 100 * n + i,))
    mine.close()
threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
base = sqlite3.connect("wal.db"); print(base.execute("select count(*) from t where y = 'thread'").fetchone()); base.execute("delete from t where y = 'thread'")
base.commit(); base.execute("vacuum"); base.execute("pragma journal_mode=delete"); base.close()
'''


@row('W-guard-16', 'sqlite leaves the same tree as outside: every journal, a writer that dies, threads, vacuum, backup')
def sqlite(case):
    needs(case, 'sqlite3', 'python3')
    # A journal that stays holds a random number; a base that threads wrote to, the order of their writes.
    Work(case, SETTINGS + '''
python3 bases.py
sqlite3 shell.db 'pragma journal_mode=wal; create table t(x); insert into t values(1),(2);' .dump '.backup copy.db' 'vacuum;'
sqlite3 copy.db 'pragma journal_mode=truncate; begin exclusive; insert into t values(3); commit; select sum(x) from t;'
ls; stat -c '%n %s %a' *.db
''', lambda top: write(top, 'bases.py', BASES), forget=('*-journal', 'wal.db')).compare(('writing', 'reading'))
