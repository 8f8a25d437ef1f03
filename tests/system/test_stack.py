# SPDX-License-Identifier: MIT
"""`make stack`: all parts answer, a job is seen in each, and nothing is left after Ctrl-C."""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml

from agent import BPFFS
from ports import free_ports
from repository import REPOSITORY
from slurm import make_users
from up import USERS, taken_ports
from waiting import until

pytestmark = pytest.mark.node

PARTS = 6
BYTES = 1009 << 16  # what its job writes
TOOL = REPOSITORY / "tools/stack"


def first_port():
    while True:
        port, = free_ports(1)
        if not taken_ports() & set(range(port, port + PARTS)):
            return port


class Stack:
    def __init__(self, programs, keeper):
        self.port = first_port()
        self.pins = BPFFS / f"jobmeter-stack-{self.port}"
        keeper.undo("rm", "-rf", self.pins)
        self.process = subprocess.Popen([TOOL, programs, str(self.port)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)
        keeper.undo("/bin/sh", "-c", f"kill {self.process.pid} && sleep 20")
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C ends all" in line:
                return
        pytest.fail(self.said)

    def named(self, head):
        return re.search(rf"^{head} +(.*)$", self.said, re.MULTILINE)[1]

    def rules(self):
        return {rule["name"] for group in self.ask("rules")["groups"] for rule in group["rules"]}

    def ask(self, what, **arguments):
        url = f"http://127.0.0.1:{self.port + 2}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]


@pytest.fixture
def ready(keeper, demand):
    for program in ("prometheus", "prometheus-alertmanager", "prometheus-node-exporter", "psql"):
        demand(shutil.which(program), f"needs {program}")
    make_users(keeper, USERS)


def test_a_job_is_seen_everywhere_and_nothing_is_left(ready, programs, keeper):
    stack = Stack(programs, keeper)
    job, = set(re.findall(r"job (\d+) is in", stack.said))
    state = pathlib.Path(stack.named("files, logs"))
    assert state.is_dir()
    written = stack.ask("query", query=f'sum(jobmeter_job_io_write_bytes_total{{jobid="{job}"}})')["result"]
    assert float(written[0]["value"][1]) >= BYTES
    environment = {**os.environ, **dict(word.split("=") for word in stack.named("the job").split()[:2])}
    done = subprocess.run([programs / "jobmeter", "jobs", "--all", "--format", "csv", "-o", "id,end,written"], env=environment,
                          capture_output=True, text=True, check=True)
    row, = (row for row in csv.DictReader(done.stdout.splitlines()) if row["id"] == job)
    assert row["end"] and int(row["written"]) >= BYTES
    assert {target["labels"]["job"] for target in stack.ask("targets")["activeTargets"]} == {"jobmeter", "jobmeter-server", "node"}
    until(lambda: {"NodeHot", "DiskNearlyFull"} <= stack.rules())  # Prometheus loads them after its targets
    managers = [urllib.parse.urlsplit(one["url"]).port for one in stack.ask("alertmanagers")["activeAlertmanagers"]]
    assert managers == [stack.port + 3]
    # on loopback, and the database on none
    assert listening(stack) == {("0100007F", port) for port in range(stack.port, stack.port + PARTS - 1)}

    stack.process.send_signal(signal.SIGINT)
    assert stack.process.wait(300) == 0, stack.process.stdout.read()
    assert listening(stack) == set()
    assert not state.exists() and not stack.pins.exists()
    left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(state).encode() in read(path)]
    assert left == []


def listening(stack):
    """{(address, port)} of its ports; those of IPv6 with their own address."""
    found = set()
    for line in [line for family in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{family}").read_text().splitlines()[1:]]:
        at, state = line.split()[1], line.split()[3]
        address, _, port = at.partition(":")
        if state == "0A" and int(port, 16) in range(stack.port, stack.port + PARTS):
            found.add((address, int(port, 16)))
    return found


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_port_that_is_taken_is_named(ready, programs):
    port = first_port()
    with socket.create_server(("127.0.0.1", port + 3)):
        done = subprocess.run([TOOL, programs, str(port)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (1, f"stack: port {port + 3} (alertmanager) is taken; name another first port: "
                                                 f"make stack STACK_PORT=PORT\n")


# What a person is told of: {service: (its port, the variable)}
COMPOSED = {"grafana": (3000, "GRAFANA_PORT"), "prometheus": (9090, "PROMETHEUS_PORT"), "alertmanager": (9093, "ALERTMANAGER_PORT"),
            "timescaledb": (5432, "TIMESCALEDB_PORT")}
COMPOSE = REPOSITORY / "share/compose"


def test_the_containers_are_described_in_full():
    text = (COMPOSE / "compose.yaml").read_text()
    described = yaml.safe_load(text)
    example = dict(line.split("=", 1) for line in (COMPOSE / ".env.example").read_text().splitlines() if line and line[0] != "#")
    assert set(re.findall(r"\$\{(\w+)", text)) == set(example)
    assert set(described["services"]) == set(COMPOSED)
    for name, service in described["services"].items():
        port, variable = COMPOSED[name]
        assert example[variable] == str(port)
        assert service["image"].endswith(f":${{{name.upper()}_VERSION}}") and example[f"{name.upper()}_VERSION"]
        assert not {"privileged", "cap_add", "pid", "devices"} & set(service)
        listening_at = [*service.get("ports", []), *service.get("command", []), *service.get("environment", {}).values()]
        assert any("127.0.0.1" in str(one) for one in listening_at)
        assert any(f"${{{variable}:-{port}}}" in str(one) for one in listening_at)
        assert service.get("network_mode") == "host" or all(one.startswith("127.0.0.1:") for one in service["ports"])
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source.startswith("$") or (COMPOSE / source).exists() if source[0] in ".$" else source in described["volumes"]


def test_their_configurations_are_right(ready, tmp_path):
    """At the places where the containers have them."""
    shutil.copytree(REPOSITORY / "share/prometheus", tmp_path / "jobmeter")
    shutil.copy(COMPOSE / "prometheus.yml", tmp_path)
    (tmp_path / "jobmeter.token").write_text("token\n")
    for argv in (["promtool", "check", "config", tmp_path / "prometheus.yml"], ["amtool", "check-config", COMPOSE / "alertmanager.yml"],
                 ["sh", "-n", COMPOSE / "make-database.sh"]):
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
