# SPDX-License-Identifier: MIT
"""Files by mount: what jobmeter recorded is what the truth program did and got back, exactly."""

import json
import re
import subprocess

import pathlib

import compare
import matrix as matrices
import mountinfo
import pytest
from cases import CASES, MAPPED_CASES, chained

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/internals/operations.md"
COLUMN = "no fentry"  # of the page, for a host that has none


@pytest.fixture
def run_truth(programs, tmp_path, mounts, run_metered):
    """run_truth(option...): what was done on all the mounts, the record of it, and the names."""

    def run(*options):
        output = tmp_path / "truth.json"
        record = run_metered(
            programs / "tests/truth/truth", "--output", output,
            "--mount", mounts.a, "--mount", mounts.b, "--bind", mounts.bind,
            "--mount", mounts.plain, "--device", "/dev/zero", *options,
        )
        return json.loads(output.read_text()), record

    return run


def rows_of(record, mount):
    return [row for row in record["io"] if row["mount"] == str(mount)]


@pytest.fixture(scope="module")
def matrix(programs):
    """What becomes of each operation on this kernel; saved for the page."""
    found = matrices.Matrix()
    yield found
    if found.column(COLUMN):
        found.save(programs / "matrix-host.json")


def check(truth, record, matrix):
    assert compare.differences(truth, record, mountinfo.name_of, **compare.abilities(record)) == []
    assert compare.book_differences(truth, record) == []
    assert record["coverage"]["lost_events"] == compare.named_lost(record)
    matrix.note("fentry" if compare.abilities(record)["placed_by_path"] else COLUMN,
                matrices.outcomes(truth, record, mountinfo.name_of))


@pytest.mark.smoke
def test_every_operation_byte_call_and_error_is_recorded(run_truth, mounts, matrix):
    """Each mount once: those whose paths end alike are rows of their own, and a bind mount is an alias and no row."""
    truth, record = run_truth(*CASES["one process"])
    check(truth, record, matrix)
    assert [row["fstype"] for mount in (mounts.a, mounts.b) for row in rows_of(record, mount)] == ["tmpfs"] * 2
    assert rows_of(record, mounts.bind) == []
    assert rows_of(record, mounts.a)[0]["aliases"] == [str(mounts.bind)]
    names = [row["mount"] for row in record["io"]]
    assert len(names) == len(set(names))


# Where a path ends is found out in another way for requests to a ring: their outcomes are told apart by records of their own.
BY_RING = [options for options in CASES.values() if {"--io-uring", "--ways"} & set(options)]
BY_CALLS = [options for options in CASES.values() if options not in BY_RING]


@pytest.mark.parametrize("cases", [BY_CALLS, BY_RING], ids=["calls", "rings"])
def test_every_case_is_recorded(programs, tmp_path, mounts, run_metered, matrix, cases):
    """One after the other in one record, in which what all of them did must be, to the call."""
    record = run_metered(*chained(programs, cases, tmp_path, mounts))
    truths = [json.loads((tmp_path / f"truth{number}.json").read_text()) for number in range(len(cases))]
    check(compare.together(truths), record, matrix)


@pytest.mark.smoke
@pytest.mark.parametrize("options", MAPPED_CASES.values(), ids=MAPPED_CASES.keys())
def test_what_mappings_read_and_dirty_is_recorded(run_truth, options, disk, matrix):
    check(*run_truth(*options(disk)), matrix)


def test_a_storm_is_counted_and_told(programs, run_metered, mounts, tmp_path):
    opens, stats = 200_003, 100_003
    output = tmp_path / "truth.json"
    record = run_metered(programs / "tests/truth/truth", "--output", output, "--mount", mounts.a,
                         "--storm", opens, stats)
    truth = json.loads(output.read_text())
    assert compare.differences(truth, record, mountinfo.name_of, **compare.abilities(record)) == []
    totals = {op: sum(row["meta"].get(op, {}).get(key, 0) for row in record["io"])
              for op, key in (("open", "not_found"), ("stat", "calls"))}
    assert totals["open"] >= opens and totals["stat"] >= stats
    assert sum(row["meta"].get("open", {}).get("seconds", 0) for row in record["io"]) > 0
    report = subprocess.run([programs / "jobmeter", "report", "--full", tmp_path / "record.json"],
                            capture_output=True, text=True, check=True).stdout
    assert re.search(r"^ +\S+ +open +200,\d\d\d +200,\d\d\d +200,\d\d\d ", report, re.MULTILINE)


def test_the_page_of_operations_says_what_was_found(matrix):
    if not matrix.column(COLUMN):
        pytest.skip("this kernel has fentry, or no case has run; the kernel tests hold the page's other columns")
    assert matrices.contradictions(PAGE.read_text(), matrix, COLUMN) == []


@pytest.mark.parametrize("highest", (40, 63, 64, 199))
def test_a_descriptor_table_of_any_size_is_read(run_metered, mounts, highest):
    file = mounts.a / "of-many"
    file.write_bytes(bytes(17))
    script = f"""
import os
fd = os.open({str(file)!r}, os.O_RDONLY)
os.dup2(fd, {highest})
for descriptor in (fd, {highest}):
    for i in range(101):
        os.pread(descriptor, 13, 0)
"""
    record = run_metered("python3", "-c", script)
    (row,) = rows_of(record, mounts.a)
    assert (row["read"]["calls"], row["read"]["bytes"]) == (202, 202 * 13)
