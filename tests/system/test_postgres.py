# SPDX-License-Identifier: MIT
"""The server on a PostgreSQL that is stopped, killed, cut off, slow or shared.  What both databases have in common is in
test_server.py and, by the store's own suite, here.

$JOBMETER_MADE_RECORDS (509) is how many finals the long cases have."""

import concurrent.futures
import datetime
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from made_records import BEGUN, line, lines, record
from server import USER, ServerError
from serving import KNOWN, LONGEST, TAKEN, Pusher, Serving, assert_stored, batches, folder, server  # noqa: F401
from slurm import make_users
from waiting import until

MADE = int(os.environ.get("JOBMETER_MADE_RECORDS", "509"))
WORK = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1785684590 AND granted"


@pytest.fixture
def serving(folder, keeper, postgres):
    with Serving(folder, keeper, postgres) as serving:
        yield serving


# How the statements begin that may read a whole table: those of reindex, one of nodes, which are few, and one whose join by id goes
# through the index only where there is hardly a row.
WHOLE = ("UPDATE records SET job = NULL WHERE NOT EXISTS", "DELETE FROM jobs WHERE NOT EXISTS (SELECT 1 FROM records", "DELETE FROM nodes WHERE told_ns <",
         "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at_ns <")


def full_scans(plan, is_limited=False):
    """(table, how) of each part of a plan that reads all of a table, or of an index of one."""
    kind, is_limited = plan["Node Type"], is_limited or plan["Node Type"] == "Limit"
    if kind == "Seq Scan" or kind in ("Index Scan", "Index Only Scan") and "Index Cond" not in plan and not is_limited:
        yield re.sub(r"_\d{4}_\d\d$", "", plan["Relation Name"]), kind
    for part in plan.get("Plans", ()):
        yield from full_scans(part, is_limited)


@pytest.mark.parametrize("suite", ["test_store", "test_slurm_runs"])
def test_the_stores_own_suites_hold_and_read_no_whole_table(programs, postgres, suite):
    """By the plans of all statements that were run.  Where an index can be used, one is: the tables are too small for it else."""
    postgres.ask("postgres", "DROP ROLE IF EXISTS jm_unit")
    postgres.ask("postgres", "CREATE ROLE jm_unit LOGIN")
    for setting in ("session_preload_libraries = auto_explain", "auto_explain.log_min_duration = 0", "auto_explain.log_format = json",
                    "auto_explain.log_timing = off", "enable_seqscan = off"):
        postgres.ask("postgres", f"ALTER ROLE jm_unit SET {setting}")
    postgres.ask("postgres", "CREATE DATABASE unit OWNER jm_unit")
    begin = (postgres.folder / "log").stat().st_size
    done = subprocess.run([programs / "tests/unit" / suite], capture_output=True, text=True,
                          env={**os.environ, "JOBMETER_TEST_DATABASE": postgres.url("jm_unit", "unit")})
    postgres.drop_database("unit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " tests, 0 failed" in done.stdout
    log = (postgres.folder / "log").read_bytes()[begin:].decode(errors="replace")
    plans = [json.loads(text) for text in re.findall(r" jobmeter-server LOG:  duration: [0-9.]+ ms  plan:\n(\t\{\n.*?\n\t\})$", log, re.MULTILINE | re.DOTALL)]
    assert len({plan["Query Text"] for plan in plans}) > 50
    found = {(table, how, " ".join(plan["Query Text"].split())) for plan in plans for table, how in full_scans(plan["Plan"])}
    found = {one for one in found if not one[2].startswith(WHOLE)}
    assert not found, "\n".join(map(str, sorted(found)))


def test_each_is_there_once_though_postgresql_stops_dies_and_cuts(server, postgres):
    sent, chance = lines(range(MADE)), random.Random(17)

    def cut():
        postgres.ask("postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{server.serving.name}'")

    def restart(number):
        postgres.end(number)
        time.sleep(chance.uniform(0, 0.3))
        postgres.start()

    def trouble():
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, None) * 2:
            time.sleep(chance.uniform(0, MADE / 1009 * 0.4))
            restart(number) if number else cut()

    pusher = Pusher(server)
    pusher.push_while(sent, trouble)
    assert_stored(server, sent)
    assert all(one.startswith("the database: ") and len(one) > 20 for one in pusher.refusals)


def test_what_hangs_is_given_up_and_said(server, postgres):
    sent = lines(range(34))
    assert server.push(sent[:17]) == [TAKEN] * 17
    pids = [row[0] for row in postgres.ask("postgres", f"SELECT pid FROM pg_stat_activity WHERE datname = '{server.serving.name}'")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            begun = time.monotonic()
            asked = [pool.submit(server.post, b"".join(one + b"\n" for one in sent[17:])) for _ in range(3)]
            asked.append(pool.submit(server.ask, "/v1/jobs"))
            answers = [one.result() for one in asked]
            assert time.monotonic() - begun < LONGEST
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert 503 in [answer.status for answer in answers]
    assert "the database: it does not answer" in "".join(answer.text for answer in answers)
    Pusher(server).push(sent)
    assert_stored(server, sent)


def test_two_servers_that_are_killed_in_turn_have_each_once(serving):
    sent, chance = lines(range(MADE)), random.Random(23)
    with serving("first") as first, serving("second") as second:
        servers = (first, second)

        def kill():
            for i in range(6):
                time.sleep(chance.uniform(0, MADE / 1009 * 0.4))
                servers[i % 2].end(signal.SIGKILL)
                servers[i % 2].start()

        Pusher(*servers).push_while(sent, kill)
        assert_stored(first, sent)
        assert second.jobs("limit=10000") == first.jobs("limit=10000")


def test_one_does_the_upkeep_and_the_other_takes_over(serving, postgres):
    with serving("first", checkpoint_interval="1s") as first, serving("second", checkpoint_interval="1s") as second:
        until(lambda: len(postgres.ask("postgres", WORK)) == 1)
        (pid,), = postgres.ask("postgres", WORK)
        holder, = [one for one in (first, second) if holds(one, postgres, pid)]
        other = second if holder is first else first
        other.push([line(record(7, final=False, sequence=1))])
        holder.end(signal.SIGKILL)
        until(lambda: [row[0] for row in postgres.ask("postgres", WORK)] not in ([], [pid]))
        until(lambda: other.jobs()[0]["state"] == "INCOMPLETE")
        holder.start()
        assert len(postgres.ask("postgres", WORK)) == 1


def holds(server, postgres, pid):
    """Whether the connection is its own: the socket's other end, as the kernel knows it."""
    text = subprocess.run(["ss", "-xpH"], capture_output=True, text=True, check=True).stdout
    ends = {(row.split()[5], row.split()[7]) for row in text.splitlines() if f"pid={pid}," in row}
    return any(f"pid={server.process.pid}," in row and (row.split()[7], row.split()[5]) in ends for row in text.splitlines())


def test_ready_and_live_are_told_apart(server, postgres):
    assert [server.get(path).status for path in ("/health", "/health/live")] == [200, 200]
    postgres.end()
    until(lambda: server.get("/health").status == 503)  # it is asked once a second
    answer = server.get("/health")
    assert answer.status == 503 and answer.text.startswith("it lives, and is not ready: the database: ")
    assert server.get("/health/live").status == 200
    assert server.ask("/health/live").status == 200
    postgres.start()
    until(lambda: server.get("/health").status == 200)


def test_a_server_that_boots_before_its_database_waits_for_it(server, postgres):
    token = server.run("token", "create", "--user", "root", "--scope", "operator").stdout.split()[-1]
    assert server.end(signal.SIGTERM) == 0
    postgres.end()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        started = pool.submit(server.start)
        until(lambda: "it is waited for" in server.log())
        answer = server.get("/health")
        assert answer.status == 503 and answer.text.startswith("it lives, and is not ready: ") and "postgresql://" in answer.text
        assert server.get("/health/live").status == 200
        for refused in (server.post(lines(range(1))[0]), server.ask("/v1/jobs"), server.get("/api/v1/jobs", Authorization=f"Bearer {token}")):
            assert (refused.status, "error" in json.loads(refused.text)) == (503, True)
        postgres.start()
        started.result()
    assert server.log().count("it is waited for") == 1
    assert server.push(lines(range(3))) == [TAKEN] * 3
    assert server.get("/api/v1/jobs", Authorization=f"Bearer {token}").status == 200
    server.end(signal.SIGTERM)
    postgres.end()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # who waits can be ended
        started = pool.submit(server.start)
        until(lambda: server.log().count("it is waited for") == 2)
        assert server.end(signal.SIGTERM) == 0
        with pytest.raises(ServerError):
            started.result()
    postgres.start()
    server.start()


def partitions(server):
    return dict(server.ask_database("SELECT tableoid::regclass::text, count(*) FROM records GROUP BY 1"))


def month(moment, offset):
    """The name of the table of the month of that time, and of those before and after it."""
    then = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    months = then.year * 12 + then.month - 1 + offset
    return f"records_{months // 12}_{months % 12 + 1:02}"


def test_months_are_made_ahead_and_absurd_dates_have_a_place(server):
    moment = time.time()
    now = int(moment - BEGUN.timestamp())
    absurd = [line(record(i, started=now + days * 86400, seconds=1)) for i, days in ((2, -20000), (3, 60000), (4, 300))]
    assert server.push([line(record(1, started=now))] + absurd) == [TAKEN] * 4
    assert partitions(server) == {month(moment, 0): 1, "records_default": 3}
    tables = {row[0] for row in server.ask_database("SELECT tablename FROM pg_tables WHERE schemaname = 'jobmeter'")}
    assert {month(moment, i) for i in (-1, 0, 1, 2, 3)} | {month(moment, 0).replace("records", "ledger")} <= tables
    # the month of a record from the future comes
    begins, = server.ask_database("SELECT start_ns FROM records WHERE job_id = '4'")[0]
    assert server.ask_database(f"SELECT jobmeter_make_months({begins}, {begins})")[0][0] == 2
    assert partitions(server)["records_default"] == 2 and sum(partitions(server).values()) == 4
    assert len(server.jobs()) == 4
    # months that have ended and are empty go
    server.ask_database(f"DELETE FROM records WHERE start_ns = {begins}")
    assert server.ask_database(f"SELECT jobmeter_drop_months({begins + 40 * 86400 * 10**9})")[0][0] >= 2
    assert set(partitions(server)) == {month(moment, 0), "records_default"}


def test_the_ledger_is_kept_by_months_too(server):
    head = {"schema": "jobmeter.ledger/1", "cluster": "made", "node": "made-node1", "boot_id": "made-boot"}
    entry = {"owner": "job", "manager": "slurm", "job": "7", "uid": 1000, "level": "node", "source": "rapl", "quality": "attributed"}
    made = [json.dumps(head | {"start": f"2026-02-03T0{hour}:00:00Z", "end": f"2026-02-03T0{hour}:15:00Z", "sequence": hour,
                               "entries": [entry | {"microjoules": 1009 * hour}]}).encode() for hour in range(1, 6)]
    assert server.push(made) == [TAKEN] * 5
    assert server.push(made) == [KNOWN] * 5
    other = made[0].replace(b"1009", b"1013")
    assert server.push([other])[0]["answer"] == "refused"
    entries = json.loads(server.ask("/v1/ledger?id=7").text)["entries"]
    assert [one["microjoules"] for one in entries] == [1009 * hour for hour in range(5, 0, -1)]
    assert json.loads(server.ask_as(65534, "/v1/ledger")[1])["entries"] == []
    assert server.ask_database("SELECT DISTINCT tableoid::regclass::text FROM ledger") == [("ledger_default",)]


def test_the_servers_role_owns_its_schema_and_nothing_else(server, postgres):
    server.push(lines(range(3)))
    role = f"jm_{server.serving.name}"
    owned = "SELECT count(*) FROM pg_{0} JOIN pg_roles r ON r.oid = {1} WHERE rolname = '%s'" % role
    assert server.ask_database(owned.format("namespace", "nspowner")) == [(1,)]
    assert server.ask_database(owned.format("database", "datdba")) == [(0,)]
    assert server.ask_database("SELECT DISTINCT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                               f"JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = '{role}' AND n.nspname !~ '^pg_'") == [("jobmeter",)]
    assert server.ask_database(f"SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls FROM pg_roles "
                               f"WHERE rolname = '{role}'") == [(False,)]
    import psycopg2
    for forbidden in ("CREATE TABLE public.x (x INT)", "CREATE SCHEMA x", "CREATE DATABASE x", "SELECT * FROM pg_authid"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            postgres.ask(server.serving.name, forbidden, role)


def test_what_cannot_be_opened_is_said_in_one_line(folder, programs):
    (folder / "server.yaml").write_text("user: root\nlisten: ''\n")
    for url, status, words, task in (("postgresql://jm:secret@host/jobs", 2, "passfile=FILE", []),
                                     ("postgresql://host/jobs?password=secret", 2, "passfile=FILE", []),
                                     (f"postgresql:///jobs?host={folder}", 1, "the database: ", ["check"])):
        done = subprocess.run([programs / "jobmeter-server", "--database", url, "--config", folder / "server.yaml", "--socket",
                               folder / "s", *task], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        assert (done.returncode, len(done.stderr.splitlines())) == (status, 1) and words in done.stderr
        assert "secret" not in done.stderr


def test_a_password_comes_from_a_file(serving, postgres):
    role = f"jm_{serving.name}"
    postgres.ask("postgres", f"ALTER ROLE {role} PASSWORD 'made'")
    serving.url = f"postgresql://{role}@127.0.0.1:{postgres.port}/{serving.name}?passfile={serving.folder}/pgpass"
    (serving.folder / "pgpass").write_text(f"127.0.0.1:*:*:{role}:made\n")
    (serving.folder / "pgpass").chmod(0o600)
    make_users(serving.keeper, [USER])
    shutil.chown(serving.folder / "pgpass", USER)
    with serving() as server:
        assert server.push(lines(range(3))) == [TAKEN] * 3
        assert len(server.jobs()) == 3


def all_of(server):
    jobs = server.jobs("limit=10000")
    ids = [job["id"] for job in jobs[::max(len(jobs) // 97, 1)]]
    return jobs, [server.ask(f"/v1/records?id={one}").text for one in ids]


HOLD = """CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
CREATE TRIGGER hold BEFORE INSERT ON {} FOR EACH ROW WHEN (NEW.id > 500) EXECUTE FUNCTION hold()"""
HELD = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"


def break_off(server, postgres, move, table):
    """Kill a move when the first 500 rows of the table are there, and the next are on their way."""
    ask = functools.partial(postgres.ask, server.serving.name)
    ask(HOLD.format(table))
    running = subprocess.Popen([*server.run("--version").args[:3], *move], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: ask(f"SELECT pid {HELD}"))
    running.kill()
    running.communicate()
    ask(f"SELECT pg_terminate_backend(pid, 60000) {HELD}")
    assert ask(f"SELECT value FROM meta WHERE name = 'move_{table}'") == [(500,)]
    ask(f"DROP TRIGGER hold ON {table}; DROP FUNCTION hold()")


def test_a_move_that_was_broken_off_twice_brings_all(folder, keeper, serving, postgres):
    sent = lines(range(MADE)) + [line(record(i, node="made-node2")) for i in range(0, MADE, 3)]
    with Serving(folder, keeper)("old", checkpoint_interval="1s") as old:
        for batch in batches(sent, 500):
            old.push(batch)
        old.push([line(record(MADE + 1, final=False, sequence=1))])
        until(lambda: old.jobs("limit=1")[0]["state"] == "INCOMPLETE")
        before = all_of(old)
    with serving("new") as new:
        pass  # its tables are made
    move = ["move", "--from", f"sqlite:{old.database}", "--to", serving.url]
    for table in ("records", "jobs"):
        break_off(new, postgres, move, table)
        refused = new.run()
        assert refused.returncode == 1 and "a move into it was broken off" in refused.stderr
    done = new.run(*move)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"records      {len(sent) + 1:10} rows, hash " in done.stdout and len(done.stdout.splitlines()) == 10
    with new:
        assert all_of(new) == before
        assert new.push(sent[:17]) == [KNOWN] * 17
        assert new.push(lines([MADE + 2])) == [TAKEN]
    assert "records already" in new.run(*move).stderr
