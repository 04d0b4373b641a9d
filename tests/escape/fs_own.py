"""The sandbox's own program, settings and state, and settings that come with a cloned project."""
import json
import os
import shutil

from fs_tree import Tree, clean
from harness import row

CHANGES = ('write', 'create', 'truncate', 'unlink', 'rename', 'exchange', 'chmod', 'reopen', 'map')


def none_changes(case, path, options, program=None, cwd=None):
    """No change of one existing file works inside. The control is that it would outside."""
    planted = case.write(os.path.join(case.work, 'planted'), '{}')
    attack = shutil.copy(case.attack, os.path.join(case.work, 'tool'))
    case.control(case.plain([attack, 'open-for-writing', path]).code == 0, f'{path} does not open for writing outside')
    for change in CHANGES:
        before = Tree(path)
        argv = [attack, 'fs', change, path, *([planted] if change in ('rename', 'exchange') else [])]
        program_options = [program or case.program, 'run', *options, '--', *argv]
        inside = case.plain(program_options, cwd=cwd or case.work)
        case.refused(inside)
        clean(case, before, f'{change} of {path}', inside)


@row('A-fs-9', 'the user\'s policy file is not written, even when the home is writable')
def user_policy(case):
    path = case.write(os.path.join(case.home, '.config/qiming-sandbox/policy.json'), '{"limits": {"timeout": 60}}')
    none_changes(case, path, ['--workspace', case.work, '--write', case.home])
    none_changes(case, path, ['--workspace', case.home], cwd=case.home)


@row('A-fs-9', 'the user\'s policy file cannot be made where there is none, and its folder not be moved')
def new_user_policy(case):
    folder = os.path.join(case.home, '.config')
    case.control(case.plain(['sh', '-c', 'mkdir -p "$1/qiming-sandbox" && echo "{}" >"$1/qiming-sandbox/policy.json"',
                             'sh', folder]).code == 0, 'cannot be made outside')
    for exists in (True, False):
        if not exists:
            shutil.rmtree(folder)
        before = os.path.exists(os.path.join(folder, 'qiming-sandbox/policy.json'))
        inside = case.inside(['sh', '-c', 'mv ~/.config ~/c2; mkdir -p ~/.config/qiming-sandbox; '
                              'echo \'{"extends": "full-access"}\' >~/.config/qiming-sandbox/policy.json; true'],
                             ['--write', case.home])
        path = os.path.join(folder, 'qiming-sandbox/policy.json')
        if before:
            with open(path, encoding='utf-8') as file:
                case.same(file.read().strip(), '{}', 'the policy', inside)
        else:
            case.check(not os.path.exists(path), 'a policy was planted', inside)
    shutil.rmtree(folder, ignore_errors=True)
    inside = case.inside(['sh', '-c', 'mkdir -p ~/.config; echo x >~/.config/other; rm -r ~/.config; mkdir -p ~/new/qiming-sandbox; '
                          'echo "{}" >~/new/qiming-sandbox/policy.json; mv ~/new ~/.config; true'], ['--write', case.home])
    case.check(not os.path.exists(path), 'a policy was moved in', inside)
    case.check(os.path.exists(os.path.join(case.home, 'new/qiming-sandbox/policy.json')), 'the rest of the home is writable', inside)


@row('A-fs-9', 'where a missing policy cannot be held, nothing runs until its folder is there')
def unheld_user_policy(case):
    options = ['--write', case.home, '--protect-new-names', 'false', *case.policy({'allowNestedSandbox': True})]
    folder = os.path.join(case.home, '.config/qiming-sandbox')
    inside = case.inside(['mkdir', '-p', folder], options)
    case.check(inside.code == 125 and 'mkdir -p' in inside.err and folder in inside.err, 'refused, with the way out', inside)
    os.makedirs(folder)
    inside = case.inside(['sh', '-c', 'echo "{}" >"$0/policy.json" || echo kept', folder], options)
    case.same((inside.code, inside.out, os.listdir(folder)), (0, 'kept\n', []), 'with the folder', inside)


@row('A-fs-9', 'a policy file named on the command line is not written, though it lies in the workspace')
def named_policy(case):
    path = case.write('settings/policy.json', '{"limits": {"timeout": 60}}')
    none_changes(case, path, ['--workspace', case.work, '--policy', path])
    inside = case.plain([case.program, 'run', '--workspace', case.work, '--policy', path, '--', 'sh', '-c',
                         'mv settings s2; mkdir settings; echo "{}" >settings/policy.json'])
    with open(path, encoding='utf-8') as file:
        case.same(file.read(), '{"limits": {"timeout": 60}}', 'the policy', inside)


@row('A-fs-9', 'the project\'s own policy file is not written')
def project_policy(case):
    path = case.write('.qiming-sandbox.json', '{"limits": {"timeout": 60}}')
    none_changes(case, path, ['--workspace', case.work])


@row('A-fs-9', 'the program itself is not written, renamed or replaced, though it lies in the workspace')
def program(case):
    path = os.path.join(case.work, 'build/qiming-sandbox')
    os.makedirs(os.path.dirname(path))
    shutil.copy(case.program, path)
    control = case.plain([path, 'run', '--workspace', case.work, '--', 'true'])
    case.control(control.code == 0, f'a copy of the program does not run: {control.err.strip()}')
    attack = shutil.copy(case.attack, os.path.join(case.work, 'tool'))
    for change in CHANGES:
        before = Tree(path)
        case.write('planted', 'x', 0o755)
        argv = [attack, 'fs', change, path, *(['planted'] if change in ('rename', 'exchange') else [])]
        inside = case.plain([path, 'run', '--workspace', case.work, '--', *argv])
        case.check(inside.code not in (0, 125), f'{change} must be refused', inside)
        clean(case, before, change, inside)
    before = Tree(path)
    inside = case.plain([path, 'run', '--workspace', case.work, '--', 'sh', '-c',
                         'mv build b2; mkdir build; cp planted build/qiming-sandbox'])
    clean(case, before, 'moving its folder', inside)


@row('A-fs-9', 'the managed policy of the machine is not made or written by root', only='root')
def managed_policy(case):
    folder = '/etc/qiming-sandbox'
    case.control(os.access('/etc', os.W_OK), '/etc is not writable outside')
    existed = os.path.exists(folder)
    text = 'mkdir -p "$0"; echo "{}" >"$0/policy.json.escape"; echo "{}" >"$0/policy.json"'
    for options in ((), ('--write', '/etc')):
        if existed:
            text = 'echo >>"$0/policy.json"'
        before = Tree(folder) if existed else None
        inside = case.inside(['sh', '-c', text, folder], options)
        planted = os.path.lexists(folder) and not existed
        if planted:
            shutil.rmtree(folder)  # a managed policy would bind the whole machine: it must not stay, whatever happened
        case.check(not planted, f'a managed policy was planted with {options}', inside)
        if existed:
            clean(case, before, 'the managed policy', inside)


# -- A-fs-10: what a project brings along ----------------------------------------------------------------------------

def probe(case, folder_policy, options=(), argv=None):
    """What a command can do under a project's own policy file."""
    case.write('.qiming-sandbox.json', json.dumps(folder_policy))
    return case.inside(argv, options)


def loosening(case):
    """Settings of a project, each with a command that works only if the setting counts."""
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    out = os.path.join(case.outside, 'planted')
    case.env['DEPLOY_TOKEN'] = 'secret-token-1'
    return (
        ({'filesystem': {'allowWrite': ['.', case.outside]}}, ['sh', '-c', f'echo x >{out}']),
        ({'filesystem': {'allowWrite': ['/']}}, ['sh', '-c', f'echo x >{out}']),
        ({'filesystem': {'allowWrite': ['.', '../../outside']}}, ['sh', '-c', f'echo x >{out}']),
        ({'filesystem': {'allowRead': ['/', key]}}, ['cat', key]),
        ({'filesystem': {'allowRead': ['/', key], 'denyRead': []}}, ['cat', key]),
        ({'filesystem': {'denyRead': []}}, ['cat', key]),
        ({'extends': 'full-access'}, ['cat', key]),
        ({'extends': 'full-access'}, ['sh', '-c', f'echo x >{out}']),
        ({'filesystem': {'protectNames': False}}, ['sh', '-c', 'echo x >>.envrc']),
        ({'filesystem': {'tmp': 'host'}}, ['sh', '-c', f'test -e /tmp/qsb-escape-{os.getpid()}']),
        ({'environment': {'pass': ['DEPLOY_TOKEN']}}, ['sh', '-c', 'test -n "$DEPLOY_TOKEN"']),
        ({'environment': {'inherit': 'all'}}, ['sh', '-c', 'test -n "$DEPLOY_TOKEN"']),
        ({'allowNestedSandbox': True, 'filesystem': {'protectNewNames': False}}, ['unshare', '-U', 'true']),
        ({'network': {'mode': 'host'}}, ['sh', '-c', 'test "$(readlink /proc/self/ns/net)" = "$0"',
                                         os.readlink('/proc/self/ns/net')]),
        ({'limits': {'openFiles': 100000}}, ['sh', '-c', 'test "$(ulimit -n)" -gt 4096']),
        ({'limits': {'fileSize': 'none'}, 'trustedFolders': [case.work]}, ['cat', key]),
    )


@row('A-fs-10', 'a project\'s policy loosens nothing: paths, secrets, presets, environment, network, limits')
def project_loosens(case):
    case.write('.envrc', 'as it was\n')
    host_tmp = f'/tmp/qsb-escape-{os.getpid()}'
    case.write(host_tmp, '')
    case.cleanups.append(lambda: os.unlink(host_tmp))
    for policy, argv in loosening(case):
        inside = probe(case, policy, (), argv)
        case.check(inside.code != 0, f'{json.dumps(policy)} loosened the policy', inside)
        case.check(not os.path.exists(os.path.join(case.outside, 'planted')), 'the outside was written', inside)


@row('A-fs-10', 'the same settings count when the user trusts the folder')
def trusted(case):
    """The control of the row above: the commands do work where the settings count."""
    case.write('.envrc', 'as it was\n')
    host_tmp = f'/tmp/qsb-escape-{os.getpid()}'
    case.write(host_tmp, '')
    case.cleanups.append(lambda: os.unlink(host_tmp))
    case.write(os.path.join(case.home, '.config/qiming-sandbox/policy.json'), json.dumps({'trustedFolders': [case.work]}))
    for policy, argv in loosening(case):
        if 'trustedFolders' in policy or policy == {'filesystem': {'denyRead': []}}:
            continue  # the user's file only, and a list of denials, which only ever grows
        inside = probe(case, policy, (), argv)
        case.check(inside.code == 0, f'{json.dumps(policy)} does not count though the folder is trusted', inside)
        if os.path.exists(os.path.join(case.outside, 'planted')):
            os.unlink(os.path.join(case.outside, 'planted'))


@row('A-fs-10', 'a project\'s policy may tighten')
def project_tightens(case):
    path = case.write('private', 'the secret itself\n')
    case.same(case.inside(['cat', path]).out, 'the secret itself\n', 'without the file it is readable')
    inside = probe(case, {'filesystem': {'denyRead': ['private']}, 'limits': {'openFiles': 64}}, (),
                   ['sh', '-c', 'cat private; ulimit -n'])
    case.check('the secret' not in inside.out, 'denyRead must count', inside)
    case.check(inside.out.split()[-1:] == ['64'], 'a lower limit must count', inside)


@row('A-fs-10', 'a project\'s policy that is a symlink, a FIFO or nonsense runs nothing or changes nothing')
def odd_project_policy(case):
    path = os.path.join(case.work, '.qiming-sandbox.json')
    key = case.write(os.path.join(case.home, '.ssh/key'), 'the secret itself\n')
    loose = case.write(os.path.join(case.outside, 'loose.json'), json.dumps({'filesystem': {'denyRead': []}}))
    for make in (lambda: os.symlink(loose, path), lambda: os.mkfifo(path), lambda: os.mkdir(path),
                 lambda: case.write(path, '{"nonsense": 1}'), lambda: case.write(path, ''),
                 lambda: case.write(path, '{"filesystem": {"denyRead": []}')):
        make()
        inside = case.inside(['sh', '-c', 'cat "$1"; echo ran >marker', 'sh', key])
        case.check(not inside.hung, 'must not hang', inside)
        case.check('the secret' not in inside.out, 'the secret was read', inside)
        if inside.code == 125:
            case.check(not os.path.exists(os.path.join(case.work, 'marker')), 'nothing may run', inside)
            case.check('.qiming-sandbox.json' in inside.err, 'the error must name the file', inside)
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        if os.path.exists(os.path.join(case.work, 'marker')):
            os.unlink(os.path.join(case.work, 'marker'))
