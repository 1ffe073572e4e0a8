"""Runs a program on a terminal of its own and plays a person at it.

  terminal.py ROWS COLUMNS PROGRAM ARGUMENT... < steps

The steps are a JSON list. Each waits until its "until" has been seen since the step before, and then does what else it
says: "run" a line of shell elsewhere, "type" keys, "size" the window ([rows, columns]), "kill" the program with a
signal. The answer is one JSON object:
what was seen, the exit code (negative: a signal), and whether the terminal was left as it had been.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def main():
    rows, columns, *program = sys.argv[1:]
    steps = json.load(sys.stdin)
    ours, theirs = pty.openpty()
    resize(ours, int(rows), int(columns))
    before = termios.tcgetattr(theirs)
    child = subprocess.Popen(
        program, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=own_terminal
    )
    seen = b""
    fresh = 0
    missed = []
    deadline = time.monotonic() + PATIENCE

    def read(timeout):
        nonlocal seen
        ready, _, _ = select.select([ours], [], [], timeout)
        if ready:
            seen += os.read(ours, 65536)
        return bool(ready)

    for step in steps:
        wanted = step["until"].encode()
        while wanted not in seen[fresh:] and child.poll() is None and time.monotonic() < deadline:
            read(0.05)
        if wanted not in seen[fresh:]:
            missed.append(step["until"])
            continue
        fresh = len(seen)
        if "run" in step:
            subprocess.run(step["run"], shell=True, check=True)
        if "size" in step:
            resize(ours, *step["size"])
        if "type" in step:
            os.write(ours, step["type"].encode())
        if "kill" in step:
            child.send_signal(getattr(signal, step["kill"]))
    while child.poll() is None and time.monotonic() < deadline:
        read(0.05)
    if child.poll() is None:
        child.kill()
        missed.append("the end")
        child.wait()
    while read(0):
        pass
    restored = termios.tcgetattr(theirs) == before
    print(json.dumps({"seen": seen.decode(errors="replace"), "exit": child.returncode, "restored": restored, "missed": missed}))


main()
