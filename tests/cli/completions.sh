# Completions of bash and zsh, made by the program. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154,SC2016

qs help-dump --format bash >"$scratch/bash"
is 'the bash completion is made' 0 "$?"
complete_bash() { # WORDS…: what bash offers for the last of them
	bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
		_qiming_sandbox; printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd" "' bash "$scratch/bash" "$@" 2>&1
}
is 'a subcommand is completed' doctor "$(complete_bash qiming-sandbox "do")"
is 'an option is completed' '--timeout' "$(complete_bash qiming-sandbox run --timeo)"
is 'a value is completed' 'filtered host off' "$(complete_bash qiming-sandbox run --network '')"
is 'a value behind an equals sign is completed' filtered "$(complete_bash qiming-sandbox run --network = "fi")"
is 'an empty value behind an equals sign too' 'filtered host off' "$(complete_bash qiming-sandbox run --network =)"
mkdir -p "$ws/folder1" && touch "$ws/folder1.txt"
is 'a folder is completed for a folder' folder1 "$(complete_bash qiming-sandbox run --workspace folder1)"
is 'a file is completed for a path' 'folder1 folder1.txt' "$(complete_bash qiming-sandbox run --write folder1)"
is 'a command is completed' 'printf' "$(complete_bash qiming-sandbox run --network off printf | tr ' ' '\n' | grep -x printf | uniq)"
is 'what follows the command is no option' '' "$(complete_bash qiming-sandbox run ls --timeo)"
is 'also behind an option with an equals sign' '--timeout' "$(complete_bash qiming-sandbox run --network = off --timeo)"
is 'what a subcommand does is completed' schema "$(complete_bash qiming-sandbox policy sc)"
is 'and behind it a file' folder1.txt "$(complete_bash qiming-sandbox policy check folder1.)"
is 'a path to explain is completed' 'host path' "$(complete_bash qiming-sandbox explain '')"

qs help-dump --format zsh >"$scratch/_qiming-sandbox"
is 'the zsh completion is made' 0 "$?"
if command -v zsh >/dev/null; then
	zsh -n "$scratch/_qiming-sandbox" 2>"$scratch/err"
	ok $? 'zsh understands it' "$(cat "$scratch/err")"
	# zsh's own completion, asked through a terminal of its own.
	cat >"$scratch/ask.py" <<'PYTHON'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM='dumb', ZDOTDIR=sys.argv[1])
    os.execvp('zsh', ['zsh', '-f', '-i'])
def expect(word, seconds=20):
    got, end = b'', time.monotonic() + seconds
    while word not in got and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                got += os.read(terminal, 65536)
            except OSError:
                break
    return got
def say(text):
    os.write(terminal, text.encode())
say(f'PS1=ready; fpath=({sys.argv[1]} $fpath); autoload -Uz compinit; compinit -D -u; print set-up\n')
expect(b'set-up\r\n')
say('qiming-sandbox run --timeo\t')
print('timeout' if b'--timeout' in expect(b'--timeout') else 'nothing')
say('\x15qiming-sandbox run --network \t')
print('modes' if b'filtered' in expect(b'filtered') else 'nothing')
os.close(terminal)
PYTHON
	is 'zsh completes with it' 'timeout modes' "$(timeout 60 python3 "$scratch/ask.py" "$scratch" 2>&1 | paste -sd' ')"
else
	count=$((count + 1))
	echo "ok $count - zsh completes with it # SKIP zsh is not installed"
fi

# The manual page is made the same way: every option of run and every key of the policy is in it.
qs help-dump --format scdoc "$root/docs/man/qiming-sandbox.1.scd" >"$scratch/manual"
is 'the manual is made' 0 "$?"
is 'no place in it is left unfilled' '' "$(grep '^@' "$scratch/manual")"
is 'it has every option of run' '' "$(qs help-dump --format json | field '"\n".join(o["name"]
	for c in r if c["name"] == "run" for o in c["options"] if "*" + o["name"] + "*" not in open("'"$scratch"'/manual").read())')"
is 'it has every key of the policy' '' "$(qs policy show | awk '/^\// {print $1}' | while read -r key; do
	grep -qxF "*$key*" "$scratch/manual" || echo "$key"
done)"
echo "@options nothing@" >"$scratch/template"
refused 'a template with an unknown subcommand fails' 'nothing' help-dump --format scdoc "$scratch/template"
