# SPDX-License-Identifier: MIT
"""A bench that is killed leaves no groups behind, and the next one removes what was left even so."""

import pathlib
import signal
import subprocess
import time

import pytest

TREE = pathlib.Path("/sys/fs/cgroup")
PATIENCE_S = 60


def found():
    """The benches' groups, whichever hierarchy they are in."""
    above = ["*/slurm/uid_1000", "system.slice/slurmstepd.scope"]
    return [path for pattern in above for path in TREE.glob(f"{pattern}/job_9000*")]


def await_groups(is_enough):
    end = time.monotonic() + PATIENCE_S
    while not is_enough(groups := found()):
        assert time.monotonic() < end, f"{len(groups)} groups"
        time.sleep(0.02)


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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_ends_it_ends_its_groups(bench, number):
    process = bench()
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == -number
    await_groups(lambda groups: not groups)


def test_two_at_once_are_refused(bench, programs):
    bench()
    second = subprocess.run([programs / "bench/bench-reading", "--quick"], capture_output=True, text=True)
    assert second.returncode == 1
    assert second.stderr.startswith("bench-reading: another bench has its groups there")
    assert found()


def test_what_was_left_even_so_goes_with_the_next(bench, root):
    above = next((top / "slurm/uid_1000" for top in (TREE / "memory", TREE / "cpuacct") if top.is_dir()),
                 TREE / "system.slice/slurmstepd.scope")
    left, foreign = above / "job_90000999", above / "job_17"
    left.mkdir(parents=True)
    foreign.mkdir()
    try:
        process = bench()
        process.terminate()
        assert "bench: 1 groups of an earlier one are removed\n" in process.communicate()[1]
        await_groups(lambda groups: not groups)
        assert foreign.exists()
    finally:
        foreign.rmdir()
        for folder in (above, above.parent):
            if folder.exists() and folder != TREE / "system.slice" and not any(p.is_dir() for p in folder.iterdir()):
                folder.rmdir()
