# SPDX-License-Identifier: MIT
"""`jobmeter jobs --by`: sums over the jobs of an account, a user, a class are those of their records, by our own arithmetic."""

import copy
import csv
import functools
import json
import os
import subprocess
from collections import defaultdict
from fractions import Fraction

import pytest

CORES = 3
# account, elapsed seconds, user seconds, joules (None: not known), estimated joules
JOBS = [
    ("physics", 7, 5, 100.25, 0),
    ("physics", 11, 13, None, 0),
    ("physics", 13, 2, 41.5, 7.5),
    ("chemistry", 101, 103, 977.125, 0),
    (None, 1, 1, 3, 3),
]


def make(programs, folder, jobs):
    """Records of those jobs, each one's numbers put into that of a real run."""
    whole = folder / "run.json"
    subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--output", whole, "--", "/bin/true"], check=True)
    made = json.loads(whole.read_text())
    whole.unlink()
    for number, (account, elapsed, user, joules, estimated) in enumerate(jobs):
        record = copy.deepcopy(made)
        record["job"] |= {"id": str(4783 + number), "account": account}
        record["time"]["elapsed_seconds"] = elapsed
        record["cpu"] |= {"user_seconds": user, "system_seconds": 0, "allocated_cores": CORES}
        record["timeline"] = None
        record["energy"] |= {"joules": joules, "estimated_joules": None if joules is None else estimated, "idle_joules": None}
        (folder / f"{number}.json").write_text(json.dumps(record))
    return folder


@pytest.fixture(scope="module")
def folder(programs, tmp_path_factory):
    return make(programs, tmp_path_factory.mktemp("sums"), JOBS)


def list_jobs(programs, folder, *options, command="jobs"):
    return subprocess.run([programs / "jobmeter", command, "--database", folder, *options], capture_output=True, text=True)


@pytest.fixture
def jobs(programs, folder):
    return functools.partial(list_jobs, programs, folder)


def expected():
    sums = defaultdict(lambda: {"jobs": 0, "core": 0, "user": 0, "joules": Fraction(0), "core_of_joules": 0})
    for account, elapsed, user, joules, _ in JOBS:
        row = sums[account]
        row["jobs"] += 1
        row["core"] += CORES * elapsed
        row["user"] += user
        if joules is not None:
            row["joules"] += Fraction(joules)
            row["core_of_joules"] += CORES * elapsed
    return sums


def test_sums_are_those_of_the_records(jobs):
    sums = {row["account"]: row for row in json.loads(jobs("--by", "account", "--json").stdout)["sums"]}
    assert sums.keys() == {"physics", "chemistry", None}
    for account, row in expected().items():
        found = sums[account]
        assert (found["jobs"], found["core_seconds"], found["cpu.user_seconds"]) == (row["jobs"], row["core"], row["user"])
        assert found["energy.joules"] == row["joules"]
        assert found["energy.joules_per_core_hour"] == pytest.approx(float(row["joules"] * 3600 / row["core_of_joules"]))


def test_who_took_the_most_core_time_comes_first_and_an_estimate_is_marked(jobs):
    head, *rows = jobs("--by", "account", "-o", "jobs,core_time,energy").stdout.splitlines()
    assert head.split() == ["ACCOUNT", "JOBS", "CORE", "TIME", "ENERGY"]
    assert [row.split()[0] for row in rows] == ["chemistry", "physics", "-"]
    assert ["~" in row for row in rows] == [False, True, True]


def test_csv_has_base_units(jobs):
    rows = {row["account"]: row for row in csv.DictReader(jobs("--by", "account", "--format", "csv").stdout.splitlines())}
    assert float(rows["physics"]["energy"]) == 141.75
    assert rows["chemistry"]["core_time"] == str(CORES * 101)


def test_all_that_match_are_summed_unless_a_limit_is_asked_for(jobs):
    def count(*options):
        return sum(row["jobs"] for row in json.loads(jobs("--by", "manager", "--json", *options).stdout)["sums"])

    assert count() == len(JOBS)
    assert count("--limit", "2") == 2


@pytest.mark.parametrize("by", ["account", "user", "state", "reason", "manager", "name"])
def test_the_database_adds_up_as_the_jobs_do_one_by_one(jobs, by):
    """With a limit they are listed, and added by the command."""
    sums, ours = (json.loads(jobs("--by", by, "--json", *options).stdout)["sums"] for options in ((), ("--limit", "1000000")))
    assert [row[by] for row in sums] == [row[by] for row in ours]
    for row, own in zip(sums, ours, strict=True):
        assert row.keys() == own.keys()
        assert {key: value for key, value in row.items() if key != by} == pytest.approx({k: v for k, v in own.items() if k != by})


def test_sums_beyond_what_nanoseconds_hold_are_there(programs, tmp_path):
    centuries = 8 * 10 ** 9  # seconds
    folder = make(programs, tmp_path, [("all", centuries, centuries, 9e12, 0)] * 3)
    run = functools.partial(list_jobs, programs, folder, "--by", "account")
    row, = json.loads(run("--json").stdout)["sums"]
    assert (row["core_seconds"], row["cpu.user_seconds"], row["energy.joules"]) == (3 * CORES * centuries, 3 * centuries, 27e12)
    head, row = run("--format", "csv", "-o", "core_time,cpu_time,energy").stdout.splitlines()
    assert row == f"all,{3 * CORES * centuries},{3 * centuries},27000000000000"
    assert "20000000 h" in run().stdout and "27 TJ" in run().stdout


@pytest.mark.parametrize("by, words", [("energy", "'energy' is no word"), ("start", "'start' is no word"), ("acount", "did you mean 'account'?")])
def test_what_is_no_word_is_refused(jobs, by, words):
    done = jobs("--by", by)
    assert done.returncode == 2 and words in done.stderr and not done.stdout


def test_what_a_directory_has_that_is_no_record_is_said(programs, tmp_path):
    """A record that was cut, and one of a clock that was not set."""
    (tmp_path / "records").mkdir()
    folder = make(programs, tmp_path / "records", JOBS)
    files = sorted(folder.iterdir())
    files[0].write_text(files[0].read_text()[:700])
    record = json.loads(files[1].read_text())
    record["time"] |= {"start": "1970-01-01T00:00:00Z", "measured_from": None}
    files[1].write_text(json.dumps(record))
    done = list_jobs(programs, folder, "--json", "--limit", "0")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["jobs"]) == len(files) - 2
    assert len(done.stderr.splitlines()) == 2 and files[0].name in done.stderr


def test_without_a_server_one_sees_ones_own_runs(programs, tmp_path):
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    for command in ("true", "false"):
        subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--", command], env=environment)
    done = subprocess.run([programs / "jobmeter", "jobs", "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and f"your own runs, in '{tmp_path}/jobmeter/runs'" in done.stderr, done.stderr
    assert [job["name"] for job in json.loads(done.stdout)["jobs"]] == ["false", "true"]


# ---- jobmeter usage ----

def test_usage_is_that_of_the_records(programs, tmp_path):
    """Core-hours, those wasted, and joules of the jobs that know them; what none of them knows is absent, never 0."""
    folder = make(programs, tmp_path, [*JOBS, ("biology", 3600, 3600, None, None)])
    done = list_jobs(programs, folder, "--by", "account", "--json", command="usage")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["by"]) == ("jobmeter.usage/1", "account")
    rows = {row["key"]: row for row in answer["usage"]}
    for account, want in (expected() | {"biology": {"jobs": 1, "core": 3 * 3600, "user": 3600, "core_of_joules": 0}}).items():
        row = rows.pop(account)
        assert (row["jobs"], row["measured_jobs"], row["start"]) == (want["jobs"], want["jobs"], None)
        assert row["core_hours"] == pytest.approx(want["core"] / 3600, abs=2e-6)
        assert row["joules"] == (float(want["joules"]) if want["core_of_joules"] else None)
    assert not rows
    wasted = {a: sum(max(CORES * elapsed - user, 0) for account, elapsed, user, *_ in JOBS if account == a) for a in ("physics", "chemistry")}
    table = list_jobs(programs, folder, "--by", "account", "--period", "month", "-f", "csv", command="usage").stdout
    for row in csv.DictReader(table.splitlines()):
        assert len(row["start"]) == 10 and row["start"].endswith("-01")
        if row["account"] in wasted:
            assert float(row["wasted_core_hours"]) == pytest.approx(wasted[row["account"]] / 3600, abs=2e-6)
    text = list_jobs(programs, folder, "--account", "biology", command="usage").stdout.splitlines()
    assert text[0].split()[:3] == ["USER", "JOBS", "CORE-H"] and text[1].split()[1:4] == ["1", "3.00", "2.00"]
    assert text[1].split()[-1] == "-"
    none = list_jobs(programs, folder, "--user", "nobody-of-these", command="usage")
    assert (none.returncode, none.stdout) == (0, "") and "no job of yours started then" in none.stderr


@pytest.mark.parametrize("options, said", [
    (["--by", "name"], "'--by' is one of user, account, partition, cluster, not 'name'"),
    (["--period", "year"], "'--period' is one of day, week, month, not 'year'"),
    (["7"], "unexpected argument '7'")])
def test_usage_that_makes_no_sense_is_refused_in_one_line(programs, tmp_path, options, said):
    done = list_jobs(programs, tmp_path, *options, command="usage")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.splitlines()[0] == f"jobmeter usage: {said}"
