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
from cases import CASES, MAPPED_CASES

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
@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_every_operation_byte_call_and_error_is_recorded(run_truth, options, matrix):
    check(*run_truth(*options), matrix)


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


def test_mounts_whose_paths_end_alike_are_rows_of_their_own(run_truth, mounts):
    _, record = run_truth()
    assert [row["fstype"] for row in rows_of(record, mounts.a)] == ["tmpfs"]
    assert [row["fstype"] for row in rows_of(record, mounts.b)] == ["tmpfs"]


def test_a_bind_mount_is_an_alias_and_no_row(run_truth, mounts):
    _, record = run_truth()
    assert rows_of(record, mounts.bind) == []
    assert rows_of(record, mounts.a)[0]["aliases"] == [str(mounts.bind)]


def test_each_mount_stands_once(run_truth):
    _, record = run_truth()
    names = [row["mount"] for row in record["io"]]
    assert len(names) == len(set(names))


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
