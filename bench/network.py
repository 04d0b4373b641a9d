"""The network's measurements: through the filter, and through what others put in its place, against direct.

All of it happens in one user, mount and network namespace (`qsb-net world`), in which a made-up name stands for the
loopback server, and its ports can be bound by anybody.
"""
import base64
import json
import os
import select
import shutil
import statistics
import subprocess
import sys

import memory
from measure import Broken, Times
from tools import BUBBLEWRAP, OURS

NAME, ADDRESS = 'bench.example', '127.0.0.1'
HTTP, TLS, RAW = '80', '443', '8000'
DIRECT, SOCAT = 'direct', 'socat bridge'
# The name leads to loopback, which a name alone may not.
FILTERED = ['--network', 'filtered', '--allow-domain', NAME, '--allow-domain', ADDRESS]
BY_NAME = {f'{OURS}, port 80': ('name', NAME, HTTP), f'{OURS}, port 443': ('tls', NAME, TLS)}
BY_PORT = {f'{OURS}, reached port': ('plain', ADDRESS, RAW)}
BY_PROXY = {f'{OURS}, CONNECT': ('connect', NAME, HTTP, 'HTTP_PROXY')}
# Its proxy alone, asked from outside its sandbox, and as a program inside comes to it, through the bridge it needs.
SRT, SRT_INSIDE = "srt's proxy", 'srt, from inside'
SRT_KINDS = (('GET', 'get'), ('CONNECT', 'connect'), ('SOCKS', 'socks'))
# KIND CLIENT…: the proxy's address there is http://USER:PASSWORD@localhost:PORT or socks5h://….
SRT_CLIENT = f'''kind=$1
shift
proxy=$HTTP_PROXY
[ "$kind" = socks ] && proxy=$ALL_PROXY
proxy=${{proxy#*://}}
log_in=${{proxy%@*}}
[ "$kind" = socks ] || log_in=$(printf %s "$log_in" | base64 -w0)
exec "$@" "$kind" {NAME} {HTTP} "${{proxy##*:}}" "$log_in"
'''
BYTES, HELD, SERIAL, PAUSE_MS = 500_000_000, 2000, 10000, 300


def progress(text):
    print(f'  network: {text}', file=sys.stderr, flush=True)


class World:
    """The namespaces with the server, and what runs in them beside it."""

    def __init__(self, place):
        self.place, self.running, self.pid = place, [], None

    def __enter__(self):
        hosts = os.path.join(self.place.scratch, 'hosts')
        with open(hosts, 'w', encoding='ascii') as file:
            file.write(f'{ADDRESS} localhost {NAME}\n')
        self.place.give(hosts)
        try:
            process = self._start([self.place.net, 'world', hosts, HTTP, TLS, RAW])
            self.pid = str(process.pid)
            self.first_line(process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()

    def _start(self, argv):
        try:
            process = self.place.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Broken(str(error)) from None
        self.running.append(process)
        return process

    def first_line(self, process):
        """What a process says when it is ready."""
        ready, _, _ = select.select([process.stdout], [], [], 30)
        line = process.stdout.readline() if ready else b''
        if not line:
            process.kill()
            raise Broken(last_line(process.stderr.read()) or 'does not get ready')
        return line

    def inside(self, argv):
        return [self.place.net, 'enter', self.pid, *argv]

    def start(self, argv):
        return self._start(self.inside(argv))

    def ask(self, argv):
        """Runs once; what it printed, as JSON."""
        process = self.place.popen(self.inside(argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Broken('does not end') from None
        if process.returncode != 0:
            raise Broken(f'exit {process.returncode}: {last_line(said or out) or "says nothing"}')
        return json.loads(out.decode().strip().splitlines()[-1])


class Network:
    def __init__(self, place, tools, reached):
        self.place, self.tools, self.reached = place, tools, reached
        self.absent = []  # rows of what cannot be measured, and why
        self.lost = {}  # a peer: how many of its runs ended too early

    def all(self):
        return {'network-data': self.data, 'network-connect': self.connect, 'network-start': self.start,
                'network-crowd': self.crowd}

    # -- the ways to the server -------------------------------------------------------------------------------------

    def ours(self, client, way):
        options = [*FILTERED, '--open-files', '8192']
        return self.tools.ours([self.place.net, *client, *way],
                               options + (['--reach', RAW] if way[0] == 'plain' else []))

    def ways(self, world):
        """{name: a function that makes the command of what the client is to do}, those that work here."""
        self.absent = []
        found = {DIRECT: lambda client: [self.place.net, *client, 'plain', ADDRESS, HTTP]}
        for name, way in {**BY_NAME, **BY_PORT, **BY_PROXY}.items():
            found[name] = lambda client, way=way: self.ours(client, way)
        for peer in (self.socat, self.srt, self.srt_sandbox):
            try:
                found.update(peer(world))
            except Broken as reason:
                self.absent.append({'name': str(peer.__doc__), 'note': f'not measured: {reason}'})
        for name, command in list(found.items()):
            self.try_one(world, found, name, command(['data', '100000']))
        return found

    def try_one(self, world, found, name, argv):
        """What it says; where it fails it is found no more."""
        try:
            return world.ask(argv)
        except Broken as reason:
            self.drop(found, name, reason)
            return None

    def drop(self, found, name, reason):
        del found[name]
        # What the peers cannot do is no fault of ours.
        self.absent.append({'name': name, 'note': f'{reason}: failed' if name.startswith(OURS) else
                            f'not measured: {reason}'})

    def socat(self, world):
        """socat bridge"""
        if not shutil.which('socat', path=self.place.environment['PATH']):
            raise Broken('is not installed: scripts/setup peers')
        if not self.tools.has(BUBBLEWRAP):
            raise Broken('needs bubblewrap')
        path = os.path.join(self.place.workspace, 'bridge')
        world.start(['socat', f'UNIX-LISTEN:{path},fork,unlink-early', f'TCP:{ADDRESS}:{RAW}'])
        script = 'socat TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:"$0" & exec "$@"'
        return {SOCAT: lambda client: self.tools.bubblewrap(
            ['sh', '-c', script, path, self.place.net, *client, 'plain', ADDRESS, '3128'])}

    def srt(self, world):
        """srt's proxy"""
        library = self.tools.srt_library()
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'srt_proxy.mjs')
        own = shutil.copy2(script, self.place.scratch)
        self.place.give(own)
        argv = ['node', own, library, self.place.workspace, NAME, ADDRESS]
        got = json.loads(world.first_line(world.start([*self.tools.srt_surroundings(), *argv])))
        log_in = f'srt:{got["token"]}'
        coded = base64.b64encode(log_in.encode()).decode()
        tails = {kind: [kind, NAME, HTTP, str(got['socks' if kind == 'socks' else 'http']),
                        log_in if kind == 'socks' else coded] for _, kind in SRT_KINDS}
        return {f'{SRT}, {label}': lambda client, kind=kind: [self.place.net, *client, *tails[kind]]
                for label, kind in SRT_KINDS}

    def srt_sandbox(self, _):
        """srt's sandbox"""
        self.tools.srt_library()
        command = self.tools.srt_command([NAME, ADDRESS])
        # It joins its arguments to a line for a shell; a file needs no quoting.
        script = os.path.join(self.place.scratch, 'srt-client')
        with open(script, 'w', encoding='ascii') as file:
            file.write(SRT_CLIENT)
        return {f"{SRT_INSIDE}, {label}": lambda client, kind=kind: command(
            ['sh', script, kind, self.place.net, *client]) for label, kind in SRT_KINDS}

    # -- how much, how soon -----------------------------------------------------------------------------------------

    def rounds(self, world, runs, client, title):
        """{name: [answers]}: one run of each in turn, the order turned each round. A peer that loses a connection now
        and then stays as long as most of its runs work; ours may lose none."""
        ways = self.ways(world)
        names, answers, self.lost = list(ways), {name: [] for name in ways}, dict.fromkeys(ways, 0)
        for number in range(runs):
            progress(f'{title}, round {number + 1} of {runs}')
            for index in range(len(names)):
                name = names[(index + number) % len(names)]
                if name in ways:
                    self.one_round(world, ways, name, client, answers[name])
        for name in [name for name in ways if self.lost[name] * 2 > runs]:
            self.drop(ways, name, f'{self.lost[name]} of {runs} runs ended too early')
        return {name: answers[name] for name in names if name in ways}

    def one_round(self, world, ways, name, client, answers):
        try:
            answers.append(world.ask(ways[name](client)))
        except Broken as reason:
            if name.startswith(OURS) or name == DIRECT:
                self.drop(ways, name, reason)
            else:
                self.lost[name] += 1

    def with_losses(self, rows):
        for row in rows:
            if self.lost.get(row['name']):
                row.setdefault('note', f'{self.lost[row["name"]]} more runs ended too early')
        return rows + self.absent

    def data(self):
        """500 MB from a loopback server, in MB/s"""
        size = BYTES // 10 if self.place.quick else BYTES
        with World(self.place) as world:
            answers = self.rounds(world, max(3, self.place.runs(7)), ['data', str(size)], '500 MB')
        rates = {name: statistics.median(got['bytes'] / got['us'] for got in several)
                 for name, several in answers.items()}
        slowest = min((rates[name] for name in BY_NAME if name in rates), default=None)
        # Like with like, where it can be: both measured by a program inside the sandbox.
        srt = fastest(rates, SRT_INSIDE) or fastest(rates, SRT)
        if slowest and DIRECT in rates:
            self.reached['network data'] = slowest / rates[DIRECT]
        if slowest and srt:
            self.reached['network srt'] = slowest / rates[srt]
        rows = []
        for name, rate in rates.items():
            others = [other for other in (DIRECT, srt if name.startswith(OURS) else None)
                      if other in rates and other != name]
            rows.append({'name': name, 'value': rate, 'unit': 'MB/s',
                         'ratios': {other: rate / rates[other] for other in others}})
        return self.with_losses(rows)

    def connect(self):
        """Connect and first byte of the answer"""
        with World(self.place) as world:
            answers = self.rounds(world, max(3, self.place.runs(10)), ['connect', '60'], 'connect')
        times = {name: Times([took for got in several for took in got['times']],
                             sum(got['failures'] for got in several)) for name, several in answers.items()}
        rows = []
        for name, got in times.items():
            row = {'name': name, **got.summary(), 'ratios': {}}
            if name != DIRECT:
                row['ratios'][DIRECT] = got.median / times[DIRECT].median
            if got.failures:
                row['note'] = f'{got.failures} of {len(got.values) + got.failures} failed'
            rows.append(row)
        ours = [times[name].median for name in BY_NAME if name in times]
        if ours and DIRECT in times:
            self.reached['network connect'] = max(ours) / times[DIRECT].median
        return self.with_losses(rows)

    def start(self):
        """Cold start of `true` with a filtered network"""
        commands = {f'{OURS}, off': self.tools.ours(['true'], ['--network', 'off']),
                    f'{OURS}, filtered': self.tools.ours(['true'], FILTERED)}
        for command in commands.values():
            self.place.check(command)
        progress('cold start')
        off, filtered = self.place.latency(300, commands).values()
        added = filtered.median - off.median
        self.reached['network start'] = added / 1000
        rows = [{'name': name, **got.summary(), 'ratios': {}} for name, got in zip(commands, (off, filtered))]
        for row in rows:
            if row['failures']:
                row['note'] = f'{row["failures"]} of {row["runs"]} runs failed'
        rows[1].setdefault('note', f'{added / 1000:+.2f} ms')
        return rows

    # -- many at once -----------------------------------------------------------------------------------------------

    def crowd(self):
        """2,000 connections open at once, then 10,000 one after another: the broker's memory"""
        rows = []
        with World(self.place) as world:
            commands = {DIRECT: lambda client: [self.place.net, *client, 'plain', ADDRESS, HTTP]}
            for name, way in {**BY_NAME, **BY_PORT}.items():
                commands[name] = lambda client, way=way: self.ours(client, way)
            for name, command in commands.items():
                progress(f'many connections, {name}')
                try:
                    rows.append(self.one_crowd(world, name, command))
                except Broken as reason:
                    rows.append({'name': name, 'note': f'{reason}: failed'})
        peaks = [row['value'] for row in rows if 'value' in row]
        if peaks and not any(row['note'].endswith('failed') for row in rows):
            self.reached['network crowd'] = max(peaks)
        return rows

    def one_crowd(self, world, name, command):
        held, serial = self.place.runs(HELD), self.place.runs(SERIAL)
        process = world.start(command(['crowd', str(held), str(serial), str(PAUSE_MS)]))
        told, seen = {}, {}
        for line in process.stdout:
            got = json.loads(line)
            stage = next(iter(got))
            told[stage] = got
            if name != DIRECT:
                seen[stage] = memory.of_broker(process.pid)
        if process.wait() != 0:
            raise Broken(f'exit {process.returncode}: {last_line(process.stderr.read()) or "says nothing"}')
        note = (f'{told["open"]["open"]} of {held} open in {told["open"]["us"] / 1e6:.2f} s, '
                f'{told["serial"]["serial"]} of {serial} in {told["serial"]["us"] / 1e6:.2f} s')
        complete = told['open']['open'] == told['released']['released'] == held and told['serial']['serial'] == serial
        row = {'name': name}
        if seen:
            row.update(value=max(got.peak for got in seen.values()) / 1e6, unit='MB at most')
            note += '; ' + ', '.join(f'{stage} {got.text()}' for stage, got in seen.items() if stage != 'released')
        return {**row, 'note': note if complete else note + ': failed'}


def fastest(rates, beginning):
    names = [name for name in rates if name.startswith(beginning)]
    return max(names, key=rates.get) if names else None


def last_line(said):
    lines = said.decode('utf-8', 'replace').strip().splitlines()
    return lines[-1][:150] if lines else ''
