# SPDX-License-Identifier: MIT
"""The truth program against strace, and the comparison against records that are wrong on purpose."""

import copy
import json
import os
import shutil

import compare
import pytest
import straced
from cases import CASES


CHARGED_WAYS = ("call", "sendfile", "copy_file_range")  # to rchar and wchar


def confirmable(truth):
    """What strace can see: {(place, op, way, by): Counts}."""
    counts = compare.truth_counts(truth)
    unseen = ("io_uring", "mapping")
    return {key: n for key, n in counts.items() if key[2] not in unseen}


@pytest.fixture
def confirm(programs, tmp_path, demand):
    """confirm(option...): strace sees what the truth program says that it did; returns strace's lines."""
    demand(shutil.which("strace"), "strace is not installed")

    def confirm(*options):
        output = tmp_path / "truth.json"
        lines = straced.trace(
            tmp_path / "strace.txt", programs / "tests/truth/truth", "--output", output, *options,
            elements=32 if {"--libaio", "--ways"} & set(options) else 0,
        )
        truth = json.loads(output.read_text())
        seen = straced.counts(lines, [row["place"] for row in truth["rows"]])
        assert straced.opens_together(confirmable(truth)) == seen
        for key, op in (("rchar_bytes", "read"), ("wchar_bytes", "write")):
            assert truth["totals"][key] == sum(
                n.bytes for (_, o, way, _), n in seen.items() if o == op and way in CHARGED_WAYS)
        return lines

    return confirm


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_the_truth_is_what_strace_saw(confirm, tmp_path, options):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    lines = confirm("--mount", folders[0], "--mount", folders[1], "--device", "/dev/zero", *options)
    if "--signals" in options:
        assert sum("ERESTARTSYS" in line for line in lines) >= 23
    assert not list(folders[0].iterdir()) and not list(folders[1].iterdir())


def test_the_calls_beside_mappings_are_what_strace_saw(confirm, disk):
    confirm("--mapped", disk)


def test_a_storm_is_what_strace_saw(confirm, tmp_path):
    confirm("--mount", tmp_path, "--storm", "2003", "1009")


PAGES_DIRTIED = 2 * (251 + 16)  # all of the file's and one in sixteen; each once more when it was clean


def mapped_and_fetched(program, disk, output, options):
    """What came and went through mappings, and what a disk gave: by the kernel's account."""
    pid = os.posix_spawn(
        program, [str(a) for a in (program, "--output", output, "--mapped", disk, *options)], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    rows = json.loads(output.read_text())["rows"]
    mapped = {row["op"]: row["bytes"] for row in rows if row["way"] == "mapping"}
    return mapped, usage.ru_inblock * 512


@pytest.mark.parametrize("options, workers", [([], 1), (["--threads", "3", "--processes", "2"], 6)])
def test_what_mappings_brought_is_what_the_disk_gave(programs, tmp_path, disk, options, workers):
    program, output = programs / "tests/truth/truth", tmp_path / "truth.json"
    mapped_and_fetched(program, disk, output, options)  # brings the file system's own blocks too
    mapped, fetched = mapped_and_fetched(program, disk, output, options)
    assert mapped["read"] == fetched > 0
    assert mapped["write"] == PAGES_DIRTIED * os.sysconf("SC_PAGESIZE") * workers


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


def differences(truth, record, place_of=ON_TMP, placed_by_path=True, **options):
    """Of everything."""
    return compare.differences(truth, record, place_of, placed_by_path=placed_by_path,
                               **options)


def changed(*keys, by=1):
    """The record with one number that is wrong."""
    record = copy.deepcopy(RECORD)
    at = record["io"]
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] += by
    return record


def test_an_equal_record_has_no_differences():
    assert differences(TRUTH, RECORD) == []
    assert differences(TRUTH, RECORD, lambda place: "/tmp") == []
    assert compare.book_differences(TRUTH, RECORD) == []


@pytest.mark.parametrize("keys, expected", [
    ((0, "read", "calls"), "/tmp read calls: did 10, recorded 11"),
    ((0, "read", "bytes"), "/tmp read bytes: did 112, recorded 113"),
    ((0, "read", "errors"), "/tmp read errors: did 2, recorded 3"),
    ((0, "meta", "create", "calls"), "/tmp create calls: did 5, recorded 6"),
    ((0, "meta", "stat", "errors"), "/tmp stat errors: did 11, recorded 12"),
    ((0, "meta", "stat", "not_found"), "/tmp stat not_found: did 7, recorded 8"),
    ((0, "mapped", "read_bytes"), "/tmp read by mapping bytes: did 8192, recorded 8193"),
    ((0, "mapped", "write_bytes"), "/tmp write by mapping bytes: did 0, recorded 1"),
    ((1, "write", "bytes"), "(pipe) write bytes: did 1, recorded 2"),
])
def test_one_number_too_high_is_one_difference(keys, expected):
    assert differences(TRUTH, changed(*keys)) == [expected]


@pytest.mark.parametrize("field, did", [("calls", 2), ("bytes", 1000), ("errors", 1)])
def test_what_moves_from_calls_to_another_way_is_two_differences(field, did):
    found = differences(TRUTH, changed(0, "interfaces", "io_uring", "read", field))
    calls = {"calls": 10, "bytes": 112, "errors": 2}[field]
    assert found == [f"/tmp read {field}: did {calls}, recorded {calls - 1}",
                     f"/tmp read by io_uring {field}: did {did}, recorded {did + 1}"]


def test_a_row_too_many_or_too_few_is_a_difference():
    more, fewer = copy.deepcopy(RECORD), copy.deepcopy(RECORD)
    more["io"].append({"mount": "(other)", "read": counted(1, 0, 0)})
    del fewer["io"][1]
    assert differences(TRUTH, more) == ["(other) read calls: did 0, recorded 1"]
    assert len(differences(TRUTH, fewer)) == 2
    assert differences(TRUTH, {}) == ["the record has no io"]


def test_a_way_or_an_operation_too_few_is_a_difference():
    for keys in (("interfaces", "sendfile"), ("meta", "stat"), ("mapped",)):
        record = copy.deepcopy(RECORD)
        at = record["io"][0]
        for key in keys[:-1]:
            at = at[key]
        del at[keys[-1]]
        assert differences(TRUTH, record)


def test_where_no_path_can_be_placed_its_rows_are_unresolved():
    record = copy.deepcopy(RECORD)
    record["io"][0]["meta"]["stat"] = {"calls": 5, "errors": 0, "not_found": 0}
    record["io"][2]["meta"]["stat"] = {"calls": 14, "errors": 12, "not_found": 8}
    assert differences(TRUTH, record, placed_by_path=False) == []
    assert differences(TRUTH, RECORD, placed_by_path=False)
    assert differences(TRUTH, record, placed_by_path=True)


def test_a_way_that_a_kernel_does_not_show_can_be_left_out():
    record = copy.deepcopy(RECORD)
    row = record["io"][0]
    row["read"], row["write"] = counted(10, 112, 2), counted(2, 400, 0)
    row["meta"]["stat"]["calls"] -= 2
    del row["interfaces"]["io_uring"], row["mapped"]
    assert differences(TRUTH, record, absent_ways=("io_uring", "mapping")) == []
    assert differences(TRUTH, record, absent_ways=("io_uring",))
    assert differences(TRUTH, record, absent_ways=("mapping",))


def test_requests_without_a_completion_can_be_left_out():
    record = copy.deepcopy(RECORD)
    row = record["io"][0]
    row["write"], row["interfaces"]["io_uring"]["write"] = counted(4, 900, 0), counted(2, 500, 0)
    assert differences(TRUTH, record, skipped=False) == []
    assert differences(TRUTH, record, skipped=True)
    assert differences(TRUTH, RECORD, skipped=False)


def test_books_that_do_not_balance_are_differences():
    record = copy.deepcopy(RECORD)
    record["tasks"]["rchar_bytes"] += 1
    record["coverage"]["accounting"]["write"]["rows_bytes"] = 0
    assert len(compare.book_differences(TRUTH, record)) == 2


def test_what_the_kernel_charges_twice_is_no_difference():
    record = copy.deepcopy(RECORD)
    record["tasks"]["rchar_bytes"] += 70
    book = record["coverage"]["accounting"]["read"]
    book["tasks_bytes"] += 70
    assert len(compare.book_differences(TRUTH, record)) == 1 + 1
    book["twice_bytes"] = 70
    assert compare.book_differences(TRUTH, record) == []
