# SPDX-License-Identifier: MIT
"""`jobmeter insights` and `compare` on real runs of programs that know what they did."""

import json
import subprocess

import pytest

from greedy import FIRST, FIRST_IN_GROUP, processors  # noqa: F401

WRITER = """\
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
for _ in range(int(sys.argv[2])):
    os.write(fd, b'17 bytes of a log')
"""
SEARCHER = """\
import sys
for i in range(int(sys.argv[2])):
    try:
        open(sys.argv[1])
    except FileNotFoundError:
        pass
"""

# Of what takes less than two seconds these rules are silent otherwise.
SITE = """
rules:
  - {id: small-writes, least: {elapsed: 10 ms}}
  - {id: failed-opens, least: {elapsed: 10 ms}}
"""
# A search that takes less than a minute, which no machine is too slow for.
PATIENT = """
rules:
  - {id: failed-opens, least: {elapsed: 60 s}}
  - {id: not-found-storm, least: {elapsed: 60 s}}
"""

# Of its children 7 die by faults; of these one is told by a thread, and one by a thread after the main thread's end.
CRASHER = """\
import ctypes, os, signal, sys, threading, time
def child(body):
    pid = os.fork()
    if pid == 0:
        body()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def by(number):
    return lambda: (number == signal.SIGKILL or signal.signal(number, signal.SIG_DFL), os.kill(os.getpid(), number))
def in_thread():
    threading.Thread(target=ctypes.string_at, args=(0,)).start()
    time.sleep(9)
def after_main():
    threading.Thread(target=lambda: (time.sleep(0.1), os.abort())).start()
    ctypes.CDLL(None).pthread_exit(0)
faults = [signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGXCPU]
assert [child(by(number)) for number in faults] == [-number for number in faults]
assert child(in_thread) == -signal.SIGSEGV and child(after_main) == -signal.SIGABRT
others = [signal.SIGTERM, signal.SIGKILL, signal.SIGQUIT, signal.SIGHUP]
assert [child(by(number)) for number in others] == [-number for number in others]
assert child(lambda: os._exit(11)) == 11
"""


@pytest.fixture
def jobmeter(programs, tmp_path, monkeypatch):
    site = tmp_path / "site.yaml"
    site.write_text(SITE)
    site.chmod(0o644)
    monkeypatch.setenv("JOBMETER_INSIGHTS", str(site))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*argv, before=()):
        return subprocess.run([*before, programs / "jobmeter", *map(str, argv)], capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def measured(jobmeter, root, tmp_path):
    """The record of a Python script that got a path below /dev/shm and a count; @is_first: before all else on this machine."""

    def measure(name, script, count, is_first=False):
        path = f"/dev/shm/insights-{tmp_path.name}"
        before, within = (FIRST, FIRST_IN_GROUP) if is_first else ((), ())
        done = jobmeter("run", "--quiet", "--output", tmp_path / name, "--", *within, "/usr/bin/python3", "-IS", "-c", script,
                        path, count, before=before)
        assert done.returncode == 0, done.stderr
        subprocess.run(["rm", "-f", path], check=True)
        return tmp_path / name

    return measure


def insight(record, name):
    return next((i for i in json.loads(record.read_text())["insights"] if i["id"] == name), None)


def check_conclusions(record):
    """What is concluded stands in the record."""
    core_time, cpu = record["efficiency"]["core_time"], record["cpu"]
    assert core_time["on_cpu_seconds"] == pytest.approx(cpu["user_seconds"] + cpu["system_seconds"], abs=1e-5)
    assert core_time["seconds"] == pytest.approx(cpu["allocated_cores"] * record["time"]["elapsed_seconds"], abs=1e-5)
    assert record["efficiency"]["score"] == pytest.approx(100 * cpu["utilization"], abs=0.02)


@pytest.mark.smoke
def test_small_writes_are_told_to_the_call(measured, jobmeter, processors):  # noqa: F811
    """They are told where they take 5 % of the run: it may not wait for a CPU meanwhile."""
    record = measured("log.json", WRITER, 50021, is_first=True)
    found = insight(record, "small-writes")
    assert found["mount"] == "/dev/shm"
    assert found["evidence"]["mount_write_calls"] == 50021
    assert found["evidence"]["mount_mean_write_bytes"] == 17
    assert found["text"].startswith("50,021 writes of 17 B on /dev/shm took ")
    done = jobmeter("insights", "--fail-on", "warning", record)
    assert done.returncode == 3
    assert "50,021 writes of 17 B" in done.stdout
    check_conclusions(json.loads(record.read_text()))


def test_each_view_shows_the_same_findings_first(jobmeter, root, tmp_path):
    record = tmp_path / "log.json"
    jobmeter("run", "--quiet", "--output", record, "--", "/usr/bin/python3", "-IS", "-c", WRITER + "sys.exit(3)",
             tmp_path / "log", 50021)
    findings = json.loads(record.read_text())["insights"]
    assert findings[0]["id"] == "failed"
    for view in (["report"], ["report", "--full"], ["report", "--format", "markdown"], ["insights"],
                 ["insights", "--format", "markdown"]):
        said = " ".join(jobmeter(*view, record).stdout.split())
        at = [said.find(" ".join(f["text"].split())) for f in findings[:2]]
        assert -1 not in at and at == sorted(at), (view, said, findings)
    assert jobmeter("jobs", "-o", "why").stdout.split()[-1] == findings[0]["id"]


def test_few_writes_are_no_storm_and_a_good_end_is_no_crash(measured):
    record = measured("log.json", WRITER, 997)
    assert insight(record, "small-writes") is None
    assert json.loads(record.read_text())["tasks"]["crashed"] == 0
    assert insight(record, "crashed") is None


def test_a_search_that_finds_nothing_is_told(measured, processors):  # noqa: F811
    calls = 300007
    record = measured("search.json", SEARCHER, calls, is_first=True)
    found = insight(record, "failed-opens")
    assert found["evidence"]["mount_failed_opens"] in range(calls, calls + 1000)  # Python's own start has some
    assert 0.99 < found["evidence"]["mount_open_fail_share"] < 1
    assert found["evidence"]["mount_open_working_share"] > 0.1
    rows = json.loads(record.read_text())["io"]
    nowhere = sum(row["meta"].get("open", {"errors": 0})["errors"] for row in rows if row["mount"] == "(unresolved)")
    if nowhere >= calls:  # this kernel does not tell where a path ended
        assert found["mount"] is None and " opens failed " in found["text"]
    else:
        assert found["mount"] == "/dev/shm" and " opens on /dev/shm failed " in found["text"]


def test_a_search_that_costs_little_is_not_told(measured, tmp_path):
    (tmp_path / "site.yaml").write_text(PATIENT)
    record = measured("search.json", SEARCHER, 20011)
    meta = [row["meta"].get("open", {"errors": 0})["errors"] for row in json.loads(record.read_text())["io"]]
    assert sum(meta) >= 20011
    assert insight(record, "failed-opens") is None
    assert insight(record, "not-found-storm") is None


@pytest.mark.parametrize("start", ("import json, subprocess, decimal", "import os; os.system('ls / >/dev/null')"))
def test_an_ordinary_start_is_no_storm(measured, start):
    record = measured("start.json", start, 0)
    assert insight(record, "failed-opens") is None
    assert insight(record, "not-found-storm") is None


def test_three_times_the_writes_are_three_times_the_bytes(measured, jobmeter):
    before, after = measured("a.json", WRITER, 100003), measured("b.json", WRITER, 300009)
    done = jobmeter("compare", before, after, "--json", "--fail-on", "write_calls > 2.9x")
    changes = json.loads(done.stdout)["compared"][0]["changes"]
    written = next(c for c in changes if c["name"] == "mount_write_bytes" and c["mount"] == "/dev/shm")
    assert (written["before"], written["after"], written["ratio"]) == (17 * 100003, 17 * 300009, 3)
    assert written["is_large"]
    assert done.returncode == 3
    assert jobmeter("compare", before, after, "--fail-on", "write_calls > 3.1x").returncode == 0


def test_processes_that_crash_are_counted(measured):
    record = measured("crash.json", CRASHER, 0)
    document = json.loads(record.read_text())
    assert document["job"]["exit_code"] == 0
    assert document["tasks"]["crashed"] == 7
    found = insight(record, "crashed-unnoticed")
    assert found["text"].startswith("Crashed processes: 7 ")
    assert insight(record, "killed") is None


def test_a_kill_from_outside_is_told(jobmeter, root, tmp_path):
    record = tmp_path / "killed.json"
    assert jobmeter("run", "--quiet", "--output", record, "--", "sh", "-c", "sleep 1.1; kill -KILL $$").returncode == 137
    assert insight(record, "killed")["text"].startswith("sh was killed by SIGKILL, ")
    assert jobmeter("run", "--quiet", "--output", record, "--",
                    "sh", "-c", "sleep 1.1; sh -c 'kill -KILL $$'; exit $?").returncode == 137
    assert insight(record, "killed-inside")["text"].startswith("A process that it had started was killed by SIGKILL, ")
