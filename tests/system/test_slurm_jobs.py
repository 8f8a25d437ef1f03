# SPDX-License-Identifier: MIT
"""Real jobs of Slurm: that the bench itself is sound, and that the agent's /metrics tells what they did.

The same scenarios run on cgroup v2 in a guest: tests/kernel/test_slurm_in_guests.py."""

import collections
import json
import pathlib
import pwd
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import jobtruth
import slurm_groups
from agent import PROGRAM

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


def test_the_ledger_is_what_another_meter_counts(slurm, run_metered, jobwork):
    """The truth itself is held against `jobmeter run`, which other tests hold against strace."""
    with jobtruth.bench(slurm, jobwork) as bench:
        record = run_metered(*bench.work("--children", 3, "--rounds", 2, "--nasty").split())
        found = {}
        for row in record["io"]:
            for op in ("read", "write"):
                found["none", row["mount"], op] = jobtruth.Count(row[op]["bytes"], row[op]["calls"])
            for op in jobtruth.META:
                found["none", row["mount"], op] = jobtruth.Count(0, row["meta"].get(op, {"calls": 0})["calls"])
        ours = {str(mount) for mount in bench.mounts}
        assert not jobtruth.differences(bench.truth(), {key: n for key, n in found.items() if key[1] in ours})


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
    job = slurm.submit("true", "-A", "physics", user="jm-alice", name='a "name"')
    slurm.wait_until_over()
    facts = json.loads((slurm.facts / f"slurm-{job}.json").read_text())
    assert abs(facts.pop("start") - time.time()) < 3600 and facts.pop("end")
    assert facts == {"schema": "jobmeter.job/1", "manager": "slurm", "id": str(job), "user": "jm-alice",
                     "uid": pwd.getpwnam("jm-alice").pw_uid, "account": "physics", "partition": "debug", "cores": 1}


def test_nothing_stays_when_the_tests_are_killed(slurm):
    """Daemons, users' processes, groups and the folder, of a Slurm whose tests died in the midst of a job."""
    tests = subprocess.Popen([sys.executable, "-c", textwrap.dedent(f"""
        import sys, time
        sys.path.insert(0, {str(HERE)!r})
        import jobtruth
        from slurm import Slurm
        slurm = Slurm().start()
        with jobtruth.bench(slurm, "/bin/true") as bench:
            slurm.submit(f"setsid sleep 1000 & touch {{slurm.out}}/up; srun sleep 1000", user="jm-alice")
            slurm.wait_for((slurm.out / "up").exists)
            print(slurm.node, slurm.folder, bench.folder, slurm.keeper.process.pid, flush=True)
            time.sleep(1000)
        """)], stdout=subprocess.PIPE, text=True)
    node, *folders, keeper = tests.stdout.readline().split()
    assert slurm_groups.groups(node)
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    end = time.monotonic() + 60
    while pathlib.Path(f"/proc/{keeper}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not slurm_groups.groups(node)
    assert not [folder for folder in folders if pathlib.Path(folder).exists()]
    assert not any(folder in pathlib.Path("/proc/mounts").read_text() for folder in folders)
    assert not processes_that_name(folders)


def processes_that_name(folders):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if any(folder.encode() in path.read_bytes() for folder in folders):
                found.append(path.parent.name)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("scenario", jobtruth.SCENARIOS)
def test_metrics_tell_what_jobs_did(slurm, jobwork, scenario):
    assert not jobtruth.play(scenario, slurm, jobwork, PROGRAM)
