# SPDX-License-Identifier: MIT
"""Jobs of very many mounts, as a user can make them, keep nobody's records out of the database."""

import copy

import pytest

from made_records import line, record
from server import Server
from waiting import until

MOUNTS = 256  # of a record: more than an agent's rows
PATIENCE_S = 120


@pytest.fixture
def server(bench, keeper):
    with Server(bench.folder / "server", keeper) as server:
        yield server


def with_mounts(made, prefix):
    rows = [copy.deepcopy(made["io"][0]) | {"mount": f"/{prefix}/{i}"} for i in range(MOUNTS)]
    return line(made | {"io": rows})


def await_nodes(server, job, nodes):
    until(lambda: [one["nodes"] for one in server.jobs(f"id={job}")] == [nodes], PATIENCE_S,
          lambda: f"not {nodes} nodes of {job}: {server.jobs(f'id={job}')}")


def test_jobs_of_very_many_mounts_hold_up_nobody(server):
    for i in range(17):  # all together more than a merged record has room for
        node = f"made-node{i}"
        assert server.push([with_mounts(record(7, node=node, started=0), node)]) == [{"answer": "taken"}]
    others = [record(8, node=f"made-node{i}", started=0, uid=1001, user="another") for i in range(10)]
    assert server.push([line(one) for one in others]) == [{"answer": "taken"}] * 10
    await_nodes(server, 8, 10)
    await_nodes(server, 7, 17)
    metrics = server.get("/metrics").text
    assert "jobmeter_server_failed_jobs_total 0\n" in metrics and "jobmeter_server_failed_upkeep_total 0\n" in metrics
