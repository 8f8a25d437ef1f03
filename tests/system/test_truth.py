# SPDX-License-Identifier: MIT
"""The truth program against strace and the kernel's own account.  Its comparison with records: tests/harness/test_compare.py."""

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
