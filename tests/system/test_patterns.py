# SPDX-License-Identifier: MIT
"""What programs did over time, found in real timelines: phases, checkpoints, an idle tail, and nothing at all."""

import concurrent.futures
import datetime
import json
import subprocess

import pytest

from greedy import FIRST, FIRST_IN_GROUP, hold_processors
from repository import REPOSITORY

# work(end, share): on a CPU for a share of each tenth of a second, until so many seconds after the start, however long what came
# before took.  write(mebibytes).  tell(): the clock of day and the CPU time by then.
PRELUDE = """
import os, sys, time
def tell():
    print(time.time(), time.process_time(), flush=True)
def work(end, share):
    while (begin := time.monotonic()) < START + end:
        used = time.process_time()
        while time.process_time() - used < share / 10:
            pass
        time.sleep(max(0, begin + 0.1 - time.monotonic()))
    tell()
def write(mebibytes):
    with open(sys.argv[1], 'wb', buffering=0) as f:
        for _ in range(mebibytes):
            f.write(bytes(1 << 20))
    os.unlink(sys.argv[1])
START = time.monotonic()
tell()
"""
# Phases take 32 buckets of a second, checkpoints six of them.
PROGRAMS = {
    "phases": "work(18, 0.4); work(36, 0.1)",
    "checkpoints": "for i in range(1, 8): work(6 * i, 0.2); write(37)",
    "idle-tail": "work(14, 0.2); time.sleep(23); tell()",
    "steady": "work(37, 0.2)",
}
# Ten minutes of idling are much for a test.
TAIL = "time: 10 min, part: 10 %, work: 1 min}"
SHORT_TAIL = "time: 20 s, part: 10 %, work: 10 s}"
LEAST = "{elapsed: 10 min, pattern_idle_tails: 1}"


@pytest.fixture(scope="module")
def said(programs, tmp_path_factory):
    """{program: what is told of it, and what it told}, of all of them run at once: they mostly sleep.  A phase is known by its share
    of a CPU, so they come before everything else."""
    folder = tmp_path_factory.mktemp("patterns")
    rules = (REPOSITORY / "share/insights.yaml").read_text()
    assert rules.count(TAIL) == rules.count(LEAST) == 1
    (folder / "rules.yaml").write_text(rules.replace(TAIL, SHORT_TAIL).replace(LEAST, LEAST.replace("10 min", "30 s")))

    def run(name):
        output = folder / f"{name}.json"
        told = subprocess.run([*FIRST, programs / "jobmeter", "run", "--quiet", "--output", output, "--", *FIRST_IN_GROUP,
                               "/usr/bin/python3", "-IS", "-c", PRELUDE + PROGRAMS[name], f"/dev/shm/{folder.name}-{name}"],
                              check=True, timeout=300, stdout=subprocess.PIPE, text=True).stdout
        done = subprocess.run([programs / "jobmeter", "insights", "--rules", folder / "rules.yaml", "--json", output],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout) | {"told": [tuple(map(float, line.split())) for line in told.splitlines()]}

    with hold_processors(), concurrent.futures.ThreadPoolExecutor(len(PROGRAMS)) as pool:
        return dict(zip(PROGRAMS, pool.map(run, PROGRAMS)))


def seconds(moment):
    """Of the clock of day."""
    return datetime.datetime.fromisoformat(moment[:26] + "+00:00").timestamp()


def of_kind(said, kind):
    return [p for p in said["patterns"] if p["id"] == kind]


def test_phases_begin_where_the_program_did_something_else(root, said):
    first, second = of_kind(said["phases"], "phase")
    (begun, before), (changed, middle), (ended, after) = said["phases"]["told"]
    assert seconds(first["to"]) == pytest.approx(changed, abs=2.5)
    assert first["cores"] == pytest.approx((middle - before) / (changed - begun), abs=0.1)
    assert second["cores"] == pytest.approx((after - middle) / (ended - changed), abs=0.05)
    assert {p["id"] for p in said["phases"]["patterns"]} == {"phase"}


def test_checkpoints_have_their_period_and_size(root, said):
    found, = of_kind(said["checkpoints"], "checkpoints")
    assert found["count"] in (6, 7)  # the last is in the last bucket, which the job may not have filled
    assert found["period_seconds"] == pytest.approx(6, abs=0.5)
    assert found["bytes"] == pytest.approx(37 << 20, rel=0.05)


def test_an_idle_tail_is_as_long_as_the_sleep(root, said):
    found, = of_kind(said["idle-tail"], "idle-tail")
    _, (idle, _), (ended, _) = said["idle-tail"]["told"]
    assert found["seconds"] == pytest.approx(ended - idle, abs=2.5) and ended - idle >= 23
    assert not of_kind(said["idle-tail"], "hang") and not of_kind(said["idle-tail"], "checkpoints")
    assert "idle-tail" in [i["id"] for i in said["idle-tail"]["insights"]]


def test_in_steady_work_nothing_is_found(root, said):
    assert said["steady"]["patterns"] == []
