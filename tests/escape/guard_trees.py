"""A tree without what differs from run to run, to compare what one piece of work left behind inside and outside."""
import fnmatch
import hashlib
import os
import shutil
import stat


# The guard at work, as far as the policy decides it: opens for reading stop as well, or do not.
RULES = {'writing': ['--deny-write', '**/*.never'], 'reading': ['--deny-read', '**/*.never']}
LONG_AGO = 1_500_000_000  # a time before it was set on purpose, one after it is that of the run


def content_of(path, status):
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return ''
    if not os.access(path, os.R_OK):
        return f'{status.st_size}'
    with open(path, 'rb') as file:
        data = file.read()
    # Sparse files must stay so; how many blocks a small one takes is the file system's business.
    return f'{len(data)} {hashlib.sha256(data).hexdigest()} {status.st_blocks * 512 < len(data) // 2}'


def attributes_of(path):
    return {name: os.getxattr(path, name, follow_symlinks=False)
            for name in sorted(os.listxattr(path, follow_symlinks=False))}


def shape(top, forget=(), drop=()):
    """{path: what it is}. `forget`: globs of paths whose content differs by itself; `drop`: whose existence does."""
    seen, groups = {}, {}
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not is_one_of(os.path.relpath(os.path.join(folder, name), top), drop))
        for name in [*folders, *sorted(files)]:
            path = os.path.join(folder, name)
            known = os.path.relpath(path, top)
            if is_one_of(known, drop):
                continue
            status = os.lstat(path)
            seen[known] = {
                'mode': oct(status.st_mode), 'owner': (status.st_uid, status.st_gid), 'links': status.st_nlink,
                'content': '' if is_one_of(known, forget) else content_of(path, status),
                'attributes': attributes_of(path),
                # Names of one file stand together, whatever its number.
                'file': 0 if stat.S_ISDIR(status.st_mode) else groups.setdefault(status.st_ino, known),
                'time': status.st_mtime_ns if status.st_mtime < LONG_AGO and not stat.S_ISDIR(status.st_mode) else 0}
    return seen


def is_one_of(path, globs):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in globs)


def differences(got, wanted):
    found = []
    for path in sorted(got.keys() | wanted.keys()):
        if path not in got or path not in wanted:
            found.append(f'{path} is {"missing" if path in wanted else "too much"}')
        elif got[path] != wanted[path]:
            found.append(f'{path}: ' + ', '.join(f'{key} {got[path][key]!r}, not {wanted[path][key]!r}' for key in got[path]
                                                 if got[path][key] != wanted[path][key]))
    return found


class Work:
    """One piece of shell work, done in the same folder outside and inside."""

    def __init__(self, case, script, prepare=lambda top: None, forget=(), drop=(), linked=True):
        self.case, self.script, self.prepare, self.linked = case, script, prepare, linked
        self.forget, self.drop = forget, ('tmp', *drop)
        self.top = os.path.join(case.work, 'project')

    def do(self, options=None):
        """(what it said, what it left behind); `options`: None = without a sandbox."""
        shutil.rmtree(self.top, ignore_errors=True)
        os.makedirs(os.path.join(self.top, 'tmp'))
        self.prepare(self.top)
        words, keywords = ['sh', '-ec', self.script], {'cwd': self.top, 'patience': 240}
        outcome = self.case.plain(words, **keywords) if options is None else self.case.inside(words, options, **keywords)
        tree = shape(self.top, self.forget, self.drop)
        for entry in tree.values() if not self.linked else ():
            entry['links'] = entry['file'] = None
        return outcome, tree

    def compare(self, rules=('writing',)):
        outside, wanted = self.do()
        self.case.control(outside.code == 0, f'does not work outside: {outside.describe()}')
        self.case.check(len(wanted) > 5, 'the work leaves something behind')
        for name in rules:
            inside, got = self.do(RULES[name])
            self.case.same((inside.code, inside.out), (0, outside.out), f'with a rule about {name}', inside)
            found = differences(got, wanted)
            self.case.check(not found, f'with a rule about {name}, {len(found)} differences: ' + '\n'.join(found[:12]))
        shutil.rmtree(self.top)
