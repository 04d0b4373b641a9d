"""What the measurements stand on: the ordinary user who runs them, a scratch folder, the timing core, statistics."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile


class Broken(Exception):
    """A measurement that cannot be made here: the reason."""


class Times:
    """Many times of one thing, in microseconds; `processor`: the processor time of the same runs, where it is known."""

    def __init__(self, values, failures=0, processor=None):
        self.values, self.failures = sorted(values), failures
        self.processor = Times(processor, failures) if processor else None

    def at(self, share):
        return self.values[round(share * (len(self.values) - 1))]

    @property
    def median(self):
        return statistics.median(self.values)

    def summary(self):
        return {'runs': len(self.values), 'failures': self.failures, 'p10Us': self.at(0.1), 'medianUs': self.median,
                'p90Us': self.at(0.9)}


class Place:
    """Where and as whom things are measured."""

    def __init__(self, user, program, cores, quick):
        self.user, self.quick = user, quick
        # Where homes are, as projects are: a temporary folder is another file system on many machines. The home is made
        # for the purpose, since some of the peers leave files in it.
        self.scratch = tempfile.mkdtemp(prefix='.qsb-bench-', dir=user.entry.pw_dir)
        self.home = os.path.join(self.scratch, 'home')
        self.workspace = os.path.join(self.home, 'workspace')
        os.makedirs(self.workspace)
        self.program = self._own(program)
        self.core = self._own(os.path.join(cores, 'qsb-bench'))
        self.net = self._own(os.path.join(cores, 'qsb-net'))
        self.environment = {**user.environment(), 'HOME': self.home}
        self.give(self.scratch)

    def _own(self, path):
        """A copy that the user can reach, whatever folder the tree is in."""
        target = os.path.join(self.scratch, os.path.basename(path))
        shutil.copy2(path, target)
        return target

    def give(self, path):
        """Hands a file or a tree to the user."""
        if not self.user.identity():
            return
        for folder, folders, files in [*os.walk(path)] or [(path, [], [])]:
            for name in (folder, *(os.path.join(folder, name) for name in folders + files)):
                os.chown(name, self.user.entry.pw_uid, self.user.entry.pw_gid, follow_symlinks=False)

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def runs(self, count):
        return max(3, count // 10) if self.quick else count

    def popen(self, argv, **keywords):
        keywords.setdefault('cwd', self.workspace)
        keywords.update(self.user.identity())
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=self.environment, **keywords)

    def check(self, argv):
        """Runs once; Broken with what it said when it does not exit with 0."""
        process = self.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said = process.communicate(timeout=120)[0].decode('utf-8', 'replace').strip()
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Broken('does not end') from None
        except OSError as error:
            raise Broken(str(error)) from None
        if process.returncode != 0:
            last = said.splitlines()[-1] if said else 'says nothing'
            raise Broken(f'exit {process.returncode}: {last[:150]}')

    def ask_core(self, *arguments):
        process = self.popen([self.core, *map(str, arguments)], stdout=subprocess.PIPE)
        out = process.communicate()[0]
        if process.returncode != 0:
            raise Broken(f'qsb-bench {arguments[0]}: exit {process.returncode}')
        return json.loads(out)

    def latency(self, runs, commands):
        """{name: argv} interleaved; {name: Times}"""
        arguments = ['latency', self.runs(runs)]
        for name, argv in commands.items():
            arguments += ['--next', name, *argv]
        return {name: Times(got['times'], got['failures'], got['processor'])
                for name, got in self.ask_core(*arguments).items()}

    def throughput(self, slices, slice_ms, workers, commands):
        """{name: argv}; {name: runs a second}"""
        arguments = ['throughput', self.runs(slices), slice_ms, workers]
        for name, argv in commands.items():
            arguments += ['--next', name, *argv]
        return {name: (statistics.median(got['rates']), got['failures'])
                for name, got in self.ask_core(*arguments).items()}


def time_rows(times, against):
    """Rows of {name: Times}; ratios to the medians of `against`."""
    rows = []
    for name, got in times.items():
        row = {'name': name, **got.summary(), 'ratios': {other: got.median / times[other].median for other in against
                                                         if other in times and other != name}}
        if got.failures:
            row['note'] = f'{got.failures} of {len(got.values)} runs failed'
        rows.append(row)
    return rows


def project(folder):
    """A C project of 60 files with a Makefile."""
    os.makedirs(folder)
    names = [f'part{number:02}' for number in range(60)]
    for name in names:
        with open(os.path.join(folder, name + '.c'), 'w', encoding='ascii') as file:
            file.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\n')
            for number in range(3):
                file.write(f'int {name}_{number}(const char *text, int times)\n'
                           '{\n\tchar buffer[256];\n\tint sum = 0;\n\tfor (int i = 0; i < times; i++) {\n'
                           '\t\tsnprintf(buffer, sizeof(buffer), "%s %d", text, i);\n'
                           f'\t\tsum += (int)strlen(buffer) * {number + 1} + atoi(buffer);\n'
                           '\t}\n\treturn sum;\n}\n\n')
    with open(os.path.join(folder, 'main.c'), 'w', encoding='ascii') as file:
        file.write('int main(void)\n{\n\treturn 0;\n}\n')
    with open(os.path.join(folder, 'Makefile'), 'w', encoding='ascii') as file:
        objects = ' '.join(name + '.o' for name in (*names, 'main'))
        file.write(f'CFLAGS = -O2\nprogram: {objects}\n\t$(CC) -o $@ $^\n')
