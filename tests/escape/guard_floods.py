"""Much at once: the guard's answers stay right, what it needs stays bounded, and everything works afterwards."""
import os
import re
import subprocess
import time

from guard_trees import RULES
from harness import row
from harness_host import descendants

SLOW = 'QSB_SANITIZED' in os.environ  # the same tests with less of everything
MEMORY_KB = 96 * 1024  # of the supervisor and what belongs to it; nothing of a sanitizer's own


def supervisors(top):
    """The processes that are the program itself, not the command."""
    for pid in (top, *descendants(top)):
        try:
            with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as file:
                text = file.read()
        except OSError:
            continue
        if text.startswith('Name:\tqiming'):
            yield {key: int(value) for key, value in re.findall(r'^(VmRSS|Threads|FDSize):\s+(\d+)', text, re.M)}


class Peak:
    """The most of each thing that was seen while the command ran."""

    def __init__(self):
        self.of = {'VmRSS': 0, 'Threads': 0, 'FDSize': 0}
        self.looks = 0

    def look(self, process):
        for values in supervisors(process.pid):
            self.looks += 1
            for key, value in values.items():
                self.of[key] = max(self.of[key], value)

    def check(self, case, threads, descriptors):
        case.check(self.looks > 0, 'the supervisor was looked at')
        case.check(self.of['Threads'] <= threads, f'threads of the supervisor: {self.of}')
        case.check(self.of['FDSize'] <= descriptors, f'descriptors of the supervisor: {self.of}')
        case.check(SLOW or self.of['VmRSS'] <= MEMORY_KB, f'memory of the supervisor: {self.of}')


def watched(case, argv, options, patience=200):
    """Runs it in the sandbox, and looks at the supervisor all the while."""
    process, peak = case.popen(case.sandboxed(argv, options)), Peak()
    end = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < end:
        peak.look(process)
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
    return case.finish(process), peak


@row('W-guard-17', '64 processes that make files at once: every one there, with its content, mode, owner and names; bounded')
def many(case):
    files = 16 if SLOW else 80
    outcome, peak = watched(case, [case.attack, 'guard-many', '64', str(files)], RULES['writing'])
    case.same((outcome.code, outcome.out), (0, ''), 'the processes', outcome)
    for process in range(64):
        folder = os.path.join(case.work, f'p{process}')
        wanted = {f'file{i}' for i in range(files)} | {f'second{i}' for i in range(0, files, 4)}
        case.same(set(os.listdir(folder)), wanted, f'the files of process {process}')
        mask = 0o077 if process % 2 else 0o022
        for i in range(files):
            path = os.path.join(folder, f'file{i}')
            status = os.lstat(path)
            with open(path, encoding='ascii') as file:
                content = file.read()
            case.same((content, oct(status.st_mode & 0o7777), status.st_uid, status.st_nlink),
                      (f'p{process}/new{i}', oct((0o666 if i % 3 else 0o777) & ~mask), os.getuid(), 2 if i % 4 == 0 else 1), path)
    peak.check(case, 64, 512)


@row('A-guard-18', 'a hundred thousand refused calls: each one refused, the supervisor bounded, the denials counted and bounded')
def refusals(case):
    calls = 5000 if SLOW else 100000
    case.write('plain', 'plain')
    outside = case.plain([case.attack, 'guard-flood', '1000'])
    case.control(outside.code == 0, 'nothing is refused outside')
    case.clear_work()
    case.write('plain', 'plain')
    outcome, peak = watched(case, [case.attack, 'guard-flood', str(calls)], RULES['writing'])
    case.refused(outcome)
    case.same(sorted(set(os.listdir(case.work)) - {'escape-attack'}), ['plain'], 'the workspace', outcome)
    peak.check(case, 64, 512)
    answer = case.result([case.attack, 'guard-flood', '5000'], RULES['writing'])
    case.check(0 < len(answer['denials']) <= 200, f'{len(answer["denials"])} denials', answer['outcome'])


@row('A-guard-19', 'opens of FIFOs that hang, as many as there is room for and more: others go on, none stays, all works again')
def hanging(case):
    # The sanitizers make each thread dear: there the room is not filled.
    count, room = (100, 90) if 'QSB_SANITIZED' in os.environ else (300, 200)
    process, peak = case.popen(case.sandboxed([case.attack, 'guard-hang', str(count)], RULES['reading']), stdin=subprocess.PIPE), Peak()
    line = process.stdout.readline()
    peak.look(process)
    outcome = case.finish(process, b'\n', 120)
    case.same(line, b'hanging\n', 'it gets there', outcome)
    case.worked(outcome)
    said = re.search(rf'{count} started, (\d+) opened, (\d+) refused, others worked', outcome.out)
    case.check(said, 'all came back', outcome)
    case.check(int(said.group(1)) >= room, 'there is room for many', outcome)
    peak.check(case, 400, 2048)
    again = case.inside(['sh', '-c', 'mkfifo /tmp/f; for i in 1 2 3 4 5; do (echo $i > /tmp/f) & cat /tmp/f; wait; done'], RULES['reading'])
    case.same(again.out, '1\n2\n3\n4\n5\n', 'and afterwards', again)


@row('A-guard-20', 'a folder so deep that nobody can name it: no denied name is made on the way, and none beyond')
def deep(case):
    outside = case.plain([case.attack, 'guard-deep', '60'])
    case.control(outside.code == 0, f'it works outside: {outside.describe()}')
    subprocess.run(['find', case.work, '-mindepth', '1', '-name', 'd*', '-prune', '-exec', 'rm', '-rf', '{}', '+'], check=False)
    for name in ('x.never', 'y.never', 'z.never'):
        path = os.path.join(case.work, name)
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
    inside = case.inside([case.attack, 'guard-deep', '60'], RULES['writing'])
    case.refused(inside)
    found = subprocess.run(['find', case.work, '-name', '*.never'], stdout=subprocess.PIPE, text=True, check=False).stdout
    case.same(found, '', 'denied names', inside)
    subprocess.run(['rm', '-rf', os.path.join(case.work, 'd' * 100)], check=False)
