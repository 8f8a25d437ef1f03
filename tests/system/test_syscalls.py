# SPDX-License-Identifier: MIT
"""System calls by name: what jobmeter counted is what the program made, and what strace saw of another like it."""

import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest
from calls_cases import contradictions, differences, lost, rows
from waiting import until


@pytest.fixture(scope="module")
def run_bare(programs, tmp_path_factory, demand):
    """run_bare(argument...): the record of the program calls, what it said, and the record's path.  Each is run once."""
    demand(os.geteuid() == 0, "needs root")
    folder = tmp_path_factory.mktemp("bare")

    @functools.cache
    def run(*arguments):
        output = folder / f"record{''.join(arguments)}.json"
        done = subprocess.run([programs / "jobmeter", "run", "--quiet", "--syscalls", "--output", output, "--",
                               programs / "tests/truth/calls", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        record = json.loads(output.read_text())
        demand("T3" in record["coverage"]["tiers"], f"no T3 here: {'; '.join(record['coverage']['missing'])}")
        return record, done.stdout, output

    return run


@pytest.mark.smoke
def test_every_call_error_and_nap_is_counted(run_bare):
    record, said, _ = run_bare()
    assert differences(said, record) == {}
    assert contradictions(record) == []
    assert record["coverage"]["lost_events"] == lost(record)


def straced(text):
    """{name: (calls, errors)} of the summary of strace -c."""
    line = re.compile(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s*([a-z]\w*)$")
    found = (line.match(each) for each in text.splitlines())
    return {m[3]: (int(m[1]), int(m[2] or 0)) for m in found if m and m[3] != "total"}


# What threads wait for each other varies from run to run.  Calls that do not return strace does not count.
VARYING, NOT_RETURNING = {"futex"}, {"exit", "exit_group"}


def test_another_run_is_by_straces_account_the_same(programs, run_bare, tmp_path):
    record, _, _ = run_bare("--plain")
    summary = tmp_path / "strace"
    subprocess.run(["strace", "-c", "-f", "-o", summary, programs / "tests/truth/calls", "--plain"], check=True, capture_output=True)
    ours = {row["name"]: (row["calls"], row["errors"]) for row in record["syscalls"]}
    theirs = straced(summary.read_text())
    assert len(theirs) > 20
    assert {name: ours[name] for name in ours.keys() - VARYING - NOT_RETURNING} == \
        {name: theirs[name] for name in theirs.keys() - VARYING}


def test_a_shell_and_what_it_starts_are_counted_together(run_metered):
    record = run_metered("sh", "-c", "for i in 1 2 3 4 5 6 7; do /bin/true; done; exit 0", options=["--syscalls"], tier="T3")
    found = rows(record)
    assert found["execve"]["calls"] == 1 + 7
    assert found["exit_group"]["calls"] == 1 + 7
    made = sum(found[name]["calls"] for name in ("clone", "clone3", "fork", "vfork") if name in found)
    assert made == 7  # each once, although two return from it


def test_a_program_that_is_looked_for_begins_with_its_own_execve(run_metered):
    found = rows(run_metered("true", options=["--syscalls"], tier="T3"))
    assert (found["execve"]["calls"], found["execve"]["errors"]) == (1, 0)


def test_the_report_shows_those_that_took_most_and_sums_the_rest(programs, run_bare):
    """In the full page; records and the other formats are for tests/unit."""
    _, _, kept = run_bare("--plain")
    report = subprocess.run([programs / "jobmeter", "report", "--full", kept], check=True, capture_output=True, text=True).stdout
    assert re.search(r"^  nanosleep +77 +- ", report, re.MULTILINE)
    assert re.search(r"and \d+ more: [\d,]+ calls, \d+ failed", report)


def test_other_tiers_may_be_off(run_metered):
    record = run_metered("true", options=["--syscalls", "--tiers", "none"], tier="T3")
    assert rows(record)["exit_group"]["calls"] == 1


def test_who_sleeps_at_the_end_is_not_counted_and_told(run_metered):
    script = "sleep 30 >/dev/null 2>&1 & until grep -q '^230 ' /proc/$!/syscall; do :; done; exec sleep 0.1"  # 230: clock_nanosleep
    record = run_metered("sh", "-c", script, options=["--syscalls"], tier="T3")
    assert rows(record)["clock_nanosleep"]["calls"] == 1
    assert "1 system call that went on at the end is not counted" in record["coverage"]["notes"]


NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def test_a_user_without_rights_is_told_why_there_are_none(programs, root):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        done = subprocess.run([*NOBODY, programs / "jobmeter", "run", "--quiet", "--standalone", "--syscalls", "--output",
                               folder / "record.json", "--", "true"], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HOME": name})
        assert done.returncode == 0, done.stderr
        record = json.loads((folder / "record.json").read_text())
    assert "syscalls" not in record
    assert any("system calls by name" in reason for reason in record["coverage"]["missing"])


# ---- what runs already ----

NAPS = """
import pathlib, signal, sys, time
def wake(*_):
    raise InterruptedError
signal.signal(signal.SIGUSR1, wake)
try:
    time.sleep(300)
except InterruptedError:
    pass
for i in range(23):
    time.sleep(0.01)
pathlib.Path(sys.argv[1]).touch()
time.sleep(300)
"""


def child_of(process, name):
    """The PID of its child once that is the program of this name."""
    def find():
        found = subprocess.run(["pgrep", "-P", str(process.pid), name], capture_output=True, text=True).stdout.split()
        return int(found[0]) if found else None

    return until(find)


def await_nap(pid):
    """It is in clock_nanosleep()."""
    until(lambda: pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("230 "))


def test_a_call_that_began_before_the_watch_has_no_time(programs, tmp_path, root, demand):
    output, over = tmp_path / "record.json", tmp_path / "over"
    # in a group of its own, by a run that nobody reads
    run = subprocess.Popen([programs / "jobmeter", "run", "--quiet", "--standalone", "--tiers", "none", "--", "python3", "-c",
                            NAPS, over])
    try:
        await_nap(pid := child_of(run, "python3"))
        watch = subprocess.Popen([programs / "jobmeter", "watch", "--standalone", "--syscalls", "--live", "--interval", "0.1", "--pid",
                                  str(pid), "--output", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = watch.stdout.readline()  # after its first looks
        os.kill(pid, signal.SIGUSR1)
        until(over.exists)
        await_nap(pid)
        watch.send_signal(signal.SIGINT)
        _, said = watch.communicate(timeout=60)
        assert watch.returncode == 0, (first, said)
        record = json.loads(output.read_text())
        demand("T3" in record["coverage"]["tiers"], "no T3 here")
        naps = rows(record)["clock_nanosleep"]
        assert (naps["calls"], naps["errors"]) == (1 + 23, 1)  # the first one, which failed, is counted, and the last one goes on
        assert 0.23 <= naps["seconds"] <= record["time"]["elapsed_seconds"]
        notes = record["coverage"]["notes"]
        assert "1 system call counted without their time: begun unseen, or the table of calls was full" in notes
        assert "1 system call that went on at the end is not counted" in notes
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait()


def test_watching_by_name_takes_root(programs, root):
    done = subprocess.run([*NOBODY, programs / "jobmeter", "watch", "--syscalls", "--pid", "1", "--duration", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "'--syscalls' needs root: the agent does not count them" in done.stderr
