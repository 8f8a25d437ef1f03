# SPDX-License-Identifier: MIT
"""Five lines at the end of a batch job's output, by a real Slurm's TaskEpilog and an agent."""

import os
import pathlib
import re
import shutil
import signal
import stat

import pytest

import slurm as slurm_module
from agent import BUILD, Agent

pytestmark = pytest.mark.node

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "share/slurm/task-epilog-jobmeter.sh"
WORK = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"
PATTERNS = [r"jobmeter: job {job}   [\w. ]+   .*, 1 core", r"  \S.*", r"  CPU efficiency +[\d.]+ % .* of 1 core .*",
            r"  Memory efficiency +[\d.]+ % .* of 64 MiB at its peak",
            r"  More: jobmeter report --full slurm/{job} \(on .*\)"]


@pytest.fixture(scope="module")
def cluster(demand):
    demand(os.geteuid() == 0, "needs root")
    missing = slurm_module.missing_program()
    demand(not missing, f"needs Slurm: there is no {missing}")
    demand(not pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists(), "needs cgroup v1")
    with slurm_module.Slurm(jobscripts=True, more="TaskEpilog={folder}/task-epilog.sh") as s:
        program = s.folder / "jobmeter"
        shutil.copy(BUILD.resolve() / "jobmeter", program)  # where no user's way is barred
        s.socket = s.folder / "agent/agent.sock"
        script = s.folder / "task-epilog.sh"
        # As a site would call it, and how it ended and how long it took beside.
        script.write_text(f"#!/bin/sh\nexport JOBMETER={program} JOBMETER_SOCKET={s.socket}\nbegin=$(date +%s%N)\n"
                          f"sh {s.folder}/ours.sh\ncode=$?\n"
                          f"echo $code $((($(date +%s%N) - begin) / 1000000)) >>{s.out}/epilogs.$SLURM_JOB_ID\n")
        shutil.copy(SCRIPT, s.folder / "ours.sh")
        for path in (script, s.folder / "ours.sh"):
            path.chmod(0o755)
        yield s


@pytest.fixture
def agent(cluster):
    with Agent(cluster.folder / "agent", cluster.keeper, run_dir=cluster.facts.parent) as agent:
        assert stat.S_ISSOCK(cluster.socket.stat().st_mode)
        yield agent


def play(cluster, script, *options):
    """Its id, its output, and of each call of our script the exit code and the milliseconds."""
    job = cluster.submit(script, "-o", cluster.out / "%j.out", *options, user=slurm_module.USERS[0], name="train")
    cluster.wait_until_over()
    assert cluster.states(job) == {"COMPLETED"}
    epilogs = [tuple(map(int, line.split())) for line in (cluster.out / f"epilogs.{job}").read_text().splitlines()]
    assert all(code == 0 for code, _ in epilogs)
    return job, (cluster.out / f"{job}.out").read_text().splitlines(), epilogs


def is_summary(lines, job):
    return len(lines) == 5 and all(re.fullmatch(pattern.format(job=job), line) for pattern, line in zip(PATTERNS, lines))


def test_the_output_ends_with_five_lines_once(cluster, agent):
    job, lines, epilogs = play(cluster, f"echo mine; srun -n1 sh -c 'echo a step'; {WORK}; sleep 2; echo last")
    assert lines[:3] == ["mine", "a step", "last"]
    assert is_summary(lines[3:], job), lines
    assert len(epilogs) == 2  # of the step's task, and of the batch script


def test_it_stands_where_errors_do(cluster, agent):
    job, lines, _ = play(cluster, f"{WORK}; sleep 2; echo mine", "-e", cluster.out / "%j.err")
    assert lines == ["mine"]
    assert is_summary((cluster.out / f"{job}.err").read_text().splitlines(), job)


def test_without_an_agent_a_job_ends_as_it_did(cluster):
    _, lines, epilogs = play(cluster, "echo mine; srun -n1 sh -c 'echo a step'")
    assert lines == ["mine", "a step"]
    assert all(ms < 15000 for _, ms in epilogs)


def test_an_agent_that_does_not_answer_is_given_up(cluster, agent):
    agent.process.send_signal(signal.SIGSTOP)
    try:
        _, lines, epilogs = play(cluster, "echo mine")
    finally:
        agent.process.send_signal(signal.SIGCONT)
    assert lines == ["mine"]
    assert all(ms < 15000 for _, ms in epilogs)  # five seconds, and what a busy machine adds
