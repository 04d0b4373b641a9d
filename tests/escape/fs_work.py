"""Honest work with files: what every tool does, and what real projects do with many rules."""
import json
import os

from harness import row


def same_as_outside(case, argv, options=(), works=0):
    """The same words and exit code inside as outside."""
    outside = case.plain(argv)
    case.control(outside.code == works, f'does not work outside: {outside.describe()}')
    inside = case.inside(argv, options)
    case.same((inside.code, inside.out), (outside.code, outside.out), 'inside as outside', inside)
    return inside


@row('W-fs-3', 'mktemp works, with TMPDIR and without, for files and folders')
def temporary(case):
    text = ('set -e; f=$(mktemp); echo x >"$f"; cat "$f"; d=$(mktemp -d); echo y >"$d/file"; cat "$d/file"; '
            'f=$(mktemp -p /var/tmp); echo z >"$f"; cat "$f"; rm -r "$f" "$d"; f=$(mktemp ./here.XXXXXX); rm "$f"')
    same_as_outside(case, ['sh', '-c', text])
    os.mkdir(os.path.join(case.work, 'tmp'))
    case.env['TMPDIR'] = os.path.join(case.work, 'tmp')
    same_as_outside(case, ['sh', '-c', 'f=$(mktemp) && echo x >"$f" && cat "$f" && rm "$f"'])
    case.env['TMPDIR'] = os.path.join(case.base, 'nowhere-writable')
    inside = case.inside(['python3', '-c', 'import tempfile; print(tempfile.NamedTemporaryFile().write(b"x"))'])
    case.same(inside.out, '1\n', 'a TMPDIR that cannot be used', inside)


@row('W-fs-3', 'the scratch folders are writable, sticky, empty and private')
def scratch_folders(case):
    text = 'for d in /tmp /var/tmp /dev/shm; do stat -c "%a %F" $d; ls -A $d | grep -v "^$1" | wc -l; echo x >$d/f && cat $d/f; done'
    inside = case.inside(['sh', '-c', text, 'sh', 'none'])
    case.same(inside.out, '1777 directory\n0\nx\n' * 3, 'scratch folders', inside)


SQLITE = '''
import sqlite3, sys, threading
path = sys.argv[1]
base = sqlite3.connect(path)
print(base.execute("pragma journal_mode=wal").fetchone()[0])
base.execute("create table t(x)")
def write(start):
    own = sqlite3.connect(path, timeout=30)
    for number in range(start, start + 20):
        with own:
            own.execute("insert into t values(?)", (number,))
threads = [threading.Thread(target=write, args=(100 * n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(base.execute("select count(*), sum(x) from t").fetchone())
print(base.execute("pragma integrity_check").fetchone()[0])
'''


@row('W-fs-3', 'sqlite with a write-ahead log works in the workspace and in /tmp')
def sqlite(case):
    script = case.write('sqlite.py', SQLITE)
    for path in ('base.db', '/tmp/escape-base.db'):
        outside = case.plain(['python3', script, 'outside.db'])
        case.control(outside.code == 0, f'does not work outside: {outside.err.strip()}')
        inside = case.inside(['python3', script, path])
        case.same((inside.code, inside.out), (0, outside.out), path, inside)
        os.unlink(os.path.join(case.work, 'outside.db'))
    same_as_outside(case, ['sh', '-c', 'echo "pragma journal_mode=wal; create table t(x); insert into t values(1); select * from t;" | '
                           'sqlite3 tool.db; rm -f tool.db*'])


@row('W-fs-3', 'flock and record locks hold between processes')
def locks(case):
    text = ('set -e; flock lock -c "flock -n lock -c true && echo both || echo held"; '
            'flock /tmp/escape-lock -c "flock -n /tmp/escape-lock -c true && echo both || echo held"; rm -f /tmp/escape-lock; '
            'python3 -c "import fcntl, os; f = open(\'l2\', \'w\'); fcntl.lockf(f, fcntl.LOCK_EX); '
            'pid = os.fork(); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) if pid else '
            'os._exit(0 if __import__(\'subprocess\').run([\'python3\', \'-c\', \'import fcntl; '
            'fcntl.lockf(open(\\"l2\\", \\"w\\"), fcntl.LOCK_EX | fcntl.LOCK_NB)\'], stderr=-3).returncode else 1)"')
    same_as_outside(case, ['sh', '-c', text])


INOTIFY = '''
import ctypes, os, select, sys
libc = ctypes.CDLL(None)
for folder in sys.argv[1:]:
    fd = libc.inotify_init1(os.O_CLOEXEC)
    assert libc.inotify_add_watch(fd, folder.encode(), 0x100) >= 0
    open(os.path.join(folder, "made"), "w").close()
    assert select.select([fd], [], [], 10)[0]
    print(b"made" in os.read(fd, 4096))
    os.unlink(os.path.join(folder, "made"))
'''


@row('W-fs-3', 'inotify tells of new files in the workspace and in /tmp')
def inotify(case):
    same_as_outside(case, ['python3', '-c', INOTIFY, case.work, '/tmp'])


MMAP = '''
import ctypes, mmap, os, sys
code = b"\\xb8\\x2a\\x00\\x00\\x00\\xc3"  # mov eax, 42; ret
for path in sys.argv[1:]:
    with open(path, "wb") as file:
        file.write(code.ljust(4096, b"\\x90"))
    fd = os.open(path, os.O_RDONLY)
    page = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC | mmap.PROT_WRITE)
    print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
    os.unlink(path)
page = mmap.mmap(-1, 4096, prot=7)
page.write(code)
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
'''


@row('W-fs-3', 'code mapped from the workspace and /tmp, or made in memory, runs, and so do programs built there')
def map_and_execute(case):
    same_as_outside(case, ['python3', '-c', MMAP, 'code', '/tmp/escape-code'])
    text = ('printf "#!/bin/sh\\necho runs\\n" >s && chmod 755 s && ./s && mv s /tmp/escape-s && /tmp/escape-s && '
            'cp /bin/echo e && ./e copied && rm -f e /tmp/escape-s')
    same_as_outside(case, ['sh', '-c', text])


@row('W-fs-3', 'mv, cp, ln and rename between /tmp and the workspace work as between two file systems')
def moving(case):
    text = ('set -e; cd "$1"; mkdir -p a/b; echo x >a/b/f; ln -s f a/b/l; mv a /tmp/escape-a; cat /tmp/escape-a/b/l; '
            'mv /tmp/escape-a c; cat c/b/l; cp -a c /tmp/escape-c; mv /tmp/escape-c/b/f .; cat f; rm -r c f /tmp/escape-c; '
            'python3 -c "import shutil; open(\'p\', \'w\').write(\'y\'); shutil.move(\'p\', \'/tmp/escape-p\'); '
            'shutil.move(\'/tmp/escape-p\', \'p\'); print(open(\'p\').read())"; rm p; ls')
    same_as_outside(case, ['sh', '-c', text, 'sh', case.work])


@row('W-fs-3', 'sparse files, fallocate, hard links, xattrs, copy_file_range and O_TMPFILE work in the workspace')
def file_calls(case):
    text = ('import os, sys\n'
            'fd = os.open("f", os.O_RDWR | os.O_CREAT); os.posix_fallocate(fd, 0, 8192); os.ftruncate(fd, 1 << 20)\n'
            'os.pwrite(fd, b"x" * 10, 0); os.link("f", "g"); os.symlink("f", "s"); os.setxattr("f", "user.a", b"b")\n'
            'other = os.open("h", os.O_RDWR | os.O_CREAT); print(os.copy_file_range(fd, other, 10, 0, 0))\n'
            'unnamed = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); os.write(unnamed, b"t")\n'
            'os.link(f"/proc/self/fd/{unnamed}", "u", src_dir_fd=unnamed, follow_symlinks=True)\n'
            'os.chmod("f", 0o640); os.utime("f", (1, 1)); os.rename("g", "g2"); os.mkdir("d"); os.rmdir("d")\n'
            'print(os.stat("f").st_nlink, oct(os.stat("f").st_mode), os.stat("f").st_mtime, os.getxattr("f", "user.a"))\n'
            'print(open("u").read(), sorted(n for n in os.listdir(".") if len(n) < 3))\n'
            'for n in "f g2 s h u".split(): os.unlink(n)\n')
    same_as_outside(case, ['python3', '-c', text])


@row('W-fs-3', 'chmod, umask and ordinary modes are as outside, setgid folders aside')
def modes(case):
    text = ('umask 027; echo x >f; mkdir d; stat -c %a f d; chmod 755 f; chmod g+w,o-r d; stat -c %a f d; chmod +t d; '
            'stat -c %a d; install -m 640 f g; stat -c %a g; rm -r f d g')
    same_as_outside(case, ['sh', '-c', text])


# -- W-fs-5 ----------------------------------------------------------------------------------------------------------

MANY = 10000


@row('W-fs-5', '10,000 deny rules in a policy: it starts, and the first, middle and last one hold')
def many_rules(case):
    paths = [os.path.join(case.work, f'many/{number // 100}/{number}') for number in range(MANY)]
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write('secret\n')
    options = case.policy({'filesystem': {'denyRead': ['@secrets', *paths], 'denyWrite': paths[:10]}})
    for number in (0, MANY // 2, MANY - 1):
        inside = case.inside(['cat', paths[number]], options)
        case.check(inside.code not in (0, 125) and 'secret' not in inside.out, f'rule {number} must hold', inside)
    inside = case.inside(['sh', '-c', 'cat many/*/*; echo x >made; cat made'], options)
    case.same(inside.out, 'x\n', 'not one is read, and work goes on', inside)


@row('W-fs-5', '10,000 deny rules for paths that do not exist: it starts')
def many_missing(case):
    paths = [os.path.join(case.outside, f'missing/{number}') for number in range(MANY)]
    inside = case.inside(['echo', 'works'], case.policy({'filesystem': {'denyRead': ['@secrets', *paths]}}))
    case.same(inside.out, 'works\n', 'starts', inside)


@row('W-fs-5', '10,000 matches of a glob: it starts, and every one is denied')
def many_matches(case):
    for number in range(MANY):
        path = os.path.join(case.work, f'deep/{number % 50}/{number % 7}/{number}.pem')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write('secret\n')
    case.write('deep/open.txt', 'open\n')
    options = case.policy({'filesystem': {'denyRead': ['@secrets', '*.pem']}})
    inside = case.inside(['sh', '-c', 'cat deep/open.txt; grep -rhs secret deep | wc -l'], options)
    case.same(inside.out.split(), ['open', '0'], 'not one is read', inside)


@row('W-fs-5', 'thousands of protected files: it starts, and says whether all are held')
def many_protected(case):
    for number in range(3000):
        case.write(f'packages/{number}/.envrc', 'as it was\n')
    result = case.result(['sh', '-c', 'for f in packages/*/.envrc; do echo x >$f; done 2>/dev/null; true'])
    changed = 0
    for number in range(3000):
        with open(os.path.join(case.work, f'packages/{number}/.envrc'), encoding='ascii') as file:
            changed += file.read() != 'as it was\n'
    text = json.dumps(result['sandbox'])
    case.check(not changed or result['sandbox']['enforced']['protectedNames'] != 'existing' and 'look' in text,
               f'{changed} of 3000 were changed and the result does not say that the scan was not complete: {text}')


@row('W-fs-5', 'a long command line and a big environment pass')
def long_arguments(case):
    case.env.update({f'VARIABLE_{number}': 'x' * 1000 for number in range(200)})
    same_as_outside(case, ['sh', '-c', 'echo $# ${#VARIABLE_199}', 'sh', *['y' * 50] * 10000])
