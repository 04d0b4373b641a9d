"""What the caller gives as a stream was given to be read: not to be changed, and not to be opened again for writing."""
import os

from harness import row


def changes(path):
    return {'mode': f'chmod 0604 {path}', 'times': f'touch -m -d 2001-01-01T00:00:00Z {path}',
            'content': f'echo planted >>{path}', 'length': f': >{path}'}


def state(path):
    info = os.stat(path)
    with open(path, 'rb') as file:
        return info.st_mode, info.st_mtime_ns, file.read()


def unchanged(case, options):
    path = os.path.join(case.outside, 'given')
    for name, change in changes('/proc/self/fd/0').items():
        case.write(path, 'given to be read\n', 0o600)
        before = state(path)
        with open(path, 'rb') as given:
            outside = case.plain(['sh', '-c', change], stdin=given)
        case.control(outside.code == 0 and state(path) != before, f'{name}: no change outside: {outside.describe()}')
        case.write(path, 'given to be read\n', 0o600)
        before = state(path)
        with open(path, 'rb') as given:
            given.seek(6)
            inside = case.inside(['sh', '-c', f'cat; {change}'], options, stdin=given)
        case.same(state(path), before, f'{name} of a file given as stdin, with {options}', inside)
        case.check(inside.code != 0 and inside.out == 'to be read\n', 'read from its place, and no more', inside)


@row('A-fs-1', 'a file outside that is given as stdin can be read, and not changed by its descriptor')
def stdin_file(case):
    unchanged(case, [])


@row('A-fs-1', 'the same where the mounts are all there is: a sandbox inside allowed, and the system shown only')
def stdin_file_mounts_only(case):
    unchanged(case, ['--allow-nested-sandbox', '--protect-new-names', 'false'])
    unchanged(case, ['--preset', 'locked-down'])


@row('A-sys-7', 'the host\'s /dev/null and its kin, given as streams, cannot be changed: their mode is everybody\'s',
     only='root')
def stream_devices(case):
    for name in ('null', 'zero', 'full', 'random', 'urandom'):
        node = os.path.join('/dev', name)
        mode = oct(os.stat(node).st_mode & 0o777)[2:]
        # Its present mode and owner: the control changes nothing of the host's.
        script = f'chmod {mode} /proc/self/fd/$1 || chown 0:0 /proc/self/fd/$1'
        for number, stream in ((0, 'stdin'), (1, 'stdout')):
            with open(node, 'r+b', buffering=0) as device:
                outside = case.plain(['sh', '-c', script, 'sh', str(number)], **{stream: device})
                case.control(outside.code == 0, f'{node}: not even outside: {outside.describe()}')
                inside = case.inside(['sh', '-c', script, 'sh', str(number)], **{stream: device})
                case.check(inside.code == 1 and 'Read-only' in inside.err, f'{node} as {stream} is the host\'s', inside)
    honest = case.inside(['sh', '-c', 'cat; echo lost; echo lost >/proc/self/fd/2; exit 7'], stdout=-3, stderr=-3)
    case.same(honest.code, 7, 'streams to /dev/null work', honest)


@row('A-fs-1', 'a lease on a file outside, which lets everybody wait who opens it, is refused')
def lease(case):
    path = case.write(os.path.join(case.outside, 'leased'), 'text')
    case.denied(['lease', path], errors=['EPERM'])
