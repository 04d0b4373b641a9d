"""What the tests' Python programs use, on the host and in the sandbox alike. Each attempt ends in one short text:

    'ok …' what came, or the name of what went wrong: 'ECONNREFUSED', 'NXDOMAIN', 'reset', 'end', 'timeout', 'tls …'
"""
import errno
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

PATIENCE = 20


def say(name, what):
    sys.stdout.write(json.dumps({'say': name, 'what': what}) + '\n')
    sys.stdout.flush()


def fault(error):
    if isinstance(error, socket.gaierror):
        return {socket.EAI_NONAME: 'NXDOMAIN', socket.EAI_NODATA: 'NODATA', socket.EAI_AGAIN: 'EAI_AGAIN',
                socket.EAI_FAIL: 'EAI_FAIL'}.get(error.errno, f'gai {error.errno}')
    if isinstance(error, ssl.SSLError):
        return f'tls {error.reason or error}'
    if isinstance(error, TimeoutError):
        return 'timeout'
    if isinstance(error, ConnectionResetError):
        return 'reset'
    return errno.errorcode.get(error.errno, repr(error)) if isinstance(error, OSError) else repr(error)


def trying(function):
    def tried(*arguments, **keywords):
        try:
            return function(*arguments, **keywords)
        except (OSError, ValueError) as error:  # the second: it cannot even be said
            return fault(error)
    return tried


@trying
def lookup(name, family=0):
    found = sorted({entry[4][0] for entry in socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM)})
    return 'ok ' + ' '.join(found)


def read_all(connection, limit=1 << 20):
    """To the end. A reset after some bytes keeps them."""
    data = b''
    try:
        while len(data) < limit:
            more = connection.recv(65536)
            if not more:
                break
            data += more
    except ConnectionResetError:
        if not data:
            raise
    return data


def text_of(data):
    return 'ok ' + data.decode('latin-1') if data else 'end'


@trying
def tcp(host, port, send=b'', family=0, limit=1 << 20, half_close=False):
    """Connects, sends, and reads to the end; 'end' when nothing comes."""
    with connected(host, port, family) as made:
        if send:
            made.sendall(send)
        if half_close:
            made.shutdown(socket.SHUT_WR)
        return text_of(read_all(made, limit))


@trying
def echoed(host, port, text='ping', family=0):
    """Is there an echo?"""
    with connected(host, port, family) as made:
        # While it is read: how much can be on its way at once is the machine's affair.
        sender = threading.Thread(target=lambda: (made.sendall(text.encode()), made.shutdown(socket.SHUT_WR)))
        sender.start()
        answer = read_all(made)
        sender.join()
        return text_of(answer)


def connected(host, port, family=0):
    if family == 0:
        return socket.create_connection((host, port), PATIENCE)
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    made = socket.socket(found[0], found[1])
    made.settimeout(PATIENCE)
    try:
        made.connect(found[4])
    except OSError:
        made.close()
        raise
    return made


def request(host, path='/', method='GET', more=''):
    host = f'[{host}]' if host.count(':') > 1 and '[' not in host else host
    return f'{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n'.encode()


def short(answer):
    """'200 body' or '403 body' of an HTTP answer, the text as it is when it is none."""
    found = re.match(r'ok HTTP/1\.[01] (\d\d\d)[^\r]*\r\n.*?\r\n\r\n(.*)', answer, re.S)
    return f'{found.group(1)} {found.group(2).strip()}' if found else answer


def http(host, port=80, name=None, path='/', family=0):
    """A plain request to `host`, with `name` in its Host header."""
    return short(tcp(host, port, request(name or host, path), family))


def trust():
    context = ssl.create_default_context(cafile=os.environ['TEST_CA'])
    return context


def over_tls(made, name, path='/', host=None, check=True):
    context = trust()
    if not check:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(made, server_hostname=name) as safe:
        safe.sendall(request(host or name or 'nobody', path))
        return short(text_of(read_all(safe)))


@trying
def https(host, port=443, sni=None, path='/', family=0, check=True, inner=None):
    """A request over TLS to `host`, with `sni` as the server's name, which is checked. `inner`: its Host header."""
    with connected(host, port, family) as made:
        return over_tls(made, host if sni is None else sni or None, path, inner, check and sni != '')


# -- the sandbox's own proxies ---------------------------------------------------------------------------------------

def proxy_address(variable='http_proxy'):
    found = urllib.parse.urlsplit(os.environ[variable])
    return found.hostname, found.port


def socks_address():
    return '127.0.0.1', 1080  # no variable names it: programs take that one for a proxy of HTTP


@trying
def by_proxy(data, address=None):
    """Sends bytes to the HTTP proxy; all that comes back."""
    with socket.create_connection(address or proxy_address(), PATIENCE) as made:
        made.sendall(data)
        return text_of(read_all(made))


def head_of(made):
    data = b''
    while b'\r\n\r\n' not in data:
        more = made.recv(1)
        if not more:
            break
        data += more
    return data


@trying
def connect_by(authority, then, address=None, more=''):
    """CONNECT authority, and `then(socket)` when it says 200; else the refusal."""
    with socket.create_connection(address or proxy_address(), PATIENCE) as made:
        made.sendall(f'CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{more}\r\n'.encode('latin-1'))
        head = head_of(made)
        if not re.match(rb'HTTP/1\.[01] 200', head):
            return short(text_of(head + read_all(made)))
        return then(made)


def plain_inside(name, path='/'):
    """For connect_by: a plain request in the tunnel."""
    def talk(made):
        made.sendall(request(name, path))
        return short(text_of(read_all(made)))
    return talk


def tls_inside(name, path='/', host=None, check=True):
    return lambda made: over_tls(made, name, path, host, check)


def raw_inside(data):
    def talk(made):
        made.sendall(data)
        made.shutdown(socket.SHUT_WR)
        return text_of(read_all(made))
    return talk


@trying
def socks5(host, port, then=None, command=1, offer=b'\5\1\0', kind=None, address=None):
    """SOCKS 5 with a name (or bytes, of any kind); `then(socket)` when it is granted, else 'socks N' or 'end'."""
    data = host if isinstance(host, bytes) else host.encode('latin-1')
    kind = 3 if kind is None else kind
    with socket.create_connection(address or socks_address(), PATIENCE) as made:
        made.sendall(offer)
        chosen = made.recv(2, socket.MSG_WAITALL)
        if chosen != b'\5\0':
            return f'offer {chosen.hex()}'
        length = bytes([len(data)]) if kind == 3 else b''
        made.sendall(b'\5' + bytes([command, 0, kind]) + length + data + struct.pack('!H', port))
        reply = made.recv(10, socket.MSG_WAITALL)
        if len(reply) < 2 or reply[1]:
            return f'socks {reply[1]}' if len(reply) > 1 else 'end'
        return then(made) if then else 'ok'


@trying
def socks4(host, port, then=None, command=1, address=None):
    """SOCKS 4a with a name, or 4 with an IPv4 address."""
    numbers = re.fullmatch(r'(\d+)\.(\d+)\.(\d+)\.(\d+)', host)
    packed = bytes(int(part) for part in numbers.groups()) if numbers else b'\0\0\0\1'
    tail = b'' if numbers else host.encode('latin-1') + b'\0'
    with socket.create_connection(address or socks_address(), PATIENCE) as made:
        made.sendall(b'\4' + bytes([command]) + struct.pack('!H', port) + packed + b'me\0' + tail)
        reply = made.recv(8, socket.MSG_WAITALL)
        if len(reply) < 2 or reply[1] != 90:
            return f'socks {reply[1]}' if len(reply) > 1 else 'end'
        return then(made) if then else 'ok'


# -- DNS as bytes ----------------------------------------------------------------------------------------------------

def dns_message(labels, kind=1, tail=b''):
    """`labels`: bytes each, or text with dots."""
    if isinstance(labels, str):
        labels = [label.encode('latin-1') for label in labels.split('.')]
    name = b''.join(bytes([len(label)]) + label for label in labels) + b'\0'
    return b'\x12\x34\x01\0\0\1\0\0\0\0' + (b'\0\1' if tail else b'\0\0') + name + struct.pack('!HH', kind, 1) + tail


def dns_short(reply):
    """'code N addresses' of an answer's bytes."""
    if len(reply) < 12:
        return f'bytes {len(reply)}'
    code, count = reply[3] & 15, struct.unpack('!H', reply[6:8])[0]
    return f'code {code} answers {count}'


@trying
def dns_udp(server, message, port=53):
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as made:
        made.settimeout(3)
        made.connect((server, port))
        made.send(message)
        return dns_short(made.recv(4096))


@trying
def dns_tcp(server, message, port=53):
    with socket.create_connection((server, port), PATIENCE) as made:
        made.sendall(struct.pack('!H', len(message)) + message)
        size = made.recv(2, socket.MSG_WAITALL)
        if len(size) < 2:
            return 'end'
        return dns_short(made.recv(struct.unpack('!H', size)[0], socket.MSG_WAITALL))


def together(count, work):
    """`work(number)` in as many threads; the list of what they return."""
    answers = [None] * count

    def one(number):
        answers[number] = work(number)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


__all__ = [name for name in dir() if not name.startswith('_')]
