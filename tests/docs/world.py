"""The network that the documents' examples are run in: the one of the escape tests, with made-up names, in network
namespaces of its own. Nothing outside of them can be reached."""
import os
import sys
import tempfile

ESCAPE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'escape')
sys.path.insert(0, ESCAPE)

from harness_far import Handler, echo  # noqa: E402
from harness_upstream import Upstream  # noqa: E402
from harness_world import World  # noqa: E402


class Missing(Exception):
    """Why this host cannot have such a world."""


class Stage:
    """What harness_world wants of a test's case, for a home that is there already."""

    def __init__(self, home, environment):
        self.base = tempfile.mkdtemp(dir=home)
        # Not a folder of the examples: the harness puts a module of its own there.
        self.work = tempfile.mkdtemp(dir=self.base)
        self.env = dict(environment, PATH=environment['PATH'] + ':/usr/sbin:/sbin')
        self.cleanups, self.enter = [], None

    def control(self, good, why):
        if not good:
            raise Missing(why)


class Page(Handler):
    """One line, as short as an example wants it."""

    def any(self):
        self.note(self.body())
        self.answer(200, f'hello from {self.headers["Host"]}\n')

    do_GET = do_POST = lambda self: self.any()


def service(connection, note):
    """A database of this machine, as far as an example needs one."""
    connection.sendall(b'ready\n')
    echo(connection, note)


class Internet:
    """`registry.example.com`, `files.example.org` and `other.example.net` with a web server each, names that lead to
    where they should not, a service on port 5432 of the host's own loopback, and a proxy."""

    def __init__(self, home, environment):
        stage = Stage(home, environment)
        self.world, self.cleanups = World(stage), stage.cleanups
        for number, name in ((10, 'registry.example.com'), (20, 'files.example.org'), (30, 'other.example.net')):
            self.world.web(f'203.0.113.{number}', handler=Page)
            self.world.name(name, f'203.0.113.{number}')
        self.world.web('10.20.0.5', handler=Page)
        self.world.name('intranet.example.com', '10.20.0.5')
        self.world.name('rebound.example.com', '127.0.0.1')
        Upstream(self.world, '203.0.113.40', 3128, user='ada', password='made-up')
        self.world.name('proxy.example.com', '203.0.113.40')
        self.world.serve('127.0.0.1', 5432, service, where='host')
        self.environment = dict(environment, CURL_CA_BUNDLE=self.world.authority.ca)

    def enter(self, argv, cwd):
        return self.world.enter(argv, cwd)

    def close(self):
        for cleanup in reversed(self.cleanups):
            cleanup()
