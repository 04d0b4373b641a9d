# Workspaces of every kind: each works, or a message says why not. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

refused 'a workspace that is missing' '/no/such/folder' run --workspace /no/such/folder -- touch ran
touch "$ws/plain"
refused 'a workspace that is a file' 'not a folder' run --workspace "$ws/plain" -- touch ran
refused 'an empty name of a workspace' '' run --workspace '' -- touch ran
refused 'a working folder that is missing' '/no/such/folder' run --cwd /no/such/folder -- touch ran
refused 'a name that is too long' '' run --workspace "/$(printf 'x%.0s' {1..5000})" -- touch ran
ln -s loop "$ws/loop"
refused 'a workspace behind a loop of links' '' run --workspace "$ws/loop" -- touch ran

rm -f "$ws/ran"
got=$(cd / && status qs run --workspace / -- true)
[ "$got" = 0 ] || { [ "$got" = 125 ] && grep -q '^qiming-sandbox: ' "$scratch/err"; }
ok $? 'the root folder as a workspace works, or says why not' "$got: $(cat "$scratch/err")"

for name in $'with\nnewline' "it's" 'say "hi"' 'with space' '$HOME' '(a)' 'back\slash' '*' '[x]' '-dash' '中文' $'no\377utf8'; do
	mkdir -p "$scratch/odd/$name"
	is "a workspace called $(printf %q "$name") works" inside \
		"$(cd "$scratch/odd/$name" && qs run -- sh -c 'echo inside >file && cat file' 2>&1)"
	is "it is named by --workspace too" inside \
		"$(qs run --workspace "$scratch/odd/$name" --cwd "$scratch/odd/$name" -- cat file 2>&1)"
done
ln -s "$ws" "$scratch/link"
is 'a workspace reached by a link works' 0 "$(status qs run --workspace "$scratch/link" -- touch written)"
[ -e "$ws/written" ]
ok $? 'and is written'
is 'a relative workspace works' 0 "$(cd "$scratch" && status qs run --workspace ws --cwd ws -- touch written)"
is '~ is the home folder' "$HOME" "$(qs run --workspace '~' --cwd '~' -- pwd)"
if [ "$(id -u)" != 0 ]; then
	mkdir "$scratch/closed" && chmod 555 "$scratch/closed"
	is 'a workspace that the user may not write runs' 0 "$(status qs run --workspace "$scratch/closed" --cwd "$scratch/closed" -- true)"
	is 'and stays unwritable' 1 "$(status qs run --workspace "$scratch/closed" --cwd "$scratch/closed" -- touch x)"
	chmod 000 "$scratch/closed"
	got=$(status qs run --workspace "$scratch/closed" --cwd "$scratch/closed" -- true)
	[ "$got" = 0 ] || { [ "$got" = 125 ] && grep -q 'closed' "$scratch/err"; }
	ok $? 'a workspace that the user may not enter works, or is named' "$got: $(cat "$scratch/err")"
fi
mkdir "$scratch/gone"
got=$(cd "$scratch/gone" && rmdir "$scratch/gone" && status qs run -- true)
is 'a current folder that was removed is a failure' 125 "$got"
matches 'that says so' '^qiming-sandbox: .*folder' "$(cat "$scratch/err")"
# The scratch folder is below /tmp, which is the sandbox's own.
echo there >"$ws/seen"
is 'a workspace in /tmp that may only be read is seen' there "$(qs run --preset read-only -- cat seen 2>&1)"
is 'and not written' 1 "$(status qs run --preset read-only -- touch seen)"
is 'its neighbours are not seen' no "$(touch "$scratch/neighbour"; qs run --preset read-only -- sh -c "[ -e '$scratch/neighbour' ] || echo no")"
