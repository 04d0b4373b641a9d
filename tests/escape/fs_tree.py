"""Seeing every change of a folder on the host: by comparing before and after, and while it happens."""
import ctypes
import errno
import hashlib
import os
import stat
import struct


def describe(path):
    """All that a change of this file would alter, its access time left out."""
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    content = ''
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        with open(path, 'rb') as file:
            content = hashlib.sha256(file.read()).hexdigest()
    try:
        attributes = sorted(os.listxattr(path, follow_symlinks=False))
    except OSError:
        attributes = []
    return {'kind': kind, 'mode': oct(status.st_mode), 'owner': (status.st_uid, status.st_gid), 'inode': status.st_ino,
            'links': status.st_nlink, 'content': content, 'attributes': attributes,
            'time': 0 if os.path.ismount(path) else status.st_mtime_ns}


class Tree:
    """A folder as it was; `changes()` says what is different now."""

    def __init__(self, *folders):
        self.folders = folders
        self.before = self.look()

    def look(self):
        seen = {}
        for top in self.folders:
            seen[top] = describe(top)
            for folder, folders, files in os.walk(top):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    seen[path] = describe(path)
        return seen

    def changes(self):
        now, found = self.look(), []
        for path in sorted(self.before.keys() | now.keys()):
            old, new = self.before.get(path), now.get(path)
            if old is None or new is None:
                found.append(f'{path} {"appeared" if old is None else "is gone"}')
            elif old != new:
                found.append(f'{path}: ' + ', '.join(f'{key} {old[key]} -> {new[key]}' for key in old
                                                     if old[key] != new[key]))
        return found


MODIFY, ATTRIB, MOVED, CREATE, DELETE = 0x2, 0x4, 0xC0, 0x100, 0x200
libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Every creation, removal, renaming and change of attributes below a folder, however short-lived."""

    def __init__(self, case, top):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.names = {}
        case.cleanups.append(lambda: os.close(self.fd))
        for folder, _, _ in os.walk(top):
            number = libc.inotify_add_watch(self.fd, os.fsencode(folder), MODIFY | ATTRIB | MOVED | CREATE | DELETE)
            if number < 0:
                raise OSError(ctypes.get_errno(), 'inotify_add_watch')
            self.names[number] = folder

    def events(self):
        found = []
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    return sorted(set(found))
                raise
            while data:
                number, mask, _, length = struct.unpack_from('iIII', data)
                name = data[16:16 + length].rstrip(b'\0').decode('utf-8', 'replace')
                found.append(f'{os.path.join(self.names.get(number, "?"), name)} (event {mask:#x})')
                data = data[16 + length:]


def clean(case, tree, what, outcome=None):
    changes = tree.changes()
    case.check(not changes, f'{what}: ' + '; '.join(changes[:5]), outcome)
