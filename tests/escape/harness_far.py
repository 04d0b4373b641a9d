"""Servers of a world: each connection has a thread, and what came is remembered."""
import http.server
import socket
import ssl
import threading


class Far:
    """A TCP server on a socket that listens. `got` has a dict for each connection: what `talk` notes."""

    def __init__(self, listener, talk, context=None, got=None):
        self.listener, self.talk, self.context = listener, talk, context
        self.got = [] if got is None else got
        self.open, self.lock = set(), threading.Lock()
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def accept(self):
        while True:
            try:
                connection, peer = self.listener.accept()
            except OSError:
                return
            note = {'peer': peer[0], 'at': self.listener.getsockname()[:2], 'received': b''}
            self.got.append(note)
            with self.lock:
                self.open.add(connection)
            threading.Thread(target=self.work, args=(connection, note), daemon=True).start()

    def work(self, connection, note):
        try:
            connection.settimeout(60)
            if self.context:
                made = self.context.wrap_socket(connection, server_side=True)
                with self.lock:
                    self.open.add(made)
                    self.open.discard(connection)
                connection = made
            self.talk(connection, note)
        except OSError as error:
            note['error'] = error
        finally:
            with self.lock:
                self.open.discard(connection)
            connection.close()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.thread.join(5)
        self.listener.close()
        with self.lock:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


# -- what a server may do with a connection: functions of (connection, note) -----------------------------------------

def drain(connection, note, keep=65536):
    """Reads to the end. note['received'] has the beginning, note['bytes'] how many they were."""
    note['bytes'] = 0
    while True:
        data = connection.recv(65536)
        if not data:
            note['end'] = True
            return
        note['bytes'] += len(data)
        note['received'] += data[:keep - len(note['received'])]


def echo(connection, note):
    while True:
        data = connection.recv(65536)
        if not data:
            return
        note['received'] += data[:65536 - len(note['received'])]
        connection.sendall(data)


def echo_once(connection, note):
    """Ends after the first bytes, so that no client waits, whatever it speaks."""
    note['received'] = connection.recv(65536)
    connection.sendall(note['received'])


def banner(text):
    """A server that speaks first, as SSH's and SMTP's do."""
    def talk(connection, note):
        connection.sendall(text)
        drain(connection, note)
    return talk


def silent(connection, note):
    """Never answers, and waits until the client goes."""
    drain(connection, note)


def reset(connection, note):
    note['received'] = connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')


def flood(size):
    """Sends `size` bytes, whatever comes."""
    def talk(connection, note):
        block, left = bytes(range(256)) * 256, size
        note['sent'] = 0
        while left:
            note['sent'] += connection.send(block[:left])
            left = size - note['sent']
        connection.shutdown(socket.SHUT_WR)
        drain(connection, note)
    return talk


# -- HTTP ------------------------------------------------------------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    """Says who it is: the server's address, the method, the Host header and the path; and how many bytes came."""
    protocol_version = 'HTTP/1.1'

    def body(self):
        if self.headers.get('Transfer-Encoding', '').lower() == 'chunked':
            data = b''
            while True:
                size = int(self.rfile.readline().split(b';')[0], 16)
                chunk = self.rfile.read(size + 2)[:-2]
                if not size:
                    return data
                data += chunk
        return self.rfile.read(int(self.headers.get('Content-Length', 0)))

    def note(self, body):
        self.server.got.append({'method': self.command, 'path': self.path, 'host': self.headers.get('Host'),
                                'headers': dict(self.headers), 'body': body, 'peer': self.client_address[0],
                                'at': self.server.name, 'version': self.request_version})

    def answer(self, status, text, kind='text/plain', headers=()):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)

    def any(self):
        body = self.body()
        self.note(body)
        self.answer(200, f'{self.server.name} {self.command} {self.headers.get("Host")} {self.path} {len(body)}\n')

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = lambda self: self.any()

    def log_message(self, *_):
        pass


class Web:
    """One site on several sockets. `got` has a dict for each request; `connections` one for each connection."""

    def __init__(self, name, handler=None):
        self.name, self.handler = name, handler or Handler
        self.got, self.connections = [], []

    def add(self, listener, context=None):
        return Far(listener, self.talk, context, self.connections)

    def talk(self, connection, note):
        note['sni'] = getattr(connection, 'wanted_name', None)
        if isinstance(connection, ssl.SSLSocket):
            note['tls'] = connection.version()
        self.handler(connection, (note['peer'], 0), self)

    def forget(self):
        self.got.clear()
        self.connections.clear()
