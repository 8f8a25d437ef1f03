# SPDX-License-Identifier: MIT
"""What the server shows over HTTP (/api/v1), and to whom: on SQLite, and on a PostgreSQL that is started for it."""

import csv
import hashlib
import io
import json
import shutil
import urllib.parse

import pytest

from made_records import line, record
from serving import Serving, folder  # noqa: F401

ALICE, BOB, CAROL = 61001, 61002, 61003
NAMES = {ALICE: "made-alice", BOB: "made-bob", CAROL: "made-carol"}



@pytest.fixture(params=["sqlite", "postgresql"])
def serving(request, folder, keeper, demand):  # noqa: F811
    demand(shutil.which("curl"), "needs curl")
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Serving(folder, keeper, postgres) as serving:
        yield serving


@pytest.fixture
def server(serving):
    with serving() as server:
        yield server


@pytest.fixture
def server_on_a_file(folder, keeper):  # noqa: F811
    with Serving(folder, keeper)() as server:
        yield server


def job(number, uid=ALICE, account=None, partition=None, **more):
    made = record(number, uid=uid, user=NAMES[uid], **more)
    made["job"] |= {"account": account, "partition": partition}
    return line(made)


def make_token(server, user, *options):
    done = server.run("token", "create", "--user", user, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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
    if server.is_file:  # else another connection's transaction is open
        answer = ask(server, token, "/jobs")
        assert (answer.status, json.loads(answer.text)) == (401, {"error": "this token has expired"})


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
    for query in ("", "order=asc", "sort=elapsed_seconds", "sort=end&order=asc", "sort=io.read.bytes", "sort=energy.joules"):
        got = pages(server, token, query, 7)
        assert [len(page) for page in got] == [7, 7, 7, 7, 2], query
        assert {one["id"] for page in got for one in page} == {str(i) for i in range(30)}
    numbers = [one["io.read.bytes"] for page in pages(server, token, "sort=io.read.bytes", 4) for one in page]
    assert numbers == sorted(numbers, reverse=True)
    assert len(pages(server, token, "account=a1", 10)) == 1
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
