# The network's rules and options: what is refused, what is told. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

policy_file=$scratch/network.json
# KEY ENTRY WHERE-OF-THE-OPTION PATTERN: the entry is an error in a file, at its place, and as an option of a run.
bad_entry() {
	local got
	printf '{"network":{"%s":["1.example",%s]}}' "$1" "$2" >"$policy_file"
	[[ $1 == *Ports ]] && printf '{"network":{"%s":[1,%s]}}' "$1" "$2" >"$policy_file"
	got=$(qs policy check --json "$policy_file" 2>&1)
	is "$1 $2 is an error at its place" "/network/$1/1" "$(field 'r["error"]["where"]' <<<"$got")"
	matches 'and the message helps' "$4" "$(field 'r["error"]["message"]' <<<"$got")"
	refused "$1 $2 is none in a file of a run" "/network/$1/1.*$4" run --policy "$policy_file" -- touch ran
	refused "$1 $2 is none as an option" "$3.*$4" run --network filtered "$3" "${2//\"/}" -- touch ran
}
for key in allowedDomains deniedDomains; do
	option=--allow-domain
	[ "$key" = deniedDomains ] && option=--deny-domain
	bad_entry "$key" '"https://x"' "$option" 'write "x"'
	bad_entry "$key" '"a b"' "$option" 'write example.com'
	bad_entry "$key" '"*x.com"' "$option" 'write "\*\.x\.com"'
	bad_entry "$key" '"x.com:0"' "$option" 'from 1 to 65535, such as example.com:443'
	bad_entry "$key" '"x.com/path"' "$option" 'write "x.com"'
	bad_entry "$key" '"ada@x.com"' "$option" 'write "x.com"'
	bad_entry "$key" '"bücher.example"' "$option" 'xn--bcher-kva.example'
	bad_entry "$key" '"127.1"' "$option" '127\.0\.0\.1'
	bad_entry "$key" '"a..b"' "$option" 'example.com'
	bad_entry "$key" '"10.0.0.0/33"' "$option" '192.0.2.0/24'
done
for option in publish reach; do
	for port in 0 65536 -1; do
		bad_entry "${option}Ports" "$port" "--$option" 'from 1 to 65535'
	done
done
printf '{"network":{"publishPorts":[1,2],"reachPorts":[3,2]}}' >"$policy_file"
refused 'a port that is published and reached, in a file' '/network/reachPorts/1: .*/network/publishPorts/1' policy check "$policy_file"
refused 'and as options' '--reach: port 80 .*--publish' run --publish 80 --reach 80 -- touch ran
printf '{"network":{"mode":"filtered","allowedDomains":["*.com"]}}' >"$policy_file"
matches 'a whole ending is good, with a warning' '^warning: /network/allowedDomains/0 .*\*\.com means every name' \
	"$(qs policy check "$policy_file" && true)"
is 'a run takes it' 0 "$(status qs run --policy "$policy_file" -- true)"
matches 'and warns' '^qiming-sandbox: warning: \*\.com means every name' "$(cat "$scratch/err")"
is 'but not whoever reads JSON' '' "$(qs run --json --policy "$policy_file" -- true 2>&1 >/dev/null)"

judged() { qs explain --json "$@" | field '"%s %s %s" % (r["host"], r["port"], r["allowed"])'; } # OPTIONS… host HOST
rules=(--network filtered --allow-domain '*' --allow-domain 10.0.0.0/8 --deny-domain '*.evil.example' --allow-domain 'x.evil.example')
is 'a denial stands above what allows the same' 'x.evil.example 443 False' "$(judged "${rules[@]}" host X.evil.example.)"
is 'an address in a loose form is the address it is' '127.0.0.1 80 False' "$(judged "${rules[@]}" host 127.1:80)"
is 'a name with other letters is what is dialled' 'xn--bcher-kva.example 443 True' "$(judged "${rules[@]}" host bücher.example)"
is 'a listed range is reached' '10.0.0.7 443 True' "$(judged "${rules[@]}" host 10.0.0.7)"
is 'a private address is not what * means' '192.168.0.1 443 False' "$(judged "${rules[@]}" host 192.168.0.1)"
is 'a public one is' '192.0.2.1 443 True' "$(judged "${rules[@]}" host 192.0.2.1)"
for host in 169.254.169.254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1; do
	matches "$host is told as what it is" 'reach +no +built-in: metadata address' "$(qs explain "${rules[@]}" host $host)"
done
matches 'the own loopback is told, with what would reach it' '--reach 5432' "$(qs explain "${rules[@]}" host 127.0.0.1:5432)"
matches 'localhost is not what * means' 'reach +no +built-in' "$(qs explain "${rules[@]}" host localhost)"

# Proxies, and their passwords.
proxy='http://ada:hidden-word@proxy.example:3128'
printf '{"network":{"mode":"filtered","upstreamProxy":"%s"}}' "$proxy" >"$policy_file"
for command in 'policy show' 'policy show --json' explain 'explain --json'; do
	# shellcheck disable=SC2086
	got=$(qs $command --policy "$policy_file" 2>&1)
	[[ $got == *'ada:***@proxy.example:3128'* && $got != *hidden-word* ]]
	ok $? "$command names a proxy without its password" "$got"
	# shellcheck disable=SC2086
	got=$(HTTPS_PROXY=$proxy qs $command --network filtered --upstream-proxy environment 2>&1)
	[[ $got != *hidden-word* ]]
	ok $? "$command does not show that of the environment either" "$got"
done
refused 'a proxy spoken to in TLS' 'TLS.*http://host:port' run --network filtered --upstream-proxy "https${proxy#http}" -- touch ran
[[ $(cat "$scratch/err") != *hidden-word* ]]
ok $? 'and the message does not show its password'
refused 'a proxy without a scheme' 'http://.*socks5://' run --network filtered --upstream-proxy proxy.example:3128 -- touch ran
refused 'an unknown resolver' 'local, proxy' run --upstream-resolve nobody -- touch ran
got=$(HTTPS_PROXY=https://proxy.example status qs run --network filtered --upstream-proxy environment -- touch ran)
is 'a proxy of the environment that is spoken to in TLS is refused too' 125 "$got"
matches 'by the name of the variable' 'HTTPS_PROXY.*TLS' "$(cat "$scratch/err")"
is 'the command has proxy variables of the sandbox, not of the caller' 'http://127.0.0.1:3129 http://127.0.0.1:3129 localhost,127.0.0.1,::1 mine' \
	"$(HTTPS_PROXY=$proxy all_proxy=$proxy qs run --network filtered --publish 3128 --env http_proxy=mine -- sh -c 'echo $HTTPS_PROXY $all_proxy $NO_PROXY $http_proxy')"
is 'without a filtered network the caller'\''s stay' http://proxy.example "$(https_proxy=http://proxy.example qs run -- sh -c 'echo $https_proxy')"

# The log.
refused 'a log in a folder that is not there' 'No such file' run --network filtered --network-log "$scratch/none/log" -- touch ran
refused 'a folder as a log' 'is a folder' run --network filtered --network-log "$scratch" -- touch ran
refused 'an empty name of a log' 'needs the name' run --network filtered --network-log '' -- touch ran
refused 'a log of what is not seen' 'filtered' run --network host --network-log "$scratch/log" -- touch ran
mkfifo "$scratch/fifo"
refused 'a FIFO that nobody reads as a log' 'nobody reads' run --network filtered --network-log "$scratch/fifo" -- touch ran
ask='import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for host in sys.argv[2:]:
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"GET http://%b/ HTTP/1.1\r\nHost: %b\r\n\r\n" % (host.encode(), host.encode()))
    print(s.makefile("rb").readline().split()[1].decode())'
visit() { qs run --network filtered --allow-domain allowed.example "$@"; }
rm -f "$scratch/log"
is 'names under no rule are refused' $'403\n403\n403' \
	"$(visit --network-log "$scratch/log" -- python3 -c "$ask" 3128 denied.example denied.example:81 denied.example)"
is 'the log is the caller'\''s alone' 600 "$(stat -c %a "$scratch/log")"
is 'each connection is a line of it' '[("denied.example", 80), ("denied.example", 81), ("denied.example", 80)]' \
	"$(python3 -c 'import json, sys; print(str([(r["host"], r["port"]) for r in map(json.loads, open(sys.argv[1]))]).replace(chr(39), chr(34)))' "$scratch/log")"
is 'with its verdict and rule' 'denied /network/allowedDomains: no entry means it 0' \
	"$(head -n 1 "$scratch/log" | field '"%s %s %d" % (r["verdict"], r["rule"], r["received"] and 0)')"
visit --network-log "$scratch/log" -- python3 -c "$ask" 3128 denied.example >/dev/null
is 'a second run adds to it' 4 "$(wc -l <"$scratch/log")"
got=$(visit --json -- python3 -c "$ask" 3128 denied.example denied.example)
is 'refused connections are denials, one for a target' 'network connect denied.example:80 2 --allow-domain denied.example' \
	"$(field '" ".join(str(r["denials"][0][k]) for k in ("kind", "operation", "target", "count", "suggestion"))' <<<"$got")"
is 'the result has their number' 'filtered 2 2 False' \
	"$(field '"%s %d %d %s" % tuple([r["sandbox"]["network"][k] for k in ("mode", "connections", "denied")] + [r["sandbox"]["brokerLost"]])' <<<"$got")"
is 'a log that is full is told' 'No space left on device' \
	"$(visit --network-log /dev/full -- python3 -c "$ask" 3128 denied.example 2>&1 >/dev/null | grep -o 'No space left on device')"
is 'the command'\''s status stands' 0 "$(status visit --network-log /dev/full -- python3 -c "$ask" 3128 denied.example)"
exec 9<>"$scratch/fifo"
matches 'a log whose reader sleeps holds nothing up, and what it lacks is told' '^qiming-sandbox: [0-9]+ connections are missing in the network log' \
	"$(yes denied.example | head -n 700 | xargs "$QS" run --network filtered --network-log "$scratch/fifo" -- python3 -c "$ask" 3128 2>&1 >/dev/null)"
exec 9<&-

# Ports.
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(60)' >"$scratch/port" &
server=$!
for _ in $(seq 100); do [ -s "$scratch/port" ] && break; sleep 0.05; done
port=$(cat "$scratch/port")
refused 'a port to publish that is taken' "port $port .*is taken" run --publish "$port" -- touch ran
is 'a service of the host is reached at a port that is opened to it' 'reached' \
	"$(qs run --reach "$port" -- python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10); print("reached")' "$port")"
is 'and not at one that is not' 1 "$(status qs run -- python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)' "$port")"
kill "$server"
wait "$server" 2>/dev/null

# Questions.
refused 'questions without a place to ask' '--events-fd' run --network filtered --ask-network -- touch ran
refused 'questions without a place to answer' '--control-fd' run --network filtered --ask-network --events-fd 7 -- touch ran 7>/dev/null
refused 'a time for questions that are not asked' '--ask-network' run --ask-timeout 5 -- touch ran
refused 'a time that is none' 'number of seconds' run --ask-network --events-fd 7 --control-fd 7 --ask-timeout soon -- touch ran 7<>/dev/null
cat >"$scratch/asked.py" <<'PYTHON'
import json, os, subprocess, sys
program, answer, wait, *command = sys.argv[1:]
(events, told), (orders, order) = os.pipe(), os.pipe()
run = subprocess.Popen([program, 'run', '--network', 'filtered', '--ask-network', '--ask-timeout', wait, '--events-fd', str(told),
                        '--control-fd', str(orders), '--'] + command, pass_fds=(told, orders), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE)
os.close(told), os.close(orders)
asked = 0
for event in map(json.loads, os.fdopen(events)):
    if event['event'] == 'networkRequest':
        asked += 1
        assert (event['host'], event['port']) == ('asked.invalid', 80), event
        os.write(order, b'nonsense\n{"approve":7}\n{"approve":{"id":-1,"answer":"allow-run"}}\n')
        if answer != 'none':
            os.write(order, json.dumps({'approve': {'id': event['id'], 'answer': answer}}).encode() + b'\n')
print(*run.stdout.read().decode().split(), 'asked', asked, 'ended', run.wait(timeout=60))
PYTHON
asked() { timeout 60 python3 "$scratch/asked.py" "$QS" "$1" "$2" python3 -c "$ask" 3128 asked.invalid asked.invalid; }
is 'a denial is an answer, each time' '403 403 asked 2 ended 0' "$(asked deny 60)"
is 'an allowance for once is asked for again' '502 502 asked 2 ended 0' "$(asked allow-once 60)"
is 'one for the run is not' '502 502 asked 1 ended 0' "$(asked allow-run 60)"
is 'no answer is a refusal' '403 403 asked 2 ended 0' "$(asked none 0.2)"
is 'a word that is none is no answer' '403 403 asked 2 ended 0' "$(asked yes 0.2)"

# A broker that dies (A-fail-3): the command goes on, without a network, and that is said.
cat >"$scratch/orphan.py" <<'PYTHON'
import json, os, subprocess, sys, time
def children(pid):
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{entry}/stat') as stat:
                name, rest = stat.read().split('(', 1)[1].rsplit(')', 1)
            if int(rest.split()[1]) == pid:
                yield int(entry), name
        except OSError:
            pass
script = 'echo on; read line; ' + sys.argv[2] + ' || echo dead; echo alive'
run = subprocess.Popen([sys.argv[1], 'run', '--network', 'filtered', '--allow-domain', '*', '--result-fd', '1', '--', 'sh', '-c', script],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert run.stdout.readline() == b'on\n'
brokers = [pid for pid, name in children(run.pid) if name == 'qsb-broker']
assert len(brokers) == 1, list(children(run.pid))
os.kill(brokers[0], 9)
out, err = run.communicate(b'go\n', timeout=60)
*said, last = out.decode().splitlines()
result = json.loads(last)
denial = [(d['kind'], d['operation']) for d in result['denials'] if d['operation'] == 'broker']
print(*said, result['exitCode'], result['sandbox']['brokerLost'], denial, b'lost its network' in err)
PYTHON
is 'a command outlives its broker, without a network, and it is said' "dead alive 0 True [('network', 'broker')] True" \
	"$(timeout 90 python3 "$scratch/orphan.py" "$QS" 'timeout 20 python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 3128), 10).sendall(b\"x\")" 2>/dev/null' 2>&1 | tail -n 1)"
