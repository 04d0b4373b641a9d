"""What the host must look like after a test: no process, file or cgroup of the sandbox stays."""
import ctypes
import glob
import os
import re
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
OWN = re.compile(r'qiming|qsb')
SCRATCH = '.qsb-escape-'
PLACES = ('/tmp', '/var/tmp', '/dev/shm', '/run', f'/run/user/{os.getuid()}')


def become_subreaper():
    """Orphans of the tests become our children, so that a daemon that got away is seen."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def stat_fields(pid):
    """State, parent and start time of a process, None when it is gone."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as file:
            fields = file.read().rsplit(b')', 1)[1].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[19])


def children_of_all():
    children = {}
    for name in os.listdir('/proc'):
        fields = stat_fields(name) if name.isdigit() else None
        if fields and fields[0] != 'Z':
            children.setdefault(fields[1], []).append(int(name))
    return children


def descendants(pid):
    """Every living process below `pid`, zombies left out."""
    children, found, waiting = children_of_all(), [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def end_process(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def command_line(pid):
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            return file.read().replace(b'\0', b' ').decode('utf-8', 'replace').strip()[:120] or '?'
    except OSError:
        return '?'


def program_name(pid):
    """The process's own name, which every user may read; '' when it is gone."""
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def control_groups():
    found = set()
    for root in ('/sys/fs/cgroup', *glob.glob('/sys/fs/cgroup/*/')):
        for folder, names, _ in os.walk(root):
            found |= {os.path.join(folder, name) for name in names if OWN.search(name)}
    return found


def is_empty_group(path):
    try:
        with open(os.path.join(path, 'cgroup.procs'), encoding='ascii') as file:
            return not file.read().strip()
    except OSError:
        return False


class Leftovers:
    """What was there before, to compare with."""

    def __init__(self):
        self.before = self.names()
        self.groups = control_groups()

    @staticmethod
    def names():
        found = set()
        for place in PLACES:
            try:
                found |= {os.path.join(place, name) for name in os.listdir(place) if OWN.search(name)}
            except OSError:
                pass
        return found

    @staticmethod
    def processes(patience=3):
        """Processes below us that are still there after `patience` seconds, ended and described."""
        end = time.monotonic() + patience
        while True:
            reap()
            left = descendants(os.getpid())
            if not left:
                return ''
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        text = ', '.join(f'{pid} {command_line(pid)}' for pid in left[:5])
        if len(left) > 5:
            text += f' and {len(left) - 5} more'
        Leftovers.end_all()
        return text

    @staticmethod
    def end_all():
        """Ends every process below us: only tests start any. Again and again, as one may be forking."""
        for _ in range(200):
            left = descendants(os.getpid())
            for pid in left:
                end_process(pid)
            reap()
            if not left:
                break
            time.sleep(0.01)

    def files(self):
        """Files of the sandbox that appeared in shared places, and its empty control groups."""
        mine = []
        for path in sorted(self.names() - self.before):
            try:
                if os.lstat(path).st_uid == os.getuid() and SCRATCH not in path:
                    mine.append(path)
            except OSError:
                pass
        return mine + self.empty_groups()

    def empty_groups(self, patience=30):
        """Our control groups that are empty and stay: those of somebody else's run go in time (one of
        whose supervisor is stopped, for a test, later)."""
        end = time.monotonic() + patience
        left = sorted(path for path in control_groups() - self.groups if is_empty_group(path))
        while left and time.monotonic() < end:
            time.sleep(0.1)
            left = [path for path in left if is_empty_group(path)]
        return left
