"""Terminal, honest work: job control, interactive shells, full-screen programs, window sizes."""
import os
import termios
import time

from harness import row
from harness_host import command_line, descendants

PROMPT = r'ready\$ '
BASH = ['bash', '--noprofile', '--norc', '-i']


def interactive(case, argv):
    """An interactive bash at its prompt."""
    case.env['PS1'] = 'ready$ '
    terminal = case.terminal(argv)
    terminal.send('PS1="ready\\$ "; set +o history; bind "set enable-bracketed-paste off"\n')
    found = terminal.expect(PROMPT + '.*' + PROMPT, patience=2) or terminal.expect(PROMPT)
    return terminal, found


def job_control(terminal):
    """Suspends, continues and interrupts jobs, and leaves with 7. Returns what did not work, '' = all did."""
    # What is typed must not come before the job is in the foreground: it says so itself, in words that its own line lacks.
    steps = (
        ("sh -c 'echo u\"\"p; exec sleep 600'\n", r'\nup\r\n', 'a job starts in the foreground'),
        ('\x1a', r'Stopped +sh -c', 'Ctrl-Z stops the job'),
        ('jobs\n', r'\[1\]\+ +Stopped', 'jobs lists it'),
        ('fg\n', r'fg\r\nsh -c .*\r\n', 'fg continues it'),
        ('\x03', PROMPT, 'Ctrl-C ends it'),
        ('sleep 601 & bg_pid=$!; kill %1; wait $bg_pid; echo "was=$?"\n', r'was=143', 'a background job is signalled'),
        ('{ echo u""p >&2; cat; } | tr a-z A-Z\n', r'\nup\r\n', 'a pipeline starts in the foreground'),
        ('hello\n', r'hello\r\n', 'the terminal echoes'),
        ('\x04', r'HELLO', 'the pipeline reads the terminal and ends with Ctrl-D'),
    )
    for typed, wanted, name in steps:
        if typed in '\x1a\x03\x04':
            time.sleep(0.3)
        terminal.send(typed)
        if not terminal.expect(wanted):
            return f'{name}: {terminal.seen!r}'
    terminal.send('exit 7\n')
    terminal.wait()
    return '' if terminal.code == 7 else f'exit 7 gave {terminal.code}'


def check_job_control(case, options):
    terminal, found = interactive(case, BASH)
    case.control(found and not job_control(terminal), 'an interactive bash does not work here')
    terminal, found = interactive(case, case.sandboxed(BASH, options))
    case.check(found, f'no prompt: {terminal.seen!r}')
    problem = job_control(terminal)
    case.check(not problem, f'with options {options}: {problem}')


@row('W-tty-1', 'bash -i with --tty: Ctrl-Z, fg, bg, Ctrl-C, Ctrl-D and its exit status')
def job_control_own_terminal(case):
    check_job_control(case, ['--tty'])


@row('W-tty-1', 'bash -i on the caller\'s terminal reads commands and gives its exit status')
def shell_on_caller_terminal(case):
    terminal, found = interactive(case, BASH)
    case.control(found, 'an interactive bash does not work here')
    terminal, found = interactive(case, case.sandboxed(BASH))
    case.check(found, f'no prompt: {terminal.seen!r}')
    terminal.send('echo $((6 * 7))\n')
    case.check(terminal.expect(r'\r\n42\r\n'), f'no answer: {terminal.seen!r}')
    terminal.send('exit 7\n')
    case.same(terminal.wait(), 7, f'exit status; seen {terminal.seen!r}')


def check_suspend(case, options):
    """The person's own shell suspends and continues the whole sandbox."""
    def try_it(argv):
        terminal, found = interactive(case, BASH)
        if not found:
            return f'no prompt: {terminal.seen!r}'
        line = ' '.join("'" + word + "'" for word in argv)
        terminal.send(f'{line}; echo "status=$?"\n')
        if not terminal.expect(r'alive\r\n'):
            return f'did not start: {terminal.seen!r}'
        terminal.send('\x1a')
        if not terminal.expect(r'Stopped'):
            return f'Ctrl-Z does not stop it: {terminal.seen!r}'
        terminal.send('fg\n')
        time.sleep(0.3)
        terminal.send('word\n')
        if not terminal.expect(r'got=word'):
            return f'does not go on after fg: {terminal.seen!r}'
        terminal.send('exit 3\n')
        return '' if terminal.wait() == 3 else f'the shell ended with {terminal.code}: {terminal.seen!r}'

    script = ['sh', '-c', 'echo alive; read -r line; echo "got=$line"; exit 5']
    outside = try_it(script)
    case.control(not outside, f'a shell cannot suspend a program here: {outside}')
    problem = try_it(case.sandboxed(script, options))
    case.check(not problem, problem)


@row('W-tty-1', 'Ctrl-Z and fg in the caller\'s shell suspend and continue the sandbox')
def suspend_sandbox(case):
    check_suspend(case, [])


@row('W-tty-1', 'Ctrl-C on the caller\'s terminal reaches the command, and its exit status comes back')
def interrupt(case):
    script = ['bash', '-c', 'trap "echo caught; exit 5" INT; echo alive; while :; do sleep 0.1; done']
    ways = (script, True), (case.sandboxed(script), False), (case.sandboxed(script, ['--tty']), False)
    for argv, is_control in ways:
        terminal = case.terminal(argv)
        alive = terminal.expect('alive')
        # bash itself loses one now and then, that comes just when it has forked: it may come again.
        seen = False
        for _ in range(5):
            if not seen:
                terminal.send('\x03')
                seen = terminal.expect('caught', patience=4)
        code = terminal.wait()
        if is_control:
            case.control(alive and seen and code == 5, 'Ctrl-C does not work here')
        else:
            case.check(alive and seen, f'{argv}: the trap did not run: {terminal.seen!r}')
            case.same(code, 5, f'{argv}: exit status')


@row('W-tty-1', 'sh -i with its input taken away under a terminal ends with the right status')
def shell_without_input(case):
    script = ['sh', '-i', '-c', 'exec </dev/null; sleep 0.1; echo done; exit 9']
    for options in (None, [], ['--tty']):
        terminal = case.terminal(script if options is None else case.sandboxed(script, options))
        text = terminal.drain()
        code = terminal.wait()
        if options is None:
            case.control(code == 9 and 'done' in text, f'does not work outside: {code} {text!r}')
        else:
            case.check('done' in text, f'{options}: no output: {text!r}')
            case.same(code, 9, f'{options}: exit status')


SIZES = r'''
import os, signal, sys
def show(*_):
    os.write(1, b"size %d %d\n" % tuple(os.get_terminal_size()))
signal.signal(signal.SIGWINCH, show)
print("terminal" if all(map(os.isatty, (0, 1, 2))) else "none", flush=True)
show()
sys.exit(int(sys.stdin.readline()))
'''


@row('W-tty-2', 'with --tty the command has a terminal of the caller\'s size, and the size follows')
def size_follows(case):
    script = ['/usr/bin/python3', '-c', SIZES]
    for argv, is_control in ((script, True), (case.sandboxed(script, ['--tty']), False)):
        terminal = case.terminal(argv, rows=33, columns=101)
        steps = terminal.expect('terminal'), terminal.expect(r'size 101 33')
        terminal.resize(44, 99)
        steps += (terminal.expect(r'size 99 44'),)
        terminal.resize(20, 60)
        steps += (terminal.expect(r'size 60 20'),)
        terminal.send('6\n')
        code = terminal.wait()
        if is_control:
            case.control(all(steps) and code == 6, f'window sizes do not follow here: {steps} {code}')
        else:
            case.same(steps, (True,) * 4, f'terminal, first size, two changes; seen {terminal.seen!r}')
            case.same(code, 6, 'exit status')


CURSES = r'''
import curses
def main(screen):
    screen.addstr(2, 3, "full-screen")
    screen.refresh()
    while True:
        key = screen.getch()
        if key == curses.KEY_RESIZE:
            screen.erase(); screen.addstr(1, 1, "size %dx%d" % screen.getmaxyx()); screen.refresh()
        elif key == curses.KEY_UP:
            screen.addstr(4, 4, "arrow-key"); screen.refresh()
        elif key == ord("q"):
            return
curses.wrapper(main)
raise SystemExit(11)
'''


@row('W-tty-2', 'with --tty a full-screen program draws, reads keys and follows the size')
def full_screen(case):
    script = ['/usr/bin/python3', '-c', CURSES]
    for argv, is_control in ((script, True), (case.sandboxed(script, ['--tty']), False)):
        terminal = case.terminal(argv)
        drawn = terminal.expect('full-screen')
        terminal.send('\x1bOA')
        key = terminal.expect('arrow-key')
        # ncurses itself loses a change that comes just before it waits for a key: it may come again.
        resized = False
        for rows in range(30, 35):
            terminal.resize(rows, 90)
            resized = resized or terminal.expect(f'size {rows}x90', patience=4)
        terminal.send('q')
        code = terminal.wait()
        if is_control:
            case.control(drawn and key and resized and code == 11, f'curses does not work here: {terminal.seen!r}')
        else:
            case.same((drawn, key, resized), (True,) * 3, f'drawn, key, resized; seen {terminal.seen!r}')
            case.same(code, 11, 'exit status')


@row('W-tty-2', 'with --tty all output of a quick program arrives')
def all_output(case):
    script = ['sh', '-c', 'seq 1 50000; echo last-line']
    text = case.terminal(script).drain()
    case.control(text.count('\n') == 50001, 'a terminal loses output here')
    for _ in range(5):
        text = case.terminal(case.sandboxed(script, ['--tty'])).drain()
        case.check(text.endswith('last-line\r\n'), f'the end is missing: …{text[-60:]!r}')
        case.same(text.count('\n'), 50001, 'lines')


@row('W-tty-2', 'the caller\'s terminal has its old settings after --tty, whatever ended the command')
def settings_restored(case):
    endings = {'exit': (['sh', '-c', 'exit 4'], 4), 'signal': (['sh', '-c', 'kill -KILL $$'], 137),
               'raw': (['sh', '-c', 'stty raw -echo; exit 5'], 5), 'not found': (['/no/such/program'], 127),
               'timeout': (['sleep', '600'], 124)}
    for name, (argv, code) in endings.items():
        terminal = case.terminal(['sh', '-c', '"$@"; echo "code=$?"; sleep 600', 'sh',
                                  *case.sandboxed(argv, ['--tty', '--timeout', '1'])])
        before = termios.tcgetattr(terminal.master)
        case.check(terminal.expect(f'code={code}\r\n'), f'{name}: did not return {code}: {terminal.seen!r}')
        case.same(termios.tcgetattr(terminal.master), before, f'{name}: terminal settings')
        terminal.close()


@row('W-tty-2', 'the caller\'s terminal has its old settings after the supervisor got SIGTERM')
def settings_after_signal(case):
    argv = case.sandboxed(['sh', '-c', 'echo alive; sleep 600'], ['--tty'])
    terminal = case.terminal(['sh', '-c', '"$@"; echo "code=$?"; sleep 600', 'sh', *argv])
    before = termios.tcgetattr(terminal.master)
    case.check(terminal.expect(r'alive'), f'did not start: {terminal.seen!r}')
    supervisor = [pid for pid in descendants(terminal.pid) if command_line(pid).startswith(case.program)]
    case.check(supervisor, 'no supervisor')
    os.kill(min(supervisor), 15)
    case.check(terminal.expect('code=143'), f'did not return 143: {terminal.seen!r}')
    case.same(termios.tcgetattr(terminal.master), before, 'terminal settings')


OWN_PSEUDO_TERMINAL = r'''
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && tty && stty size >/dev/null && echo in-a-terminal && exit 6"])
seen = b""
while True:
    try:
        data = os.read(master, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
'''


@row('W-tty-2', 'programs inside make pseudo-terminals of their own, with and without --tty')
def own_pseudo_terminal(case):
    script = ['/usr/bin/python3', '-c', OWN_PSEUDO_TERMINAL]
    outside = case.plain(script)
    case.control(outside.code == 6 and 'in-a-terminal' in outside.out, f'does not work outside: {outside.describe()}')
    inside = case.inside(script)
    case.check(inside.code == 6 and 'in-a-terminal' in inside.out, 'does not work inside', inside)
    terminal = case.terminal(case.sandboxed(script, ['--tty']))
    text = terminal.drain()
    case.check('in-a-terminal' in text, f'does not work with --tty: {text!r}')
    case.same(terminal.wait(), 6, 'exit status with --tty')
    for argv in (['script', '-qec', 'test -t 0 && test -t 1 && exit 4', '/dev/null'],):
        if case.plain(argv).code == 4:
            case.same(case.inside(argv).code, 4, 'exit status of script(1)')


@row('W-tty-2', '--tty works without a terminal of the caller: from a pipe, into a file')
def terminal_of_pipes(case):
    script = ['sh', '-c', 'test -t 0 && test -t 1 && echo in-a-terminal; read -r line; echo "got=$line"; exit 8']
    outside = case.plain(['script', '-qec', 'test -t 0 && echo in-a-terminal', '/dev/null'], input=b'')
    case.control('in-a-terminal' in outside.out, 'script(1) does not work here')
    inside = case.inside(script, ['--tty', '--timeout', '30'], input=b'word\n')
    case.check('in-a-terminal' in inside.out and 'got=word' in inside.out, 'not like in a terminal', inside)
    case.same(inside.code, 8, 'exit status', inside)


@row('W-tty-1', 'in the background and in pipelines of an interactive shell the sandbox gives output and status')
def background_and_pipelines(case):
    command = ['sh', '-c', 'echo from-within; exit 4']

    def try_it(argv):
        terminal, found = interactive(case, BASH)
        line = ' '.join("'" + word + "'" for word in argv)
        steps = (
            (f'{line} & wait $!; echo "code=$?="\n', r'from-within\r\n(?s:.*)code=4='),
            (f'{line} | tr a-z A-Z; echo "code=${{PIPESTATUS[0]}}="\n', r'FROM-WITHIN\r\n(?s:.*)code=4='),
            (f'echo word | {line}; echo "code=$?="\n', r'from-within\r\n(?s:.*)code=4='),
            (f'x=$({line}); echo "code=$?=$x="\n', r'code=4=from-within='),
            ('read -r line; echo "read=$line="\n', r'read=.*\r\n'),
            ('typed\n', r'read=typed='),
        )
        for typed, wanted in steps:
            terminal.send(typed)
            if not found or not terminal.expect(wanted):
                return f'{typed!r}: {terminal.seen!r}'
        terminal.send('exit 0\n')
        terminal.wait()
        return ''

    outside = try_it(command)
    case.control(not outside, f'does not work outside: {outside}')
    problem = try_it(case.sandboxed(command))
    case.check(not problem, problem)
