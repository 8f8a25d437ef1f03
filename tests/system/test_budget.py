# SPDX-License-Identifier: MIT
"""The budget: an agent that costs too much stops timing calls and says so; counts stay exact."""

import re
import shutil
import sys

import pytest

from agent_pages import await_log, final_record, text_of
from waiting import until

READS = 20011
PAUSE = 12000
# Reads a page for some seconds, and tells how often; the first argument is a file.
READER = f"""
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
for count in range({READS}):
    assert len(os.pread(file, 4096, 0)) == 4096
    if count == {PAUSE}:  # and wait to be told to go on
        open(sys.argv[2], "w").close()
        while not os.path.exists(sys.argv[3]):
            time.sleep(0.01)
    if count % 1000 == 0:
        time.sleep(0.2)
"""
TOO_LITTLE, ENOUGH = "0.0001%", "100%"


@pytest.fixture
def reader(groups, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    (tmp_path / "page").write_bytes(bytes(4096))

    def start(job):
        return groups.start(groups.name(job), sys.executable, "-c", READER, tmp_path / "page", tmp_path / "middle",
                            tmp_path / "on")

    return start


def reads_of(record):
    return next(row["read"] for row in record["io"] if row["read"]["calls"] >= READS)


def timed(reads):
    return sum(reads["latencies"])


def unclocked_seconds(agent):
    page = text_of(agent, "/metrics")
    return float(next(line.split()[-1] for line in page.splitlines()
                      if line.startswith("jobmeter_agent_unclocked_seconds_total ")))


def await_middle(tmp_path, job):
    until(lambda: (tmp_path / "middle").exists() or job.poll() is not None)
    assert job.poll() is None


def test_within_it_nothing_is_given_up(start_agent, groups, reader, tmp_path):
    agent = start_agent(budget=ENOUGH, interval="1s")
    (tmp_path / "on").touch()
    job = reader(2)
    assert job.wait(timeout=60) == 0
    groups.remove(groups.name(2))
    record = final_record(agent, 2)
    reads = reads_of(record)
    assert timed(reads) == reads["calls"]
    assert not any("times of calls on files" in note for note in record["coverage"]["notes"])
    assert unclocked_seconds(agent) == 0


def await_unclocked(agent):
    """It gives times up with one reading, and the time without them grows with the next."""
    until(lambda: unclocked_seconds(agent))


def test_over_its_budget_the_agent_takes_no_times_and_the_next_agent_knows(start_agent, groups, reader, tmp_path):
    agent = start_agent(budget=TOO_LITTLE, interval="1s")
    job = reader(3)
    assert "from now on no times of calls on files are taken" in await_log(agent, "no times of calls")
    await_middle(tmp_path, job)
    await_unclocked(agent)
    agent.kill()
    agent.configure(budget=ENOUGH)
    agent.start()
    (tmp_path / "on").touch()
    assert job.wait(timeout=60) == 0
    groups.remove(groups.name(3))
    record = final_record(agent, 3)
    reads = reads_of(record)
    assert reads["calls"] - reads["errors"] >= READS and timed(reads) < reads["calls"]
    assert any(note.startswith("times of calls on files: lower bound") for note in record["coverage"]["notes"])


def test_without_the_clock_nothing_is_given_up_and_nothing_told(start_agent, demand):
    demand(shutil.which("curl"), "needs curl")
    page = text_of(start_agent(clock=False, budget=TOO_LITTLE), "/metrics")
    assert "jobmeter_agent_readings_total" in page
    assert not re.search("jobmeter_agent_(hooked_calls|programs_seconds|unclocked_seconds)_total", page)
