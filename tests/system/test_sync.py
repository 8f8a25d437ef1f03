# SPDX-License-Identifier: MIT
"""What became of real jobs of a real Slurm, by its accounting (slurmdbd on MariaDB): our rows and sacct's are the same."""

import calendar
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

import accounting
import slurm as slurm_module
from accounting import AccountedSlurm
from agent import Agent, environment
from keeper import Keeper
from server import Server
from serving import wait_for
from slurm import USERS

pytestmark = pytest.mark.node

ANN, BOB = USERS


@pytest.fixture(scope="module")
def slurm(demand):
    missing = [name for name in slurm_module.PROGRAMS + accounting.PROGRAMS if not shutil.which(name)]
    demand(os.geteuid() == 0 and not missing, f"needs root and {missing or 'nothing else'}")
    with AccountedSlurm(accounts={"chem": [ANN], "bio": [ANN, BOB]}, jobscripts=True,
                        cgroup_more="ConstrainSwapSpace=no") as slurm:
        yield slurm


class Site:
    """An agent that sends to a server that asks Slurm."""

    def __init__(self, slurm, server):
        self.slurm, self.server = slurm, server

    def jobs(self):
        """As a person sees them, by `jobmeter jobs`."""
        done = subprocess.run([self.server.program, "jobs", "--all", "--json", "--limit", "0"], capture_output=True, text=True,
                              env={**environment(), "JOBMETER_SERVER_SOCKET": str(self.server.socket)}, timeout=60, check=True)
        return [job for job in json.loads(done.stdout)["jobs"] if job["manager"] == "slurm"]

    def asked(self):
        return int(self.metric("sync_questions_total"))

    def metric(self, name):
        lines = self.server.get("/metrics").text.splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"jobmeter_server_{name}"))

    def sync(self):
        """Until a question that is asked from now on was answered."""
        now = time.time()
        wait_for(lambda: int(self.metric("sync_timestamp_seconds")) > now)


@pytest.fixture(scope="module")
def site(slurm, programs):
    with tempfile.TemporaryDirectory(prefix="jobmeter-sync-") as name, Keeper() as keeper:
        os.chmod(name, 0o755)
        folder = pathlib.Path(name)
        with Server(folder / "server", keeper, environment={"SLURM_CONF": slurm.environment["SLURM_CONF"]},
                    sync={"manager": "slurm", "interval": "1s"}) as server:
            server.program = programs / "jobmeter"
            with Agent(folder / "agent", keeper, run_dir=slurm.folder / "run", server=f"http://127.0.0.1:{server.port}",
                       server_token_file=f"{folder}/server/push.token"):
                yield Site(slurm, server)


def moment(text):
    """Of ours or sacct's, in seconds; None: not yet, or never."""
    if text in (None, "Unknown", "None"):
        return None
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def test_jobs_have_the_states_and_exit_codes_of_sacct(site, slurm):
    ids = [slurm.submit(f"exit {i % 4}", "-A", "bio", user=USERS[i % 2], name=f"job {i}") for i in range(17)]
    ids.append(slurm.submit("kill -SEGV $$", "-A", "chem", user=ANN))
    ids.append(slurm.submit(f"echo >{slurm.out}/runs; sleep 600", "-A", "chem", "--exclusive", user=ANN))
    slurm.wait_for((slurm.out / "runs").exists)
    ids.append(slurm.submit("true", "-A", "chem", "--exclusive", user=ANN))  # waits, and does not begin
    slurm.wait_for(lambda: "Resources" in slurm.run("squeue", "-h", "-j", ids[19], "-o", "%r").stdout)
    slurm.run("scancel", ids[19], ids[18])
    slurm.wait_until_over()
    site.sync()
    wait_for(lambda: sum(job["measured"] for job in site.jobs()) == 19)  # records take their time
    ours = {job["id"]: job for job in site.jobs()}
    rows = {row["JobIDRaw"]: row for row in slurm.sacct("JobIDRaw", "State", "ExitCode", "User", "Account", "JobName", "Start", "End",
                                                       "NodeList")}
    assert set(ours) == set(rows) == set(map(str, ids))
    for number, row in rows.items():
        job, (code, signal) = ours[number], map(int, row["ExitCode"].split(":"))
        began = row["NodeList"] != "None assigned"
        assert job["state"] == row["State"].split()[0]
        assert (job["exit_code"], job["signal"]) == ((None, signal) if signal else (code, None) if began else (None, None))
        assert (job["user"], job["account"], job["name"]) == (row["User"], row["Account"], row["JobName"])
        assert (moment(job["start"]), moment(job["end"])) == (moment(row["Start"]) if began else None, moment(row["End"]))
        assert job["measured"] == began
    assert {job["state"] for job in ours.values()} == {"COMPLETED", "FAILED", "CANCELLED"}
