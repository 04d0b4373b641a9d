"""The memory of a sandbox's own processes while its command sleeps."""
import os
import signal
import time

from measure import Broken


class Memory:
    def __init__(self):
        self.resident = self.private = self.processes = 0
        self.source = 'smaps_rollup'


def of_sandbox(place, argv, command_name):
    """Starts the sandbox with a sleeping command, and sums over its tree without the command itself."""
    process = place.popen(argv, start_new_session=True)
    try:
        tree = wait_for_command(process.pid, command_name)
        time.sleep(0.5)  # what it allocates only to start is given back by then
        total = Memory()
        for pid in tree:
            if name_of(pid) != command_name:
                add(total, pid)
        return total
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except Exception:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Broker:
    """One reading of the broker's memory."""

    def __init__(self, pid):
        status = fields(f'/proc/{pid}/status')
        self.peak, self.resident, self.share = status['VmHWM'], status['VmRSS'], None
        try:
            self.share = fields(f'/proc/{pid}/smaps_rollup')['Pss']
        except (PermissionError, KeyError):  # an ordinary user may not look into ours
            pass

    def text(self):
        share = f', {self.share / 1e6:.2f} proportional' if self.share is not None else ''
        return f'{self.resident / 1e6:.2f} resident{share}'


def of_broker(supervisor):
    """The supervisor's child that is in no process namespace of its own, so not the sandbox's first process."""
    found = [pid for pid in descendants(supervisor) if pid != supervisor and parent_of(pid) == supervisor
             and namespaced_pids(pid) == 1]
    if len(found) != 1:
        raise Broken(f'the supervisor has {len(found)} children that could be the broker')
    return Broker(found[0])


def namespaced_pids(pid):
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as file:
        return next(len(line.split()) - 1 for line in file if line.startswith('NSpid:'))


def wait_for_command(root, name):
    for _ in range(200):
        tree = descendants(root)
        if any(name_of(pid) == name for pid in tree):
            return tree
        time.sleep(0.05)
    raise Broken(f'{name} never ran inside')


def descendants(root):
    children = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                children.setdefault(parent_of(entry), []).append(int(entry))
            except OSError:
                continue
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def parent_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
        return int(file.read().rpartition(')')[2].split()[1])


def name_of(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def fields(path):
    with open(path, encoding='ascii', errors='replace') as file:
        return {line.split(':')[0]: int(line.split()[1]) * 1024 for line in file if line.rstrip().endswith(' kB')}


def add(total, pid):
    """A process that may not be looked into (ours are not dumpable) shows an ordinary user its status only; there,
    anonymous pages stand for private ones."""
    total.processes += 1
    try:
        got = fields(f'/proc/{pid}/smaps_rollup')
        total.resident += got['Rss']
        total.private += got['Private_Clean'] + got['Private_Dirty']
    except (PermissionError, KeyError):
        got = fields(f'/proc/{pid}/status')
        total.resident += got['VmRSS']
        total.private += got['RssAnon']
        total.source = 'status'
