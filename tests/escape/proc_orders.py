"""A caller that reads its own orders from the pipe that is our standard input."""
import os
import shlex

from harness import row

# Opening the pipe anew for writing puts a line behind those that the shell has not read yet.
# Inside, a pipe of the command's own may be full: then nobody would ever make room.
ATTACK = ['timeout', '2', 'sh', '-c', 'echo "touch planted" >/proc/self/fd/0']


def give_orders(case, call):
    """A shell reads this script from a pipe; the command that it calls tries to add a line."""
    script = f'{shlex.join(call)}\necho rc=$?\nexec </dev/null\n'.encode()
    # The shell itself opens the pipe's end that it reads; it waits for more until the script ends it.
    keep = f'{shlex.join(call)}\necho rc=$?\nread last\n$last\n'.encode()
    outcome = case.plain(['bash', '-s'], input=keep if call == ATTACK else script)
    return outcome, os.path.exists(os.path.join(case.work, 'planted'))


@row('A-proc-3', 'a pipe from which the calling shell reads its orders is not handed to the command')
def orders(case):
    outcome, planted = give_orders(case, ATTACK)
    case.control(planted, f'the pipe cannot be opened anew outside: {outcome.describe()}')
    os.unlink(os.path.join(case.work, 'planted'))
    outcome, planted = give_orders(case, case.sandboxed(ATTACK))
    case.check(not planted, 'the shell carried out the order of the command', outcome)
    case.check('rc=' in outcome.out, 'the shell went on with its own orders', outcome)


@row('A-proc-3', 'what the command does not read of a shared pipe stays for the shell, what it reads is gone')
def shared_pipe(case):
    call = shlex.join(case.sandboxed(['sh', '-c', 'read line; echo "inside $line"']))
    loop = f'while read line; do echo "outside $line"; {call}; done; {call} || echo end'
    outcome = case.plain(['sh', '-c', loop], input=b'1\n2\n3\n4\n5\n')
    case.same(outcome.out, 'outside 1\ninside 2\noutside 3\ninside 4\noutside 5\ninside \ninside \n', 'lines', outcome)
    lines = ''.join(f'{number}\n' for number in range(100000)).encode()
    call = shlex.join(case.sandboxed(['cksum']))
    outside, inside = (case.plain(['sh', '-c', f'read line; {words}; true'], input=lines) for words in ('cksum', call))
    case.same(inside.out, outside.out, 'all of a long input', inside)


@row('A-proc-3', 'a pipe that is the command\'s alone is read as outside')
def own_pipe(case):
    outcome = case.inside(['cat'], input=b'data\n')
    case.same((outcome.code, outcome.out), (0, 'data\n'), 'exit status and output', outcome)
    script = ['sh', '-c', f'true; cat | {shlex.join(case.sandboxed(["cat"]))}']
    outcome = case.plain(script, input=b'data\n')
    case.same((outcome.code, outcome.out), (0, 'data\n'), 'exit status and output behind cat', outcome)
    lines = ''.join(f'{number}\n' for number in range(50000))
    outcome = case.plain(['timeout', '60', *case.sandboxed(['cat'])], input=lines.encode())
    case.same((outcome.code, outcome.out, outcome.err), (0, lines, ''), 'a pipe that a wrapper holds, too', outcome)
