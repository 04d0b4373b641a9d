# `explain`: what may be done, in words and as JSON, and it agrees with `run`. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016,SC2088

mkdir -p "$HOME/.ssh" "$ws/.git/hooks" && echo key >"$HOME/.ssh/id" && : >"$ws/.git/config"
matches 'the whole plan names the workspace' 'It may read and write:.*/ws ' "$(qs explain 2>&1 | tr '\n' ' ')"
# The home folder of these tests lies below /tmp: with the host's /tmp it can be seen at all.
matches 'it names the secrets' "$HOME/\.ssh +built-in: secrets" "$(qs explain --tmp host 2>&1)"
matches 'it names the limits and where they come from' 'timeout +7 +command line' "$(qs explain --timeout 7 2>&1)"
matches 'it names the variables that are left out' 'MY_TOKEN' "$(MY_TOKEN=hidden-value qs explain 2>&1)"
got=$(MY_TOKEN=hidden-value qs explain --env MY_TOKEN 2>&1; MY_TOKEN=hidden-value qs explain --json --env MY_TOKEN 2>&1)
[[ $got != *hidden-value* ]]
ok $? 'no value of the environment is shown'

readable() { qs explain --tmp host --json path "$1" | field '"%s %s" % (r["read"], r["write"])'; }
is 'a file of the workspace may be read and written' 'True True' "$(readable "$ws/file")"
is 'a secret may not be read' 'False False' "$(readable '~/.ssh/id')"
is 'git hooks may be read only' 'True False' "$(readable .git/hooks/pre-commit)"
is 'a program may be read only' 'True False' "$(readable /bin/sh)"
is 'as it says, the secret is not read' 1 "$(status qs run --tmp host -- cat "$HOME/.ssh/id")"
is 'and the hook is not made' no "$(qs run -- sh -c 'echo x >.git/hooks/pre-commit' 2>/dev/null || echo no)"
fix=$(qs explain --tmp host --json path '~/.ssh/id' | field 'r["fix"]')
matches 'it names an option that would allow it' '^--read ' "$fix"
# shellcheck disable=SC2086
is 'and the option does' key "$(qs run --tmp host $fix -- cat "$HOME/.ssh/id" 2>&1)"

is 'in the private /tmp nothing of the host is seen' True "$(qs explain --json path '~/.ssh/id' | field 'r["own"]')"

matches 'a host is out of reach with the network off' 'reach +no +/network/mode: off' "$(qs explain host example.com 2>&1)"
matches 'a host is judged by the rules' 'reach +yes +/network/allowedDomains: \*\.example\.com' \
	"$(qs explain --network filtered --allow-domain '*.example.com' host WWW.Example.com. 2>&1)"
refused 'what is no host' 'example.com' explain host https://example.com/x
refused 'an unknown question' 'path' explain pathh x
refused 'a question without its operand' 'explain path' explain path
matches 'a command is looked up' 'Command: sh, which is /.*/sh' "$(qs explain -- sh -c true 2>&1)"
matches 'one that is missing is told' '127' "$(qs explain -- no-such-program 2>&1)"
is 'a command that reads like a question is a command' 0 "$(status qs explain -- path)"
is 'the whole plan as JSON is an object' True \
	"$(qs explain --json | field '{"files", "network", "limits", "environment", "notEnforced"} <= set(r)')"

mkdir -p "$ws/~" && printf '#!/bin/sh\n' >"$ws/~/tool" && chmod +x "$ws/~/tool"
matches 'a command below a folder named ~ is found where a run finds it' "which is $ws/~/tool" \
	"$(qs explain -- '~/tool' | head -n 1)"
is 'and runs' 0 "$(status qs run -- '~/tool')"
matches 'its path is told in full' "which is $ws/~/tool" "$(qs explain -- './~//tool' | head -n 1)"
matches 'a path from the root is as it is' 'Command: /bin/sh$' "$(qs explain -- /bin/sh | head -n 1)"
rm -r "${ws:?}/~"
