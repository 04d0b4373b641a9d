"""Who runs the tests: the caller, and, when that is root, an ordinary user beside it."""
import glob
import os
import pwd
import re
import shutil
import subprocess

import tap

NAME = 'sandbox-test'
SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


class User:
    def __init__(self, entry):
        self.entry = entry
        self.label = 'root' if entry.pw_uid == 0 else 'user'

    def identity(self):
        """What Popen needs to become this user: nothing when the caller is it."""
        if self.entry.pw_uid == os.geteuid():
            return {}
        return {'user': self.entry.pw_uid, 'group': self.entry.pw_gid, 'extra_groups': []}

    def environment(self):
        """The same few variables on every machine. The system's programs come first: a test must not depend on a
        version manager in somebody's home, which the sandbox or the other user may not see."""
        mine = self.entry.pw_uid == os.geteuid()
        values = {'PATH': SYSTEM_PATH, 'HOME': self.entry.pw_dir, 'USER': self.entry.pw_name,
                  'LOGNAME': self.entry.pw_name, 'SHELL': '/bin/sh', 'LANG': 'C.UTF-8',
                  'TERM': os.environ.get('TERM', 'dumb')}
        if mine:
            values['PATH'] += ':' + os.environ.get('PATH', '')
            values.update({name: os.environ[name] for name in ('XDG_RUNTIME_DIR',) if name in os.environ})
        return values

    def can(self, *test):
        return subprocess.run(['test', *test], cwd='/', **self.identity()).returncode == 0

    def sanitizer_reports(self, build):
        """What the sanitizers wrote since the last call, also where a test threw the program's stderr away."""
        for path in sorted(glob.glob(os.path.join(build, '*', 'reports', 'report.*'))):
            with open(path, encoding='utf-8', errors='replace') as file:
                text = file.read()
            # An empty one is still open, in a process that cannot open another.
            if text:
                os.unlink(path)
                yield text


def prepare_reports(build, folders):
    """Folders that every user may write the sanitizers' reports to."""
    for name in folders:
        folder = os.path.join(build, name)
        if os.path.isdir(folder):
            reports = os.path.join(folder, 'reports')
            os.makedirs(reports, exist_ok=True)
            if os.stat(reports).st_uid == os.geteuid():
                os.chmod(reports, 0o1777)


def ordinary():
    """The user that stands beside root, made when it is not there."""
    name = os.environ.get('QSB_TEST_USER', NAME)
    makers = (['useradd', '--create-home', '--shell', '/bin/sh', name], ['adduser', '-D', name])
    for maker in (None, *makers):
        if maker and shutil.which(maker[0]):
            subprocess.run(maker, stdout=subprocess.DEVNULL, check=False)
        try:
            return User(pwd.getpwnam(name))
        except KeyError:
            continue
    raise SystemExit(f'tests/run: cannot make the ordinary user {name}; set QSB_TEST_USER to one that exists')


def who_runs(root, build, user_only):
    """(the users that run here, the ordinary user when it cannot reach this folder)"""
    me = User(pwd.getpwuid(os.geteuid()))
    if os.geteuid() != 0:
        return [me], None
    other = ordinary()
    rest = [] if user_only else [me]
    reaches = all(other.can(flag, os.path.join(path)) for flag, path in (
        ('-r', os.path.join(root, 'tests', 'run')), ('-x', os.path.join(build, 'qiming-sandbox')),
        ('-r', os.path.join(build, 'meson', 'meson-info', 'intro-tests.json'))))
    return ([other, *rest], None) if reaches else (rest, other)


def run_elsewhere(user, root, arguments):
    """Copies the sources into the ordinary user's home, builds there, and runs everything there as that user."""
    tree = os.path.join(user.entry.pw_dir, 'qsb-tree')
    print(f'{root} is closed to {user.entry.pw_name}: building and testing a copy in {tree}', flush=True)
    shutil.rmtree(tree, ignore_errors=True)
    left_out = {'.git', 'build'}
    shutil.copytree(root, tree, symlinks=True, ignore=lambda folder, _: left_out if folder == root else ())
    for folder, _, files in os.walk(tree):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, user.entry.pw_uid, user.entry.pw_gid, follow_symlinks=False)
    values = user.environment()
    values.update({name: os.environ[name] for name in ('QSB_MUST_WORK',) if name in os.environ})
    script = 'scripts/build all node clang sanitized && exec tests/run "$@"'
    process = subprocess.Popen(['bash', '-c', script, 'bash', *arguments], cwd=tree, env=values, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               **user.identity())
    report = tap.Report(f'copy in {tree}')
    last = None
    for line in process.stdout:
        last = re.match(r'(\d+) passed, (\d+) failed, (\d+) skipped$', line)
        if last:
            report.passed += int(last.group(1))
            report.failures += [('see above', [])] * int(last.group(2))
            report.skips += [('see above', '')] * int(last.group(3))
        else:
            print(line, end='', flush=True)
    if process.wait() != 0 and not report.failures:
        report.fail('builds and runs', f'exit status {process.returncode}')
    shutil.rmtree(tree, ignore_errors=True)
    return report
