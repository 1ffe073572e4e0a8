#!/bin/sh
# The `aw` command. If a daemon serves the home, a small program asks it, which takes as long as what is asked for; whatever
# else there is to do, and all of it where there is no daemon, is done by Node, which alone takes 25 ms to start.
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
if [ -h "$0" ]; then
  # Where npm puts its links to us; to ask another program where one leads takes a millisecond.
  for place in "$here/../agent-workspaces/dist" "$here/../lib/node_modules/agent-workspaces/dist" ''; do
    if [ -z "$place" ]; then
      file=$(readlink -f -- "$0") && here=${file%/*}
    elif [ "$place/aw" -ef "$0" ]; then
      here=$place
      break
    fi
  done
fi
# The rest of the command line says where it is, or with which settings: Node reads that.
socket=${AW_HOME:-$HOME/.aw}/aw.sock
client=$here/../prebuilt/linux-x64/aw-call
if [ -S "$socket" ] && [ -x "$client" ] && [ ! -e /lib/ld-linux-aarch64.so.1 ] &&
  { [ -e /lib64/ld-linux-x86-64.so.2 ] || [ -e /lib/ld-musl-x86_64.so.1 ]; }; then
  exec "$client" VERSION "$socket" "$here/aw.cjs" "$@"
fi
exec node "$here/aw.cjs" "$@"
