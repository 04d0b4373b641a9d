"""The end of the guard is the end of the command: however the supervisor dies, at whatever moment."""
import os
import random
import signal
import time

from fs_tree import Tree
from guard_trees import RULES
from harness import row
from harness_host import descendants, reap

TIMES = 6 if 'QSB_SANITIZED' in os.environ else 40

# Files that come and go, folders that move with much in them, calls that hang, refused calls: something is always under way.
BUSY = '''
mkdir -p one; i=0; while [ $i -lt 200 ]; do i=$((i+1)); : > one/f$i; done; mkfifo /tmp/f; cat /tmp/f & (echo x > /tmp/f.2; cat /tmp/f) &
while :; do mv one two; mv two one; done & while :; do echo x > a; rm a; done & while :; do ln one/f1 b; rm b; mkdir c; rmdir c; done &
while :; do echo x > no.never; mkdir no.never; mv a no.never; done 2> /dev/null & echo x > beat; echo up; while :; do echo x >> beat; done
'''


def mounts():
    with open('/proc/self/mountinfo', encoding='utf-8', errors='replace') as file:
        return sorted(file.read().splitlines())


def all_gone(case, what):
    def gone():
        reap()
        return not descendants(os.getpid())
    case.wait_until(gone, f'every process is dead: {what}')


def left_clean(case, before, around, what):
    """Nothing of the sandbox is left on the host, and nothing was made that is denied."""
    case.same(mounts(), before, f'mounts: {what}')
    case.same(around.changes(), [], f'the folders around: {what}')
    made = [name for _, folders, files in os.walk(case.work) for name in folders + files if name.endswith('.never')]
    case.same(made, [], f'denied names: {what}')


def close(process):
    process.wait()
    process.stdout.close()
    process.stderr.close()


@row('A-guard-6', 'the supervisor killed at a random moment, while calls wait and folders move: all dies, nothing stays')
def killed_at_random(case):
    before, seed = mounts(), random.randrange(1 << 30)
    chance = random.Random(seed)
    around = Tree(case.outside)
    for number in range(TIMES):
        process = case.popen(case.sandboxed(['sh', '-c', BUSY], RULES[('writing', 'reading')[number % 2]]))
        early = number % 4 == 0  # also before the command is up
        if not early:
            case.same(process.stdout.readline(), b'up\n', f'it runs (seed {seed})')
        time.sleep(chance.random() * (0.04 if early else 0.15))
        if number % 5 == 1:  # what a stopped supervisor has not answered must not be done either
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(chance.random() * 0.05)
        os.kill(process.pid, signal.SIGKILL)
        close(process)
        all_gone(case, f'run {number} of seed {seed}')
        left_clean(case, before, around, f'run {number} of seed {seed}')
        case.clear_work()


@row('A-guard-6', 'while the supervisor is stopped no call gets through; continued, it goes on; killed, all dies')
def stopped_supervisor(case):
    beat = os.path.join(case.work, 'beat')
    process = case.popen(case.sandboxed(['sh', '-c', BUSY], RULES['writing']))
    case.same(process.stdout.readline(), b'up\n', 'it runs')
    for _ in range(3):
        os.kill(process.pid, signal.SIGSTOP)
        case.pause(0.1)
        size = os.path.getsize(beat)
        case.pause(0.3)
        case.same(os.path.getsize(beat), size, 'nothing is opened for writing while nobody answers')
        os.kill(process.pid, signal.SIGCONT)
        case.wait_until(lambda: os.path.getsize(beat) > size, 'it goes on')
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    close(process)
    all_gone(case, 'killed while stopped')
