"""A program under a pseudo-terminal of its own, driven like a person would: type, look, resize."""
import errno
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    """`argv` becomes the leader of a new session whose controlling terminal is ours to drive."""

    def __init__(self, argv, cwd, env, rows=24, columns=80):
        self.argv, self.seen, self.code = argv, '', None
        self.master, slave = os.openpty()
        self.slave_name = os.ttyname(slave)
        self.resize(rows, columns)
        self.pid = os.fork()
        if self.pid == 0:
            self.become(argv, cwd, env, slave)
        os.close(slave)

    def become(self, argv, cwd, env, slave):
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for number in (0, 1, 2):
                os.dup2(slave, number)
            os.closerange(3, 256)
            os.chdir(cwd)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(argv[0], argv, env)
        finally:
            os._exit(127)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def read(self, patience):
        """What came within `patience` seconds; '' = nothing, None = the end."""
        if not select.select([self.master], [], [], patience)[0]:
            return ''
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return None
        return data.decode('utf-8', 'replace') if data else None

    def expect(self, pattern, patience=20):
        """Reads until `pattern` (a regular expression) is seen. False = it never came. Consumes up to its end."""
        end = time.monotonic() + patience
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return True
            more = self.read(max(0.0, end - time.monotonic()))
            if more is None or time.monotonic() > end:
                return False
            self.seen += more

    def drain(self, patience=20):
        """Reads to the end of the program's output, and returns all that was not consumed."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            more = self.read(max(0.0, end - time.monotonic()))
            if more is None:
                break
            self.seen += more
        return self.seen

    def wait(self, patience=20):
        """The exit code as a shell sees it, None = still running. Output is read meanwhile, so that it cannot block."""
        end = time.monotonic() + patience
        while self.code is None and time.monotonic() < end:
            more = self.read(0.05)
            self.seen += more or ''
            if more is None:
                time.sleep(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.code = 128 - code if code < 0 else code
        return self.code

    def hang_up(self):
        """The terminal goes away, as when its window is closed; the program is left to itself."""
        os.close(self.master)
        self.master = -1

    def close(self):
        if self.code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            self.code = -1
        if self.master >= 0:
            self.hang_up()
