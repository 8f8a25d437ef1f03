# SPDX-License-Identifier: MIT
"""Processor time: user and system within 1 %, or 10 ms, of what the kernel charged the program itself."""

import json
import os
import pathlib
import shutil
import time

import pytest

from agent_pages import ask, final_record
from greedy import processors, run_first  # noqa: F401
from job_groups import MANAGER


def cpus(text):
    """Of a list such as "0-3,8"."""
    ends = (part.split("-") for part in text.split(","))
    return {cpu for part in ends for cpu in range(int(part[0]), int(part[-1]) + 1)}


CASES = {
    "spin": 1999,  # ms
    "calls": 1999,  # ms
    "forks": 503,  # children; what they do at their end counts
    "memory": 1009,  # MiB, freed by a child's end
}


@pytest.mark.parametrize("mode, amount", CASES.items(), ids=CASES.keys())
def test_user_and_system_time_are_the_kernels(programs, tmp_path, run_first, mode, amount):
    output = tmp_path / "burn.json"
    record = run_first(programs / "tests/truth/burn", mode, amount, output, tier="T0")
    burnt = json.loads(output.read_text())
    user, system = burnt["user_us"] / 1e6, burnt["system_us"] / 1e6
    allowed = max((user + system) / 100, 0.01)
    cpu = record["cpu"]
    assert cpu["user_seconds"] + cpu["system_seconds"] == pytest.approx(user + system, abs=allowed)
    assert cpu["user_seconds"] == pytest.approx(user, abs=allowed)
    assert cpu["system_seconds"] == pytest.approx(system, abs=allowed)
    if mode == "spin":
        assert record["threads"] == {"count": 1, "balance": 1, "cpu_seconds": pytest.approx(amount / 1e3, rel=0.01)}


def test_the_busiest_process_tells_how_even_its_threads_were(programs, tmp_path, run_first):
    output = tmp_path / "burn.json"
    record = run_first(programs / "tests/truth/burn", "team", 997, output, tier="T0")
    parts = [0.997, 0.498, 0.249]
    assert record["threads"] == {"count": 3, "balance": pytest.approx(sum(parts) / 3 / parts[0], rel=0.01),
                                 "cpu_seconds": pytest.approx(sum(parts), rel=0.01)}
    cpu, burnt = record["cpu"], json.loads(output.read_text())
    assert cpu["user_seconds"] + cpu["system_seconds"] == \
        pytest.approx((burnt["user_us"] + burnt["system_us"]) / 1e6, rel=0.01)


def test_where_a_program_ran_stands_in_its_record(programs, tmp_path, run_first, demand):
    demand(shutil.which("taskset"), "needs taskset")
    last = max(os.sched_getaffinity(0))
    record = run_first("taskset", "-c", last, programs / "tests/truth/burn", "spin", 997, tmp_path / "burn.json")
    nodes = [path.parent.name.removeprefix("node") for path in pathlib.Path("/sys/devices/system/node").glob(f"node*/cpu{last}")]
    assert record["cores"]["used"] == 1
    assert record["cpu"]["cpus_used"] == str(last)
    assert record["cpu"]["numa_nodes_used"] == (nodes[0] if nodes else None)


def test_an_agent_tells_it_of_a_job_that_lives_and_of_one_that_ended(start_agent, groups, programs, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    agent, seen = start_agent(), set()
    team = groups.start(groups.name(1), programs / "tests/truth/burn", "team", "2999", tmp_path / "burn.json")
    while team.poll() is None:
        seen.add(ask(agent, f"/v1/jobs/{MANAGER}/1").get("threads", {}).get("count"))
        time.sleep(0.1)
    assert team.returncode == 0 and {1, 3} <= seen
    groups.remove(groups.name(1))
    parts = [2.999, 1.499, 0.749]
    record = final_record(agent, 1)
    assert len(cpus(record["cpu"]["cpus_used"])) == record["cores"]["used"]
    assert cpus(record["cpu"]["cpus_used"]) <= cpus(record["cpu"]["cpus_allowed"])
    assert record["threads"] == {"count": 3, "balance": pytest.approx(sum(parts) / 3 / parts[0], rel=0.01),
                                 "cpu_seconds": pytest.approx(sum(parts), rel=0.01)}
