# Policies that are no policy. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

p=$scratch/p
bad() { # NAME PATTERN: the file $p as a policy
	refused "$1: run" "$2" run --policy "$p" -- touch ran
	refused "$1: policy check" "$2" policy check "$p"
}

printf '{"network":{"mode":"off"}}' >"$p"
is 'a good policy is accepted' 0 "$(status qs run --policy "$p" -- true)"
is 'policy check accepts it' 0 "$(status qs policy check "$p")"
is 'a policy comes through a descriptor' 0 "$(status qs run --policy-fd 5 -- true 5<"$p")"
is 'also through a pipe' 0 "$(status qs run --policy-fd 5 -- true 5< <(cat "$p"))"
is 'it holds' 9 "$(qs run --policy-fd 5 -- sh -c 'echo $N' 5< <(echo '{"environment":{"set":{"N":"9"}}}'))"
rm "$p"
bad 'a policy that is missing' 'p'
: >"$p"
bad 'an empty policy' 'empty'
printf '{"netwrok":{}}' >"$p"
bad 'an unknown key' 'did you mean.*network'
printf '{"network":{"mode":"of"}}' >"$p"
bad 'an unknown word' '/network/mode'
printf '{"limits":{"memory":true}}' >"$p"
bad 'a wrong type' '/limits/memory'
printf '{"limits":{"memory":"1"}}' >"$p"
bad 'a number out of range' '/limits/memory'
printf '{"limits":{"cpus":1,"cpus":2}}' >"$p"
bad 'a duplicate key' 'twice'
printf '{"version":1}x' >"$p"
bad 'text behind the policy' ''
printf '{ /* no */ }' >"$p"
bad 'a comment' ''
printf '[]' >"$p"
bad 'a list instead of an object' 'object'
printf '{"environment":{"set":{"A":"\377"}}}' >"$p"
bad 'a policy that is no UTF-8' 'UTF-8'
printf '{"filesystem":{"allowWrite":["a\\u0000b"]}}' >"$p"
bad 'a NUL in a text' ''
python3 -c 'print("{\"filesystem\":{\"allowWrite\":" + "[" * 50000 + "]" * 50000 + "}}")' >"$p"
bad 'a deeply nested policy' 'deep|nest'
truncate -s 1G "$p"
bad 'a policy of 1 GB' 'MiB|large|bytes|1048576'
rm "$p"
mkdir "$p"
bad 'a folder as a policy' 'folder|directory'
rmdir "$p"
mkfifo "$p"
bad 'a FIFO as a policy' 'FIFO|plain file|file'
rm "$p"
refused 'a device as a policy' 'zero' run --policy /dev/zero -- touch ran
ln -s "$p" "$p.loop" && ln -sf "$p.loop" "$p"
bad 'a policy behind a loop of links' 'p'
rm "$p" "$p.loop"
if [ "$(id -u)" != 0 ]; then
	printf '{}' >"$p" && chmod 000 "$p"
	bad 'an unreadable policy' 'Permission denied'
	rm -f "$p"
fi
refused 'an empty name of a policy' '' run --policy '' -- touch ran
refused 'two policies' 'not both' run --policy a --policy-fd 5 -- touch ran 5</dev/null
refused 'a policy from a closed descriptor' '77' run --policy-fd 77 -- touch ran
refused 'a policy from a folder' 'folder|directory' run --policy-fd 5 -- touch ran 5</
printf '{"limits":{"memory":"x"}}' >"$ws/.qiming-sandbox.json"
refused 'a bad file of the project' '/limits/memory' run -- touch ran
rm "$ws/.qiming-sandbox.json"
mkdir -p "$XDG_CONFIG_HOME/qiming-sandbox"
printf 'x' >"$XDG_CONFIG_HOME/qiming-sandbox/policy.json"
refused 'a bad file of the user' 'policy.json' run -- touch ran
printf '{}' >"$p"
is 'a named policy stands instead of it' 0 "$(status qs run --policy "$p" -- true)"
rm -r "$XDG_CONFIG_HOME/qiming-sandbox" "$p"
