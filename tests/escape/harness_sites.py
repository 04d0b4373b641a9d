"""What real programs fetch from: an npm registry, a Python index, git over HTTP, and a web socket."""
import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile

from harness_far import Handler

JSON = 'application/json'


def packed_module(name='left', version='1.2.3'):
    """The bytes of an npm package."""
    files = {'package.json': json.dumps({'name': name, 'version': version, 'main': 'index.js'}),
             'index.js': 'module.exports = (text) => text.padStart(10, ".");\n'}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w:gz') as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo('package/' + path)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def packed_wheel(name='leftpad', version='1.2.3'):
    """The bytes of a Python wheel."""
    info = f'{name}-{version}.dist-info'
    files = {f'{name}.py': 'def pad(text):\n    return text.rjust(10, ".")\n',
             f'{info}/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n',
             f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    files[f'{info}/RECORD'] = ''.join(f'{path},,\n' for path in (*files, f'{info}/RECORD'))
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w') as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return out.getvalue()


MODULE, WHEEL = packed_module(), packed_wheel()


class Registry(Handler):
    """npm below /npm/, PEP 503 below /simple/, git repositories of `projects` below /git/, a web socket at /socket."""
    projects = None

    def any(self):
        if self.path.startswith('/git/'):
            return self.git()
        body = self.body()
        self.note(body)
        found = {'/npm/left': self.module, '/simple/leftpad/': self.index, '/socket': self.switch}.get(self.path)
        if found:
            found()
        elif self.path == '/npm/left/-/left-1.2.3.tgz':
            self.answer(200, MODULE, 'application/octet-stream')
        elif self.path == '/files/leftpad-1.2.3-py3-none-any.whl':
            self.answer(200, WHEEL, 'application/octet-stream')
        else:
            self.answer(404, '{}', JSON)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = lambda self: self.any()

    def module(self):
        host = self.headers['Host']
        digest = base64.b64encode(hashlib.sha512(MODULE).digest()).decode()
        scheme = 'https' if hasattr(self.connection, 'cipher') else 'http'
        one = {'name': 'left', 'version': '1.2.3', 'main': 'index.js', 'dist': {
            'tarball': f'{scheme}://{host}/npm/left/-/left-1.2.3.tgz', 'integrity': 'sha512-' + digest}}
        self.answer(200, json.dumps({'name': 'left', 'dist-tags': {'latest': '1.2.3'}, 'versions': {'1.2.3': one}}),
                    JSON)

    def index(self):
        digest = hashlib.sha256(WHEEL).hexdigest()
        self.answer(200, f'<a href="/files/leftpad-1.2.3-py3-none-any.whl#sha256={digest}">leftpad-1.2.3-py3-none-any.whl</a>',
                    'text/html')

    def switch(self):
        key = self.headers.get('Sec-WebSocket-Key', '') + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        self.send_response(101)
        self.send_header('Upgrade', 'websocket')
        self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        while True:  # every byte of a frame comes back as it is
            data = self.rfile.read1(65536)
            if not data:
                return
            self.wfile.write(data)

    def git(self):
        """By git's own server program."""
        body = self.body()
        self.note(body[:1000])
        path, _, query = self.path.partition('?')
        done = subprocess.run(['git', 'http-backend'], input=body, capture_output=True, check=False, env={
            'PATH': os.environ.get('PATH', '/usr/bin:/bin'), 'HOME': self.projects, 'GIT_PROJECT_ROOT': self.projects,
            'GIT_HTTP_EXPORT_ALL': '1', 'PATH_INFO': path[len('/git'):], 'QUERY_STRING': query,
            'REQUEST_METHOD': self.command, 'CONTENT_TYPE': self.headers.get('Content-Type', ''),
            'CONTENT_LENGTH': str(len(body)), 'HTTP_CONTENT_ENCODING': self.headers.get('Content-Encoding', ''),
            'GIT_PROTOCOL': self.headers.get('Git-Protocol', ''), 'REMOTE_USER': 'tester', 'REMOTE_ADDR': '192.0.2.1'})
        head, _, data = done.stdout.partition(b'\r\n\r\n')
        headers = dict(line.split(': ', 1) for line in head.decode().splitlines() if ': ' in line)
        status = int(headers.pop('Status', '200 OK').split()[0])
        kind = headers.pop('Content-Type', 'text/plain')
        self.answer(status, data, kind, headers.items())


def registry_of(projects):
    """The handler of a world's registry with git repositories in a folder."""
    return type('RegistryOf', (Registry,), {'projects': projects})
