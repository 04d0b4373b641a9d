"""Writing outside the workspace: every call that changes a file, by every detour that leads there."""
import os
import shutil

from fs_tree import Tree, clean
from harness import row

# What is done to the file `target`, to the folder `folder` (both outside) or to a new name in it. {own} is a file of
# the workspace.
TO_FILE = ('write', 'create', 'openat2', 'truncate', 'read-truncate', 'unlink', 'rename', 'exchange', 'chmod', 'fchmod',
           'chown', 'utime', 'xattr', 'flags', 'reopen', 'reopen-path', 'map', 'handle')
TO_FOLDER = ('at', 'chdir', 'tmpfile', 'chmod', 'xattr', 'utime', 'flags')
TO_NEW = ('create', 'mkdir', 'symlink', 'link', 'link-fd', 'rename', 'noreplace', 'fifo', 'socket')
TO_EMPTY = ('rmdir', 'exchange')


def build(case):
    """The same files outside and inside, anew. Returns the file that is inside."""
    for folder in (case.outside, os.path.join(case.work, 'own')):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(case.outside, 'folder/empty'))
    os.makedirs(os.path.join(case.work, 'own/empty'))
    for path in ('target', 'folder/other'):
        with open(os.path.join(case.outside, path), 'w', encoding='ascii') as file:
            file.write('as it was\n')
    return case.write('own/file', 'of the workspace\n')


def operations(reach):
    """`reach` turns a path relative to the outside folder into the detour's spelling."""
    for name in TO_FILE:
        yield name, reach('target'), 'own/empty' if name == 'handle' else 'own/file'
    for name in TO_FOLDER:
        yield name, reach('folder'), None
    for name in TO_NEW:
        yield name, reach('folder/n'), None if name == 'symlink' else 'own/file'
    for name in TO_EMPTY:
        yield name, reach('folder/empty'), 'own/empty'


def refused_by(case, reach, errors=None, options=()):
    """None of the operations may work inside; those that work outside show that the detour leads there."""
    live = 0
    for name, path, other in operations(reach):
        attack = ['fs', name, path] + ([os.path.join(case.work, other)] if other else [])
        build(case)
        live += case.plain([case.attack, *attack]).code == 0
        build(case)
        before = Tree(case.outside)
        inside = case.inside([case.attack, *attack], options)
        case.refused(inside, errors)
        clean(case, before, f'{name} by this way changed the outside', inside)
    case.control(live >= 25, f'only {live} of the operations work outside by this way')


@row('A-fs-1', 'nothing outside is changed by its absolute path')
def absolute(case):
    refused_by(case, lambda name: os.path.join(case.outside, name))


@row('A-fs-1', 'nothing outside is changed by ".."')
def dots(case):
    refused_by(case, lambda name: os.path.join('../../outside', name))


@row('A-fs-1', 'nothing outside is changed by a symlink to its folder that was there before')
def old_symlink(case):
    os.symlink(case.outside, os.path.join(case.work, 'link'))
    refused_by(case, lambda name: os.path.join('link', name))


@row('A-fs-1', 'nothing outside is changed by a chain of relative symlinks')
def chained_symlinks(case):
    os.symlink('../..', os.path.join(case.work, 'up'))
    os.symlink('up/outside', os.path.join(case.work, 'link'))
    refused_by(case, lambda name: os.path.join(case.work, 'link', '.', name))


@row('A-fs-1', 'nothing outside is changed by /proc/self/root')
def proc_root(case):
    refused_by(case, lambda name: '/proc/self/root' + os.path.join(case.outside, name))


@row('A-fs-1', 'nothing outside is changed by /proc/thread-self/root, /proc/self/task or a double slash')
def proc_thread(case):
    refused_by(case, lambda name: '//proc/thread-self/root/' + os.path.join(case.outside, name))


@row('A-fs-1', 'nothing outside is changed by /proc/self/cwd')
def proc_cwd(case):
    refused_by(case, lambda name: os.path.join('/proc/self/cwd/../../outside', name))


@row('A-fs-1', 'a symlink made inside leads nowhere')
def new_symlink(case):
    for link, text in (('ln -s "$1" link', 'echo x >link/planted'), ('ln -s "$1/target" link', 'echo x >link'),
                       ('ln -s "$1/new" link', 'echo x >link'), ('ln -s "$1" link', 'cp own/file link/planted'),
                       ('ln -s "$1" link', 'mv own/file link/planted'), ('ln -s "$1" link', 'rm -rf link/*'),
                       ('ln -s "$1" link', 'cd link && echo x >planted')):
        attack = ['sh', '-c', f'{link} && {text}', 'sh', case.outside]
        for run, wanted in ((case.plain, True), (case.inside, False)):
            build(case)
            if os.path.lexists(os.path.join(case.work, 'link')):
                os.unlink(os.path.join(case.work, 'link'))
            before = Tree(case.outside)
            outcome = run(attack)
            if wanted:
                case.control(before.changes(), f'{text} changes nothing outside')
            else:
                clean(case, before, text, outcome)


@row('A-fs-1', 'a file outside gets no second name inside: by link, by a descriptor, by renaming it in')
def hard_link(case):
    for name in ('link', 'link-fd', 'rename', 'noreplace', 'exchange'):
        source = os.path.join(case.outside, 'target')
        attack = ['fs', name, 'own/file' if name == 'exchange' else 'own/new', source]
        build(case)
        outside = case.plain([case.attack, *attack])
        case.control(outside.code == 0, f'{name} does not work outside: {outside.out.strip()}')
        build(case)
        before = Tree(case.outside)
        inside = case.inside([case.attack, *attack])
        case.refused(inside)
        clean(case, before, name, inside)


@row('A-fs-1', 'the folders of other processes in /proc lead nowhere')
def other_processes(case):
    text = ('sleep 20 & cd /; for process in /proc/[0-9]*; do for way in root cwd; do '
            '(echo x >"$process/$way$1/planted"; echo x >"$process/$way/../../..$1/planted"; '
            'cd "$process/$way/" && cd ".$1" && echo x >planted) 2>/dev/null; done; done; kill $!')
    build(case)
    outside = case.plain(['sh', '-c', text, 'sh', case.outside])
    case.control(os.path.exists(os.path.join(case.outside, 'planted')), f'does not work outside: {outside.err[:200]}')
    build(case)
    before = Tree(case.outside)
    clean(case, before, 'a way through /proc', case.inside(['sh', '-c', text, 'sh', case.outside]))


@row('A-fs-1', 'the home, its other folders and the workspace\'s own place are not changed')
def home(case):
    case.write(os.path.join(case.home, 'notes'), 'mine\n')
    os.makedirs(os.path.join(case.home, 'other'))
    attacks = (['fs', 'create', os.path.join(case.home, 'planted')], ['fs', 'unlink', os.path.join(case.home, 'notes')],
               ['fs', 'create', os.path.join(case.home, 'other/planted')],
               ['fs', 'rename', os.path.join(case.home, 'elsewhere'), case.work], ['fs', 'tmpfile', case.home])
    outside = case.plain([case.attack, *attacks[0]])
    case.control(outside.code == 0, f'does not work outside: {outside.out.strip()}')
    os.unlink(os.path.join(case.home, 'planted'))
    before = Tree(case.home)
    for attack in attacks:
        inside = case.inside([case.attack, *attack])
        case.refused(inside)
        clean(case, before, ' '.join(attack), inside)


@row('A-fs-1', 'the system\'s folders are not written by root', only='root')
def system(case):
    files = ['/etc/passwd', '/etc/shadow', '/etc/crontab', '/etc/profile', '/root/.bashrc', '/usr/bin/env',
             '/var/log/dpkg.log', '/boot', '/etc/ld.so.preload', '/var/lib/dpkg/status']
    files = [path for path in files if os.path.isfile(path)]
    outside = case.plain([case.attack, 'open-for-writing', *files])
    case.control(outside.code == 0, 'none of them opens for writing outside')
    inside = case.inside([case.attack, 'open-for-writing', *files])
    case.same(inside.code, 1, 'none may open for writing', inside)
    for folder in ('/etc', '/usr/bin', '/var/lib', '/root', '/', '/opt', '/boot', '/home', '/srv', '/mnt'):
        if os.path.isdir(folder):
            path = os.path.join(folder, 'qsb-escape-planted')
            case.refused(case.inside([case.attack, 'fs', 'create', path]))
            case.check(not os.path.lexists(path), f'{path} appeared')


@row('A-fs-1', 'host scratch folders are not the sandbox\'s: nothing written to /tmp and its like arrives')
def scratch(case):
    folders = [folder for folder in ('/tmp', '/var/tmp', '/dev/shm') if os.access(folder, os.W_OK)]
    name = 'qsb-escape-scratch-' + os.path.basename(case.base)
    for folder in folders:
        path = os.path.join(folder, name)
        case.control(case.plain(['sh', '-c', f'echo x >"{path}"']).code == 0, f'{folder} is not writable outside')
        os.unlink(path)
        inside = case.inside(['sh', '-c', f'echo x >"{path}" && cat "{path}"'])
        case.same(inside.out, 'x\n', f'{folder} is writable inside', inside)
        case.check(not os.path.lexists(path), f'{path} appeared on the host')
        case.write(path, 'of the host\n')
        try:
            inside = case.inside([case.attack, 'read', path])
            case.refused(inside)
        finally:
            os.unlink(path)


@row('A-fs-1', 'a read-only preset leaves the workspace as it is')
def read_only(case):
    build(case)
    outside = case.plain([case.attack, 'fs', 'create', 'own/planted'])
    case.control(outside.code == 0, 'does not work outside')
    build(case)
    before = Tree(case.work)
    for attack in (['create', 'own/planted'], ['write', 'own/file'], ['unlink', 'own/file'], ['mkdir', 'planted'],
                   ['chmod', 'own/file'], ['rename', 'own/planted', 'own/file']):
        inside = case.inside([case.attack, 'fs', *attack], ['--preset', 'read-only'])
        case.refused(inside)
        clean(case, before, ' '.join(attack), inside)


@row('W-fs-3', 'a second folder named with --write is writable, and only it')
def second_root(case):
    build(case)
    folder = os.path.join(case.outside, 'folder')
    inside = case.inside([case.attack, 'fs', 'create', os.path.join(folder, 'made')], ['--write', folder])
    case.worked(inside, 'writing to the named folder')
    case.check(os.path.exists(os.path.join(folder, 'made')), 'the file is on the host')
    case.refused(case.inside([case.attack, 'fs', 'create', os.path.join(case.outside, 'made')], ['--write', folder]))
