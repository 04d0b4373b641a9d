"""The Node package against child_process.spawn and the program by itself."""
import json
import os
import platform
import shutil
import statistics
import subprocess

from measure import Broken
from tools import OURS

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = 'child_process.spawn'
EXECUTE = '@qiming/sandbox-native'
MACHINES = {'x86_64': 'x64', 'aarch64': 'arm64'}


class Node:
    def __init__(self, place, tools, reached):
        self.place, self.tools, self.reached = place, tools, reached
        self.folder = None

    def all(self):
        return {'node-blocked': self.blocked, 'node-total': self.total, 'node-stream': self.stream,
                'node-drift': self.drift, 'node-growth': self.growth}

    def package(self):
        """A copy that the user can reach; Broken where it is not built."""
        if self.folder:
            return self.folder
        root = os.path.dirname(HERE)
        build = os.environ.get('BUILD', os.path.join(root, 'build'))
        machine = platform.machine()
        native = os.path.join(root, build, 'prebuilt', f'linux-{MACHINES.get(machine, machine)}')
        wrapper = os.path.join(root, 'bindings', 'node', 'dist')
        if not os.path.exists(os.path.join(native, 'qiming_sandbox.node')) or not os.path.exists(wrapper):
            raise Broken('the package is not built: make node')
        if not shutil.which('node', path=self.place.environment['PATH']):
            raise Broken('node is not installed')
        folder = os.path.join(self.place.scratch, 'node')
        shutil.copytree(wrapper, os.path.join(folder, 'dist'))
        shutil.copytree(native, os.path.join(folder, 'native'))
        shutil.copy2(os.path.join(HERE, 'node.mjs'), folder)
        self.place.give(folder)
        self.folder = folder
        return folder

    def ask(self, what, runs):
        folder = self.package()
        argv = ['env', f'QIMING_SANDBOX_NATIVE={folder}/native', 'MALLOC_ARENA_MAX=1', 'node', '--expose-gc', f'{folder}/node.mjs', what,
                f'{folder}/dist', self.place.workspace, str(runs)]
        process = self.place.popen(argv, stdout=subprocess.PIPE)
        out = process.communicate()[0]
        if process.returncode != 0:
            raise Broken(f'node.mjs {what}: exit {process.returncode}')
        return json.loads(out)

    def compare(self, what, runs, unit, rate=False):
        """Both ways' medians as rows; and the ratio."""
        got = self.ask(what, self.place.runs(runs))
        ours, plain = (statistics.median(got[name]) for name in ('ours', 'plain'))
        ratio = plain / ours if rate else ours / plain
        return [{'name': EXECUTE, 'value': ours, 'unit': unit, 'ratios': {PLAIN: ratio},
                 'note': f'at most {max(got["ours"]):.2f}'},
                {'name': PLAIN, 'value': plain, 'unit': unit, 'note': f'at most {max(got["plain"]):.2f}'}], ours, ratio

    def blocked(self):
        """Node: JavaScript's thread blocked by one `true`, in a process of 1.5 GB"""
        rows, _, self.reached['node blocked'] = self.compare('blocked', 100, 'ms')
        return rows

    def total(self):
        """Node: `true` from the call to the result, against the program by itself"""
        # By a shell, as `execute` does it.
        alone = {OURS: self.tools.ours(['sh', '-c', 'true'])}
        before = self.place.latency(200, alone)[OURS]
        rows, ours, _ = self.compare('total', 300, 'ms')
        after = self.place.latency(200, alone)[OURS]
        program = statistics.median([*before.values, *after.values]) / 1000
        self.reached['node total'] = ours - program
        return [*rows, {'name': OURS, 'value': program, 'unit': 'ms'}]

    def stream(self):
        """Node: 1 GiB of output; the ratio is of the throughputs"""
        rows, _, self.reached['node stream'] = self.compare('stream', 20, 's', rate=True)
        return rows

    def drift(self):
        """Node: how late a timer of 5 ms is at worst while 64 commands run, median of the rounds"""
        rows, self.reached['node drift'], _ = self.compare('drift', 30, 'ms')
        return rows

    def growth(self):
        """Node: 10,000 commands, the second half against the first"""
        got = self.ask('growth', self.place.runs(10000))
        things = got['late']['things'] - got['early']['things']
        grown = (got['late']['memory'] - got['early']['memory']) / 1e6
        self.reached['node things'], self.reached['node growth'] = things, grown
        return [{'name': 'memory in use', 'value': grown, 'unit': 'MB',
                 'note': f'{got["early"]["memory"] / 1e6:.1f} MB before'},
                {'name': 'descriptors, threads, processes', 'value': things, 'unit': 'more'}]
