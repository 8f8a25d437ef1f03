# SPDX-License-Identifier: MIT
"""Whose it is what goes through ports of InfiniBand and Omni-Path.  The ports are made: files as the kernel's documentation
has them, in a mount namespace of the agent's own."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from agent_pages import ask, await_page, final_record, known_jobs, page_of
from job_groups import OWN_ONLY, TOP

MOUNT = """
set -e
mount -t tmpfs made /sys/class
mkdir /sys/class/infiniband
mount --bind "$1" /sys/class/infiniband
shift
exec "$@"
"""


class MadePort:
    """made_0/1, which counts what it is told to."""

    def __init__(self, folder):
        self.counters = folder / "made_0" / "ports" / "1" / "counters"
        self.counters.mkdir(parents=True)
        self.numbers = {}

    def count(self, **numbers):
        for name, number in numbers.items():
            new = self.counters.parent / name  # at no moment it is half written
            new.write_text(f"{number}\n")
            os.replace(new, self.counters / name)
            self.numbers[name] = number

    def go_on(self, **more):
        self.count(**{name: self.numbers[name] + number for name, number in more.items()})


@pytest.fixture
def port(bench):
    folder = bench.folder / "made-sysfs-infiniband"
    folder.mkdir()
    return MadePort(folder)


def made(bench):
    return ["unshare", "-m", "sh", "-c", MOUNT, "sh", bench.folder / "made-sysfs-infiniband"]


@pytest.fixture
def start_here(start_agent, bench, port, demand):
    """start_here(): an agent that has the port."""
    def start(**settings):
        demand(shutil.which("unshare"), "needs unshare")
        port.count(port_xmit_data=1000, port_rcv_data=2000, port_xmit_packets=10, port_rcv_packets=20)
        agent = start_agent(before=made(bench), **settings)
        page = page_of(agent)
        assert ({"device": "made_0", "port": "1"}, 4000) in page.of("jobmeter_node_infiniband_transmit_bytes_total")
        return agent

    return start


@pytest.fixture
def agent(start_here):
    """It knows no job but ours: what goes through a port is a job's only while no other job is on the node."""
    return start_here(rules=OWN_ONLY)


@pytest.fixture
def agent_of_runs(start_here):
    return start_here()


OTHERS = "InfiniBand, Omni-Path: the node had other jobs meanwhile"


@pytest.fixture
def begin(agent, groups):
    """Start a job, which the agent has seen; its process ends with its standard input."""

    def begin(job):
        process = groups.start(groups.name(job), "cat", stdin=subprocess.PIPE)
        await_page(agent, lambda page: str(job) in known_jobs(page))
        return process

    return begin


@pytest.fixture
def end(agent, groups):
    def end(job, process):
        process.communicate(timeout=60)
        groups.remove(groups.name(job))
        return final_record(agent, job)

    return end


@pytest.fixture
def record_of(begin, end):
    """The record of a job while which @do was done."""

    def record_of(do):
        process = begin(4703)
        do()
        return end(4703, process)

    return record_of


def test_what_goes_through_while_a_job_has_the_node_is_the_jobs(programs, port, record_of, tmp_path):
    record = record_of(lambda: port.go_on(port_xmit_data=1009, port_rcv_data=262147, port_xmit_packets=13))
    port.go_on(port_xmit_data=5003)  # is nobody's
    assert "ports" in record, record["coverage"]["missing"][-3:]
    found, = record["ports"]
    assert (found["device"], found["port"], found["shared"]) == ("made_0", "1", False)
    assert (found["transmit_bytes"], found["receive_bytes"]) == (4 * 1009, 4 * 262147)
    assert (found["transmit_packets"], found["receive_packets"], found["link_failures"]) == (13, 0, None)
    assert found["from"] <= record["time"]["start"] <= record["time"]["end"] <= found["to"]
    assert not [line for line in record["coverage"]["missing"] if "InfiniBand" in line]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    said = subprocess.run([programs / "jobmeter", "report", "--full", path], capture_output=True, text=True, check=True).stdout
    assert "made_0/1: sent 3.9 KiB, received 1 MiB (13 and 0 packets)" in " ".join(said.split())


def test_what_goes_through_while_two_jobs_are_there_is_neithers(port, begin, end):
    first = begin(4691)
    second = begin(4693)
    port.go_on(port_xmit_data=1009)
    for job, process in ((4693, second), (4691, first)):
        record = end(job, process)
        assert "ports" not in record
        assert OTHERS in record["coverage"]["missing"], record["coverage"]["missing"]


def test_a_counter_that_stands_at_its_end_is_not_known(port, record_of):
    record = record_of(lambda: port.count(port_xmit_data=2**32 - 1, port_rcv_data=port.numbers["port_rcv_data"] + 1009))
    assert "ports" in record, record["coverage"]["missing"][-3:]
    found, = record["ports"]
    assert (found["transmit_bytes"], found["receive_bytes"]) == (None, 4 * 1009)


@pytest.fixture(params=["agent", "standalone"])
def run_that_sends(request, programs, bench, port, tmp_path):
    """The record of a `jobmeter run` while which the port counts 1,009 words more; 17 follow."""
    port.count(port_xmit_data=1000)
    if request.param == "agent":
        before, socket = [], request.getfixturevalue("agent_of_runs").settings["socket"]["path"]
    else:
        before, socket = made(bench), "/nonexistent"
    new, file = port.counters.parent / "new", port.counters / "port_xmit_data"
    done = subprocess.run([*before, programs / "jobmeter", "run", "--output", tmp_path / "run.json", "--", "sh", "-c",
                           f"echo 2009 >{new} && mv {new} {file}"],
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "JOBMETER_SOCKET": socket, "XDG_STATE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "run.json").read_text())


def test_a_run_is_told_what_went_through_the_nodes(run_that_sends, programs, tmp_path):
    assert "ports" in run_that_sends, run_that_sends["coverage"]["missing"]
    found, = run_that_sends["ports"]
    assert (found["device"], found["port"], found["shared"]) == ("made_0", "1", True)
    assert (found["transmit_bytes"], found["link_failures"]) == (4 * 1009, None)
    assert found["from"] <= run_that_sends["time"]["start"] <= run_that_sends["time"]["end"] <= found["to"]
    assert not [line for line in run_that_sends["coverage"]["missing"] if "InfiniBand" in line]
    said = subprocess.run([programs / "jobmeter", "report", "--full", tmp_path / "run.json"], capture_output=True, text=True,
                          check=True).stdout
    assert "made_0/1: sent 3.9 KiB" in " ".join(said.split()) and "of the whole node" in " ".join(said.split())


def await_run(process):
    """The agent's number of that `jobmeter run`: others may have theirs."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            with contextlib.suppress(OSError):  # it has ended
                if found := re.search(r"/jobmeter-run-(\w+)$", pathlib.Path(f"/proc/{child}/cgroup").read_text(), re.M):
                    return found[1]
        time.sleep(0.02)
    raise AssertionError("the run is in no group of its own")


def test_the_agent_tells_of_a_run_what_the_run_says(agent_of_runs, port, programs, tmp_path):
    """Which is what watch and top show of it."""
    agent = agent_of_runs
    process = subprocess.Popen([programs / "jobmeter", "run", "--output", tmp_path / "run.json", "--", "cat"],
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"],
                                    "XDG_STATE_HOME": str(tmp_path)})
    try:
        job = await_run(process)
        await_page(agent, lambda page: job in known_jobs(page, "run"))
        port.go_on(port_xmit_data=1009)
        await_page(agent, lambda _: [(p["transmit_bytes"], p["shared"]) for p in ask(agent, f"/v1/jobs/run/{job}")["ports"]]
                   == [(4 * 1009, True)])  # a record may be 50 ms old
    finally:
        process.communicate(timeout=60)
    record = json.loads((tmp_path / "run.json").read_text())
    assert [(p["transmit_bytes"], p["shared"]) for p in record["ports"]] == [(4 * 1009, True)]


def test_what_was_there_before_a_watch_has_none(programs, bench, port, groups, tmp_path, demand):
    demand(shutil.which("unshare"), "needs unshare")
    port.count(port_xmit_data=1000)
    process = groups.start(groups.name(4729), "cat", stdin=subprocess.PIPE)
    try:
        subprocess.run([*made(bench), programs / "jobmeter", "watch", "--standalone", "--cgroup", f"/{TOP}/{groups.name(4729)}",
                        "--duration", "0.5", "--quiet", "--output", tmp_path / "watch.json"], check=True, timeout=60)
    finally:
        process.communicate(timeout=60)
        groups.remove(groups.name(4729))
    record = json.loads((tmp_path / "watch.json").read_text())
    assert "ports" not in record
    assert [line for line in record["coverage"]["missing"] if line.startswith("InfiniBand, Omni-Path: ")]


def test_after_a_kill_a_jobs_ports_go_on(port, agent, bench, record_of):
    def do():
        port.go_on(port_xmit_data=1009)
        page_of(agent)
        port.go_on(port_xmit_data=503)
        agent.kill()
        port.go_on(port_xmit_data=211)
        agent.start(before=made(bench))
        page_of(agent)
        port.go_on(port_xmit_data=13)

    record = record_of(do)
    assert "ports" in record, record["coverage"]["missing"][-3:]
    found, = record["ports"]
    assert found["transmit_bytes"] == 4 * (1009 + 503 + 211 + 13)
    assert found["from"] <= record["time"]["start"] <= record["time"]["end"] <= found["to"]


def test_after_a_stop_a_jobs_ports_are_not_less(port, agent, bench, record_of):
    def do():
        port.go_on(port_xmit_data=1009)
        assert agent.end(signal.SIGTERM) == 0
        port.go_on(port_xmit_data=503)
        agent.start(before=made(bench))

    record = record_of(do)
    assert "ports" in record, record["coverage"]["missing"][-3:]
    found, = record["ports"]
    assert found["transmit_bytes"] == 4 * 1009
    assert found["to"] < record["time"]["end"]
    assert any("as of when the agent stopped" in note for note in record["coverage"]["notes"])
