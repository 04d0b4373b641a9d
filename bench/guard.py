"""What the live guard costs: the same sandbox with and without it."""
import json
import os
import resource
import shutil
import time

import registry
from measure import Broken, Times, project, time_rows
from tools import OURS

FILES = 20000
TOPS, BELOW = 50, 9  # packages of a project, and of each of them: 500
FOLDERS, IN_EACH = 500, 100
PROTECTED = '.envrc'  # a built-in name
WITHOUT, WITH, READING = f'{OURS}, no guard', f'{OURS}, guard', f'{OURS}, guard, reads too'


class Guard:
    def __init__(self, place, tools, reached):
        self.place, self.tools, self.reached = place, tools, reached
        self.processors = len(os.sched_getaffinity(0))
        self.options = None

    def all(self):
        return {'guard-build': self.build, 'guard-files': self.files, 'guard-npm': self.npm, 'guard-git': self.git,
                'guard-start': self.start}

    def commands(self, argv, names=(WITHOUT, WITH), options=()):
        if not self.options:
            self.options = self.policies()
        return {name: self.tools.ours(argv, [*self.options[name], *options]) for name in names}

    def policies(self):
        """The options of each; Broken where a guard that should be there is not, or one is that should not."""
        off = os.path.join(self.place.scratch, 'no-guard.json')
        with open(off, 'w', encoding='ascii') as file:
            json.dump({'filesystem': {'protectNewNames': False, 'reportDenials': False}}, file)
        self.place.give(off)
        options = {WITHOUT: ['--policy', off], WITH: [], READING: ['--deny-read', '**/*.unread']}
        folder = os.path.join(self.place.workspace, 'held')
        for name, chosen in options.items():
            held = False
            try:
                self.place.check(self.tools.ours(['sh', '-c', f'mkdir held && touch held/{PROTECTED}'], chosen))
            except Broken:
                held = True
            shutil.rmtree(folder)  # without an error: the folder can be made in any case
            if held != (name != WITHOUT):
                raise Broken(f'{name}: a name is {"" if held else "not "}held')
        return options

    def project(self):
        folder = os.path.join(self.place.workspace, 'project')
        if not os.path.isdir(folder):
            project(folder)
            self.place.give(self.place.workspace)

    def build(self):
        """Guard: a C build of 60 files, processor time of the sandbox and the command together"""
        self.project()
        argv = ['make', '-s', '-B', '-C', 'project', f'-j{self.processors}']
        times = self.place.latency(30, self.commands(argv, (WITHOUT, WITH, READING), ['--cpus', str(self.processors)]))
        return self.compare('guard build', {name: got.processor for name, got in times.items()})

    def files(self):
        """Guard: 20,000 empty files made and removed, one after the other"""
        argv = [self.place.core, 'files', str(FILES)]
        return self.compare('guard files', self.place.latency(20, self.commands(argv, (WITHOUT, WITH, READING))))

    def git(self):
        """Guard: `git status` in 50,000 files"""
        repository = os.path.join(self.place.workspace, 'large')
        for folder in range(FOLDERS):
            os.makedirs(os.path.join(repository, str(folder)))
            for number in range(IN_EACH):
                with open(os.path.join(repository, str(folder), f'{number}.txt'), 'w', encoding='ascii') as file:
                    file.write(f'{folder} {number}\n')
        self.place.give(repository)
        # Without what git would do behind our back for so many objects.
        git = ['git', '-C', 'large', '-c', 'user.name=bench', '-c', 'user.email=bench@example.com', '-c', 'gc.auto=0',
               '-c', 'maintenance.auto=false']
        for argv in (['git', 'init', '-q', 'large'], [*git, 'add', '.'], [*git, 'commit', '-qm', 'all'],
                     [*git, 'status', '--porcelain']):
            self.place.check(argv)
        try:
            return self.compare('guard git', self.place.latency(40, self.commands([*git, 'status', '--porcelain'])))
        finally:
            shutil.rmtree(repository, ignore_errors=True)

    def start(self):
        """Guard: cold start of `true`"""
        times = self.place.latency(500, self.commands(['true'], (WITHOUT, WITH, READING)))
        rows = self.compare(None, times)
        self.reached['guard start'] = (times[WITH].median - times[WITHOUT].median) / 1000
        return rows

    def npm(self):
        """Guard: `npm install` of 500 packages from a registry on loopback"""
        if not shutil.which('npm', path=self.place.environment['PATH']):
            raise Broken('npm is not installed')
        port, server = self.serve()
        try:
            argv = ['npm', 'install', '--registry', f'http://127.0.0.1:{port}/', '--cache', '.npm', '--no-audit',
                    '--no-fund', '--no-update-notifier', '--loglevel', 'error', '--prefix', '.']
            commands = self.commands(['sh', '-c', 'cd install && exec "$@"', 'sh', *argv], options=['--reach', port])
            times = self.install(commands)
            used = {name: got.processor for name, got in times.items()}
            return self.compare('guard npm', times) + [{**row, 'name': f'{row["name"]}, processor time'}
                                                       for row in time_rows(used, (WITHOUT,))]
        finally:
            server.terminate()
            server.wait()

    def serve(self):
        """The registry's port, and its process."""
        script, port = (os.path.join(self.place.scratch, name) for name in ('registry.py', 'registry.port'))
        shutil.copy2(registry.__file__, script)
        self.place.give(script)
        server = self.place.popen(['python3', script, port, str(TOPS), str(BELOW)])
        for _ in range(600):
            if os.path.exists(port):
                with open(port, encoding='ascii') as file:
                    return file.read(), server
            time.sleep(0.05)
        server.kill()
        raise Broken('the registry does not start')

    def install(self, commands):
        """In an empty folder each time. What was installed is put aside, and removed when all is measured: right after
        a removal of so many files, ext4 takes longer over each new one than all the rest together."""
        folder, aside = (os.path.join(self.place.workspace, 'install'), os.path.join(self.place.scratch, 'installed'))
        times, processor = {name: [] for name in commands}, {name: [] for name in commands}
        os.mkdir(aside)
        for number in range(self.place.runs(8) + 1):
            order = list(commands) if number % 2 else list(reversed(commands))
            for name in order:
                self.start_project(folder)
                used, began = processor_time(), time.monotonic()
                self.place.check(commands[name])
                if number > 0:  # the first ones only warm the caches
                    times[name].append((time.monotonic() - began) * 1e6)
                    processor[name].append((processor_time() - used) * 1e6)
                found = len(os.listdir(os.path.join(folder, 'node_modules')))
                if found < TOPS * (1 + BELOW):
                    raise Broken(f'{name}: {found} packages installed')
                os.rename(folder, os.path.join(aside, f'{number} {name}'))
        shutil.rmtree(aside)
        return {name: Times(values, processor=processor[name]) for name, values in times.items()}

    def start_project(self, folder):
        os.makedirs(folder)
        with open(os.path.join(folder, 'package.json'), 'w', encoding='ascii') as file:
            json.dump({'name': 'bench', 'version': '1.0.0', 'private': True,
                       'dependencies': {f'qsb-bench-{top}': registry.VERSION for top in range(TOPS)}}, file)
        self.place.give(folder)

    def compare(self, key, times):
        if key:
            self.reached[key] = times[WITH].median / times[WITHOUT].median
        return time_rows(times, (WITHOUT,))


def processor_time():
    """Of all children that ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
