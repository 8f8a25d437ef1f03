# SPDX-License-Identifier: MIT
"""What an agent sends to a server: each job's record gets there, once and whole, whatever happens on the way.

The server is server_double.py, for what a real one rarely says."""

import contextlib
import gzip
import json
import os
import pathlib
import pwd
import signal
import subprocess
import time

import pytest

import server_double
from agent import USER
from agent_pages import ask, await_log, await_page, page_of, text_of
from job_groups import OWN_ONLY
from server_double import Server

FEW_HOOKS = {"tiers": {"wait_times": False, "files": False}}
TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def server():
    with Server() as double:
        yield double


@pytest.fixture
def start(start_agent, server):
    """An agent that sends to the double; what it waits for is made short, and what takes long to start is off."""

    def start(**settings):
        return start_agent(**{"rules": OWN_ONLY, "server": server.url, "server_token_file": "", "checkpoint_interval": "1s", **FEW_HOOKS, **settings})

    return start


@pytest.fixture
def live(groups):
    """live(job): a job that does nothing, until it is ended; live.end(job)."""
    running = {}

    class Live:
        def __call__(self, job):
            running[job] = groups.start(groups.name(job), "sleep", "600")

        def end(self, job):
            running[job].kill()
            running.pop(job).wait()
            groups.remove(groups.name(job))

        def short(self, *jobs):
            """Jobs that begin and end at once."""
            for job in jobs:
                groups.run(groups.name(job), "true")
                groups.remove(groups.name(job))

    yield Live()
    for process in running.values():
        process.kill()
        process.wait()


def number(page, name, **labels):
    found = [value for these, value in page.of(f"jobmeter_agent_spool_{name}") if labels.items() <= these.items()]
    assert len(found) == 1, (name, labels, found)
    return found[0]


def unsent(agent):
    """Records of jobs.  A quarter of an hour of the energy ledger may end in any test, and is one, too."""
    found = []
    for path in sorted((agent.folder / "state/spool").glob("*.gz")):
        with contextlib.suppress(FileNotFoundError):  # sent meanwhile
            found += [path.name] if "job" in json.loads(gzip.decompress(path.read_bytes())) else []
    return found


def sender_of(agent):
    for path in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            status = dict(line.split(":\t", 1) for line in path.read_text(errors="replace").splitlines() if ":\t" in line)
        except OSError:
            continue
        if status["Name"] == "jobmeter-sender" and int(status["PPid"]) == agent.process.pid:
            return int(status["Pid"]), status
    return None


def await_sender(agent, other_than=0):
    """One that has given up its rights."""
    return Server.await_it(lambda: (s := sender_of(agent)) and s[0] != other_than and s[1]["Seccomp"] == "2" and s)


@pytest.mark.smoke
def test_a_job_has_checkpoints_and_one_final_record(start, server, live):
    agent = start(cluster="c7", node="n-of-the-site")
    live(7)
    server.await_it(lambda: len(server.of(7)) >= 2)
    live.end(7)
    server.await_final(7)
    records = server.of(7)
    assert [r["final"] for r in records] == [False] * (len(records) - 1) + [True]
    assert len({server_double.key_of(r) for r in records}) == 1
    assert server_double.key_of(records[0])[:2] == ("c7", "n-of-the-site")
    assert records[0]["time"]["start"] and records[-1]["time"]["end"]
    sequences = [r["sequence"] for r in records]
    assert sequences == sorted(set(sequences))
    assert abs(sequences[-1] / 1e6 - time.time()) < 600
    live(8)
    server.await_it(lambda: len(server.of(8)) >= 2)
    assert server.of(7) == records  # nothing more is said of it while others are told again and again
    page = page_of(agent)
    assert number(page, "records", kind="final") == 0 and number(page, "last_http_status") == 200
    assert number(page, "answers_total", answer="taken") >= len(records)
    assert number(page, "dropped_records_total", kind="final") == 0
    push = ask(agent, "/v1/agent")["push"]
    assert push["server"] == server.url and push["finals_unsent"] == 0 and push["why_unsent"] is None


def test_a_node_says_with_its_records_what_it_does_not_measure(start, server, live):
    start(node="n-of-the-site")
    live(7)
    server.await_it(lambda: server.node)
    said = server.node
    assert (said["schema"], said["node"]) == ("jobmeter.node/1", "n-of-the-site")
    assert 0 < len(said["not_measured"]) <= said["missing"] and any("tiers.files" in one or "files by mount" in one for one in said["not_measured"]), said


def test_without_a_server_nothing_is_written_and_nobody_sends(start_agent, live):
    agent = start_agent(rules=OWN_ONLY)
    live.short(1, 2, 3)
    await_page(agent, lambda page: len(page.of("jobmeter_job_info")) >= 3)
    assert not unsent(agent) and sender_of(agent) is None
    assert not [name for name in page_of(agent).types if "_spool_" in name]
    assert ask(agent, "/v1/agent")["push"] is None


def test_a_restart_between_checkpoints_keeps_the_start_and_the_sequence_grows(start, server, live):
    """After a kill: the next test."""
    agent, ways = start(), ["step_aside", "stop"]
    live(7)
    live(8)  # and goes on
    first = server.await_record(7, lambda r: True)
    for way in ways:
        before = len(server.of(7))
        getattr(agent, way)()
        agent.start()
        server.await_it(lambda: len(server.of(7)) > before)
    live.end(7)
    final = server.await_final(7)
    records = server.of(7)
    assert len({server_double.key_of(r) for r in records}) == 1
    assert final["time"]["start"] == first["time"]["start"]
    assert [r["sequence"] for r in records] == sorted({r["sequence"] for r in records})
    for way in ways:
        getattr(agent, way)()
        before = len(server.of(8))
        agent.start()
        server.await_it(lambda: len(server.of(8)) > before)
        assert server.of(7) == records  # one that was reported is not reported again


def test_a_final_record_that_nobody_wrote_before_a_kill_is_written_by_the_next(start, server, live):
    agent = start()
    live.short(6)
    reported = server.await_final(6)
    live(7)
    live(8)
    server.await_record(7, lambda r: True)
    first = server.await_record(8, lambda r: True)
    agent.kill()
    live.end(7)
    live.short(9)
    before = len(server.of(8))
    agent.start()
    for job in (7, 9):
        assert server.await_final(job)["time"]["end"]
    server.await_it(lambda: len(server.of(8)) > before)
    live.end(8)
    assert server.await_final(8)["time"]["start"] == first["time"]["start"]
    assert len({server_double.key_of(r) for r in server.of(8)}) == 1
    sequences = [r["sequence"] for r in server.of(8)]
    assert sequences == sorted(set(sequences))
    assert server.of(6)[-1] == reported and [r["final"] for r in server.of(6)].count(True) == 1  # and is not reported again


def test_a_final_record_that_an_agent_writes_as_it_ends_is_not_written_again(start, server, live):
    agent = start(interval="1m", checkpoint_interval="1h")
    for jobs in (range(11, 16), [16]):
        live.short(*jobs)
        time.sleep(0.5)  # they count as ended then, and nobody has looked since
        agent.stop()
        agent.start()
    server.await_final(16)  # what waited before it has come, too
    assert {job: [r["final"] for r in server.of(job)] for job in range(11, 17)} == {job: [True] for job in range(11, 17)}


STEPS = {  # the other kinds are in tests/unit/test_sender.c
    "503": server_double.status(503, Retry_After=1),
    "a cut connection": server_double.cut_before,
    "a page of some proxy": server_double.lie("<html>welcome</html>\n", "text/html"),
}


def test_whatever_a_request_ends_with_each_record_gets_there(start, server, live):
    agent, failed = start(checkpoint_interval="1h"), 0
    for at, (name, step) in enumerate(STEPS.items()):
        server.script = [step]
        jobs = range(20 + 10 * at, 25 + 10 * at)
        live.short(*jobs)
        for job in jobs:
            server.await_final(job)
        assert [len(server.of(job)) for job in jobs] == [1] * 5
        assert not server.script
        await_page(agent, lambda _: not unsent(agent))
        failed, before = number(page_of(agent), "failed_requests_total"), failed
        assert failed > before
        if name.isdigit():
            assert f"the server answers {name}" in await_log(agent, f"the server answers {name}")
            assert "records reach the server" in await_log(agent, "records reach the server")


def test_what_is_too_much_for_a_request_goes_by_halves(start, server, live):
    agent = start(checkpoint_interval="1h")
    server.stop()
    live.short(*range(20, 29))
    await_page(agent, lambda _: len(unsent(agent)) == 9)
    server.lines_max = 2
    server.start()
    for job in range(20, 29):
        server.await_final(job)
    assert 413 in server.statuses() and max(lines for status, lines in server.requests if status == 200) == 2
    assert [len(server.of(job)) for job in range(20, 29)] == [1] * 9


def doctor(agent, programs):
    environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"]}
    said = subprocess.run([programs / "jobmeter", "doctor", "--no-costs", "--json"], env=environment, capture_output=True,
                          text=True, check=False)
    return json.loads(said.stdout)["agent"]["push"]


def test_while_the_server_is_away_records_wait_and_an_end_by_kill_loses_none(start, server, live, programs):
    agent = start(checkpoint_interval="1h")
    server.stop()
    began = time.time()
    live.short(*range(30, 40))
    page = await_page(agent, lambda page: number(page, "records", kind="final") == 10)
    assert number(page, "records", kind="final") == 10
    assert began - 1 < number(page, "oldest_timestamp_seconds") < time.time() + 1
    assert "cannot send to" in await_log(agent, "cannot send to")
    for push in (ask(agent, "/v1/agent")["push"], doctor(agent, programs)):
        assert push["server"] == server.url and push["finals_unsent"] == 10 and "cannot send" in push["why_unsent"]
    agent.kill()
    agent.start()
    live.short(*range(40, 45))
    await_page(agent, lambda _: len(unsent(agent)) == 15)
    assert len(unsent(agent)) == 15
    server.start()
    for job in range(30, 45):
        server.await_final(job, 120)
    assert [len(server.of(job)) for job in range(30, 45)] == [1] * 15


def test_of_checkpoints_that_wait_there_is_one_a_job(start, server, live):
    agent = start(checkpoint_interval="1s")
    server.stop()
    live(7)
    live(8)
    await_page(agent, lambda page: number(page, "written_records_total", kind="checkpoint") > 8)
    await_page(agent, lambda _: len(unsent(agent)) <= 2)  # who sends removes the older ones, every other second
    assert len(unsent(agent)) <= 4


@pytest.mark.smoke
def test_who_sends_has_no_rights_and_is_started_again(start, server, live):
    agent = start(checkpoint_interval="1h")
    live.short(50)
    server.await_final(50)
    pid = 0
    for job in (51, 52):  # the first is the agent's as root, the second its as a user
        pid, status = await_sender(agent, pid)
        service = pwd.getpwnam(USER)
        assert status["Uid"].split() == [str(service.pw_uid)] * 4
        assert [int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")] == [0] * 4
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        held = {os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        assert not [name for name in held if "bpf" in name or "perf" in name or name.endswith(".lock")], held
        os.kill(pid, signal.SIGKILL)
        live.short(job)
        server.await_final(job)
        assert [len(server.of(job))] == [1]
    assert number(page_of(agent), "sender_starts_total") == 3
    assert agent.log().count("was ended by signal 9") == 2
    pid, _ = await_sender(agent, pid)
    agent.kill()
    server.await_it(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    agent.start()


def fill(spool):
    subprocess.run(["dd", "if=/dev/zero", f"of={spool}/fill", "bs=4k"], stderr=subprocess.DEVNULL)


def close(spool):
    spool.chmod(0o500)


UNWRITABLE = {
    "No space left on device": (fill, lambda spool: (spool / "fill").unlink()),
    "Permission denied": (close, lambda spool: spool.chmod(0o700)),
}


@pytest.mark.parametrize("reason", UNWRITABLE)
def test_a_spool_that_cannot_be_written_loses_nothing_and_says_why(start, server, live, bench, keeper, programs, reason):
    spoil, mend = UNWRITABLE[reason]
    spool = bench.folder / "state/spool"
    spool.mkdir(parents=True)
    keeper.run("mount", "-t", "tmpfs", "-o", "size=200k,mode=755", "spool", spool, undo=["umount", "-l", spool])
    agent = start(state_dir=str(spool.parent), checkpoint_interval="1h", retention="1s")
    server.stop()
    live.short(60, 61, 62)
    held = server.await_it(lambda: len(found := {p: p.read_bytes() for p in spool.glob("*.f.gz")}) == 3 and found)
    spoil(spool)
    live.short(*range(63, 71))
    assert f"cannot be written to '{spool}': {reason}; they are tried again" in await_log(agent, f"written to '{spool}'")
    readings = page_of(agent).of("jobmeter_agent_readings_total")[0][1]
    page = await_page(agent, lambda page: page.of("jobmeter_agent_readings_total")[0][1] > readings + 3)
    assert page.of("jobmeter_agent_failed_readings_total")[0][1] == 0
    assert number(page, "write_errors_total") >= 1 and number(page, "dropped_records_total", kind="final") == 0
    assert reason in doctor(agent, programs)["why_unsent"]
    for path in ("/v1/jobs", "/v1/agent", "/v1/snapshot", "/metrics"):
        assert text_of(agent, path), path  # meanwhile
    assert {path: path.read_bytes() for path in held} == held
    server.start()
    for job in (60, 61, 62):
        server.await_final(job)  # what lies there is sent all the same
    mend(spool)
    for job in range(60, 71):
        server.await_final(job)
    assert [len(server.of(job)) for job in range(60, 71)] == [1] * 11
    assert "are written to" in await_log(agent, f"are written to '{spool}' again")
    assert "cannot be written" not in (ask(agent, "/v1/agent")["push"]["why_unsent"] or "")


def test_what_is_refused_is_set_aside_and_the_rest_is_taken(start, server, live):
    server.always = server_double.refuse("81", "its schema is odd")
    agent = start(checkpoint_interval="1h")
    live.short(80, 81, 82)
    server.await_final(80)
    server.await_final(82)
    await_page(agent, lambda page: number(page, "answers_total", answer="refused") == 1)
    aside = sorted((agent.folder / "state/spool/refused").iterdir())
    assert [path.suffix for path in aside] == [".gz", ".reason"]
    assert aside[1].read_text() == "its schema is odd\n"
    assert "its schema is odd" in await_log(agent, "its schema is odd")
    server.await_it(lambda: not unsent(agent))

    # moved back by hand, without a word to the agent
    server.always = None
    aside[0].rename(agent.folder / "state/spool" / aside[0].name)
    server.await_final(81)


def test_the_token_is_read_by_the_agent_and_again_when_the_server_wants_another(start, server, live, bench):
    path = bench.folder / "push.token"
    server.token = TOKEN
    agent = start(server_token_file=str(path), checkpoint_interval="1h")
    live.short(90)
    assert f"cannot read the token '{path}'" in await_log(agent, "cannot read the token")
    assert not server.requests  # nothing goes without it
    path.write_text("another-token-than-that\n")
    path.chmod(0o600)  # root's alone: who sends could not read it
    server.await_it(lambda: 401 in server.statuses())
    path.write_text(TOKEN + "\n")
    server.await_final(90)


def test_settings_that_are_read_again_send_elsewhere(start_agent, server, live):
    agent = start_agent(rules=OWN_ONLY, server_token_file="", checkpoint_interval="1s", **FEW_HOOKS)
    live(7)
    await_page(agent, lambda page: page.of("jobmeter_job_info"))
    agent.configure(server=server.url)
    agent.process.send_signal(signal.SIGHUP)
    server.await_record(7, lambda r: True)
    with Server() as other:
        agent.configure(server=other.url)
        agent.process.send_signal(signal.SIGHUP)
        other.await_record(7, lambda r: True)
        before = len(server.of(7))
        agent.configure(server="")
        agent.process.send_signal(signal.SIGHUP)
        server.await_it(lambda: sender_of(agent) is None)
        live.end(7)
        await_page(agent, lambda page: page.of("jobmeter_job_end_time_seconds"))
        assert not [r for r in server.of(7) + other.of(7) if r["final"]] and len(server.of(7)) == before
    assert "changed: server" in agent.log()


def test_a_server_with_tls_is_believed_by_its_certificate_alone(start_agent, live, certificate, bench):
    ca = bench.folder / "ca.pem"
    ca.write_text(certificate[0].read_text())
    with Server(certificate=certificate) as server:
        agent = start_agent(rules=OWN_ONLY, server=server.url, server_token_file="", checkpoint_interval="1h", **FEW_HOOKS)
        live.short(95)
        assert "certificate" in await_log(agent, "cannot send to")
        assert not server.history
        agent.configure(server_ca=str(ca))
        agent.process.send_signal(signal.SIGHUP)
        server.await_final(95)
