# SPDX-License-Identifier: MIT
"""What goes through sockets, by their kind, against the programs' own counts: equal, to the byte and the call."""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import compare
import pytest

from agent_pages import await_page, final_record, known_jobs, page_of
from ports import free_ports

MODES = ["tcp4", "tcp6", "udp4", "mapped", "unix", "messages", "many-messages", "as-files", "peek", "errors", "restarted",
         "namespace", "many", "crowd", "high", "reused", "self"]
ROUND_TRIPS = ["tcp4", "tcp6", "as-files", "errors", "namespace", "many", "high", "reused"]  # which ask the kernel for theirs


def used(network):
    """Without the kinds that were not used."""
    return {kind: numbers for kind, numbers in network.items() if any(v for d in numbers.values() for v in d.values())}


def told(network):
    """What the program can know too: not what a moment's round-trip time was."""
    told = json.loads(json.dumps(network))
    for key in ("rtt_seconds", "rtt_samples", "min_rtt_seconds", "rtt_distribution"):
        told.get("tcp", {}).get("connections", {}).pop(key, None)
    return told


@pytest.fixture
def talk(programs, tmp_path, run_metered):
    def run(mode, *options):
        output = tmp_path / "talk.json"
        record = run_metered(programs / "tests/truth/talk", mode, output, options=["--standalone", *options])
        return record, json.loads(output.read_text())

    return run


def check_spread(connections):
    """The histogram is of the times that are summed: as many, and within the bounds of its buckets their sum."""
    counts = connections["rtt_distribution"]
    assert sum(counts) == connections["rtt_samples"]
    least = sum(count * (2 ** (i + 7) if i else 0) for i, count in enumerate(counts)) / 1e9
    most = sum(count * 2 ** (i + 8) for i, count in enumerate(counts)) / 1e9
    assert least <= connections["rtt_seconds"] < most


def check_round_trips(record, truth):
    """The least is the one that the kernel tells the program."""
    connections = record["network"]["tcp"]["connections"]
    assert round(connections["min_rtt_seconds"] * 1e6) == truth["least_round_trip_us"] > 0
    check_spread(connections)


def check_tcp4(record, truth):
    """It stands in the timeline, and round trips through the loopback are short."""
    for direction in ("sent", "received"):
        values = record["timeline"]["series"][f"network.{direction}.bytes"]["values"]
        assert sum(v or 0 for v in values) == truth["network"]["tcp"][direction]["bytes"] > 0
    connections = record["network"]["tcp"]["connections"]
    assert connections["rtt_samples"] >= 7  # of 108 calls on one of the sockets
    assert 1e-6 < connections["rtt_seconds"] / connections["rtt_samples"] < record["time"]["elapsed_seconds"]


def check_messages(record, _):
    """What only sockets' own calls move is in no row of files."""
    assert "(socket)" not in [row["mount"] for row in record["io"] if row["read"]["calls"] + row["write"]["calls"]]


def check_as_files(record, truth):
    """What reads and writes move stands among files, too."""
    row = next(row for row in record["io"] if row["mount"] == "(socket)")
    assert row["write"]["bytes"] == truth["network"]["tcp"]["sent"]["bytes"]
    assert record["coverage"]["accounting"]["read"]["difference_bytes"] == 0
    assert record["coverage"]["accounting"]["write"]["difference_bytes"] == 0


CHECKS = {"tcp4": check_tcp4, "messages": check_messages, "as-files": check_as_files}


@pytest.mark.parametrize("mode", MODES)
def test_what_went_through_sockets_is_what_the_program_sent_and_received(talk, mode):
    record, truth = talk(mode)
    assert told(record["network"]) == used(truth["network"]) != {}
    assert record["coverage"]["lost_events"] == compare.hidden_by_disks(record), record["coverage"]
    if mode in CHECKS:
        CHECKS[mode](record, truth)
    if mode in ROUND_TRIPS:
        check_round_trips(record, truth)


def test_requests_of_an_io_uring_are_counted_too(talk, demand):
    record, truth = talk("uring")
    demand(not truth["absent"], truth["absent"])
    assert told(record["network"]) == used(truth["network"])


def test_connections_of_an_io_uring_are_counted_but_for_their_being_accepted(talk, demand):
    record, truth = talk("uring-connections")
    demand(not truth["absent"], truth["absent"])
    assert told(record["network"]) == used(truth["network"])
    assert "5 io_uring requests to accept connections, which are not counted as accepted" in record["coverage"]["missing"]


def test_requests_that_receive_on_and_on_are_said_to_be_missing(talk, demand):
    record, truth = talk("uring-many")
    demand(not truth["absent"], truth["absent"])
    assert told(record["network"]) == used(truth["network"])
    assert any(text.startswith("2 calls or requests of several messages") for text in record["coverage"]["missing"])


def test_what_goes_by_several_paths_is_no_tcps(talk, demand):
    """Neither are the sockets that the kernel has below it."""
    record, truth = talk("multipath")
    demand(not truth["absent"], truth["absent"])
    assert told(record["network"]) == used(truth["network"])


def exposed(page, job):
    """{(type, metric): number} of one job's sockets."""
    return {(dict(labels)["type"], name): value for (name, labels), value in page.samples.items()
            if name.startswith("jobmeter_job_network_") and "rtt" not in name and dict(labels)["jobid"] == str(job)}


def series(network):
    return {(kind, f"jobmeter_job_network_{direction}_{key}_total"): number for kind, directions in network.items()
            for direction, numbers in directions.items() for key, number in numbers.items()}


def total(*networks):
    sums = {kind: {direction: dict(numbers) for direction, numbers in directions.items()}
            for kind, directions in networks[0].items()}
    for network in networks[1:]:
        for kind, directions in network.items():
            for direction, numbers in directions.items():
                for key, number in numbers.items():
                    sums[kind][direction][key] += number
    return used(sums)


@pytest.fixture
def talk_in(groups, programs, tmp_path):
    def run(job, mode, step=None, task=None):
        output, group = tmp_path / "talk.json", groups.name(job, step, task)
        assert groups.start(group, programs / "tests/truth/talk", mode, output).wait(timeout=60) == 0
        return json.loads(output.read_text())["network"]

    return run


def test_an_agent_counts_the_same_of_each_job_and_scrapes_say_so(start_agent, groups, talk_in, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    for job, mode in enumerate(("tcp4", "unix", "errors"), 1):
        truth = used(talk_in(job, mode))
        page = await_page(agent, lambda p: exposed(p, job) == series(truth))
        assert exposed(page, job) == series(truth)
        groups.remove(groups.name(job))
        assert told(final_record(agent, job)["network"]) == truth
        assert exposed(page_of(agent), job) == series(truth)


def test_steps_tell_what_each_of_them_sent_and_together_it_is_the_jobs(start_agent, groups, talk_in, demand):
    """One has ended when the agent is started anew, another goes on meanwhile and after it: nothing is lost, nor of a job that
    has ended."""
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    ended = talk_in(1, "unix", "batch")
    groups.remove(groups.name(1, "batch"))
    parts = [talk_in(1, "tcp4", "0", 0), talk_in(1, "udp4", "0", 1)]
    other = talk_in(1, "tcp6", "1", 0)
    truth = talk_in(2, "tcp4")
    groups.remove(groups.name(2))
    await_page(agent, lambda page: exposed(page, 1) == series(total(ended, *parts, other)) and "2" in known_jobs(page))
    ended_job = told(final_record(agent, 2)["network"])
    agent.kill()
    parts.append(talk_in(1, "udp4", "0", 0))  # while there is none
    agent.start()
    parts.append(talk_in(1, "errors", "0", 0))
    await_page(agent, lambda page: exposed(page, 1) == series(total(ended, *parts, other)))
    groups.remove(groups.name(1))
    record = final_record(agent, 1)
    steps = {step["id"]: told(step["network"]) for step in record["steps"]}
    assert steps == {"batch": used(ended), "0": total(*parts), "1": used(other)}
    assert told(record["network"]) == total(ended, *parts, other)
    assert told(final_record(agent, 2)["network"]) == ended_job == used(truth)


def test_who_takes_over_the_ports_of_another_job_does_not_inherit_its_numbers(start_agent, groups, talk_in, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    truths = [talk_in(1, "reused"), talk_in(2, "reused"), talk_in(3, "tcp4")]
    await_page(agent, lambda page: "3" in known_jobs(page))
    for job, truth in enumerate(truths, 1):
        groups.remove(groups.name(job))
        assert told(final_record(agent, job)["network"]) == used(truth)
    assert all(truth["tcp"]["connections"]["retransmits"] for truth in truths[:2])  # with these the third's would not be its own


# A pair of TCP sockets, which one job makes and uses, another one after it, and the first one again.
HANDED = """
import socket, sys, time
def talk(near, far, count):
    for _ in range(count):
        near.sendall(b"x" * 101)
        assert len(far.recv(101, socket.MSG_WAITALL)) == 101
way = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if sys.argv[1] == "makes":
    way.bind(sys.argv[2])
    way.listen(1)
    server = socket.create_server(("127.0.0.1", 0))
    near = socket.create_connection(server.getsockname())
    far, _ = server.accept()
    talk(near, far, 37)
    other, _ = way.accept()
    socket.send_fds(other, [b"!"], [near.fileno(), far.fileno()])
    other.recv(1)
    talk(near, far, 5)
else:
    while way.connect_ex(sys.argv[2]):
        time.sleep(0.02)
    _, fds, _, _ = socket.recv_fds(way, 1, 2)
    talk(*(socket.socket(fileno=fd) for fd in fds), 53)
    way.send(b"!")
"""


def test_who_is_handed_a_connection_has_what_he_does_with_it(start_agent, groups, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    jobs = [groups.start(groups.name(job), sys.executable, "-c", HANDED, role, tmp_path / "interface")
            for job, role in ((1, "makes"), (2, "takes"))]
    assert [job.wait(timeout=60) for job in jobs] == [0, 0]
    await_page(agent, lambda page: {"1", "2"} <= set(known_jobs(page)))
    for job, count, made in ((1, 42, 1), (2, 53, 0)):
        groups.remove(groups.name(job))
        tcp = told(final_record(agent, job)["network"])["tcp"]
        assert tcp["sent"] == tcp["received"] == {"bytes": 101 * count, "calls": count, "errors": 0}
        assert tcp["connections"] == {"opened": made, "accepted": made, "retransmits": 0, "segments": count}


SLOW = """
import socket, subprocess, sys
near = socket.create_connection(("10.37.0.2", 47117), source_address=("10.37.0.1", 47119))
for _ in range(37):
    near.sendall(b"x" * 211)
    assert near.recv(211, socket.MSG_WAITALL) == b"x" * 211
print(subprocess.run(["ss", "-tinH", "sport", "=", ":47119"], capture_output=True, text=True, check=True).stdout, flush=True)
near.close()
"""

ECHO = """
import socket
listening = socket.create_server(("10.37.0.2", 47117))
print("listening", flush=True)
far, _ = listening.accept()
while data := far.recv(4096):
    far.sendall(data)
"""


@pytest.fixture
def slow_link(demand):
    """Two network namespaces with a pair of interfaces between; each side's packets take 11 ms, where the kernel can delay."""
    for tool in ("ip", "tc", "ss"):
        demand(shutil.which(tool), f"needs {tool}")
    near, far = f"jm-near-{os.getpid()}", f"jm-far-{os.getpid()}"

    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    try:
        for name in (near, far):
            ip("netns", "add", name)
        ip("-n", near, "link", "add", "talk", "type", "veth", "peer", "name", "talk", "netns", far)
        for name, address in ((near, "10.37.0.1/24"), (far, "10.37.0.2/24")):
            ip("-n", name, "address", "add", address, "dev", "talk")
            ip("-n", name, "link", "set", "talk", "up")
        delayed = all(subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "talk", "root", "netem", "delay",
                                      "11ms"], stderr=subprocess.DEVNULL).returncode == 0 for name in (near, far))
        yield near, far, delayed
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


def test_round_trips_between_two_machines_are_those_that_ss_tells(slow_link, run_metered, tmp_path):
    near, far, delayed = slow_link
    server = subprocess.Popen(["ip", "netns", "exec", far, sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
    told_in = tmp_path / "ss.txt"
    try:
        assert server.stdout.readline() == "listening\n"
        record = run_metered("ip", "netns", "exec", near, "sh", "-c", 'exec "$0" -c "$1" > "$2"', sys.executable, SLOW, told_in,
                             options=["--standalone"])
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
        server.wait()
    connections = record["network"]["tcp"]["connections"]
    said = dict(re.findall(r"\b(minrtt|rtt):([0-9.]+)", told_in.read_text()))
    assert connections["min_rtt_seconds"] == pytest.approx(float(said["minrtt"]) / 1e3, abs=1e-9)
    assert connections["opened"] == 1
    check_spread(connections)
    if not delayed:
        pytest.skip("needs a kernel with sch_netem: the least round trip was equal without a delay")
    assert connections["min_rtt_seconds"] >= 0.022
    assert sum(connections["rtt_distribution"][:17]) == 0  # none below 2^24 ns


def segments_sent_again():
    """TCP's, of all sockets of this network namespace."""
    lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")]
    return int(dict(zip(*lines))["RetransSegs"])


@pytest.fixture
def iperf(programs, tmp_path, run_metered, demand):
    """What iperf3's client tells of itself, and what is measured of it; its server is nobody's job."""
    demand(shutil.which("iperf3"), "needs iperf3")

    def run(*options):
        before = segments_sent_again()
        port, told_in = str(free_ports(1)[0]), tmp_path / "iperf.json"
        server = subprocess.Popen(["iperf3", "--server", "--one-off", "--forceflush", "--port", port, "--bind", "127.0.0.1"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            while "listening" not in server.stdout.readline():
                assert server.poll() is None
            record = run_metered("iperf3", "--client", "127.0.0.1", "--port", port, "--json", "--logfile", told_in,
                                 *options, options=["--standalone"])
        finally:
            server.kill()
            server.wait()
        return record["network"], json.loads(told_in.read_text())["end"], segments_sent_again() - before

    return run


CONTROL_MAX = 16384  # beside its data iperf3 tells the other side what to do and how it was, over a connection of TCP


@pytest.mark.parametrize("options", [[], ["--reverse"], ["--zerocopy"]], ids=["sends", "receives", "sendfile"])
def test_iperf3_moves_what_it_says(iperf, options):
    network, told, sent_again = iperf("--bytes", "20000003", *options)
    direction, sums = ("received", "sum_received") if "--reverse" in options else ("sent", "sum_sent")
    assert 0 < network["tcp"][direction]["bytes"] - told[sums]["bytes"] < CONTROL_MAX
    connections = network["tcp"]["connections"]
    assert (connections["opened"], connections["accepted"]) == (2, 0)
    if "--reverse" not in options:  # iperf3 tells those of its data alone, the kernel those of all connections
        assert told["sum_sent"]["retransmits"] <= connections["retransmits"] <= sent_again


def test_iperf3_sends_as_many_datagrams_as_it_says(iperf):
    network, told, _ = iperf("--udp", "--bytes", "2000003", "--bitrate", "100M")
    greeting = {"bytes": 4, "calls": 1, "errors": 0}  # at first each side says that it is there
    assert network["udp"]["sent"]["bytes"] == told["sum"]["bytes"] + greeting["bytes"]
    assert network["udp"]["sent"]["calls"] == told["sum"]["packets"] + greeting["calls"]
    assert network["udp"]["received"] == greeting


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"x" * 10007
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_wrk_reads_what_it_says(run_metered, tmp_path, demand):
    demand(shutil.which("wrk"), "needs wrk")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    script, output = tmp_path / "told.lua", tmp_path / "told"
    script.write_text(f'done = function(summary) local f = io.open("{output}", "w"); '
                      'f:write(string.format("%d %d", summary.bytes, summary.requests)); f:close() end\n')
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        network = run_metered("wrk", "--threads", "2", "--connections", "8", "--duration", "2s", "--script", script,
                              f"http://127.0.0.1:{server.server_port}/", options=["--standalone"])["network"]
    finally:
        server.shutdown()
        server.server_close()
    read, requests = map(int, output.read_text().split())
    assert requests > 8 and network["tcp"]["received"]["bytes"] == read
