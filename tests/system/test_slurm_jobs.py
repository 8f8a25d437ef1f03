# SPDX-License-Identifier: MIT
"""Real jobs of Slurm: that the bench itself is sound, and that the agent's /metrics tells what they did.

Plain, killed and hostile ones run on cgroup v2 in a guest: tests/kernel/test_slurm_in_guests.py."""

import collections
import json
import pathlib
import pwd
import time

import pytest

import jobtruth
from agent import PROGRAM
from slurm import USERS

pytestmark = pytest.mark.node

HERE = pathlib.Path(__file__).resolve().parent
CAPTURED = HERE.parents[0] / "data/captured"


@pytest.fixture(scope="module")
def jobwork(programs):
    return programs / "tests/truth/jobwork"


def test_jobs_of_all_kinds_end_and_their_ledger_adds_up(slurm, jobwork):
    wrong, sums = jobtruth.ledger_only(slurm, jobwork)
    assert not wrong
    assert sums["jobs"] == 23 and sums["steps"] > 40  # 20 submissions, 3 of them arrays of two


def test_groups_are_those_of_the_capture(slurm):
    """Identity and hierarchy are made after this file."""
    captured = (CAPTURED / "slurm-22.05-v1.txt").read_text().splitlines()
    assert shapes(jobtruth.captured(slurm)) == shapes(captured)


def shapes(lines):
    """Paths, without the numbers that differ from day to day."""
    words = (line.split()[0] for line in lines if line and not line.startswith("#"))
    return collections.Counter("/".join(part.rstrip("0123456789") if part.startswith(("job_", "uid_")) else part
                                        for part in path.split("/")) for path in words)


def test_the_prolog_tells_what_slurm_says(slurm):
    job = slurm.submit("true", "-A", "physics", user=USERS[0], name='a "name"')
    slurm.wait_until_over()
    facts = json.loads((slurm.facts / f"slurm-{job}.json").read_text())
    assert abs(facts.pop("start") - time.time()) < 3600 and facts.pop("end")
    assert facts == {"schema": "jobmeter.job/1", "manager": "slurm", "id": str(job), "user": USERS[0],
                     "uid": pwd.getpwnam(USERS[0]).pw_uid, "account": "physics", "partition": "debug", "cores": 1}


@pytest.mark.parametrize("scenario", ["killed", "restarted", "hostile"])  # the plain jobs are part of each
def test_metrics_tell_what_jobs_did(slurm, jobwork, scenario):
    assert not jobtruth.play(scenario, slurm, jobwork, PROGRAM)
