# What doctor tells, its self-test, and a host that has no user namespaces. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154

is 'doctor ends well where a run would' 0 "$(status qs doctor)"
matches 'it names the back end' 'held to its policy, by namespaces' "$(cat "$scratch/out")"
matches 'and what holds the memory' '^ *memory +2g +(cgroup|watch)$' "$(cat "$scratch/out")"
is 'without a terminal it has no colours' 0 "$(grep -c $'\e' "$scratch/out")"
is 'in a locale without UTF-8 it is ASCII' 0 "$(LC_ALL=C qs doctor | LC_ALL=C grep -c '[^ -~]')"
matches 'in one with UTF-8 it has signs' '✓' "$(LC_ALL=C.UTF-8 qs doctor)"
j=$(qs doctor --json)
is 'as JSON: the back end' namespaces "$(field 'r["backend"]' <<<"$j")"
is 'its facts have a name, a state, a detail and a fix' True \
	"$(field 'all({"name","ok","needed","detail","fix"} == set(f) for b in r["backends"] for f in b["facts"])' <<<"$j")"
is 'every limit has a holder' True "$(field 'len(r["limits"]) > 8 and all(l["by"] for l in r["limits"])' <<<"$j")"
is 'limits, what is enforced and what is not are as a run says' True "$(python3 - "$j" "$(qs run --json -- true)" <<'PYTHON'
import json, sys
doctor, run = (json.loads(text) for text in sys.argv[1:])
print({l['name']: l['by'] for l in doctor['limits']} == run['sandbox']['limitsBy']
      and doctor['enforced'] == run['sandbox']['enforced']
      and {g['what'] for g in run['sandbox']['notEnforced']} <= {g['what'] for g in doctor['notEnforced']})
PYTHON
)"
is 'a filtered network is enforced, and ports can be published and reached' False \
	"$(field 'any(word in g["what"] for g in r["notEnforced"] for word in ("filtered", "ports"))' <<<"$j")"
is 'a filtered network was tried' True \
	"$(field '[f for b in r["backends"] for f in b["facts"] if f["name"] == "filtered network"][0]["ok"]' <<<"$j")"
refused 'doctor takes no argument' "'x'" doctor x

# A terminal of util-linux's script: colours, unless they are not wanted.
terminal() { TERM=xterm script -qec "$*" /dev/null </dev/null; }
matches 'on a terminal it has colours' $'\e\\[32m' "$(terminal "$QS" doctor)"
is 'NO_COLOR is respected' 0 "$(NO_COLOR=1 terminal "$QS" doctor | grep -c $'\e')"

# The policy that counts here.
printf '{"limits":{"memory":"x"}}' >"$ws/.qiming-sandbox.json"
is 'a file that is no policy: a run would refuse, and so does doctor' 125 "$(status qs doctor)"
matches 'it names the place' '/limits/memory' "$(cat "$scratch/out")"
is 'and the file' 'cannot be used' "$(qs doctor --json | field 'r["files"][2]["state"]')"
printf '{"limits":{"memory":"1g"}}' >"$ws/.qiming-sandbox.json"
is 'a file that is one is in use' 'in use' "$(qs doctor --json | field 'r["files"][2]["state"]')"
is 'its limit is shown' 1g "$(qs doctor --json | field 'r["limits"][0]["value"]')"
mv "$ws/.qiming-sandbox.json" "$scratch/elsewhere"
ln -s "$scratch/elsewhere" "$ws/.qiming-sandbox.json"
is 'behind a link it would be refused' 'cannot be used' "$(qs doctor --json | field 'r["files"][2]["state"]')"
rm "$ws/.qiming-sandbox.json"

# The self-test. Its folder is in the cache, where there is one.
export XDG_CACHE_HOME=$scratch/cache
mkdir "$XDG_CACHE_HOME"
code=$(status qs doctor --json --self-test)
j=$(cat "$scratch/out")
is 'the self-test has its rows' True "$(field 'len(r["selfTest"]["rows"]) > 20' <<<"$j")"
rows() { # VERDICT: the rows that have it
	field "'; '.join(x['name'] + ': ' + x['detail'] for x in r['selfTest']['rows'] if x['verdict'] == '$1')" <<<"$j"
}
is 'no attack gets through' '' "$(rows 'NOT HELD')"
is 'the exit status says whether all were held' "$(field '0 if r["selfTest"]["held"] else 125' <<<"$j")" "$code"
untold=$(rows 'cannot tell')
if [ -n "$untold" ] && grep -q 'without the sandbox it fails too' <<<"$untold"; then
	skip 'every attack could be tried here' "$untold"
else
	is 'every attack could be tried here' '' "$untold"
fi
is 'nothing of it is left behind' '' "$(ls -A "$XDG_CACHE_HOME")"
for signal in KILL TERM INT; do
	"$QS" doctor --self-test >/dev/null 2>&1 &
	doctor=$!
	for _ in $(seq 200); do [ -n "$(ls "$XDG_CACHE_HOME"/*/ws 2>/dev/null)" ] && break; sleep 0.01; done
	began=$(ls "$XDG_CACHE_HOME")
	kill "-$signal" "$doctor"
	wait "$doctor" 2>/dev/null
	for _ in $(seq 500); do [ -z "$(ls -A "$XDG_CACHE_HOME")" ] && break; sleep 0.02; done
	[ -n "$began" ] && [ -z "$(ls -A "$XDG_CACHE_HOME")" ]
	ok $? "nor when SIG$signal ends doctor in the middle of it" "began: $began; left: $(ls -A "$XDG_CACHE_HOME")"
done

# A host without user namespaces: a namespace of ours in which no further one may be made.
without() { # COMMAND…
	# shellcheck disable=SC2016
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$@"
}
if without true 2>/dev/null; then
	cause='user namespaces are switched off .*; to fix it: sudo sysctl -w user.max_user_namespaces='
	qs() { without timeout -k 1 60 "$QS" "$@"; }
	refused 'without user namespaces a run gives the cause and the fix, and nothing runs' "$cause" run -- touch ran
	is 'doctor ends with 125' 125 "$(status qs doctor)"
	matches 'doctor gives the cause and the fix' "$cause" "$(cat "$scratch/out")"
	j=$(qs doctor --json)
	is 'also as JSON' True "$(field 'not r["usable"] and r["backend"] is None and "sysctl" in r["cause"]' <<<"$j")"
	is 'the self-test is not begun' True "$(qs doctor --json --self-test | field '"selfTest" not in r')"
	qs() { timeout -k 1 60 "$QS" "$@"; }
else
	skip 'a host without user namespaces' 'unshare -Ur cannot switch them off here'
fi
