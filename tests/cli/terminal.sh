# What a person at a terminal sees. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154

cat >"$scratch/terminal.py" <<'PYTHON'
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
PYTHON
seen() { # ARGUMENTS…: all that the program and the command write to a terminal
	timeout 60 python3 "$scratch/terminal.py" "$QS" "$@" </dev/null | tr -d '\r'
}
is 'after a limit one line says which, and how to raise it' \
	'qiming-sandbox: limit reached: timeout (/limits/timeout); to raise it: --timeout SECONDS' \
	"$(seen run --timeout 1 -- sleep 9)"
is 'after a plain failure there is nothing to say' '' "$(seen run -- false)"
is 'after a success neither' '' "$(seen run -- true)"
is 'where stderr is no terminal it is not said' '' "$(qs run --timeout 1 -- sleep 9 2>&1)"
is 'the command sees the terminal' yes "$(seen run -- sh -c '[ -t 0 ] && [ -t 1 ] && echo yes')"
