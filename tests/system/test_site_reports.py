# SPDX-License-Identifier: MIT
"""What a site reads of its jobs, from a server: seff's lines, what energy emitted and cost, and reports."""

import csv
import decimal
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile

import pytest

from keeper import Keeper
from made_records import line, record, stamp
from server import Server
from serving import Serving, folder  # noqa: F401

GIB = 1 << 30


@pytest.fixture
def server(bench, keeper):
    with Server(bench.folder / "reports", keeper) as server:
        yield server


def configure_operator(server):
    """A configuration directory with the token of an operator."""
    token = server.run("token", "create", "--user", "root", "--scope", "operator").stdout
    folder = server.folder / "config"
    (folder / "jobmeter").mkdir(parents=True)
    (folder / "jobmeter/token").touch(0o600)
    (folder / "jobmeter/token").write_text(token)
    return folder


@pytest.fixture
def operator(server):
    return configure_operator(server)


def run_at(programs, server, operator):
    """jobmeter(*words): what the command says at that server."""
    def jobmeter(*words, code=0):
        environment = {"PATH": os.environ["PATH"], "HOME": str(server.folder), "XDG_CONFIG_HOME": str(operator), "LC_ALL": "C.UTF-8",
                       "JOBMETER_SERVER_SOCKET": str(server.socket), "JOBMETER_SOCKET": "/nonexistent/agent.sock"}
        done = subprocess.run([programs / "jobmeter", *map(str, words)], capture_output=True, text=True, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return jobmeter


@pytest.fixture
def jobmeter(programs, server, operator):
    return run_at(programs, server, operator)


def url(server):
    return f"http://127.0.0.1:{server.port}"


def push(server, records):
    assert {answer["answer"] for answer in server.push([line(one) for one in records])} == {"taken"}


def test_seff_prints_the_lines_of_seff_whoever_answers(server, jobmeter):
    def made(node, peak):
        one = record(23, node=node, seconds=1000)
        one["cpu"] |= {"user_seconds": 3000, "system_seconds": 500, "allocated_cores": 4, "cpus_allowed": None}
        one["memory"] |= {"peak_bytes": peak, "limit_bytes": 8 * GIB, "oom_kills": 0}
        one["job"] |= {"exit_code": None, "signal": None}
        return one

    push(server, [made("n1", 2 * GIB), made("n2", 3 * GIB)])
    printed = jobmeter("seff", 23)
    assert printed == """Job ID: 23
Cluster: made
User/Group: made-user/unknown
State: ENDED (exit code unknown)
Nodes: 2
Cores per node: 4
CPU Utilized: 01:56:40
CPU Efficiency: 87.50% of 02:13:20 core-walltime
Job Wall-clock time: 00:16:40
Memory Utilized: 5.00 GB (estimated maximum)
Memory Efficiency: 31.25% of 16.00 GB (8.00 GB/node)
"""
    assert jobmeter("seff", "--server", url(server), 23) == printed
    assert "there is no job '29'" in jobmeter("seff", 29, code=1)



# ---- what jobs emitted and cost ----

QUARTER = 900
MICRO = decimal.Decimal("1e-6")
# By hand: a job of two nodes and three quarters, one of an estimate, one whose number was used before, and one without energy.
ENTRIES = {101: [("n1", 0, 360_000_000_007), ("n2", 0, 180_000_000_011), ("n1", 900, 270_000_000_013), ("n1", 1800, 901)],
           103: [("n1", 900, 720_000_000_019)]}
BOUNDARY = 900  # seconds: another factor holds from here on


def ledger_line(node, start, sequence, entries):
    """entries: (job, when the node says that it began, microjoules, quality)"""
    return json.dumps({
        "schema": "jobmeter.ledger/1", "cluster": "made", "node": node, "boot_id": "made-boot", "sequence": sequence,
        "start": stamp(start), "end": stamp(start + QUARTER),
        "entries": [{"owner": "job", "manager": "slurm", "job": str(job), "start": stamp(began), "uid": 1000, "level": "node",
                     "source": "dcmi", "quality": quality, "microjoules": uj} for job, began, uj, quality in entries]}).encode()


def push_jobs(server):
    def made(number, node, started, seconds, account):
        one = record(number, node=node, started=started, seconds=seconds)
        one["job"]["account"] = account
        one["cpu"] |= {"allocated_cores": 4, "cpus_allowed": None}
        return one

    push(server, [made(101, "n1", 60, 2000, "physics"), made(101, "n2", 61, 700, "physics"), made(103, "n1", 1000, 600, "physics"),
                  made(103, "n1", -40000, 500, "chemistry"), made(107, "n1", 1000, 600, "biology")])
    lines = []
    for job, entries in ENTRIES.items():
        for node, start, uj in entries:
            lines.append(ledger_line(node, start, len(lines), [(job, {101: 60, 103: 1000}[job], uj, "estimated" if job == 103 else "attributed")]))
    lines.append(ledger_line("n1", -40000, 91, [(103, -40000, 5_000_000_000, "attributed")]))
    lines.append(ledger_line("n1", -40000, 92, [(103, -80000, 5_000_000_000, "attributed")]))  # of none of these
    assert {answer["answer"] for answer in server.push(lines)} == {"taken"}


def restart_with(server, **settings):
    assert server.end(signal.SIGTERM) == 0, server.log()
    server.configure(**settings)
    server.start()


def write_factors(path, before, after):
    path.write_text("zone,kind,from,until,grams_per_kwh\n"
                    f"XXA,average_lifecycle,2020-01-01T00:00:00Z,{stamp(BOUNDARY)},{before}\n"
                    f"XXA,average_lifecycle,{stamp(BOUNDARY)},2100-01-01T00:00:00Z,{after}\n"
                    "XXA,marginal,2020-01-01T00:00:00Z,2100-01-01T00:00:00Z,900\n")


def rounded(number):
    return number.quantize(MICRO, rounding=decimal.ROUND_HALF_UP)


def by_hand(job, before, after):
    """(grams, joules)"""
    kwh = decimal.Decimal("3.6e12")
    grams = [rounded(decimal.Decimal(before if start < BOUNDARY else after) * uj / kwh) for _, start, uj in ENTRIES[job]]
    return sum(grams), sum(decimal.Decimal(uj) for _, _, uj in ENTRIES[job]) / 10**6


def ask_api(server, operator, path):
    token = (operator / "jobmeter/token").read_text().strip()
    answer = server.get(f"/api/v1{path}", Authorization=f"Bearer {token}")
    assert answer.status == 200, answer.text
    return json.loads(answer.text, parse_float=decimal.Decimal)


def mass(grams):
    tenths = int(grams * 10 + decimal.Decimal("0.5"))
    return f"{tenths / 10} g" if tenths < 1000 and tenths % 10 else f"{float(grams):.0f} g"


def test_what_two_jobs_emitted_is_the_ledger_by_the_factors_before_and_after_a_correction(server, operator, jobmeter):
    push_jobs(server)
    table = server.folder / "factors.csv"
    for before, after in (("380.953", "344.1"), ("380.953", "43.9")):
        write_factors(table, before, after)
        restart_with(server, emissions={"zone": "XXA", "factors": str(table), "pue": "1.25", "embodied_grams_per_core_hour": "1.9"},
                     tariff={"per_kwh": "0.271", "currency": "CHF"})
        for job in ENTRIES:
            grams, joules = by_hand(job, before, after)
            answer = ask_api(server, operator, f"/emissions?id={job}&limit=1")
            row, = answer["emissions"]
            assert (answer["kind"], answer["zone"], answer["source"]) == ("average_lifecycle", "XXA", str(table))
            assert (row["emissions.grams"], row["emissions.joules"], row["emissions.kind"]) == (grams, joules, "average_lifecycle")
            assert row["emissions.overhead_grams"] == rounded(grams / 4)
            assert abs(row["cost"] - joules * decimal.Decimal("1.25") * decimal.Decimal("0.271") / 3_600_000) <= MICRO
            assert row["currency"] == "CHF"
            core_seconds = {101: 8 * 2000, 103: 4 * 600}[job]
            assert row["emissions.embodied_grams"] == rounded(decimal.Decimal(core_seconds) / 3600 * decimal.Decimal("1.9"))
            about = "~" if job == 103 else ""
            assert row["emissions.estimated_joules"] == (joules if job == 103 else 0)
            for words in (["report", job], ["report", "--server", url(server), job]):
                assert f"{about}{mass(grams)} CO2e (average_lifecycle), {about}{mass(rounded(grams / 4))} by PUE 1.25, " \
                    in " ".join(jobmeter(*words).split())
            assert f"{about}{mass(grams)} CO2e" in server.get(f"/api/v1/jobs/{job}.txt", Authorization="Bearer " + (
                operator / "jobmeter/token").read_text().strip()).text
        listed = {(job["id"], job["account"]): job for job in json.loads(
            jobmeter("jobs", "--all", "--since", "2026-01-01", "--json"), parse_float=decimal.Decimal)["jobs"]}
        assert listed["101", "physics"]["emissions.grams"] == by_hand(101, before, after)[0]
        assert listed["103", "chemistry"]["emissions.joules"] == 5000
        assert "emissions.grams" not in listed["107", "biology"]
        by_account = {row["account"]: row for row in ask_api(server, operator, "/emissions?by=account")["emissions"]}
        assert by_account.keys() == {"physics", "chemistry"}
        assert by_account["physics"]["emissions.grams"] == sum(by_hand(job, before, after)[0] for job in ENTRIES)
        assert (by_account["physics"]["emissions.jobs"], by_account["physics"]["emissions.jobs_without"]) == (2, 0)
    mine, others = (json.loads(server.ask_as(uid, "/v1/emissions?by=user")[1])["emissions"] for uid in (1000, 1007))
    assert len(mine) == 1 and others == []
    text = jobmeter("jobs", "--server", url(server), "--since", "2026-01-01", "-o", "id,account,emissions,cost")
    assert re.search(rf"^103 +physics +~{mass(by_hand(103, before, after)[0])} +~0\.\d+ CHF$", text, re.MULTILINE), text
    assert re.search(r"^107 +biology +- +-$", text, re.MULTILINE), text
    sums = jobmeter("jobs", "--all", "--since", "2026-01-01", "--by", "account", "-o", "jobs,emissions,cost")
    assert re.search(r"^physics +2 +~[0-9.]+ g +~0.\d+ CHF$", sums, re.MULTILINE), sums


def test_a_job_costs_what_a_kwh_cost_when_it_ran(server, operator):
    push_jobs(server)
    table = server.folder / "tariffs.csv"
    year = "XXA,tariff,2020-01-01T00:00:00Z,2100-01-01T00:00:00Z,0.3"

    def cost(*rows, **more):
        table.write_text("\n".join(["zone,kind,from,until,grams_per_kwh", *rows]) + "\n")
        restart_with(server, emissions={"zone": "XXA"}, tariff={"file": str(table), **more})
        row, = ask_api(server, operator, "/emissions?id=101&limit=1")["emissions"]
        assert row["emissions.grams"] is None and row["currency"] == (None if row["cost"] is None else "EUR")
        assert "emissions" not in json.loads(server.ask("/v1/ledger?id=101").text)  # a price is no factor
        return row["cost"]

    def by_price(first, second):
        return rounded(sum(decimal.Decimal(first if start < BOUNDARY else second) * uj for _, start, uj in ENTRIES[101]) / decimal.Decimal("3.6e12"))

    assert cost(year) == by_price("0.3", "0.3")
    dearer = f"XXA,tariff,{stamp(BOUNDARY)},{stamp(BOUNDARY + 86400)},0.5"
    assert cost(year, dearer) == by_price("0.3", "0.5")
    assert cost(dearer, per_kwh="0.2") == by_price("0.2", "0.5")
    assert cost(dearer.replace(",0.5", ",0"), per_kwh="0.2") == by_price("0.2", "0")
    assert cost(dearer) is None  # no price of the first quarter
    assert cost(f"XXA,tariff,2020-01-01T00:00:00Z,{stamp(BOUNDARY)},0.3") is None  # it ended


@pytest.mark.parametrize("setting, kind", [(("tariff", "file"), "tariff"), (("emissions", "factors"), "average_lifecycle")])
def test_a_table_that_has_nothing_of_the_zone_is_refused(server, setting, kind):
    section, key = setting
    table = server.folder / "table.csv"

    def refusal(*rows):
        if rows:
            table.write_text("\n".join(["zone,kind,from,until,grams_per_kwh", *rows]) + "\n")
        settings = {"emissions": {"zone": "XXA"}}
        settings[section] = {**settings.get(section, {}), key: str(table)}
        server.configure(**settings)
        done = server.run()
        assert done.returncode and len(done.stderr.splitlines()) == 1, done.stderr
        return done.stderr

    span = "2020-01-01T00:00:00Z,2100-01-01T00:00:00Z"
    assert server.end(signal.SIGTERM) == 0, server.log()
    assert f"{section}.{key}: cannot read the table '{table}'" in refusal()
    for row in (f"XXB,{kind},{span},0.3", f"XXA,marginal,{span},0.3"):
        assert f"{section}.{key}: '{table}' has no row of the kind {kind} for the zone XXA" in refusal(row)
    assert f"{section}.{key}: {table}:2: the {'price is' if kind == 'tariff' else 'grams are'} no number from 0 to 100000" in \
        refusal(f"XXA,{kind},{span},-0.3")


def test_postgresql_adds_up_the_same(folder, keeper, postgres):  # noqa: F811
    table = folder / "factors.csv"
    write_factors(table, "380.953", "43.9")
    with Serving(folder, keeper, postgres) as serving, serving(emissions={"zone": "XXA", "factors": str(table)}) as server:
        push_jobs(server)
        for job in ENTRIES:
            row = json.loads(server.ask(f"/v1/emissions?id={job}&limit=1").text, parse_float=decimal.Decimal)["emissions"][0]
            assert (row["emissions.grams"], row["emissions.joules"]) == by_hand(job, "380.953", "43.9")
        by_account = {row["account"]: row for row in json.loads(server.ask("/v1/emissions?by=account").text, parse_float=decimal.Decimal)["emissions"]}
        assert by_account["physics"]["emissions.grams"] == sum(by_hand(job, "380.953", "43.9")[0] for job in ENTRIES)
        assert by_account.keys() == {"physics", "chemistry"}


def test_what_one_more_kwh_emits_is_in_no_account(server, operator, jobmeter):
    push_jobs(server)
    table = server.folder / "factors.csv"
    write_factors(table, "380.953", "344.1")
    restart_with(server, emissions={"zone": "XXA", "factors": str(table), "kind": "marginal"})
    row, = ask_api(server, operator, "/emissions?id=101")["emissions"]
    assert row["emissions.grams"] is None and row["emissions.kind"] is None and row["cost"] is None
    assert "CO2e" not in jobmeter("report", 101)


def test_without_a_factor_nothing_is_shown(server, operator, jobmeter):
    push_jobs(server)
    assert ask_api(server, operator, "/emissions?id=101")["emissions"] == []
    assert "CO2e" not in jobmeter("report", 101)
    assert "emissions.grams" not in jobmeter("jobs", "--all", "--since", "2026-01-01", "--json")


# ---- reports of a site ----

def push_weeks(server):
    """Of two users: 14 like jobs each, the last of ada's four times as long, and one of bob's that computes nearly nothing."""
    made = []
    for user, account, uid in (("ada", "physics", 1001), ("bob", "chemistry", 1002)):
        for i in range(14):
            seconds = 4000 if (user, i) == ("ada", 13) else 1000 + i
            one = record(uid * 100 + i, node=("n1", "n2")[i % 2], uid=uid, user=user, name=f"{user}.sh", started=i * 50000, seconds=seconds)
            one["job"] |= {"account": account, "partition": "cpu"}
            one["cpu"] |= {"allocated_cores": 4, "cpus_allowed": None, "user_seconds": 3.5 * seconds, "system_seconds": 0.1 * seconds}
            if (user, i) == ("bob", 13):
                one["cpu"] |= {"user_seconds": 0.01 * seconds}
            one["io"][0]["read"]["bytes"] = 10**9
            made.append(one)
    push(server, made)


@pytest.fixture(scope="module")
def weeks(demand):
    """A server with push_weeks(), to which no test adds anything."""
    demand(os.geteuid() == 0, "needs root")
    with tempfile.TemporaryDirectory(prefix="jobmeter-reports-") as name, Keeper() as keeper:
        os.chmod(name, 0o755)
        with Server(pathlib.Path(name) / "reports", keeper) as server:
            push_weeks(server)
            server.operator = configure_operator(server)
            yield server


@pytest.fixture
def of_weeks(programs, weeks):
    return run_at(programs, weeks, weeks.operator)


SPAN = ("--since", "2026-02-09", "--until", "2026-03-01")  # the earlier ones are history


def tables(jobmeter, kind, *words):
    report = json.loads(jobmeter("report", "--type", kind, *SPAN, "--json", *words))
    assert (report["schema"], report["type"], report["all_jobs"]) == ("jobmeter.site_report/1", kind, True)
    return {table["title"]: table["rows"] for table in report["tables"]}


def test_waste_names_the_idle_job_and_the_one_that_differs_with_their_numbers(weeks, of_weeks):
    for words in ((), ("--server", url(weeks))):
        found = tables(of_weeks, "waste", *words)
        assert [row["user"] for row in found["Users by unused core time"]] == ["bob", "ada"]
        assert found["Jobs with the most unused core time"][0]["id"] == "100213"
        differing = {(row["what"], row["number"]): row for row in found["Jobs and nodes that differ from their like"]}
        longer = differing.pop(("job 100113", "elapsed"))
        assert (longer["user"], longer["value"], longer["median"], longer["of"]) == ("ada", 4000, 1006, 13)
        idle = differing.pop(("job 100213", "cpu"))
        assert idle["value"] == pytest.approx(0.0275) and idle["median"] == pytest.approx(0.9)
        assert not differing, differing
    text = of_weeks("report", "--type", "waste", *SPAN)
    assert "6 jobs, 10 h 03 m of core time, 1 h 59 m of it unused (20 %)" in text and "ENERGY" not in text, text
    assert re.search(r"^ *job 100113 +ada +ada\.sh +elapsed +1 h 06 m +16 m 46 s ", text, re.MULTILINE), text
    assert "Users by unused core time.\n" in (markdown := of_weeks("report", "--type", "waste", *SPAN, "--format", "markdown")), markdown
    assert "<td>" in (html := of_weeks("report", "--type", "waste", *SPAN, "--format", "html")) and html.startswith("<!DOCTYPE html>")


def test_a_slow_node_is_named_instead_of_its_jobs(server, jobmeter):
    """Ten nodes; all jobs on one of them take twice as long, and on another one job takes three times as long."""
    made = []
    for i in range(120):
        node = f"n{i % 10}"
        seconds = 3000 if i == 115 else 2000 + i if node == "n7" else 1000 + i % 7
        one = record(1000 + i, node=node, name="solve", started=i * 15000, seconds=seconds)
        one["cpu"] |= {"allocated_cores": 4, "cpus_allowed": None, "user_seconds": 3.5 * seconds, "system_seconds": 0}
        one["io"][0]["read"]["bytes"] = 10**9
        made.append(one)
    push(server, made)
    node, job = tables(jobmeter, "waste")["Jobs and nodes that differ from their like"]
    assert (node["what"], node["number"], node["of"]) == ("node n7", "elapsed / usual", 9) and 2 < node["value"] < 2.2
    assert (job["what"], job["number"], job["value"]) == ("job 1115", "elapsed", 3000)


def test_jobs_and_nodes_of_one_name_in_two_clusters_are_two(server, jobmeter):
    """Both clusters have node n7 and jobs of these numbers and names; one's all take twice as long, and one of its jobs computes nothing."""
    made = []
    for cluster in "made", "far":
        for i in range(120):
            node, slow = f"n{i % 10}", cluster == "far"
            seconds = 1000 + i % 7 + (1000 if slow else 0) + (2000 if node == "n7" and slow else 0)
            one = record(1000 + i, node=node, name="solve", started=i * 15000, seconds=seconds) | {"cluster": cluster}
            busy = 0.01 if (i, slow) == (115, True) else 3.5
            one["cpu"] |= {"allocated_cores": 4, "cpus_allowed": None, "user_seconds": busy * seconds, "system_seconds": 0}
            one["io"][0]["read"]["bytes"] = 10**9
            made.append(one)
    push(server, made)
    found = tables(jobmeter, "waste")
    differing = [(row["what"], row["cluster"], row["number"]) for row in found["Jobs and nodes that differ from their like"]]
    assert differing == [("node n7", "far", "elapsed / usual"), ("job 1115", "far", "cpu")]
    text = jobmeter("report", "--type", "efficiency", *SPAN)
    assert "CLUSTER" not in text.partition("Jobs with the most")[0]
    assert found["Jobs with the most unused core time"][0]["id"] == "1115" and found["Jobs with the most unused core time"][0]["cluster"] == "far"


def test_users_of_jobs_that_reached_their_time_limit_are_named(server, jobmeter):
    push_weeks(server)
    made = [record(500 + i, uid=uid, user=user, name="late", started=700000 + i, seconds=1000 * (i + 1)) for i, (user, uid) in
            enumerate((("ada", 1001), ("cleo", 1003), ("cleo", 1003)))]
    for one in made:
        one["job"]["state"] = "TIMEOUT"
        one["cpu"] |= {"allocated_cores": 4, "cpus_allowed": None}
    push(server, made)
    rows = tables(jobmeter, "waste", "--until", "2027-01-01")["Users whose jobs reached their time limit"]
    assert [(row["user"], row["jobs"], row["core_seconds"]) for row in rows] == [("cleo", 2, 4 * 5000), ("ada", 1, 4 * 1000)]


def test_where_nothing_differs_nothing_is_named(of_weeks):
    assert tables(of_weeks, "waste", "--until", "2026-02-10")["Jobs and nodes that differ from their like"] == []
    assert of_weeks("report", "--type", "usage", "--since", "2027-01-01", "--until", "2027-02-01").endswith("(UTC)\nnone that you may see\n")
    nothing = json.loads(of_weeks("report", "--type", "usage", "--since", "2027-01-01", "--until", "2027-02-01", "--json"))["total"]
    assert nothing == {"jobs": 0, "core_seconds": None, "unused_core_seconds": None, "energy.joules": None}


@pytest.mark.parametrize("kind", ("waste", "efficiency", "energy", "usage"))
def test_csv_has_the_rows_of_the_tables(of_weeks, kind):
    rows = list(csv.DictReader(of_weeks("report", "--type", kind, *SPAN, "--format", "csv").splitlines()))
    expected = tables(of_weeks, kind)
    assert {title: sum(row["table"] == title for row in rows) for title in expected} == {title: len(table) for title, table in expected.items()}


def test_filters_leave_the_others_out(of_weeks):
    assert [row["user"] for row in tables(of_weeks, "usage", "--account", "physics")["Users"]] == ["ada"]
    assert [row["account"] for row in tables(of_weeks, "usage", "--user", "bob")["Accounts"]] == ["chemistry"]
    assert tables(of_weeks, "usage", "--cluster", "another")["Users"] == []


def test_of_two_jobs_of_a_number_the_clusters_own_is_reported(server, jobmeter):
    """As the script for AdminComment asks; the other one is newer."""
    push(server, [record(7, seconds=1000), record(7, seconds=50, started=10**6, node="far1") | {"cluster": "far"}])
    for words in ((), ("--server", url(server))):
        for cluster, took in (("made", "16 m 40 s"), ("far", "50 s")):
            assert f" {took} " in jobmeter("report", "--summary", f"--cluster={cluster}", *words, "slurm/7").splitlines()[0]
        assert "there is no" in jobmeter("report", "--summary", "--cluster=nowhere", *words, "slurm/7", code=1)


def test_users_stand_side_by_side(of_weeks):
    report = json.loads(of_weeks("compare", "--user", "bob", "--user", "ada", *SPAN, "--json"))
    rows = report["tables"][0]["rows"]
    assert [row["user"] for row in rows] == ["bob", "ada"]
    assert rows[1]["core_seconds"] == pytest.approx(4 * (4000 + sum(1000 + i for i in range(11, 13))))


def test_what_does_not_go_together_is_refused(jobmeter):
    assert "go with '--type'" in jobmeter("report", "--since", "7d", code=2)
    assert "go with the id of a job" in jobmeter("report", "--cluster", "made", code=1)
    assert "it goes with no '7'" in jobmeter("report", "--type", "waste", 7, code=2)
    assert "waste, efficiency, energy or usage" in jobmeter("report", "--type", "all", code=2)
    assert "'--user' two times" in jobmeter("compare", "--user", "ada", code=2)


def test_the_weekly_unit_writes_a_file_and_sends_a_mail(weeks, programs, tmp_path):
    unit = (programs / "share/jobmeter-report@.service").read_text()
    sendmail = tmp_path / "sendmail"
    sendmail.write_text(f"#!/bin/sh\ncat > {tmp_path}/mail\n")
    sendmail.chmod(0o755)
    commands = [shlex.split(re.sub(r"\S*/bin/jobmeter ", f"{programs}/jobmeter ", command).replace("%i", "waste").replace("%%", "%").replace("$$", "$"))
                for command in re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "STATE_DIRECTORY": str(tmp_path),
                   "JOBMETER_SERVER_SOCKET": str(weeks.socket)}
    for more in ({}, {"MAILTO": "hpc@example.org", "SENDMAIL": str(sendmail)}):
        for command in commands:
            done = subprocess.run(command, env=environment | more, capture_output=True, text=True, timeout=300)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page, = tmp_path.glob("waste-*-W*.html")
    assert "</html>" in page.read_text()
    assert (tmp_path / "mail").read_text().startswith("To: hpc@example.org\nSubject: jobs of the week: waste\n")
