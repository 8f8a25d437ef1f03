# SPDX-License-Identifier: MIT
"""Time by cause in the agent: waits that go on are in every page, no sum falls, and a restart loses nothing."""

import json
import os
import shutil
import time
from dataclasses import dataclass

import pytest

from agent_pages import await_page, entries, final_record, known_jobs, page_of, seldom

JOB, SPINS = "5", "7"
NOISE = 0.1  # seconds between a reading and our own clock
SWITCH = 30e-6  # seconds that the scheduler may take to balance CPUs as one leaves


@dataclass
class Read:
    """Seconds that a page said, which was made at some moment between being asked for and being there."""
    seconds: float
    asked: float
    came: float


def read(agent, *sums):
    """A Read of each, of one page: what is asked for within a second is an older page, made before it was asked for."""
    asked = time.monotonic()
    page = page_of(agent)
    came = time.monotonic()
    return [Read(sum_of(page), asked, came) for sum_of in sums]


def has_grown_with_the_clock(first, now):
    grown = now.seconds - first.seconds
    return (now.asked - first.came) * 0.99 - NOISE <= grown <= (now.came - first.asked) * 1.01 + NOISE


def slept(page):
    return sum(value for labels, value in page.of("jobmeter_job_blocked_seconds_total")
               if labels["jobid"] == JOB and labels["cause"] == "sleep")


def lived(page):
    """All that the thread of the other job does."""
    families = ("cpu_seconds", "cpu_stolen_seconds", "cpu_run_queue_seconds", "blocked_seconds")
    found = {family: [value for labels, value in page.of(f"jobmeter_job_{family}_total") if labels["jobid"] == SPINS]
             for family in families}
    assert all(found.values()), found
    return sum(map(sum, found.values()))


def let_pass(seconds):
    """Time is what is measured here; what is asked for within a second is one reading."""
    time.sleep(seconds)


@pytest.fixture
def sleeper(groups):
    began = time.monotonic()
    process = groups.start(groups.name(JOB), "sleep", "600", env={})
    process.began = began
    yield process
    process.kill()
    process.wait()


def test_a_wait_that_goes_on_and_all_that_a_thread_does_grow_with_the_clock(start_agent, sleeper, groups, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent(interval=seldom())  # it reads when it is asked
    process = groups.start(groups.name(SPINS), "sh", "-c", "while :; do :; done", env={})
    try:
        let_pass(1.1)
        first = read(agent, slept, lived)
        for _ in range(4):
            let_pass(1.1)
            for before, now in zip(first, read(agent, slept, lived)):
                assert has_grown_with_the_clock(before, now)
    finally:
        process.kill()
        process.wait()


def test_a_restart_loses_no_wait(start_agent, groups, sleeper, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent(interval=seldom())
    let_pass(1.1)
    first, = read(agent, slept)
    for end in (agent.kill, agent.step_aside):
        end()
        let_pass(1.1)
        agent.start()
        let_pass(1.1)
        now, = read(agent, slept)
        assert has_grown_with_the_clock(first, now)
    killed = time.monotonic()
    sleeper.kill()
    sleeper.wait()
    ended = time.monotonic()
    groups.remove(groups.name(JOB))
    causes = final_record(agent, int(JOB))["cpu"]["causes"]
    assert has_grown_with_the_clock(first, Read(causes["sleep_seconds"], killed, ended))
    assert sum(causes.values()) - causes["sleep_seconds"] < NOISE + first.came - sleeper.began  # it may wait as it starts


def test_a_storm_of_short_children_is_counted_whole_and_leaves_nothing(start_agent, groups, programs, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    demand(shutil.which("bpftool") or os.path.exists("/usr/sbin/bpftool"), "needs bpftool")
    children, parents, name = 2003, 5, groups.name(JOB)
    agent = start_agent(retention="10s")  # its record is asked for meanwhile
    groups.run(name, programs / "tests/truth/waits", "storm", children, tmp_path / "waits.json", env={})
    truth = json.loads((tmp_path / "waits.json").read_text())
    group = (groups.roots[0] / name).stat().st_ino
    assert 0 < entries(agent, "task_times", {group}) <= os.cpu_count()
    groups.remove(name)
    record = final_record(agent, int(JOB))
    cpu = record["cpu"]
    assert record["tasks"]["ended"] == children + parents + 1
    assert cpu["user_seconds"] + cpu["system_seconds"] == pytest.approx(truth["rusage_ns"] / 1e9, rel=0.01)
    assert cpu["run_queue_seconds"] == pytest.approx(truth["queued_ns"] / 1e9, rel=0.01, abs=NOISE)
    expected = {cause: ns / 1e9 for cause, ns in truth["waits_ns"].items()}
    for cause, seconds in expected.items():  # by the program's clocks, which do not tell what was stolen
        most = seconds * 1.01 + children * SWITCH
        assert seconds * 0.99 - cpu["stolen_seconds"] <= cpu["causes"][f"{cause}_seconds"] <= most

    await_page(agent, lambda page: JOB not in known_jobs(page) and not entries(agent, "task_times", {group}))
    assert [entries(agent, table, {group}) for table in ("task_times", "task_totals", "groups")] == [0, 0, 0]
    coverage = record["coverage"]
    assert not [text for text in coverage["missing"] + coverage["notes"] if "was full" in text or "lack of memory" in text]
