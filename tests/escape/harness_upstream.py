"""Proxies between a host and the rest of the internet, as companies have them: HTTP and SOCKS 5, with passwords."""
import base64
import re
import socket
import struct
import threading
import urllib.parse

from harness_far import Far


def pump(source, target):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(one, other):
    thread = threading.Thread(target=pump, args=(one, other), daemon=True)
    thread.start()
    pump(other, one)
    thread.join(60)


class Upstream:
    """`asked` has what each client wanted: 'CONNECT host:port', 'GET http://…', 'SOCKS host:port'. `refused` counts
    wrong passwords. `user` None: nobody is asked for one."""

    def __init__(self, world, address, port, kind='http', user=None, password='', where='far'):
        self.world, self.user, self.password = world, user, password
        self.asked, self.refused, self.heads = [], 0, []
        talk = {'http': self.http, 'socks5': self.socks}[kind]
        self.address = f'[{address}]' if ':' in address else address
        self.server = Far(world.listen(address, port, where=where), talk)
        world.servers.append(self.server)
        self.scheme, self.port = kind, self.server.port

    def url(self, password=None):
        who = f'{self.user}:{urllib.parse.quote(password or self.password, safe="")}@' if self.user else ''
        return f'{self.scheme}://{who}{self.address}:{self.port}'

    def dial(self, host, port):
        """As somebody out there: by the resolver's zone, which it asks without a query."""
        entry = self.world.resolver.entry(host)
        found = entry(1, 1) if callable(entry) else entry
        address = found[0] if found else host
        made = self.world.socket('far', 6 if ':' in address else 4)
        made.settimeout(60)
        made.connect((address, port))
        return made

    # -- HTTP -------------------------------------------------------------------------------------------------------

    def http(self, client, note):
        head = b''
        while b'\r\n\r\n' not in head:
            more = client.recv(1)
            if not more:
                return
            head += more
        text = head.decode('latin-1')
        self.heads.append(text)
        if self.user and self.given(text) != f'{self.user}:{self.password}':
            self.refused += 1
            client.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="test"\r\n'
                           b'Content-Length: 0\r\nConnection: close\r\n\r\n')
            return
        method, target, _ = text.split('\r\n')[0].split(' ')
        self.asked.append(f'{method} {target}')
        if method == 'CONNECT':
            host, _, port = target.rpartition(':')
            self.tunnel(client, host.strip('[]'), int(port))
        else:
            self.forward(client, method, target, text)

    @staticmethod
    def given(text):
        found = re.search(r'(?im)^proxy-authorization: basic ([^\r]*)', text)
        return base64.b64decode(found.group(1)).decode() if found else ''

    def tunnel(self, client, host, port):
        try:
            made = self.dial(host, port)
        except OSError:
            client.sendall(b'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
            return
        with made:
            client.sendall(b'HTTP/1.1 200 Connection established\r\n\r\n')
            relay(client, made)

    def forward(self, client, method, target, text):
        url = urllib.parse.urlsplit(target)
        lines = [line for line in text.split('\r\n')[1:] if not line.lower().startswith(('proxy-', 'connection:'))]
        first = f'{method} {url.path or "/"}{"?" + url.query if url.query else ""} HTTP/1.1'
        with self.dial(url.hostname, url.port or 80) as made:
            made.sendall('\r\n'.join([first, 'Connection: close', *lines]).encode('latin-1'))
            relay(client, made)

    # -- SOCKS 5 ----------------------------------------------------------------------------------------------------

    @staticmethod
    def exactly(client, size):
        data = client.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise OSError('cut short')
        return data

    def socks(self, client, note):
        methods = self.exactly(client, self.exactly(client, 2)[1])
        wanted = 2 if self.user else 0
        if wanted not in methods:
            client.sendall(b'\5\xff')
            return
        client.sendall(b'\5' + bytes([wanted]))
        if self.user:
            user = self.exactly(client, self.exactly(client, 2)[1])
            password = self.exactly(client, self.exactly(client, 1)[0])
            right = (user.decode(), password.decode()) == (self.user, self.password)
            self.refused += not right
            client.sendall(b'\1' + bytes([not right]))
            if not right:
                return
        kind = self.exactly(client, 4)[3]
        host = self.host_of(client, kind)
        port = struct.unpack('!H', self.exactly(client, 2))[0]
        self.asked.append(f'SOCKS {host}:{port}')
        try:
            made = self.dial(host, port)
        except OSError:
            client.sendall(b'\5\4\0\1\0\0\0\0\0\0')
            return
        with made:
            client.sendall(b'\5\0\0\1\0\0\0\0\0\0')
            relay(client, made)

    def host_of(self, client, kind):
        if kind == 3:
            return self.exactly(client, self.exactly(client, 1)[0]).decode()
        family, size = ((socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16))
        return socket.inet_ntop(family, self.exactly(client, size))
