# SPDX-License-Identifier: MIT
"""Real Slurm on cgroup v2: the scenarios of tests/system/jobtruth.py, in one boot of a guest."""

import json
import re

import pytest

from guest import BUILD, REPO
from slurm_guest import SCENARIOS

AGENT = BUILD / "jobmeter-agent"


@pytest.fixture
def guest(slurm_boot):
    """{name: bytes} of what the guest left."""
    return slurm_boot.result()


@pytest.fixture
def report(guest):
    return json.loads(guest["report.json"])


def shapes(lines):
    return {re.sub(r"(job|uid)_\d+", r"\1_", line.split()[0]) for line in lines if line and line[0] != "#"}


def test_groups_are_those_of_the_capture(report):
    captured = (REPO / "tests/data/captured/slurm-22.05-v2.txt").read_text().splitlines()
    assert shapes(report["groups"]) == shapes(captured)


@pytest.mark.skipif(AGENT.exists(), reason="the same jobs run under the agent")
def test_jobs_of_all_kinds_end_and_their_ledger_adds_up(report):
    wrong, sums = report["ledger"]
    assert not wrong
    assert sums["jobs"] == 7 and sums["steps"] > 10


def test_nothing_stays(guest, report):
    assert report["groups after"] == []
    assert b"slurmstepd" not in guest["groups-left"]
    assert not re.search(rb"\b(slurm(d|ctld|stepd)|munged|python3|jobmeter)", guest["processes-left"])
    assert b"jobtruth" not in guest["mounts-left"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_metrics_tell_what_jobs_did(report, scenario):
    if not AGENT.exists():
        pytest.skip(f"there is no {AGENT.name} yet")
    assert report[scenario] == []
