"""A bad policy: the error names the key, and nothing runs."""
import json
import os

from harness import row


def refused(case, options, words, **keywords):
    """Exit 125, an error of one line with these words, and no command ran."""
    marker = os.path.join(case.work, 'marker')
    outcome = case.inside(['sh', '-c', 'echo ran >marker'], options, **keywords)
    case.check(not outcome.hung, 'must not hang', outcome)
    case.same(outcome.code, 125, f'exit code with {options}', outcome)
    case.check(not os.path.exists(marker), 'nothing may run', outcome)
    case.same(outcome.out, '', 'nothing on stdout', outcome)
    for word in words:
        case.check(word in outcome.err, f'the error must name {word}', outcome)
    case.check(0 < len(outcome.err.strip().splitlines()) <= 2, 'one sentence', outcome)


def file_with(case, content, name='policy.json', mode=None):
    return case.write(os.path.join(case.base, name), content, mode)


@row('A-fail-2', 'a good policy runs: the control')
def good(case):
    for policy in ({}, {'version': 1}, {'limits': {'timeout': 60}}, {'filesystem': {'allowWrite': ['.']}}):
        outcome = case.inside(['echo', 'works'], case.policy(policy))
        case.same(outcome.out, 'works\n', json.dumps(policy), outcome)


@row('A-fail-2', 'a policy file that is missing, empty, unreadable, a folder, a FIFO, a device or a broken link is refused')
def unreadable(case):
    os.mkdir(os.path.join(case.base, 'folder'))
    os.mkfifo(os.path.join(case.base, 'fifo'))
    os.symlink('nowhere', os.path.join(case.base, 'link'))
    os.symlink('loop', os.path.join(case.base, 'loop'))
    file_with(case, '', 'empty')
    file_with(case, ' \n\t', 'blank')
    for name in ('missing', 'empty', 'blank', 'folder', 'fifo', 'link', 'loop', 'folder/below/it'):
        refused(case, ['--policy', os.path.join(case.base, name)], [name])
    refused(case, ['--policy', '/dev/zero'], ['/dev/zero'])
    refused(case, ['--policy', ''], [])
    if not case.is_root:
        refused(case, ['--policy', file_with(case, '{}', 'secret', 0o000)], ['secret'])


@row('A-fail-2', 'a policy file that is huge, deeply nested, not UTF-8, not JSON or more than JSON is refused')
def malformed(case):
    huge = os.path.join(case.base, 'huge')
    with open(huge, 'wb') as file:
        file.truncate(1 << 30)
    refused(case, ['--policy', huge], ['huge'])
    contents = (b'{"filesystem": {"denyRead": [' + b'"/x",' * 300000 + b'"/x"]}}', b'[' * 100000, b'{"a":' * 1000 + b'1' + b'}' * 1000,
                b'\xff\xfe{}', b'{"limits": {"timeout": "\xff"}}', b'{', b'{}x', b'{} {}', b'null', b'[]', b'"text"', b'1', b'true',
                b'{"limits": {"timeout": 60,}}', b"{'limits': {}}", b'// a comment\n{}', b'{"limits": {"timeout": 60 /* x */}}',
                b'\x00', b'{"limits": {"timeout": NaN}}', b'{"limits": {"timeout": 01}}', b'{\x00}', b'\xef\xbb\xbf{"x": 1}')
    for number, content in enumerate(contents):
        refused(case, ['--policy', file_with(case, content, f'bad-{number}')], [f'bad-{number}'])


@row('A-fail-2', 'unknown and doubled keys are refused by name, with a suggestion for a misspelt one')
def unknown_keys(case):
    for text, words in (('{"netwrok": {}}', ['netwrok', 'network']), ('{"filesystem": {"denyread": []}}', ['denyread', 'denyRead']),
                        ('{"limits": {"timeuot": 1}}', ['timeuot', 'timeout']), ('{"": 1}', []), ('{"x": {"y": {"z": 1}}}', ['x']),
                        ('{"limits": {"timeout": 1}, "limits": {"timeout": 2}}', ['limits']),
                        ('{"limits": {"timeout": 1, "timeout": 2}}', ['timeout']), ('{"version": 2}', ['version']),
                        ('{"__proto__": {}}', ['__proto__']), ('{"allow\\u0000Unsandboxed": true}', [])):
        refused(case, ['--policy', file_with(case, text)], words)


@row('A-fail-2', 'a value of the wrong type or out of range is refused with its pointer')
def wrong_values(case):
    for policy, pointer in (
            ({'limits': {'timeout': -1}}, '/limits/timeout'), ({'limits': {'timeout': 0}}, '/limits/timeout'),
            ({'limits': {'timeout': 'abc'}}, '/limits/timeout'), ({'limits': {'timeout': []}}, '/limits/timeout'),
            ({'limits': {'timeout': None}}, '/limits/timeout'), ({'limits': {'timeout': 1e308}}, '/limits/timeout'),
            ({'limits': {'memory': '1k'}}, '/limits/memory'), ({'limits': {'memory': '2x'}}, '/limits/memory'),
            ({'limits': {'memory': -5}}, '/limits/memory'), ({'limits': {'memory': '99999999999999999999g'}}, '/limits/memory'),
            ({'limits': {'cpus': 0}}, '/limits/cpus'), ({'limits': {'processes': 1.5}}, '/limits/processes'),
            ({'limits': {'processes': True}}, '/limits/processes'), ({'limits': {'openFiles': 1 << 40}}, '/limits/openFiles'),
            ({'limits': []}, '/limits'), ({'filesystem': 'x'}, '/filesystem'), ({'filesystem': {'denyRead': '/x'}}, '/filesystem/denyRead'),
            ({'filesystem': {'denyRead': [1]}}, '/filesystem/denyRead/0'), ({'filesystem': {'denyRead': ['/a', '']}}, '/filesystem/denyRead/1'),
            ({'filesystem': {'allowWrite': [None]}}, '/filesystem/allowWrite/0'), ({'filesystem': {'protectNames': 'yes'}}, '/filesystem/protectNames'),
            ({'filesystem': {'tmp': 'shared'}}, '/filesystem/tmp'), ({'filesystem': {'devices': ['nuclear']}}, '/filesystem/devices/0'),
            ({'network': {'mode': 'on'}}, '/network/mode'), ({'network': {'allowedDomains': ['https://x']}}, '/network/allowedDomains/0'),
            ({'network': {'allowedDomains': ['a b']}}, '/network/allowedDomains/0'), ({'network': {'allowedDomains': ['*x.com']}}, '/network/allowedDomains/0'),
            ({'network': {'allowedDomains': ['x.com:0']}}, '/network/allowedDomains/0'), ({'extends': 'nothing'}, '/extends'),
            ({'extends': 1}, '/extends'), ({'environment': {'set': {'A=B': 'c'}}}, '/environment/set'),
            ({'environment': {'set': {'A': 1}}}, '/environment/set'), ({'environment': {'inherit': 'some'}}, '/environment/inherit'),
            ({'allowUnsandboxed': 'true'}, '/allowUnsandboxed'), ({'allowNestedSandbox': 1}, '/allowNestedSandbox')):
        refused(case, case.policy(policy), [pointer])


@row('A-fail-2', 'a bad file of the user or of the project stops the run as well')
def other_layers(case):
    user = os.path.join(case.home, '.config/qiming-sandbox/policy.json')
    project = os.path.join(case.work, '.qiming-sandbox.json')
    for path in (user, project):
        for content in ('{"netwrok": {}}', '', '{', '{"limits": {"timeout": -1}}'):
            case.write(path, content)
            refused(case, [], [os.path.basename(path)])
        os.unlink(path)
        os.mkfifo(path)
        refused(case, [], [os.path.basename(path)])
        os.unlink(path)
        if not case.is_root:
            case.write(path, '{}', 0o000)
            refused(case, [], [os.path.basename(path)])
            os.unlink(path)
    case.same(case.inside(['echo', 'works']).out, 'works\n', 'without them it runs')


@row('A-fail-2', 'a managed file that anyone but root may write stops the run', only='root')
def managed(case):
    if os.path.exists('/etc/qiming-sandbox'):
        case.control(False, 'this machine has a managed policy: it is left alone')
    # Only in a mount namespace of our own does /etc look different.
    for content, mode, owner, good in (('{}', 0o644, 0, True), ('{}', 0o666, 0, False), ('{}', 0o664, 0, True), ('{}', 0o644, 65534, False),
                                       ('{"netwrok": 1}', 0o644, 0, False), ('', 0o644, 0, False)):
        path = '/etc/qiming-sandbox/policy.json'
        setup = (f'd="{case.base}/layer"; rm -rf "$d"; mkdir -p "$d"; mount -t tmpfs none "$d"; mkdir "$d/u" "$d/w"; mount -t overlay -o '
                 f'lowerdir=/etc,upperdir="$d/u",workdir="$d/w" overlay /etc; mkdir -p /etc/qiming-sandbox; printf %s \'{content}\' >{path}; '
                 f'chown {owner} {path}; chmod {mode:o} {path}')
        outcome = case.plain(['unshare', '--mount', 'sh', '-ec', setup + '\nexec "$@"', 'sh', *case.sandboxed(['echo', 'works'])])
        if mode == 0o664:
            continue  # the group is root's own here: either answer is right
        case.same(outcome.code, 0 if good else 125, f'{content} {mode:o} {owner}', outcome)
        case.check(good or 'policy.json' in outcome.err, 'the error names the file', outcome)
    case.check(not os.path.exists('/etc/qiming-sandbox'), 'the host\'s own /etc is untouched')


@row('A-fail-2', 'options with bad values are refused with the accepted forms')
def options(case):
    for option, value, words in (('--timeout', '0', ['timeout']), ('--timeout', '-1', ['timeout']), ('--timeout', 'abc', ['90s']),
                                 ('--memory', '1k', ['memory']), ('--memory', 'much', ['memory']), ('--cpus', '0', ['cpus']),
                                 ('--processes', '1', ['processes']), ('--network', 'on', ['off']), ('--preset', 'loose', ['workspace']),
                                 ('--output', '1', ['output']), ('--env', '=x', ['env']), ('--write', '', ['write']),
                                 ('--allow-domain', 'http://x', ['http']), ('--publish', '0', []), ('--publish', '99999', []),
                                 ('--pass-fd', '999', ['999']), ('--pass-fd', 'x', ['x']), ('--no-such-option', 'x', ['--no-such-option']),
                                 ('--netwrok', 'off', ['--network'])):
        refused(case, [option, value], words)


@row('A-fail-2', 'a policy by descriptor is held to the same rules')
def by_descriptor(case):
    for content, good in ((b'{}', True), (b'{"netwrok": {}}', False), (b'', False), (b'{', False)):
        read, write = os.pipe()
        os.write(write, content)
        os.close(write)
        outcome = case.inside(['echo', 'works'], ['--policy-fd', str(read)], pass_fds=(read,))
        os.close(read)
        case.same((outcome.code, outcome.out), (0, 'works\n') if good else (125, ''), repr(content), outcome)
    refused(case, ['--policy-fd', '777'], ['777'])
