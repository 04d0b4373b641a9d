"""What the escape tests stand on: rows, one case with a scratch home and workspace, and what must not stay behind.

A test is a function with one argument, the case, under `@row(ID, SENTENCE)`. It first shows the attack working without
the sandbox (`case.control…`; when that fails, the test is skipped with its reason), then tries it inside.

    @row('A-tty-1', 'characters cannot be pushed into the terminal')
    def push(case):
        case.denied(['sti', '0x5412', 'x'])          # control outside, refusal inside, both by escape-attack

escape-attack exits 0 = worked, 1 = refused, 2 = broken; a broken attack never counts as a refused one.
"""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness_host import Leftovers, end_process
from harness_terminal import Terminal

ROWS = []
PATIENCE = 60  # seconds until a hung run is given up; says nothing about how fast a run should be


class Skip(Exception):
    """The positive control does not work here: the reason."""


class Failure(Exception):
    """The sandbox did something else than it must."""


class Row:
    def __init__(self, ident, sentence, function, only):
        self.ident, self.sentence, self.function, self.only = ident, sentence, function, only


def row(ident, sentence, only=None):
    """Registers a test point. `only`: 'user' or 'root', where the point has no meaning for the other."""
    def register(function):
        ROWS.append(Row(ident, sentence, function, only))
        return function
    return register


class Outcome:
    """How one program ended and what it said. `code` is as a shell sees it: 128+n for a signal."""

    def __init__(self, argv, code, out, err, hung=False):
        self.argv, self.code, self.hung = argv, code, hung
        self.out = out.decode('utf-8', 'replace')
        self.err = err.decode('utf-8', 'replace')

    def describe(self):
        hung = ' (hung, ended by the test)' if self.hung else ''
        text = f'$ {" ".join(repr(word)[:400] for word in self.argv)}\nexit {self.code}{hung}'
        for name, stream in (('stdout', self.out), ('stderr', self.err)):
            if stream:
                text += f'\n{name}: {stream[:2000].rstrip()}'
        return text


def shell_code(status):
    return 128 - status if status < 0 else status


class Case:
    """One test point at work. `home` and `work` are its own; `attack` is escape-attack, outside and inside."""

    def __init__(self, ident, base, program, attack):
        self.ident, self.program = ident, program
        self.base = tempfile.mkdtemp(prefix=re.sub('[^A-Za-z0-9-]', '-', ident) + '-', dir=base)
        self.home = os.path.join(self.base, 'home')
        self.work = os.path.join(self.home, 'work')
        self.outside = os.path.join(self.base, 'outside')  # of the workspace and of the home
        for folder in (self.home, self.work, self.outside):
            os.mkdir(folder)
        self.attack = os.path.join(self.work, 'escape-attack')
        shutil.copy(attack, self.attack)
        user = pwd.getpwuid(os.getuid()).pw_name
        self.env = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': self.home, 'USER': user,
                    'LOGNAME': user, 'LANG': 'C.UTF-8', 'TERM': 'xterm'}
        self.notes = []
        self.cleanups = []
        self.enter = None  # makes the argument vector that runs one in other namespaces: (argv, cwd)
        self.is_root = os.getuid() == 0

    # -- starting programs ------------------------------------------------------------------------------------------

    def sandboxed(self, argv, options=()):
        """The argument vector that runs `argv` in the sandbox with this case's workspace."""
        return [self.program, 'run', '--workspace', self.work, *options, '--', *argv]

    def popen(self, argv, **keywords):
        keywords.setdefault('cwd', self.work)
        keywords.setdefault('env', self.env)
        keywords.setdefault('stdin', subprocess.DEVNULL)
        keywords.setdefault('stdout', subprocess.PIPE)
        keywords.setdefault('stderr', subprocess.PIPE)
        keywords.setdefault('start_new_session', True)
        process = subprocess.Popen(self.enter(argv, keywords['cwd']) if self.enter else argv, **keywords)
        process.args = argv
        return process

    def finish(self, process, input=None, patience=PATIENCE):
        """Waits for a program from popen; one that hangs is ended and marked as hung."""
        hung = False
        try:
            out, err = process.communicate(input, timeout=patience)
        except subprocess.TimeoutExpired:
            hung = True
            end_process(process.pid)  # alone: what it leaves behind is looked for at the end of the case
            out, err = b'', b''
            try:
                out, err = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:  # something that got away holds the streams
                process.wait()
                for stream in (process.stdout, process.stderr):
                    if stream:
                        stream.close()
        return Outcome(process.args, shell_code(process.returncode), out or b'', err or b'', hung)

    def plain(self, argv, input=None, patience=PATIENCE, **keywords):
        """Runs without the sandbox."""
        if input is not None:
            keywords['stdin'] = subprocess.PIPE
        return self.finish(self.popen(argv, **keywords), input, patience)

    def inside(self, argv, options=(), **keywords):
        """Runs in the sandbox."""
        return self.plain(self.sandboxed(argv, options), **keywords)

    def result(self, argv, options=(), **keywords):
        """Runs in the sandbox with --json: the parsed result, with the Outcome under 'outcome'."""
        outcome = self.inside(argv, ['--json', *options], **keywords)
        try:
            answer = json.loads(outcome.out)
        except ValueError:
            raise Failure('--json did not print one JSON result\n' + outcome.describe()) from None
        if 'error' in answer and answer['exitCode'] == 125:
            raise Failure(f'the sandbox did not start: {answer["error"]}')
        answer['outcome'] = outcome
        return answer

    def terminal(self, argv, **keywords):
        """Starts a program with a new pseudo-terminal as its controlling one."""
        keywords.setdefault('cwd', self.work)
        keywords.setdefault('env', self.env)
        terminal = Terminal(argv, **keywords)
        self.cleanups.append(terminal.close)
        return terminal

    # -- verdicts ---------------------------------------------------------------------------------------------------

    def control(self, works, reason):
        """The attack must work outside, or there is nothing to prove."""
        if not works:
            raise Skip(reason)

    def check(self, holds, what, outcome=None):
        if not holds:
            raise Failure(what + ('\n' + outcome.describe() if outcome else ''))

    def same(self, got, wanted, what, outcome=None):
        self.check(got == wanted, f'{what}: expected {wanted!r}, got {got!r}', outcome)

    def worked(self, outcome, what='the attack tool works'):
        self.same(outcome.code, 0, what, outcome)

    def refused(self, outcome, errors=None):
        """escape-attack says that the system refused; `errors` limits it to these errno names."""
        self.check(outcome.code == 1 and 'refused:' in outcome.out, 'the attack must be refused', outcome)
        if errors:
            got = outcome.out.strip().splitlines()[-1].rsplit(' ', 1)[-1]
            self.check(got in errors, f'refused with {got}, expected one of {", ".join(errors)}', outcome)

    def denied(self, attack, options=(), errors=None, **keywords):
        """The usual test: works outside (or skip), refused inside. `attack`: escape-attack's arguments."""
        outside = self.plain([self.attack, *attack], **keywords)
        self.control(outside.code == 0, f'{attack[0]} does not work outside: {outside.out.strip()}')
        self.refused(self.inside([self.attack, *attack], options, **keywords), errors)

    def allowed(self, attack, options=(), **keywords):
        """Honest work by escape-attack: works outside (or skip) and inside."""
        outside = self.plain([self.attack, *attack], **keywords)
        self.control(outside.code == 0, f'{attack[0]} does not work outside: {outside.out.strip()}')
        self.worked(self.inside([self.attack, *attack], options, **keywords))

    # -- files ------------------------------------------------------------------------------------------------------

    def write(self, path, text='', mode=None):
        """Writes a file; a relative path starts at the workspace. Returns the absolute path."""
        path = os.path.join(self.work, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def script(self, name, text):
        """An executable script in the workspace."""
        return self.write(name, text, 0o755)

    def clear_work(self):
        """Empties the workspace, but for escape-attack."""
        for name in os.listdir(self.work):
            path = os.path.join(self.work, name)
            if path == self.attack:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def policy(self, value):
        """A policy file outside the workspace, as the options that name it."""
        path = os.path.join(self.base, 'policy.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(value, file)
        return ['--policy', path]

    def wait_until(self, holds, what, patience=20):
        """Polls until `holds()`; a failure after `patience` seconds."""
        end = time.monotonic() + patience
        while not holds():
            if time.monotonic() > end:
                raise Failure(f'never happened: {what}')
            time.sleep(0.02)

    def end_below(self):
        """Ends every process that the control has left behind."""
        Leftovers.end_all()

    @staticmethod
    def pause(seconds=0.15):
        """Gives what must not happen the time to happen."""
        time.sleep(seconds)

    def close(self):
        for cleanup in reversed(self.cleanups):
            cleanup()
        # Tests leave folders without permissions behind; a scratch tree must go all the same.
        for folder, names, _ in os.walk(self.base):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.base, ignore_errors=True)


def run_row(test, base, program, attack):
    """Runs one row. Returns ('ok' | 'skip' | 'fail', text)."""
    case = Case(test.ident, base, program, attack)
    verdict, text = 'ok', ''
    try:
        test.function(case)
    except Skip as skip:
        verdict, text = 'skip', str(skip)
    except Failure as failure:
        verdict, text = 'fail', str(failure)
    except Exception as error:  # a fault of the test itself must not pass for a verdict
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        where = f'{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}'
        verdict, text = 'fail', f'the test broke at {where}: {type(error).__name__}: {error}'
    try:
        case.close()
    except OSError as error:
        verdict, text = 'fail', f'{text}\ncleaning up failed: {error}'
    left = Leftovers.processes()
    if left:
        verdict, text = 'fail', f'{text}\nprocesses were left behind: {left}'.strip()
    return verdict, text


# A sanitizer's own runtime needs what these take away (limits, calls, a static program), reports the signal that one of
# them sends, and keeps freed memory, which one of them counts. The ten tools take minutes, and make no call that the
# random ones do not. They run on the other build.
NOT_SANITIZED = {'A-fail-1', 'nix', 'supervisor_crashes', 'heads',
                 'W-guard-11', 'W-guard-12', 'W-guard-13', 'W-guard-14', 'W-guard-15', 'W-guard-16'}


def run_patiently(test, base, program, attack):
    """On a busy machine a control, or honest work with a terminal, may miss its moment: it has another try. An attack
    that got through once got through."""
    for _ in range(3):
        verdict, text = run_row(test, base, program, attack)
        if not (verdict == 'skip' or (verdict == 'fail' and test.ident.startswith('W-'))):
            break
    return verdict, text


def can_run(test):
    return 'QSB_SANITIZED' not in os.environ or not {test.ident, test.function.__name__} & NOT_SANITIZED


def main(arguments, program, attack):
    wanted = [argument for argument in arguments if not argument.startswith('-')]
    user = 'root' if os.getuid() == 0 else 'user'
    rows = [test for test in ROWS if test.only in (None, user) and can_run(test)
            and (not wanted or any(test.ident == want or test.function.__name__ == want for want in wanted))]
    if '--list' in arguments:
        for test in rows:
            print(f'{test.ident}\t{test.function.__name__}\t{test.sentence}')
        return 0
    if not rows:
        print('Bail out! no such test')
        return 1
    must_work = os.environ.get('QSB_MUST_WORK') == '1'
    base = tempfile.mkdtemp(prefix='.qsb-escape-', dir=pwd.getpwuid(os.getuid()).pw_dir)
    leftovers = Leftovers()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = 0
    try:
        print(f'1..{len(rows) + 1}', flush=True)
        for number, test in enumerate(rows, 1):
            verdict, text = run_patiently(test, base, program, attack)
            bad = verdict == 'fail' or (verdict == 'skip' and must_work)
            failed += bad
            reason = ' # SKIP ' + ' '.join(text.split()) if verdict == 'skip' and not must_work else ''
            print(f'{"not ok" if bad else "ok"} {number} - {test.ident} {test.sentence}{reason}', flush=True)
            if bad:
                head = 'skipped, and QSB_MUST_WORK is set: ' if verdict == 'skip' else ''
                for line in (head + text).splitlines():
                    print('# ' + line, flush=True)
        left = leftovers.files()
        failed += bool(left)
        print(f'{"not ok" if left else "ok"} {len(rows) + 1} - nothing of the sandbox stays on the host')
        for path in left:
            print(f'# left behind: {path}')
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 1 if failed else 0
