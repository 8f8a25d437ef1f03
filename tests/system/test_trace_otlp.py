# SPDX-License-Identifier: MIT
"""trace --format otlp - spans of MPI programs, decoded by the published schema; and collectors that are slow, gone, or refuse."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

import pytest

import mpi_programs
from collector_double import Collector, cut, in_part, late, never, status
from mpi_programs import ENVIRONMENT, LANGUAGES, RANKS, messages, mpirun, transfers
from test_trace_mpi import built, calls_of, moving, name_of, of_rank, own_mount, trace  # noqa: F401: fixtures

SCHEMA = ["@opentelemetry/otlp-transformer@0.57.2", "protobufjs@7.4.0"]
CALLS = 1009
MADE = CALLS + 2  # and the process, and the trace


def outside():
    """What starts a program in the network of who started this lane, which itself has none."""
    if "JOBMETER_LANE" not in os.environ or os.geteuid() != 0:
        return []
    status = pathlib.Path(f"/proc/{os.environ['JOBMETER_LANE']}/status").read_text()
    return ["nsenter", "--target", re.search(r"^PPid:\s*(\d+)", status, re.M)[1], "--net"]


@pytest.fixture(scope="session")
def decode(tmp_path_factory):
    """decode(lines): requests, seen through the published schema of OTLP."""
    folder = tmp_path_factory.mktemp("schema")
    if not shutil.which("npm"):
        pytest.skip("needs npm, whose @opentelemetry/otlp-transformer has the published schema")
    done = subprocess.run([*outside(), "npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries",
                           "1", *SCHEMA], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        pytest.skip(f"npm has no {SCHEMA[0]}: {done.stderr.strip().splitlines()[-1:]}")

    def run(text):
        script = pathlib.Path(__file__).with_name("otlp_decode.js")
        done = subprocess.run(["node", script, folder], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def without_empty(value):
    """@value as protobuf has it, where a list without items is none."""
    if isinstance(value, dict):
        return {key: without_empty(inner) for key, inner in value.items() if inner != []}
    return [without_empty(inner) for inner in value] if isinstance(value, list) else value


def attributes(thing):
    """{name: value} of a span or resource."""
    values = {a["key"]: a["value"] for a in thing.get("attributes", [])}
    assert len(values) == len(thing.get("attributes", []))
    return {key: int(value["intValue"]) if "intValue" in value else value["stringValue"] for key, value in values.items()}


class Span:
    def __init__(self, resource, span):
        self.resource, self.name, self.id, self.parent = resource, span["name"], span["spanId"], span.get("parentSpanId")
        self.trace, self.status, self.own = span["traceId"], span.get("status"), attributes(span)
        self.start, self.end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        self.rank = resource.get("mpi.rank")
        assert re.fullmatch("[0-9a-f]{32}", self.trace) and re.fullmatch("[0-9a-f]{16}", self.id) and span["kind"] == 1
        assert isinstance(span["startTimeUnixNano"], str) and self.end >= self.start

    def as_call(self):
        """As a line of ndjson has it, as far as both do."""
        arguments = {key.rpartition(".")[2]: value for key, value in self.own.items() if key.startswith("jobmeter.argument.")}
        return {"rank": self.rank, "probe": f"{self.own['jobmeter.set']}:{self.name}", "arguments": arguments,
                "bytes": self.own.get("jobmeter.bytes"), "timestamp_ns": self.start, "duration_ns": self.end - self.start}


def read(requests):
    """(the trace's span, those of processes, those of calls), checked: ids, and that each stands within its parent."""
    spans = [Span(attributes(r["resource"]), span) for request in requests for r in request["resourceSpans"]
             for scope in r["scopeSpans"] for span in scope["spans"]]
    by_id = {span.id: span for span in spans}
    assert len(by_id) == len(spans) and len({span.trace for span in spans}) == 1
    (root,) = [span for span in spans if not span.parent]
    processes = [span for span in spans if span.parent == root.id]
    calls = [span for span in spans if span.own.get("jobmeter.set")]
    assert len(calls) + len(processes) + 1 == len(spans)
    for span in processes + calls:
        parent = by_id[span.parent]
        assert parent.start <= span.start and span.end <= parent.end, (span.name, parent.name)
        assert parent is root or parent.resource == span.resource
        assert span in processes or parent is not root
    return root, processes, calls, by_id


def counted(calls, *without):
    """How many there are of each rank and function, with which bytes: but for the names of files with a random number, which
    MPICH's ROMIO broadcasts, and which are not of one length."""
    def size(c):
        return "a name" if name_of(c) == "MPI_Bcast" and 16 < (c["bytes"] or 0) < 256 else c["bytes"]

    return collections.Counter((c["rank"], c["probe"], size(c)) for c in calls if not name_of(c).startswith(without or "-"))


@pytest.fixture
def spans(trace, built, own_mount, tmp_path, decode):  # noqa: F811
    """spans(mpi, option...): what read() says, and what was said."""

    def run(mpi, *options):
        path, program = tmp_path / "spans", built(mpi, *LANGUAGES["c"])
        said = trace("--set", "mpi,mpi-io", "--format", "otlp", *options, "--output", path, "--",
                     *mpirun(mpi, program, own_mount / "file")).stderr
        sent = [json.loads(line) for line in path.read_text().splitlines()]
        decoded = decode(path.read_text())
        assert decoded == without_empty(sent)  # so the schema knows all of it
        return *read(decoded), said

    return run


def test_spans_are_the_calls_that_the_program_made(spans, trace, built, own_mount, tmp_path):  # noqa: F811
    """What is seen of each MPI: test_trace_mpi.py."""
    begun = time.time_ns()
    root, processes, calls, by_id, said = spans("mpich", "--slow", "0")
    assert begun <= root.start and root.end <= time.time_ns() and root.name == "mpirun.mpich"
    ranks = [p for p in processes if p.rank is not None]
    assert sorted((p.rank, p.name) for p in ranks) == [(rank, f"rank {rank}") for rank in range(RANKS)]
    for rank in range(RANKS):
        own = sorted((c for c in calls if c.rank == rank), key=lambda c: c.start)
        assert {c.resource["process.pid"] for c in own} == {next(p for p in ranks if p.rank == rank).resource["process.pid"]}
        assert {c.resource["process.executable.name"] for c in own} == {"transfers.mpich"}
        assert moving([c.as_call() for c in own]) == transfers(rank)
        assert {c.own["file.path"] for c in own if c.name in {t[0] for t in transfers(rank)}} == {str(own_mount / "file")}
        on_world = [(c.name, c.as_call()["arguments"], c.as_call()["bytes"]) for c in own
                    if c.own["jobmeter.set"] == "mpi" and c.own.get("jobmeter.argument.comm") == 0
                    and c.name in {m[0] for m in messages(rank)} and by_id[c.parent].own.get("jobmeter.set") != "mpi-io"]
        assert on_world == messages(rank)
        assert all(c.own["jobmeter.return"] == 0 and not c.status and c.own["code.function.name"] == c.name for c in own)
    lines = tmp_path / "calls"
    trace("--set", "mpi,mpi-io", "--format", "ndjson", "--output", lines, "--",
          *mpirun("mpich", built("mpich", *LANGUAGES["c"]), own_mount / "file"))
    polls = "MPI_Test", "MPI_Iprobe"  # as often as there was time
    assert counted([c.as_call() for c in calls], *polls) == counted(calls_of(lines), *polls)
    assert f"{len(calls)} of {len(calls)} calls became spans" in said and root.own["jobmeter.calls"] == len(calls)


SENT = ("MPI_File_open", "MPI_File_read", "MPI_File_write", "MPI_File_iwrite", "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast",
        "MPI_Comm_", "MPI_All", "MPI_Exscan", "MPI_Scan", "MPI_Reduce", "MPI_Gather")


def test_other_calls_are_left_out_and_counted(spans):
    _, _, calls, _, said = spans("mpich", "--slow", "1000")
    assert {c.own["jobmeter.kind"] for c in calls} <= {"open", "read", "write", "collective", "rooted"}
    assert all(c.name.startswith(SENT) for c in calls)
    for rank in range(RANKS):
        own = sorted((c.as_call() for c in calls if c.rank == rank), key=lambda c: c["timestamp_ns"])
        assert moving(own) == transfers(rank)
        assert [name_of(c) for c in own].count("MPI_Barrier") >= mpi_programs.BARRIERS
    became, made = map(int, re.search(r"(\d+) of (\d+) calls became spans", said).groups())
    assert became == len(calls) and made > became


def test_a_call_that_failed_says_so(programs, built, tmp_path, decode, root):  # noqa: F811
    path = tmp_path / "spans"
    done = subprocess.run([programs / "jobmeter", "trace", "--format", "otlp", "--output", path, "--",
                           *mpirun("mpich", built("mpich", *LANGUAGES["c"]), "/nowhere/file")],
                          env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode != 0
    _, _, calls, _ = read(decode(path.read_text()))
    opened = [c for c in calls if c.name == "MPI_File_open"]
    assert opened and {c.own["file.path"] for c in opened} == {"/nowhere/file"}
    for c in opened:
        assert c.own["jobmeter.return"] != 0 and c.status == {"code": 2, "message": f"returned {c.own['jobmeter.return']}"}


def test_a_job_has_one_trace_id_and_another_job_another(programs, root):
    """By its id alone, whoever traces it: a manager's job has it on all nodes."""
    traced = programs / "tests/system/traced"
    jobs = [subprocess.Popen([programs / "jobmeter", "run", "--standalone", "--quiet", "--", traced, "endless"],
                             stdout=subprocess.PIPE) for _ in range(2)]

    def ids(name):
        done = subprocess.run([programs / "jobmeter", "trace", "--format", "otlp", "--job", name, "--duration", "0.1",
                               "--probe", f"{traced}:traced_text(text=p1)"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made, _, _, _ = read([json.loads(line) for line in done.stdout.splitlines()])
        return made.trace, made.id, made.resource["jobmeter.job.manager"], made.resource["jobmeter.job.id"]

    try:
        assert [job.stdout.readline() for job in jobs] == [b"ready\n"] * 2
        first, again, bare, other = [ids(name) for name in (f"run/{jobs[0].pid}", f"run/{jobs[0].pid}", str(jobs[0].pid),
                                                            f"run/{jobs[1].pid}")]
        assert first[0] == again[0] == bare[0] != other[0] and len({first[1], again[1], bare[1], other[1]}) == 4
        assert first[2:] == bare[2:] == ("run", str(jobs[0].pid)) and other[2:] == ("run", str(jobs[1].pid))
    finally:
        for job in jobs:
            job.terminate()
            job.wait()


# ---- collectors ----


@pytest.fixture
def send(programs, root, tmp_path):
    """send(url): (spans sent, {why: spans that are missing}, what was said) of a job that makes MADE spans, ends with 7, and
    leaves send.done behind when it ends."""
    done_file = tmp_path / "done"

    def run(url, calls=CALLS):
        traced = programs / "tests/system/traced"
        command = f"{traced} work {calls} 1 97; echo >{done_file}; exit 7"
        done = subprocess.run([programs / "jobmeter", "trace", "--budget", "0", "--slow", "0", "--output", url,
                               "--probe", f"{traced}:traced_work(size=p1, bytes=size)", "--", "sh", "-c", command],
                              capture_output=True, text=True)
        assert done.returncode == 7, done.stderr
        sent = int(re.search(r"(\d+) spans sent to", done.stderr)[1])
        missing = re.search(r"(\d+) spans are missing: (\d+) not taken, (\d+) refused, (\d+) when the queue was full, "
                            r"(\d+) when the time was up(; the last reason: .+)?\n", done.stderr)
        whys = dict(zip(("not taken", "refused", "full", "late"), map(int, missing.groups()[1:5]))) if missing else {}
        assert sum(whys.values()) == (int(missing[1]) if missing else 0)
        return sent, {why: count for why, count in whys.items() if count}, done.stderr

    run.done = done_file
    return run


def unseen(said):
    """Calls of which nothing else is known."""
    found = re.search(r"(\d+) of \d+ calls of 'traced_work' are missing", said)
    return int(found[1]) if found else 0


def check_all(collector):
    assert len(collector.spans) == MADE and len({span["spanId"] for span in collector.spans}) == MADE


def test_a_collector_gets_each_span_once(send):
    with Collector() as collector:
        assert send(collector.url)[:2] == (MADE, {})
        check_all(collector)
        assert sum(int(a["value"]["intValue"]) for span in collector.spans for a in span["attributes"]
                   if a["key"] == "jobmeter.bytes") == sum(i % 7 * 1024 for i in range(CALLS))


def test_each_of_many_spans_is_sent_or_said_to_be_missing(send):
    calls = 10_007
    with Collector() as collector:
        sent, missing, said = send(collector.url, calls)
        assert sent + sum(missing.values()) == calls + 2 - unseen(said)
        assert len(collector.spans) == sent and len({span["spanId"] for span in collector.spans}) == sent > CALLS


def test_the_job_ends_whatever_the_collector_does(send):
    """Which answers when the job has ended, and not before."""
    with Collector(always=late(send.done.exists)) as collector:
        assert send(collector.url)[:2] == (MADE, {})
        check_all(collector)


def test_one_that_never_answers_gets_no_more_than_its_time(send):
    with Collector(always=never) as collector:
        sent, missing, said = send(collector.url)
        assert (sent, missing, collector.spans) == (0, {"late": MADE}, []) and len(collector.bodies) <= 2


def test_one_that_is_gone_is_said_to_be(send):
    with Collector() as collector:
        url = collector.url
    sent, missing, said = send(url)
    assert (sent, missing) == (0, {"late": MADE}) and "cannot send to" in said


def test_one_that_comes_back_gets_all(send):
    with Collector() as collector:
        port = collector.port
    back = Collector(port=port)
    starter = threading.Thread(target=lambda: (late(send.done.exists)(), back.start()))
    starter.start()
    try:
        assert send(back.url)[:2] == (MADE, {})
    finally:
        starter.join()
        back.__exit__()
    check_all(back)


@pytest.mark.parametrize("number", [400, 501])  # the least, and the last before those that are not
def test_a_refusal_is_final(send, number):
    with Collector(always=status(number, '{"message": "no\\u001b[2J thanks"}')) as collector:
        sent, missing, said = send(collector.url)
        assert (sent, missing) == (0, {"refused": MADE})
        assert f"the collector answers {number}: no [2J thanks" in said
        bodies = [body for _, body in collector.bodies]
        assert len(set(bodies)) == len(bodies)  # none came twice


@pytest.mark.parametrize("steps", [[status(429), status(504)], [status(502), cut]], ids=["busy", "cut"])
def test_what_may_be_sent_again_is(send, steps):
    with Collector(script=steps) as collector:
        assert send(collector.url)[:2] == (MADE, {})
        check_all(collector)
        bodies = [body for _, body in collector.bodies]
        assert bodies[0] == bodies[1] == bodies[2] and len(set(bodies)) == len(bodies) - 2


def test_it_is_not_sent_again_sooner_than_asked(send):
    with Collector(script=[status(429, Retry_After=3)]) as collector:
        assert send(collector.url)[:2] == (MADE, {})
        (first, body), (second, again) = collector.bodies[:2]
        assert body == again and second - first >= 3


def test_what_is_asked_for_later_than_the_end_is_given_up(send):
    with Collector(always=status(503, Retry_After=3600)) as collector:
        sent, missing, said = send(collector.url)
        assert (sent, missing) == (0, {"late": MADE}) and len(collector.bodies) == 1


def test_spans_that_are_rejected_are_counted(send):
    with Collector(script=[in_part(13, "too\x1b[31m many"), in_part(17, "later")], always=in_part(0, "")) as collector:
        sent, missing, said = send(collector.url + "/v1/traces")  # a path of its own is kept
        assert (sent, missing) == (MADE - 30, {"not taken": 30})


def test_a_full_queue_drops_and_counts(send):
    calls = 150_001  # more than the queue holds
    with Collector(always=never) as collector:
        sent, missing, said = send(collector.url, calls)
        assert sent == 0 and missing["full"] > 0 and sum(missing.values()) == calls + 2 - unseen(said)
        assert collector.spans == []


@pytest.mark.parametrize("url", ["http://", "https://", "http://" + "x" * 2000])
def test_what_is_no_url_is_refused_before_the_command_runs(programs, root, tmp_path, url):
    done = subprocess.run([programs / "jobmeter", "trace", "--format", "otlp", "--output", url, "--", "touch", tmp_path / "ran"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "is no URL of a collector" in done.stderr and not (tmp_path / "ran").exists()
