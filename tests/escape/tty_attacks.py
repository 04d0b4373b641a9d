"""Terminal: the caller's terminal is not the command's to drive."""
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
