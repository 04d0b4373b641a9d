"""Terminal: the caller's terminal is not the command's to drive."""
import os
import re

from harness import row

TIOCSTI, TIOCSETD, TIOCLINUX = 0x5412, 0x5423, 0x541C
HIGH = 0x1_0000_0000  # the kernel looks at the low 32 bits only; a filter that compares 64 is fooled


def push_in_terminal(case, argv):
    """Runs argv under a shell in a terminal; what it pushed is then read by that shell, as a person's line."""
    reader = 'IFS= read -r -t 2 line; echo "verdict=$verdict pushed=[$line]"'
    terminal = case.terminal(['bash', '-c', f'"$@"; verdict=$?; {reader}', 'bash', *argv])
    text = terminal.drain()
    terminal.wait()
    return text


def refuse_push(case, request):
    attack = [case.attack, 'sti', hex(request), 'pwned']
    outside = push_in_terminal(case, attack)
    case.control('pushed=[pwned]' in outside, f'TIOCSTI does not work on this kernel: {outside.split()}')
    inside = push_in_terminal(case, case.sandboxed(attack))
    case.check('refused: ioctl: EPERM' in inside and 'verdict=1' in inside, f'not refused with EPERM: {inside}')
    case.check('pushed=[]' in inside, f'characters arrived in the caller\'s terminal: {inside}')


@row('A-tty-1', 'TIOCSTI cannot push characters into the caller\'s terminal')
def push_plain(case):
    refuse_push(case, TIOCSTI)


@row('A-tty-1', 'TIOCSTI with high bits set in the request is refused as well')
def push_high_bits(case):
    refuse_push(case, TIOCSTI | HIGH)


@row('A-tty-1', 'TIOCSTI with all high bits set is refused as well')
def push_all_high_bits(case):
    refuse_push(case, TIOCSTI | 0xFFFF_FFFF_0000_0000)


@row('A-tty-1', 'TIOCSTI from a background child in its own process group is refused')
def push_from_child(case):
    attack = ['sh', '-c', f'set -m; {case.attack} sti {TIOCSTI:#x} pwned & wait $!']
    outside = push_in_terminal(case, attack)
    case.control('pushed=[pwned]' in outside, f'TIOCSTI from a child does not work on this kernel: {outside.split()}')
    inside = push_in_terminal(case, case.sandboxed(attack))
    case.check('refused: ioctl: EPERM' in inside, f'not refused with EPERM: {inside}')
    case.check('pushed=[]' in inside, f'characters arrived in the caller\'s terminal: {inside}')


@row('A-tty-1', 'with --tty as well, nothing can be pushed into the caller\'s terminal')
def push_own_terminal(case):
    attack = [case.attack, 'sti', hex(TIOCSTI), 'pwned']
    outside = push_in_terminal(case, attack)
    case.control('pushed=[pwned]' in outside, f'TIOCSTI does not work on this kernel: {outside.split()}')
    inside = push_in_terminal(case, case.sandboxed(attack, ['--tty']))
    case.check('refused: ioctl: EPERM' in inside and 'verdict=1' in inside, f'not refused with EPERM: {inside}')
    case.check('pushed=[]' in inside, f'characters arrived in the caller\'s terminal: {inside}')


def refuse_ioctl(case, request, value):
    """The request reaches the terminal's driver outside, whatever that answers, and never inside: EPERM."""
    attack = [case.attack, 'ioctl-int', hex(request), str(value)]
    outside = case.terminal(attack).drain()
    case.control('worked' in outside or 'ENOTTY' in outside, f'does not reach the driver outside: {outside.split()}')
    for options in ([], ['--tty']):
        inside = case.terminal(case.sandboxed(attack, options)).drain()
        case.check('refused: ioctl: EPERM' in inside, f'not refused with EPERM, options {options}: {inside}')


@row('A-tty-1', 'TIOCLINUX (paste of a console selection) is refused')
def linux_console(case):
    refuse_ioctl(case, TIOCLINUX, 6)


@row('A-tty-1', 'TIOCLINUX with high bits set is refused as well')
def linux_console_high_bits(case):
    refuse_ioctl(case, TIOCLINUX | HIGH, 6)


@row('A-tty-1', 'TIOCLINUX on a real console handed in as a descriptor is refused', only='root')
def linux_console_device(case):
    attack = ['sh', '-c', f'exec {case.attack} ioctl-int {TIOCLINUX:#x} 6']  # 6 = read the shift state
    console = next((path for path in ('/dev/tty63', '/dev/tty1', '/dev/tty0') if os.path.exists(path)), None)
    case.control(console, 'this machine has no virtual console')
    with open(console, 'rb', buffering=0) as stdin:
        outside = case.plain(attack, stdin=stdin)
        case.control(outside.code == 0, f'TIOCLINUX does not work on {console}: {outside.out.strip()}')
        case.refused(case.inside(attack, stdin=stdin), ['EPERM'])


@row('A-tty-1', 'TIOCSETD (another line discipline) is refused')
def line_discipline(case):
    refuse_ioctl(case, TIOCSETD, 0)


@row('A-tty-1', 'TIOCSETD with high bits set is refused as well')
def line_discipline_high_bits(case):
    refuse_ioctl(case, TIOCSETD | HIGH, 0)


@row('A-tty-1', 'the terminal on descriptor 0 cannot be stolen for another session', only='root')
def steal_terminal(case):
    attack = [case.attack, 'steal-tty']
    outside = case.terminal(attack).drain()
    case.control('worked: TIOCSCTTY' in outside, f'stealing does not work outside: {outside.split()}')
    inside = case.terminal(case.sandboxed(attack)).drain()
    case.check('refused: TIOCSCTTY' in inside, f'not refused: {inside}')


@row('A-tty-2', 'the caller\'s /dev/tty cannot be opened when all streams are redirected')
def caller_terminal(case):
    def shown(argv):
        script = '"$@" </dev/null >verdict 2>&1; echo end'
        text = case.terminal(['sh', '-c', script, 'sh', *argv]).drain()
        with open(os.path.join(case.work, 'verdict'), encoding='utf-8') as file:
            return 'leaked' in text, file.read()

    attack = [case.attack, 'open-tty', '/dev/tty', 'leaked']
    leaked, outside = shown(attack)
    case.control(leaked, f'/dev/tty cannot be opened outside: {outside}')
    leaked, inside = shown(case.sandboxed(attack))
    case.check(not leaked, 'text from inside arrived in the caller\'s terminal by /dev/tty')
    case.check('refused' in inside, f'not refused: {inside}')


@row('A-tty-2', 'the caller\'s terminal cannot be opened by its name below /dev/pts')
def caller_terminal_by_name(case):
    script = 'exec 3>"$1"; shift; name=$(tty); "$@" "$name" leaked <&- >&3 2>&1'

    def verdict(argv):
        report = os.path.join(case.work, 'verdict')
        case.terminal(['sh', '-c', script, 'sh', report, *argv]).drain()
        with open(report, encoding='utf-8') as file:
            return file.read()

    attack = [case.attack, 'open-tty']
    outside = verdict(attack)
    case.control('worked' in outside, f'the terminal cannot be opened by name outside: {outside}')
    inside = verdict(case.sandboxed(attack))
    case.check('refused' in inside, f'not refused: {inside}')


@row('A-tty-2', 'another terminal of the same user cannot be opened by its name')
def other_terminal(case):
    other = case.terminal(['sleep', '600'])
    attack = [case.attack, 'open-tty', other.slave_name, 'leaked']
    outside = case.plain(attack)
    case.control(outside.code == 0, f'{other.slave_name} cannot be opened outside: {outside.out}')
    case.check(other.expect('leaked'), 'the control wrote, but nothing came')
    case.refused(case.inside(attack))


@row('A-tty-2', 'with --tty, /dev/tty is the sandbox\'s own terminal, not the caller\'s')
def own_terminal(case):
    show = 'stat -L -c "device %d:%t:%T" /dev/stdin; echo "name $(tty)"; : </dev/tty && echo opened'
    outside = case.terminal(['sh', '-c', show]).drain()
    case.control('opened' in outside, f'no terminal outside: {outside}')
    terminal = case.terminal(case.sandboxed(['sh', '-c', show], ['--tty']))
    inside = terminal.drain()
    case.same(terminal.wait(), 0, f'exit code; it printed {inside!r}')
    case.check('opened' in inside, f'/dev/tty cannot be opened: {inside}')
    device = re.search(r'device (\d+):', inside)
    host = os.stat('/dev/pts').st_dev
    case.check(device and int(device[1]) != host, f'stdin is a terminal of the host\'s devpts ({host}): {inside}')


@row('A-tty-2', 'the host\'s consoles and their screen memory are not inside', only='root')
def consoles(case):
    names = ('console', 'tty0', 'tty1', 'tty63', 'vcs', 'vcs1', 'vcsa', 'ttyS0', 'kmsg', 'mem', 'port', 'uinput')
    present = [f'/dev/{name}' for name in names if os.path.exists(f'/dev/{name}')]
    case.control(present, 'the host has no console device')
    script = 'echo looked; for path; do [ -e "$path" ] && ' \
             'dd if="$path" iflag=nonblock of=/dev/null bs=1 count=0 2>/dev/null && echo "open $path"; done; exit 0'
    outside = case.plain(['sh', '-c', script, 'sh', *present])
    case.control('open /dev/' in outside.out, 'no console can be opened outside')
    inside = case.inside(['sh', '-c', script, 'sh', *present])
    case.same(inside.code, 0, 'exit code', inside)
    case.same(inside.out, 'looked\n', 'consoles that can be opened inside', inside)
