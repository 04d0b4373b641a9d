"""Unix sockets: the host's are out of reach, by name, by path and by every road around a path."""
import os
import shutil
import signal
import socket
import subprocess

from harness import row
from harness_server import TYPES, serve

UNIX = socket.AF_UNIX


def refuse_socket(case, server, attack, options=(), **keywords):
    """The attack reaches the server outside, and not inside."""
    outside = case.plain([case.attack, *attack], **keywords)
    case.control(outside.code == 0, f'{" ".join(attack)} does not work outside: {outside.out}')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    inside = case.inside([case.attack, *attack], options, **keywords)
    case.refused(inside)
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


def short_folder(case, name='s'):
    """A folder with a short path, as a socket's path has 107 bytes at most."""
    folder = os.path.join(os.path.dirname(case.base), f'{name}{len(case.cleanups)}')
    os.mkdir(folder)
    case.cleanups.append(lambda: shutil.rmtree(folder))
    return folder


# -- A-ipc-1: abstract -----

def refuse_abstract(kind):
    @row('A-ipc-1', f'an abstract {kind} socket of the host cannot be reached')
    def refuse(case):
        name = f'qsb-escape-{os.getpid()}-{kind}'
        server = serve(case, UNIX, kind, '\0' + name)
        attack = ['unix-send', 'sendto', '@' + name] if kind == 'dgram' else ['unix-connect', kind, '@' + name]
        refuse_socket(case, server, attack)
        refuse_socket(case, server, attack, ['--network', 'host'])
    refuse.__name__ = f'abstract_{kind}'
    return refuse


for name_of_type in TYPES:
    refuse_abstract(name_of_type)


# -- A-ipc-1: by path -----

def refuse_path(kind):
    @row('A-ipc-1', f'a {kind} socket of the host cannot be reached by its path')
    def refuse(case):
        for place in (short_folder(case), case.work, '/tmp'):
            path = os.path.join(place, f'q-{kind}')
            server = serve(case, UNIX, kind, path)
            attack = ['unix-send', 'sendto', path] if kind == 'dgram' else ['unix-connect', kind, path]
            refuse_socket(case, server, attack)
    refuse.__name__ = f'path_{kind}'
    return refuse


for name_of_type in TYPES:
    refuse_path(name_of_type)


@row('A-ipc-1', 'no way to send a datagram reaches a socket of the host: sendto, sendmsg, sendmmsg, connect, a pair')
def datagrams(case):
    path = os.path.join(short_folder(case), 'd')
    server = serve(case, UNIX, 'dgram', path)
    for how in ('sendto', 'sendmsg', 'sendmmsg', 'connect'):
        for prefix in ('', 'pair-'):
            refuse_socket(case, server, ['unix-send', prefix + how, path])


@row('A-ipc-1', 'a datagram socket inside gets an error, never silence')
def datagram_error(case):
    for attack in (['socket', '1', '2', '0'], ['socket', '1', '0x80802', '0'], ['socket-pair', '1', '2', '0'],
                   ['socket', '1', '3', '0'], ['socket', str(1 << 32 | 1), '2', '0'],
                   ['socket', '1', str(1 << 32 | 2), '0']):
        case.denied(attack, errors=['EPERM', 'EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ESOCKTNOSUPPORT'])


@row('A-ipc-1', 'a socket of the host cannot be reached by a symlink, a relative path or a path through /proc')
def roundabout_paths(case):
    folder = short_folder(case)
    path = os.path.join(folder, 's')
    server = serve(case, UNIX, 'stream', path)
    os.symlink(path, os.path.join(case.work, 'link'))
    os.symlink(folder, os.path.join(case.work, 'folder'))
    for way in ('link', 'folder/s', os.path.relpath(path, case.work), '/proc/self/root' + path, '//' + path.lstrip('/'),
                '/proc/self/cwd/link', folder + '/../' + os.path.basename(folder) + '/./s'):
        refuse_socket(case, server, ['unix-connect', 'stream', way])


@row('A-ipc-1', 'a link that a run put where a socket is allowed by name opens neither a socket nor a secret to the next')
def link_for_next_run(case):
    path = os.path.join(short_folder(case), 's')
    server = serve(case, UNIX, 'stream', path)
    place = os.path.join(case.work, 'x.sock')
    options = case.policy({'network': {'unixSockets': ['./x.sock']}})
    secret = case.write(os.path.join(case.home, '.ssh/id_ed25519'), 'SECRET', 0o600)
    for target in (path, secret):
        case.worked(case.inside(['ln', '-sf', target, place], options))
        case.control(os.readlink(place) == target, 'the link is there')
    os.unlink(place)
    os.symlink(path, place)
    attack = [case.attack, 'unix-connect', 'stream', place]
    case.control(case.plain(attack).code == 0, 'it leads to the socket')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    inside = case.inside(attack, options)
    case.refused(inside)
    case.same(server.got, [], 'what arrived from inside')
    case.worked(case.inside(attack, case.policy({'network': {'unixSockets': [path]}})), 'the socket itself, named')
    os.unlink(place)
    os.symlink(secret, place)
    case.control('SECRET' in case.plain(['cat', place]).out, 'it leads to the secret')
    reading = case.inside(['cat', place], options)
    case.check(reading.code == 1 and 'SECRET' not in reading.out, 'the secret was read', reading)


@row('A-ipc-1', 'a socket of the host cannot be reached by a descriptor of it below /proc/self/fd')
def by_descriptor(case):
    path = os.path.join(short_folder(case), 's')
    server = serve(case, UNIX, 'stream', path)
    refuse_socket(case, server, ['unix-connect-fd', 'stream', path])


@row('A-ipc-1', 'a socket of the host cannot be reached by a hard link made inside')
def by_hard_link(case):
    # Inside the workspace a hard link is possible: the socket then has a name that was "made inside".
    server = serve(case, UNIX, 'stream', os.path.join(case.work, 's'))
    outside = case.plain([case.attack, 'unix-link', 's', 'linked'])
    case.control(outside.code == 0, f'a hard link to a socket does not work outside: {outside.out}')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    os.unlink(os.path.join(case.work, 'linked'))
    case.refused(case.inside([case.attack, 'unix-link', 's', 'linked']))
    moved = case.inside(['sh', '-c', f'mv s t; {case.attack} unix-connect stream t; code=$?; mv t s; exit $code'])
    case.refused(moved)
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


@row('A-ipc-1', 'a socket that the policy names can be reached, another beside it cannot')
def named_socket(case):
    folder = short_folder(case)
    named, other = (serve(case, UNIX, 'stream', os.path.join(folder, name)) for name in ('n', 'o'))
    options = case.policy({'network': {'unixSockets': [os.path.join(folder, 'n')]}})
    refuse_socket(case, other, ['unix-connect', 'stream', os.path.join(folder, 'o')], options)
    refuse_socket(case, named, ['unix-connect', 'stream', os.path.join(folder, 'n')])
    case.worked(case.inside([case.attack, 'unix-connect', 'stream', os.path.join(folder, 'n')], options))
    case.wait_until(lambda: named.got == [b'pwned'], 'the word arrives at the named socket')
    os.symlink(os.path.join(folder, 'n'), os.path.join(case.work, 'link'))
    case.worked(case.inside([case.attack, 'unix-connect', 'stream', 'link'], options), 'by a symlink to the named one')


@row('A-ipc-1', 'a thread that swaps the path while the supervisor looks at it gains nothing')
def race(case):
    folder = short_folder(case)
    wanted = serve(case, UNIX, 'stream', os.path.join(folder, 'w'), b'W')
    allowed = serve(case, UNIX, 'stream', os.path.join(folder, 'a'), b'A')
    attack = [case.attack, 'unix-race', os.path.join(folder, 'a'), os.path.join(folder, 'w'), '20000']
    outside = case.plain(attack)
    case.control(outside.code == 0, f'the race is never won outside either: {outside.out}')
    case.pause()  # what the control sent must have arrived before it is forgotten
    allowed.got.clear()
    wanted.got.clear()
    attack[-1] = '3000'
    inside = case.inside(attack, case.policy({'network': {'unixSockets': [os.path.join(folder, 'a')]}}))
    case.refused(inside)
    case.check('allowed 0\n' not in inside.out, 'no connection to the allowed socket: the race was not run', inside)
    case.same(wanted.got, [], 'connections to the socket that is not named')


@row('A-ipc-1', 'a thread that swaps the descriptor for one of another family gains nothing')
def race_descriptor(case):
    path = os.path.join(short_folder(case), 'w')
    server = serve(case, UNIX, 'stream', path)
    outside = case.plain([case.attack, 'unix-race-fd', path, '300000'])
    case.control(outside.code == 0, f'the race is never won outside either: {outside.out}')
    case.wait_until(lambda: server.got, 'the control arrives')
    server.got.clear()
    case.refused(case.inside([case.attack, 'unix-race-fd', path, '5000']))
    case.pause()
    case.same(server.got, [], 'what arrived from inside')


@row('A-ipc-1', 'a thread that exchanges an own socket for a link to the host\'s gains nothing')
def race_name(case):
    wanted = serve(case, UNIX, 'stream', os.path.join(short_folder(case), 'w'), b'W')
    for place, rounds in ((case.outside, '20000'), (case.work, '2000')):
        os.symlink(wanted.path, os.path.join(place, 'link'))
        attack = [case.attack, 'unix-race-name', os.path.join(place, 'own'), os.path.join(place, 'link'), rounds]
        if place == case.outside:
            outside = case.plain(attack)
            case.control(outside.code == 0, f'the race is never won outside either: {outside.out}')
            case.pause()
            wanted.got.clear()
    inside = case.inside(attack)
    case.refused(inside)
    case.check('own 0\n' not in inside.out, 'no connection to the own socket: the race was not run', inside)
    case.same(wanted.got, [], 'connections to the host\'s socket')


@row('A-ipc-1', 'a named socket in the workspace cannot be swapped for a link to another one')
def named_swapped(case):
    other = serve(case, UNIX, 'stream', os.path.join(short_folder(case), 'o'))
    named = serve(case, UNIX, 'stream', os.path.join(case.work, 'n'))
    attack = ['sh', '-c', f'mv n was; ln -s {other.path} n; {case.attack} unix-connect stream {named.path}; code=$?; '
                          'rm n; mv was n; exit $code']
    outside = case.plain(attack)
    case.control(outside.code == 0, f'this does not work outside: {outside.out}')
    case.wait_until(lambda: other.got, 'the control arrives')
    other.got.clear()
    options = case.policy({'network': {'unixSockets': [named.path]}})
    case.worked(case.inside([case.attack, 'unix-connect', 'stream', named.path], options), 'the named socket')
    case.refused(case.inside(attack, options))
    case.pause()
    case.same(other.got, [], 'what arrived from inside')


@row('A-ipc-1', 'another socket of the host, renamed to one that the policy names, is not reached')
def named_renamed(case):
    named = serve(case, UNIX, 'stream', os.path.join(case.work, 'n'))
    other = serve(case, UNIX, 'stream', os.path.join(case.work, 'o'))
    attack = ['sh', '-c', f'mv n was; mv o n; {case.attack} unix-connect stream {named.path}; code=$?; '
                          'mv n o; mv was n; exit $code']
    outside = case.plain(attack)
    case.control(outside.code == 0, f'this does not work outside: {outside.out}')
    case.wait_until(lambda: other.got, 'the control arrives')
    other.got.clear()
    options = case.policy({'network': {'unixSockets': [named.path]}})
    case.refused(case.inside(attack, options))
    case.pause()
    case.same(other.got, [], 'what arrived from inside')
    case.worked(case.inside([case.attack, 'unix-connect', 'stream', named.path], options), 'the named socket')


# -- A-ipc-2: well-known services -----

SERVICES = {
    'D-Bus session bus': 'bus', 'systemd user manager': 'systemd/private', 'Wayland': 'wayland-0',
    'PipeWire': 'pipewire-0', 'PulseAudio': 'pulse/native', 'gpg-agent': 'gnupg/S.gpg-agent',
    'ssh-agent of the key ring': 'keyring/ssh', 'docker without root': 'docker.sock', 'podman': 'podman/podman.sock',
}


def refuse_service(name):
    @row('A-ipc-2', f'{name} in the runtime folder cannot be reached, unless allowed by name')
    def refuse(case):
        folder = short_folder(case, 'r')
        path = os.path.join(folder, SERVICES[name])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        case.env['XDG_RUNTIME_DIR'] = folder
        server = serve(case, UNIX, 'stream', path)
        refuse_socket(case, server, ['unix-connect', 'stream', path])
        refuse_socket(case, server, ['unix-connect', 'stream', path], ['--network', 'host'])
        options = case.policy({'network': {'unixSockets': [path]}})
        case.worked(case.inside([case.attack, 'unix-connect', 'stream', path], options), 'allowed by name')
    refuse.__name__ = 'service_' + ''.join(c if c.isalnum() else '_' for c in name).lower()
    return refuse


for service in SERVICES:
    refuse_service(service)


@row('A-ipc-2', 'X11 cannot be reached, neither by path nor by its abstract name')
def x11(case):
    folder = '/tmp/.X11-unix'
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o1777)
        case.cleanups.append(lambda: os.rmdir(folder))
    display = next(number for number in range(90, 200) if not os.path.exists(f'{folder}/X{number}'))
    path = f'{folder}/X{display}'
    case.env['DISPLAY'] = f':{display}'
    server = serve(case, UNIX, 'stream', path)
    refuse_socket(case, server, ['unix-connect', 'stream', path])
    abstract = serve(case, UNIX, 'stream', '\0' + path)
    refuse_socket(case, abstract, ['unix-connect', 'stream', '@' + path])
    case.env.pop('DISPLAY')
    case.worked(case.inside([case.attack, 'unix-connect', 'stream', path],
                            case.policy({'network': {'unixSockets': [path]}})), 'allowed by name')


@row('A-ipc-2', 'services below /run cannot be reached: docker, containerd, the system bus, systemd', only='root')
def system_services(case):
    for name in ('docker.sock', 'containerd/containerd.sock', 'dbus/system_bus_socket', 'systemd/private',
                 'user/0/bus', 'snapd.socket', 'libvirt/libvirt-sock'):
        path = os.path.join('/run', name)
        if os.path.exists(path):
            refuse = case.inside([case.attack, 'unix-connect', 'stream', path])
            case.check(refuse.code == 1, f'{path} can be reached', refuse)
            continue
        made = []
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            made.append(folder)
            folder = os.path.dirname(folder)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        case.cleanups.append(lambda made=made: [os.rmdir(folder) for folder in made])
        server = serve(case, UNIX, 'stream', path)
        refuse_socket(case, server, ['unix-connect', 'stream', path])
        refuse_socket(case, server, ['unix-connect', 'stream', '/var/run/' + name])


@row('A-ipc-2', 'a real ssh-agent cannot be reached, also when its variable is passed; it can when its socket is named')
def ssh_agent(case):
    path = os.path.join(short_folder(case), 'agent')
    agent = subprocess.run(['ssh-agent', '-a', path, '-s'], capture_output=True, text=True, check=False)
    case.control(agent.returncode == 0, f'no ssh-agent: {agent.stderr}')
    pid = int(agent.stdout.split('SSH_AGENT_PID=')[1].split(';')[0])
    case.cleanups.append(lambda: os.kill(pid, signal.SIGTERM))
    case.env['SSH_AUTH_SOCK'] = path
    outside = case.plain(['ssh-add', '-l'])
    case.control('no identities' in outside.out, f'the agent does not answer outside: {outside.describe()}')
    for options in ([], ['--env', 'SSH_AUTH_SOCK'], ['--network', 'host', '--env', 'SSH_AUTH_SOCK']):
        inside = case.inside(['ssh-add', '-l'], options)
        case.same(inside.code, 2, f'ssh-add -l with options {options}: 2 = no agent', inside)
    allowed = case.policy({'network': {'unixSockets': [path]}, 'environment': {'pass': ['SSH_AUTH_SOCK']}})
    inside = case.inside(['ssh-add', '-l'], allowed)
    case.check('no identities' in inside.out, 'the named agent does not answer', inside)


@row('A-ipc-2', 'a real D-Bus daemon cannot be reached, also when its address is passed')
def dbus(case):
    path = os.path.join(short_folder(case), 'bus')
    daemon = case.popen(['dbus-daemon', '--session', '--nofork', f'--address=unix:path={path}'])
    case.cleanups += [daemon.wait, daemon.kill]
    case.wait_until(lambda: os.path.exists(path) or daemon.poll() is not None, 'the bus starts')
    case.control(daemon.poll() is None, 'no dbus-daemon')
    ask = ['dbus-send', f'--bus=unix:path={path}', '--print-reply', '--dest=org.freedesktop.DBus',
           '/org/freedesktop/DBus', 'org.freedesktop.DBus.ListNames']
    outside = case.plain(ask)
    case.control('org.freedesktop.DBus' in outside.out, f'the bus does not answer outside: {outside.describe()}')
    inside = case.inside(ask)
    case.check(inside.code != 0 and 'array [' not in inside.out, 'the bus answers inside', inside)
    inside = case.inside(ask, case.policy({'network': {'unixSockets': [path]}}))
    case.check('array [' in inside.out, 'the named bus does not answer', inside)
