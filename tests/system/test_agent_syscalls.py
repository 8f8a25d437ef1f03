# SPDX-License-Identifier: MIT
"""System calls by name in the agent (`syscalls: on`): each job has what it made.  More of
them, with files one by one, is in test_agent_details.py."""

import collections
import json
import os
import pwd
import shutil
import subprocess

import pytest
from calls_cases import contradictions, rows

from agent import USER
from agent_pages import ask, await_page, final_record, known_jobs
from job_groups import MANAGER

# The program that starts it as another user is started, too.
BECOME = [shutil.which("setpriv"), f"--reuid={USER}", f"--regid={pwd.getpwnam('nobody').pw_gid}", "--clear-groups", "--"]


def said_by(text):
    """Of the program calls: {(name, what): number}"""
    said = collections.Counter()
    for line in text.splitlines():
        name, calls, errors, _ = line.rsplit(" ", 3)
        said.update({(name, "calls"): int(calls), (name, "errors"): int(errors)})
    return said


@pytest.fixture
def make_calls(programs, bench, groups, demand):
    """make_calls(job, is_users=): what a part of that job said of the calls that it made, {name: (calls, errors)}."""
    demand(BECOME[0], "needs setpriv")
    demand(shutil.which("curl"), "needs curl")
    program = shutil.copy(programs / "tests/truth/calls", bench.folder / "calls")

    def make(job, is_users=False):
        process = groups.start(groups.name(job), *(BECOME if is_users else []), program, "--plain", env={},
                               stdout=subprocess.PIPE, text=True)
        text, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        said = said_by(text)
        said[("execve", "calls")] += is_users
        return said

    return make


def wrong(record, said):
    found = rows(record)
    return {key: (found.get(key[0], {}).get(key[1]), count) for key, count in said.items()
            if found.get(key[0], {key[1]: 0})[key[1]] != count}


def record_of(agent, job):
    return ask(agent, f"/v1/jobs/{MANAGER}/{job}")


@pytest.mark.smoke
def test_two_jobs_of_two_users_have_each_their_own(start_agent, make_calls, groups):
    agent = start_agent(syscalls=True)
    said = {1: make_calls(1), 2: make_calls(2, is_users=True)}
    said[2].update(make_calls(2, is_users=True))
    await_page(agent, lambda page: {"1", "2"} <= known_jobs(page))
    for job, its in said.items():
        record = record_of(agent, job)
        assert not wrong(record, its)
        assert not contradictions(record)
        assert "T3" in record["coverage"]["tiers"]
        assert not any("system calls" in text for text in record["coverage"]["missing"])
    both = subprocess.run([agent.program.parent / "jobmeter", "report", "--json", f"{MANAGER}/1"], check=True, text=True,
                          capture_output=True, env={"JOBMETER_SOCKET": agent.settings["socket"]["path"], "PATH": os.environ["PATH"]})
    assert not wrong(json.loads(both.stdout), said[1])
    groups.remove(groups.name(1))
    assert not wrong(final_record(agent, 1), said[1])
    assert not wrong(record_of(agent, 2), said[2])


def test_at_once(start_agent, make_calls, groups, programs):
    """On the same CPUs, in turns."""
    agent = start_agent(syscalls=True)
    program = programs / "tests/truth/calls"
    running = {job: groups.start(groups.name(job), program, "--plain", env={}, stdout=subprocess.PIPE, text=True)
               for job in range(1, 12)}
    texts = {job: process.communicate(timeout=120)[0] for job, process in running.items()}
    await_page(agent, lambda page: len(known_jobs(page)) == 11)
    for job, text in texts.items():
        assert not wrong(record_of(agent, job), said_by(text))


# Numbers that no kernel has (336 is of Linux 6.18), each on each CPU: more rows than one job may have.
MANY = """import ctypes, os
for cpu in os.sched_getaffinity(0):
    os.sched_setaffinity(0, {cpu})
    for number in [*range(337, 424), *range(472, 512)]:
        for _ in range(7):
            ctypes.CDLL(None).syscall(number)
"""


def test_what_has_no_room_is_said(start_agent, groups, demand):
    cpus = len(os.sched_getaffinity(0))
    demand(cpus > 1, "needs two CPUs")
    agent = start_agent(syscalls=True, maps_memory_mib=16)
    groups.run(groups.name(1), "/usr/bin/python3", "-c", MANY)
    await_page(agent, lambda page: "1" in known_jobs(page))
    record = record_of(agent, 1)
    end = " system calls not counted by name, since the table of those was full"
    text, = (text for text in record["coverage"]["missing"] if text.endswith(end))
    lost = int(text.removesuffix(end))
    missing = (87 + 40) * 7 * cpus - sum(row["calls"] for row in record["syscalls"] if row["name"].startswith("syscall_"))
    assert 0 < missing <= lost <= record["coverage"]["lost_events"]
