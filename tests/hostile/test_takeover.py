# SPDX-License-Identifier: MIT
"""Who takes over a process of the agent's has the calls that it needs, and none by which others are taken over."""

import os
import subprocess

import pytest


@pytest.fixture
def victim(root):
    """A process of root's."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def tried(programs, victim, *words):
    done = subprocess.run([programs / "tests/system/taken-over", *words, str(victim)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_without_the_filter_others_can_be_taken_over(programs, victim):
    """Else the next test would show nothing."""
    for process in ("agent-unfiltered", "helper-unfiltered"):
        result = tried(programs, victim, process)
        assert result["trace"] == result["read-memory"] == result["start-program"] == "done"


@pytest.mark.parametrize("process", ["agent", "helper"])
def test_no_other_process_can_be_taken_over(programs, victim, process):
    result = tried(programs, victim, process)
    # EPERM: refused to all; ENOSYS: not among what this one needs
    assert set(result.values()) <= {"EPERM", "ENOSYS"}, result
    assert result["trace"] == result["read-memory"] == result["take-descriptor"] == "EPERM"


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def test_both_processes_of_a_running_agent_are_filtered(start_agent):
    agent = start_agent()
    with open(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children") as file:
        children = [int(pid) for pid in file.read().split()]
    helpers = [pid for pid in children if status_of(pid)["Name"] == "jobmeter-helper"]
    assert len(helpers) == 1
    for pid in [agent.process.pid, *helpers]:
        status = status_of(pid)
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1"), status["Name"]


def test_what_the_agent_calls_is_not_refused(start_agent, groups, work):
    """A job, a page, a reload, an end: nothing of it stands in the kernel's log."""
    def refused():
        log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines()
        return [line for line in log if "type=1326" in line and 'comm="jobmeter-' in line]

    before = len(refused())
    agent = start_agent()
    work(1)
    assert agent.get("/metrics").status == 200
    agent.configure(interval="2s")
    os.kill(agent.process.pid, 1)
    agent.stop()
    assert refused()[before:] == []
