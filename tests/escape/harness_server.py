"""Servers of the host that an attack tries to reach; each counts what arrives."""
import os
import socket
import threading

TYPES = {'stream': socket.SOCK_STREAM, 'dgram': socket.SOCK_DGRAM, 'seqpacket': socket.SOCK_SEQPACKET}


class Server:
    """Listens in a thread. `got` holds what arrived, one entry a connection or datagram."""

    def __init__(self, family, kind, address, greeting=b''):
        self.got, self.greeting = [], greeting
        self.socket = socket.socket(family, TYPES[kind])
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind(address)
        self.path = address if isinstance(address, str) and address.startswith('/') else None
        if kind != 'dgram':
            self.socket.listen(64)
        self.socket.settimeout(0.05)
        self.closed = False
        self.thread = threading.Thread(target=self.serve_datagrams if kind == 'dgram' else self.serve, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.socket.getsockname()[1]

    def serve(self):
        while not self.closed:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                continue
            with peer:
                peer.settimeout(2)
                try:
                    if self.greeting:
                        peer.sendall(self.greeting)
                        self.got.append(b'')
                    else:
                        self.got.append(peer.recv(64))
                except OSError:
                    self.got.append(b'')

    def serve_datagrams(self):
        while not self.closed:
            try:
                self.got.append(self.socket.recv(2048))
            except OSError:
                continue

    def close(self):
        self.closed = True
        self.thread.join()
        self.socket.close()
        if self.path and os.path.exists(self.path):
            os.unlink(self.path)


def serve(case, family, kind, address, greeting=b''):
    """A server for the length of one case."""
    server = Server(family, kind, address, greeting)
    case.cleanups.append(server.close)
    return server
