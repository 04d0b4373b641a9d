"""Processes that try to outlive their sandbox, and callers that die."""
import os
import signal
import time

from harness import row
from harness_host import descendants, program_name


def beats(case, name='heart'):
    """How many dots the attack's heart has written."""
    try:
        return os.path.getsize(os.path.join(case.work, name))
    except OSError:
        return 0


def still_beats(case, name='heart'):
    """Does it go on writing? Looks for half a second, as a heart beats every 10 ms."""
    before = beats(case, name)
    time.sleep(0.5)
    return beats(case, name) > before


def lives_on(case, name='heart', patience=5):
    """The same for controls: a busy machine may need longer for one beat."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if still_beats(case, name):
            return True
    return False


def prove_daemon(case, attack):
    """Outside the daemon lives on after its parent; it is then ended and its trace removed."""
    outside = case.plain(attack)
    alive = outside.code == 0 and lives_on(case)
    case.end_below()
    case.control(alive, f'a daemon does not live on outside: {outside.describe()}')
    os.unlink(os.path.join(case.work, 'heart'))


@row('A-proc-4', 'a daemon by double fork and setsid is dead when the command has ended')
def daemon(case):
    attack = [case.attack, 'daemon', 'heart']
    prove_daemon(case, attack)
    case.worked(case.inside(attack))
    case.check(beats(case) > 0, 'the daemon never ran inside')
    case.check(not still_beats(case), 'the daemon lives on')


@row('A-proc-4', 'a daemon that holds the output is dead too, and the call returns, with and without --json')
def daemon_with_streams(case):
    attack = [case.attack, 'daemon', 'heart', 'keep']
    outside = case.plain(attack, patience=2)
    alive = outside.hung or lives_on(case)
    case.end_below()
    case.control(alive, 'a daemon does not live on outside')
    os.unlink(os.path.join(case.work, 'heart'))
    case.worked(case.inside(attack))
    case.check(beats(case) > 0 and not still_beats(case), 'the daemon lives on, or never ran')
    answer = case.result(attack)
    case.same(answer['exitCode'], 0, 'exit code with --json', answer['outcome'])
    case.check(not still_beats(case), 'the daemon lives on after --json')


@row('A-proc-4', 'a daemon is dead when the command ended by a signal')
def daemon_after_signal(case):
    prove_daemon(case, [case.attack, 'daemon', 'heart'])
    outcome = case.inside(['sh', '-c', f'{case.attack} daemon heart; kill -KILL $$'])
    case.same(outcome.code, 137, 'exit code', outcome)
    case.check(beats(case) > 0 and not still_beats(case), 'the daemon lives on, or never ran')


@row('A-proc-4', 'a daemon is dead when --tty ends')
def daemon_of_terminal(case):
    attack = [case.attack, 'daemon', 'heart']
    prove_daemon(case, attack)
    terminal = case.terminal(case.sandboxed(attack, ['--tty']))
    case.same(terminal.wait(), 0, f'exit code; it printed {terminal.seen!r}')
    case.check(beats(case) > 0 and not still_beats(case), 'the daemon lives on, or never ran')


def start_heart(case, options=(), **keywords):
    """A command inside that ignores every signal, with a daemon beside it. Returns the supervisor's process."""
    process = case.popen(case.sandboxed(['sh', '-c', f'{case.attack} daemon second; exec {case.attack} heart heart'],
                                        options), **keywords)
    case.cleanups.append(process.kill)
    case.wait_until(lambda: process.poll() is not None or (beats(case) and beats(case, 'second')), 'the hearts beat')
    case.same(process.poll(), None, 'the supervisor ended early')
    return process


def check_death(case, process, code, by_what):
    outcome = case.finish(process)
    case.check(not outcome.hung, f'the call does not return after {by_what}', outcome)
    if code is not None:
        # A command that ignores the forwarded signal is killed in the end: 137 is true as well.
        case.check(outcome.code in (code, 137), f'exit code after {by_what} is neither {code} nor 137', outcome)
    else:
        case.check(outcome.code != 0, f'success after {by_what}', outcome)
    case.check(not still_beats(case) and not still_beats(case, 'second'), f'processes live on after {by_what}')


def supervisor_dies(number):
    @row('A-proc-5', f'the supervisor dies by {number.name}: the whole tree dies')
    def dies(case):
        prove_daemon(case, [case.attack, 'daemon', 'heart'])
        for options in ([], ['--json']):
            process = start_heart(case, options)
            process.send_signal(number)
            check_death(case, process, 128 + number, f'{number.name} with options {options}')
    dies.__name__ = f'supervisor_{number.name.lower()}'
    return dies


for signal_number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    supervisor_dies(signal_number)


@row('A-proc-5', 'a supervisor that dies by SIGSEGV or SIGABRT from outside takes the tree with it')
def supervisor_crashes(case):
    prove_daemon(case, [case.attack, 'daemon', 'heart'])
    for number in (signal.SIGSEGV, signal.SIGABRT):
        process = start_heart(case)
        process.send_signal(number)
        check_death(case, process, None, number.name)


@row('A-proc-5', 'a SIGTERM to the supervisor lets the command clean up before it ends')
def command_cleans_up(case):
    script = ['sh', '-c', 'trap "echo cleaned >cleaned; exit 7" TERM; echo >ready; sleep 600 & wait $!; wait']
    for argv in (script, case.sandboxed(script)):
        for name in ('cleaned', 'ready'):
            if os.path.exists(os.path.join(case.work, name)):
                os.unlink(os.path.join(case.work, name))
        process = case.popen(argv)
        case.cleanups.append(process.kill)
        case.wait_until(lambda: os.path.exists(os.path.join(case.work, 'ready')), 'the command is ready')
        process.terminate()
        if argv is script:
            process.wait()
            case.end_below()
            case.control(os.path.exists(os.path.join(case.work, 'cleaned')), 'a trap does not run outside')
        else:
            outcome = case.finish(process)
            case.check(os.path.exists(os.path.join(case.work, 'cleaned')), 'the trap did not run', outcome)


@row('A-proc-5', 'whichever of our processes is killed, the whole tree dies')
def any_process_dies(case):
    prove_daemon(case, [case.attack, 'daemon', 'heart'])
    def ours(process):
        return [pid for pid in descendants(process.pid) if program_name(pid) not in ('escape-attack', 'sh', '')]

    killed = 0
    for index in range(8):
        process = start_heart(case)
        now = ours(process)
        if index < len(now):
            os.kill(now[index], signal.SIGKILL)
            killed += 1
            time.sleep(0.3)
        # A process that guards nothing may die alone, as long as the supervisor still holds the tree.
        if process.poll() is None:
            process.terminate()
        check_death(case, process, None, f'SIGKILL of our process {index} of {len(now)}')
        if index >= len(now):
            break
    case.check(killed, 'there is no process of ours below the supervisor')


@row('A-proc-5', 'the terminal goes away: the whole tree dies')
def terminal_goes_away(case):
    prove_daemon(case, [case.attack, 'daemon', 'heart'])
    for options in ([], ['--tty']):
        for name in ('heart', 'second'):
            if beats(case, name):
                os.unlink(os.path.join(case.work, name))
        script = ['sh', '-c', f'{case.attack} daemon second; exec {case.attack} heart heart']
        terminal = case.terminal(case.sandboxed(script, options))
        case.wait_until(lambda: beats(case) and beats(case, 'second'), f'the hearts beat, {options}')
        terminal.hang_up()
        case.wait_until(lambda: not still_beats(case) and not still_beats(case, 'second'),
                        f'the tree dies after the terminal went away, {options}')


@row('A-proc-5', 'the launcher dies while the sandbox is being made: nothing stays')
def killed_early(case):
    prove_daemon(case, [case.attack, 'daemon', 'heart'])
    for step in range(80):
        process = case.popen(case.sandboxed([case.attack, 'heart', 'heart']))
        time.sleep(step / 4000)
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    # The last one's tree may be dying just now.
    case.wait_until(lambda: not still_beats(case), 'no command lives on')


@row('A-proc-6', 'a timeout ends the call while a grandchild holds the output')
def timeout_with_grandchild(case):
    script = ['sh', '-c', f'{case.attack} heart heart & {case.attack} daemon second keep; exec sleep 600']
    outside = case.plain(['timeout', '1', *script], patience=3)
    case.end_below()
    case.control(outside.hung, 'a grandchild that holds the output does not hold up a caller outside')
    answer = case.result(script, ['--timeout', '1'])
    case.same((answer['exitCode'], answer['timedOut']), (124, True), 'exitCode and timedOut', answer['outcome'])
    case.check(not answer['outcome'].hung, 'the call hung')
    case.check(not still_beats(case) and not still_beats(case, 'second'), 'the tree lives on')
    outcome = case.inside(script, ['--timeout', '1'])
    case.same((outcome.code, outcome.hung), (124, False), 'exit code without --json, hung', outcome)
    case.check(not still_beats(case) and not still_beats(case, 'second'), 'the tree lives on')


@row('A-proc-6', 'a timeout ends the call while nobody reads its output')
def timeout_without_reader(case):
    # The pipe's other end is held open and never read: what is written to it waits for ever.
    script = ['sh', '-c', f'{case.attack} daemon second keep; exec yes']
    for argv in (['timeout', '1', *script], case.sandboxed(script, ['--timeout', '1', '--output', '8m']),
                 case.sandboxed(script, ['--timeout', '1'])):
        reader, writer = os.pipe()
        process = case.popen(argv, stdout=writer)
        os.close(writer)
        outcome = case.finish(process, patience=20)
        os.close(reader)
        if argv[0] == 'timeout':
            alive = lives_on(case, 'second')
            case.end_below()
            case.control(alive, 'a daemon does not outlive timeout(1) outside')
            continue
        case.same((outcome.code, outcome.hung), (124, False), 'exit code, hung', outcome)
        case.check(not still_beats(case, 'second'), 'the tree lives on', outcome)


@row('A-proc-6', 'a timeout ends the call while a terminal holds the command')
def timeout_of_terminal(case):
    script = ['sh', '-c', f'{case.attack} daemon second keep; exec {case.attack} heart heart']
    outside = case.plain(['timeout', '1', *script], patience=3)
    case.end_below()
    case.control(outside.hung, 'a command that ignores signals ends by timeout(1) outside')
    terminal = case.terminal(case.sandboxed(script, ['--tty', '--timeout', '1']))
    case.same(terminal.wait(), 124, f'exit code; it printed {terminal.seen!r}')
    case.check(not still_beats(case) and not still_beats(case, 'second'), 'the tree lives on')


def outlive(case, script, name='heart'):
    """A command that outlives timeout(1) outside, and must be dead at the sandbox's limit."""
    outside = case.plain(['timeout', '1', *script], patience=2.5)
    alive = outside.hung or lives_on(case, name)
    case.end_below()
    case.control(alive, 'this does not outlive timeout(1) outside')
    if os.path.exists(os.path.join(case.work, name)):
        os.unlink(os.path.join(case.work, name))
    answer = case.result(script, ['--timeout', '1'])
    case.same((answer['exitCode'], answer['timedOut']), (124, True), 'exitCode and timedOut', answer['outcome'])
    case.check(not still_beats(case, name), 'it lives on after the limit')


@row('A-res-5', 'a command that ignores SIGTERM and all that can be ignored is dead at the limit')
def ignores_signals(case):
    outlive(case, [case.attack, 'heart', 'heart'])


@row('A-res-5', 'a command that has stopped itself is dead at the limit')
def stopped(case):
    script = ['/usr/bin/python3', '-c', 'import os, signal; signal.signal(15, signal.SIG_IGN)\n'
              'while True: os.kill(os.getpid(), 19)']
    outlive(case, script)


@row('A-res-5', 'a background process in a session of its own is dead at the limit')
def background(case):
    outlive(case, ['sh', '-c', f'setsid {case.attack} heart heart & sleep 600'])


@row('A-res-5', 'a crowd of processes that ignore signals is dead at the limit')
def crowd(case):
    outlive(case, ['sh', '-c', f'for i in $(seq 60); do {case.attack} heart heart & done; exec sleep 600'])


@row('A-res-5', 'processes that replace themselves all the time are dead at the limit')
def replacing(case):
    script = case.script('again', '#!/bin/sh\nprintf . >>heart\n[ -e stop ] || { setsid "$0" >/dev/null 2>&1 & }\n')
    outcome = case.plain(['sh', '-c', f'{script}; sleep 0.5'])
    alive = lives_on(case)
    case.write('stop')
    case.end_below()
    case.control(alive and outcome.code == 0, 'a chain of processes does not live on outside')
    os.unlink(os.path.join(case.work, 'stop'))
    os.unlink(os.path.join(case.work, 'heart'))
    answer = case.result(['sh', '-c', f'{script}; sleep 600'], ['--timeout', '1'])
    case.same((answer['exitCode'], answer['timedOut']), (124, True), 'exitCode and timedOut', answer['outcome'])
    case.check(beats(case) > 1 and not still_beats(case), 'the chain lives on, or never ran')


@row('W-proc-1', 'under nohup a hang-up ends neither the sandbox nor the command')
def nohup(case):
    script = ['sh', '-c', 'echo >ready; i=0; while [ ! -e go ]; do sleep 0.05; done; exit 6']
    for argv in (script, case.sandboxed(script)):
        for name in ('ready', 'go'):
            if os.path.exists(os.path.join(case.work, name)):
                os.unlink(os.path.join(case.work, name))
        process = case.popen(['nohup', *argv])
        case.cleanups.append(process.kill)
        case.wait_until(lambda: os.path.exists(os.path.join(case.work, 'ready')), 'the command is ready')
        process.send_signal(signal.SIGHUP)
        case.pause(0.3)
        alive = process.poll() is None
        case.write('go')
        outcome = case.finish(process)
        if argv is script:
            case.control(alive and outcome.code == 6, 'nohup does not work outside')
        else:
            case.check(alive, 'the hang-up ended it', outcome)
            case.same(outcome.code, 6, 'exit code', outcome)
