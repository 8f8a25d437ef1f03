# SPDX-License-Identifier: MIT
"""What a site reads of its jobs, from a server: seff's lines, what energy emitted and cost, and reports."""

import os
import subprocess

import pytest

from made_records import line, record
from server import Server

GIB = 1 << 30


@pytest.fixture
def server(bench, keeper):
    with Server(bench.folder / "reports", keeper) as server:
        yield server


@pytest.fixture
def operator(server):
    """A configuration directory with the token of an operator."""
    token = server.run("token", "create", "--user", "root", "--scope", "operator").stdout
    folder = server.folder / "config"
    (folder / "jobmeter").mkdir(parents=True)
    (folder / "jobmeter/token").touch(0o600)
    (folder / "jobmeter/token").write_text(token)
    return folder


@pytest.fixture
def jobmeter(programs, server, operator):
    def jobmeter(*words, code=0):
        environment = {"PATH": os.environ["PATH"], "HOME": str(server.folder), "XDG_CONFIG_HOME": str(operator), "LC_ALL": "C.UTF-8",
                       "JOBMETER_SERVER_SOCKET": str(server.socket), "JOBMETER_SOCKET": "/nonexistent/agent.sock"}
        done = subprocess.run([programs / "jobmeter", *map(str, words)], capture_output=True, text=True, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return jobmeter


def url(server):
    return f"http://127.0.0.1:{server.port}"


def push(server, records):
    assert {answer["answer"] for answer in server.push([line(one) for one in records])} == {"taken"}


def test_seff_prints_the_lines_of_seff_whoever_answers(server, jobmeter):
    def made(node, peak):
        one = record(23, node=node, seconds=1000)
        one["cpu"] |= {"user_seconds": 3000, "system_seconds": 500, "allocated_cores": 4, "cpus_allowed": None}
        one["memory"] |= {"peak_bytes": peak, "limit_bytes": 8 * GIB, "oom_kills": 0}
        one["job"] |= {"exit_code": None, "signal": None}
        return one

    push(server, [made("n1", 2 * GIB), made("n2", 3 * GIB)])
    printed = jobmeter("seff", 23)
    assert printed == """Job ID: 23
Cluster: made
User/Group: made-user/unknown
State: ENDED (exit code unknown)
Nodes: 2
Cores per node: 4
CPU Utilized: 01:56:40
CPU Efficiency: 87.50% of 02:13:20 core-walltime
Job Wall-clock time: 00:16:40
Memory Utilized: 5.00 GB (estimated maximum)
Memory Efficiency: 31.25% of 16.00 GB (8.00 GB/node)
"""
    assert jobmeter("seff", "--server", url(server), 23) == printed
    assert "there is no job '29'" in jobmeter("seff", 29, code=1)
