"""A certificate authority of the test and one certificate for every name of its worlds, by the openssl program."""
import os
import ssl
import subprocess

NAMES = ('registry.example.com', '*.example.com', 'example.org', '*.example.org', '*.b.example.org', '*.example.net',
         'localhost')
ADDRESSES = ('203.0.113.10', '203.0.113.30', '10.20.0.5', '127.0.0.1', '2001:db8::10')
MADE = {}


def openssl(*words, **keywords):
    subprocess.run(['openssl', *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, **keywords)


class Authority:
    """`ca`: the file that clients are to trust. `key`, `certificate`: what the servers show."""

    def __init__(self, folder):
        os.makedirs(folder)
        # Clients in the sandbox read it, and so may anybody.
        os.chmod(folder, 0o755)
        self.ca = os.path.join(folder, 'ca.pem')
        self.key, self.certificate = os.path.join(folder, 'key.pem'), os.path.join(folder, 'certificate.pem')
        ca_key = os.path.join(folder, 'ca-key.pem')
        new = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')
        openssl('req', '-x509', *new, '-keyout', ca_key, '-out', self.ca, '-days', '30', '-subj', '/CN=Test authority',
                '-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign')
        request, extensions = os.path.join(folder, 'request.pem'), os.path.join(folder, 'extensions')
        names = ','.join([f'DNS:{name}' for name in NAMES] + [f'IP:{address}' for address in ADDRESSES])
        with open(extensions, 'w', encoding='ascii') as file:
            file.write(f'subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n')
        openssl('req', *new, '-keyout', self.key, '-out', request, '-subj', '/CN=registry.example.com')
        openssl('x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', ca_key, '-set_serial', '4711', '-days', '30',
                '-extfile', extensions, '-out', self.certificate)

    def server_context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)

        def remember(connection, name, _):
            connection.wanted_name = name
        context.sni_callback = remember
        return context


def authority(folder):
    """One for a whole run of the tests: its folder goes with the others."""
    place = os.path.join(folder, 'certificates')
    if place not in MADE:
        MADE[place] = Authority(place)
    return MADE[place]
