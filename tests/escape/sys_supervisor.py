"""Against the supervisor: a call's memory that changes under its eyes, and more work than it can do."""
import json
import os
import socket
import threading

from harness import row

SECONDS = '3'


class HostServer:
    """A unix socket of the host that greets with "host". `reached` counts who came."""

    def __init__(self, case, path):
        self.reached, self.path = 0, path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(4096)
        threading.Thread(target=self.serve, daemon=True).start()
        case.cleanups.append(self.close)

    def serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.reached += 1
            try:
                connection.sendall(b'host')
            except OSError:
                pass
            connection.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def race_for_file(case, call):
    allowed = os.path.join(case.work, 'target-1')
    denied = os.path.join(case.outside, 'target-1')
    longest = max(len(allowed), len(denied))  # the two must be of one length to be swapped in place
    allowed, denied = (path + 'x' * (longest - len(path)) for path in (allowed, denied))
    outside = case.plain([case.attack, 'race', call, allowed, denied, SECONDS])
    case.control(outside.code == 0, f'the race cannot be won outside: {outside.out.strip()}')
    for path in (allowed, denied):
        if os.path.lexists(path):
            (os.rmdir if os.path.isdir(path) else os.unlink)(path)
    inside = case.inside([case.attack, 'race', call, allowed, denied, SECONDS])
    case.refused(inside)
    case.check(not os.path.lexists(denied), 'the file was made outside the workspace', inside)


def race_point(name, sentence):
    def test(case):
        race_for_file(case, name)
    test.__name__ = 'race_' + name
    row('A-sys-5', sentence)(test)


for name, sentence in (('create', 'a file opened while its path changes is never one outside the workspace'),
                       ('mkdir', 'a folder made while its path changes never lies outside the workspace'),
                       ('symlink', 'a symlink made while its path changes never lies outside the workspace'),
                       ('rename', 'a file renamed while its path changes never lands outside the workspace')):
    race_point(name, sentence)


@row('A-sys-5', 'a connection made while its address changes never reaches a socket of the host')
def race_connect(case):
    server = HostServer(case, os.path.join(case.base, 'host.sock'))
    pad = len(server.path) - len('/tmp/')
    own = '/tmp/' + 'o' * pad
    outside = case.plain([case.attack, 'race-connect', own, server.path, SECONDS])
    os.unlink(own)
    case.control(outside.code == 0, f'the race cannot be won outside: {outside.out.strip()}')
    before = server.reached
    inside = case.inside([case.attack, 'race-connect', own, server.path, SECONDS])
    case.refused(inside)
    case.same(server.reached, before, 'connections that reached the host', inside)


@row('A-sys-6', 'a flood of refused calls leaves every verdict right, the result small and the supervisor alive')
def flood_calls(case):
    server = HostServer(case, os.path.join(case.base, 'host.sock'))
    outside = case.plain([case.attack, 'flood', server.path, '50'])
    case.control(outside.code == 0, f'the socket cannot be reached outside: {outside.out.strip()}')
    case.wait_until(lambda: server.reached == 400, 'all of the control were counted')
    script = '"$0" flood "$1" 4000; "$0" fs write "$2/planted"; "$0" flood "$1" 1; echo end'
    result = case.result(['sh', '-c', script, case.attack, server.path, case.outside])
    case.same(server.reached, 400, 'connections that reached the host', result['outcome'])
    case.check(result['stdout'].endswith('end\n'), 'the command must go on to its end', result['outcome'])
    case.check('connected 0, refused 32000' in result['stdout'], 'every single call is refused', result['outcome'])
    case.check('connected 0, refused 8' in result['stdout'], 'also afterwards', result['outcome'])
    case.check(len(json.dumps(result['denials'])) < 1 << 20, 'the list of denials must be bounded')
    case.check(len(result['denials']) <= 10000, f'{len(result["denials"])} denials are reported')


@row('A-sys-6', 'a flood of refused calls does not make our processes grow')
def flood_memory(case):
    server = HostServer(case, os.path.join(case.base, 'host.sock'))
    outside = case.plain([case.attack, 'flood', server.path, '50'])
    case.control(outside.code == 0, f'the socket cannot be reached outside: {outside.out.strip()}')
    marker = os.path.join(case.work, 'flooded')
    script = '"$0" flood "$1" 4000; echo >"$2"; sleep 20'
    process = case.popen(case.sandboxed(['sh', '-c', script, case.attack, server.path, marker]))
    case.wait_until(lambda: os.path.exists(marker) or process.poll() is not None, 'the flood is over', 60)
    case.check(process.poll() is None, 'the supervisor must still be there')
    with open(f'/proc/{process.pid}/status', encoding='ascii') as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith('VmHWM'))
    case.check(peak < 64 * 1024, f'the supervisor grew to {peak} KiB')
    process.terminate()
    case.finish(process)


@row('A-sys-6', 'a flood of output lines is bounded in the result, in memory and on the events descriptor')
def flood_output(case):
    text = 'i=0; while [ $i -lt 200 ]; do head -c 1000000 /dev/zero | tr "\\0" "\\n"; i=$((i+1)); done; echo last'
    outside = case.plain(['sh', '-c', text + ' | tail -n 1'])
    case.control(outside.out.strip() == 'last', 'the flood does not run outside')
    result = case.result(['sh', '-c', text], ['--output', '64k'])
    case.same(result['exitCode'], 0, 'exit code', result['outcome'])
    case.check(result['truncated']['stdout'], 'the result must say that output was dropped')
    case.check(len(result['stdout']) <= 66000, f'{len(result["stdout"])} bytes were kept of 64k')
    case.check(result['stdout'].endswith('last\n'), 'the tail must be kept')


@row('A-sys-6', 'a command that opens every descriptor it may leaves the supervisor its own')
def flood_descriptors(case):
    text = ('import os, socket\n'
            'held = []\n'
            'try:\n'
            '    while True: held.append(os.open("/dev/null", os.O_RDONLY))\n'
            'except OSError as error: print(error.errno)\n'
            'os.close(held.pop())\n'
            'try:\n'
            '    socket.socket(socket.AF_UNIX).connect("/nonexistent/socket")\n'
            'except OSError as error: print("refused")\n')
    outside = case.plain(['python3', '-c', text.replace('while True', 'for _ in range(100)')])
    case.control(outside.code == 0, f'the script does not run outside: {outside.err.strip()}')
    result = case.result(['python3', '-c', text])
    case.same((result['exitCode'], result['stdout'].split()), (0, ['24', 'refused']), 'descriptors',
              result['outcome'])
