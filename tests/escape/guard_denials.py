"""What was refused is told: what, by which rule, for whom, and what would allow it; and nothing else is."""
import json
import os
import re
import shlex
import shutil

from fs_denied import secret
from fs_masks import has_fuse
from harness import row

FLOOD = 3000


def denials(case, script, options=(), **keywords):
    """What a shell script was refused, by (operation, target)."""
    answer = case.result(['sh', '-c', script], options, **keywords)
    return {(denial['operation'], denial['target']): denial for denial in answer['denials']}, answer


ATTEMPTS = {  # operation: (what is refused in the folder $D, what is named, what an option must name)
    'create by open': ('create', 'echo x > $D/new', 'new', ''),
    'create a folder': ('create', 'mkdir $D/folder', 'folder', ''),
    'create a link': ('create', 'ln -s there $D/link', 'link', ''),
    'create a socket': ('create', 'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'$D/s\')"', 's', ''),
    'write': ('write', 'echo x >> $D/file', 'file', 'file'),
    'write by truncate': ('write', 'python3 -c "import os; os.truncate(\'$D/file\', 0)"', 'file', 'file'),
    'remove': ('remove', 'rm -f $D/file', 'file', ''),
    'remove a folder': ('remove', 'rmdir $D/empty', 'empty', ''),
    'rename': ('rename', 'python3 -c "import os; os.rename(\'$D/file\', \'$D/other\')"', 'file', ''),
    'rename from the workspace': ('rename', 'python3 -c "import os; os.rename(\'own\', \'$D/own\')"', 'own', ''),
    'link': ('link', 'python3 -c "import os; os.link(\'$D/file\', \'$D/second\')"', 'second', ''),
    'change the mode': ('change', 'chmod 700 $D/file', 'file', 'file'),
    'change the times': ('change', 'touch -d @1 $D/file', 'file', 'file'),
    'change an attribute': ('change', 'python3 -c "import os; os.setxattr(\'$D/file\', \'user.x\', b\'1\')"', 'file',
                            'file'),
}


def furnish(case):
    shutil.rmtree(case.outside, ignore_errors=True)
    os.makedirs(os.path.join(case.outside, 'empty'))
    case.write(os.path.join(case.outside, 'file'), 'as it was')
    case.write('own', 'own')


@row('W-denial-1', 'each operation on a file is told with path, rule, process and an option that allows it; not once it does')
def operations(case):
    for what, (operation, script, name, option) in ATTEMPTS.items():
        script = script.replace('$D', case.outside)
        furnish(case)
        outside = case.plain(['sh', '-c', script])
        case.control(outside.code == 0, f'{what} does not work outside: {outside.err}')
        furnish(case)
        target = os.path.join(case.outside, name)
        found, answer = denials(case, script)
        case.check(answer['exitCode'] != 0, f'{what} is refused', answer['outcome'])
        case.check((operation, target) in found, f'{what}: {list(found)}', answer['outcome'])
        denial = found[operation, target]
        case.same((denial['kind'], denial['count']), ('file', 1), what)
        case.check(denial['rule'].startswith('default: ') and denial['pid'] > 1 and denial['process'], f'{denial}')
        case.same(denial['suggestion'], f'--write {os.path.join(case.outside, option).rstrip("/")}', what)
        found, answer = denials(case, script, shlex.split(denial['suggestion']))
        # A name of another folder cannot be moved there, whatever is allowed: two mounts.
        if what != 'rename from the workspace':
            case.same((found, answer['exitCode']), ({}, 0), f'{what}, allowed', answer['outcome'])


@row('W-denial-1', 'protected names, denied entries, secrets, mount points and FIFOs are told with their own rule')
def rules(case):
    os.makedirs(os.path.join(case.work, '.git/hooks'))
    os.makedirs(os.path.join(case.work, 'kept'))
    case.write(os.path.join(case.home, '.netrc'), 'secret', 0o600)
    wanted = {
        ('create', f'{case.work}/.git/hooks/x'): 'built-in: protected names',
        ('create', f'{case.work}/kept/x'): '--deny-write',
        ('create', f'{case.work}/x.key'): '--deny-write',
        ('write', f'{case.home}/.netrc'): 'built-in: secrets',
        ('rename', f'{case.work}/.git'): 'built-in: protected names',
        ('create', f'{case.work}/fifo'): 'built-in: special files',
    }
    script = '''touch .git/hooks/x; touch kept/x; touch x.key; echo x > ~/.netrc; mkfifo fifo
        python3 -c 'import os; os.rename(".git", "away")' '''
    case.control(case.plain(['sh', '-c', script]).code == 0, 'it does not work outside')
    os.rename(os.path.join(case.work, 'away'), os.path.join(case.work, '.git'))
    for name in ('.git/hooks/x', 'kept/x', 'x.key', 'fifo'):
        os.unlink(os.path.join(case.work, name))
    options = ['--deny-write', 'kept', '--deny-write', '**/*.key']
    found, answer = denials(case, script, options)
    for key, rule in wanted.items():
        case.check(key in found and found[key]['rule'].startswith(rule), f'{key}: {found.get(key)}', answer['outcome'])
        explained = case.plain([case.program, 'explain', 'path', key[1], '--json', '--workspace', case.work, *options])
        if rule not in ('built-in: special files',) and key[0] != 'rename':
            case.check(json.loads(explained.out)['writeRule'].startswith(found[key]['rule']), f'explain of {key}', explained)


@row('W-denial-2', 'what fails outside as well, what succeeds and what only looks is not told')
def only_real(case):
    furnish(case)
    case.write(os.path.join(case.outside, 'shut/file'), 'x')
    script = f'''cd {case.outside}
        rm -f none; rmdir none; mkdir -p empty; mkdir empty; rm none; mv none other; ln file empty/../file
        ln -s x file; echo x > none/new; rmdir file; rmdir shut; rm empty; chmod 700 none
        test -w file; test -w .; stat file; cat file > /dev/null; ls; : > /dev/null; python3 -c "
import os
for flags in (os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_WRONLY | os.O_DIRECTORY):
    try: os.open('file', flags)
    except OSError as error: print(error.errno)
os.access('file', os.W_OK)"
        cd "$OLDPWD"; touch fine; mkdir deep; mv fine deep/fine; rm -r deep; touch /tmp/x; rm /tmp/none; cat /tmp/none'''
    if not case.is_root:
        script += f'\nrm -f /etc/passwd; touch /usr/new; mkdir /root/x; echo x > /etc/passwd; chmod 700 /etc; touch {case.outside}/shut/x'
        os.chmod(os.path.join(case.outside, 'shut'), 0o500)
    found, answer = denials(case, script)
    case.same(found, {}, 'nothing is told', answer['outcome'])
    found, answer = denials(case, f'touch {case.outside}/new')
    case.control(len(found) == 1, 'and a real one is')


@row('W-denial-2', 'reportDenials off: no file is told, and the result says so; on: it says that they are')
def switch(case):
    policy = {'filesystem': {'reportDenials': False, 'protectNewNames': False}}
    found, answer = denials(case, f'touch {case.outside}/x', case.policy(policy))
    case.same((found, answer['sandbox']['reported']['files']), ({}, 'not asked'), 'off')
    found, answer = denials(case, f'touch {case.outside}/x')
    case.same((len(found), answer['sandbox']['reported']['files']), (1, True), 'on')


CALLS = {
    'mount': ('mount(b"x", b"/tmp", b"tmpfs", 0, 0)', '', '/allowNestedSandbox'),
    'unshare': ('unshare(0x10020000)', 'user, mount namespace', '/allowNestedSandbox'),
    'setns': ('setns(0, 0x40000000)', 'network namespace', '/allowNestedSandbox'),
    'chroot': ('chroot(b"/")', '', '/allowNestedSandbox'),
    'reboot': ('reboot(0)', '', 'built-in: system calls'),
    'socket': ('socket(17, 3, 0)', 'packet, raw', 'built-in: sockets'),
    'socket 2': ('socket(1, 2, 0)', 'unix, datagram', 'built-in: sockets'),
    'ioctl': ('ioctl(0, 0x5412, b"x")', 'TIOCSTI', 'built-in: system calls'),
    'bpf': ('syscall(321 if os.uname().machine == "x86_64" else 280, 0, 0, 0)', '', 'built-in: system calls'),
}


@row('W-denial-3', 'refused calls that matter are told with what they asked for, and stay refused; others are not')
def calls(case):
    for name, (text, target, rule) in CALLS.items():
        script = case.write('call.py', f'''import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_long] * 2
got = libc.{text}
print(got, ctypes.get_errno())''')
        answer = case.result(['python3', script])
        case.check(re.fullmatch(r'-1 (1|97)\n', answer['stdout']), f'{name} is refused', answer['outcome'])
        found = [denial for denial in answer['denials'] if denial['kind'] == 'call']
        case.same([(denial['operation'], denial['target']) for denial in found], [(name.split()[0], target)], name,
                  answer['outcome'])
        case.check(found[0]['rule'].startswith(rule) and found[0]['process'] == 'python3' and found[0]['pid'] > 1, f'{found}')
        case.same(bool(found[0]['suggestion']), rule[0] == '/', f'{name}: suggestion')
    answer = case.result(['sh', '-c', 'git --version; python3 -c "import os; os.fork()"; ls -la; ps; env; tar --version'])
    case.same(answer['denials'], [], 'ordinary programs')


@row('A-sys-6', 'floods of refusals are counted and bounded; the list says how many it left out, and others find room')
def floods(case):
    count = FLOOD
    script = case.write('flood.py', f'''import ctypes, os
libc = ctypes.CDLL(None)
for i in range({count}):
    try: open('{case.outside}/same', 'w')
    except OSError: pass
    try: os.mkdir('{case.outside}/n%d' % i)
    except OSError: pass
    libc.chroot(b'/')
for i in range({count}):
    try: os.mkdir('{case.outside}/f%d/x' % (i % 400))
    except OSError: pass
libc.unshare(0x10000000)''')
    for i in range(400):
        os.mkdir(f'{case.outside}/f{i}')
    answer = case.result(['python3', script], patience=120)
    found = {(denial['operation'], os.path.relpath(denial['target'] or '/', case.outside)): denial['count']
             for denial in answer['denials']}
    case.same((answer['exitCode'], found['create', 'same'], found['create', '*']), (0, count, count - 15), 'counts',
              answer['outcome'])
    case.check(('unshare', 'user namespace') in [(d['operation'], d['target']) for d in answer['denials']], 'the last one')
    case.check(len(found) <= 200, f'{len(found)} in the list')
    told = sum(denial['count'] for denial in answer['denials'] if denial['operation'] != 'unshare')
    case.same(told + answer['denialsLeftOut'], 4 * count, 'all are counted', answer['outcome'])


NAMES = [b'new\nline', b'\x1b[31mred', b'bad\xff\xfeutf8', b"quote's", b'sp ace', b'st*r', b'$(id)', b'back\\slash', b'\xc2\x9bC1',
         'ü'.encode(), b'-dash', b'"double"']


@row('A-sys-5', 'hostile names are safe in the result, in the terminal and in what is to be pasted')
def hostile(case):
    for name in NAMES:
        folder = os.path.join(os.fsencode(case.outside), name)
        os.makedirs(folder, exist_ok=True)
        script = b'touch ' + shlex.quote(os.fsdecode(folder)).encode('utf-8', 'surrogateescape') + b'/x'
        case.control(case.plain(['sh', '-c', script]).code == 0, f'{name} outside')
        os.unlink(folder + b'/x')
        answer = case.result(['sh', '-c', script])
        case.same(len(answer['denials']), 1, f'{name!r}', answer['outcome'])
        denial = answer['denials'][0]
        wanted = folder.decode('utf-8', 'replace') if b'\xff' in name else folder.decode()
        case.check(denial['target'].startswith(case.outside) and (b'\xff' in name or denial['target'] == wanted + '/x'),
                   f'{denial}')
        pasted = denial['suggestion']
        if re.search(rb'[\x00-\x1f\xff\x9b]', name):
            case.same(pasted, '', f'{name!r} cannot be pasted')
            continue
        # A shell takes it apart as it would when somebody pastes it.
        command = f'{shlex.quote(case.program)} run --workspace {case.work} {pasted} -- "$@"'
        allowed = case.plain(['sh', '-c', command, 'sh', 'sh', '-c', script])
        case.check(allowed.code == 0 and os.path.exists(folder + b'/x'), f'{pasted} allows it', allowed)
    os.makedirs(os.path.join(os.fsencode(case.outside), NAMES[1]), exist_ok=True)
    script = "touch '" + case.outside + "/\x1b[31mred/y'"
    terminal = case.terminal(case.sandboxed(['sh', '-c', script + ' 2> /dev/null']))
    shown = terminal.drain()
    case.check('refused: create' in shown and '\x1b' not in shown, f'in a terminal: {shown!r}')


def heard(case, script, *arguments):
    """Runs a script and makes the file `go` at its first denial: (denials of the events, result)."""
    reading, writing = os.pipe()
    result = os.path.join(case.base, 'result')
    with open(result, 'wb') as file:
        argv = case.sandboxed(['sh', '-c', script, 'sh', *arguments],
                              ['--events-fd', str(writing), '--result-fd', str(file.fileno())])
        process = case.popen(argv, pass_fds=[writing, file.fileno()])
    os.close(writing)
    told = []
    with open(reading) as lines:
        for line in lines:
            event = json.loads(line)
            if event['event'] == 'denial':
                told.append(event['denial'])
                case.write('go', '')
    outcome = case.finish(process)
    return told, {**json.load(open(result)), 'outcome': outcome}


WAIT = 'i=0; while [ ! -e go ] && [ $i -lt 500 ]; do i=$((i+1)); sleep 0.02; done; [ -e go ]'


@row('W-denial-4', 'events tell a refusal while the command runs, once, as the result has it')
def events(case):
    told, answer = heard(case, f'touch {case.outside}/x; touch {case.outside}/x; mkdir told; {WAIT}')
    case.same(answer['exitCode'], 0, 'told while the command runs', answer['outcome'])
    case.same([denial['target'] for denial in told], [f'{case.outside}/x'], 'events', answer['outcome'])
    case.same(answer['denials'][0]['count'], 2, 'the result counts')
    for key in ('kind', 'operation', 'target', 'rule', 'pid', 'process', 'time', 'suggestion'):
        case.same(told[0][key], answer['denials'][0][key], key)


@row('W-denial-4', 'so do events of refused calls and of masked secrets, in a command that changes no file')
def events_of_others(case):
    attempts = {'call': 'unshare -U true'}
    if has_fuse(case):
        attempts['file'] = 'cat "$1"'
    path = secret(case, os.path.join(case.home, '.netrc'))
    for kind, attempt in attempts.items():
        case.clear_work()
        told, answer = heard(case, f'{attempt}; {WAIT}', path)
        case.same(answer['exitCode'], 0, f'a {kind} is told while the command runs', answer['outcome'])
        case.same([denial['kind'] for denial in told], [kind], 'events', answer['outcome'])


NAMED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
open('/proc/self/comm', 'r+').close()
try: open(sys.argv[1], 'w')
except OSError: pass
print(os.getpid())
"""


@row('A-guard-7', 'a process that names itself after a line of its status is told, and treated, as what it is')
def named_as_status(case):
    for name in ('NStgid: 1', 'NStgid:\t9 1'):
        target = os.path.join(case.outside, 'x')
        answer = case.result(['sh', '-c', 'sleep 0; python3 -c "$@"; true', 'sh', NAMED, target, name])
        case.check(answer['stdout'].strip().isdigit(), 'its own files in /proc', answer['outcome'])
        denial = [denial for denial in answer['denials'] if denial['target'] == target][0]
        case.same(denial['pid'], int(answer['stdout']), f'{name!r}: whose it was', answer['outcome'])


@row('W-denial-5', 'limits that a command meets are told: room in /tmp, the size of a file, open files; and not when they are not met')
def limits(case):
    attempts = {
        'tmpSize': ('dd if=/dev/zero of=/tmp/big bs=64k count=400; true', '--tmp-size', '16m'),
        'fileSize': ('dd if=/dev/zero of=big bs=64k count=400', '--file-size', '1m'),
        'openFiles': ('python3 -c "\nfiles = []\nfor i in range(100): files.append(open(\'f\', \'a\'))"', '--open-files', '40'),
    }
    for name, (script, option, value) in attempts.items():
        case.control(case.plain(['sh', '-c', script]).code == 0, f'{name} outside')
        found, answer = denials(case, script, [option, value])
        case.check((name, '') in found, f'{name} is told', answer['outcome'])
        denial = found[name, '']
        case.same((denial['kind'], denial['rule']), ('limit', f'/limits/{name}'), name)
        case.check(denial['suggestion'].startswith(option + ' '), f'{denial}')
        found, answer = denials(case, script, [option, '600m' if 'ize' in name else '200'])
        case.same(found, {}, f'{name} is not met', answer['outcome'])
    found, answer = denials(case, 'ulimit -n 20; python3 -c "\nfiles = []\nfor i in range(100): files.append(open(\'f\', \'a\'))"')
    case.same((answer['exitCode'], found), (1, {}), 'a limit of its own', answer['outcome'])
    os.path.exists('/tmp/big') and os.unlink('/tmp/big')
