# SPDX-License-Identifier: MIT
"""A bench that is killed leaves no groups behind."""

import pathlib
import signal
import subprocess

import pytest

from waiting import until

TREE = pathlib.Path("/sys/fs/cgroup")
PATIENCE_S = 60


def found():
    """The benches' groups, whichever hierarchy they are in."""
    above = ["*/slurm/uid_1000", "system.slice/slurmstepd.scope"]
    return [path for pattern in above for path in TREE.glob(f"{pattern}/job_9000*")]


def await_groups(is_enough):
    until(lambda: is_enough(found()), why=lambda: f"{len(found())} groups")


@pytest.fixture
def bench(programs, root, demand):
    """Starts one that has made its groups."""
    if found():
        pytest.skip("another bench has its groups here")
    running = []

    def start():
        process = subprocess.Popen([programs / "bench/bench-reading", "--quick"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        running.append(process)
        await_groups(lambda groups: len(groups) > 5)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
    await_groups(lambda groups: not groups)


def test_its_groups_go_with_it_even_when_it_is_killed(bench):
    process = bench()
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    await_groups(lambda groups: not groups)
