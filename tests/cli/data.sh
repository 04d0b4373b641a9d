# A-proc-11: a command and its arguments are data, never options or shell text. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016,SC1003

show='import sys; print([a for a in sys.argv[1:]])'
for words in '--json' '--' '-c' '--help' '--version' '-x --write=/' '--policy /no/such/file' '--timeout 0'; do
	# shellcheck disable=SC2086
	is "$words behind the command is data" "$(python3 -c "$show" $words)" "$(qs run -- python3 -c "$show" $words)"
	# shellcheck disable=SC2086
	is "$words behind a command without dashes too" "$(python3 -c "$show" $words)" "$(qs run python3 -c "$show" $words)"
done
hostile=("it's" 'say "hi"' $'two\nlines' '$HOME' '`id`' '$(id)' 'wow!' 'a;b' 'a|b' 'a&b' '*' '~' '\' $'tab\there' '' ' ' $'\377' '{a,b}' '#')
is 'quotes, newlines and signs of the shell arrive as they are' "$(python3 -c "$show" "${hostile[@]}")" \
	"$(qs run -- python3 -c "$show" "${hostile[@]}")"
printf '#!/bin/sh\necho reached\n' >./--version && chmod +x ./--version
is 'a command may begin with dashes' reached "$(PATH=$ws:$PATH qs run -- --version)"
printf '#!/bin/sh\necho reached\n' >'a "b" $c; d' && chmod +x 'a "b" $c; d'
is 'a command may be called anything' reached "$(qs run -- './a "b" $c; d')"
is 'a text for the shell may begin with a dash' 127 "$(status qs run -c '--json')"
long=$(printf 'x%.0s' {1..100000})
is 'a long argument arrives whole' 100000 "$(qs run -- sh -c 'echo ${#1}' sh "$long")"
