"""Reading what is denied: by name, by every detour, and writing into it."""
import os

from fs_tree import Tree, clean
from harness import row

SECRET = 'the secret itself'
# Where people keep what opens other machines: a folder each, or a file.
SECRETS = ('.ssh/id_ed25519', '.ssh/config', '.gnupg/private-keys-v1.d/key', '.aws/credentials', '.azure/token.json',
           '.config/gcloud/credentials.db', '.kube/config', '.docker/config.json', '.netrc', '.git-credentials',
           '.config/gh/hosts.yml', '.npmrc', '.pypirc', '.cargo/credentials.toml', '.password-store/mail.gpg', '.pgpass',
           '.my.cnf', '.mozilla/firefox/x/logins.json', '.config/google-chrome/Default/Login Data', '.bash_history',
           '.local/share/keyrings/login.keyring', '.vault-token', '.terraform.d/credentials.tfrc.json',
           '.config/rclone/rclone.conf', '.Xauthority')


def secret(case, path):
    return case.write(path, SECRET + '\n')


def never_tells(case, argv, options=(), **keywords):
    """Outside the command prints the secret; inside it does not, in whole or in part."""
    outside = case.plain(argv, **keywords)
    case.control(SECRET in outside.out, f'does not read the secret outside: {outside.describe()}')
    inside = case.inside(argv, options, **keywords)
    case.check(SECRET not in inside.out + inside.err, 'the secret was read', inside)
    case.check(inside.code != 125, 'the sandbox must start', inside)
    return inside


@row('A-fs-2', 'no secret of the home is read, each by its own name')
def built_in(case):
    for name in SECRETS:
        path = secret(case, os.path.join(case.home, name))
        case.control(SECRET in case.plain([case.attack, 'read', path]).out, f'{name} is not readable outside')
    before = Tree(case.home)
    for name in SECRETS:
        inside = case.inside([case.attack, 'read', os.path.join(case.home, name)])
        case.check(SECRET not in inside.out, f'{name} was read', inside)
        case.refused(inside, ('EACCES', 'ENOENT', 'EPERM'))
    clean(case, before, 'the secrets on the host')


@row('A-fs-2', 'a walk over the whole home finds no secret')
def walk(case):
    for name in SECRETS:
        secret(case, os.path.join(case.home, name))
    never_tells(case, ['sh', '-c', 'cd; grep -rh "the secret" . 2>/dev/null; tar c . 2>/dev/null | grep -a "the secret"; '
                                   'find . -type f -exec cat {} + 2>/dev/null; true'])


DETOURS = (
    ('its path', 'cat "$1"'),
    ('a relative path', 'cd "${1%/*}" && cat "${1##*/}"'),
    ('a symlink made inside', 'ln -s "$1" link; cat link; ln -s "${1%/*}" folder; cat "folder/${1##*/}"'),
    ('a hard link made inside', 'ln "$1" other && cat other'),
    ('a hard link beside it', 'ln "$1" "${1}2" && cat "${1}2"'),
    ('renaming it', 'mv "$1" "${1}2" && cat "${1}2"'),
    ('renaming it into the workspace', 'mv "$1" other && cat other'),
    ('/proc/self/root', 'cat "/proc/self/root$1"'),
    ('/proc/1/root', 'sleep 5 & cat "/proc/$!/root$1"; kill $!'),
    ('/proc/self/cwd', 'cd /; cat "/proc/self/cwd$1"'),
    ('a copy of its folder', 'cp -r "${1%/*}" copy; cat copy/*'),
    ('an archive of its folder', 'tar cf all.tar -C "${1%/*}" . ; tar xOf all.tar'),
    ('changing its mode first', 'chmod 644 "$1"; chmod 755 "${1%/*}"; cat "$1"'),
    ('another call for opening', 'python3 -c "import os,sys; print(os.read(os.open(sys.argv[1], os.O_RDONLY | '
                                 'os.O_NOATIME), 99).decode())" "$1" || python3 -c "import mmap,sys; '
                                 'print(mmap.mmap(open(sys.argv[1]).fileno(), 0, prot=mmap.PROT_READ)[:])" "$1"'),
    ('an O_PATH descriptor', 'python3 -c "import os,sys; fd = os.open(sys.argv[1], os.O_PATH); '
                             'print(open(f\'/proc/self/fd/{fd}\').read())" "$1"'),
    ('a folder descriptor', 'python3 -c "import os,sys; folder, name = os.path.split(sys.argv[1]); '
                            'fd = os.open(folder, os.O_PATH | os.O_DIRECTORY); '
                            'print(os.read(os.open(name, os.O_RDONLY, dir_fd=fd), 99).decode())" "$1"'),
    ('sendfile and splice', 'python3 -c "import os,sys; fd = os.open(sys.argv[1], os.O_RDONLY); '
                            'os.sendfile(1, fd, 0, 99)" "$1"'),
)


def by_every_detour(case, path, options, errors=True):
    before = Tree(case.home)
    for name, text in DETOURS:
        scratch = os.path.join(case.work, 'scratch')
        for run in (case.plain, lambda argv: case.inside(argv, options)):
            os.system(f'rm -rf "{scratch}"') if os.path.isdir(scratch) else None
            os.makedirs(scratch)
            outcome = run(['sh', '-c', f'cd "$0" && {text}', scratch, path])
            if run == case.plain:
                case.control(SECRET in outcome.out, f'{name} does not read it outside: {outcome.describe()}')
                restore(case, path)
            else:
                case.check(SECRET not in outcome.out + outcome.err, f'read by {name}', outcome)
                case.check(outcome.code != 125, 'the sandbox must start', outcome)
                case.check(os.path.isfile(path), f'{name} moved the file away', outcome)
    return before


def restore(case, path):
    """What the control did to the file goes back: a second name, another name, another mode."""
    if os.path.lexists(path + '2'):
        os.unlink(path + '2')
    secret(case, path)
    os.chmod(path, 0o600)


@row('A-fs-2', 'a built-in secret is not read by any detour')
def detours_built_in(case):
    by_every_detour(case, secret(case, os.path.join(case.home, '.ssh/id_ed25519')), ())


@row('A-fs-2', 'a file that the caller denies is not read by any detour, though it lies in the workspace')
def detours_file(case):
    path = secret(case, 'private/key')
    by_every_detour(case, path, ['--deny-read', path])


@row('A-fs-2', 'a file in a folder that the caller denies is not read by any detour')
def detours_folder(case):
    path = secret(case, 'private/key')
    by_every_detour(case, path, ['--deny-read', os.path.dirname(path)])


@row('A-fs-2', 'files that a glob denies are not read, at any depth')
def glob_rule(case):
    paths = [secret(case, name) for name in ('a.pem', 'deep/er/b.pem', 'deep/er/down/c.pem')]
    options = case.policy({'filesystem': {'denyRead': ['@secrets', '*.pem']}})
    for path in paths:
        never_tells(case, ['cat', path], options)
    case.write('deep/er/open.txt', 'open\n')
    inside = case.inside(['cat', 'deep/er/open.txt'], options)
    case.same(inside.out, 'open\n', 'files beside them stay readable', inside)


@row('A-fs-2', 'a denied file is not read by mounting over, beside or under it')
def by_mount(case):
    path = secret(case, os.path.join(case.home, '.ssh/key'))
    os.makedirs(os.path.join(case.work, 'mnt'))
    target = os.path.join(case.work, 'mnt')
    text = ('unshare -Urm sh -c \'mount --bind "$0" "$1" && cat "$1"/*; umount "$0"; cat "$0"/*\' "$1" "$2"; cat "$2"/*; '
            'cat "$1"/*')
    never_tells(case, ['sh', '-c', text, 'sh', os.path.dirname(path), target])
    for attack in (['call', '165', f's:{os.path.dirname(path)}', f's:{target}', '0', '4096', '0'],
                   ['unmount', os.path.dirname(path)], ['tree-mount', os.path.dirname(path), target]):
        outside = case.plain([case.attack, 'own-namespaces', *attack])
        case.control(outside.code == 0, f'does not work outside: {outside.out.strip()}')
        case.refused(case.inside([case.attack, 'own-namespaces', *attack]))


@row('A-fs-2', 'a denied folder cannot be listed, entered or looked through')
def listing(case):
    path = secret(case, 'private/key')
    options = ['--deny-read', os.path.dirname(path)]
    outside = case.plain([case.attack, 'list', 'private'])
    case.control('name: key' in outside.out, 'cannot be listed outside')
    inside = case.inside([case.attack, 'list', 'private'], options)
    case.refused(inside, ('EACCES', 'EPERM'))
    case.check('key' not in inside.out, 'a name in it was told', inside)
    for text in ('stat private/key', 'test -e private/key', 'ls private/key', 'ls -a private', 'cat private/*',
                 'find private -name key | grep key'):
        outside = case.plain(['sh', '-c', text])
        case.control(outside.code == 0, f'{text} does not work outside')
        inside = case.inside(['sh', '-c', text], options)
        case.check(inside.code not in (0, 125), f'{text} must fail', inside)


@row('A-fs-2', 'a denied program is not executed')
def execute(case):
    path = case.script('private/tool', '#!/bin/sh\necho ' + SECRET + '\n')
    never_tells(case, [path], ['--deny-read', os.path.dirname(path)])


@row('A-fs-2', 'a symlink that was there before leads to no denied file')
def old_symlink(case):
    path = secret(case, os.path.join(case.home, '.ssh/key'))
    os.symlink(path, os.path.join(case.work, 'link'))
    os.symlink(os.path.dirname(path), os.path.join(case.work, 'folder'))
    never_tells(case, ['cat', 'link'])
    never_tells(case, ['cat', 'folder/key'])


@row('A-fs-2', 'a secret that is itself reached by a symlink is denied where it really lies')
def symlinked_secret(case):
    path = secret(case, os.path.join(case.home, 'dotfiles/ssh/key'))
    os.symlink(os.path.dirname(path), os.path.join(case.home, '.ssh'))
    never_tells(case, ['cat', os.path.join(case.home, '.ssh/key')])
    never_tells(case, ['cat', path])


@row('A-fs-2', 'with reading denied by default only what is named can be read')
def allow_list(case):
    path = secret(case, os.path.join(case.outside, 'file'))
    never_tells(case, ['cat', path], ['--preset', 'locked-down'])
    never_tells(case, ['sh', '-c', 'cat "/proc/self/root$1"; ln -s "$1" link; cat link', 'sh', path],
                ['--preset', 'locked-down'])
    inside = case.inside(['cat', path], ['--preset', 'locked-down', '--read', path])
    case.same(inside.out.strip(), SECRET, 'a path named with --read can be read', inside)


@row('A-fs-2', 'the host\'s password hashes and keys are not read by root', only='root')
def system_secrets(case):
    paths = [path for path in ('/etc/shadow', '/etc/gshadow', '/etc/ssh/ssh_host_ed25519_key', '/etc/ssl/private')
             if os.path.exists(path)]
    # Opened only: what stands in them must not get into a test's output.
    for path in paths:
        attack = ['ls', path] if os.path.isdir(path) else ['sh', '-c', 'exec 3<"$1"', 'sh', path]
        case.control(case.plain(attack).code == 0, f'{path} is not readable outside')
        inside = case.inside(attack)
        case.check(inside.code not in (0, 125), f'{path} was opened', inside)


@row('A-fs-12', 'writing into a read-denied folder is refused, not lost')
def write_denied(case):
    secret(case, 'private/key')
    options = ['--deny-read', os.path.join(case.work, 'private')]
    for attack in (['create', 'private/new'], ['write', 'private/key'], ['truncate', 'private/key'],
                   ['mkdir', 'private/folder'], ['unlink', 'private/key'], ['rename', 'private/new', 'escape-attack'],
                   ['symlink', 'private/link'], ['link', 'private/hard', 'escape-attack'], ['fifo', 'private/fifo'],
                   ['tmpfile', 'private'], ['at', 'private'], ['chdir', 'private'], ['chmod', 'private'],
                   ['rmdir', 'private'], ['create', 'private/key']):
        before = Tree(os.path.join(case.work, 'private'))
        inside = case.inside([case.attack, 'fs', *attack], options)
        case.refused(inside, ('EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV', 'ENOENT'))
        clean(case, before, ' '.join(attack), inside)
    case.worked(case.plain([case.attack, 'fs', 'create', 'private/new']), 'writing outside the sandbox')


@row('A-fs-12', 'writing to a single read-denied file is refused, not lost')
def write_denied_file(case):
    path = secret(case, 'key.txt')
    for name in ('write', 'create', 'truncate', 'read-truncate', 'unlink', 'map', 'chmod', 'chown', 'xattr', 'utime'):
        before = Tree(path)
        inside = case.inside([case.attack, 'fs', name, path], ['--deny-read', path])
        case.refused(inside)
        clean(case, before, name, inside)
    for name in ('rename', 'exchange', 'link'):
        case.write('other', 'x')
        before = Tree(path)
        inside = case.inside([case.attack, 'fs', name, path, os.path.join(case.work, 'other')], ['--deny-read', path])
        case.refused(inside)
        clean(case, before, name, inside)
    case.worked(case.plain([case.attack, 'fs', 'write', path]), 'writing outside the sandbox')


@row('A-fs-12', 'a secret\'s folder cannot be written either')
def write_secret(case):
    secret(case, os.path.join(case.home, '.ssh/authorized_keys'))
    for name, target in (('create', '.ssh/new'), ('write', '.ssh/authorized_keys'), ('unlink', '.ssh/authorized_keys')):
        for options in ((), ('--write', case.home)):
            before = Tree(os.path.join(case.home, '.ssh'))
            inside = case.inside([case.attack, 'fs', name, os.path.join(case.home, target)], options)
            case.refused(inside)
            clean(case, before, name, inside)
    case.worked(case.plain([case.attack, 'fs', 'create', os.path.join(case.home, '.ssh/new')]), 'outside')


@row('A-fs-7', 'a folder that the policy names and a run made a link to secrets opens none of them in the next run')
def link_to_secrets(case):
    for name in ('.ssh/id_ed25519', '.ssh/config'):
        case.write(os.path.join(case.home, name), 'the secret text', 0o600)
    case.write(os.path.join(case.home, '.bashrc'), 'shell text')
    place = os.path.join(case.work, 'data')
    read = 'cat data/id_ed25519 data/config data/.bashrc; for f in id_ed25519 config .bashrc; do echo evil >>data/$f; done; true'
    for key in ('allowRead', 'allowWrite'):
        for entry, target in (('./data', '~/.ssh'), ('data/config', '~/.ssh'), ('./sub/../data', '~/.ssh'), ('data/.bashrc', '~'), ('dat*', '~/.ssh'),
                              ('data/*', '~/.ssh'), ('./data', '~')):
            base = ['/'] if key == 'allowRead' else ['.']
            options = case.policy({'filesystem': {key: [*base, entry, 'plain'], 'allowWrite': ['.', *([entry] if key == 'allowWrite' else [])]}})
            os.makedirs(os.path.join(case.work, 'sub'), exist_ok=True)
            os.mkdir(place)
            first = case.inside(['sh', '-c', f'rmdir data && ln -s {target} data'], options)
            case.check(os.path.islink(place), 'the command makes the link in its own workspace', first)
            second = case.inside(['sh', '-c', read], options)
            case.check('the secret text' not in second.out, f'{key} {entry}: a secret was read', second)
            for name in ('.ssh/id_ed25519', '.ssh/config', '.bashrc'):
                with open(os.path.join(case.home, name), encoding='ascii') as file:
                    case.check('evil' not in file.read(), f'{key} {entry}: {name} was written', second)
            os.unlink(place)
    named = case.inside(['sh', '-c', 'cat ~/.ssh/config'], ['--read', '~/.ssh/config'])
    case.same(named.out, 'the secret text', 'an entry that names it itself opens it', named)
    os.symlink('../elsewhere', place)
    case.write(os.path.join(case.home, 'elsewhere/file'), 'old')
    through = case.inside(['sh', '-c', 'echo new >data/file'], ['--write', 'data'])
    case.check(through.code != 0, 'a link that the command can change is no entry', through)
    os.symlink('elsewhere', os.path.join(case.home, 'steady'))
    through = case.inside(['sh', '-c', 'echo new >~/steady/file'], ['--write', '~/steady'])
    case.same(through.code, 0, 'a link that it cannot change is one', through)
