"""A registry of generated packages on loopback, for `npm install` without a network. Nothing of it exists elsewhere.

Run with a port file's path, the number of packages at the top and of those below each: it writes the port that it
listens on, and serves until it is ended.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import sys
import tarfile

VERSION = '1.0.0'
LINES = 120


def names(tops, below):
    """{package: what it depends on}"""
    packages = {}
    for top in range(tops):
        own = [f'qsb-bench-{top}-{number}' for number in range(below)]
        packages[f'qsb-bench-{top}'] = own
        packages.update((name, []) for name in own)
    return packages


def manifest(name, needs):
    return {'name': name, 'version': VERSION, 'description': 'made up', 'license': 'MIT', 'main': 'index.js',
            'dependencies': {need: VERSION for need in needs}}


def files(name, needs):
    """What a package of ordinary size holds."""
    code = ''.join(f'exports.f{line} = (x) => x + {line}; // {name}\n' for line in range(LINES))
    yield 'package.json', json.dumps(manifest(name, needs), indent=2)
    yield 'index.js', "module.exports = require('./lib/one');\n"
    for part in ('one', 'two', 'three', 'four'):
        yield f'lib/{part}.js', code
    yield 'types/index.d.ts', 'export {};\n'
    yield 'README.md', f'# {name}\n' + 'Text.\n' * LINES
    yield 'LICENSE', 'MIT\n' * LINES


def tarball(name, needs):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as archive:
        for path, text in files(name, needs):
            entry = tarfile.TarInfo('package/' + path)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue(), 6, mtime=0)


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize, disable_nagle_algorithm = -1, True  # an answer is one packet, and waits for nothing
    documents, tarballs = {}, {}

    def do_GET(self):
        name = self.path.strip('/')
        body = self.tarballs.get(name)
        if body is None and name in self.documents:
            body = self.documents[name].replace('HOST', self.headers['Host']).encode()
        self.send_response(200 if body is not None else 404)
        self.send_header('Content-Type', 'application/json' if name in self.documents else 'application/octet-stream')
        self.send_header('Content-Length', str(len(body or b'')))
        self.end_headers()
        self.wfile.write(body or b'')

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # npm connects many times at once


def fill(packages):
    for name, needs in packages.items():
        data = tarball(name, needs)
        integrity = 'sha512-' + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {'tarball': f'http://HOST/{name}.tgz', 'integrity': integrity,
                'shasum': hashlib.sha1(data).hexdigest()}
        Registry.tarballs[name + '.tgz'] = data
        Registry.documents[name] = json.dumps({'name': name, 'dist-tags': {'latest': VERSION},
                                               'versions': {VERSION: {**manifest(name, needs), 'dist': dist}}})


def main():
    port_file, tops, below = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    fill(names(tops, below))
    server = Server(('127.0.0.1', 0), Registry)
    with open(port_file + '.new', 'w', encoding='ascii') as file:
        file.write(str(server.server_address[1]))
    os.rename(port_file + '.new', port_file)
    server.serve_forever()


if __name__ == '__main__':
    main()
