"""Workspaces in odd places, and hosts that are laid out otherwise: made in mount namespaces, so the host keeps its own."""
import json
import os
import shutil
import stat
import tempfile

from fs_tree import Tree, clean
from harness import row


def on_host(case, setup, argv, **keywords):
    """Runs argv on a host that `setup` (shell text, as root of a mount namespace) has changed."""
    tool = ['unshare', '--mount'] if case.is_root else ['unshare', '--user', '--map-root-user', '--mount']
    return case.plain([*tool, 'sh', '-ec', setup + '\nexec "$@"', 'sh', *argv], **keywords)


def needs_mounts(case, setup):
    outcome = on_host(case, setup, ['true'])
    case.control(outcome.code == 0, f'such a host cannot be made here: {outcome.err.strip()[:200]}')


def run_in(case, folder, argv, options=(), **keywords):
    keywords.setdefault('cwd', folder)
    return case.plain([case.program, 'run', '--workspace', folder, *options, '--', *argv], **keywords)


def works_or_says_why(case, outcome, works):
    """Either the command worked, or nothing ran and one sentence says why."""
    if outcome.code == 125:
        case.check(len(outcome.err.strip()) > 20, 'an error must say why', outcome)
        return
    case.check(works, 'works, or says why not', outcome)


@row('W-fs-2', 'the home as workspace works; secrets stay unread and start-up files unwritten')
def home(case):
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    case.write(os.path.join(case.home, '.bashrc'), 'as it was\n')
    case.write(os.path.join(case.home, '.config/tool/settings'), 'x\n')
    text = 'echo made >made; cat .ssh/key; echo planted >>.bashrc; echo y >.config/tool/settings; cat made'
    inside = run_in(case, case.home, ['sh', '-c', text])
    works_or_says_why(case, inside, inside.out.strip().endswith('made'))
    case.check('the secret' not in inside.out, 'the secret was read', inside)
    with open(os.path.join(case.home, '.bashrc'), encoding='ascii') as file:
        case.same(file.read(), 'as it was\n', 'the start-up file', inside)
    case.check(os.path.exists(key), 'the secret is still there')


@row('W-fs-2', 'the root folder as workspace works, or an error says why')
def root_folder(case):
    inside = run_in(case, '/', ['echo', 'works'])
    works_or_says_why(case, inside, inside.out == 'works\n')
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    inside = run_in(case, '/', ['cat', key])
    case.check('the secret' not in inside.out, 'the secret was read', inside)


@row('W-fs-2', 'a folder of root as an ordinary user\'s workspace works, or an error says why', only='user')
def roots_folder(case):
    for folder in ('/usr/share', '/opt', '/etc'):
        inside = run_in(case, folder, ['sh', '-c', 'ls >/dev/null && echo works; echo x >planted'])
        works_or_says_why(case, inside, 'works' in inside.out)
        case.check(not os.path.exists(os.path.join(folder, 'planted')), 'written by an ordinary user?', inside)


@row('W-fs-2', 'a workspace that nobody may write works for reading, or an error says why')
def unwritable(case):
    folder = os.path.join(case.work, 'fixed')
    case.write('fixed/file', 'content\n')
    os.chmod(folder, 0o555)
    before = Tree(folder)
    inside = run_in(case, folder, ['cat', 'file'])
    works_or_says_why(case, inside, inside.out == 'content\n')
    clean(case, before, 'the folder', inside)


@row('W-fs-2', 'a workspace named by a symlink works, by every spelling of its name')
def symlink(case):
    real = os.path.join(case.work, 'real')
    case.write('real/file', 'content\n')
    os.symlink(real, os.path.join(case.base, 'link'))
    os.symlink('link', os.path.join(case.base, 'link2'))
    for name in ('link', 'link2', 'link/', 'home/../link/.', 'link2/../real', 'home/work//real'):
        folder = os.path.join(case.base, name)
        inside = run_in(case, folder, ['sh', '-c', 'cat file && echo x >made && pwd -P'])
        case.same(inside.out, f'content\n{real}\n', name, inside)
        case.check(os.path.exists(os.path.join(real, 'made')), f'{name}: the file is on the host', inside)
        os.unlink(os.path.join(real, 'made'))
    inside = run_in(case, '.', ['cat', 'file'], cwd=real)
    case.same(inside.out, 'content\n', 'the present folder', inside)


@row('W-fs-2', 'a workspace on tmpfs works')
def tmpfs(case):
    folder = os.path.join(case.work, 'mnt')
    os.mkdir(folder)
    setup = f'mount -t tmpfs none "{folder}"; echo content >"{folder}/file"'
    needs_mounts(case, setup)
    inside = on_host(case, setup, [case.program, 'run', '--workspace', folder, '--', 'sh', '-c', 'cat file; echo x >made; cat made'])
    case.same(inside.out, 'content\nx\n', 'reading and writing', inside)


@row('W-fs-2', 'a workspace on overlayfs works')
def overlay(case):
    folder = os.path.join(case.work, 'mnt')
    for name in ('mnt', 'lower', 'scratch'):
        os.mkdir(os.path.join(case.work, name))
    case.write('lower/file', 'content\n')
    case.write('lower/.envrc', 'as it was\n')
    setup = (f'cd "{case.work}"; mount -t tmpfs none scratch; mkdir scratch/upper scratch/work; '
             'mount -t overlay -o lowerdir=lower,upperdir=scratch/upper,workdir=scratch/work overlay mnt')
    needs_mounts(case, setup)
    text = 'cat file; echo x >file; cat file; echo x >.envrc; cat .envrc; mv file other; cat other'
    inside = on_host(case, setup, [case.program, 'run', '--workspace', folder, '--', 'sh', '-c', text])
    case.same(inside.out, 'content\nx\nas it was\nx\n', 'reading and writing', inside)


@row('W-fs-2', 'a workspace with mounts of its own in it works, and they are as writable as the host has them')
def mounts_inside(case):
    for name in ('one', 'two'):
        os.mkdir(os.path.join(case.work, name))
    setup = (f'cd "{case.work}"; mount -t tmpfs none one; mount -t tmpfs -o ro none two')
    needs_mounts(case, setup)
    inside = on_host(case, setup, [case.program, 'run', '--workspace', case.work, '--', 'sh', '-c',
                                   'echo x >one/made && cat one/made; echo x >two/made'])
    case.same(inside.out, 'x\n', 'the writable mount', inside)


@row('W-fs-2', 'a workspace in the host\'s /tmp or /dev/shm is the real one, the rest is hidden')
def in_scratch(case):
    for place in ('/tmp', '/var/tmp', '/dev/shm'):
        folder = os.path.join(place, 'escape-place-' + os.path.basename(case.base))
        case.control(os.access(place, os.W_OK), f'{place} is not writable here')
        case.write(os.path.join(folder, 'a/file'), 'content\n')
        case.write(os.path.join(folder, 'b/file'), 'beside\n')
        case.cleanups.append(lambda folder=folder: shutil.rmtree(folder))
        inside = run_in(case, os.path.join(folder, 'a'), ['sh', '-c', 'cat file; echo x >made; cat ../b/file'])
        case.same(inside.out, 'content\n', f'{place}: reading and writing', inside)
        case.check(os.path.exists(os.path.join(folder, 'a/made')), f'{place}: the file is on the host', inside)


@row('A-fs-13', 'in a workspace in the host\'s /tmp, too, no FIFO is left, and git makes repositories there')
def scratch_is_not_inherited(case):
    folder = os.path.join('/tmp', 'escape-place-' + os.path.basename(case.base))
    os.mkdir(folder)
    case.cleanups.append(lambda: shutil.rmtree(folder))
    case.control(case.plain(['mkfifo', os.path.join(folder, 'outside')]).code == 0, 'no FIFO outside')
    inside = run_in(case, folder, ['sh', '-c', 'mkfifo pipe; git init -q new && git -C new config user.name me'])
    case.check(not os.path.lexists(os.path.join(folder, 'pipe')), 'a FIFO was left', inside)
    case.check(os.path.exists(os.path.join(folder, 'new/.git/config')), 'git could not make a repository', inside)


@row('W-fs-2', 'a workspace that is missing, a file, or may not be entered: an error, and nothing runs')
def impossible(case):
    case.write('file', '')
    marker = os.path.join(case.work, 'marker')
    for name in ('missing', 'file', 'file/below', '/proc/self', '/dev'):
        inside = run_in(case, os.path.join(case.work, name), ['sh', '-c', f'echo x >{marker}'], cwd=case.work)
        case.same(inside.code, 125, name, inside)
        case.check(name.split('/self')[0] in inside.err, 'the error names the path', inside)
        case.check(not os.path.exists(marker), 'nothing may run')
    case.check(not os.path.exists(os.path.join(case.work, 'missing')), 'nothing was made')


@row('W-fs-2', 'the folder\'s own mode, owner, times and attributes are as before')
def traces(case):
    folder = os.path.join(case.work, 'project')
    case.write('project/src/file', 'content\n')
    os.chmod(folder, 0o2750)
    os.setxattr(folder, 'user.note', b'1')
    before = Tree(folder)
    for options in ((), ('--write', os.path.join(folder, 'src')), ('--deny-read', os.path.join(folder, 'src')),
                    ('--deny-write', os.path.join(folder, 'src')), ('--preset', 'read-only'), ('--preset', 'locked-down')):
        inside = run_in(case, folder, ['true'], options)
        case.worked(inside, f'runs with {options}')
        clean(case, before, f'with {options}', inside)
    case.check(stat.S_IMODE(os.stat(folder).st_mode) == 0o2750, 'the mode')


@row('A-fs-2', 'a denied folder that the host has mounted at a second place as well is not read there, or it is reported')
def second_mount(case):
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    other = os.path.join(case.outside, 'home')
    os.mkdir(other)
    setup = f'mount --bind "{case.home}" "{other}"'
    needs_mounts(case, setup)
    spelling = other + key[len(case.home):]
    outside = on_host(case, setup, ['cat', spelling])
    case.control('the secret' in outside.out, 'cannot be read there outside')
    inside = on_host(case, setup, case.sandboxed(['cat', spelling], ['--json']))
    result = json.loads(inside.out)
    text = json.dumps(result['sandbox'].get('notEnforced', ''))
    case.check('the secret' not in result['stdout'] or 'mount' in text,
               'the secret was read at the second place, and the result does not speak of it', inside)


# -- W-fs-4 ----------------------------------------------------------------------------------------------------------

@row('W-fs-4', '/etc/resolv.conf as a symlink into /run is readable, the rest of /run is hidden')
def resolv(case):
    setup = ('mount -t tmpfs none /run; mkdir -p /run/systemd/resolve /run/secret; '
             'echo "nameserver 127.0.0.53" >/run/systemd/resolve/stub-resolv.conf; echo hidden >/run/secret/file; '
             f'mkdir "{case.base}/up"; mount -t tmpfs none "{case.base}/up"; mkdir "{case.base}/up/u" "{case.base}/up/w"; '
             f'mount -t overlay -o lowerdir=/etc,upperdir="{case.base}/up/u",workdir="{case.base}/up/w" overlay /etc; '
             'rm -f /etc/resolv.conf; ln -s {} /etc/resolv.conf')
    for target in ('../run/systemd/resolve/stub-resolv.conf', '/run/systemd/resolve/stub-resolv.conf'):
        shutil.rmtree(os.path.join(case.base, 'up'), ignore_errors=True)
        needs_mounts(case, setup.format(target))
        shutil.rmtree(os.path.join(case.base, 'up'), ignore_errors=True)
        inside = on_host(case, setup.format(target), case.sandboxed(['sh', '-c', 'cat /etc/resolv.conf; cat /run/secret/file']))
        case.same(inside.out, 'nameserver 127.0.0.53\n', target, inside)
        shutil.rmtree(os.path.join(case.base, 'up'), ignore_errors=True)
        inside = on_host(case, setup.format('/run/nothing/there'), case.sandboxed(['echo', 'works']))
        case.same(inside.out, 'works\n', 'a dangling link', inside)


def other_root(case, content):
    """Shell text that makes a root folder of its own, fills it by `content` (run in it) and moves into it."""
    return (f'root="{case.base}/root"; mkdir -p "$root"; mount -t tmpfs none "$root"; cd "$root"; '
            'mkdir -p proc sys dev etc tmp run var/tmp old; mount --rbind /proc proc; mount --rbind /sys sys; '
            'mount --rbind /dev dev; cp /etc/passwd /etc/group etc/; '
            f'mkdir -p ".{case.base}"; mount --bind "{case.base}" ".{case.base}"; {content}; '
            'pivot_root . old; cd /')


@row('W-fs-4', 'a system whose /bin, /sbin and /lib are folders of their own works')
def not_merged(case):
    setup = other_root(case, 'mkdir usr bin sbin lib lib64; mount --bind /usr usr; mount --bind /usr/bin bin; '
                             'mount --bind /usr/sbin sbin; mount --bind /usr/lib lib; mount --bind /usr/lib64 lib64')
    needs_mounts(case, setup)
    program = shutil.copy(case.program, os.path.join(case.base, 'qiming-sandbox'))
    for options in ((), ('--preset', 'locked-down'), ('--preset', 'read-only')):
        inside = on_host(case, setup, [program, 'run', '--workspace', case.work, *options, '--', '/bin/sh', '-c',
                                       'ls -d /bin/sh && cat escape-attack >/dev/null && echo works'])
        case.same(inside.out, '/bin/sh\nworks\n', f'with {options}', inside)
        shutil.rmtree(os.path.join(case.base, 'root'), ignore_errors=True)


@row('W-fs-4', 'a system with /nix/store and without /usr, /bin or glibc works')
def nix(case):
    static = case.plain(['sh', '-c', 'head -c 4096 "$1" | grep -qa ld-linux', 'sh', case.program])
    case.control(static.code != 0, 'the program is not a static one in this build')
    tools = f'{case.base}/tools'
    os.mkdir(tools)
    shutil.copy(case.program, os.path.join(tools, 'qiming-sandbox'))
    shutil.copy(case.attack, os.path.join(tools, 'tool'))
    setup = other_root(case, f'mkdir -p nix/store/aaa-sandbox/bin; cp "{tools}"/* nix/store/aaa-sandbox/bin/')
    # The old root goes out of sight, so that nothing of it is found by chance; the tools to do so lie in it.
    setup = setup.replace('pivot_root . old; cd /', 'exec 9</usr/bin; pivot_root . old; cd /')
    needs_mounts(case, other_root(case, 'true').replace('pivot_root . old; cd /', 'true'))
    store = '/nix/store/aaa-sandbox/bin/'
    for options in ((), ('--preset', 'locked-down')):
        argv = [store + 'qiming-sandbox', 'run', '--workspace', case.work, *options, '--', store + 'tool', 'fs', 'create', 'made']
        inside = on_host(case, setup, argv)
        case.check(inside.code == 0 and 'worked' in inside.out, f'with {options}', inside)
        case.check(os.path.exists(os.path.join(case.work, 'made')), 'the file is on the host', inside)
        os.unlink(os.path.join(case.work, 'made'))
        refused = on_host(case, setup, argv[:-1] + [os.path.join(case.outside, 'planted')])
        case.check(refused.code != 0 and not os.listdir(case.outside), f'with {options}: written outside', refused)
        shutil.rmtree(os.path.join(case.base, 'root'), ignore_errors=True)


@row('W-fs-2', 'called from a folder that the private /tmp hides, a workspace of / begins at its top')
def hidden_start(case):
    folder = tempfile.mkdtemp(prefix='qsb-escape-', dir='/tmp')
    case.cleanups.append(lambda: os.rmdir(folder))
    argv = [case.program, 'run', '--workspace', '/', '--preset', 'read-only']
    outcome = case.plain([*argv, '--', 'pwd'], cwd=folder)
    case.same((outcome.code, outcome.out), (0, '/\n'), 'exit status and output', outcome)
    outcome = case.plain([*argv, '--cwd', folder, '--', 'pwd'], cwd=folder)
    case.check(outcome.code == 125 and '--cwd' in outcome.err, 'a folder that was asked for is an error', outcome)


# -- A-fs-5 ----------------------------------------------------------------------------------------------------------

@row('A-fs-5', 'protected names hold in any case where the file system ignores case', only='root')
def any_case(case):
    image, folder = os.path.join(case.base, 'image'), os.path.join(case.work, 'mnt')
    os.mkdir(folder)
    with open(image, 'wb') as file:
        file.truncate(8 << 20)
    made = case.plain(['mkntfs', '-F', '-Q', image]) if shutil.which('mkntfs') else None
    case.control(made and made.code == 0, 'no file system that ignores case can be made here: mkntfs is missing')
    setup = (f'lowntfs-3g -o ignore_case,umask=077 "{image}" "{folder}"; cd "{folder}"; mkdir -p sub/.git/hooks .vscode; '
             'for name in .envrc .mcp.json sub/.git/config sub/.git/hooks/pre-commit .vscode/tasks.json key.pem; do '
             'echo "as it was" >$name; done')
    needs_mounts(case, setup + '; test -e .ENVRC')
    spellings = ('.ENVRC', '.Envrc', '.Mcp.Json', 'sub/.GIT/config', 'SUB/.git/CONFIG', 'sub/.git/Hooks/pre-commit',
                 'sub/.git/HOOKS/new', '.VSCODE/tasks.json', '.vsCode/new')
    look = '; cat .envrc .mcp.json sub/.git/config sub/.git/hooks/pre-commit .vscode/tasks.json; ls sub/.git/hooks .vscode'
    untouched = on_host(case, setup, ['sh', '-c', f'cd "{folder}"{look}'])
    for text in ('for name; do echo planted >"$name"; done', 'for name; do rm -f "$name"; echo planted >"$name"; done',
                 'for name; do echo planted >new; mv -f new "$name"; done'):
        argv = [case.program, 'run', '--workspace', folder, '--', 'sh', '-c', text + '; true', 'sh', *spellings]
        after = on_host(case, setup, ['sh', '-c', f'"$@"; echo "code $?" >&2; cd "{folder}"{look}', 'sh', *argv])
        case.same(after.out, untouched.out, f'protected files after: {text}', after)
    # And names that do not exist: in any case, and as another system reads them.
    bare = f'lowntfs-3g -o ignore_case,umask=077 "{image}" "{folder}"; cd "{folder}"; rm -rf sub .vscode .envrc .mcp.json; mkdir sub'
    made = ('.ENVRC', '.envrc', '.Mcp.Json', 'sub/.GIT/Config', 'sub/.git/hooks/new', '.vsCode/new', '.envrc.', '.envrc ',
            '.envrc::$DATA', '.envrc:other', 'ENVRC~1', 'sub/GIT~1/config', '.env\u200crc', '.m\u017fcode/x', '.vſcode/x')
    text = 'for name; do mkdir -p "$(dirname "$name")"; echo planted >"$name"; done; echo x >plain; true'
    argv = [case.program, 'run', '--workspace', folder, '--', 'sh', '-c', text, 'sh', *made]
    look = f'cd "{folder}"; find . -type f | sort'
    after = on_host(case, bare, ['sh', '-c', f'"$@"; echo "code $?" >&2; {look}', 'sh', *argv])
    case.same(after.out, './.m\u017fcode/x\n./key.pem\n./plain\n', 'what could be made', after)
    argv = [case.program, 'run', '--workspace', folder, '--deny-read', folder + '/key.pem', '--', 'cat', 'KEY.PEM', 'Key.pem']
    secret = on_host(case, setup, argv)
    case.check('as it was' not in secret.out, 'a denied file was read in another case', secret)
