#!/bin/sh
# aw in a script: results on standard output, messages on standard error, exit codes that mean something.
set -eu

path=$(aw create --id shell/agent)
echo 'hello' >"$path/work/hello.txt"

# One JSON value on one line; -q prints names only.
aw list --task-id shell --format json | grep -o '"workspace_id":"[^"]*"'
aw list shell -q

# 3 means not found, 4 that the name is taken: see aw help exit-codes
code=0
aw create shell/agent 2>/dev/null || code=$?
echo "a second create ends with $code"

if aw exists shell/agent >/dev/null; then echo 'it is there'; fi

aw destroy --id shell/agent
aw undelete shell/agent >/dev/null
aw fs read shell/agent work/hello.txt
aw destroy -q shell/agent
aw destroy shell/agent --if-exists
