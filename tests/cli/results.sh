# What a run gives back. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

is 'output passes' hi "$(qs run -- echo hi)"
is '-c is text for a shell' 3 "$(qs run -c 'echo $((1 + 2))')"
is 'words behind -c are its arguments' 'zero one' "$(qs run -c 'echo $0 $1' zero one)"
is 'a success prints nothing of its own' '' "$(qs run -- true 2>&1)"
is 'the exit code passes' 43 "$(status qs run -- sh -c 'exit 43')"
is 'a failure prints nothing of its own where stderr is no terminal' '' "$(qs run -- false 2>&1)"
is 'a signal is 128 and its number' 143 "$(status qs run -- sh -c 'kill -TERM $$')"
is 'a limit in time is 124' 124 "$(status qs run --timeout 1 -- sleep 9)"
is 'a command that is not found is 127' 127 "$(status qs run -- npmm)"
is 'and is told as a shell does' 'qiming-sandbox: npmm: command not found' "$(cat "$scratch/err")"
is 'a path that is not there is 127' 127 "$(status qs run -- /no/such/program)"
is 'and is named' 'qiming-sandbox: /no/such/program: No such file or directory' "$(cat "$scratch/err")"
is 'an empty name is 127' 127 "$(status qs run -- '')"
touch plain && mkdir -p folder
is 'a file that is not executable is 126' 126 "$(status qs run -- ./plain)"
is 'and is told' 'qiming-sandbox: ./plain: Permission denied' "$(cat "$scratch/err")"
is 'a folder is 126' 126 "$(status qs run -- ./folder)"
is 'an exit code of 127 by the command itself is its own' 127 "$(status qs run -- sh -c 'exit 127')"
is 'and is not explained' '' "$(cat "$scratch/err")"
is 'an interpreter that is not there is not the command missing' 127 \
	"$(printf '#!/no/such/interpreter\n' >script; chmod +x script; status qs run -- ./script)"
is 'standard input passes' typed "$(echo typed | qs run -- cat)"
is 'a closed standard input is the end of file' 0 "$(status qs run -- cat <&-)"
is 'closed output streams do no harm' 5 "$(qs run -- sh -c 'exit 5' >&- 2>&-; echo $?)"

for options in '--network off' '--memory 512m' '--cpus 1' '--timeout 60' '--processes 100' '--output 64k' "--write $ws" \
	"--read $ws" "--deny-write $ws/x" "--deny-read $ws/y" '--preset workspace' '--env A=b' '--env HOME' '--memory=512m' \
	'--open-files 100' '--tmp-size 64m' '--file-size 1m' '--timeout 1.5' '--timeout 1m' '--timeout none' \
	'--memory none --timeout 60' "--workspace $ws" "--cwd $ws" '--capture' '--network off --network=off'; do
	# shellcheck disable=SC2086
	[ "$(status qs run $options -- true)" = 0 ]
	ok $? "$options is accepted" "$(cat "$scratch/err")"
done
is 'a variable is set' b "$(qs run --env A=b -- sh -c 'echo $A')"
is 'a value keeps its equals signs and spaces' 'b=c d' "$(qs run --env 'A=b=c d' -- sh -c 'echo "$A"')"
is 'a secret variable is passed when named' s3cret "$(MY_TOKEN=s3cret qs run --env MY_TOKEN -- sh -c 'echo $MY_TOKEN')"
is 'and is not otherwise' '' "$(MY_TOKEN=s3cret qs run -- sh -c 'echo $MY_TOKEN')"
mkdir -p sub
is 'the command starts in the current folder' "$ws/sub" "$(cd sub && qs run --workspace "$ws" -- pwd)"
is 'or in the workspace, when called from elsewhere' "$ws" "$(cd / && qs run --workspace "$ws" -- pwd)"
is 'or where --cwd says' "$ws/sub" "$(qs run --cwd sub -- pwd)"

json=$(qs run --json -- sh -c 'echo out; echo err >&2; exit 3')
is 'a result is one line' 1 "$(wc -l <<<"$json")"
is 'it has the exit code' 3 "$(field 'r["exitCode"]' <<<"$json")"
is 'it has the output' "'out\\n'" "$(field 'repr(r["stdout"])' <<<"$json")"
is 'it has the error output' "'err\\n'" "$(field 'repr(r["stderr"])' <<<"$json")"
is 'it has every field' 'set()' "$(field 'set("exitCode signal stdout stderr timedOut outOfMemory truncated".split() +
"durationMs usage denials findings findingsLeftOut sandbox".split()) - set(r)' <<<"$json")"
is 'it tells usage' 'maxRssBytes processes sysMs userMs' "$(field '" ".join(sorted(r["usage"]))' <<<"$json")"
is 'it tells what was enforced, by what' 'set()' "$(field '{"backend", "enforced", "limitsBy"} - set(r["sandbox"])' <<<"$json")"
is 'the exit status is the command'\''s with --json too' 3 "$(status qs run --json -- sh -c 'exit 3')"
is 'nothing was cut' '[False, False]' "$(field '[r["truncated"][k] for k in ("stdout", "stderr")]' <<<"$json")"
is 'a cut is told' True "$(qs run --json --output 64k -- sh -c 'yes | head -c 1000000' | field 'r["truncated"]["stdout"]')"
is 'a timeout is told' '[True, 124]' "$(qs run --json --timeout 1 -- sleep 9 | field '[r["timedOut"], r["exitCode"]]')"
is 'a signal is told' "['SIGTERM', 143]" "$(qs run --json -- sh -c 'kill $$' | field '[r["signal"], r["exitCode"]]')"
is 'a command not found is told' 127 "$(qs run --json -- npmm 2>/dev/null | field 'r["exitCode"]')"
is 'output that is no UTF-8 still gives JSON' 0 "$(qs run --json -- printf '\377\0\033x' | field 'r["exitCode"]')"
is 'a failure is JSON too' '[125, True]' \
	"$(qs run --json --memory 1 -- true 2>/dev/null | field '[r["exitCode"], len(r["error"]["message"]) > 0]')"
is 'a failure has its exit status with --json' 125 "$(status qs run --json --memory 1 -- true)"
qs run --result-fd 7 -- sh -c 'echo hi' 7>"$scratch/result" >"$scratch/out"
is '--result-fd leaves the output alone' hi "$(cat "$scratch/out")"
is 'and gets the result' 0 "$(field 'r["exitCode"]' <"$scratch/result")"
qs run --result-fd 7 --memory 1 -- true 7>"$scratch/result" 2>/dev/null
is 'it gets a failure too' 125 "$(field 'r["exitCode"]' <"$scratch/result")"
qs run --capture --result-fd 7 -- sh -c 'echo hi' 7>"$scratch/result" >"$scratch/out"
is '--capture keeps the output for it' 'hi|' "$(field 'r["stdout"].strip()' <"$scratch/result")|$(cat "$scratch/out")"
is 'events are lines of JSON' 0 "$(qs run --events-fd 8 -- true 8>"$scratch/events"; python3 -c '
import json, sys
[json.loads(line) for line in sys.stdin]' <"$scratch/events"; echo $?)"

is 'doctor tells JSON' True "$(qs doctor --json | field 'isinstance(r, dict)')"
is 'explain tells JSON' True "$(qs explain --json path "$ws/f" | field 'isinstance(r, dict)')"
is 'the schema is one' True "$(qs policy schema | field '"$schema" in r')"
is 'policy show tells JSON' True "$(qs policy show --json | field 'isinstance(r, dict)')"
mkdir -p closed && chmod 000 closed
is 'a folder of PATH that may not be entered does not make a missing command a refused one' 127 \
	"$(PATH=$ws/closed:$PATH status qs run -- npmm)"
chmod 755 closed
is 'a name cannot write to the terminal' 'qiming-sandbox: ?[31mred?: command not found' \
	"$(qs run -- $'\033[31mred\a' 2>&1)"
folder=$scratch/$'\033[31mred\377'
mkdir "$folder"
is 'nor can the name of a workspace' "wrote $scratch/?[31mred?/.qiming-sandbox.json" \
	"$(qs policy init --project --workspace "$folder")"
is 'explain --json gives what is no UTF-8 as U+FFFD' True \
	"$(qs explain --json --workspace "$folder" | field 'r["workspace"].endswith("\x1b[31mred\ufffd")')"
rm -r "$folder"
