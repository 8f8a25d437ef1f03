# SPDX-License-Identifier: MIT
"""`jobmeter top` of units of systemd, and of jobs of Slurm: it sees all groups of the machine."""

import json
import os
import re
import subprocess

import pytest

from agent import BUILD, Agent
from slurm import USERS
from test_top import WRITES
from waiting import until

pytestmark = pytest.mark.node


def test_units_of_systemd_are_jobs_where_nobody_else_gives_any(programs, groups, tmp_path, demand):
    """Groups named as systemd's, on a machine without a manager."""
    doctor = json.loads(subprocess.run([programs / "jobmeter", "doctor", "--json"], capture_output=True).stdout)
    demand(not doctor.get("managers"), "another manager is here, and so units are none")
    unit, session = f"jm-{os.getpid()}.service", f"session-{os.getpid()}.scope"
    started = [groups.start(f"system.slice/{unit}", "sh", "-c", WRITES),
               groups.start(f"user.slice/user-1000.slice/{session}", "sleep", "600")]
    try:
        done = subprocess.run([programs / "jobmeter", "top", "--json", "-n", "2", "-d", "1"], capture_output=True,
                              text=True, timeout=120, env={**os.environ, "JOBMETER_SOCKET": "/nonexistent"})
        text = subprocess.run([programs / "jobmeter", "top", "--batch", "-n", "1", "--size", "120x20"], text=True,
                              capture_output=True, env={**os.environ, "JOBMETER_SOCKET": "/nonexistent"}).stdout
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert done.returncode == 0, done.stderr
    found = [{j["job"]["id"]: j for j in json.loads(line)["jobs"]} for line in done.stdout.splitlines()]
    assert all({unit, session} <= jobs.keys() for jobs in found)
    assert found[1][unit]["job"]["manager"] == "systemd" and found[1][unit]["now"]["write_bytes"] > 0
    assert found[1][session]["job"]["uid"] == 1000 and found[1][session]["job"]["command"] == ["sleep"]
    assert "by the meter of our own" in text and f"jm-{os.getpid()}" in text and "(sleep)" in text


# Last, since that Slurm lives until this file is over, and where one lives units are no jobs.
def test_a_job_of_slurm_has_its_name(slurm, tmp_path):
    """slurmd tells its prolog none: the job's own processes do."""
    agent = Agent(tmp_path / "agent", slurm.keeper, run_dir=slurm.facts.parent).prepare()
    agent.start()
    try:
        job = slurm.submit("sleep 100", user=USERS[0], name="train it")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "JOBMETER_SOCKET": agent.settings["socket"]["path"]}
        def shown():
            return subprocess.run([BUILD.resolve() / "jobmeter", "top", "--batch", "-n", "1", "--size", "80"],
                                  capture_output=True, text=True, check=True, env=environment).stdout

        text = until(lambda: "train it" in (text := shown()) and text, why=shown, pause=0.5)
        assert re.search(rf"^.{job} +{USERS[0]} +train it ", text, re.M)
    finally:
        slurm.run("scancel", "--signal=KILL", "--full", "-u", USERS[0], check=False)
        slurm.wait_until_over()
        agent.stop()
