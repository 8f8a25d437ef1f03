# SPDX-License-Identifier: MIT
"""What PBS, LSF and Flux say becomes jobs.  None of these runs here: their programs are scripts that print layouts as documented
(tests/data/documented), with jobs that are made up."""

import json
import os
import pathlib
import re
import time

import pytest

from made_records import CLUSTER, line, record
from server import ServerError
from serving import Serving, folder  # noqa: F401
from waiting import until

DATA = pathlib.Path(__file__).parents[1] / "data/documented"
ANSWERS = {"pbs": "pbs-accounting.txt", "lsf": "lsf-bjobs.txt", "flux": "flux-jobs.json"}
PROGRAMS = {"lsf": "bjobs", "flux": "flux"}
# Of each manager: its jobs by state, and one that a node measured: its id, start and what the manager says of it.
STATES = {
    "pbs": {"4413.pbs1": "FAILED", "4414.pbs1": "CANCELLED", "4415.pbs1": "RUNNING", "4417.pbs1": "CANCELLED", "4418.pbs1": "TIMEOUT",
            "512.torque1": "FAILED"},
    "lsf": {"701": "COMPLETED", "702": "FAILED", "703": "TIMEOUT", "704": "CANCELLED", "705[4]": "RUNNING", "705[5]": "PENDING",
            "706": "SUSPENDED", "707": "OUT_OF_MEMORY"},
    "flux": {"fPoRxNb": "COMPLETED", "fPoRxNc": "FAILED", "fPoRxNd": "TIMEOUT", "fPoRxNe": "CANCELLED", "fPoRxNf": "RUNNING",
             "fLUv": "PENDING"},
}
MEASURED = {"pbs": ("4413.pbs1", "FAILED", 3), "lsf": ("701", "COMPLETED", 0), "flux": ("fPoRxNb", "COMPLETED", 0)}


class Manager:
    """Its answer, and how its program ends."""

    def __init__(self, name, folder):  # noqa: F811
        self.name, self.folder = name, folder / "manager"
        self.folder.mkdir()
        self.answer = self.folder / ("20261128" if name == "pbs" else "answer")
        self.code = self.folder / "code"
        self.code.write_text("0")
        if name in PROGRAMS:
            program = self.folder / PROGRAMS[name]
            program.write_text(f"#!/bin/sh\necho \"$@\" >> {self.folder}/asked\ncat {self.answer}\nexit $(cat {self.code})\n")
            program.chmod(0o755)
            (self.folder / "asked").touch()
            (self.folder / "asked").chmod(0o666)
        self.restore()
        os.chmod(folder, 0o755)

    def restore(self):
        """PBS is asked for the lines of a week: they are of yesterday."""
        yesterday = time.strftime("%m/%d/%Y", time.localtime(time.time() - 86400))
        self.answer.write_text(re.sub("^11/28/2026", yesterday, (DATA / ANSWERS[self.name]).read_text(), flags=re.M))


@pytest.fixture(params=["pbs", "lsf", "flux"])
def manager(request, folder, demand):  # noqa: F811
    demand(os.geteuid() == 0, "needs root")
    return Manager(request.param, folder)


def jobs(server):
    return [job for job in json.loads(server.ask("/v1/jobs?limit=1000").text)["jobs"]]


def metric(server, name):
    lines = server.get("/metrics").text.splitlines()
    return int(next(one.split()[1] for one in lines if one.startswith(f"jobmeter_server_sync_{name}")))


def test_what_they_say_becomes_jobs_and_wins_over_the_nodes(manager, folder, keeper):  # noqa: F811
    number, state, code = MEASURED[manager.name]
    made = record(1, started=0, manager=manager.name, user="ann", uid=1002)
    made["job"]["id"] = number
    made["time"] |= {"start": "2026-11-28T10:00:17Z", "end": "2026-11-28T10:10:15Z", "measured_from": "2026-11-28T10:00:17Z"}
    with Serving(folder, keeper)(sync={"manager": manager.name, "directory": str(manager.folder), "cluster": CLUSTER,
                                       "interval": "1s"}) as server:
        server.push([line(made)])
        until(lambda: len(jobs(server)) >= len(STATES[manager.name]), 60)
        until(lambda: metric(server, "questions_total") > 9, 60)  # the days before, and some more
        ours = jobs(server)
        got = {job["id"]: job["state"] for job in ours}
        assert STATES[manager.name].items() <= got.items() and metric(server, "failures_total") == 0, server.log()
        measured = [job for job in ours if job["measured"]]
        assert [(job["id"], job["state"], job["exit_code"], job["elapsed_seconds"]) for job in measured] == [(number, state, code, 600)]
        assert {job["cluster"] for job in ours} == {CLUSTER}
        if manager.name == "pbs":  # a job that ran again is a row for each run
            assert sorted(job["state"] for job in ours if job["id"] == "4416[3].pbs1") == ["COMPLETED", "REQUEUED"]

        # what breaks off changes nothing, ends nothing and deletes nothing
        if manager.name == "pbs":
            manager.answer.write_text(manager.answer.read_text() + 
                                      time.strftime("%m/%d/%Y %H:%M:%S;E;4415.pbs1;user=bob ctime=1795860019 Exit_st"))
        else:
            manager.answer.write_bytes(manager.answer.read_bytes()[:-100])
            manager.code.write_text("1")
        until(lambda: metric(server, "failures_total") > 1, 60)
        assert jobs(server) == ours
        manager.restore()
        manager.code.write_text("0")
        failures = metric(server, "failures_total")
        until(lambda: "says again what became of its jobs" in server.log(), 60)
        assert jobs(server) == ours and metric(server, "failures_total") <= failures + 1


def test_a_log_of_pbs_is_read_by_pieces_however_large(folder, keeper, demand):  # noqa: F811
    """144 MiB of yesterday alone, of which no answer may be larger than 128; two of 150 jobs have only their id in their last line."""
    demand(os.geteuid() == 0, "needs root")
    log = folder / "manager"
    log.mkdir()
    now = int(time.time())
    midnight = now - now % 86400 - 86400

    def line_of(kind, number, at, more):
        return f"{time.strftime('%m/%d/%Y %H:%M:%S', time.localtime(at))};{kind};{number}.pbs1;{more}\n"

    for day in range(6):
        with open(log / time.strftime("%Y%m%d", time.localtime(midnight - day * 86400)), "w") as out:
            for i in range(144 if day == 0 else 1):
                at, number = midnight - day * 86400 + 60 + 600 * i, 1000 * day + i
                out.write(line_of("E", number, at, f"user=ann jobname=made queue=batch ctime={at - 60} start={at - 30} end={at} "
                                                   f"exec_host=n1/0 Variable_List={'x' * 2**20} Exit_status=0"))
    with open(log / time.strftime("%Y%m%d", time.localtime(midnight - 6 * 86400 + 3600)), "a") as out:
        out.write(line_of("Q", 9001, midnight - 5 * 86400, f"user=ann queue=batch ctime={midnight - 5 * 86400}"))
        out.write(line_of("D", 9001, midnight - 3600, "requestor=ann@login1"))  # days later
        out.write(line_of("Q", 9002, midnight - 5 * 86400, f"user=ann queue=batch ctime={midnight - 5 * 86400}"))
    with Serving(folder, keeper)(sync={"manager": "pbs", "directory": str(log), "cluster": CLUSTER, "interval": "1s"}) as server:
        until(lambda: len(jobs(server)) >= 151 and metric(server, "timestamp_seconds") >= now, 120)
        states = {job["id"]: job["state"] for job in jobs(server)}
        assert len(states) == 151 and metric(server, "failures_total") == 0, server.log()
        assert states.pop("9001.pbs1") == "CANCELLED" and states.pop("9002.pbs1") == "PENDING"
        assert set(states.values()) == {"COMPLETED"}


def test_pbs_wants_to_know_where_its_log_is(folder, keeper):  # noqa: F811
    with pytest.raises(ServerError) as failure:
        with Serving(folder, keeper)(sync={"manager": "pbs"}):
            pass
    assert "sync.manager: pbs wants sync.directory" in str(failure.value)
