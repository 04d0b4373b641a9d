"""Reads the Test Anything Protocol and counts its points."""
import os
import re
import selectors
import signal
import sys
import time

POINT = re.compile(r'^(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)$')
PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\b\s*(.*))?$', re.IGNORECASE)
SKIP = re.compile(r'(?:^|\s)#\s*skip\S*\s*(.*)$', re.IGNORECASE)


SLOW = 20  # seconds after which a point is named, so that the whole stays bearable; no failure


def bold(text, colour):
    return f'\033[{colour}m{text}\033[0m' if os.isatty(1) and 'NO_COLOR' not in os.environ else text


class Progress:
    """Says that a long runner is alive: in place on a terminal, now and then elsewhere."""
    EVERY = 60  # seconds, where lines stay

    def __init__(self, title):
        self.title, self.live = title, os.isatty(1)
        self.next = time.monotonic() + (0.5 if self.live else self.EVERY)

    def tick(self, seen, planned):
        if time.monotonic() < self.next:
            return
        text = f'{self.title}: {seen}{f" of {planned}" if planned else ""}'
        print(f'\r\033[K{text[:110]}' if self.live else f'  … {text}', end='' if self.live else '\n', flush=True)
        self.next = time.monotonic() + (0.2 if self.live else self.EVERY)

    def clear(self):
        if self.live:
            print('\r\033[K', end='', flush=True)


class Report:
    """What one runner said."""

    def __init__(self, title, must_work=False, verbose=False):
        self.title, self.must_work, self.verbose = title, must_work, verbose
        self.passed, self.failures, self.skips = 0, [], []
        self.planned, self.seen, self.loose = None, 0, []
        self.current = None  # the failure whose notes are being read
        self.slow, self.last = [], time.monotonic()

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, process, patience):
        """Reads a runner to its end; one that outlives `patience` seconds is ended with all its group."""
        try:
            hung = not self._lines(process, time.monotonic() + patience)
        except BaseException:  # interrupted: what was started must not live on; it has a group of its own
            os.killpg(process.pid, signal.SIGTERM)
            raise
        if hung:
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        process.stdout.close()
        if hung:
            self.fail('comes to an end', f'ended after {patience} s\n' + self._tail())
        elif self.planned is None and not self.seen and not self.failures:
            self.fail('prints TAP', f'exit status {status}\n' + self._tail())
        elif self.planned is not None and self.planned != self.seen:
            self.fail('keeps its plan', f'{self.planned} points planned, {self.seen} seen, exit status {status}\n'
                      + self._tail())
        elif self.planned is None:
            self.fail('says its plan', f'{self.seen} points and no plan, exit status {status}\n' + self._tail())
        elif status != 0 and not self.failures:
            self.fail('exits with 0', f'exit status {status}\n' + self._tail())

    def _lines(self, process, deadline):
        """Feeds lines until the end of the stream. False = the time is over."""
        rest = b''
        progress = Progress(self.title)
        descriptor = process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                progress.tick(self.seen, self.planned)
                # A runner that has ended is done, even when something it left behind still holds the pipe.
                if not selector.select(0.2):
                    if process.poll() is not None:
                        break
                    continue
                data = os.read(descriptor, 65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(b'\n')
                for line in lines:
                    self.line(line.decode('utf-8', 'replace').rstrip('\r'))
            else:
                progress.clear()
                return False
        progress.clear()
        if rest:
            self.line(rest.decode('utf-8', 'replace'))
        return True

    def line(self, text):
        plan, point = PLAN.match(text), POINT.match(text)
        if plan:
            self.planned = int(plan.group(1))
            if self.planned == 0:
                self.skip('everything', plan.group(2) or 'no reason given')
        elif text.startswith('Bail out!'):
            self.fail('goes on', text)
        elif point:
            self.seen += 1
            self._point(bool(point.group(1)), point.group(3))
        elif self.current is not None and re.match(r'\s*#|\s+', text):
            self.current.append(text)
        else:
            self.current = None
            self.loose.append(text)

    def _point(self, bad, name):
        skip = SKIP.search(name)
        self.current = None
        took, self.last = time.monotonic() - self.last, time.monotonic()
        if took > SLOW:
            self.slow.append((name, took))
        if bad:
            self.fail(name)
            self.current = self.failures[-1][1]
        elif skip:
            self.skip(name[:skip.start()].strip(), skip.group(1))
        else:
            self.passed += 1
            if self.verbose:
                print(f'  ok {name}', flush=True)

    def _tail(self):
        return '\n'.join(self.loose[-40:])

    # -- verdicts ---------------------------------------------------------------------------------------------------

    def fail(self, name, text=''):
        self.failures.append((name, text.splitlines()))

    def skip(self, name, reason):
        if self.must_work:
            self.fail(name, f'skipped, and QSB_MUST_WORK is set: {reason}')
        else:
            self.skips.append((name, reason))

    def show(self, seconds):
        parts = [f'{self.passed} ok']
        if self.failures:
            parts.append(bold(f'{len(self.failures)} FAILED', 31))
        if self.skips:
            parts.append(f'{len(self.skips)} skipped')
        print(f'{self.title:<58} {", ".join(parts)}  ({seconds:.1f} s)', flush=True)
        for name, text in self.failures:
            print(bold(f'  not ok: {name}', 31))
            for line in text:
                print(f'    {line}')
        for name, took in self.slow:
            print(f'  slow: {name} ({took:.0f} s)')
        for name, reason in self.skips:
            print(f'  skipped: {name}: {reason}')
        sys.stdout.flush()


class Tally:
    """The sum over all runners."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add(self, report):
        self.passed += report.passed
        self.failed += len(report.failures)
        self.skipped += len(report.skips)
        self.failures += [f'{report.title}: {name}' for name, _ in report.failures]

    def close(self):
        """Prints the last line; the exit status."""
        if self.failures:
            print('\nFailed:')
            for name in self.failures:
                print(f'  {name}')
        print(f'\n{self.passed} passed, {self.failed} failed, {self.skipped} skipped', flush=True)
        return 0 if self.passed and not self.failed else 1
