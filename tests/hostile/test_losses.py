# SPDX-License-Identifier: MIT
"""What cannot be counted as it should is said where it was, and nowhere else: who storms blurs their own record."""

import json
import os
import subprocess
import sys
import time

import pytest

from agent_pages import PATIENCE_S, ask, await_log, await_page, page_of
from job_groups import MANAGER

NOBODY = 65534
GUESTS = 311  # of which 256 are told apart
MOUNTS = 431  # of which one job may have some 390 named
DEPTH = 71  # of which 64 are followed, from the top of the tree on

GUEST_STORM = """
import os, sys
os.setresuid({nobody}, {nobody}, {nobody})
for i in range({guests}):
    os.mkdir(f"{{sys.argv[1]}}/guest-{{i}}")
for i in range({guests}):
    os.rmdir(f"{{sys.argv[1]}}/guest-{{i}}")
""".format(nobody=NOBODY, guests=GUESTS)

MOUNT_STORM = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None):
    sys.exit(77)
for _ in range({mounts}):
    if libc.mount(b"storm", sys.argv[1].encode(), b"tmpfs", 0, None):
        sys.exit(77)
    with open(f"{{sys.argv[1]}}/file", "w") as file:
        file.write("x")
    libc.umount2(sys.argv[1].encode(), 2)
""".format(mounts=MOUNTS)


def await_job(agent, job, is_right):
    """Its record once it is as it should be, else as it is."""
    end = time.monotonic() + PATIENCE_S
    while not is_right(record := ask(agent, f"/v1/jobs/{MANAGER}/{job}")) and time.monotonic() < end:
        time.sleep(0.1)
    return record


def job_of(agent, job):
    return await_job(agent, job, lambda record: "coverage" in record)


def final_record(agent, job):
    return await_job(agent, job, lambda record: record.get("final"))


def settled_record(agent, job):
    """Its final record once nothing comes to it any more: its last energy is in a reading behind its end."""
    end = time.monotonic() + PATIENCE_S
    while True:
        record = final_record(agent, job)
        readings = page_of(agent).of("jobmeter_agent_readings_total")[0][1]
        await_page(agent, lambda page: page.of("jobmeter_agent_readings_total")[0][1] > readings + 2)
        if record == final_record(agent, job) or time.monotonic() > end:
            return record


def said_of(record):
    """What the record says of what was lost, but for what a busy machine's kernel does not tell now and then."""
    notes = sorted(record["coverage"]["notes"])
    unseen = [note for note in notes if "not seen" in note or "skipped by the kernel" in note]
    lost = record["coverage"]["lost_events"] - sum(int(note.split()[0]) for note in unseen)
    return lost, [note for note in notes if note not in unseen]


def await_said(agent, job, words):
    return await_job(agent, job, lambda record: any(words in note for note in record["coverage"]["notes"]))


@pytest.fixture
def storm(start_agent, groups, bench, work, demand):
    """storm(program, argument, words): job 2 does that, and its record has a note with these words; job 1 ended before, job 3
    lives through it, job 4 begins afterwards, and theirs have none."""

    def storm(program, argument, words):
        agent = start_agent()
        work(1)
        groups.remove(groups.name(1))
        before = settled_record(agent, 1)
        neighbour = groups.start(groups.name(3), "sleep", "600")
        job_of(agent, 3)
        done = groups.start(groups.name(2), sys.executable, "-c", program, argument).wait(120)
        demand(done != 77, "cannot mount here")
        assert done == 0
        record = await_said(agent, 2, words)
        note, = (note for note in record["coverage"]["notes"] if words in note)
        assert record["coverage"]["lost_events"] >= int(note.split()[0]) > 0
        work(4, seed=4)
        groups.remove(groups.name(4))
        assert said_of(final_record(agent, 4)) == (0, [])
        assert said_of(job_of(agent, 3)) == (0, [])
        assert job_of(agent, 1) == before
        neighbour.kill()
        neighbour.wait()
        groups.remove(groups.name(3))
        groups.remove(groups.name(2))
        assert said_of(final_record(agent, 3)) == (0, [])
        last = final_record(agent, 2)
        assert any(words in note for note in last["coverage"]["notes"])
        agent.kill()  # the next one takes over; nothing that is final changes
        agent.start()
        assert said_of(job_of(agent, 1)) == said_of(before)
        assert said_of(job_of(agent, 2)) == said_of(last)
        return agent

    return storm


def test_a_user_who_makes_groups_without_end(storm, groups):
    groups.make(groups.name(2))
    top = groups.roots[0] / groups.name(2)
    os.chown(top, NOBODY, NOBODY)
    storm(GUEST_STORM, str(top), "cgroups that users made counted with the cgroup above them")


def test_a_user_who_mounts_without_end(storm, bench):
    target = bench.folder / "target"
    target.mkdir()
    storm(MOUNT_STORM, str(target), "calls on file systems that have no name")


def test_groups_that_cannot_be_told_apart(start_agent, groups):
    """As where the table is full, without a storm: root makes them deeper than they are followed, in job 1."""
    agent = start_agent()
    waiting = [groups.start(groups.name(job), "sleep", "600") for job in (1, 2)]
    job_of(agent, 2)
    chain = [groups.roots[0] / groups.name(1)]
    while len(chain) < DEPTH:
        chain.append(chain[-1] / "in")
        chain[-1].mkdir()
    words = "cgroups counted with the cgroup above them"
    record = await_said(agent, 1, words)
    lost, notes = said_of(record)
    assert notes == [f"{lost} {words}, since the table of cgroups was full"]
    assert said_of(job_of(agent, 2)) == (0, [])
    line = f"{lost} cgroups could not be counted by themselves"
    assert line in await_log(agent, line)
    for folder in reversed(chain[1:]):
        folder.rmdir()
    page_of(agent)
    assert agent.log().count("could not be counted by themselves") == 1
    for process in waiting:
        process.kill()
        process.wait()


def test_times_that_were_not_taken_are_unknown_and_counts_exact(start_agent, groups, bench, programs, work, tmp_path):
    """Over its budget the agent takes no times of calls: then none is 0 s, and no count is a lower bound."""
    agent = start_agent(budget="0.0001%")
    end = time.monotonic() + PATIENCE_S
    while "no times of calls" not in agent.log() and time.monotonic() < end:
        work(1)
    work(2)
    groups.remove(groups.name(2))
    record = final_record(agent, 2)
    rows = [row for row in record["io"] if row["write"]["calls"]]
    assert rows and all("seconds" not in row["write"] or row["write"]["seconds"] is None for row in rows)
    (tmp_path / "record.json").write_text(json.dumps(record))
    text = subprocess.run([programs / "jobmeter", "report", "--full", tmp_path / "record.json"], check=True, capture_output=True,
                          text=True).stdout
    about_files = text[text.index("\nfiles "):text.index("\nmissing ")]
    assert "≥" not in about_files and " 0 s" not in about_files, text


# As many numbers that no kernel has, on each CPU, in groups of his own.
NUMBERS = [*range(336, 424), *range(472, 512)]
SYSCALL_STORM = """
import ctypes, os, sys
top, count = sys.argv[1], int(sys.argv[2])
os.setresuid({nobody}, {nobody}, {nobody})
for i in range(count):
    os.mkdir(f"{{top}}/guest-{{i}}")
    with open(f"{{top}}/guest-{{i}}/cgroup.procs", "w") as file:
        file.write("0")
    for cpu in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {{cpu}})
        for number in {numbers}:
            ctypes.CDLL(None).syscall(number)
    os.sched_setaffinity(0, range(os.cpu_count()))
""".format(nobody=NOBODY, numbers=NUMBERS)


def test_a_user_who_calls_what_there_is_not_without_end(start_agent, groups, programs, demand):
    """With `syscalls: on`: he takes no other job's room for system calls by name."""
    share = (os.sysconf("SC_NPROCESSORS_CONF") + 1024) * 2 * 40 // 8
    storms = share // (len(NUMBERS) * len(os.sched_getaffinity(0))) + 3
    demand(storms < 200, "needs two CPUs")  # a user has 256 groups
    agent = start_agent(syscalls=True)
    groups.make(groups.name(2))
    top = groups.roots[0] / groups.name(2)
    for path in (top, top / "cgroup.procs"):
        os.chown(path, NOBODY, NOBODY)
    assert groups.start(groups.name(2), sys.executable, "-c", SYSCALL_STORM, str(top), str(storms)).wait(120) == 0
    words = " system calls not counted by name, since the table of those was full"
    record = await_job(agent, 2, lambda record: any(text.endswith(words) for text in record["coverage"]["missing"]))
    text, = (text for text in record["coverage"]["missing"] if text.endswith(words))
    assert int(text.removesuffix(words)) <= record["coverage"]["lost_events"]
    process = groups.start(groups.name(3), programs / "tests/truth/calls", "--plain", env={}, stdout=subprocess.PIPE, text=True)
    said = [line.rsplit(" ", 3) for line in process.communicate(timeout=60)[0].splitlines()]
    record = job_of(agent, 3)
    found = {row["name"]: row for row in record["syscalls"]}
    assert [(name, found[name]["calls"], found[name]["errors"]) for name, _, _, _ in said] == \
        [(name, int(calls), int(errors)) for name, calls, errors, _ in said]
    assert said_of(record) == (0, [note for note in record["coverage"]["notes"] if "went on" in note])
