# SPDX-License-Identifier: MIT
"""The truth program against strace, and the comparison against records that are wrong on purpose."""

import copy
import json
import os
import shutil

import compare
import pytest
import straced

CASES = {
    "one process": [],
    "threads": ["--threads", "7", "--repeat", "3"],
    "40 processes": ["--processes", "40"],
    "100 blocked": ["--blocked", "100"],
    "dup2": ["--dup2"],
    "signals": ["--signals"],
    "exec": ["--exec"],
    "all": ["--processes", "3", "--threads", "2", "--blocked", "7", "--dup2", "--signals", "--exec"],
}


def opens_together(counts):
    """strace does not say whether an open created the file."""
    total = {}
    for (place, op), row in counts.items():
        key = place, "open" if op == "create" else op
        total[key] = tuple(a + b for a, b in zip(row, total.get(key, (0, 0, 0))))
    return total


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_the_truth_is_what_strace_saw(programs, tmp_path, demand, options):
    demand(shutil.which("strace"), "strace is not installed")
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    output = tmp_path / "truth.json"
    lines = straced.trace(
        tmp_path / "strace.txt", programs / "tests/truth/truth", "--output", output,
        "--mount", folders[0], "--mount", folders[1], "--device", "/dev/zero", *options,
    )
    truth = json.loads(output.read_text())
    seen = straced.counts(lines, [row["place"] for row in truth["rows"]])
    assert opens_together(compare.truth_counts(truth)) == seen
    for key, op in (("rchar_bytes", "read"), ("wchar_bytes", "write")):
        assert truth["totals"][key] == sum(row[1] for (_, o), row in seen.items() if o == op)
    if "--signals" in options:
        assert sum("ERESTARTSYS" in line for line in lines) >= 23
    assert not list(folders[0].iterdir()) and not list(folders[1].iterdir())


def own_accounting():
    """(rchar, wchar, bytes of this very reading): of this process and the children it waited for."""
    fd = os.open("/proc/self/io", os.O_RDONLY)
    text = os.read(fd, 4096)
    os.close(fd)
    values = dict(line.split(b": ") for line in text.splitlines())
    return int(values[b"rchar"]), int(values[b"wchar"]), len(text)


def accounted(*argv):
    """(rchar, wchar) that the kernel charged to a command and all that it waited for."""
    before = own_accounting()
    pid = os.posix_spawn(argv[0], [str(a) for a in argv], os.environ)
    _, status = os.waitpid(pid, 0)
    after = own_accounting()
    assert status == 0
    return after[0] - before[0] - before[2], after[1] - before[1]


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_the_totals_are_what_the_kernel_charged(programs, tmp_path, options):
    program, output = programs / "tests/truth/truth", tmp_path / "truth.json"
    exec_bytes, nothing = accounted(program, "--only-end")
    assert exec_bytes > 0 and nothing == 0
    charged = accounted(program, "--output", output, "--mount", tmp_path, *options)
    totals = json.loads(output.read_text())["totals"]
    execs = 2 if "--exec" in options else 1
    assert charged == (totals["rchar_bytes"] + execs * exec_bytes, totals["wchar_bytes"])


TRUTH = {
    "rows": [
        {"place": "/tmp/a", "op": "read", "calls": 7, "bytes": 101, "errors": 2},
        {"place": "/tmp/b", "op": "read", "calls": 3, "bytes": 11, "errors": 0},
        {"place": "/tmp/b", "op": "create", "calls": 5, "bytes": 0, "errors": 0},
        {"place": "(pipe)", "op": "write", "calls": 1, "bytes": 1, "errors": 0},
    ],
    "totals": {"rchar_bytes": 112, "wchar_bytes": 1},
}
RECORD = {
    "io": [
        {"mount": "/tmp", "read": {"calls": 10, "bytes": 112, "errors": 2},
         "meta": {"create": {"calls": 5, "errors": 0}}},
        {"mount": "(pipe)", "write": {"calls": 1, "bytes": 1, "errors": 0}, "meta": {}},
        {"mount": "(exec)", "read": {"calls": 2, "bytes": 816, "errors": 0}},
    ],
    "tasks": {"rchar_bytes": 928, "wchar_bytes": 1},
    "coverage": {"books": {
        "read": {"tasks_bytes": 928, "rows_bytes": 928, "difference_bytes": 0},
        "write": {"tasks_bytes": 1, "rows_bytes": 1, "difference_bytes": 0},
    }},
}
ON_TMP = {"/tmp/a": "/tmp", "/tmp/b": "/tmp"}


def test_an_equal_record_has_no_differences():
    assert compare.differences(TRUTH, RECORD, ON_TMP) == []
    assert compare.differences(TRUTH, RECORD, lambda place: "/tmp") == []
    assert compare.book_differences(TRUTH, RECORD) == []


@pytest.mark.parametrize("keys, expected", [
    ((0, "read", "calls"), "/tmp read calls: did 10, recorded 11"),
    ((0, "read", "bytes"), "/tmp read bytes: did 112, recorded 113"),
    ((0, "read", "errors"), "/tmp read errors: did 2, recorded 3"),
    ((0, "meta", "create", "calls"), "/tmp create calls: did 5, recorded 6"),
    ((1, "write", "bytes"), "(pipe) write bytes: did 1, recorded 2"),
])
def test_one_number_too_high_is_one_difference(keys, expected):
    record = copy.deepcopy(RECORD)
    at = record["io"]
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] += 1
    assert compare.differences(TRUTH, record, ON_TMP) == [expected]


def test_a_row_too_many_or_too_few_is_a_difference():
    more, fewer = copy.deepcopy(RECORD), copy.deepcopy(RECORD)
    more["io"].append({"mount": "(other)", "read": {"calls": 1, "bytes": 0, "errors": 0}})
    del fewer["io"][1]
    assert compare.differences(TRUTH, more, ON_TMP) == ["(other) read calls: did 0, recorded 1"]
    assert len(compare.differences(TRUTH, fewer, ON_TMP)) == 2
    assert compare.differences(TRUTH, {}) == ["the record has no io"]


def test_books_that_do_not_balance_are_differences():
    record = copy.deepcopy(RECORD)
    record["tasks"]["rchar_bytes"] += 1
    record["coverage"]["books"]["write"]["rows_bytes"] = 0
    assert len(compare.book_differences(TRUTH, record)) == 2
