# SPDX-License-Identifier: MIT
"""The ledger of energy from two agents' sensors, by their spools, to a server's database: exact to the microjoule over nodes and
jobs, and each line once, whatever happens to the server.

Both agents are on a layout of two sockets (layouts.py), so that what came in is known, and see the same jobs.  A line is due at each
quarter of an hour of the wall clock.  Nobody waits for that: between two agents on one state the ledger's start in it is put back by
as much, as if the first one had begun then."""

import collections
import contextlib
import datetime
import decimal
import gzip
import json
import re
import signal
import time

import pytest

from agent_pages import ask, await_page
from job_groups import OWN_ONLY, RULES
from layouts import LAYOUTS, add_uj
from repository import REPOSITORY
from server import Server
from waiting import until

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
        path, = (self.agent.folder / "state/energy").glob("[!.]*")  # a kill may leave one that is half written
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


def lines_of(server, node):
    return server.database_rows(f"SELECT sequence FROM ledger_lines WHERE node = '{node}' ORDER BY sequence")


def ledger_of(server):
    return [server.database_rows(f"SELECT * FROM {table} ORDER BY id") for table in ("ledger", "ledger_lines")]


def await_lines(server, node, count):
    until(lambda: len(lines_of(server, node.name)) >= count, why=lambda: node.agent.log() + server.log())


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
        until(node.unsent_lines, why=node.agent.log)
        copies[node.name] = node.unsent_lines()
    server.start()
    for node in nodes:
        await_lines(server, node, 2)
        until(lambda node=node: not node.unsent_lines(), why=node.agent.log)

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
        until(lambda node=node: not node.unsent_lines(), why=node.agent.log)
    for table, rows in zip(ledger_of(server), before):  # a real quarter may have ended meanwhile, which is told once, too
        assert table[:len(rows)] == rows
    for node in nodes:
        sequences = lines_of(server, node.name)
        assert sequences == [(1 + i,) for i in range(len(sequences))]

    # the jobs end, and what they had since then is in a third line
    loads()
    for node in nodes:
        node.await_all()
        until(lambda node=node: all(ended(server, node, job) for job in (BUSY, IDLE)), why=node.agent.log)
        node.take(503, 43, 509, 47)
        node.pass_a_quarter()
        owned = node.owned()
        until(lambda node=node, owned=owned: sums_of(server, node) == owned, why=node.agent.log)
        assert owned["jobs"] > 0 and abs(node.added_uj - sum(owned.values())) < WAITS_UJ
        assert node.balance()["unbalanced_microjoules"] == 0
        sequences = lines_of(server, node.name)
        assert sequences == [(1 + i,) for i in range(len(sequences))] and len(sequences) >= 3  # a real quarter may end, too
    assert_jobs_add_up(server)
    assert_emissions_follow_their_factors(server)


def write_factors(path, boundary_ns, before, after):
    """Of two times, and of a zone and a kind that are not asked for."""
    second = datetime.datetime.fromtimestamp(boundary_ns // 10**9, datetime.timezone.utc)
    boundary = f"{second:%Y-%m-%dT%H:%M:%S}.{boundary_ns % 10**9:09}Z"
    path.write_text(f"# made for a test\nzone,kind,from,until,grams_per_kwh\n"
                    f"XXA,average_lifecycle,2020-01-01T00:00:00Z,{boundary},{before}\n"
                    f"XXA,average_lifecycle,{boundary},2100-01-01T00:00:00Z,{after}\n"
                    f"XXA,marginal,2020-01-01T00:00:00Z,2100-01-01T00:00:00Z,1009\n"
                    f"XXB,average_lifecycle,2020-01-01T00:00:00Z,2100-01-01T00:00:00Z,1013\n")


def by_hand(server, job, grams_per_kwh):
    """g CO2e of the job's entries, of which each is rounded to a microgram.  @grams_per_kwh: of when an entry begins."""
    entries = server.database_rows(f"SELECT start_ns, microjoules FROM ledger WHERE job_id = '{job}' AND manager = '{MANAGER}'")
    return sum(decimal.Decimal(uj * decimal.Decimal(grams_per_kwh(start)) / decimal.Decimal("3.6e6")).quantize(
        decimal.Decimal(1), rounding=decimal.ROUND_HALF_UP) for start, uj in entries) / decimal.Decimal(10**6)


def restart_with(server, **emissions):
    assert server.end(signal.SIGTERM) == 0, server.log()
    server.configure(emissions=emissions)
    server.start()


def assert_emissions_follow_their_factors(server):
    """Of two jobs, before and after a factor is corrected, and by a site's own."""
    starts = sorted({start for start, in server.database_rows(f"SELECT start_ns FROM ledger WHERE job_id = '{BUSY}'")})
    boundary_ns = starts[len(starts) // 2]  # it holds from the middle entry on
    table = server.folder / "factors.csv"
    for before, after in (("380.953", "344.1"), ("380.953", "43.9")):
        write_factors(table, boundary_ns, before, after)
        restart_with(server, zone="XXA", factors=str(table))
        for job in (BUSY, IDLE):
            answer = json.loads(server.ask(f"/v1/ledger?id={job}&manager={MANAGER}").text, parse_float=decimal.Decimal)
            expected = by_hand(server, job, lambda start, before=before, after=after: before if start < boundary_ns else after)
            assert answer["emissions"] == {"grams": expected, "kind": "average_lifecycle", "zone": "XXA", "source": str(table),
                                           "entries_without_factor": 0}
            assert expected > 0 and sum(entry["grams"] for entry in answer["entries"]) == expected
            assert {str(entry["grams_per_kwh"]) for entry in answer["entries"]} == {before, after} or job == IDLE
        metrics = server.get("/metrics").text
        assert f'jobmeter_emission_factor_grams_per_kwh{{zone="XXA",kind="average_lifecycle"}} {after}\n' in metrics
        assert 'jobmeter_emission_factor_age_seconds{zone="XXA",kind="average_lifecycle"} 0\n' in metrics
    restart_with(server, grams_per_kwh=57, kind="average_direct")
    answer = json.loads(server.ask(f"/v1/ledger?id={BUSY}&manager={MANAGER}").text, parse_float=decimal.Decimal)
    assert answer["emissions"] == {"grams": by_hand(server, BUSY, lambda _: 57), "kind": "average_direct", "zone": None,
                                   "source": "emissions.grams_per_kwh", "entries_without_factor": 0}
    restart_with(server)
    assert "emissions" not in json.loads(server.ask(f"/v1/ledger?id={BUSY}").text)


def test_the_shipped_factors_are_taken_and_a_zone_without_one_is_named(server):
    table = REPOSITORY / "share/factors/yearly.csv"
    restart_with(server, zone="DEU", factors=str(table))
    metrics = server.get("/metrics").text
    assert 'jobmeter_emission_factor_grams_per_kwh{zone="DEU",kind="average_lifecycle"} 380.95\n' in metrics
    assert int(re.search(r"^jobmeter_emission_factor_age_seconds.* (\d+)$", metrics, re.MULTILINE)[1]) > 0  # a year's, since over
    assert server.end(signal.SIGTERM) == 0
    server.configure(emissions={"zone": "XXA", "factors": str(table)})
    done = server.run()
    assert (done.returncode, done.stderr) == (
        1, f"jobmeter-server: emissions.factors: '{table}' has no row of the kind average_lifecycle for the zone XXA\n")


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
