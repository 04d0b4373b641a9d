"""Masks that tell: who wanted to read a secret is in the result, and nothing else about the mask is different."""
import json
import os
import pwd
import signal

from fs_denied import secret
from harness import row

# Where the file system of the masks cannot be had (no FUSE, its device closed) the plain ones hold; the result says so.
PLAIN = {'filesystem': {'reportDenials': False}}
MOUNT, EPERM = 165, 1
FUSE = 'test -c /dev/fuse && exec 3<>/dev/fuse'


def has_fuse(case):
    return case.plain(['sh', '-c', FUSE]).code == 0


def told(answer, path=None):
    """The denials that speak of reading, those of one place, as {(operation, target): denial}."""
    found = {}
    for denial in answer['denials']:
        if denial['operation'] in ('read', 'list', 'enter') and (path is None or denial['target'] == path):
            found[denial['operation'], denial['target']] = denial
    return found


def must_be_told(case, answer, operation, path, count=None):
    """Exactly as has_fuse says: told with everything a person wants to know, or said not to be told."""
    outcome = answer['outcome']
    if not has_fuse(case):
        case.same(answer['sandbox']['reported']['secretReads'], False, 'whether reads are told', outcome)
        case.same(told(answer), {}, 'reads that are told', outcome)
        return
    case.same(answer['sandbox']['reported']['secretReads'], True, 'whether reads are told', outcome)
    denial = told(answer).get((operation, path))
    case.check(denial is not None, f'nobody was told of {operation} {path}', outcome)
    case.check(denial['kind'] == 'file' and denial['pid'] > 1 and denial['process'], f'who it was: {denial}')
    case.check(denial['rule'].startswith('built-in: secrets'), f'the rule: {denial}')
    case.same(denial['suggestion'], f'--read {path}', 'what would allow it')
    if count:
        case.same(denial['count'], count, 'how often it happened', outcome)


DETOURS = (
    ('its path', 'cat "$1"'),
    ('a symlink made inside', 'ln -s "$1" link; cat link'),
    ('a symlink to its folder', 'ln -s "${1%/*}" folder; cat "folder/${1##*/}"'),
    ('/proc/self/root', 'cat "/proc/self/root$1"'),
    ('/proc/PID/root', 'sleep 5 & cat "/proc/$!/root$1"; kill $!'),
    ('/proc/self/cwd', 'cd /; cat "/proc/self/cwd$1"'),
    ('an absolute path with dots', 'cat "/proc/../$1"'),
    ('O_NOATIME', 'python3 -c "import os,sys; os.open(sys.argv[1], os.O_RDONLY | os.O_NOATIME)" "$1"'),
    ('sendfile', 'python3 -c "import os,sys; os.sendfile(1, os.open(sys.argv[1], os.O_RDONLY), 0, 99)" "$1"'),
    ('a descriptor of its folder', 'python3 -c "import os,sys; folder, name = os.path.split(sys.argv[1]); '
                                   'os.open(name, os.O_RDONLY, dir_fd=os.open(folder, os.O_PATH))" "$1"'),
)


def by_detours(case, name):
    path = secret(case, os.path.join(case.home, name))
    for what, script in DETOURS:
        case.clear_work()
        case.control(case.plain(['sh', '-c', script, 'sh', path]).code in (0, 143), f'{what} does not work outside')
        case.clear_work()
        answer = case.result(['sh', '-c', script, 'sh', path])
        case.check(answer['exitCode'] != 0 or 'kill' in script, f'{what} worked inside', answer['outcome'])
        case.check('secret' not in answer['stdout'], f'{what} read it', answer['outcome'])
        must_be_told(case, answer, 'read', path, 1)


@row('A-fs-2', 'each way to a masked file is told, once')
def told_file(case):
    by_detours(case, '.netrc')


@row('A-fs-2', 'each way into a masked folder is told, once')
def told_folder(case):
    by_detours(case, '.ssh/id_ed25519')


@row('A-fs-2', 'listing and entering a masked folder are told, asking for its mode is not')
def told_other(case):
    path = secret(case, os.path.join(case.home, '.ssh/id_ed25519'))
    folder = os.path.dirname(path)
    case.control(case.plain(['ls', folder]).code == 0, 'it cannot be listed outside')
    must_be_told(case, case.result(['ls', folder]), 'list', folder, 1)
    must_be_told(case, case.result(['sh', '-c', 'cd "$1"', 'sh', folder]), 'enter', folder, 1)
    # Where the name is not on the host, the folder is what could be allowed.
    answer = case.result(['cat', f'{folder}/none'])
    if has_fuse(case):
        case.same(told(answer)['read', f'{folder}/none']['suggestion'], f'--read {folder}', 'what would allow it')
    quiet = case.result(['sh', '-c', 'ls -ld "$1" "$1/."; stat "$1"; test -e "$1"; test -r "$1"; ls -la "$HOME"; '
                                     'stat -f "$1"; df', 'sh', folder])
    case.same(told(quiet), {}, 'what is told of attributes', quiet['outcome'])


@row('A-fs-2', 'a flood of reads is one line that counts, and names tried in turn are few lines')
def flood(case):
    path = secret(case, os.path.join(case.home, '.netrc'))
    folder = os.path.dirname(secret(case, os.path.join(case.home, '.aws/credentials')))
    script = '''import os, sys
for i in range(int(sys.argv[2])):
    try:
        os.open(sys.argv[1].replace('%', str(i)), os.O_RDONLY)
    except PermissionError:
        pass'''
    must_be_told(case, case.result(['python3', '-c', script, path, '20000']), 'read', path, 20000)
    answer = case.result(['sh', '-c', 'python3 -c "$1" "$2/%" 3000; cat "$3"', 'sh', script, folder, path])
    must_be_told(case, answer, 'read', path, 1)
    if has_fuse(case):
        case.check(len(answer['denials']) < 30, f'{len(answer["denials"])} lines', answer['outcome'])
        names = [denial['count'] for denial in answer['denials'] if denial['target'].startswith(folder + '/')]
        case.same(sum(names), 3000, 'how often it happened', answer['outcome'])
        case.same(answer['denialsLeftOut'], 0, 'what was left out')


# Every call on a mask and below it, as {what: errno or result}.
ASK = r'''
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
said = {}
def ask(what, call):
    try:
        said[what] = call()
    except OSError as error:
        said[what] = errno.errorcode[error.errno]
def opened(path, flags, **keywords):
    os.close(os.open(path, flags, 0o600, **keywords))
def attributes(path):
    status = os.stat(path)
    return [oct(status.st_mode), status.st_nlink, status.st_uid, status.st_gid, status.st_size, status.st_blocks]
def handed(path, flags):
    fd = os.open(path, os.O_PATH)
    try:
        opened(f'/proc/self/fd/{fd}', flags)
    finally:
        os.close(fd)
def changed(path):
    fd = os.open(path, os.O_PATH)
    try:
        os.fchdir(fd)
    finally:
        os.close(fd)
def called(*arguments):
    ctypes.set_errno(0)
    if libc.syscall(*[word.encode() if isinstance(word, str) else ctypes.c_long(word) for word in arguments]) < 0:
        raise OSError(ctypes.get_errno(), '')
open('own', 'w').close()
FLAGS = ('O_RDONLY', 'O_PATH', 'O_DIRECTORY', 'O_NOFOLLOW', 'O_NOATIME', 'O_TRUNC', 'O_WRONLY', 'O_RDWR', 'O_CREAT',
         'O_CREAT|O_EXCL', 'O_CREAT|O_WRONLY', 'O_TMPFILE|O_RDWR', 'O_TRUNC|O_WRONLY')
for name, path in (('folder', sys.argv[1]), ('file', sys.argv[2]), ('below', sys.argv[1] + '/id'),
                   ('far below', sys.argv[1] + '/a/b'), ('below a file', sys.argv[2] + '/x'),
                   ('folder/', sys.argv[1] + '/')):
    for flags in FLAGS:
        number = 0
        for flag in flags.split('|'):
            number |= getattr(os, flag)
        ask(f'open {flags} {name}', lambda: opened(path, number))
    ask(f'reopen {name}', lambda: handed(path, os.O_RDONLY))
    ask(f'stat {name}', lambda: attributes(path))
    for mode in range(8):
        ask(f'access {mode} {name}', lambda: os.access(path, mode))
    ask(f'chdir {name}', lambda: os.chdir(path))
    ask(f'fchdir {name}', lambda: changed(path))
    ask(f'list {name}', lambda: os.listdir(path))
    ask(f'readlink {name}', lambda: os.readlink(path))
    ask(f'execute {name}', lambda: os.execv(path, [path]))
    ask(f'rename {name}', lambda: os.rename(path, 'x'))
    ask(f'rename to {name}', lambda: os.rename('own', path))
    ask(f'link to {name}', lambda: os.link('own', path))
    ask(f'symlink {name}', lambda: os.symlink('own', path))
    ask(f'unlink {name}', lambda: os.unlink(path))
    ask(f'rmdir {name}', lambda: os.rmdir(path))
    ask(f'mkdir {name}', lambda: os.mkdir(path))
    ask(f'chmod {name}', lambda: os.chmod(path, 0o777))
    ask(f'chown {name}', lambda: os.chown(path, os.getuid(), os.getgid()))
    ask(f'times {name}', lambda: os.utime(path))
    ask(f'truncate {name}', lambda: os.truncate(path, 0))
    ask(f'attributes {name}', lambda: os.listxattr(path))
    for key in ('user.x', 'security.selinux', 'security.capability', 'trusted.x', 'other.x'):
        ask(f'getxattr {key} {name}', lambda: os.getxattr(path, key))
        ask(f'setxattr {key} {name}', lambda: os.setxattr(path, key, b'1'))
    ask(f'flags {name}', lambda: [os.statvfs(path).f_flag, os.statvfs(path).f_namemax])
    ask(f'chroot {name}', lambda: os.chroot(path))
    ask(f'umount {name}', lambda: called(166, path, 2))
print(json.dumps(said))
'''


CHANGES = ('open O_WRONLY', 'open O_RDWR', 'open O_CREAT', 'open O_TMPFILE', 'truncate', 'unlink', 'rmdir', 'chmod', 'chown',
           'times', 'setxattr', 'mkdir', 'symlink', 'rename')


@row('W-fs-1', 'a mask that tells answers every call as a plain one')
def same_answers(case):
    case.control(has_fuse(case) or not case.is_root, 'there is no FUSE here')
    paths = [secret(case, os.path.join(case.home, name)) for name in ('.ssh/id', '.netrc')]
    case.control(case.plain(['cat', *paths]).code == 0, 'they can be read outside')
    argv = ['python3', case.write('ask.py', ASK), f'{case.home}/.ssh', f'{case.home}/.netrc']
    plain, telling = case.inside(argv, case.policy(PLAIN)), case.inside(argv)
    said, wanted = json.loads(telling.out), json.loads(plain.out)
    # Permission is the file system's to judge, so a mask that tells is asked after the mount: that one is read-only,
    # and another one than where a file would come from.
    different = {what: (wanted[what], said[what]) for what in wanted if wanted[what] != said[what]
                 and not (wanted[what] == 'EACCES' and said[what] in ('EROFS', 'EXDEV') and what.startswith(CHANGES))}
    case.same(different, {}, 'plain and telling answers that differ', telling)


@row('W-fs-1', 'programs that walk over a home with masks do and say the same')
def same_programs(case):
    for name in ('.ssh/id', '.netrc', '.aws/credentials', '.npmrc', '.gnupg/key'):
        secret(case, os.path.join(case.home, name))
    for script in ('ls -la --time-style=+ ~', 'ls -lan --time-style=+ ~/.ssh', 'find ~ | sort', 'du -a ~ | cut -f2 | sort',
                   'find ~ -type f -name "*id*"', 'sync; echo $?', 'sync -f ~/.ssh; sync ~/.netrc; echo $?',
                   'grep -r secret ~; echo $?', 'git config --list; git -C ~ status; echo $?', 'ssh -V; echo $?',
                   'npm config get registry; echo $?', 'cp -r ~/.aws copy; ls -la copy; rm -rf copy',
                   'tar cf - ~ 2>&1 >/dev/null | sort', 'stat -c "%A %h %u %g %s %b" ~/.ssh ~/.netrc',
                   'rm -rf ~/.ssh; mv ~/.netrc x; chmod 700 ~/.ssh; echo x >~/.netrc; echo $?'):
        plain = case.inside(['sh', '-c', script], case.policy(PLAIN))
        telling = case.inside(['sh', '-c', script])
        case.same((telling.code, telling.out, telling.err), (plain.code, plain.out, plain.err), script)


# In a user namespace of its own a process has every capability over its own mounts, until it starts a program.
UNMASK = r'''
import ctypes, os, sys
NEW_USER, NEW_MOUNTS, REMOUNT, BIND, DETACH = 0x10000000, 0x20000, 32, 4096, 2
libc = ctypes.CDLL(None)
assert libc.unshare(NEW_USER | NEW_MOUNTS) == 0
if libc.mount(b'none', b'/mnt', b'tmpfs', 0, None) == 0:
    print('mounted')
for path in sys.argv[1:]:
    for mask in (path, os.path.dirname(path)):
        libc.mount(b'none', mask.encode(), None, REMOUNT | BIND, None)
        if libc.umount2(mask.encode(), DETACH) == 0:
            print('unmasked')
    try:
        print(open(path).read())
    except OSError:
        pass
'''


@row('A-fs-2', 'a sandbox made inside works, can take no mask away, and what it reads is told')
def nested_masks(case):
    paths = [secret(case, os.path.join(case.home, name)) for name in ('.netrc', '.ssh/id')]
    argv = ['python3', case.write('unmask.py', UNMASK), *paths]
    outcome = case.plain(argv)
    case.control(outcome.out.startswith('mounted\n') and outcome.out.count('secret') == 2, 'it reads them outside')
    answer = case.result(argv, case.policy({'allowNestedSandbox': True, 'filesystem': {'protectNewNames': False}}))
    case.same(answer['stdout'], 'mounted\n', 'it can mount, and reads nothing', answer['outcome'])
    for path in paths:
        must_be_told(case, answer, 'read', path)


@row('A-fs-2', 'the mounts of masks name no place of the host')
def no_names(case):
    secret(case, os.path.join(case.home, '.netrc'))
    outcome = case.inside(['cat', '/proc/self/mountinfo'])
    masks = [line.split(' - ') for line in outcome.out.splitlines() if ' - fuse ' in line]
    case.check(bool(masks) == has_fuse(case), 'there are masks of FUSE, or not', outcome)
    for before, after in masks:
        case.same(after.split()[:2], ['fuse', 'qiming-sandbox'], 'what it is', outcome)
        case.check(before.split()[3].strip('/').isdigit() or before.split()[4] == '/dev', before)
        case.check(set(before.split()[5].split(',')) >= {'ro', 'nosuid', 'nodev', 'noexec'}, before)


@row('A-fail-1', 'where FUSE cannot be mounted the plain masks hold, and the result and doctor say so')
def no_mount(case):
    path = secret(case, os.path.join(case.home, '.netrc'))
    without = [case.attack, 'without', f'{EPERM}:{MOUNT}']
    outcome = case.plain([*without, '--', *case.sandboxed(['cat', path], ['--json'])])
    answer = json.loads(outcome.out)
    case.same(answer['sandbox']['reported']['secretReads'], False, 'whether reads are told', outcome)
    case.check(answer['exitCode'] == 1 and 'secret' not in answer['stdout'], 'it is refused all the same', outcome)
    case.same(told(answer), {}, 'what is told', outcome)
    doctor = case.plain([*without, '--', case.program, 'doctor'])
    case.check('refused, but not told' in doctor.out, 'doctor says so', doctor)


def stopped(case, script, path):
    """Starts it in the sandbox, and stops the supervisor when the command says that it is ready."""
    process = case.popen(case.sandboxed(['sh', '-c', 'echo ready; ' + script, 'sh', path]))
    case.same(process.stdout.readline(), b'ready\n', 'the command starts')
    os.kill(process.pid, signal.SIGSTOP)
    return process


@row('A-proc-3', 'who waits for a mask can be killed, while nobody answers')
def wait_killed(case):
    path = secret(case, os.path.join(case.home, '.netrc'))
    case.control(case.plain(['cat', path]).code == 0, 'it can be read outside')
    process = stopped(case, 'sleep 1; cat "$1" & sleep 1; kill -9 $!; wait $!; echo died $?', path)
    try:
        # Its own output goes past the supervisor.
        line = process.stdout.readline() if has_fuse(case) else b'died 137\n'
        case.same(line, b'died 137\n', 'what waited is dead')
    finally:
        os.kill(process.pid, signal.SIGCONT)
    case.finish(process)


@row('A-proc-3', 'a supervisor killed while its masks are asked takes the command with it')
def supervisor_killed(case):
    path = secret(case, os.path.join(case.home, '.netrc'))
    case.control(case.plain(['cat', path]).code == 0, 'it can be read outside')
    for pause in (0, 0.05, 0.5):
        process = case.popen(case.sandboxed(['sh', '-c', 'echo ready; for i in 1 2 3 4; do (while :; do cat "$1"; '
                                             'done) 2>/dev/null & done; wait', 'sh', path]))
        case.same(process.stdout.readline(), b'ready\n', 'the command starts')
        case.pause(pause)
        if pause > 0.1:
            os.kill(process.pid, signal.SIGSTOP)
            case.pause()
        os.kill(process.pid, signal.SIGKILL)
        # Its output ends with the last process that could write it.
        outcome = case.finish(process, patience=20)
        case.check(not outcome.hung, 'something lives on', outcome)


@row('A-fs-2', 'an ordinary user whose FUSE device is open is told as well', only='root')
def ordinary_user(case):
    user = next(entry for entry in pwd.getpwall() if entry.pw_name == 'nobody')
    path = secret(case, os.path.join(case.home, '.netrc'))
    for folder, names, files in os.walk(case.base):
        for name in [folder] + [os.path.join(folder, name) for name in files]:
            os.chown(name, user.pw_uid, user.pw_gid)
    # Only in here; the host's own node stays as it is.
    enter = ('mount -t tmpfs -o mode=755 none /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse && '
             'mkdir /mnt/at && mount --bind "$1" /mnt/at && shift && cd /mnt/at/home/work && HOME=/mnt/at/home && '
             f'exec setpriv --reuid {user.pw_uid} --regid {user.pw_gid} --clear-groups "$@"')
    program = case.write('qs', open(case.program, 'rb').read(), 0o755)
    os.chown(program, user.pw_uid, user.pw_gid)
    argv = ['/mnt/at/home/work/qs', 'run', '--json', '--', 'sh', '-c', 'cat ~/.netrc; cat ~/.netrc']
    outcome = case.plain(['unshare', '-m', 'sh', '-c', enter, 'sh', case.base, *argv])
    answer = json.loads(outcome.out)
    case.same(answer['sandbox']['reported']['secretReads'], True, 'whether reads are told', outcome)
    denial = told(answer).get(('read', '/mnt/at/home/.netrc'))
    case.check(denial and denial['count'] == 2 and denial['process'] == 'cat', f'{denial} of {path}', outcome)
