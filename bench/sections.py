"""The measurements. Each yields rows for the table, and remembers what the targets ask for in `reached`."""
import json
import os
import shutil
import time

import memory
from guard import Guard
from measure import Broken, project, time_rows
from network import Network
from node import Node
from tools import BUBBLEWRAP, OURS, PLAIN

RULES = (10, 1000, 10000)
HERD = 500


class Sections:
    def __init__(self, place, tools):
        self.place, self.tools = place, tools
        self.reached = {}  # a target's key: the value
        self.processors = len(os.sched_getaffinity(0))

    def all(self):
        return {'cold': self.cold, 'peers': self.peers, 'rules': self.rules, 'rate': self.rate, 'memory': self.memory,
                'build': self.build, 'programs': self.programs, 'reap': self.reap,
                **Guard(self.place, self.tools, self.reached).all(),
                **Network(self.place, self.tools, self.reached).all(),
                **Node(self.place, self.tools, self.reached).all()}

    def commands(self, argv, options=(), names=(PLAIN, BUBBLEWRAP, OURS)):
        found = {name: self.tools.commands[name] for name in names if name in self.tools.commands}
        return {name: command(argv, options=options if name == OURS else ()) for name, command in found.items()}

    # -- starting ---------------------------------------------------------------------------------------------------

    def cold(self):
        """Cold start of `true`"""
        times = self.place.latency(500, self.commands(['true']))
        if OURS in times and BUBBLEWRAP in times:
            self.reached['cold'] = times[OURS].median / times[BUBBLEWRAP].median
        return time_rows(times, (PLAIN, BUBBLEWRAP))

    def peers(self):
        """Cold start of `true`, with the slower peers in the same rounds"""
        if not self.tools.slow:
            raise Broken('neither srt nor codex can run here')
        slow = {name: command(['true']) for name, command in self.tools.slow.items()}
        return time_rows(self.place.latency(30, {**self.commands(['true']), **slow}), (PLAIN, BUBBLEWRAP, *slow))

    def rules(self):
        """Cold start of `true` with many paths that must not be read: N rules, and one rule with N matches"""
        folder = os.path.join(self.place.workspace, 'denied')
        paths = {}
        for count in RULES:
            paths[count] = denied_files(os.path.join(folder, str(count)), count)
        self.place.give(folder)
        commands = {}
        for count in RULES:
            rules = self.policy(f'rules-{count}', paths[count])
            matches = self.policy(f'matches-{count}', [os.path.join(folder, str(count), '**', '*.secret')])
            commands[f'{OURS}, {count} rules'] = self.tools.ours(['true'], ['--policy', rules])
            commands[f'{OURS}, {count} matches'] = self.tools.ours(['true'], ['--policy', matches])
            for policy in (rules, matches):
                self.must_hold(policy, paths[count])
        times = self.place.latency(100, commands)
        for kind in ('rules', 'matches'):
            few, many = (times[f'{OURS}, {count} {kind}'].median for count in (RULES[0], RULES[-1]))
            self.reached[kind] = many / few
        rows = time_rows(times, (f'{OURS}, {RULES[0]} rules', f'{OURS}, {RULES[0]} matches'))
        rows += self.bubblewrap_rules(paths)
        shutil.rmtree(folder)
        return rows

    def must_hold(self, policy, paths):
        """A rule that is not enforced costs nothing: what is measured must also work."""
        self.place.check(self.tools.ours(['true'], ['--policy', policy]))
        for path in (paths[0], paths[-1]):
            try:
                self.place.check(self.tools.ours(['cat', path], ['--policy', policy]))
            except Broken:
                continue
            raise Broken(f'{os.path.basename(path)} can be read in spite of its rule')

    def policy(self, name, entries):
        path = os.path.join(self.place.scratch, name + '.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'filesystem': {'denyRead': entries}}, file)
        self.place.give(self.place.scratch)
        return path

    def bubblewrap_rules(self, paths):
        rows = []
        for count in RULES if BUBBLEWRAP in self.tools.commands else ():
            listing = os.path.join(self.place.scratch, f'bubblewrap-{count}')
            with open(listing, 'wb') as file:
                file.write(b''.join(b'--ro-bind\0/dev/null\0' + path.encode() + b'\0' for path in paths[count]))
            name = f'{BUBBLEWRAP}, {count} rules'
            # The list goes through a descriptor, as bubblewrap offers for what is too long for a command line.
            argv = ['sh', '-c', 'exec 9<"$0" && exec "$@"', listing, *self.tools.bubblewrap(['true'], ['--args', '9'])]
            try:
                self.place.check(argv)
                rows += time_rows(self.place.latency(20, {name: argv}), ())
            except Broken as reason:
                rows.append({'name': name, 'note': str(reason)})
        return rows

    def rate(self):
        """Runs of `true` a second on all processors"""
        rates = self.place.throughput(5, 1000, self.processors, self.commands(['true']))
        rows = []
        for name, (rate, failures) in rates.items():
            row = {'name': name, 'value': round(rate), 'unit': '/s', 'ratios': {}}
            for other in (PLAIN, BUBBLEWRAP):
                if other in rates and other != name:
                    row['ratios'][other] = rate / rates[other][0]
            if failures:
                row['note'] = f'{failures} failed'
            rows.append(row)
        return rows

    # -- while it runs ----------------------------------------------------------------------------------------------

    def memory(self):
        """Memory of the sandbox's own processes while the command sleeps"""
        sleeper = ['sleep', '30']
        tools = {**self.tools.commands, **self.tools.slow}
        tools.pop(PLAIN, None)
        rows = []
        for name, command in tools.items():
            got = memory.of_sandbox(self.place, command(sleeper), 'sleep')
            rows.append({'name': name, 'value': got.resident / 1e6, 'unit': 'MB resident',
                         'note': f'{got.private / 1e6:.2f} MB private, {got.processes} processes ({got.source})',
                         'privateBytes': got.private, 'residentBytes': got.resident})
            if name == OURS:
                self.reached['resident'], self.reached['private'] = got.resident / 1e6, got.private / 1e6
        return rows

    def build(self):
        """A C build: 60 files, on all processors"""
        project(os.path.join(self.place.workspace, 'project'))
        self.place.give(self.place.workspace)
        argv = ['make', '-s', '-B', '-C', 'project', f'-j{self.processors}']
        options = ['--cpus', str(self.processors)]
        times = self.place.latency(40, self.commands(argv, options))
        if OURS in times:
            self.reached['build'] = times[OURS].median / times[PLAIN].median
        return time_rows(times, (PLAIN, BUBBLEWRAP))

    def programs(self):
        """Everyday programs"""
        repository = os.path.join(self.place.workspace, 'repository')
        project(repository)
        self.place.give(self.place.workspace)
        git = ['git', '-C', 'repository', '-c', 'user.name=bench', '-c', 'user.email=bench@example.com']
        for argv in (['git', 'init', '-q', 'repository'], [*git, 'add', '.'], [*git, 'commit', '-qm', 'all']):
            self.place.check(argv)
        rows = []
        for label, argv in (('git status', ['git', '-C', 'repository', 'status', '--porcelain']),
                            ('npm --version', ['npm', '--version'])):
            self.place.check(argv)
            times = self.place.latency(60, self.commands(argv))
            if OURS in times:
                self.reached[label] = times[OURS].median / times[PLAIN].median
            rows += [{**row, 'name': f'{label}, {row["name"]}'} for row in time_rows(times, (PLAIN, BUBBLEWRAP))]
        return rows

    # -- the end ----------------------------------------------------------------------------------------------------

    def reap(self):
        """A timeout of 1 s: milliseconds after it until the last of 500 processes that ignore SIGTERM is dead"""
        # A name of its own: the moment of death is seen on the host, from outside, for these processes alone.
        name = 'qsb-herd'
        herd = os.path.join(self.place.workspace, name)
        shutil.copy2(self.place.core, herd)
        os.chmod(herd, 0o755)
        command = [herd, 'herd', str(HERD)]
        contenders = {OURS: self.tools.ours(command, ['--timeout', '1', '--processes', str(2 * HERD)])}
        if BUBBLEWRAP in self.tools.commands:
            contenders['timeout 1 bubblewrap'] = ['timeout', '-s', 'KILL', '1', *self.tools.bubblewrap(command)]
        late = {contender: [] for contender in contenders}
        for _ in range(self.place.runs(20)):
            for contender, argv in contenders.items():
                got = self.place.ask_core('reap', name, 700, *argv)
                if got['held'] != HERD or got['alive']:
                    raise Broken(f'{contender}: {got["held"]} of {HERD} processes seen, {got["alive"]} outlived it')
                late[contender].append(got['dead'] - 1000000)
                time.sleep(0.1)
        os.unlink(herd)
        rows = []
        for contender, values in late.items():
            values.sort()
            rows.append({'name': contender, 'value': values[len(values) // 2] / 1e3, 'unit': 'ms',
                         'note': f'at most {values[-1] / 1e3:.1f} ms in {len(values)} runs'})
        self.reached['reap'] = sorted(late[OURS])[len(late[OURS]) // 2] / 1e6
        return rows


def denied_files(folder, count):
    """`count` files, a hundred a folder."""
    paths = []
    for number in range(count):
        inner = os.path.join(folder, str(number // 100))
        if number % 100 == 0:
            os.makedirs(inner)
        paths.append(os.path.join(inner, f'{number}.secret'))
        with open(paths[-1], 'w', encoding='ascii') as file:
            file.write('x')
    return paths
