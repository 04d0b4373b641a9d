"""A world for one test: a host's network and the rest of the internet, both in network namespaces of the test's own.

    world = World(case)                       # from here on every program of the case runs on that host
    world.web('203.0.113.10')                 # HTTP and HTTPS there
    world.name('registry.example.com', '203.0.113.10', '2001:db8::10')
    case.plain(['curl', 'http://registry.example.com'])

Servers and the resolver are threads of the test itself, on sockets that were made in the world. No real network can be
reached: neither namespace has another interface than the pair that joins the two.
"""
import functools
import json
import os
import shutil
import socket
import subprocess
import textwrap
import threading

from harness import Failure
from harness_certificates import authority
from harness_far import Far, Web, echo
from harness_resolver import Resolver

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = '/usr/bin/python3'
RESOLVER = '203.0.113.53'
HOST, HOST6 = '192.0.2.1', '2001:db8:ffff::1'  # the host's own addresses besides loopback
PROXY_VARIABLES = [name for lower in ('http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'ftp_proxy')
                   for name in (lower, lower.upper())]
NO_PROXIES = ['env', *(word for name in PROXY_VARIABLES for word in ('-u', name))]
HOSTS = '127.0.0.1 localhost\n::1 localhost ip6-localhost\n'


def needs(case, *tools):
    missing = [tool for tool in tools if not shutil.which(tool, path=case.env['PATH'])]
    case.control(not missing, f'not installed: {", ".join(missing)}')


class World:
    """The namespaces, the resolver and the servers of one case."""

    def __init__(self, case, hosts=HOSTS, resolver=RESOLVER):
        self.case = case
        needs(case, 'ip', 'nsenter', 'unshare')
        self.resolv_conf = self.outside_file('resolv.conf', f'nameserver {resolver}\noptions timeout:1 attempts:2\n')
        self.hosts = self.outside_file('hosts', hosts)
        self.lock = threading.Lock()
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.holder = subprocess.Popen(
                [PYTHON, os.path.join(FOLDER, 'world_namespaces.py'), str(theirs.fileno()), self.resolv_conf,
                 self.hosts],
                pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=case.env)
        case.cleanups.append(self.close)
        self.namespaces = self.first_message()
        self.servers = []
        where = 'host' if resolver.startswith(('127.', '::1')) else 'far'
        self.resolver = Resolver(self.listen(resolver, 53, 'dgram', where), self.listen(resolver, 53, where=where))
        case.enter = self.enter
        # Its processes see only this in place of the host's files, so that nothing of the host's may decide.
        shutil.copy(os.path.join(FOLDER, 'world_client.py'), case.work)

    def outside_file(self, name, text):
        path = os.path.join(self.case.base, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def first_message(self):
        message = self.channel.recv(4096)
        answer = json.loads(message) if message else {'error': self.holder.stderr.read().decode()[-500:]}
        self.case.control('error' not in answer, f'network namespaces of our own cannot be had: {answer.get("error")}')
        return answer

    def enter(self, argv, cwd):
        place, spaces = f'/proc/{self.namespaces["pid"]}', self.namespaces
        words = ['nsenter', f'--mount={place}/ns/mnt', f'--net={place}/fd/{spaces["host"]}']
        if 'user' in spaces:
            words += [f'--user={place}/ns/user', '--preserve-credentials', '--', 'nsenter', '--preserve-credentials',
                      f'--user={place}/fd/{spaces["user"]}']
        return [*words, '--', '/bin/sh', '-c', 'cd "$0" && exec "$@"', cwd, *argv]

    # -- the world's sockets ----------------------------------------------------------------------------------------

    def socket(self, where, family=4, kind='stream', address=None, port=0):
        """A socket of one of the networks: 'host' or 'far'."""
        order = {'where': where, 'family': family, 'kind': kind, 'address': address, 'port': port}
        with self.lock:
            self.channel.send(json.dumps(order).encode())
            text, fds, _, _ = socket.recv_fds(self.channel, 4096, 1)
        if not fds:
            raise Failure(f'the world has no socket for {address} port {port}: {text.decode()}')
        return socket.socket(fileno=fds[0])

    def listen(self, address, port, kind='stream', where='far'):
        return self.socket(where, 6 if ':' in address else 4, kind, address, port)

    def connect(self, address, port, timeout=10):
        """A connection from the host, as a browser there makes one."""
        made = self.socket('host', 6 if ':' in address else 4)
        made.settimeout(timeout)
        try:
            made.connect((address, port))
        except OSError:
            made.close()
            raise
        return made

    def free_port(self):
        """A port of the host's loopback that nobody has now."""
        with self.listen('127.0.0.1', 0, where='host') as probe:
            return probe.getsockname()[1]

    # -- servers ----------------------------------------------------------------------------------------------------

    def serve(self, address, port, talk=echo, where='far'):
        """A TCP server: `talk(connection, peer)` for each connection. It counts them."""
        server = Far(self.listen(address, port, where=where), talk)
        self.servers.append(server)
        return server

    def web(self, address, http=80, https=443, handler=None, where='far'):
        """An HTTP and an HTTPS server whose pages say who they are. Returns both as one that counts."""
        web = Web(address, handler)
        if http:
            self.servers.append(web.add(self.listen(address, http, where=where)))
        if https:
            self.servers.append(web.add(self.listen(address, https, where=where), self.authority.server_context()))
        return web

    def name(self, name, *addresses):
        """What the resolver says of a name."""
        self.resolver.zone[name] = list(addresses)

    def sites(self):
        """The usual ones: an allowed name, a family of allowed ones, and one under no rule; each on both IPs."""
        sites = {}
        for number, names in ((10, ['registry.example.com']),
                              (20, ['www.example.org', 'a.b.example.org', 'example.org']),
                              (30, ['denied.example.net', 'evil.example.com', 'registry.example.com.evil.test'])):
            sites[number] = self.web(f'203.0.113.{number}')
            six = self.web(f'2001:db8::{number}')
            six.got = sites[number].got
            for name in names:
                self.name(name, f'203.0.113.{number}', f'2001:db8::{number}')
        return sites[10], sites[20], sites[30]

    @functools.cached_property
    def authority(self):
        """The certificates that the world's servers show. Their CA's is at $TEST_CA for the programs."""
        made = authority(os.path.dirname(self.case.base))
        self.case.env['TEST_CA'] = shutil.copy(made.ca, os.path.join(self.case.work, 'ca.crt'))
        return made

    # -- programs ---------------------------------------------------------------------------------------------------

    def ask(self, text, options=None, arguments=(), **keywords):
        """Runs Python text with world_client's functions, in the sandbox (`options`) or on the host (None): what it
        said, by name."""
        text = 'from world_client import *\n' + textwrap.dedent(text)
        argv = [PYTHON, '-B', '-c', text, *arguments]
        outcome = self.case.plain(argv, **keywords) if options is None else self.case.inside(argv, options, **keywords)
        return self.said(outcome)

    def said(self, outcome):
        answers = {}
        for line in outcome.out.splitlines():
            if line.startswith('{"say":'):
                said = json.loads(line)
                answers[said['say']] = said['what']
        if outcome.code != 0:
            raise Failure('a client of the test broke\n' + outcome.describe())
        return answers

    def close(self):
        self.channel.close()
        try:
            self.holder.wait(10)
        except subprocess.TimeoutExpired:
            self.holder.kill()
            self.holder.wait()
        self.holder.stderr.close()
        for server in getattr(self, 'servers', []):
            server.close()
        if hasattr(self, 'resolver'):
            self.resolver.close()


def filtered(*allow, deny=(), more=()):
    """The options of a filtered network with these rules."""
    options = ['--network', 'filtered']
    for domain in allow:
        options += ['--allow-domain', domain]
    for domain in deny:
        options += ['--deny-domain', domain]
    return [*options, *more]
