# SPDX-License-Identifier: MIT
"""System calls by name: what jobmeter counted is what the program made, and what strace saw of another like it."""

import csv
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest
from calls_cases import OPTIONS, contradictions, differences, lost, rows


@pytest.fixture
def run_calls(programs, tmp_path, run_metered):
    """run_calls(argument...): the record of the program calls, and what it said."""

    def run(*arguments, options=()):
        said = tmp_path / "said"
        record = run_metered("sh", "-c", 'exec "$@" > ' + str(said), "sh", programs / "tests/truth/calls", *arguments,
                             options=["--syscalls", *options], tier="T3")
        return record, said.read_text()

    return run


@pytest.fixture
def run_bare(programs, tmp_path, root, demand):
    """run_bare(argument...): the same, by jobmeter alone, with no shell before it."""

    def run(*arguments):
        output = tmp_path / "record.json"
        done = subprocess.run([programs / "jobmeter", "run", "--quiet", "--syscalls", "--output", output, "--",
                               programs / "tests/truth/calls", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        record = json.loads(output.read_text())
        demand("T3" in record["coverage"]["tiers"], f"no T3 here: {'; '.join(record['coverage']['missing'])}")
        return record, done.stdout

    return run


@pytest.mark.smoke
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_call_error_and_nap_is_counted(run_bare, options):
    record, said = run_bare(*options)
    assert differences(said, record) == {}
    assert contradictions(record) == []
    assert record["coverage"]["lost_events"] == lost(record, options)


def straced(text):
    """{name: (calls, errors)} of the summary of strace -c."""
    line = re.compile(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s*([a-z]\w*)$")
    found = (line.match(each) for each in text.splitlines())
    return {m[3]: (int(m[1]), int(m[2] or 0)) for m in found if m and m[3] != "total"}


# What threads wait for each other varies from run to run.  Calls that do not return strace does not count.
VARYING, NOT_RETURNING = {"futex"}, {"exit", "exit_group"}


def test_another_run_is_by_straces_account_the_same(programs, run_bare, tmp_path):
    record, _ = run_bare()
    summary = tmp_path / "strace"
    subprocess.run(["strace", "-c", "-f", "-o", summary, programs / "tests/truth/calls"], check=True, capture_output=True)
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


def test_rows_stand_by_time_and_come_back(programs, run_calls, tmp_path):
    record, _ = run_calls()
    seconds = [row["seconds"] for row in record["syscalls"]]
    assert seconds == sorted(seconds, reverse=True)
    (tmp_path / "kept.json").write_text(json.dumps(record))
    jobmeter = programs / "jobmeter"
    again = subprocess.run([jobmeter, "report", "--json", tmp_path / "kept.json"], check=True, capture_output=True)
    assert json.loads(again.stdout)["syscalls"] == record["syscalls"]
    table = subprocess.run([jobmeter, "report", "--by", "syscall", tmp_path / "kept.json"], check=True, capture_output=True,
                           text=True).stdout
    listed = list(csv.DictReader(table.splitlines()))
    assert [(row["name"], int(row["calls"]), int(row["errors"])) for row in listed] == \
        [(row["name"], row["calls"], row["errors"]) for row in record["syscalls"]]


def test_pages_have_the_same_table(programs, run_bare, tmp_path):
    record, _ = run_bare()
    (tmp_path / "kept.json").write_text(json.dumps(record))
    told = {ending: subprocess.run([programs / "jobmeter", "report", "--format", ending, tmp_path / "kept.json"], check=True,
                                   capture_output=True, text=True).stdout for ending in ("html", "markdown")}
    assert "<h2>System calls</h2>" in told["html"]
    assert re.search(r'<th scope="row">nanosleep</th><td>77</td><td>-</td>', told["html"])
    assert re.search(r"\| nanosleep \| 77 \| - \|", told["markdown"])
    for text in told.values():
        assert re.search(r"[Aa]nd \d+ more: [\d,]+ calls, \d+ failed", text)


def test_two_records_are_merged_by_name(programs, run_bare, tmp_path):
    folder = tmp_path / "ranks"
    folder.mkdir()
    record, _ = run_bare()
    for rank in (0, 1):
        record["job"]["rank"] = rank
        (folder / f"{rank}.json").write_text(json.dumps(record))
    merged = subprocess.run([programs / "jobmeter", "report", "--json", folder], check=True, capture_output=True)
    both = rows(json.loads(merged.stdout))
    for name, row in rows(record).items():
        assert (both[name]["calls"], both[name]["errors"]) == (2 * row["calls"], 2 * row["errors"])
        assert both[name]["longest_seconds"] == row["longest_seconds"]


def test_the_report_shows_those_that_took_most_and_sums_the_rest(programs, root, tmp_path):
    record = tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "run", "--syscalls", "--output", record, "--", programs / "tests/truth/calls"],
                          check=True, capture_output=True, text=True)
    assert re.search(r"\n  system call +calls +failed +time", done.stderr)
    assert re.search(r"nanosleep +77 +- ", done.stderr)
    known = {row["name"]: row for row in json.loads(record.read_text())["syscalls"]}
    assert (known["getpgid"]["calls"], known["getpgid"]["errors"]) == (714, 211)
    shown = re.findall(r"^  (\w+) +([\d,]+) +([\d,]+) \((\d+) %\)", done.stderr, re.MULTILINE)
    assert shown  # which of those that fail is among them is the machine's
    for name, *numbers in shown:
        calls, errors = known[name]["calls"], known[name]["errors"]
        assert [int(number.replace(",", "")) for number in numbers] == [calls, errors, round(100 * errors / calls)], name
    assert re.search(r"and \d+ more: [\d,]+ calls, \d+ failed", done.stderr)


def test_without_the_option_none_is_told(run_metered):
    assert "syscalls" not in run_metered("true")


def test_other_tiers_may_be_off(run_metered):
    record = run_metered("true", options=["--syscalls", "--tiers", "none"], tier="T3")
    assert rows(record)["exit_group"]["calls"] == 1


def test_who_sleeps_at_the_end_is_not_counted_and_told(run_metered):
    record = run_metered("sh", "-c", "sleep 1 & exec sleep 0.1", options=["--syscalls"], tier="T3")
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

NAPS = "import time\ntime.sleep({first})\nfor i in range(23): time.sleep(0.01)\ntime.sleep(30)\n"


def test_a_call_that_began_before_the_watch_has_no_time(programs, tmp_path, root, demand):
    output = tmp_path / "record.json"
    # in a group of its own, by a run that nobody reads
    run = subprocess.Popen([programs / "jobmeter", "run", "--quiet", "--standalone", "--tiers", "none", "--", "python3", "-c",
                            NAPS.format(first=7)])
    try:
        deadline = time.monotonic() + 60
        pid = None
        while not pid and time.monotonic() < deadline:
            found = subprocess.run(["pgrep", "-P", str(run.pid), "python3"], capture_output=True, text=True).stdout.split()
            pid = found[0] if found else time.sleep(0.02)
        assert pid
        time.sleep(0.5)  # asleep by now
        watch = subprocess.run([programs / "jobmeter", "watch", "--syscalls", "--quiet", "--pid", pid, "--duration", "9",
                                "--output", output], capture_output=True, text=True)
        assert watch.returncode == 0, watch.stderr
        record = json.loads(output.read_text())
        demand("T3" in record["coverage"]["tiers"], "no T3 here")
        naps = rows(record)["clock_nanosleep"]
        assert (naps["calls"], naps["errors"]) == (1 + 23, 0)  # the first one is counted, and the last one goes on
        assert 0.23 <= naps["seconds"] < 2
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
