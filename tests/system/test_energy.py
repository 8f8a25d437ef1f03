# SPDX-License-Identifier: MIT
"""Whose the node's energy is, under a real agent.  No machine of ours has a sensor, so it is an estimate here: what is shown is
that shares are in the right order, add up, and go on over restarts."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from agent_pages import ask, await_page, final_record, known_jobs, page_of, seldom
from job_groups import MANAGER, OWN_ONLY
from layouts import LAYOUTS, add_uj
from waiting import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ROOT.parent / "shared/data"  # others' tables, which are not the project's
CARRIED = 100e-6  # joules: what may wait for the next interval
BUSY, IDLE = "71", "73"
CPU_S = 2  # that the busy job has to have used


def energy_of(page, job):
    found = [value for labels, value in page.of("jobmeter_job_energy_joules_total")
             if labels["jobid"] == job and labels["manager"] == MANAGER]
    return found[0] if found else None


def cpu_of(page, job):
    return sum(value for labels, value in page.of("jobmeter_job_cpu_seconds_total") if labels["jobid"] == job)


def owners_of(page):
    return {labels["owner"]: value for labels, value in page.of("jobmeter_node_energy_owner_joules_total")}


def unbalanced(page):
    return [value for _, value in page.of("jobmeter_node_energy_unbalanced_joules")]


@pytest.fixture
def agent(start_agent):
    agent = start_agent(rules=OWN_ONLY, cpu_model="AMD EPYC 9654 96-Core Processor")
    await_page(agent, lambda page: page.of("jobmeter_node_energy_owner_joules_total"))
    return agent


@pytest.fixture
def loads(agent, groups):
    """One that computes and one that sleeps, until they are to end."""
    processes = [groups.start(groups.name(BUSY), "/bin/sh", "-c", "while :; do :; done"),
                 groups.start(groups.name(IDLE), "sleep", "600")]
    await_page(agent, lambda page: cpu_of(page, BUSY) > CPU_S and energy_of(page, IDLE), 300)
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def end(loads, groups):
    for process in loads:
        process.kill()
        process.wait()
    for job in (BUSY, IDLE):
        groups.remove(groups.name(job))


def test_who_computes_has_more_and_all_of_it_is_somebodys(agent, loads, groups, programs):
    page = page_of(agent)
    assert energy_of(page, BUSY) > energy_of(page, IDLE) > 0
    labels, = {(labels["level"], labels["quality"]) for labels, _ in page.of("jobmeter_job_energy_joules_total")}
    assert labels == ("node", "estimated")
    (sensor, total), = page.of("jobmeter_node_energy_joules_total")
    assert sensor == {"level": "node", "sensor": "epyc 9654", "source": "specpower", "quality": "estimated"}
    assert abs(sum(owners_of(page).values()) - total) < CARRIED
    assert unbalanced(page) == [0]
    # who sleeps has beyond his idle share what his start took of a CPU
    idle = {labels["jobid"]: value for labels, value in page.of("jobmeter_job_energy_idle_joules_total")}
    dynamic = {job: energy_of(page, job) - idle[job] for job in (BUSY, IDLE)}
    assert dynamic[IDLE] / dynamic[BUSY] == pytest.approx(cpu_of(page, IDLE) / cpu_of(page, BUSY), abs=0.05)

    environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"]}
    done = subprocess.run([programs / "jobmeter", "energy", "--audit"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "epyc 9654" in done.stdout and "not balanced 0 µJ" in " ".join(done.stdout.split())
    told = json.loads(subprocess.run([programs / "jobmeter", "energy", "--json"], capture_output=True, text=True, check=True,
                                     env=environment).stdout)
    assert told["schema"] == "jobmeter.energy/1" and told["balance"]["unbalanced_microjoules"] == 0
    assert ask(agent, "/v1/energy")["sensors"][0]["counted"] is True

    end(loads, groups)
    record = final_record(agent, BUSY)["energy"]
    assert record["quality"] == "estimated" and record["level"] == "node" and record["uncertainty"] == 0.2
    assert sum(entry["joules"] for entry in record["sensors"]) == pytest.approx(record["joules"])
    assert record["estimated_joules"] == record["joules"] > record["idle_joules"] > 0
    assert {entry["idle_policy"] for entry in record["sensors"]} == {"allocated"}


def test_over_a_restart_nothing_is_lost_or_falls(agent, loads, groups):
    for end in (agent.stop, agent.kill):
        before = page_of(agent)
        end()
        agent.start()
        after = await_page(agent, lambda page, before=before: (energy_of(page, BUSY) or 0) > energy_of(before, BUSY))
        assert energy_of(after, BUSY) >= energy_of(before, BUSY) and energy_of(after, IDLE) >= energy_of(before, IDLE)
        for owner, joules in owners_of(before).items():
            assert owners_of(after)[owner] >= joules - CARRIED
        assert unbalanced(after) == [0]
        (_, total_before), = before.of("jobmeter_node_energy_joules_total")
        assert sum(owners_of(after).values()) > total_before
        sensor, = ask(agent, "/v1/energy")["sensors"]  # goes on, too, and is what is scraped
        (_, total_after), = page_of(agent).of("jobmeter_node_energy_joules_total")
        assert total_before < sensor["joules"] <= total_after


def edges_of(agent):
    return ask(agent, "/v1/energy")["balance"]["edges"]


def await_edges(agent, count):
    """One that waits is read 50 ms behind the one before, before anything is answered."""
    time.sleep(0.06)
    until(lambda: edges_of(agent) >= count, why=agent.log, pause=0.06)


@pytest.mark.parametrize("layout", ["cray-ex", "intel-2-sockets", "intel-dies", "grace", "amdgpu"])
def test_sensors_are_named_in_full_in_a_pipe(start_below, programs, layout):
    """Which has 80 columns."""
    files, sensors = LAYOUTS[layout]
    agent, _ = start_below("sensed", files)
    await_page(agent, lambda page: {labels["sensor"] for labels, _ in page.of("jobmeter_node_energy_joules_total")} >=
               {name for _, name in sensors})
    environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"]}
    environment.pop("COLUMNS", None)
    text = subprocess.run([programs / "jobmeter", "energy"], capture_output=True, text=True, check=True, env=environment).stdout
    assert {name for _, name in sensors} <= {re.split(r" {2,}", line.strip())[0] for line in text.splitlines()}, text
    assert max(map(len, text.splitlines())) <= 80


def test_a_short_job_has_what_came_in_its_time_alone(start_below, groups):
    """Nothing but the job's edges makes the agent look: a sensor that is drawn says 1 J while it is there, and 97 J behind it."""
    agent, root = start_below("edges", LAYOUTS["intel-2-sockets"][0], bpf=True, rules=OWN_ONLY, interval=seldom(), idle_energy="active")
    beside = groups.start(groups.name(IDLE), "sleep", "600")
    await_page(agent, lambda page: IDLE in known_jobs(page))
    before = edges_of(agent)
    loop = "i=0; while [ $i -lt 3000000 ] || ! [ -e \"$0\" ]; do i=$((i+1)); done"
    busy = groups.start(groups.name(BUSY), "/bin/sh", "-c", loop, root / "added")
    await_edges(agent, before + 1)
    add_uj(root, "intel-rapl:0", 10**6)
    (root / "added").touch()
    busy.wait()
    groups.remove(groups.name(BUSY))
    await_edges(agent, before + 2)
    add_uj(root, "intel-rapl:0", 97 * 10**6)
    page = await_page(agent, lambda page: energy_of(page, BUSY))
    assert cpu_of(page, BUSY) > 0.5
    assert 0 < energy_of(page, BUSY) <= 1 + CARRIED
    assert sum(owners_of(page).values()) == pytest.approx(98, abs=CARRIED) and unbalanced(page) == [0]
    beside.kill()
    beside.wait()


def test_who_asks_often_sees_energy_once_a_second(start_agent, groups):
    """Else the power of others' work could be read from one's own share."""
    agent = start_agent(rules=OWN_ONLY, cpu_model="AMD EPYC 9654 96-Core Processor", interval=seldom())
    process = groups.start(groups.name(BUSY), "/bin/sh", "-c", "while :; do :; done")
    await_page(agent, lambda page: cpu_of(page, BUSY) > 0 and energy_of(page, BUSY))
    seen, begin = [], time.monotonic()
    while len({cpu for cpu, _ in seen}) < 23:
        record = ask(agent, f"/v1/jobs/{MANAGER}/{BUSY}")
        seen.append((record["cpu"]["user_seconds"] + record["cpu"]["system_seconds"], record["energy"]["joules"]))
        time.sleep(0.06)  # a record is no fresher than 50 ms
    took = time.monotonic() - begin
    assert len({joules for _, joules in seen}) <= took + 2
    last = seen[-1][1]
    process.kill()
    process.wait()
    groups.remove(groups.name(BUSY))
    assert final_record(agent, BUSY)["energy"]["joules"] > last  # its end is in, however soon that was


def test_recording_rules_give_the_names_of_dashboards(tmp_path, demand):
    demand(shutil.which("promtool"), "needs promtool (package prometheus)")
    rules = ROOT / "share/prometheus/jobmeter-rules.yml"
    tests = tmp_path / "rules-test.yml"
    tests.write_text((ROOT / "tests/data/energy/rules-test.yml").read_text().replace("RULES", str(rules)))
    for command in (["check", "rules", rules], ["test", "rules", tests]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_models_are_as_wrong_as_the_docs_say(programs):
    tables = [PUBLIC / "specpower-2026-03-09.csv", PUBLIC / "nx12-rapl-basic.csv"]
    if not all(table.exists() for table in tables):
        pytest.skip(f"needs the public tables in {PUBLIC}")
    told = subprocess.run([programs / "tools/energy-evaluate", *tables], capture_output=True, text=True, check=True).stdout
    assert told in (ROOT / "docs/internals/energy.md").read_text()
    errors = {row.split("|")[1].strip(): row.split("|")[3] for row in told.splitlines()[2:]}
    mean = {what: float(error.split()[0]) for what, error in errors.items() if "%" in error}
    assert mean["package by cycles, instructions, LLC misses"] < 12 < mean["package by CPU time"]
    assert mean["DRAM by cycles, instructions, LLC misses"] < 10 < mean["DRAM by CPU time"]
