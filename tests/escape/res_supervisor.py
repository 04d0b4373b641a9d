"""Against the supervisor itself: whoever can make it wait has no timeout and no limit any more."""
import os
import shutil
import time

from harness import row
from proc_lifetime import beats, lives_on, still_beats

LIMIT = 3


def held(case, outcome, began):
    """Ended by the timeout, and not much later."""
    case.check(not outcome.hung, 'the timeout did not hold', outcome)
    case.check(time.monotonic() - began < LIMIT + 8, 'it ended long after the timeout', outcome)


@row('A-res-5', 'a command that takes its own output out of the pipe again cannot hold the supervisor')
def steal_output(case):
    pipe = case.plain(['sh', '-c', 'exec 3</proc/self/fd/1 && echo opened'])
    case.control('opened' in pipe.out, f'a pipe cannot be opened by its writer here: {pipe.describe()}')
    for options in (['--capture'], ['--output', '64m']):
        began = time.monotonic()
        outcome = case.inside([case.attack, 'steal'], ['--timeout', str(LIMIT), *options], patience=LIMIT + 15)
        held(case, outcome, began)
        case.same(outcome.code, 124, f'exit code with {options}', outcome)


@row('A-res-5', 'a command that never reads its terminal cannot hold the supervisor, however much is typed')
def unread_terminal(case):
    case.write('typed', 'typed\n' * 50000)
    began = time.monotonic()
    with open(os.path.join(case.work, 'typed'), 'rb') as typed:
        outcome = case.inside(['sh', '-c', 'stty raw -echo; exec sleep 60'], ['--tty', '--timeout', str(LIMIT)],
                              stdin=typed, patience=LIMIT + 15)
    held(case, outcome, began)
    case.same(outcome.code, 124, 'exit code', outcome)


def in_job_shell(case, argv, options, after):
    """`argv` in the sandbox as a job of an interactive shell, then the shell's own `after`."""
    words = ' '.join(f"'{word}'" for word in case.sandboxed(argv, ['--timeout', str(LIMIT), *options]))
    return case.terminal(['bash', '--norc', '-ic', f'{words}; echo "status $?"; {after}'])


@row('A-res-5', 'a terminal that stops writers in the background (stty tostop) does not stop the supervisor')
def terminal_stops_writers(case):
    case.control(shutil.which('bash') is not None, 'there is no bash')
    script = 'stty tostop; echo relayed; exec sleep 60'
    terminal = in_job_shell(case, ['sh', '-c', script], ['--output', '64k'], 'true')
    case.check(terminal.expect('relayed') and terminal.expect('status 124'),
               f'the supervisor was stopped; it printed {terminal.seen!r}')


@row('A-res-5', 'a command that stops itself, and the supervisor with it, leaves nothing that runs past the timeout')
def stops_itself(case):
    case.control(shutil.which('bash') is not None, 'there is no bash')
    script = '"$0" heart heart & while ! test -s heart; do sleep 0.1; done; kill -STOP $$'
    terminal = in_job_shell(case, ['sh', '-c', script, case.attack], [], f'sleep {LIMIT + 3}; echo over; sleep 3; fg')
    case.check(terminal.expect('status 148'), f'the job was not stopped; it printed {terminal.seen!r}')
    case.check(beats(case) > 0 and lives_on(case), 'nothing ran on in the background: there is nothing to prove')
    case.check(terminal.expect('over'), 'the shell did not go on')
    case.check(not still_beats(case), 'a process runs past the timeout while the supervisor is stopped')
    case.same(terminal.wait(), 124, f'exit code after fg; it printed {terminal.seen!r}')


@row('A-res-1', 'a process whose name looks like a line of its status file hides no memory')
def named_memory(case):
    named = os.path.join(case.work, 'RssAnon: 1')
    shutil.copy(case.attack, named)
    outside = case.plain([named, 'memory', 'private', str(200 << 20)])
    case.control(outside.code == 0, f'200 MB cannot be had outside: {outside.describe()}')
    answer = case.result([named, 'memory', 'private', str(200 << 20)], ['--memory', '80m'])
    case.check(answer['outOfMemory'] and answer['exitCode'] != 0, 'the limit did not hold', answer['outcome'])
