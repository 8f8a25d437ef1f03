# SPDX-License-Identifier: MIT
"""The energy of two real jobs of Slurm, of which one computes and one sleeps: the same in the agent's /metrics, in the server's
database, and by the shipped rules in a real Prometheus.  This machine has no sensor: its energy is an estimate, and heat is that
of a second agent, on a layout."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from agent import Agent
from agent_pages import ask, await_page, page_of
from layouts import change, coretemp
from prometheus import Prometheus
from server import Server
from slurm import USERS

pytestmark = pytest.mark.node

RULES = pathlib.Path(__file__).resolve().parents[2] / "share/prometheus/jobmeter-rules.yml"
CARRIED = 0.01  # joules: what may wait for the next interval, two microjoules an owner; the machine may have many others
CPU_S = 3  # that the job that computes has to have used
PATIENCE_S = 300  # on a busy machine Slurm itself takes a minute to start a job
ELAPSED_S = 12  # how long both are there before anything is asked: enough buckets for a curve
BUSY = "touch {signs}/$SLURM_JOB_ID; while ! [ -e {signs}/end ]; do i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; done"
ASLEEP = "touch {signs}/$SLURM_JOB_ID; while ! [ -e {signs}/end ]; do sleep 1; done"


class Scraped(Agent):
    """With TLS and a token, as a site has it: the token is told."""

    def get(self, path, **options):
        token = pathlib.Path(self.settings["token_file"])
        return super().get(path, **options, **({"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}))


class Site:
    """Two jobs, which run until they are told to end."""

    def __init__(self, slurm, programs, agent, server):
        self.slurm, self.programs, self.agent, self.server = slurm, programs, agent, server
        self.signs = slurm.out / f"energy-{agent.port}"
        self.signs.mkdir()
        self.signs.chmod(0o1777)
        self.busy, self.asleep = (str(slurm.submit(script.format(signs=self.signs), "-A", "physics", user=USERS[0], name=name))
                                  for script, name in ((BUSY, "burn"), (ASLEEP, "wait")))
        slurm.wait_for(lambda: all((self.signs / job).exists() for job in (self.busy, self.asleep)))
        self.page = await_page(agent, lambda page: self.of(page, "cpu_seconds").get(self.busy, 0) > CPU_S
                               and min(self.elapsed(page).get(job, 0) for job in (self.busy, self.asleep)) > ELAPSED_S, PATIENCE_S)

    def elapsed(self, page):
        return {labels["jobid"]: value for labels, value in page.of("jobmeter_job_elapsed_seconds")}

    def of(self, page, name):
        """{job: sum} of ours."""
        found = {}
        for labels, value in page.of(f"jobmeter_job_{name}_total"):
            if labels["jobid"] in (self.busy, self.asleep):
                found[labels["jobid"]] = found.get(labels["jobid"], 0) + value
        return found

    def end(self):
        (self.signs / "end").touch()
        self.slurm.wait_until_over()

    def type(self, *argv):
        environment = {**os.environ, "JOBMETER_SOCKET": self.agent.settings["socket"]["path"], "JOBMETER_CONFIG": "/dev/null"}
        return subprocess.run([self.programs / "jobmeter", *map(str, argv)], capture_output=True, text=True, check=True,
                              env=environment).stdout

    def listed(self, *options):
        """Of `jobs`, by the database: {id: row}"""
        rows = csv.DictReader(self.type("jobs", "--database", self.server.database, "--limit", "0", *options).splitlines())
        return {row["id"]: row for row in rows if row["id"] in (self.busy, self.asleep)}


@pytest.fixture
def site(slurm, programs, certificate, tmp_path):
    cert, key = certificate
    folder = slurm.folder / "energy"
    with Server(folder, slurm.keeper) as server, \
         Scraped(slurm.folder / "agent", slurm.keeper, run_dir=slurm.facts.parent, cpu_model="AMD EPYC 9654 96-Core Processor",
                 server=f"http://127.0.0.1:{server.port}", server_token_file=str(folder / "push.token"), insecure=False,
                 token_file=str(slurm.folder / "scrape.token"), tls={"certificate": str(cert), "key": str(key)}) as agent:
        site = Site(slurm, programs, agent, server)
        yield site
        site.end()


def microjoules(joules):
    """A number of JSON or of the page has six digits behind its point."""
    return round(joules * 1e6)


def final_records(site):
    """{job: its record}, by the server."""
    found = {}
    end = time.monotonic() + PATIENCE_S
    while len(found) < 2:
        assert time.monotonic() < end, site.agent.log() + site.server.log()
        for job in (site.busy, site.asleep):
            if any(row["final"] for row in site.server.jobs(f"id={job}")):
                found[job], = (json.loads(line) for line in site.server.ask(f"/v1/records?id={job}").text.splitlines())
        time.sleep(0.2)
    return found


def test_two_jobs_have_their_shares_everywhere(site):
    page = site.page
    joules = site.of(page, "energy_joules")
    idle = site.of(page, "energy_idle_joules")
    assert joules[site.busy] > joules[site.asleep] > 0
    # it slept but for starting: beyond its share of the idle power it has what its CPU time says
    cpu = site.of(page, "cpu_seconds")
    dynamic = {job: joules[job] - idle[job] for job in joules}
    assert dynamic[site.asleep] / dynamic[site.busy] == pytest.approx(cpu[site.asleep] / cpu[site.busy], abs=0.05)
    kinds = {(labels["level"], labels["quality"]) for labels, _ in page.of("jobmeter_job_energy_joules_total")}
    assert kinds == {("node", "estimated")}
    owners = {labels["owner"]: value for labels, value in page.of("jobmeter_node_energy_owner_joules_total")}
    assert owners.keys() == {"jobs", "system", "idle", "unattributed"}
    (sensor, total), = page.of("jobmeter_node_energy_joules_total")
    assert sensor["quality"] == "estimated" and abs(sum(owners.values()) - total) < CARRIED
    assert [value for _, value in page.of("jobmeter_node_energy_unbalanced_joules")] == [0]
    balance = ask(site.agent, "/v1/energy")["balance"]
    came = microjoules(balance["came_joules"])
    waits = came - sum(microjoules(balance[f"{owner}_joules"]) for owner in owners)
    assert balance["unbalanced_microjoules"] == 0 and 0 <= waits < CARRIED * 1e6
    rows = [line.split() for line in site.type("top", "--batch", "--iterations", 2, "--no-legend", "-o", "id,power").splitlines()]
    watts = {row[0]: row[1] for row in rows if row and row[0] in (site.busy, site.asleep)}  # the later ones
    assert all(text.startswith("~") for text in watts.values()), rows
    assert float(watts[site.busy][1:]) > float(watts[site.asleep][1:]) > 0

    site.end()
    records = final_records(site)
    listed = site.listed("-o", "id,energy", "--format", "csv")
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in
             site.type("jobs", "--database", site.server.database, "-o", "id,energy", "--no-legend").splitlines()}
    for job, record in records.items():
        energy = record["energy"]
        assert (energy["quality"], energy["level"], energy["uncertainty"]) == ("estimated", "node", 0.2)
        assert sum(microjoules(entry["joules"]) for entry in energy["sensors"]) == microjoules(energy["joules"])
        assert energy["estimated_joules"] == energy["joules"] > energy["idle_joules"] > 0
        # the same in the list, and in the agent, which keeps it for some minutes
        assert microjoules(float(listed[job]["energy"])) == microjoules(energy["joules"]) >= microjoules(joules[job])
        assert shown[job].strip().startswith("~")
        series = record["timeline"]["series"]["energy.joules"]
        told = [microjoules(value) for value in [series.get("before", 0), *series["values"]] if value is not None]
        assert sum(told) == microjoules(energy["joules"])
        report = site.type("report", "--database", site.server.database, "--full", job)
        assert re.search(r"^ +~power +\S+ +peak [0-9.]+ W$", report, re.MULTILINE)
        # made from CPU time, it is no finding that it follows CPU time
        assert "cores in use r =" not in report
    after = site.of(page_of(site.agent), "energy_joules")
    assert {job: microjoules(value) for job, value in after.items()} == \
        {job: microjoules(record["energy"]["joules"]) for job, record in records.items()}


def test_a_prometheus_has_the_names_of_dashboards_by_the_shipped_rules(site, start_below, certificate, tmp_path, demand):
    demand(shutil.which("prometheus") and shutil.which("promtool"), "needs prometheus")
    subprocess.run(["promtool", "check", "rules", RULES], check=True, capture_output=True)
    cert, key = certificate
    warm, root = start_below("warm", coretemp(2, 0, 61000), insecure=False, token_file=str(site.slurm.folder / "scrape.token"),
                             tls={"certificate": str(cert), "key": str(key)}, energy_estimate=False)
    token = (site.slurm.folder / "scrape.token").read_text().strip()
    prometheus = Prometheus(tmp_path, [site.agent.port, warm.port], cert, token, rules=[RULES])
    try:
        def value(query, is_enough=lambda value: True):
            return float(prometheus.wait_for(query, lambda found: is_enough(float(found[0]["value"][1])))[0]["value"][1])

        heat = f'hpc_node_cpu_temp_celsius{{instance="localhost:{warm.port}"}}'
        events = f'hpc_thermal_events_total{{instance="localhost:{warm.port}",severity="%s"}}'
        assert value(heat) == 61
        for celsius in (79, 61, 83, 91):
            change(root, "sys/class/hwmon/hwmon2/temp1_input", f"{celsius}000")
            assert value(heat, lambda now, celsius=celsius: now == celsius) == celsius
        assert value(events % "warning", lambda count: count == 2) == 2
        assert value(events % "critical", lambda count: count == 1) == 1

        site.end()
        records = final_records(site)
        for job in (site.busy, site.asleep):
            joules = records[job]["energy"]["joules"]
            assert value(f'hpc_job_energy_wh{{manager="slurm",jobid="{job}"}}',
                         lambda wh, joules=joules: wh == pytest.approx(joules / 3600, abs=1e-9)) > 0
            elapsed = records[job]["time"]["elapsed_seconds"]
            assert value(f'hpc_job_duration_seconds{{manager="slurm",jobid="{job}"}}',
                         lambda now, elapsed=elapsed: now == pytest.approx(elapsed, abs=1e-6)) > 0
        watts = prometheus.wait_for("hpc_node_power_watts", lambda found: found)
        assert [one["metric"] for one in watts] == [{"__name__": "hpc_node_power_watts", "instance": f"localhost:{site.agent.port}",
                                                     "quality": "estimated"}]
        assert float(watts[0]["value"][1]) > 0
        prometheus.wait_for("up", lambda _: {target["lastError"] for target in prometheus.ask("targets")["activeTargets"]} == {""})
    finally:
        prometheus.stop()
