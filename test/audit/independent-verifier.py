"""Edits a log from outside, with another program than the one that wrote it, and with its own copy of the format.

  outsider.py sql FILE             runs the SQL on its standard input
  outsider.py forge FILE           re-hashes every record, head and copy of a head, whatever the records say now
  outsider.py forge-all FILE ANCHOR  the same, and the checkpoints and the anchor with them
"""

import hashlib
import json
import sqlite3
import sys


def sha256(*fields):
    encoded = (str(field).encode() for field in fields)
    return hashlib.sha256(b"".join(b"%d:%s," % (len(text), text) for text in encoded)).hexdigest()


def forge(db):
    heads = {}
    rows = db.execute(
        "SELECT position, stream, version, id, at, type, schema, data, meta FROM events ORDER BY position"
    ).fetchall()
    for position, stream, version, *rest in rows:
        before = heads.get(stream, (0, ""))[1]
        heads[stream] = (version, sha256("aw-record-1", before, stream, version, position, *rest))
        db.execute("UPDATE events SET hash = ? WHERE position = ?", (heads[stream][1], position))
    db.execute("DELETE FROM streams")
    db.executemany("INSERT INTO streams VALUES (?, ?, ?)", [(stream, *head) for stream, head in heads.items()])


def forge_checkpoints(db, anchor):
    previous, after, lines = "", 0, []
    for number, at, position, _ in db.execute("SELECT number, at, position, events FROM checkpoints ORDER BY number").fetchall():
        heads = db.execute(
            "SELECT stream, max(version), hash FROM events WHERE position > ? AND position <= ? GROUP BY stream ORDER BY stream",
            (after, position),
        ).fetchall()
        events = db.execute("SELECT count(*) FROM events WHERE position <= ?", (position,)).fetchone()[0]
        flat = [field for head in heads for field in head]
        previous = sha256("aw-checkpoint-1", previous, number, at, position, events, len(heads), *flat)
        db.execute("UPDATE checkpoints SET events = ?, hash = ? WHERE number = ?", (events, previous, number))
        line = {"number": number, "at": at, "position": position, "events": events, "hash": previous}
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
        after = position
    with open(anchor, "w") as file:
        file.writelines(lines)


def main(mode, file, anchor=None):
    db = sqlite3.connect(file)
    db.execute("DROP TRIGGER IF EXISTS events_never_change")
    db.execute("DROP TRIGGER IF EXISTS events_never_leave")
    db.commit()
    if mode == "sql":
        db.executescript(sys.stdin.read())
    else:
        forge(db)
    if mode == "forge-all":
        forge_checkpoints(db, anchor)
    db.commit()
    db.close()


main(*sys.argv[1:])
