"""A DNS server of the test: answers from a zone that the test may change at any time, and remembers each question."""
import ipaddress
import socket
import struct
import threading
import time

A, AAAA, NXDOMAIN = 1, 28, 3


def question_of(message):
    """(the name in lower case, the type, the question's bytes)"""
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode('latin-1').lower())
        at += 1 + message[at]
    kind = struct.unpack('!H', message[at + 1:at + 3])[0]
    return '.'.join(labels), kind, message[12:at + 5]


def answer_to(message, addresses):
    """`addresses`: None = there is no such name."""
    _, kind, question = question_of(message)
    wanted = [ipaddress.ip_address(text).packed for text in addresses or ()]
    records = [b'\xc0\x0c' + struct.pack('!HHIH', kind, 1, 0, len(packed)) + packed for packed in wanted
               if len(packed) == {A: 4, AAAA: 16}.get(kind)]
    flags = 0x8180 | (NXDOMAIN if addresses is None else 0)
    return message[:2] + struct.pack('!HHHHH', flags, 1, len(records), 0, 0) + question + b''.join(records)


class Resolver:
    """zone: name -> addresses, or a function of (how often it was asked by this type, type) that returns them, None
    when there is no such name, or 'never' when no answer is to come. A name `*.x` stands for all below x."""

    def __init__(self, datagrams, stream):
        self.zone, self.asked, self.counts = {}, [], {}
        self.delay = 0
        self.lock = threading.Lock()
        self.sockets = [datagrams, stream]
        self.threads = [threading.Thread(target=work, args=(made,), daemon=True)
                        for work, made in ((self.serve_datagrams, datagrams), (self.serve_stream, stream))]
        for thread in self.threads:
            thread.start()

    def names(self):
        with self.lock:
            return {name for name, _ in self.asked}

    def forget(self):
        with self.lock:
            self.asked.clear()

    def entry(self, name):
        if name in self.zone:
            return self.zone[name]
        below = name.partition('.')[2]
        while below:
            if '*.' + below in self.zone:
                return self.zone['*.' + below]
            below = below.partition('.')[2]
        return None

    def reply(self, message):
        name, kind, _ = question_of(message)
        with self.lock:
            self.asked.append((name, kind))
            count = self.counts[name, kind] = self.counts.get((name, kind), 0) + 1
        entry = self.entry(name)
        if callable(entry):
            entry = entry(count, kind)
        if self.delay:
            time.sleep(self.delay)
        return None if entry == 'never' else answer_to(message, entry)

    def serve_datagrams(self, made):
        while True:
            try:
                message, peer = made.recvfrom(4096)
            except OSError:
                return
            if len(message) > 12:
                threading.Thread(target=self.send, args=(made, message, peer), daemon=True).start()
            elif not message and not peer:
                return

    def send(self, made, message, peer):
        try:
            answer = self.reply(message)
            if answer:
                made.sendto(answer, peer)
        except (OSError, IndexError, struct.error):
            pass

    def serve_stream(self, made):
        while True:
            try:
                peer, _ = made.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        with peer:
            peer.settimeout(10)
            try:
                while True:
                    head = peer.recv(2, socket.MSG_WAITALL)
                    if len(head) < 2:
                        return
                    answer = self.reply(peer.recv(struct.unpack('!H', head)[0], socket.MSG_WAITALL))
                    if answer:
                        peer.sendall(struct.pack('!H', len(answer)) + answer)
            except (OSError, IndexError, struct.error):
                pass

    def close(self):
        for made in self.sockets:
            try:
                made.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a datagram socket has no peer, and its reader wakes up all the same
        for thread in self.threads:
            thread.join(5)
        for made in self.sockets:
            made.close()
