# Help, versions, suggestions. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154

is 'without arguments the exit status is 125' 125 "$(status qs)"
matches 'and a short help says how to go on' '--help' "$(cat "$scratch/err")"
for words in --help -h help 'run --help' 'run -h' 'doctor --help' 'explain --help' 'policy --help' 'help run'; do
	# shellcheck disable=SC2086
	is "$words ends with 0" 0 "$(status qs $words)"
	[ -s "$scratch/out" ] && [ ! -s "$scratch/err" ]
	ok $? "$words writes to stdout only"
	is "$words fits 80 columns" '' "$(awk 'length($0) > 80' "$scratch/out")"
done
for words in --version 'run --version' 'doctor --version' 'explain --version' 'policy --version'; do
	# shellcheck disable=SC2086
	matches "$words tells the version" '^qiming-sandbox [0-9]+\.[0-9]+\.[0-9]+$' "$(qs $words)"
done
help=$(qs run --help)
for title in Policy Files Network Limits Environment 'Streams and results' Examples; do
	matches "the help of run has the heading $title" "^$title:\$" "$help"
done
for option in policy preset workspace write deny-write read deny-read network allow-domain deny-domain publish env \
	pass-fd memory cpus timeout processes output tty json backend cwd policy-fd events-fd control-fd result-fd \
	allow-unsandboxed; do
	matches "the help of run has --$option" "^ +(-., )?--$option( |\$)" "$help"
done
matches 'the help of run has -c' '^ +-c STRING' "$help"

refused 'an unknown subcommand gets a suggestion' 'did you mean doctor\?' docter
refused 'an unknown subcommand without a neighbour gets the list' 'there are: run, doctor, explain, policy' zebra
refused 'an option before the subcommand is explained' 'a subcommand comes first' --timeout 3 run -- touch ran
refused 'a misspelt option gets a suggestion' 'did you mean --timeout\?' run --timout 3 -- touch ran
refused 'a misspelt option of the policy too' 'did you mean --deny-write\?' run --deny-wirte x -- touch ran
refused 'an option that is nothing like one' '--no-such-option' run --no-such-option -- touch ran
refused 'an unknown letter' 'unknown option -x' run -x -- touch ran
refused 'doctor knows its options' 'did you mean --json\?' doctor --jsn
refused 'policy knows its verbs' 'did you mean check\?' policy chek
refused 'an option without its value' '--timeout needs a value' run --timeout
refused 'a flag with a value' '--tty takes no value' run --tty=yes -- touch ran
refused 'no command' 'no command to run' run
refused 'no command after options' 'no command to run' run --timeout 3
refused 'no command after dashes' 'no command to run' run --
refused 'an unknown back end' 'unknown back end magic' run --backend magic -- touch ran
refused 'an unknown preset' 'locked-down' run --preset loked-down -- touch ran
if [ -w /dev/full ]; then
	qs --help >/dev/full 2>"$scratch/err"
	is 'output that cannot be written is a failure' 125 "$?"
fi
