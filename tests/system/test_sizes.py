# SPDX-License-Identifier: MIT
"""Sizes of the kernel side's maps: what they take, and what is told when one is full.

Each is filled by a table of a few entries, and a workload that knows what it did: what was counted is still
what was done, and what was not counted is said."""

import collections
import json
import mmap
import re
import subprocess

import compare
import mountinfo
import pytest

# Four CPUs' worth of one job's rows, the least of histograms, and numbers that are no power of two.
CHOSEN = ((), ("file_rows=10007", "file_histograms=1"), ("superblocks=77", "parked_calls=4097"),
          ("parked_syscalls=16381",))


@pytest.mark.parametrize("sizes", CHOSEN, ids=lambda sizes: " ".join(sizes) or "as they are")
def test_the_memory_that_we_reckon_is_what_the_kernel_says(programs, root, demand, sizes):
    told = subprocess.run([programs / "tests/system/sized", "--maps", *sizes], check=True,
                          capture_output=True, text=True).stdout
    maps = [line.rsplit(maxsplit=4) for line in told.splitlines()]
    demand(maps, "no BPF here")
    # Until Linux 6.4 the kernel itself only guesses, in whole pages.
    demand(any(int(kernel) % 4096 for *_, kernel in maps), "this kernel does not know it exactly")
    assert [(name, ours, kernel) for name, _, _, ours, kernel in maps
            if abs(int(ours) - int(kernel)) > max(0.03 * int(kernel), 64)] == []


@pytest.fixture
def run_sized(programs, tmp_path, root, demand):
    """run_sized(size..., command=[...]): the record of a command that ends well, with maps of these sizes."""

    def run(*sizes, command):
        file = tmp_path / "sized.json"
        done = subprocess.run([programs / "tests/system/sized", file, *sizes, "--", *map(str, command)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        record = json.loads(file.read_text())
        demand({"T0", "T2"} <= set(record["coverage"]["tiers"]),
               f"not here: {'; '.join(record['coverage']['missing'])}")
        return record

    return run


@pytest.fixture
def run_truth(programs, tmp_path, mounts, run_sized):
    """run_truth(size..., options=[...]): what was done on two mounts, and the record of it."""

    def run(*sizes, options=()):
        output = tmp_path / "truth.json"
        record = run_sized(*sizes, command=[
            programs / "tests/truth/truth", "--output", output, "--mount", mounts.a,
            "--mount", mounts.b, *options])
        return json.loads(output.read_text()), record

    return run


def by_op(counts):
    """{op: (calls, bytes, errors)} over all places, without the pages that were mapped and read: what is in a row
    without a mount's name may be the pages of a program that were in no cache."""
    sums = collections.defaultdict(lambda: compare.ZERO)
    for (_, op, way, *_), n in counts.items():
        if (op, way) != compare.PROGRAM_PAGES:
            sums[op] += n
    return sums


def done_by_op(truth):
    return dict(by_op(compare.truth_counts(truth)))


def recorded_by_op(record, ops):
    sums = by_op(compare.record_counts(record))
    return {op: sums[op] for op in ops}


def told(sentences, words):
    """The number that stands before these words; 0: nobody says so."""
    one = re.sub(r"s\b", "", words, count=1)
    for sentence in sentences:
        found = re.fullmatch(rf"(\d+) ({re.escape(words)}|{re.escape(one)})", sentence)
        if found:
            return int(found[1])
    return 0


def row_of(record, mount):
    (row,) = [row for row in record["io"] if row["mount"] == mount]
    return row


def calls_of(row):
    data = [row[op] for op in ("read", "write") if row.get(op)]
    return sum(part["calls"] for part in data + list((row.get("meta") or {}).values()))


def is_balanced(record):
    return all(book["difference_bytes"] == 0 for book in record["coverage"]["accounting"].values())


NO_ROW = "calls counted in (other), since the table of files was full"
NO_HISTOGRAM = "calls in no histogram, since the table of histograms was full"
NO_CLOCK = "calls counted without their time"
NO_SYSCALL_CLOCK = "system calls counted without their time: begun unseen, or the table of calls was full"
NO_NAME = "calls on file systems that have no name, since the table of file systems was full"
NO_SIGNAL = "calls that a signal ended may be missing, since the table of calls was full"
NO_TASK = "ended tasks not counted, since the table of tasks was full"
NO_LEAVING = "ended tasks in no reading until they were freed, since the table of those was full"


def test_calls_for_which_there_is_no_row_are_counted_in_other(run_truth):
    truth, record = run_truth("file_rows=3", options=["--processes", "3"])
    done = done_by_op(truth)
    assert recorded_by_op(record, done) == done
    assert is_balanced(record)
    other = row_of(record, "(other)")
    pages = (other.get("mapped") or {}).get("read_bytes", 0) // mmap.PAGESIZE  # of programs; each, or some together
    assert 100 < calls_of(other) <= told(record["coverage"]["notes"], NO_ROW) <= calls_of(other) + pages
    assert record["coverage"]["lost_events"] >= told(record["coverage"]["notes"], NO_ROW)


def test_calls_for_which_there_is_no_histogram_are_counted(run_truth):
    truth, record = run_truth("file_histograms=1")
    assert compare.differences(truth, record, mountinfo.name_of) == []
    assert told(record["coverage"]["notes"], NO_HISTOGRAM) > 100


def test_calls_on_a_file_system_that_has_no_name_are_counted_as_unresolved(run_truth, mounts):
    truth, record = run_truth("superblocks=1")
    done = done_by_op(truth)
    assert recorded_by_op(record, done) == done
    assert is_balanced(record)
    assert {str(mounts.a), str(mounts.b)} - {row["mount"] for row in record["io"]}
    assert row_of(record, "(unresolved)")["read"]["bytes"] > 0
    assert told(record["coverage"]["notes"], NO_NAME) > 100


def test_calls_that_cannot_be_parked_are_counted_without_their_time(run_truth):
    truth, record = run_truth("parked_calls=1", options=["--blocked", "97"])
    assert compare.differences(truth, record, mountinfo.name_of) == []
    assert told(record["coverage"]["notes"], NO_CLOCK) > 90


def test_interrupted_calls_that_cannot_be_parked_are_told(run_truth):
    truth, record = run_truth("parked_calls=1", options=["--signals", "--blocked", "97"])
    done = done_by_op(truth)
    recorded = recorded_by_op(record, done)
    missing = sum(done[op].calls - recorded[op].calls for op in done)
    assert 0 <= missing <= told(record["coverage"]["missing"], NO_SIGNAL)
    assert {op: n.bytes for op, n in recorded.items()} == {op: n.bytes for op, n in done.items()}


def test_system_calls_that_cannot_be_parked_are_counted_without_their_time(programs, run_sized, tmp_path):
    record = run_sized("parked_syscalls=1", command=[programs / "tests/truth/calls", "--plain"])
    elapsed = record["time"]["elapsed_seconds"]
    (naps,) = (row for row in record["syscalls"] if row["name"] == "nanosleep")
    assert (naps["calls"], naps["errors"]) == (77, 0)
    assert naps["seconds"] <= elapsed  # of the seven threads that sleep at once, one call at a time has its time
    assert told(record["coverage"]["notes"], NO_SYSCALL_CLOCK) > 11


def test_tasks_for_which_there_is_no_total_are_told(run_sized, demand):
    script = """
import os
for cpu in sorted(os.sched_getaffinity(0))[:2]:
    os.sched_setaffinity(0, {cpu})
    for i in range(11):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
"""
    record = run_sized("task_totals=1", command=["python3", "-c", script])
    demand(record["cpu"]["allocated_cores"] is None or record["cpu"]["allocated_cores"] > 1, "one CPU")
    assert told(record["coverage"]["missing"], NO_TASK) >= 1  # which CPU frees a task is the kernel's choice


def test_tasks_that_end_at_once_are_in_the_totals(run_sized):
    script = "for i in $(seq 101); do /bin/true & done; wait"
    record = run_sized("leaving_tasks=1", command=["sh", "-c", script])
    assert record["tasks"]["ended"] >= 102
    assert told(record["coverage"]["notes"], NO_LEAVING) > 0
