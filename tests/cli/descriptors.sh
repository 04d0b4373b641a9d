# Descriptors the caller hands over, on purpose or not. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

echo secret >"$scratch/secret"
# What a shell inside sees of its own descriptors above 2; 255 and the one of the listing are its own.
list='for fd in /proc/self/fd/*; do [ "${fd##*/}" -gt 2 ] && [ -e "$fd" ] && readlink "$fd"; done; true'
is 'the control: a leaked descriptor reaches a command without a sandbox' 1 "$(sh -c "$list" 7<"$scratch/secret" | grep -c secret)"
is 'a leaked descriptor is closed' 0 "$(qs run -- sh -c "$list" 7<"$scratch/secret" | grep -c secret)"
is 'also a high one' 0 "$(ulimit -n 4096 2>/dev/null; qs run -- sh -c "$list" 1500<"$scratch/secret" | grep -c secret)"
is 'also a leaked folder' 0 "$(qs run -- sh -c "$list" 9</ | wc -l)"
is 'a descriptor is passed when named' secret "$(qs run --pass-fd 7 -- sh -c 'cat <&7' 7<"$scratch/secret")"
is 'two are' 'secret secret' "$(qs run --pass-fd 7 --pass-fd=8 -- sh -c 'echo $(cat <&7) $(cat <&8)' 7<"$scratch/secret" 8<"$scratch/secret")"
is 'its neighbours are not' 0 "$(qs run --pass-fd 7 -- sh -c "$list" 6<"$scratch/secret" 7</dev/null 8<"$scratch/secret" | grep -c secret)"
refused 'a descriptor to pass that is closed' '77' run --pass-fd 77 -- touch ran
refused 'a descriptor to pass that is no number' "number of an open descriptor" run --pass-fd x -- touch ran
refused 'a folder to pass' 'folder' run --pass-fd 7 -- touch ran 7</
refused 'the sandbox'\''s own channel to pass' 'own' run --events-fd 7 --pass-fd 7 -- touch ran 7>"$scratch/events"
refused 'a channel that is closed' '77' run --events-fd 77 -- touch ran
refused 'a result for a closed descriptor' '77' run --result-fd 77 -- touch ran
got=$(qs run -- touch ran </ 2>&1)
matches 'a folder as standard input is refused' 'descriptor 0 is a folder' "$got"
[ ! -e "$ws/ran" ]
ok $? 'and nothing ran'
python3 - "$QS" "$scratch" <<'PYTHON' >"$scratch/out" 2>&1
import os, subprocess, sys
place = os.open('/', os.O_PATH)
for stream in ('stdin', 'stdout', 'stderr'):
    run = subprocess.run([sys.argv[1], 'run', '--', 'touch', 'ran'], **{stream: place},
                         **{other: subprocess.DEVNULL for other in ('stdin', 'stdout', 'stderr') if other != stream})
    assert run.returncode == 125, (stream, run.returncode)
PYTHON
ok $? 'a descriptor that only names a place is refused as a stream' "$(cat "$scratch/out")"
[ ! -e "$ws/ran" ]
ok $? 'and nothing ran then'

cat >"$scratch/control.py" <<'PYTHON'
import socket, subprocess, sys
def run(order, command):
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.argv[1], 'run', '--control-fd', str(theirs.fileno()), '--'] + command,
                               pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    theirs.close()
    process.stdout.readline()
    ours.sendall(order)
    if not order:
        ours.close()
    return process.wait(timeout=60)
print(run(b'{"kill":15}\n', ['sh', '-c', 'trap "exit 7" TERM; echo; while :; do sleep 0.1; done']),
      run(b'{"kill":9}\n', ['sh', '-c', 'trap "" TERM; echo; sleep 600']),
      run(b'', ['sh', '-c', 'echo; sleep 600']))
PYTHON
is 'orders signal, kill, and end a run whose caller has gone' '7 137 137' \
	"$(timeout 100 python3 "$scratch/control.py" "$QS" 2>&1 | tail -n 1)"
