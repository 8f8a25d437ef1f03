# SPDX-License-Identifier: MIT
"""What the server shows over HTTP (/api/v1), and to whom: on SQLite, and on a PostgreSQL that is started for it."""

import concurrent.futures
import csv
import hashlib
import http.client
import io
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

from made_records import line, record
from ports import free_ports
from repository import REPOSITORY
from server import BUILD
from serving import Serving, batches, folder, server, server_on_a_file, serving_a_file  # noqa: F401
from serving import serving_either as serving  # noqa: F401
from slurm import make_users
from waiting import until

ALICE, BOB, CAROL, DAVE = 61001, 61002, 61003, 61004  # Dave has no jobs: he coordinates an account
NAMES = {ALICE: "made-alice", BOB: "made-bob", CAROL: "made-carol", DAVE: "made-dave"}


def job(number, uid=ALICE, account=None, partition=None, **more):
    made = record(number, uid=uid, user=NAMES[uid], **more)
    made["job"] |= {"account": account, "partition": partition}
    return line(made)


def make_token(server, user, *options):
    done = server.run("token", "create", "--user", user, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def coordinate(server, user, account, manager):
    """As a sync with the manager writes it; its users' names are those of the tokens."""
    server.ask_database(f"INSERT INTO coordinators (manager, account, user_name) VALUES ('{manager}', '{account}', '{user}')")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def ask(server, token, path, **headers):
    return server.get(f"/api/v1{path}", **(bearer(token) if token else {}), **headers)


def ask_json(server, token, path):
    answer = ask(server, token, path)
    assert answer.status == 200, answer.text
    return json.loads(answer.text)


def pages(server, token, query, limit):
    after, got = "", []
    while True:
        page = ask_json(server, token, f"/jobs?{query}&limit={limit}&after={urllib.parse.quote(after)}")
        got.append(page["jobs"])
        assert page["more"] == bool(page["next"]) and len(page["jobs"]) <= limit
        if not page["more"]:
            return got
        after = page["next"]


def test_a_token_shows_its_user_their_own_jobs_and_the_operators_all(server):
    server.push([job(i) for i in range(1, 6)] + [job(i, BOB, name="bobs-job") for i in range(11, 14)])
    token, operators = make_token(server, ALICE), make_token(server, BOB, "--scope", "operator")
    assert sorted(one["id"] for one in ask_json(server, token, "/jobs")["jobs"]) == ["1", "2", "3", "4", "5"]
    assert len(ask_json(server, operators, "/jobs")["jobs"]) == 8
    for query in ("user=made-bob", f"user={BOB}", "id=11", "name=bobs-job", "text=bobs"):
        assert ask_json(server, token, f"/jobs?{query}") == {"jobs": [], "more": False, "next": None}


def test_a_token_is_kept_as_a_hash_expires_and_can_be_revoked(server):
    server.push([job(1)])
    token, other = make_token(server, ALICE), make_token(server, BOB, "--expires", "1d")
    kept = server.ask_database("SELECT id, digest, expires_ns - created_ns FROM tokens ORDER BY id")
    assert kept[0] == (1, hashlib.sha256(token.split("_")[2].encode()).hexdigest(), 90 * 86400 * 10**9)
    assert kept[1][2] == 86400 * 10**9
    listed = server.run("token", "list").stdout
    assert str(ALICE) in listed and token.split("_")[2] not in listed
    assert ask(server, other, "/jobs").status == 200
    assert server.run("token", "revoke", 2).returncode == 0
    assert ask(server, other, "/jobs").status == 401
    done = server.run("token", "revoke", 2)
    assert (done.returncode, done.stderr) == (1, "jobmeter-server: there is no token 2\n")
    server.ask_database("UPDATE tokens SET expires_ns = 1")
    answer = ask(server, token, "/jobs")
    assert (answer.status, json.loads(answer.text)) == (401, {"error": "this token has expired"})


def test_who_brings_a_token_waits_for_the_database_alone(folder, keeper, postgres):  # noqa: F811
    """While tokens cannot be read, what needs none is answered; also in the moment in which a token is seen first."""
    with Serving(folder, keeper, postgres) as serving, serving() as server:
        server.push([job(1)])
        known, unknown = make_token(server, ALICE), make_token(server, ALICE)
        assert ask(server, known, "/jobs/1").status == 200
        with concurrent.futures.ThreadPoolExecutor(2) as pool, serving.connect(server) as connection:
            connection.cursor().execute("BEGIN; LOCK TABLE jobmeter.tokens IN ACCESS EXCLUSIVE MODE")
            asked = [pool.submit(ask, server, token, "/jobs/1") for token in (known, unknown)]
            for _ in range(20):
                assert server.get("/health/live").status == 200
            assert not [one for one in asked if one.done()]
            connection.cursor().execute("ROLLBACK")
            assert [one.result(60).status for one in asked] == [200, 200]


def test_what_is_no_token_shows_nothing(server_on_a_file):
    server = server_on_a_file
    server.push([job(1)])
    token = make_token(server, ALICE)
    name, number, secret = token.split("_")
    wrong = ["", " ", "_", "jm_", f"jm_{number}_", f"jm_{number}", f"jm_0_{secret}", f"jm_99_{secret}", f"jm_-1_{secret}",
             f"jm_{number}_{'0' * 64}", f"jm_{number}_{secret}0", f"jm_{number}_{secret[:-1]}", f"jm_{number}_{secret.upper()}",
             f"jm_{2**64}_{secret}", f"jm_{number} _{secret}", secret, server.token, "jm_1_" + "a" * 6000]
    for one in wrong:
        answer = server.get("/api/v1/jobs", Authorization=f"Bearer {one}")
        assert answer.status in (401, 431) and "made-alice" not in answer.text, one
    for header in ({}, {"Authorization": ""}, {"Authorization": "Basic eDp5"}, {"Authorization": token},
                   {"X-Remote-User": "root"}, {"X-Jobmeter-Proxy-Secret": ""}):
        assert server.get("/api/v1/jobs", **header).status == 401, header
    assert server.get("/api/v1/records", "POST", b"{}", **bearer(token)).status == 401  # it writes nothing


def test_jobs_of_one_moment_fall_on_one_page_each(server):
    server.push([job(i, started=1000, account=f"a{i % 3}") for i in range(30)] + [job(99, BOB, started=1000)])
    token = make_token(server, ALICE)
    for query in ("", "order=asc", "sort=elapsed_seconds", "sort=end&order=asc", "sort=io.read.bytes", "sort=energy.joules", "sort=cpu_efficiency",
                  "sort=memory_efficiency&order=asc", "sort=unused_core_seconds"):
        got = pages(server, token, query, 7)
        assert [len(page) for page in got] == [7, 7, 7, 7, 2], query
        assert {one["id"] for page in got for one in page} == {str(i) for i in range(30)}
    numbers = [one["io.read.bytes"] for page in pages(server, token, "sort=io.read.bytes", 4) for one in page]
    assert numbers == sorted(numbers, reverse=True)
    assert len(pages(server, token, "account=a1", 10)) == 1
    everyone = [one for page in pages(server, token, "fields=all&sort=cpu_efficiency", 30) for one in page]
    for one in everyone:
        core_seconds = one["cpu.allocated_cores"] * one["elapsed_seconds"]
        used = one["cpu.user_seconds"] + one["cpu.system_seconds"]
        assert one["cpu_efficiency"] == pytest.approx(used / core_seconds, abs=2e-4)
        assert one["unused_core_seconds"] == pytest.approx(max(0, core_seconds - used), abs=2)
        assert one["memory_efficiency"] == pytest.approx(one["memory.peak_bytes"] / one["memory.limit_bytes"], abs=2e-4)
    shares = [one["cpu_efficiency"] for one in everyone]
    assert shares == sorted(shares, reverse=True)
    for most in (1, 50, 1000):
        found = [one["id"] for page in pages(server, token, f"cpu_most={most}", 7) for one in page]
        assert sorted(found) == sorted(one["id"] for one in everyone if one["cpu_efficiency"] <= most / 100)
    assert [len(ask_json(server, token, f"/jobs?until={until}")["jobs"]) for until in ("0", "1970-01-01T00:00:00Z", "")] == [0, 0, 30]
    next_one = ask_json(server, token, "/jobs?limit=7")["next"]
    assert next_one.split("~")[2] == str(ALICE)  # it has nothing that counts others' jobs
    for after in ("x", "1~2", "~" * 6, next_one + "~", next_one.replace(str(ALICE), "x"), "1~1~1~*~a~b~c", "1~1~1~*zz~a~b~c", "%FF"):
        assert ask(server, token, f"/jobs?after={after}").status == 400, after


def test_csv_says_the_same_as_json(server_on_a_file):
    server = server_on_a_file
    server.push([job(i, name='=1+1,"x"') for i in range(3)])
    token = make_token(server, ALICE)
    rows = list(csv.DictReader(io.StringIO(ask(server, token, "/jobs.csv?fields=id,name,cpu.user_seconds,account").text)))
    assert rows == list(csv.DictReader(io.StringIO(
        ask(server, token, "/jobs?format=csv&fields=id,name,cpu.user_seconds,account").text)))
    told = ask_json(server, token, "/jobs?fields=id,name,cpu.user_seconds,account")["jobs"]
    assert [(one["id"], float(one["cpu.user_seconds"])) for one in rows] == [(one["id"], one["cpu.user_seconds"]) for one in told]
    assert rows[0]["name"] == "'=1+1,\"x\"" and list(rows[0]) == ["id", "name", "cpu.user_seconds", "account"]
    assert ask(server, token, "/jobs.csv?user=none").text.startswith("manager,id,name,")


# ---- a walk over the description ----

HOSTILE = ["'", "' OR 1=1 --", '"; DROP TABLE jobs; --', "%", "_", "\\", "../../etc/passwd", "made-bob", str(BOB), "-1", "1e9", "0x10",
           "99999999999999999999", "NULL", "all", "a" * 5000, "é" * 600, "{id}", "?6", "$1", "=cmd", "2026-13-45", ",,,", "<script>"]
RAW = ["%00", "%FF%FE", "%ED%A0%80", "%0d%0aX-Injected:%201", "+", "%2e%2e%2f"]
NOT_DAVES = ("made-alice", "made-carol", str(ALICE), str(CAROL), "bobs-too", "made-node1")
NOT_ALICES = ("made-bob", "made-carol", str(BOB), str(CAROL), "bobs-")


def valid_values(schema):
    """Some that it takes; of a long list of words not all."""
    schema = schema.get("items", schema)
    if "enum" in schema:
        return schema["enum"][::max(1, len(schema["enum"]) // 5)]
    if schema["type"] == "integer":
        return [schema["minimum"], schema["maximum"]]
    if schema.get("format") == "date-time":
        return ["2026-02-03T04:05:06Z", "2000-01-01T00:00:00.123Z", "1770091506000", "0"]
    return ["made-alice", str(ALICE), "slurm", "ENDED", "x"]


def check_schema(schema, value, where):
    """As much of JSON Schema as the description uses."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int, "null": type(None)}
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    assert not types or any(isinstance(value, kinds[one]) for one in types), (where, value)
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), where
        for key, one in value.items():
            if "properties" in schema and (key in schema["properties"] or schema.get("additionalProperties") is False):
                check_schema(schema["properties"][key], one, f"{where}.{key}")
    for i, one in enumerate(value if isinstance(value, list) else []):
        check_schema(schema.get("items", {}), one, f"{where}[{i}]")


def questions(path, got):
    """(path with its query, which answer it should have): each parameter valid, wrong, missing, huge and hostile."""
    for one in ["101", "1", "%27%20OR%201%3D1", "a" * 1000, "..", "%00", "%FF", "."] if "{id}" in path else [None]:
        yield path.replace("{id}", one or ""), None
    here = path.replace("{id}", "1")
    wanted = [one["name"] for one in got["parameters"] if one["in"] == "query" and one["required"]]
    yield from ((f"{here}?{name}=1", 400) for name in wanted[:len(wanted) > 1])
    yield from ((f"{here}?{'&'.join(f'{name}={one}' for name in wanted)}", answer) for one, answer in
                ([("1", 200), ("101", 404), *((urllib.parse.quote(one), None) for one in HOSTILE)] if wanted else []))
    for parameter in got["parameters"]:
        if parameter["in"] == "path" or wanted:
            continue
        name = parameter["name"]
        yield from ((f"{here}?{name}={urllib.parse.quote(str(one))}", 200 if name != "after" else 400)
                    for one in valid_values(parameter["schema"]))
        yield from ((f"{here}?{name}={urllib.parse.quote(one)}", None) for one in HOSTILE)
        yield from ((f"{here}?{name}={one}", None) for one in RAW)
        yield f"{here}?{name}", 200
        yield f"{here}?{name}=&", 200
        yield f"{here}?{name}=1&{name}=1", 400 if name != "format" else None
    yield f"{here}?no-such=1", 400
    yield f"{here}?{'x' * 2000}=1", 400


def test_a_walk_over_the_description_shows_nobody_anothers_rows(server):
    server.push([job(i) for i in range(1, 5)] +
                [job(i, BOB, name="bobs-job", account="bobs-account", partition="bobs-part", node="bobs-node", state="bobs-state",
                     manager="bobs-manager") for i in range(101, 104)] +
                [job(1, CAROL, name="bobs-too", started=9000, node="bobs-node")])
    coordinate(server, DAVE, "bobs-account", "bobs-manager")
    tokens = {uid: make_token(server, uid) for uid in NAMES} | {None: None, "op": make_token(server, 0, "--scope", "operator")}
    described = json.loads(server.get("/api/v1/openapi.json").text)
    assert described["openapi"] == "3.1.0" and len(described["paths"]) >= 17
    asked = 0
    for path, got in ((path, one["get"]) for path, one in described["paths"].items() if "get" in one):
        is_open = got.get("security") == []
        schema = got["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
        for question, wanted in questions(path, got):
            # all of them at each fourth: the walk is long; on PostgreSQL a third of it, by one whom most is hidden from
            whose = ([ALICE] if asked % 4 else list(tokens)) if server.is_file else [ALICE] * (asked % 3 == 0)
            for who in whose:
                answer = server.get(question.replace(" ", "%20"), **(bearer(tokens[who]) if tokens[who] else {}))
                assert answer.status < 500, (question, answer.text)
                assert "X-Injected" not in answer.headers
                assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-store"
                assert not [one for one in answer.headers if one.lower().startswith("access-control-")]
                if answer.status >= 400 or "json" in answer.headers["Content-Type"]:
                    told = json.loads(answer.text) if "ndjson" not in answer.headers["Content-Type"] else {}
                    assert answer.status < 400 or list(told) == ["error"]
                    if answer.status == 200 and answer.headers["Content-Type"] == "application/json":
                        check_schema(schema, told, question)
                if who is None:
                    assert is_open or answer.status in (401, 404), question
                elif wanted and answer.status != 404:  # of a job of which there is no such part
                    assert answer.status == wanted, (question, answer.text)
                if who == ALICE:  # what she wrote herself comes back in what is told of an error
                    assert answer.status >= 400 or not any(one in answer.text for one in NOT_ALICES), question
                    assert "bobs-" not in answer.text, question
                if who == DAVE:
                    assert answer.status >= 400 or not any(one in answer.text for one in NOT_DAVES), question
            asked += 1
    assert asked > 1000
    assert server.ask_database("SELECT count(*) FROM jobs") == [(8,)]
    assert server.log().count("audit: ") > 10 or not server.is_file


def test_two_jobs_are_compared_as_the_command_does_if_both_are_ones_own(server_on_a_file, config):
    server = server_on_a_file
    server.push([job(i) for i in range(1, 3)] + [job(3, BOB)])
    put_token(config, make_token(server, ALICE))
    token, url = (config / "jobmeter/token").read_text().strip(), f"http://127.0.0.1:{server.port}"
    told = ask_json(server, token, "/compare?a=1&b=2")
    done = jobmeter("compare", "--server", url, "--json", 1, 2, config=config)
    assert (told["baseline"], told["record"]) == ("1", "2") and told["changes"]
    assert told["changes"] == json.loads(done.stdout)["compared"][0]["changes"], done.stderr
    assert "baseline: " in ask(server, token, "/compare.yaml?a=1&b=2").text
    for query in ("a=1&b=3", "a=3&b=1", "a=3&b=3"):
        answer = ask(server, token, f"/compare?{query}")
        assert (answer.status, json.loads(answer.text)) == (404, {"error": "there is no job '3'"})
        assert ask(server, token, f"/compare?{query.replace('3', '4711')}").text == answer.text.replace("3", "4711")
    answer = ask(server, token, "/compare?a=1")
    assert (answer.status, json.loads(answer.text)) == (400, {"error": "b: this is wanted"})


def test_a_job_that_has_not_changed_is_not_sent_again_and_a_tag_is_of_its_caller_alone(server):
    server.push([job(1), job(2, BOB)])
    alice, again, bob, operators = (make_token(server, ALICE), make_token(server, ALICE), make_token(server, BOB),
                                    make_token(server, BOB, "--scope", "operator"))
    for path in ("/jobs/1", "/jobs/1/nodes.csv", "/jobs/1.txt", "/jobs/1/energy"):
        first = ask(server, alice, path)
        tag = first.headers["ETag"]
        assert first.status == 200 and first.headers["Cache-Control"] == "no-store"
        same = ask(server, again, path, **{"If-None-Match": tag})
        assert (same.status, same.text, same.headers["ETag"]) == (304, "", tag)
        for weak in (f"W/{tag}", f'"other", {tag}', f'"other",W/{tag}'):
            assert ask(server, alice, path, **{"If-None-Match": weak}).status == 304
        for wrong in ('"wrong"', tag[:-2] + '"', tag[1:-1]):
            assert ask(server, alice, path, **{"If-None-Match": wrong}).text == first.text
        others = ask(server, operators, path, **{"If-None-Match": tag})
        assert (others.status, others.text) == (200, first.text) and others.headers["ETag"] != tag
        assert ask(server, bob, path, **{"If-None-Match": tag}).status == 404
    assert ask(server, alice, "/jobs").headers.get("ETag") is None
    server.push([job(1, sequence=2_000_000)])
    changed = ask(server, alice, "/jobs/1", **{"If-None-Match": ask(server, alice, "/jobs/1/energy").headers["ETag"]})
    assert changed.status == 200


def test_a_coordinator_sees_the_jobs_of_their_accounts(server):
    server.push([job(1), job(2, BOB, account="physics"), job(3, CAROL, account="physics", node="n3"), job(4, CAROL, account="biology"),
                 job(5, BOB, account="physics", manager="pbs"), job(6, DAVE, account="biology")])
    token, alice = make_token(server, DAVE), make_token(server, ALICE)
    assert [one["id"] for one in ask_json(server, token, "/jobs")["jobs"]] == ["6"]
    coordinate(server, DAVE, "physics", "slurm")
    assert sorted(one["id"] for one in ask_json(server, token, "/jobs")["jobs"]) == ["2", "3", "6"]
    assert [[one["id"] for one in page] for page in pages(server, token, "order=asc", 2)] == [["2", "3"], ["6"]]
    assert {one["user"]: one["jobs"] for one in ask_json(server, token, "/users")["users"]} == dict.fromkeys(
        ("made-bob", "made-carol", "made-dave"), 1)
    assert {one["node"]: one["jobs"] for one in ask_json(server, token, "/nodes")["nodes"]} == {"made-node1": 2, "n3": 1}
    assert ask(server, token, "/jobs?user=made-alice&fields=id").text == '{"jobs":[],"more":false,"next":null}\n'
    assert [ask(server, token, f"/jobs/{i}").status for i in range(1, 7)] == [404, 200, 200, 404, 404, 200]
    assert [ask(server, alice, f"/jobs/{i}").status for i in range(1, 7)] == [200, 404, 404, 404, 404, 404]
    assert "seen as operator" not in server.log()
    server.ask_database("DELETE FROM coordinators")
    assert [one["id"] for one in ask_json(server, token, "/jobs")["jobs"]] == ["6"]


def test_sums_counts_and_suggestions_say_nothing_of_others(server_on_a_file):
    server = server_on_a_file
    paths = ["/jobs", "/users", "/accounts", "/partitions", "/usage?period=day", "/usage?by=account&period=month", "/nodes", "/jobs?text=bobs", "/jobs/11",
             "/jobs/11/nodes", "/usage?by=partition&user=made-bob", "/metrics", "/jobs?limit=2", "/jobs?sort=nodes&limit=1"]
    server.push([job(i) for i in range(1, 4)])
    token = make_token(server, ALICE)
    before = [(answer.status, answer.text) for answer in (ask(server, token, path) for path in paths)]
    server.push([job(i, BOB, name="bobs-job", account="bobs-account", node="made-node1") for i in range(11, 50)])
    assert [(answer.status, answer.text) for answer in (ask(server, token, path) for path in paths)] == before
    for path in paths[:3]:
        assert "bobs-" in ask(server, make_token(server, 0, "--scope", "operator"), path).text or path == "/users"
    assert ask(server, token, "/jobs/11").text.replace("11", "4711") == ask(server, token, "/jobs/4711").text


def test_sums_are_those_of_the_jobs(server):
    server.push([job(i, account=f"a{i % 2}") for i in range(6)] + [job(i, BOB, account="a0") for i in range(10, 13)])
    operators = make_token(server, 0, "--scope", "operator")
    jobs = ask_json(server, operators, "/jobs?fields=all")["jobs"]
    for path, key in (("/users", "user"), ("/accounts", "account")):
        got = ask_json(server, operators, path)
        rows = got[path[1:]]
        for row in rows:
            mine = [one for one in jobs if one[key] == row[key]]
            assert row["jobs"] == len(mine)
            for number in ("elapsed_seconds", "cpu.user_seconds", "io.read.bytes"):
                assert row[number] == pytest.approx(sum(one[number] for one in mine), rel=1e-9)
            assert row["core_seconds"] == pytest.approx(sum(one["cpu.allocated_cores"] * one["elapsed_seconds"] for one in mine))
        assert sum(row["jobs"] for row in rows) == len(jobs)
    assert ask_json(server, operators, "/users?limit=1")["more"] is True


DAY = 86400  # seconds; the made records begin on Tuesday, 2026-02-03


def test_usage_is_that_of_the_jobs_by_day_week_and_month(server):
    """Days of their start, in UTC: a week begins on Monday, the 2nd; a month on the 1st."""
    server.push([job(i, account=f"a{i % 2}", started=i * DAY) for i in range(-3, 4)] +
                [job(i, BOB, account="a0", started=60 * DAY) for i in range(10, 13)])
    operators, alice = make_token(server, 0, "--scope", "operator"), make_token(server, ALICE)
    jobs = ask_json(server, operators, "/jobs?fields=all")["jobs"]
    for by, key in (("user", "user"), ("account", "account"), ("partition", "partition")):
        rows = ask_json(server, operators, f"/usage?by={by}")["usage"]
        assert sum(row["jobs"] for row in rows) == len(jobs) == 10
        for row in rows:
            mine = [one for one in jobs if one[key] == row["key"]]
            cores = sum(one["cpu.allocated_cores"] * one["elapsed_seconds"] for one in mine) / 3600
            assert row["core_hours"] == pytest.approx(cores, abs=1e-5)
            assert row["read_bytes"] == sum(one["io.read.bytes"] for one in mine)
            assert row["start"] is None and row["measured_jobs"] == row["jobs"] == len(mine)
            causes = sum(value for name, value in row.items() if name.startswith("wasted_") and name != "wasted_core_hours")
            assert causes == pytest.approx(row["wasted_core_hours"], abs=1e-5)
    periods = {period: [(row["start"][:10], row["jobs"]) for row in ask_json(server, operators, f"/usage?period={period}")["usage"]]
               for period in ("day", "week", "month")}
    assert periods["week"] == [("2026-01-26", 2), ("2026-02-02", 5), ("2026-03-30", 3)]
    assert periods["month"] == [("2026-01-01", 1), ("2026-02-01", 6), ("2026-04-01", 3)]
    assert [count for _, count in periods["day"]] == [1] * 7 + [3] and periods["day"][0][0] == "2026-01-31"
    assert [row["jobs"] for row in ask_json(server, operators, "/usage?since=2026-02-03T23:00:00Z&until=2026-02-05T00:00:00Z")["usage"]] == [2]
    assert [(row["key"], row["jobs"]) for row in ask_json(server, alice, "/usage")["usage"]] == [("made-alice", 7)]
    assert ask_json(server, alice, "/usage?user=made-bob")["usage"] == []
    server.push([job(10, BOB, account="a1", started=60 * DAY, sequence=2_000_000)])  # it moves to another account
    assert {row["key"]: row["jobs"] for row in ask_json(server, operators, "/usage?by=account&user=made-bob")["usage"]} == {"a0": 2, "a1": 1}
    assert server.run("check").returncode == 0
    assert server.run("forget", "--user", BOB).returncode == 0
    assert [row["key"] for row in ask_json(server, operators, "/usage")["usage"]] == ["made-alice"]
    server.ask_database("UPDATE rollups SET jobs = jobs + 1 WHERE account = 'a1'")
    done = server.run("check")
    assert done.returncode == 1 and "'jobmeter-server reindex' makes them anew" in done.stderr
    assert server.run("reindex").returncode == 0 and server.run("check").returncode == 0


def test_sums_that_took_long_are_given_again_for_a_moment_to_the_same_caller_alone(server_on_a_file):
    server = server_on_a_file
    server.push([job(1), job(2, BOB)])
    server.ask_database(f"""
        INSERT INTO rollups (day_ns, manager, cluster, uid, user_name, account, partition_name, jobs)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        SELECT {10**6 * DAY * 1000}, 'slurm', 'made', {ALICE}, 'made-alice', i, 'p', 1 FROM n""")
    alice, bob, operators = make_token(server, ALICE), make_token(server, BOB), make_token(server, 0, "--scope", "operator")

    def count(token, more=""):
        return sum(row["jobs"] for row in ask_json(server, token, f"/usage?by=cluster{more}")["usage"])

    def in_database(where="uid > 0"):
        return server.ask_database(f"SELECT sum(jobs) FROM rollups WHERE {where}")[0][0]

    def is_given_again():
        before = count(alice)
        server.ask_database("UPDATE rollups SET jobs = jobs + 1 WHERE account = '7'")
        return count(alice) == before < in_database(f"uid = {ALICE}")

    until(is_given_again)
    assert count(bob) == 1 and count(operators) == in_database()
    assert count(alice, "&account=7") == in_database("account = '7'")
    assert count(alice, "&until=1970-01-01T00:00:00Z") == 0
    until(lambda: count(alice) == in_database(f"uid = {ALICE}"))


def test_grafanas_queries_are_answered_as_their_page_says(server_on_a_file):
    server = server_on_a_file
    server.push([job(i, account="a1", partition="p1") for i in range(1, 4)])
    operators, values = make_token(server, 0, "--scope", "operator"), {"${__from}": "1769904000000", "${__to}": "1772755200000",
                                                                       "$account": "", "$job": "1"}
    page = (REPOSITORY / "docs/sites/api.md").read_text().partition("## Grafana")[2]
    asked = 0
    for _, _, query, root, columns, _ in (row.split("|") for row in page.splitlines() if row.count("|") == 5 and "/api/v1/" in row):
        columns = [re.findall(r"`(.*?)`", one)[0] for one in columns.split(",")]
        urls, roots = re.findall(r"/api/v1(/[^`]*)", query), re.findall(r"`(.*?)`", root)
        for i, url in enumerate(urls):
            for name, value in values.items():
                url = url.replace(name, value)
            text = ask(server, operators, url).text
            rows = json.loads(text)[roots[i]] if roots else list(csv.DictReader(io.StringIO(text)))
            wanted = columns if len(urls) == 1 else columns[i:i + 1]
            assert rows and all(row[one] not in (None, "") for row in rows for one in wanted), (url, rows[:1])
            asked += 1
    assert asked == 6


def test_a_job_on_four_nodes_is_one(server_on_a_file):
    server = server_on_a_file
    server.push([job(7, node=f"n{i}") for i in range(4)])
    token = make_token(server, ALICE)
    whole = ask_json(server, token, "/jobs/7")
    assert (whole["schema"], whole["job"]["id"], whole["node"]) == ("jobmeter.record/1", "7", None)
    nodes = ask_json(server, token, "/jobs/7/nodes")["nodes"]
    assert [one["node"] for one in nodes] == ["n0", "n1", "n2", "n3"]
    assert sum(one["cpu.user_seconds"] for one in nodes) == pytest.approx(whole["cpu"]["user_seconds"])
    assert ask_json(server, token, "/jobs/7?node=n2")["cpu"]["user_seconds"] == nodes[2]["cpu.user_seconds"]
    assert ask_json(server, token, "/jobs/7/timeline")["timeline"] == whole["timeline"]
    assert ask_json(server, token, "/jobs/7/mounts")["mounts"] == whole["io"]
    assert ask_json(server, token, "/jobs/7/insights")["insights"] == whole["insights"]
    assert len(ask(server, token, "/jobs/7/records").text.splitlines()) == 4
    rows = list(csv.DictReader(io.StringIO(ask(server, token, "/jobs/7/timeline.csv").text)))
    series = whole["timeline"]["series"]["cpu.user_seconds"]["values"]
    assert [float(one["cpu.user_seconds"]) for one in rows] == [float(one) for one in series]
    for suffix, kind, begins in (("html", "text/html", "<!DOCTYPE html>"), ("md", "text/markdown", "## "), ("txt", "text/plain", "made-"),
                                 ("yaml", "application/yaml", "schema: jobmeter.record/1")):
        answer = ask(server, token, f"/jobs/7.{suffix}")
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind) and answer.text.startswith(begins), suffix
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert ask(server, token, "/jobs/7.csv").status == 404


def test_one_user_keeps_nobody_from_the_server(server_on_a_file):
    """All of one token's connections share a budget: others are answered while they wait."""
    server = server_on_a_file
    for batch in batches([job(i) for i in range(1000)] + [job(5000, BOB)], 997):
        server.push(batch)
    alice, bob = make_token(server, ALICE), make_token(server, BOB)
    is_over, answered = threading.Event(), []

    def ask_again():
        while not is_over.is_set():
            assert ask(server, alice, "/jobs?fields=all&limit=1000").status == 200
            answered.append(True)

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        asking = [pool.submit(ask_again) for _ in range(9)]
        try:
            until(lambda: answered)
            before = len(answered)
            for _ in range(21):
                assert ask(server, bob, "/jobs").status == 200
                assert server.get("/health").status == 200
            turns = len(answered) - before
        finally:
            is_over.set()
        for one in asking:
            one.result()
    assert turns < 21  # bob has more turns than alice


def flood(server, is_over, cut, connections=60):
    """As many strangers at a time as wait, and more: those beyond are cut."""
    def ask_once(_):
        while not is_over.is_set():
            try:
                assert server.get("/api/v1/jobs").status == 401
            except (OSError, http.client.HTTPException):
                cut.append(True)
                time.sleep(0.01)

    with concurrent.futures.ThreadPoolExecutor(connections) as pool:
        list(pool.map(ask_once, range(connections)))


def test_strangers_keep_no_user_from_their_first_request(server_on_a_file):
    server = server_on_a_file
    tokens = [make_token(server, ALICE) for _ in range(20)]
    server.end(signal.SIGTERM)
    server.start()
    for i in range(2):  # the writer has read the tokens when it takes the second
        server.push([job(i)])
    is_over, cut = threading.Event(), []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        flooded = pool.submit(flood, server, is_over, cut)
        try:
            for token in tokens:
                before = len(cut)
                until(lambda: len(cut) > before)  # no stranger has a place now
                assert ask(server, token, "/jobs").status == 200
        finally:
            is_over.set()
        flooded.result()


def test_requests_of_other_sites_pages_are_refused(server_on_a_file):
    server = server_on_a_file
    server.push([job(1)])
    token, here = make_token(server, ALICE), f"127.0.0.1:{server.port}"
    for headers, status in (({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
                            ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Sec-Fetch-Site": "none"}, 200),
                            ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": f"http://{here}"}, 200)):
        assert ask(server, token, "/jobs", **headers).status == status, headers


def test_a_proxys_user_counts_with_its_secret_alone(folder, keeper):  # noqa: F811
    secret = folder / "proxy.secret"
    secret.write_text("proxys-secret-0123456789\n")
    secret.chmod(0o640)
    user = f"jm-alice-{os.getpid()}"
    make_users(keeper, [user])
    uid = pwd.getpwnam(user).pw_uid
    with Serving(folder, keeper)(proxy={"header": "X-Remote-User", "secret_file": str(secret)}) as server:
        server.push([line(record(1, uid=uid, user=user)), job(2)])
        key = {"X-Jobmeter-Proxy-Secret": "proxys-secret-0123456789"}
        answer = server.get("/api/v1/jobs?fields=id", **{"X-Remote-User": user}, **key)
        assert (answer.status, json.loads(answer.text)["jobs"]) == (200, [{"id": "1"}])
        for headers in ({"X-Remote-User": user}, {"X-Remote-User": user, "X-Jobmeter-Proxy-Secret": ""},
                        {"X-Remote-User": user, "X-Jobmeter-Proxy-Secret": "proxys-secret-012345678"}, key,
                        {"X-Remote-User": "no-such-user"} | key, {"X-Remote-User": ""} | key):
            assert server.get("/api/v1/jobs", **headers).status == 401, headers
        both = socket.create_connection(("127.0.0.1", server.port))  # the proxy adds its header, and leaves the client's
        with both, both.makefile("rb") as answer:
            both.sendall(f"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nx-remote-user: {user}\r\nX-Remote-User: root\r\n"
                         f"X-Jobmeter-Proxy-Secret: {key['X-Jobmeter-Proxy-Secret']}\r\n\r\n".encode())
            assert b" 401 " in answer.readline()
        assert "the header 'X-Remote-User' comes more than once" in server.log()
        root = server.get("/api/v1/jobs?fields=id", **{"X-Remote-User": "root"}, **key)
        assert json.loads(root.text)["jobs"] == []  # no operator, whoever says so
        assert f"audit: somebody unknown by TCP: GET /api/v1/jobs: the header 'X-Remote-User' is for the proxy alone" in server.log()


def test_members_of_the_admins_groups_see_all_on_the_socket(server_on_a_file):
    server = server_on_a_file
    server.push([job(1), job(2, BOB)])
    assert json.loads(server.ask("/api/v1/users").text)["more"] is False
    assert len(json.loads(server.ask("/api/v1/jobs").text)["jobs"]) == 2
    status, text = server.ask_as(ALICE, "/api/v1/jobs?fields=id")
    assert (status, json.loads(text)["jobs"]) == (200, [{"id": "1"}])
    assert len(server.jobs()) == 2 and server.ask_as(ALICE, "/v1/jobs")[0] == 200  # as the commands ask
    assert server.log().count("audit: root by socket: GET /v1/jobs: seen as operator") == server.log().count("GET /v1/jobs") == 1


# ---- the commands ----

def jobmeter(*arguments, config, **environment):
    return subprocess.run([BUILD / "jobmeter", *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd="/",
                          env={"PATH": os.environ["PATH"], "HOME": str(config), "XDG_CONFIG_HOME": str(config), **environment})


@pytest.fixture
def config(folder):  # noqa: F811
    (folder / "config/jobmeter").mkdir(parents=True)
    return folder / "config"


def put_token(config, token, mode=0o600):
    path = config / "jobmeter/token"
    path.write_text(token + "\n")
    path.chmod(mode)


def test_commands_ask_a_server_by_its_url(folder, keeper, certificate, config):  # noqa: F811
    for path in certificate:
        shutil.copy(path, folder)
    cert, key = (folder / path.name for path in certificate)
    key.chmod(0o644)
    ca = {"JOBMETER_SERVER_CA": str(cert)}
    with Serving(folder, keeper)(tls={"certificate": str(cert), "key": str(key)}) as server:
        url = f"https://127.0.0.1:{server.port}"
        for batch in batches([job(i, started=1000) for i in range(1, 1100)] +
                             [job(7000, node=f"n{i}") for i in range(3)] + [job(9999, BOB)], 997):
            server.push(batch)
        put_token(config, make_token(server, ALICE))
        listed = jobmeter("jobs", "--server", url, "--since", "2026-01-01", "--limit", 0, "-f", "csv", "-o", "id", "--no-legend",
                          config=config, **ca)
        assert sorted(map(int, listed.stdout.split())) == [*range(1, 1100), 7000], listed.stderr
        sums = jobmeter("jobs", "--server", url, "--since", "2026-01-01", "--by", "user", "--json", config=config, **ca)
        assert [(one["user"], one["jobs"]) for one in json.loads(sums.stdout)["sums"]] == [("made-alice", 1100)], sums.stderr
        used = jobmeter("usage", "--server", url, "--since", "2026-01-01", "--json", config=config, **ca)
        assert [(one["key"], one["jobs"]) for one in json.loads(used.stdout)["usage"]] == [("made-alice", 1100)], used.stderr
        report = jobmeter("report", "--server", url, "--json", 7000, config=config, **ca)
        assert json.loads(report.stdout)["cpu"]["user_seconds"] == ask_json(
            server, (config / "jobmeter/token").read_text().strip(), "/jobs/7000")["cpu"]["user_seconds"]
        assert jobmeter("insights", "--server", url, "slurm/7000", config=config, **ca).returncode == 0
        missing = jobmeter("report", "--server", url, 9999, config=config, **ca)
        assert (missing.returncode, missing.stderr) == (1, f"jobmeter report: the server '{url}': there is no job '9999'\n")
        untrusted = jobmeter("jobs", "--server", url, config=config)
        assert untrusted.returncode == 1 and untrusted.stderr.startswith(f"jobmeter jobs: cannot reach the server '{url}': ")
        assert subprocess.run(["curl", "-s", "--cacert", cert, "--tlsv1.0", "--tls-max", "1.1", f"{url}/health"]).returncode != 0
        put_token(config, "wrong")
        wrong = jobmeter("jobs", "--server", url, config=config, **ca)
        assert (wrong.returncode, wrong.stderr) == (1, f"jobmeter jobs: the server '{url}': this is no valid token\n")


def test_an_unreachable_server_is_named_in_one_line(config, tmp_path):
    put_token(config, "jm_1_x")
    port, = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    for command in (["jobs"], ["usage"], ["report", "1"], ["insights", "1"], ["compare", "1", "2"]):
        done = jobmeter(*command, "--server", url, config=config)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"jobmeter {command[0]}: cannot reach the server '{url}': ")
    for mock in ("http://127.0.0.1:x@192.0.2.1:9841", "https://user@192.0.2.1"):  # the host is not what it looks like
        assert jobmeter("jobs", "--server", mock, config=config).stderr == f"jobmeter jobs: '{mock}': a URL with a user's name is not taken\n"
    beyond = jobmeter("jobs", "--server", "http://192.0.2.1:9841", config=config)
    assert beyond.stderr == "jobmeter jobs: 'http://192.0.2.1:9841': a token goes over https:// only, beyond this machine\n"
    put_token(config, "jm_1_x", 0o644)
    assert "can be read by others (chmod 0600)" in jobmeter("jobs", "--server", url, config=config).stderr
    (config / "jobmeter/token").unlink()
    (config / "jobmeter/token").mkdir()
    assert "is no plain file" in jobmeter("jobs", "--server", url, config=config).stderr
    dead = tmp_path / "server.sock"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(dead))
    away = jobmeter("report", 25, config=config, JOBMETER_SERVER_SOCKET=str(dead), JOBMETER_SOCKET=str(tmp_path / "none"))
    assert away.stderr == f"jobmeter report: there is no file, directory or local run '25': no server answers at '{dead}': Connection refused\n"


def test_a_database_that_was_restored_in_part_is_not_well(folder, keeper, postgres):  # noqa: F811
    with Serving(folder, keeper, postgres) as serving, serving() as server:
        assert server.get("/health").status == 200
        name, = server.ask_database("SELECT conname FROM pg_constraint WHERE conrelid = 'records'::regclass AND contype = 'u'")[0]
        server.ask_database(f'ALTER TABLE records DROP CONSTRAINT "{name}"')
        until(lambda: server.get("/health").status == 503)
        assert "no unique or exclusion constraint" in server.get("/health").text
        assert server.get("/api/v1/health").status == 503
        assert server.get("/health/live").status == 200
