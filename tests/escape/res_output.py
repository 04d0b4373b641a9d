"""Output and files: what a command writes is kept within its limits."""
import os

from harness import row
from res_bombs import MIB, limit_denial, made


# -- A-res-2 -----

LINES = 'echo the-first-line; i=0; seq 1 400000; echo the-last-line'


@row('A-res-2', 'of long output head and tail are kept, it is marked truncated, and the command goes on')
def head_and_tail(case):
    outside = case.plain(['sh', '-c', LINES])
    case.control(len(outside.out) > 2 * MIB and outside.code == 0, 'there is not enough output outside')
    for stream, redirect in (('stdout', ''), ('stderr', ' >&2')):
        other = 'stderr' if stream == 'stdout' else 'stdout'
        answer = case.result(['sh', '-c', f'({LINES}){redirect}; touch done-{stream}; exit 5'], ['--output', '64k'])
        text = answer[stream]
        case.same(answer['exitCode'], 5, 'exit code: the command went on to its end', None)
        case.check(os.path.exists(os.path.join(case.work, 'done-' + stream)), 'the command was stopped')
        case.check(text.startswith('the-first-line\n1\n2\n'), f'the head is missing: {text[:60]!r}')
        case.check(text.endswith('399999\n400000\nthe-last-line\n'), f'the tail is missing: {text[-60:]!r}')
        case.check(32 * 1024 < len(text.encode()) <= 66 * 1024, f'{len(text)} characters are kept, the limit is 64k')
        case.same(answer['truncated'], {stream: True, other: False}, 'truncated')


@row('A-res-2', 'output at the limit is whole, one byte more is not')
def exact_limit(case):
    for size, cut in ((65536, False), (65537, True)):
        answer = case.result(['sh', '-c', f'head -c {size} /dev/zero | tr "\\0" x'], ['--output', '64k'])
        case.same(answer['truncated']['stdout'], cut, f'truncated with {size} bytes')
        if not cut:
            case.same(answer['stdout'], 'x' * size, 'the output')
    control = case.plain(['sh', '-c', 'head -c 65537 /dev/zero | tr "\\0" x'])
    case.control(len(control.out) == 65537, 'there is no output outside')


@row('A-res-2', 'a cut goes through no character: the result is JSON in UTF-8, whatever bytes come')
def odd_bytes(case):
    for script in ("while :; do printf '中文'; done | head -c 300001", 'head -c 300001 /dev/urandom',
                   "printf 'a\\0b\\377c'; head -c 100000 /dev/zero"):
        control = case.plain(['sh', '-c', script])
        case.control(control.code == 0 and control.out, 'there is no output outside')
        answer = case.result(['sh', '-c', script], ['--output', '64k'])  # it parses: case.result looks
        case.same(answer['exitCode'], 0, 'exit code', None)
        case.check(answer['truncated']['stdout'], 'not marked as truncated')
    short = case.result(['sh', '-c', "printf '中文'"], ['--output', '64k'])
    case.same(short['stdout'], '中文', 'whole output')


@row('A-res-2', 'endless output goes on to the timeout, and memory stays small')
def endless(case):
    control = case.plain(['sh', '-c', 'yes | head -c 50000000 | wc -c'])
    case.control('50000000' in control.out, 'yes does not work outside')
    answer = case.result(['yes'], ['--output', '64k', '--timeout', '2'])
    case.same((answer['exitCode'], answer['timedOut']), (124, True), 'exitCode and timedOut', None)
    case.check(answer['truncated']['stdout'] and len(answer['stdout']) <= 66 * 1024, 'too much is kept')


@row('A-res-2', 'with limits.outputAction kill the command is stopped at the limit, with a typed reason')
def stopped(case):
    control = case.plain(['sh', '-c', 'yes | head -c 50000000 | wc -c'])
    case.control('50000000' in control.out, 'yes does not work outside')
    options = case.policy({'limits': {'output': '64k', 'outputAction': 'kill', 'timeout': 60}})
    answer = case.result(['yes'], options)
    ended = answer['exitCode'] not in (0, 124) and not answer['timedOut']
    case.check(ended, 'not stopped at the limit', answer['outcome'])
    limit_denial(case, answer, 'output', 'endless output')
    passed = case.inside(['yes'], options)
    case.check(passed.code not in (0, 124), 'not stopped in streaming', passed)
    case.check(1024 < len(passed.out) <= 66 * 1024, f'{len(passed.out)} bytes passed in streaming, the limit is 64k')
    quiet = case.result(['echo', 'few'], options)
    case.same((quiet['exitCode'], quiet['stdout'], quiet['denials']), (0, 'few\n', []), 'a quiet command')


@row('A-res-2', 'in streaming, --output bounds what passes, and without it all passes')
def streaming(case):
    script = ['sh', '-c', LINES + '; touch done; exit 5']
    outside = case.plain(script)
    case.control(outside.code == 5 and len(outside.out) > 2 * MIB, 'there is not enough output outside')
    inside = case.inside(script)
    case.same((inside.code, len(inside.out)), (5, len(outside.out)), 'exit code and length without --output')
    os.unlink(os.path.join(case.work, 'done'))
    inside = case.inside(script, ['--output', '64k'])
    case.same(inside.code, 5, 'exit code with --output')
    case.check(1024 < len(inside.out) <= 66 * 1024, f'{len(inside.out)} bytes passed, the limit is 64k')
    case.check(inside.out.startswith('the-first-line\n'), 'the head is missing')
    case.check(os.path.exists(os.path.join(case.work, 'done')), 'the command did not go on')


@row('A-res-2', 'a reader that pauses gets all that is within the limit, and the command goes on')
def slow_reader(case):
    script = ['sh', '-c', 'seq 1 200000; exit 5']
    around = '"$@" | { sleep 1; wc -c; }; echo "codes=${PIPESTATUS[*]}"'
    control = case.plain(['bash', '-c', around, 'bash', *script])
    case.control(control.out == '1288895\ncodes=5 0\n', f'a slow reader does not work outside: {control.out}')
    for options in (['--output', '8m'], []):
        outcome = case.plain(['bash', '-c', around, 'bash', *case.sandboxed(script, [*options, '--timeout', '30'])])
        case.same(outcome.out, control.out, f'bytes and exit codes, options {options}', outcome)


@row('A-res-2', 'a reader that goes away ends the command as outside, not the sandbox\'s wits')
def reader_gone(case):
    line = ' '.join("'" + word + "'" for word in case.sandboxed(['sh', '-c', 'yes; echo "yes=$?" >&2; exit 3']))
    outcome = case.plain(['bash', '-c', f'{line} | head -n 2; echo "codes=${{PIPESTATUS[*]}}"'])
    control = case.plain(['bash', '-c', 'sh -c "yes; exit 3" | head -n 2; echo "codes=${PIPESTATUS[*]}"'])
    case.control('codes=3 0' in control.out, 'a broken pipe does not end yes outside')
    case.check('codes=3 0' in outcome.out, 'not as outside', outcome)


# -- A-res-3 -----

def refuse_fill(place):
    @row('A-res-3', f'{place} cannot be filled beyond its size')
    def refuse(case):
        # Outside a folder of the test's own stands for it: the host's shared places are left alone.
        control = case.plain([case.attack, 'fill', os.path.join(case.outside, 'big'), str(32 * MIB)])
        case.control(control.code == 0, f'32 MiB cannot be written outside: {control.out}')
        options = case.policy({'limits': {'tmpSize': '8m'}})
        attack = [case.attack, 'fill', f'{place}/big']
        case.worked(case.inside([*attack, str(4 * MIB)], options), 'below the limit it works')
        case.refused(case.inside([*attack, str(32 * MIB)], options), ['ENOSPC', 'EDQUOT'])
    refuse.__name__ = 'fill_' + place.strip('/').replace('/', '_')
    return refuse


for private_place in ('/tmp', '/dev/shm', '/var/tmp'):
    refuse_fill(private_place)


@row('A-res-3', 'no other folder that is writable inside has room beyond the limit')
def fill_anywhere(case):
    control = case.plain([case.attack, 'fill', os.path.join(case.outside, 'big'), str(32 * MIB)])
    case.control(control.code == 0, f'32 MiB cannot be written outside: {control.out}')
    mounts = case.inside(['sh', '-c', 'cut -d" " -f2 /proc/mounts | sort -u'])
    places = set()
    for mount in mounts.out.split():
        listing = case.inside(['find', mount, '-xdev', '-maxdepth', '2', '-type', 'd', '-writable'])
        places |= {path for path in listing.out.splitlines() if not path.startswith(('/proc', case.work))}
    case.check({'/tmp', '/dev/shm'} <= places, f'/tmp or /dev/shm is not writable inside: {sorted(places)}')
    options = case.policy({'limits': {'tmpSize': '8m'}})
    for place in sorted(places):
        outcome = case.inside([case.attack, 'fill', f'{place}/big', str(32 * MIB)], options)
        case.check(outcome.code == 1 and 'refused' in outcome.out, f'{place} has room for 32 MiB', outcome)


@row('A-res-3', 'the private places share one limit')
def fill_together(case):
    control = case.plain([case.attack, 'fill', os.path.join(case.outside, 'big'), str(32 * MIB)])
    case.control(control.code == 0, f'32 MiB cannot be written outside: {control.out}')
    script = 'for place in /tmp /dev/shm /var/tmp /run; do "$0" fill $place/big 6291456 >/dev/null; done; ' \
             'du -scm /tmp /dev/shm /var/tmp /run 2>/dev/null | tail -n 1 | cut -f1'
    inside = case.inside(['sh', '-c', script, case.attack], case.policy({'limits': {'tmpSize': '8m'}}))
    case.check(inside.out.strip().isdigit(), 'no sum', inside)
    case.check(0 < int(inside.out) <= 9, f'{inside.out.strip()} MiB together, the limit is 8', inside)


@row('A-res-3', 'a private place holds no more files than its size bears: inodes are capped')
def inodes(case):
    folder = os.path.join(case.outside, 'many')
    os.mkdir(folder)
    control = case.plain([case.attack, 'files', folder, '50000'])
    case.control(control.code == 0, f'50,000 files cannot be made outside: {control.out}')
    options = case.policy({'limits': {'tmpSize': '8m'}})
    for place in ('/tmp', '/dev/shm'):
        inside = case.inside([case.attack, 'files', place, '50000'], options)
        case.refused(inside, ['ENOSPC', 'EDQUOT'])
        case.check(made(inside.out) >= 500, f'only {made(inside.out)} files fit into 8 MiB')


@row('A-res-3', 'what is written to the private places is gone with the sandbox, and never on the host')
def private_places(case):
    name = f'escape-{os.getpid()}'
    control = case.plain(['sh', '-c', f'echo x >/tmp/{name} && cat /tmp/{name}; rm /tmp/{name}'])
    case.control(control.out == 'x\n', '/tmp cannot be written outside')
    inside = case.inside(['sh', '-c', f'for p in /tmp /dev/shm /var/tmp; do echo x >$p/{name} && cat $p/{name}; done'])
    case.same(inside.out, 'x\nx\nx\n', 'what was written', inside)
    for place in ('/tmp', '/dev/shm', '/var/tmp'):
        case.check(not os.path.exists(f'{place}/{name}'), f'a file of the sandbox is in the host\'s {place}')
    again = case.inside(['sh', '-c', f'ls /tmp/{name} /dev/shm/{name} /var/tmp/{name} 2>/dev/null'])
    case.same(again.out, '', 'files of the last sandbox', again)


@row('A-res-3', 'a file in the workspace stops at limits.fileSize')
def file_size(case):
    control = case.plain([case.attack, 'fill', 'big', str(32 * MIB)])
    case.control(control.code == 0, f'32 MiB cannot be written outside: {control.out}')
    options = case.policy({'limits': {'fileSize': '8m'}})
    case.refused(case.inside([case.attack, 'fill', 'big', str(32 * MIB)], options), ['EFBIG'])
    case.check(os.path.getsize(os.path.join(case.work, 'big')) <= 8 * MIB, 'the file is larger than its limit')
    case.worked(case.inside([case.attack, 'fill', 'big', str(4 * MIB)], options), 'below the limit it works')


@row('A-res-3', 'a command that fills the disk is stopped before the reserve is used, with a typed reason')
def disk_reserve(case):
    status = os.statvfs(case.work)
    free = status.f_bavail * status.f_frsize
    case.control(free > 2048 * MIB, 'there is less than 2 GiB of room on this disk')
    control = case.plain([case.attack, 'fill', 'big', str(256 * MIB)])
    case.control(control.code == 0, f'256 MiB cannot be written outside: {control.out}')
    os.unlink(os.path.join(case.work, 'big'))
    status = os.statvfs(case.work)
    reserve = status.f_bavail * status.f_frsize - 64 * MIB
    options = case.policy({'limits': {'diskReserve': str(reserve), 'timeout': 60}})
    script = ['sh', '-c', f'for i in 1 2 3 4 5 6 7 8; do {case.attack} fill big-$i {64 * MIB}; sleep 0.2; done; '
                          'echo worked; sleep 600']
    answer = case.result(script, options)
    case.check(answer['exitCode'] not in (0, 124) and not answer['timedOut'],
               'the disk was filled', answer['outcome'])
    limit_denial(case, answer, 'disk', 'a filled disk')
