# SPDX-License-Identifier: MIT
"""The ledger of energy from two agents' sensors, by their spools, to a server's database: exact to the microjoule over nodes and
jobs, and each line once, whatever happens to the server.

Both agents are on a layout of two sockets (layouts.py), so that what came in is known, and see the same jobs.  A line is due at each
quarter of an hour of the wall clock.  Nobody waits for that: between two agents on one state the ledger's start in it is put back by
as much, as if the first one had begun then."""

import collections
import contextlib
import gzip
import json
import signal
import time

import pytest

from agent_pages import ask, await_page
from job_groups import OWN_ONLY, RULES
from layouts import LAYOUTS, add_uj
from server import Server

QUARTER_NS = 900 * 10**9
WAITS_UJ = 10000  # two microjoules an owner
BUSY, IDLE = "71", "73"
MANAGER = "slurm"  # its jobs are the same on all nodes
OWNERS = ("jobs", "system", "idle", "unattributed")
PACKAGES = ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0")


def microjoules(joules):
    """A number of JSON has six digits behind its point."""
    return round(joules * 1e6)


class Node:
    """An agent and its counters."""

    def __init__(self, start_below, server, name):
        self.name, self.server, self.added_uj = name, server, 0
        self.agent, self.root = start_below(name, LAYOUTS["intel-2-sockets"][0], node=name, cluster="made",
                                            rules=[{**RULES[0], "manager": MANAGER}, OWN_ONLY[1]], checkpoint_interval="1h",
                                            server=f"http://127.0.0.1:{server.port}", server_token_file=f"{server.folder}/push.token")

    def balance(self):
        return ask(self.agent, "/v1/energy")["balance"]

    def owned(self):
        """{"jobs": microjoules, ...}"""
        balance = self.balance()
        return {owner: microjoules(balance[f"{owner}_joules"]) for owner in OWNERS}

    def take(self, *joules):
        """So much goes through the counters, and is divided."""
        for zone, more in zip(PACKAGES, joules):
            add_uj(self.root, zone, more * 10**6 + 1)
        self.added_uj += sum(joules) * 10**6 + len(joules)
        self.await_all()

    def await_all(self):
        await_page(self.agent, lambda _: microjoules(self.balance()["came_joules"]) == self.added_uj)
        assert microjoules(self.balance()["came_joules"]) == self.added_uj

    def unsent_lines(self):
        """Of the ledger: [(path, content)]"""
        found = []
        for path in (self.agent.folder / "state/spool").glob("*.gz"):
            with contextlib.suppress(FileNotFoundError):  # it is sent
                found.append((path, path.read_bytes()))
        return [(path, content) for path, content in found if b"jobmeter.ledger/1" in gzip.decompress(content)]

    def pass_a_quarter(self, way="stop", meanwhile=()):
        """@meanwhile: joules that go through the counters while no agent runs."""
        getattr(self.agent, way)()
        path, = (self.agent.folder / "state/energy").iterdir()
        numbers = numbers_of(path.read_bytes())
        at = next(i for i, number in enumerate(numbers) if abs(number - time.time_ns()) < 2 * QUARTER_NS)  # jobs' starts follow
        numbers[at] -= QUARTER_NS
        path.write_bytes(bytes_of(numbers))
        for zone, more in zip(PACKAGES, meanwhile):
            add_uj(self.root, zone, more * 10**6)
        self.added_uj += sum(meanwhile) * 10**6
        self.agent.start()


def numbers_of(state):
    """All that is in it: 7 bits a byte, the lowest first."""
    numbers, number, bits = [], 0, 0
    for byte in state:
        number |= (byte & 0x7f) << bits
        bits += 7
        if not byte & 0x80:
            numbers.append(number)
            number = bits = 0
    assert not bits
    return numbers


def bytes_of(numbers):
    state = bytearray()
    for number in numbers:
        while number >= 0x80:
            state.append(number & 0x7f | 0x80)
            number >>= 7
        state.append(number)
    return bytes(state)


def wait_for(what, told):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, told()
        time.sleep(0.05)


def lines_of(server, node):
    return server.database_rows(f"SELECT sequence FROM ledger_lines WHERE node = '{node}' ORDER BY sequence")


def ledger_of(server):
    return [server.database_rows(f"SELECT * FROM {table} ORDER BY id") for table in ("ledger", "ledger_lines")]


def await_lines(server, node, count):
    wait_for(lambda: len(lines_of(server, node.name)) >= count, lambda: node.agent.log() + server.log())


def sums_of(server, node):
    """{owner: microjoules}, as the balance calls them."""
    sums = collections.Counter()
    for owner, uj in server.database_rows(f"SELECT owner, e.microjoules FROM ledger e JOIN ledger_lines l ON l.id = e.line "
                                          f"WHERE l.node = '{node.name}'"):
        sums["jobs" if owner == "job" else owner] += uj
    return {owner: sums[owner] for owner in OWNERS}


@pytest.fixture
def server(bench, keeper):
    with Server(bench.folder / "server", keeper) as server:
        yield server


@pytest.fixture
def nodes(start_below, server):
    return [Node(start_below, server, name) for name in ("n1", "n2")]


@pytest.fixture
def loads(groups):
    """One that computes and one that sleeps."""
    processes = [groups.start(groups.name(BUSY), "/bin/sh", "-c", "while :; do :; done"),
                 groups.start(groups.name(IDLE), "sleep", "600")]

    def end():
        for process in processes:
            process.kill()
            process.wait()
        for job in (BUSY, IDLE):
            groups.remove(groups.name(job))

    yield end
    for process in processes:
        process.kill()
        process.wait()


def knows(node, job):
    await_page(node.agent, lambda page: any(labels["jobid"] == job for labels, _ in page.of("jobmeter_job_info")))


def test_each_microjoule_of_two_nodes_is_in_the_database_once(server, nodes, loads):
    for node, joules in zip(nodes, ((211, 13, 223, 17), (307, 19, 311, 23))):
        knows(node, IDLE)
        node.take(*joules)
    # a line with the server there, and energy that was used while no agent ran
    for node, way in zip(nodes, ("stop", "kill")):
        node.pass_a_quarter(way, meanwhile=(101, 7, 103, 11))
        await_lines(server, node, 1)
        node.await_all()
        owned, told = node.owned(), sums_of(server, node)
        assert sum(told.values()) > 0 and all(told[owner] <= owned[owner] for owner in OWNERS)

    # lines while it is away
    server.end(signal.SIGKILL)
    copies = {}
    for node, joules in zip(nodes, ((401, 29, 409, 31), (419, 37, 421, 41))):
        node.await_all()
        node.take(*joules)
        node.pass_a_quarter()
        wait_for(node.unsent_lines, node.agent.log)
        copies[node.name] = node.unsent_lines()
    server.start()
    for node in nodes:
        await_lines(server, node, 2)
        wait_for(lambda node=node: not node.unsent_lines(), node.agent.log)

    # a server that is killed after it took them, before its answer comes: they are sent again
    before = ledger_of(server)
    server.end(signal.SIGKILL)
    for node in nodes:
        node.agent.stop()
        for path, content in copies[node.name]:
            path.write_bytes(content)
        node.agent.start()
    server.start()
    for node in nodes:
        wait_for(lambda node=node: not node.unsent_lines(), node.agent.log)
    assert before == ledger_of(server)

    # the jobs end, and what they had since then is in a third line
    loads()
    for node in nodes:
        node.await_all()
        wait_for(lambda node=node: all(ended(server, node, job) for job in (BUSY, IDLE)), node.agent.log)
        node.take(503, 43, 509, 47)
        node.pass_a_quarter()
        owned = node.owned()
        wait_for(lambda node=node, owned=owned: sums_of(server, node) == owned, node.agent.log)
        assert owned["jobs"] > 0 and abs(node.added_uj - sum(owned.values())) < WAITS_UJ
        assert node.balance()["unbalanced_microjoules"] == 0
        sequences = lines_of(server, node.name)
        assert sequences == [(1 + i,) for i in range(len(sequences))] and len(sequences) >= 3  # a real quarter may end, too
    assert_jobs_add_up(server)


def ended(server, node, job):
    return any(row["final"] for row in records(server, job) if row["node"] == node.name)


def records(server, job):
    answer = server.ask(f"/v1/records?id={job}")
    return [json.loads(line) for line in answer.text.splitlines()] if answer.status == 200 else []


def assert_jobs_add_up(server):
    """By job, node, level and quality: the ledger, and records."""
    for job in (BUSY, IDLE):
        expected = {record["node"]: microjoules(record["energy"]["joules"]) for record in records(server, job)}
        entries = server.database_rows(
            f"SELECT l.node, e.owner, e.manager, e.level, e.source, e.quality, sum(e.microjoules) FROM ledger e "
            f"JOIN ledger_lines l ON l.id = e.line WHERE e.job_id = '{job}' AND e.manager = '{MANAGER}' GROUP BY 1, 2, 3, 4, 5, 6")
        assert {entry[1:6] for entry in entries} == {("job", MANAGER, "component", "rapl", "attributed")}
        assert {entry[0]: entry[6] for entry in entries} == expected and len(expected) == 2
        listed, = server.jobs(f"id={job}")
        assert microjoules(listed["energy.joules"]) == sum(expected.values())
