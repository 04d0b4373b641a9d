"""Odd files and odd names: links from elsewhere, swapped folders, special files, bytes that shells and parsers trip on."""
import json
import os
import shutil
import stat
import threading

from fs_tree import Tree, clean
from harness import row

# -- A-fs-7: what is mounted is what was looked at ---------------------------------------------------------------------


class Swapper:
    """Keeps replacing a folder by a symlink and back, as fast as it can."""

    def __init__(self, case, path, target):
        case.cleanups.append(self.end)
        self.path, self.target, self.turns, self.stop = path, target, 0, False
        self.thread = threading.Thread(target=self.swap, daemon=True)
        self.thread.start()

    def swap(self):
        away, link = self.path + '.real', self.path + '.link'
        os.symlink(self.target, link)
        while not self.stop:
            os.rename(self.path, away)
            os.rename(link, self.path)
            os.rename(self.path, link)
            os.rename(away, self.path)
            self.turns += 1

    def end(self):
        self.stop = True
        self.thread.join()


@row('A-fs-7', 'a folder with protected files that is swapped for a symlink while sandboxes start leads nowhere')
def swap_protected(case):
    victim = os.path.join(case.outside, 'victim')
    for root in (os.path.join(case.work, 'part'), victim):
        case.write(os.path.join(root, '.git/hooks/pre-commit'), 'as it was\n')
        case.write(os.path.join(root, '.envrc'), 'as it was\n')
    before = Tree(victim)
    swapper = Swapper(case, os.path.join(case.work, 'part'), victim)
    started = 0
    text = ('for way in part/ part.real/ part.link/ "$1/"; do for name in .git/hooks/pre-commit .envrc file '
            '.git/hooks/new; do echo planted >"$way$name"; done; done 2>/dev/null; true')
    for _ in range(60):
        inside = case.inside(['sh', '-c', text, 'sh', victim])
        case.check(inside.code in (0, 125), 'runs, or says why not', inside)
        started += inside.code == 0
        clean(case, before, 'the folder outside', inside)
    swapper.end()
    case.check(swapper.turns > 1000, f'only {swapper.turns} swaps happened')
    case.check(started > 0, 'at least one run must start')
    clean(case, before, 'the folder outside')


@row('A-fs-7', 'a denied folder that is swapped for a symlink while sandboxes start is not read by its real name')
def swap_denied(case):
    key = case.write('private/deep/key', 'the secret itself\n')
    other = os.path.join(case.outside, 'harmless')
    os.makedirs(os.path.join(other, 'deep'))
    case.control('the secret' in case.plain(['cat', key]).out, 'not readable outside')
    # The parent is swapped: the rule names a path below it, whose real place never changes.
    os.mkdir(os.path.join(case.work, 'way'))
    swapper = Swapper(case, os.path.join(case.work, 'way'), other)
    for _ in range(40):
        inside = case.inside(['sh', '-c', 'cat private/deep/key way/deep/key way/key 2>/dev/null; true'],
                             ['--deny-read', os.path.join(case.work, 'private/deep'),
                              '--deny-read', os.path.join(case.work, 'way/deep')])
        case.check(inside.code in (0, 125), 'runs, or says why not', inside)
        case.check('the secret' not in inside.out, 'the secret was read', inside)
    swapper.end()
    case.check(swapper.turns > 1000, f'only {swapper.turns} swaps happened')


@row('A-fs-7', 'the workspace is the folder that was meant, though its parent is swapped for a symlink meanwhile')
def swap_workspace(case):
    for root in (os.path.join(case.base, 'spot'), os.path.join(case.outside, 'decoy')):
        os.makedirs(os.path.join(root, 'project'))
        case.write(os.path.join(root, 'project/name'), root)
    spot = os.path.join(case.base, 'spot')
    swapper = Swapper(case, spot, os.path.join(case.outside, 'decoy'))
    for _ in range(60):
        inside = case.plain([case.program, 'run', '--workspace', os.path.join(spot, 'project'), '--', 'sh', '-c',
                             'read -r name <name; echo "$name" >>name; pwd -P'], cwd='/')
        case.check(inside.code in (0, 1, 2, 125), 'runs, or says why not', inside)
    swapper.end()
    # What was read from a folder went back into the same one: no run began in one and wrote in the other.
    for root in (spot, os.path.join(case.outside, 'decoy')):
        with open(os.path.join(root, 'project/name'), encoding='utf-8') as file:
            case.same(set(file.read().split('\n')) - {''} <= {root, root + root}, True, 'what was written')


# -- A-fs-8 ----------------------------------------------------------------------------------------------------------

@row('A-fs-8', 'a hard link in the workspace to a secret is refused or reported')
def link_to_secret(case):
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    os.link(key, os.path.join(case.work, 'innocent'))
    case.control('the secret' in case.plain(['cat', 'innocent']).out, 'not readable outside')
    noticed(case, ['cat', 'innocent'], lambda result: 'the secret' not in result['stdout'], key)


@row('A-fs-8', 'a hard link in the workspace to a protected file of the workspace is refused or reported')
def link_to_hook(case):
    hook = case.write('.git/hooks/pre-commit', 'as it was\n')
    os.link(hook, os.path.join(case.work, 'innocent'))
    case.control(case.plain(['sh', '-c', 'echo planted >innocent']).code == 0, 'not writable outside')
    case.write(hook, 'as it was\n')

    def kept(_):
        with open(hook, encoding='ascii') as file:
            return file.read() == 'as it was\n'
    noticed(case, ['sh', '-c', 'echo planted >innocent'], kept, hook)


@row('A-fs-8', 'a hard link in the workspace to a shell start-up file of the home is refused or reported')
def link_to_profile(case):
    profile = case.write(os.path.join(case.home, '.bashrc'), 'as it was\n')
    os.link(profile, os.path.join(case.work, 'innocent'))
    case.control(case.plain(['sh', '-c', 'echo planted >innocent']).code == 0, 'not writable outside')
    case.write(profile, 'as it was\n')

    def kept(_):
        with open(profile, encoding='ascii') as file:
            return file.read() == 'as it was\n'
    noticed(case, ['sh', '-c', 'echo planted >innocent'], kept, profile)


def noticed(case, argv, holds, file):
    """Refused, or reported: that the file has other names; which ones, nothing cheap finds out."""
    result = case.result(argv)
    if holds(result):
        return
    told = [gap['what'] for gap in result['sandbox'].get('notEnforced', ()) if 'hard link' in gap['what']]
    case.check(any(os.path.realpath(file) in what for what in told),
               f'the link was followed, and the result does not speak of it: {told}', result['outcome'])
    os.unlink(os.path.join(case.work, 'innocent'))
    told = [gap['what'] for gap in case.result(['true'])['sandbox'].get('notEnforced', ()) if 'hard link' in gap['what']]
    case.check(not told, f'told though there is no other name: {told}')


# -- A-fs-11 ---------------------------------------------------------------------------------------------------------

NAMES = (b"it's", b'say "hello"', b'two\nlines', b'(paren)', b'back\\slash', b'$HOME', b'`id`', b';true', b'a b', b'-rf',
         b'--write', b'*', b'[a-z]', b'?', b'{a,b}', b'~', b'#', b'%s%n', b'\xff\xfe', b'\xc3\xa9', b'\xe2\x80\xae', b'\t', b'\x01',
         b'a:b', b'a,b', b'a=b', b'\\n', b'\\040', b' lead', b'trail ', b'...', b'n' * 255)


@row('A-fs-11', 'a workspace whose name holds any byte works, and only it is writable')
def odd_workspace(case):
    for name in NAMES:
        folder = os.path.join(os.fsencode(case.base), b'odd', name)
        os.makedirs(folder)
        argv = [case.program, 'run', '--workspace', folder, '--', 'sh', '-c', 'echo x >made; pwd; cd ..; echo x >planted']
        inside = case.plain(argv, cwd=folder)
        if inside.code == 125:
            case.check(inside.err.count('\n') == 1, f'{name!r}: the error is one line', inside)
            case.check(not os.path.exists(os.path.join(folder, b'made')), 'nothing may run', inside)
            # Only what JSON and a terminal cannot hold may be refused.
            case.check(b'\xff' in name, f'{name!r} can be expressed', inside)
            continue
        case.check(os.path.exists(os.path.join(folder, b'made')), f'{name!r}: the workspace is writable', inside)
        case.check(not os.path.exists(os.path.join(os.path.dirname(folder), b'planted')), f'{name!r}: planted', inside)


@row('A-fs-11', 'a denied path whose name holds any byte is denied, by option and by policy file')
def odd_denied(case):
    for number, name in enumerate(NAMES):
        folder = os.path.join(os.fsencode(case.work), b'odd%d' % number)
        path = os.path.join(folder, name)
        os.makedirs(folder)
        with open(path, 'wb') as file:
            file.write(b'the secret itself\n')
        ways = [['--deny-read', path]]
        try:
            ways.append(case.policy({'filesystem': {'denyRead': ['@secrets', path.decode('utf-8')]}}))
        except UnicodeDecodeError:
            pass
        for options in ways:
            inside = case.inside(['sh', '-c', 'cd "$0" && grep -r "" . ; cat ./* .[!.]* 2>/dev/null', folder], options)
            case.check('the secret' not in inside.out, f'{name!r} was read with {options}', inside)
            if inside.code == 125:
                case.check(inside.err.strip(), f'{name!r}: an error says why', inside)
        outside = case.plain(['sh', '-c', 'cd "$0" && grep -r "" .', folder])
        case.control('the secret' in outside.out, f'{name!r} is not readable outside')


@row('A-fs-11', 'a denied path that reads as a pattern is denied as it stands, and so is what it matches')
def wildcard_denied(case):
    for name in ('[a-z]', 'page[id].js', '*', 'what?', '[ab]*'):
        folder = os.path.join(case.work, 'wild')
        for file in (name, 'a', 'pagei.js', 'abc'):
            case.write(os.path.join(folder, file), 'the secret itself\n')
        case.control('the secret' in case.plain(['cat', os.path.join(folder, name)]).out, 'not readable outside')
        inside = case.inside(['cat', os.path.join(folder, name)], ['--deny-read', os.path.join(folder, name)])
        case.check(inside.code == 1 and 'the secret' not in inside.out, f'{name} was read', inside)
        shutil.rmtree(folder)


@row('A-fs-11', 'paths of 4,096 bytes and more are denied, or refused with a clear error')
def long_paths(case):
    deep = case.work
    while len(deep) < 3800:
        deep = os.path.join(deep, 'd' * 200)
        os.mkdir(deep)
    key = os.path.join(deep, 'k' * (4094 - len(deep)))
    for path in (key, key[:-5]):
        with open(path, 'w', encoding='ascii') as file:
            file.write('the secret itself\n')
        case.control('the secret' in case.plain(['cat', path]).out, 'not readable outside')
        inside = case.inside(['cat', path], ['--deny-read', path])
        case.check('the secret' not in inside.out, f'a path of {len(path)} bytes was read', inside)
    for length in (4096, 5000, 70000):
        inside = case.inside(['sh', '-c', 'echo ran >marker'], ['--deny-read', '/' + 'x/' * (length // 2)])
        case.check(inside.code in (0, 125), f'{length} bytes: runs, or says why not', inside)
        if inside.code == 125:
            case.check('long' in inside.err.lower(), 'the error must say that the path is too long', inside)
            case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'nothing may run', inside)
            continue
        os.unlink(os.path.join(case.work, 'marker'))
    inside = case.inside(['sh', '-c', 'echo x >made; pwd | wc -c'], ['--workspace', deep], cwd=deep)
    case.check(inside.code in (0, 125), 'a deep workspace', inside)
    case.check(inside.code == 125 or os.path.exists(os.path.join(deep, 'made')), 'a deep workspace is writable', inside)


@row('A-fs-11', 'a NUL in a path of a policy is an error')
def nul_byte(case):
    path = os.path.join(case.base, 'nul.json')
    for text in ('{"filesystem": {"denyRead": ["/etc\\u0000/x"]}}', '{"filesystem": {"allowWrite": ["\\u0000"]}}'):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        inside = case.inside(['sh', '-c', 'echo ran >marker'], ['--policy', path])
        case.same(inside.code, 125, 'exit code', inside)
        case.check(inside.err.strip(), 'an error says why', inside)
        case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'nothing may run', inside)


# -- A-fs-13 ---------------------------------------------------------------------------------------------------------

@row('A-fs-13', 'no file with a set-id bit is left in the workspace, by any call or mode')
def set_id(case):
    live = 0
    for way in ('open', 'creat', 'mknod', 'chmod', 'fchmod', 'fchmodat', 'fchmodat2', 'high-bits', 'tmpfile'):
        for mode in (0o4755, 0o2755, 0o6755, 0o4000):
            path = os.path.join(case.work, f'{way}-{mode:o}')
            outside = case.plain([case.attack, 'setid', way, oct(mode).replace('0o', '0'), path])
            live += outside.code == 0
            if os.path.lexists(path):
                os.unlink(path)
            inside = case.inside([case.attack, 'setid', way, oct(mode).replace('0o', '0'), path])
            case.refused(inside)
            left = os.lstat(path).st_mode if os.path.lexists(path) else 0
            case.check(not left & (stat.S_ISUID | stat.S_ISGID), f'{way} left mode {left:o}', inside)
    case.control(live >= 30, f'only {live} ways work outside')


@row('A-fs-13', 'tar, cp, install and chmod leave no set-id bit in the workspace')
def set_id_tools(case):
    source = case.write('tool', 'x', 0o755)
    case.plain(['sh', '-c', 'cp tool set; chmod 6755 set; tar cpf all.tar set; mkdir own; chmod 2755 own'])
    case.control(os.lstat(os.path.join(case.work, 'set')).st_mode & stat.S_ISUID, 'cannot be set outside')
    os.chmod(os.path.join(case.work, 'own'), 0o755)
    case.inside(['sh', '-c', 'mkdir out; tar xpf all.tar -C out; cp -p set copied; install -m 4755 tool installed; '
                 'chmod u+s tool; rsync -a set synced; python3 -c "import os; os.chmod(\'tool\', 0o6755)"; true'])
    for folder, _, files in os.walk(case.work):
        for name in files:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            case.check(name == 'set' and folder == case.work or not mode & (stat.S_ISUID | stat.S_ISGID),
                       f'{folder}/{name} has mode {mode:o}')
    case.check(source, 'the source is there')


@row('A-fs-13', 'no FIFO, socket device or device node is left in the workspace')
def special_files(case):
    live = 0
    for attack in (['fs', 'fifo', 'pipe'], ['device', 'null', 'c', '1', '3'], ['device', 'disk', 'b', '254', '0']):
        path = os.path.join(case.work, attack[1] if attack[0] == 'device' else attack[2])
        live += case.plain([case.attack, *attack]).code == 0
        if os.path.lexists(path):
            os.unlink(path)
        inside = case.inside([case.attack, *attack])
        case.refused(inside, ('EPERM', 'EACCES'))
        case.check(not os.path.lexists(path), f'{path} was left', inside)
    case.control(live > 0, 'none works outside')


@row('A-fs-13', 'a program\'s own FIFO works in /tmp')
def own_fifo(case):
    text = 'mkfifo /tmp/pipe && (echo through >/tmp/pipe &) && cat /tmp/pipe'
    case.control(case.plain(['sh', '-c', text.replace('/tmp/', 'own-')]).out == 'through\n', 'no FIFO outside')
    inside = case.inside(['sh', '-c', text])
    case.same(inside.out, 'through\n', 'a FIFO in /tmp', inside)


@row('A-fs-13', 'no file capability is put on a file', only='root')
def capability(case):
    tool = shutil.which('setcap') or '/sbin/setcap'
    path = case.write('tool', 'x', 0o755)
    outside = case.plain([tool, 'cap_net_raw+ep', path])
    case.control(outside.code == 0, f'setcap does not work outside: {outside.err.strip()}')
    case.plain([tool, '-r', path])
    before = Tree(path)
    inside = case.inside([tool, 'cap_net_raw+ep', path])
    case.check(inside.code not in (0, 125), 'must be refused', inside)
    clean(case, before, 'the file', inside)
