#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""compare - is what jobmeter recorded what the truth program did?

Equal in every operation, byte, call and error: nothing here has a tolerance.  Needs no third party, so
that it also serves a bench that runs the truth program in a guest and compares outside.
"""

import collections
import json
import sys

DATA_OPS = ("read", "write")
META_OPS = ("open", "create", "close", "fsync", "fdatasync")

# What no program does by a system call of its own: the kernel's reads of programs at execve.
IGNORED_ROWS = ("(exec)",)


class Counts(collections.namedtuple("Counts", "calls bytes errors")):
    """A call that failed is in calls and in errors; operations on metadata have 0 bytes."""

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(self, other)))


ZERO = Counts(0, 0, 0)


def as_function(place_of):
    """@place_of is a function, a dictionary (what is not in it stays as it is) or None."""
    if callable(place_of):
        return place_of
    return lambda place: (place_of or {}).get(place, place)


def truth_counts(truth, place_of=None):
    """{(mount, op): Counts} of what was done; places on one mount are added up."""
    name, counts = as_function(place_of), collections.defaultdict(lambda: ZERO)
    for row in truth["rows"]:
        mount = row["place"] if row["place"].startswith("(") else name(row["place"])
        counts[mount, row["op"]] += Counts(row["calls"], row["bytes"], row["errors"])
    return counts


def record_counts(record, ignore=IGNORED_ROWS):
    """{(mount, op): Counts} of what was recorded; operations that the truth program has no word for
    are left out."""
    counts = collections.defaultdict(lambda: ZERO)
    for row in record.get("io") or []:
        if row["mount"] in ignore:
            continue
        numbers = {op: row.get(op) for op in DATA_OPS}
        numbers.update({op: (row.get("meta") or {}).get(op) for op in META_OPS})
        for op, n in numbers.items():
            if n:
                counts[row["mount"], op] += Counts(n["calls"], n.get("bytes", 0), n["errors"])
    return counts


def differences(truth, record, place_of=None, ignore=IGNORED_ROWS):
    """A sentence for each number in which @record is not @truth; empty: they are equal.

    @place_of: from a place as the truth program was given it to the record's name of its mount."""
    if record.get("io") is None:
        return ["the record has no io"]
    did, recorded = truth_counts(truth, place_of), record_counts(record, ignore)
    return [
        f"{mount} {op} {field}: did {x}, recorded {y}"
        for mount, op in sorted(set(did) | set(recorded))
        for field, x, y in zip(Counts._fields, did[mount, op], recorded[mount, op])
        if x != y
    ]


def row_bytes(record, mount, op):
    return sum((row.get(op) or {}).get("bytes", 0) for row in record["io"] if row["mount"] == mount)


def book_differences(truth, record):
    """The tasks' own accounting against what was done plus the kernel's reads at exec, and the
    record's books against themselves."""
    found = []
    for op, key in (("read", "rchar_bytes"), ("write", "wchar_bytes")):
        tasks = record["tasks"][key]
        expected = truth["totals"][key] + row_bytes(record, "(exec)", op)
        if tasks != expected:
            found.append(f"tasks.{key}: did {expected} (exec's share in it), recorded {tasks}")
        book = record["coverage"]["books"][op]
        if book["tasks_bytes"] != book["rows_bytes"] or book["difference_bytes"] != 0:
            found.append(f"books.{op}: tasks {book['tasks_bytes']}, rows {book['rows_bytes']}")
    return found


def main(argv):
    if len(argv) < 3:
        print("usage: compare.py TRUTH.json RECORD.json [PLACE=MOUNT]...", file=sys.stderr)
        return 2
    with open(argv[1]) as t, open(argv[2]) as r:
        truth, record = json.load(t), json.load(r)
    place_of = dict(pair.rsplit("=", 1) for pair in argv[3:])
    found = differences(truth, record, place_of) + book_differences(truth, record)
    print("\n".join(found) or "equal")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
