# --learn: what is refused before anything runs, and what the file and the report are. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

l=$scratch/learned.json
refused 'learning without a file' '--learn needs a value' run --learn
touch "$l"
refused 'learning into a file that is there' 'is there already: give another name, or remove it' run --learn "$l" -- touch ran
rm "$l" && ln -s nowhere "$l"
refused 'learning into a link that leads nowhere' 'is there already' run --learn "$l" -- touch ran
rm "$l" && mkdir "$l"
refused 'learning into a folder' 'is there already' run --learn "$l" -- touch ran
rmdir "$l"
refused 'learning into a folder that is missing' 'cannot find the folder' run --learn "$scratch/no/x" -- touch ran
refused 'learning into no name' 'is not the name of a file' run --learn "$scratch/" -- touch ran
refused 'learning with a sandbox inside' 'leave out allowNestedSandbox' run --learn "$l" --allow-nested-sandbox -- touch ran
refused 'learning from a policy by descriptor' '--policy FILE' run --learn "$l" --policy-fd 5 -- touch ran 5< <(echo '{}')
is 'nothing of that leaves a file' '' "$(ls "$l" "$scratch"/.learned* 2>/dev/null)"

is 'learning keeps the exit status' 5 "$(status qs run --learn "$l" -- sh -c 'exit 5')"
matches 'it says what happens' 'learning: writes .* really happen' "$(cat "$scratch/err")"
matches 'it says that it is not all' 'did not succeed' "$(cat "$scratch/err")"
is 'the file is for its owner alone' 600 "$(stat -c %a "$l")"
is 'it is a policy' 0 "$(status qs policy check "$l")"
rm "$l"
is 'a command that writes nothing else needs nothing' 0 "$(status qs run --learn "$l" -- sh -c 'echo x >here')"
matches 'and the report says so' 'sufficed as it is' "$(cat "$scratch/err")"
is 'no key but the remarks is written' '["$comment", "extends", "version"]' \
	"$(field 'json.dumps(sorted(r))' <"$l")"
rm "$l"
# The home of these tests lies in /tmp, which a sandbox has for itself: what a policy refuses here is the workspace.
is 'a relative name starts at the current folder' 0 \
	"$(status qs run --preset read-only --learn own.json -- sh -c 'echo y >y')"
is 'it is made there, with its entry' '["./y"]' "$(field 'json.dumps(r["filesystem"]["allowWrite"])' <own.json)"
is 'and the entry has its remark' '/filesystem/allowWrite/0: ./y: sh, 1 change' "$(field 'r["$comment"][1]' <own.json)"
is 'remarks are shown with the policy' 0 "$(status qs policy show --policy own.json)"
matches 'each with its place' '^/\$comment +learned by .*own.json' "$(cat "$scratch/out")"
is 'and the policy suffices' 0 "$(status qs run --policy own.json -- sh -c 'echo z >y')"
rm -f own.json here y
odd=$'odd [x]*\nname'
is 'a name with wildcards and a newline is learned' 0 \
	"$(status qs run --preset read-only --learn "$l" --env ODD="$odd" -- sh -c 'echo y >"$ODD"')"
touch 'odd x*' 'odd [x]'
is 'and works as an entry' 0 "$(status qs run --policy "$l" --env ODD="$odd" -- sh -c 'echo z >"$ODD"')"
is 'for that name alone' 2 "$(status qs run --policy "$l" -- sh -c 'echo z >"odd x*"')"
rm -f "$l" odd*
got=$(qs run --json --learn "$l" -- true 2>/dev/null)
is 'the result names the file' "$l" "$(field 'r["learned"]["file"]' <<<"$got")"
is 'and counts the entries' 0 "$(field 'r["learned"]["entries"]' <<<"$got")"
is 'a result without learning has no such field' False "$(qs run --json -- true | field '"learned" in r')"
rm -f "$l"
