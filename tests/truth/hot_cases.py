# SPDX-License-Identifier: MIT
"""What `jobmeter run --files` has to say of the program hot, exactly."""

TWICE = 101 * 1009
SHARED = 307 * 1009
SMALL = 1009


def data(bytes=0, calls=0, sequential=None, random=0):
    sequential = bytes - random if sequential is None else sequential
    return {"bytes": bytes, "calls": calls, "errors": 0, "sequential_bytes": sequential, "random_bytes": random}


def file(read=data(), write=data(), opens=0, creates=1, closes=1, others=0, size=0, reread=0, back=0, files=1):
    return {"read": read, "write": write, "opens": opens, "creates": creates, "closes": closes,
            "other_calls": others, "size_bytes": size, "reread_bytes": reread,
            "read_after_write_bytes": back, "files": files}


# By name in the first folder.  Two passes of a read begin with a jump, of one call.
FILES = {
    "twice": file(data(2 * TWICE, 2 * 26, random=4099), data(TWICE, 101), opens=1, closes=2, size=TWICE,
                  reread=TWICE, back=2 * TWICE),
    "random": file(data(97 * 13, 97, random=97 * 13), others=1, size=100003),
    # read: from 0 to 2503; of the last read those behind 1000 were written
    "back": file(data(3 * 503 + 1009, 4, random=3 * 503 + 1009), data(7919, 1, random=7919), size=8919,
                 reread=3 * 503 + 1009 - 2503, back=3 * 503 + 9),
    "log": file(write=data(7 * 99, 7 * 3), opens=6, closes=7, size=7 * 99),
    "old": file(write=data(101 + 103, 2), size=101 + 103),
    "gone": file(data(2 * 107, 2, random=2 * 107), data(2 * 107, 2), creates=2, closes=2, size=107, back=2 * 107, files=2),
    "from": file(data(3 * 313, 3, random=313), data(1013, 1), size=1013, back=3 * 313),
    "to": file(write=data(3 * 313, 3), size=3 * 313),
}
FOLDERS = {
    "small": file(data(17 * SMALL, SMALL), data(17 * SMALL, SMALL), opens=SMALL, creates=SMALL, closes=2 * SMALL,
                  size=17 * SMALL, back=17 * SMALL, files=SMALL),
}
# Two threads by a descriptor each, and then both by one.
SHARED_BYTES = 2 * SHARED + 2 * 10007 * 13
# small ones: those of the folder, "back", "log", "old", "gone" (two), "from", "to" and "same" (two)
SMALL_FILES = SMALL + 9
SMALL_BYTES = 2 * 17 * SMALL + (3 * 503 + 1009 + 7919) + 7 * 99 + 204 + 4 * 107 + (3 * 313 + 1013) + 3 * 313 + 211 + 223
SMALL_OPENS = 2 * SMALL + 1 + 7 + 1 + 2 + 1 + 1 + 2


def by_path(record, kind="hot"):
    return {entry["path"]: entry for entry in record["files"][kind]}


def without_times(entry):
    entry = {key: value for key, value in entry.items() if key not in ("path", "mount", "meta_seconds")}
    for side in ("read", "write"):
        entry[side] = {key: value for key, value in entry[side].items() if key != "seconds"}
    return entry


def differences(record, folder):
    """What of the listed files and folders is not as it should be: {name: (is, should be)}."""
    files, folders = by_path(record), by_path(record, "directories")
    pairs = [(name, files.get(f"{folder}/{name}"), wanted) for name, wanted in FILES.items()]
    pairs += [(name, folders.get(f"{folder}/{name}"), wanted) for name, wanted in FOLDERS.items()]
    return {name: (found and without_times(found), wanted) for name, found, wanted in pairs
            if not found or without_times(found) != wanted}


# A number of a row of files, and of the files: those that both count.
SAME = {
    ("read", "bytes"): ("read", "bytes"), ("read", "calls"): ("read", "calls"),
    ("write", "bytes"): ("write", "bytes"), ("write", "calls"): ("write", "calls"),
    ("meta", "open"): ("opens",), ("meta", "create"): ("creates",), ("meta", "close"): ("closes",),
}


def get(tree, way):
    for key in way:
        tree = tree[key]
    return tree


def sums_of_rows(record):
    """What the mounts' rows hold of files and folders: without devices, and without failed opens."""
    rows = [row for row in record["io"] if not row["mount"].startswith("(") and row["fstype"] != "devtmpfs"]
    sums = {}
    for way, target in SAME.items():
        if way[0] == "meta":
            ops = [row["meta"].get(way[1], {"calls": 0, "errors": 0}) for row in rows]
            sums[target] = sum(op["calls"] - op["errors"] for op in ops)
        else:
            sums[target] = sum(get(row, way) for row in rows)
    return sums


def sums_of_files(record):
    files = record["files"]
    return {way: get(files["followed"], way) + get(files["dropped"], way) for way in SAME.values()}
