"""The contenders, and how each of them runs a command with the network off and one writable folder."""
import glob
import json
import os
import shutil

from measure import Broken

OURS, PLAIN, BUBBLEWRAP = 'qiming-sandbox', 'posix_spawn', 'bubblewrap'


class Tools:
    def __init__(self, place, peers):
        self.place = place
        self.absent = {}
        self.commands = {PLAIN: self.plain, BUBBLEWRAP: self.bubblewrap, OURS: self.ours}
        self.slow = {}
        self._peers, self._srt = peers, os.path.join(peers, 'node_modules', '.bin', 'srt')
        self._look_for_peers()
        for name, command in list(self.commands.items()) + list(self.slow.items()):
            try:
                if not shutil.which(command(['true'])[0], path=place.environment['PATH']):
                    raise Broken('is not installed')
                place.check(command(['true']))
            except Broken as reason:
                self.absent[name] = str(reason)
                self.commands.pop(name, None)
                self.slow.pop(name, None)

    def has(self, name):
        return name in self.commands or name in self.slow

    def plain(self, argv, **_):
        return list(argv)

    def ours(self, argv, options=()):
        return [self.place.program, 'run', '--workspace', self.place.workspace, *options, '--', *argv]

    def bubblewrap(self, argv, options=()):
        """What a careful person would write by hand: every namespace, the whole system read-only, the same folders of
        its own. It filters no system calls, hides no secrets and limits nothing, which only makes it faster."""
        workspace = self.place.workspace
        return ['bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc',
                '--dev', '/dev', '--tmpfs', '/tmp', '--bind', workspace, workspace, *options, '--', *argv]

    def srt_library(self):
        """Where the library of srt is; Broken where it is not."""
        if not os.path.exists(self._srt):
            raise Broken('is not there: make bench-peers')
        return os.path.join(self._peers, 'node_modules/@anthropic-ai/sandbox-runtime/dist/index.js')

    def srt_command(self, domains):
        settings = os.path.join(self.place.scratch, f'srt-{len(domains)}.json')
        with open(settings, 'w', encoding='utf-8') as file:
            json.dump({'network': {'allowedDomains': domains, 'deniedDomains': []},
                       'filesystem': {'denyRead': [], 'allowWrite': [self.place.workspace], 'denyWrite': []}}, file)
        self.place.give(settings)
        return lambda argv, **_: [*self.srt_surroundings(), self._srt, '-s', settings, *argv]

    def srt_surroundings(self):
        """It names sockets in the temporary folder after its process's number, and fails on one that was left there."""
        return ['env', f'TMPDIR={self.place.scratch}']

    def _look_for_peers(self):
        codex = glob.glob(os.path.join(self._peers, 'node_modules/@openai/codex-linux-*/vendor/*/bin/codex'))
        try:
            self.srt_library()
            self.slow['srt'] = self.srt_command([])
        except Broken as reason:
            self.absent['srt'] = str(reason)
        if codex:
            self.slow['codex'] = lambda argv, **_: [codex[0], 'sandbox', '-c', 'sandbox_mode="workspace-write"', '--',
                                                    *argv]
        else:
            self.absent['codex'] = 'is not there: make bench-peers'
