# SPDX-License-Identifier: MIT
"""The comparison of what the truth program did with a record: it finds each number that is wrong, and nothing else."""

import copy

import compare
import pytest


def done(place, op, calls, size=0, errors=0, not_found=0, way="call", by="descriptor"):
    return {"place": place, "op": op, "way": way, "by": by, "calls": calls, "bytes": size,
            "errors": errors, "not_found": not_found}


def counted(calls, size, errors):
    return {"calls": calls, "bytes": size, "errors": errors}


TRUTH = {
    "rows": [
        done("/tmp/a", "read", 7, 101, 2),
        done("/tmp/b", "read", 3, 11),
        done("/tmp/a", "read", 2, 1000, 1, way="io_uring"),
        done("/tmp/b", "write", 5, 2000, way="io_uring"),
        done("/tmp/b", "write", 2, 400, way="sendfile"),
        done("/tmp/b", "read", 0, 8192, way="mapping"),
        done("/tmp/b", "create", 5, by="result"),
        done("/tmp/b", "stat", 13, errors=11, not_found=7, by="path"),
        done("/tmp/b", "stat", 3),
        done("/tmp/b", "stat", 2, way="io_uring", by="descriptor"),
        done("(unresolved)", "stat", 1, errors=1, not_found=1, by="path"),
        done("(pipe)", "write", 1, 1),
    ],
    "skipped": [done("/tmp/b", "write", 3, 1500, way="io_uring")],
    "totals": {"rchar_bytes": 112, "wchar_bytes": 401},
}
RECORD = {
    "io": [
        {"mount": "/tmp", "read": counted(12, 1112, 3), "write": counted(7, 2400, 0),
         "interfaces": {"io_uring": {"read": counted(2, 1000, 1), "write": counted(5, 2000, 0)},
                  "sendfile": {"write": counted(2, 400, 0)}},
         "mapped": {"read_bytes": 8192, "write_bytes": 0},
         "meta": {"create": {"calls": 5, "errors": 0, "not_found": 0},
                  "stat": {"calls": 18, "errors": 11, "not_found": 7}}},
        {"mount": "(pipe)", "write": counted(1, 1, 0), "meta": {}},
        {"mount": "(unresolved)", "meta": {"stat": {"calls": 1, "errors": 1, "not_found": 1}}},
        {"mount": "(exec)", "read": counted(2, 816, 0)},
    ],
    "tasks": {"rchar_bytes": 928, "wchar_bytes": 401},
    "coverage": {"accounting": {
        "read": {"tasks_bytes": 928, "rows_bytes": 928, "twice_bytes": 0, "difference_bytes": 0},
        "write": {"tasks_bytes": 401, "rows_bytes": 401, "twice_bytes": 0, "difference_bytes": 0},
    }},
}
ON_TMP = {"/tmp/a": "/tmp", "/tmp/b": "/tmp"}


def differences(record, place_of=ON_TMP, placed_by_path=True, **options):
    """Of everything."""
    return compare.differences(TRUTH, record, place_of, placed_by_path=placed_by_path, **options)


def changed(change):
    """The record after @change, a function of it."""
    record = copy.deepcopy(RECORD)
    change(record)
    return record


def add(*keys, by=1):
    """A change: one number of the rows is wrong."""
    def change(record):
        at = record["io"]
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] += by

    return change


def drop(*keys):
    """A change: something is missing in the rows."""
    def change(record):
        at = record["io"]
        for key in keys[:-1]:
            at = at[key]
        del at[keys[-1]]

    return change


def add_row(record):
    record["io"].append({"mount": "(other)", "read": counted(1, 0, 0)})


def place_no_path(record):
    """As a kernel would have it that does not show where a path ends."""
    record["io"][0]["meta"]["stat"] = {"calls": 5, "errors": 0, "not_found": 0}
    record["io"][2]["meta"]["stat"] = {"calls": 14, "errors": 12, "not_found": 8}


def show_no_rings(record):
    """As one would that shows neither io_uring nor mappings."""
    row = record["io"][0]
    row["read"], row["write"] = counted(10, 112, 2), counted(2, 400, 0)
    row["meta"]["stat"]["calls"] -= 2
    del row["interfaces"]["io_uring"], row["mapped"]


def show_no_silent(record):
    """As one would that does not show requests without a completion."""
    row = record["io"][0]
    row["write"], row["interfaces"]["io_uring"]["write"] = counted(4, 900, 0), counted(2, 500, 0)


URING = (0, "interfaces", "io_uring", "read")
# What is changed, with which options of the comparison; and the differences that it finds, or how many.
CHANGES = {
    "nothing": (lambda record: None, {}, []),
    "nothing, by a function": (lambda record: None, {"place_of": lambda place: "/tmp"}, []),
    "read calls": (add(0, "read", "calls"), {}, ["/tmp read calls: did 10, recorded 11"]),
    "read bytes": (add(0, "read", "bytes"), {}, ["/tmp read bytes: did 112, recorded 113"]),
    "read errors": (add(0, "read", "errors"), {}, ["/tmp read errors: did 2, recorded 3"]),
    "create calls": (add(0, "meta", "create", "calls"), {}, ["/tmp create calls: did 5, recorded 6"]),
    "stat errors": (add(0, "meta", "stat", "errors"), {}, ["/tmp stat errors: did 11, recorded 12"]),
    "stat not found": (add(0, "meta", "stat", "not_found"), {}, ["/tmp stat not_found: did 7, recorded 8"]),
    "mapped read": (add(0, "mapped", "read_bytes"), {}, ["/tmp read by mapping bytes: did 8192, recorded 8193"]),
    "mapped write": (add(0, "mapped", "write_bytes"), {}, ["/tmp write by mapping bytes: did 0, recorded 1"]),
    "pipe write": (add(1, "write", "bytes"), {}, ["(pipe) write bytes: did 1, recorded 2"]),
    "calls to a ring": (add(*URING, "calls"), {}, ["/tmp read calls: did 10, recorded 9", "/tmp read by io_uring calls: did 2, recorded 3"]),
    "bytes to a ring": (add(*URING, "bytes"), {}, ["/tmp read bytes: did 112, recorded 111",
                                                   "/tmp read by io_uring bytes: did 1000, recorded 1001"]),
    "errors to a ring": (add(*URING, "errors"), {}, ["/tmp read errors: did 2, recorded 1", "/tmp read by io_uring errors: did 1, recorded 2"]),
    "a row too many": (add_row, {}, ["(other) read calls: did 0, recorded 1"]),
    "a row too few": (drop(1), {}, 2),
    "no rows": (lambda record: record.pop("io"), {}, ["the record has no io"]),
    "no sendfile": (drop(0, "interfaces", "sendfile"), {}, 4),
    "no stat": (drop(0, "meta", "stat"), {}, 3),
    "no mappings": (drop(0, "mapped"), {}, 1),
    "no path placed": (place_no_path, {"placed_by_path": False}, []),
    "no path placed, but it could be": (place_no_path, {}, 6),
    "all paths placed, which cannot be": (lambda record: None, {"placed_by_path": False}, 6),
    "no rings": (show_no_rings, {"absent_ways": ("io_uring", "mapping")}, []),
    "no rings, mappings expected": (show_no_rings, {"absent_ways": ("io_uring",)}, 1),
    "no rings, rings expected": (show_no_rings, {"absent_ways": ("mapping",)}, 6),
    "no silent requests": (show_no_silent, {"skipped": False}, []),
    "no silent requests, but expected": (show_no_silent, {"skipped": True}, 2),
    "silent requests, not expected": (lambda record: None, {"skipped": False}, 2),
}


@pytest.mark.parametrize("change, options, expected", CHANGES.values(), ids=CHANGES)
def test_each_change_is_found_and_nothing_else(change, options, expected):
    found = differences(changed(change), **options)
    assert found == expected if isinstance(expected, list) else len(found) == expected, found


def unbalance(record):
    record["tasks"]["rchar_bytes"] += 1
    record["coverage"]["accounting"]["write"]["rows_bytes"] = 0


def charge_twice(told):
    """70 bytes of reads are charged twice, and that is told or not."""
    def change(record):
        book = record["coverage"]["accounting"]["read"]
        record["tasks"]["rchar_bytes"] += 70
        book["tasks_bytes"] += 70
        book["twice_bytes"] = told

    return change


@pytest.mark.parametrize("change, count", [(lambda record: None, 0), (unbalance, 2), (charge_twice(0), 2), (charge_twice(70), 0)],
                         ids=["nothing", "no balance", "charged twice", "charged twice, and told"])
def test_books_that_do_not_balance_are_differences(change, count):
    assert len(compare.book_differences(TRUTH, changed(change))) == count
