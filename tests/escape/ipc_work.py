"""Local communication, honest work: a program's own sockets, Node's and Python's process helpers."""
import os
import subprocess

from harness import row

OWN_SOCKETS = r'''
import array, os, socket, sys, tempfile
kinds = {"stream": socket.SOCK_STREAM, "seqpacket": socket.SOCK_SEQPACKET}
place, kind = sys.argv[1], kinds[sys.argv[2]]
os.makedirs(place, exist_ok=True)
os.chdir(place)
path = sys.argv[3] if len(sys.argv) > 3 else os.path.join(place, "own")
server = socket.socket(socket.AF_UNIX, kind)
server.bind("\0own-" + path if "@" in sys.argv[4:] else path)
server.listen(4)
child = os.fork()
if child == 0:
    client = socket.socket(socket.AF_UNIX, kind)
    client.connect("\0own-" + path if "@" in sys.argv[4:] else path)
    client.sendall(b"hello")
    # A descriptor travels over it.
    message, ancillary, *_ = client.recvmsg(16, socket.CMSG_SPACE(4))
    fd = array.array("i", ancillary[0][2][:4])[0]
    os._exit(0 if message == b"fd" and os.read(fd, 16) == b"through" else 9)
peer, _ = server.accept()
assert peer.recv(16) == b"hello"
pid, uid, gid = array.array("i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
assert (uid, gid) == (os.getuid(), os.getgid()), (uid, gid)
reader, writer = os.pipe()
os.write(writer, b"through")
socket.send_fds(peer, [b"fd"], [reader])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("fine")
'''


def python(case, text, *arguments, options=(), patience=60):
    """The same Python program outside (or skip) and inside."""
    argv = ['/usr/bin/python3', '-c', text, *arguments]
    outside = case.plain(argv, patience=patience)
    case.control(outside.out.endswith('fine\n'), f'does not work outside: {outside.describe()}')
    case.clear_work()
    inside = case.inside(argv, options, patience=patience)
    case.check(inside.code == 0 and inside.out.endswith('fine\n'), f'does not work inside: {arguments}', inside)


def work_with_own(kind):
    @row('W-ipc-1', f'a program\'s own {kind} sockets work: by path, abstract, with passed descriptors')
    def own(case):
        for place in (case.work, os.path.join(case.work, 'made/later'), f'/tmp/escape-{os.getpid()}'):
            python(case, OWN_SOCKETS, place, kind)
            subprocess.run(['rm', '-rf', f'/tmp/escape-{os.getpid()}'], check=False)
        python(case, OWN_SOCKETS, case.work, kind, 'relative')
        python(case, OWN_SOCKETS, case.work, kind, 'abstract', '@')
    own.__name__ = f'own_{kind}'
    return own


for socket_kind in ('stream', 'seqpacket'):
    work_with_own(socket_kind)


@row('W-ipc-1', 'many own connections at once, also without blocking, work')
def many_connections(case):
    python(case, r'''
import asyncio
async def main():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
    server = await asyncio.start_unix_server(answer, "many")
    async def ask(number):
        reader, writer = await asyncio.open_unix_connection("many")
        writer.write(b"number %d\n" % number)
        assert await reader.readline() == b"NUMBER %d\n" % number
        writer.close()
    await asyncio.gather(*(ask(number) for number in range(60)))
    server.close()
asyncio.run(main())
print("fine")
''')


@row('W-ipc-1', 'a connect to a path without a server gives the error that it gives outside')
def honest_errors(case):
    text = r'''
import errno, os, socket
def error(path):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
    except OSError as caught:
        return errno.errorcode[caught.errno]
open("plain", "w").close()
dead = socket.socket(socket.AF_UNIX); dead.bind("dead"); dead.close()
assert error("missing") == "ENOENT", error("missing")
assert error("plain/x") == "ENOTDIR", error("plain/x")
assert error("plain") == "ECONNREFUSED", error("plain")
assert error("dead") == "ECONNREFUSED", error("dead")
print("fine")
'''
    python(case, text)


@row('W-ipc-1', 'socketpair with shutdown works: stream, seqpacket, and Node\'s spawnSync with input')
def socket_pairs(case):
    python(case, r'''
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    a.sendall(b"x" * 1000); a.shutdown(socket.SHUT_WR)
    assert b.recv(2000) == b"x" * 1000 and b.recv(10) == b""
    b.sendall(b"y"); assert a.recv(10) == b"y"
print("fine")
''')
    script = ['node', '-e', 'const r = require("child_process").spawnSync("cat", {input: "x".repeat(200000)});'
                            'console.log(r.error || "", r.stdout.length, r.status)']
    outside = case.plain(script)
    case.control(outside.out == ' 200000 0\n', f'node does not work outside: {outside.describe()}')
    inside = case.inside(script)
    case.same(inside.out, ' 200000 0\n', 'what spawnSync gave', inside)


@row('W-ipc-1', 'Node: net servers on paths, child processes with IPC, worker threads and cluster work')
def node(case):
    script = case.write('n.js', r'''
const { fork } = require('child_process'), net = require('net'), { Worker } = require('worker_threads');
if (process.argv[2] === 'child') { process.on('message', m => { process.send(m + 1); process.disconnect(); }); }
else {
  const server = net.createServer(s => s.end('served')).listen('./node.sock', () => {
    net.connect('./node.sock').on('data', d => { console.log(String(d)); server.close(); next(); });
  });
  function next() {
    const child = fork(__filename, ['child']);
    child.on('message', m => { console.log('ipc', m); worker(); });
    child.send(41);
  }
  function worker() { new Worker('require("worker_threads").parentPort.postMessage("thread")', { eval: true })
    .on('message', m => console.log(m)); }
}
''')
    outside = case.plain(['node', script])
    case.control(outside.out == 'served\nipc 42\nthread\n', f'node does not work outside: {outside.describe()}')
    inside = case.inside(['node', script])
    case.same(inside.out, 'served\nipc 42\nthread\n', 'what Node printed', inside)


MULTIPROCESSING = r'''
import multiprocessing as mp, sys
from multiprocessing import shared_memory
def square(n): return n * n
def count(lock, value):
    for _ in range(50):
        with lock: value.value += 1
def fill(name):
    block = shared_memory.SharedMemory(name=name)
    block.buf[0] = 7
    block.close()
def put(queue, items): queue.put("word"); items.append(1)
if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    with mp.Pool(3) as pool: assert pool.map(square, range(20)) == [n * n for n in range(20)]
    lock, value = mp.Lock(), mp.Value("i", 0)
    workers = [mp.Process(target=count, args=(lock, value)) for _ in range(3)]
    [w.start() for w in workers]; [w.join() for w in workers]
    assert value.value == 150, value.value
    block = shared_memory.SharedMemory(create=True, size=4096)
    worker = mp.Process(target=fill, args=(block.name,)); worker.start(); worker.join()
    assert block.buf[0] == 7
    block.close(); block.unlink()
    with mp.Manager() as manager:
        items, queue = manager.list(), mp.Queue()
        worker = mp.Process(target=put, args=(queue, items)); worker.start()
        assert queue.get(timeout=20) == "word"; worker.join()
        assert list(items) == [1]
    mp.Semaphore(2).acquire(); mp.Event().set(); mp.Barrier(1).wait()
    print("fine")
'''


def work_with_multiprocessing(method):
    @row('W-ipc-2', f'Python multiprocessing ({method}): Lock, Pool, Manager, Queue, shared_memory work')
    def work(case):
        script = case.write('m.py', MULTIPROCESSING)
        outside = case.plain(['/usr/bin/python3', script, method])
        case.control(outside.out == 'fine\n', f'does not work outside: {outside.describe()}')
        inside = case.inside(['/usr/bin/python3', script, method])
        case.same((inside.code, inside.out), (0, 'fine\n'), 'exit code and output', inside)
    work.__name__ = f'multiprocessing_{method}'
    return work


for start_method in ('fork', 'spawn', 'forkserver'):
    work_with_multiprocessing(start_method)


@row('W-ipc-2', 'Python concurrent.futures and subprocess with pipes work')
def futures(case):
    python(case, r'''
import concurrent.futures, subprocess, math
with concurrent.futures.ProcessPoolExecutor(3) as pool:
    assert list(pool.map(math.factorial, range(8))) == [math.factorial(n) for n in range(8)]
assert subprocess.run(["cat"], input=b"x" * 300000, capture_output=True).stdout == b"x" * 300000
print("fine")
''')


XDIST = '''
import os, pytest

@pytest.mark.parametrize("n", range(20))
def test_it(n, tmp_path):
    (tmp_path / "f").write_text(str(n))
    assert "PYTEST_XDIST_WORKER" in os.environ
'''


@row('W-ipc-2', 'pytest-xdist runs tests on two workers')
def xdist(case):
    case.write('test_it.py', XDIST)
    script = ['/usr/bin/python3', '-m', 'pytest', '-q', '-n', '2', '-p', 'no:cacheprovider', 'test_it.py']
    outside = case.plain(script)
    case.control('20 passed' in outside.out, f'pytest-xdist does not work outside: {outside.describe()[:300]}')
    inside = case.inside(script)
    case.check(inside.code == 0 and '20 passed' in inside.out, 'pytest-xdist does not work inside', inside)
