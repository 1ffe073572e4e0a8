#!/bin/sh
# The contract with programs that call aw: exit codes, standard output to the byte, nothing where nothing is promised.
# Called as: s1-contract.sh COMMAND [ARGUMENTS], the way to start aw. AW_HOME says where.
set -u

out=$(mktemp) && err=$(mktemp) || exit 1
trap 'rm -f "$out" "$err"' EXIT
failures=0

# Like Elixir's System.cmd: arguments go as they are, output and exit code come back.
aw() {
  "$@" >"$out" 2>"$err" </dev/null
  code=$?
}

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$*"
  printf '  exit %s\n  stdout: %s\n  stderr: %s\n' "$code" "$(cat "$out")" "$(cat "$err")"
}

expect_exit() { [ "$code" -eq "$1" ] || fail "$2: exit code $1 was promised"; }
expect_out() { [ "$(cat "$out"; echo .)" = "$(printf '%s\n.' "$1")" ] || fail "$2: stdout should be: $1"; }
expect_no_out() { [ ! -s "$out" ] || fail "$1: stdout should be empty"; }
expect_no_err() { [ ! -s "$err" ] || fail "$1: stderr should be empty"; }
expect_in_out() { grep -q -- "$1" "$out" || fail "$2: stdout should hold $1"; }
expect_in_err() { grep -q -- "$1" "$err" || fail "$2: stderr should hold $1"; }

# Is it there?
aw "$@" --version
expect_exit 0 version
expect_in_out '[0-9]' version

# create prints the path and nothing else
aw "$@" create --id task-1/agent-1
expect_exit 0 create
expect_no_err create
path=$(cat "$out")
expect_out "$path" create
case $path in /*/task-1/agent-1) ;; *) fail "create: $path is not BASE/task-1/agent-1" ;; esac
[ -d "$path" ] || fail "create: $path is no directory"

aw "$@" create --id task-1/agent-2 --profile ipa --config '{"max_size_mb":500,"git_config":{"enabled":false}}'
expect_exit 0 'create with a configuration'
expect_no_err 'create with a configuration'
second=$(cat "$out")
[ -f "$second/.ipa/workspace_config.json" ] || fail 'create with a configuration: no .ipa/workspace_config.json'
grep -q '500' "$second/.ipa/workspace_config.json" || fail 'create with a configuration: it is not in workspace_config.json'
[ -d "$second/work" ] && [ -d "$second/output" ] || fail 'create: no work or output directory'

# one pair, one workspace
aw "$@" create --id task-1/agent-1
expect_exit 4 'create again'
expect_no_out 'create again'
expect_in_err 'task-1/agent-1' 'create again'

aw "$@" create --id '../evil/x'
expect_exit 2 'create with a bad name'
expect_no_out 'create with a bad name'

aw "$@" create --id task-1/agent-3 --config '{not json'
expect_exit 2 'create with bad JSON'
expect_no_out 'create with bad JSON'

# list is an array of objects
aw "$@" list --task-id task-1 --format json
expect_exit 0 list
expect_no_err list
[ "$(wc -l <"$out")" -eq 1 ] || fail 'list: one line of JSON'
for part in '^\[{' '"workspace_id":"task-1/agent-1"' '"workspace_id":"task-1/agent-2"' '"id":"ws_' '"state":"ready"' "\"path\":\"$path\""; do
  expect_in_out "$part" list
done

aw "$@" list --task-id no-such-task --format json
expect_exit 0 'list of nothing'
expect_out '[]' 'list of nothing'

aw "$@" list --task-id task-1 --format text
expect_exit 0 'list as text'
[ "$(cut -f1 "$out" | tr '\n' ' ')" = 'task-1/agent-1 task-1/agent-2 ' ] || fail 'list as text: a line for each name'

# path and exists
aw "$@" path --id task-1/agent-1
expect_out "$path" path
aw "$@" path task-1/agent-1
expect_out "$path" 'path by position'
aw "$@" exists --id task-1/agent-1
expect_exit 0 exists
aw "$@" exists --id task-1/nobody
expect_exit 3 'exists of nothing'

# files, for inspection from outside
printf 'hello\n' >"$path/work/a.txt"
aw "$@" fs read task-1/agent-1 work/a.txt
expect_out hello 'fs read'
aw "$@" fs read task-1/agent-1 ../agent-2/work
expect_exit 5 'fs read outside'
expect_no_out 'fs read outside'

# destroy
aw "$@" destroy --id task-1/agent-1
expect_exit 0 destroy
expect_out 'Workspace destroyed' destroy
expect_no_err destroy
[ ! -e "$path" ] || fail 'destroy: the path is still there'

aw "$@" destroy --id task-1/agent-1
expect_exit 3 'destroy again'
expect_no_out 'destroy again'
aw "$@" destroy --id task-1/agent-1 --if-exists
expect_exit 0 'destroy if it exists'
expect_out 'Nothing to destroy' 'destroy if it exists'

aw "$@" destroy --id task-1/agent-1 --json
expect_exit 3 'destroy again, as JSON'
expect_no_out 'destroy again, as JSON'
expect_in_err '^{"code":"workspace_not_found","message":".*","hint":.*,"data":{.*}}$' 'destroy again, as JSON'
[ "$(wc -l <"$err")" -eq 1 ] || fail 'errors as JSON: one line'

# somebody is in it
(cd "$second" && exec sleep 60) &
holder=$!
sleep 0.2
aw "$@" destroy --id task-1/agent-2
expect_exit 9 'destroy while in use'
expect_no_out 'destroy while in use'
[ -d "$second/work" ] || fail 'destroy while in use: it is gone'
aw "$@" destroy --id task-1/agent-2 --force
expect_exit 0 'destroy with force'
expect_out 'Workspace destroyed' 'destroy with force'
kill "$holder" 2>/dev/null

# nothing was lost
aw "$@" undelete task-1/agent-1
expect_exit 0 undelete
expect_out "$path" undelete
[ "$(cat "$path/work/a.txt")" = hello ] || fail 'undelete: the file is not what it was'

# mistakes of the caller
aw "$@" destory --id x
expect_exit 2 'a misspelt command'
expect_in_err 'destroy' 'a misspelt command'
aw "$@" destroy --idd x
expect_exit 2 'a misspelt flag'
aw "$@" destroy
expect_exit 2 'a missing id'

[ "$failures" -eq 0 ] || exit 1
echo 'The contract holds'
