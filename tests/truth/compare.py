#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""compare - is what jobmeter recorded what the truth program did?

Equal in every operation, byte, call and error: nothing here has a tolerance.  Needs no third party, so
that it also serves a bench that runs the truth program in a guest and compares outside.
"""

import collections
import json
import re
import sys

DATA_OPS = ("read", "write")
UNRESOLVED = "(unresolved)"

# What no program does by a system call of its own: the kernel's reads of programs at execve.
IGNORED_ROWS = ("(exec)", "(kernel)")

# Programs are mapped too: pages of them that were in no cache are no work of the truth program's.
PROGRAM_PAGES = ("read", "mapping")


class Counts(collections.namedtuple("Counts", "calls bytes errors not_found")):
    """A call that failed is in calls and in errors, and where it was ENOENT in not_found; operations on
    metadata have 0 bytes, and the way "mapping" has bytes alone."""

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(self, other)))

    def __sub__(self, other):
        return Counts(*(a - b for a, b in zip(self, other)))


ZERO = Counts(0, 0, 0, 0)


def counts_of(n):
    return Counts(n.get("calls", 0), n.get("bytes", 0), n.get("errors", 0), n.get("not_found", 0))


# Its C library asks for its path, as that of each static program does.
CHAINS_START = {"place": "(pseudo)", "op": "readlink", "way": "call", "by": "path", "calls": 1, "bytes": 0, "errors": 0,
                "not_found": 0}


def together(truths):
    """What several truth programs did, one after the other, and chain, which ran them."""
    return {"rows": [CHAINS_START, *(row for truth in truths for row in truth["rows"])],
            "skipped": [row for truth in truths for row in truth["skipped"]],
            "totals": {key: sum(truth["totals"][key] for truth in truths) for key in truths[0]["totals"]},
            "absent": sorted({text for truth in truths for text in truth["absent"]})}


def as_function(place_of):
    """@place_of is a function, a dictionary (what is not in it stays as it is) or None."""
    if callable(place_of):
        return place_of
    return lambda place: (place_of or {}).get(place, place)


def truth_counts(truth, member="rows"):
    """{(place, op, way, by): Counts} of what was done, by the places' names as they were given."""
    counts = collections.defaultdict(lambda: ZERO)
    for row in truth.get(member, ()):
        counts[row["place"], row["op"], row["way"], row["by"]] += counts_of(row)
    return counts


def on_mounts(counts, place_of=None, placed_by_path=True):
    """{(mount, op, way): Counts} from {(place, op, way, by): Counts}; places on one mount are added up.

    @place_of: from a place to the record's name of its mount.  @placed_by_path: False where nobody can
    know on which mount a path ended; of requests to a ring nobody ever can.  Operations on metadata are "call", however they were asked for."""
    name, found = as_function(place_of), collections.defaultdict(lambda: ZERO)
    for (place, op, way, by), n in counts.items():
        if by == "path" and (not placed_by_path or way == "io_uring"):
            place = UNRESOLVED
        mount = place if place.startswith("(") else name(place)
        found[mount, op, way if op in DATA_OPS else "call"] += n
    return found


def done(truth, place_of=None, placed_by_path=False, absent_ways=(), skipped=True):
    """{(mount, op, way): Counts} of what a meter has to have seen.

    @absent_ways: those that the kernel does not show.  @skipped: does it show those requests to a ring
    of which no completion was asked?"""
    counts = truth_counts(truth)
    if not skipped:
        for key, n in truth_counts(truth, "skipped").items():
            counts[key] -= n
    seen = {key: n for key, n in counts.items() if key[2] not in absent_ways}
    return on_mounts(seen, place_of, placed_by_path)


def record_counts(record, ignore=IGNORED_ROWS):
    """{(mount, op, way): Counts} of what was recorded; "call" is what the other ways leave of a row's
    reads and writes."""
    counts = collections.defaultdict(lambda: ZERO)
    for row in record.get("io") or []:
        mount = row["mount"]
        if mount in ignore:
            continue
        for op in DATA_OPS:
            counts[mount, op, "call"] += counts_of(row.get(op) or {})
            for way, numbers in (row.get("interfaces") or {}).items():
                n = counts_of(numbers.get(op) or {})
                counts[mount, op, way] += n
                counts[mount, op, "call"] -= n
            counts[mount, op, "mapping"] += counts_of(
                {"bytes": (row.get("mapped") or {}).get(f"{op}_bytes", 0)})
        for op, numbers in (row.get("meta") or {}).items():
            counts[mount, op, "call"] += counts_of(numbers)
    return counts


def count_differences(did, recorded):
    """A sentence for each number in which two {(mount, op, way): Counts} are not equal."""
    return [
        f"{mount} {op}{'' if way == 'call' else ' by ' + way} {field}: did {x}, recorded {y}"
        for mount, op, way in sorted(set(did) | set(recorded))
        for field, x, y in zip(Counts._fields, did.get((mount, op, way), ZERO),
                               recorded.get((mount, op, way), ZERO))
        if x != y
    ]


def anywhere(counts):
    """The same with all mounts' metadata together."""
    found = collections.defaultdict(lambda: ZERO)
    for (mount, op, way), n in counts.items():
        found[mount if op in DATA_OPS else "*", op, way] += n
    return found


def differences(truth, record, place_of=None, ignore=IGNORED_ROWS, placed_by_path=False,
                absent_ways=(), skipped=True, is_placed_well=True):
    """A sentence for each number in which @record is not @truth; empty: they are equal.  The options
    are those of done(), and @absent_ways are left out of the record too."""
    if record.get("io") is None:
        return ["the record has no io"]
    did = done(truth, place_of, placed_by_path, absent_ways, skipped)
    recorded = {key: n for key, n in record_counts(record, ignore).items()
                if key[2] not in absent_ways and (key in did or key[1:] != PROGRAM_PAGES)}
    if not is_placed_well:
        did, recorded = anywhere(did), anywhere(recorded)
        most = anywhere(done(truth, place_of, placed_by_path, absent_ways, True))
        for key, n in recorded.items():
            if key[2] == "io_uring" and all(a <= b <= c for a, b, c in zip(did.get(key, ZERO), n, most[key])):
                did[key] = n
    return count_differences(did, recorded)


# Ends of notes on events that the kernel let pass without showing them.
UNSEEN = (" was not seen", ": the last milliseconds of their CPU time are missing")


def abilities(record):
    """What a record says that its kernel shows, as options of differences()."""
    missing = "; ".join(record["coverage"]["missing"])
    is_placed_well = not looks_skipped(record)
    absent = [way for way in ("io_uring", "libaio", "mapping")
              if re.search(rf"\b{way}(?! requests? (?:that|with))", missing)]
    return {"placed_by_path": "path operations" not in missing,
            "absent_ways": tuple(absent) if is_placed_well else (*absent, "libaio"),
            "skipped": "completion" not in missing and is_placed_well,  # else some of them may be
            "is_placed_well": is_placed_well}


def looks_skipped(record):
    """How often the kernel skipped a program that looks where a call by path ends, or what libaio did."""
    found = re.search(r"(\d+) runs of BPF programs were skipped", "; ".join(record["coverage"]["notes"]))
    return int(found[1]) if found else 0


def not_shown(record):
    """Events that the kernel let pass without showing them, which takes a busy machine with Linux 6.18: what is counted is
    whole, but for the last of a time."""
    return sum(int(line.split()[0]) for line in record["coverage"]["notes"] if line.endswith(UNSEEN))


def hidden_by_disks(record):
    """Events of which no count but those of block devices' requests knows, and which a busy machine has at any time: ends that
    were not shown, requests that went on as the record was made (what was read ahead), programs that the kernel skipped."""
    found = re.search(r"(\d+) requests? to block devices not counted, which had not ended", "; ".join(record["coverage"]["missing"]))
    return not_shown(record) + looks_skipped(record) + (int(found[1]) if found else 0)


def named_lost(record):
    """Events that the record says are missing, or weaken a number, each line of them with its number first."""
    return sum(int(line.split()[0]) for key in ("missing", "notes") for line in record["coverage"][key] if line[0].isdigit())


def row_bytes(record, mount, op):
    return sum((row.get(op) or {}).get("bytes", 0) for row in record["io"] if row["mount"] == mount)


def book_differences(truth, record):
    """The tasks' own accounting against what was done plus the kernel's reads at exec, and the
    record's books against themselves."""
    found = []
    for op, key in (("read", "rchar_bytes"), ("write", "wchar_bytes")):
        tasks, book = record["tasks"][key], record["coverage"]["accounting"][op]
        twice = book.get("twice_bytes", 0)
        expected = truth["totals"][key] + twice + row_bytes(record, "(exec)", op)
        if tasks != expected:
            found.append(f"tasks.{key}: did {expected} (exec's share in it), recorded {tasks}")
        if book["tasks_bytes"] != book["rows_bytes"] + twice or book["difference_bytes"] != 0:
            found.append(f"books.{op}: tasks {book['tasks_bytes']}, rows {book['rows_bytes']}, "
                         f"of them {twice} twice")
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
