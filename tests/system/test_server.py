# SPDX-License-Identifier: MIT
"""The server of a site, with records that were made: what it takes, what it keeps, and who sees what; on SQLite, and on a
PostgreSQL that is started for it.

$JOBMETER_MADE_RECORDS (509) is how many finals the long cases have."""

import concurrent.futures
import contextlib
import datetime
import email.utils
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from command import command
from made_records import BEGUN, line, lines, record
from server import BUILD, USER, UnixConnection
from serving import (KNOWN, LONGEST, TAKEN, Pusher, assert_stored, batches, folder, reading, server,  # noqa: F401
                     server_on_a_file, serving_a_file, stored)
from serving import serving_either as serving  # noqa: F401
from waiting import until

MADE = int(os.environ.get("JOBMETER_MADE_RECORDS", "509"))
OWNER, OTHER = 1000, 65534


def test_what_was_pushed_comes_back(server_on_a_file):
    """On PostgreSQL: test_postgres.py, and the lists of test_api.py."""
    server = server_on_a_file
    sent = lines(range(1, 24))
    assert server.push(sent) == [TAKEN] * 23
    assert server.push(sent, packed=False) == [KNOWN] * 23
    assert stored(server) == {str(i + 1): [one] for i, one in enumerate(sent)}
    jobs = server.jobs()
    assert [job["id"] for job in jobs] == [str(i) for i in range(23, 0, -1)]
    first = record(23)
    assert {key: jobs[0][key] for key in ("cluster", "node", "user", "uid", "state", "final", "start", "elapsed_seconds")} == {
        "cluster": "made", "node": "made-node1", "user": "made-user", "uid": OWNER, "state": "ENDED", "final": True,
        "start": first["time"]["start"], "elapsed_seconds": 600}
    assert jobs[0]["cpu.user_seconds"] == first["cpu"]["user_seconds"]


def test_killed_at_random_moments_it_has_each_once_and_byte_for_byte(server_on_a_file):
    """On PostgreSQL two servers are killed in turn: test_postgres.py."""
    server = server_on_a_file
    sent, chance = lines(range(MADE)), random.Random(17)

    def kill():
        for _ in range(10):
            time.sleep(chance.uniform(0, MADE / 1009 * 0.4))
            server.end(signal.SIGKILL)
            server.start()

    Pusher(server).push_while(sent, kill)
    assert_stored(server, sent)
    assert server.ask_database("PRAGMA integrity_check") == [("ok",)]


@pytest.fixture
def small_disk(serving, folder, keeper, demand):
    """Where the database is; there is room for some of the records."""
    place, options = folder / "small", f"size={16 if serving.postgres else 4}m,mode=777"
    place.mkdir()
    try:
        keeper.run("mount", "-t", "tmpfs", "-o", options, "made-small", place, undo=["umount", place])
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot mount: {e.stderr.strip()}")
    if serving.postgres:
        shutil.chown(place, "postgres", "postgres")
        serving.postgres.ask("postgres", f"CREATE TABLESPACE small LOCATION '{place}'")
        serving.postgres.ask("postgres", f"ALTER DATABASE {serving.name} SET TABLESPACE small")
    yield place
    if serving.postgres:
        serving.postgres.ask("postgres", f"ALTER DATABASE {serving.name} SET TABLESPACE pg_default")
        serving.postgres.ask("postgres", "DROP TABLESPACE small")
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_loses_nothing_and_says_so(serving, small_disk):
    sent = [line(record(i, made={"incompressible": random.Random(i).randbytes(9973).hex()}))
            for i in range(997 if serving.postgres else 499)]
    with serving(**({} if serving.postgres else {"data": small_disk})) as server:
        answered, refusal = 0, None
        for batch in batches(sent, 23):
            begun = time.monotonic()
            answer = server.post(b"".join(one + b"\n" for one in batch))
            assert time.monotonic() - begun < LONGEST
            if answer.status != 200:
                refusal = answer
                break
            answered += len(batch)
        assert refusal and 0 < answered < len(sent)
        assert (refusal.status, refusal.headers["Retry-After"]) == (503, "30")
        assert "there is no space left for the database" in refusal.text
        assert "records are not taken: there is no space left" in server.log()
        assert len(server.jobs("limit=1000")) == answered  # reading goes on
        assert server.get("/health").status == 200
        command("mount", "-o", "remount,size=128m", small_disk)
        for batch in batches(sent, 23):
            Pusher(server).push(batch)
        assert "records are taken again" in server.log()
        assert_stored(server, sent)


def curl_status(server, body, path):
    """Of one who reads an answer that comes before all is sent."""
    path.write_bytes(body)
    return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {server.token}",
                           "-H", "Content-Type: application/x-ndjson", "-H", "Expect:", "--data-binary", f"@{path}",
                           f"http://127.0.0.1:{server.port}/api/v1/records"], capture_output=True, text=True).stdout


def test_hostile_records_are_refused_one_by_one(server, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    good = lines(range(3))
    bad = [b"{", b"[" * 50000, b'{"schema":"jobmeter.record/9"}', b"\xff\xfe", good[0].replace(b'"made-node1"', b'"a\\u0000b"'),
           good[0].replace(b'"sequence":1000000', b'"sequence":9223372036854775808'), b"", b"null"]
    answers = server.push([one for pair in zip(bad, good * 3) for one in pair])
    assert [answer["answer"] for answer in answers[::2]] == ["refused"] * len(bad)
    assert all(answer["reason"] for answer in answers[::2])
    assert answers[1::2] == [TAKEN] * 3 + [KNOWN] * 5
    words = "x' OR '1'='1"
    server.push([line(record(5, name=words, user=words, node=words))])
    assert len(stored(server)) == 4
    bomb = gzip.compress(b"\n" * (65 << 20))
    assert server.post(bomb, **{"Content-Encoding": "gzip"}).status == 413
    assert curl_status(server, b"x" * (9 << 20), tmp_path / "large") == "413"
    assert server.post(b"\n" * 1025).status == 413
    assert server.post(b"no gzip", **{"Content-Encoding": "gzip"}).status == 400
    assert len(stored(server)) == 4


def test_a_second_user_gets_nothing(server):
    server.push(lines(range(1, 18), uid=OWNER, user="made-owner", name="secret"))
    server.push(lines([99], uid=OTHER, user="made-other"))
    asked = ["", "id=7", "user=made-owner", f"user={OWNER}", "text=secret", "name=secret", "state=ended", "account=made",
             "text=%25", "id=7%27%20OR%201%3D1%20--", "limit=10000", "since=2000-01-01T00:00:00Z"]
    for query in asked:
        status, text = server.ask_as(OTHER, f"/v1/jobs?{query}")
        assert (status, [job["uid"] for job in json.loads(text)["jobs"] if job["uid"] != OTHER]) == (200, [])
    for path in ("/v1/records?id=7", "/v1/records?id=7&node=made-node1", "/v1/records?id=no-such"):
        status, text = server.ask_as(OTHER, path)
        assert (status, list(json.loads(text))) == (404, ["error"])
        assert "secret" not in text
    told = json.loads(server.ask_as(OTHER, "/v1/records?id=7")[1])["error"]
    assert told == json.loads(server.ask_as(OTHER, "/v1/records?id=8")[1])["error"].replace("8", "7")
    assert server.ask_as(OTHER, "/v1/server")[0] == 403
    assert server.ask_as(OTHER, "/v1/records?id=99")[0] == 200
    assert len(json.loads(server.ask_as(OWNER, "/v1/jobs")[1])["jobs"]) == 17
    for path in ([server.database, server.database.with_name("jobs.db-wal")] if server.is_file else []) + [server.folder / "push.token"]:
        done = subprocess.run(["cat", path], user=OTHER, group=OTHER, extra_groups=[], capture_output=True)
        assert done.returncode != 0 and not done.stdout


def test_on_tcp_nothing_can_be_read(server_on_a_file):
    server = server_on_a_file
    server.push(lines(range(7), user="made-owner", name="secret"))
    bearer = {"Authorization": f"Bearer {server.token}"}
    for path in ("/", "/v1/jobs", "/v1/records?id=1", "/v1/server", "/api/v1/records", "/api/v1/jobs", "/metrics", "/health"):
        for headers in ({}, bearer):
            answer = server.get(path, **headers)
            assert answer.status in (200 if path in ("/metrics", "/health") else 303 if path == "/" else 0, 401, 404, 405), path
            assert not any(word in answer.text for word in ("made-owner", "secret", "made-node1"))
    assert server.get("/api/v1/records", "POST", b"{}").status == 401
    assert server.get("/api/v1/records", "POST", b"{}", Authorization="Bearer wrong").status == 401


def test_metrics_are_as_prometheus_wants_them(server_on_a_file, demand):
    demand(shutil.which("promtool"), "needs promtool")
    server = server_on_a_file
    server.push(lines(range(7)))
    text = server.get("/metrics").text
    assert 'jobmeter_server_records_total{answer="taken"} 7\n' in text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_nodes_clock_is_told_by_the_date_of_its_requests(server_on_a_file, folder):
    """A request may be long on its way, as a busy machine has them."""
    server, most, took = server_on_a_file, 30, {}
    for node, off in (("made-right", 0), ("made-ahead", 100), ("made-behind", -100)):
        now = int(time.time())
        started = now - 1000 + off - int(BEGUN.timestamp())
        answer = server.post(line(record(7, node=node, started=started)), Date=email.utils.formatdate(now + off, usegmt=True))
        assert json.loads(answer.text) == TAKEN
        took[node] = time.time() - now
    now = int(time.time())
    server.post(line(record(8, started=now + 5000 - int(BEGUN.timestamp()))))  # from the future
    server.post(line(record(9)), Date="yesterday")
    offsets = {row[0]: row[1] / 1e9 for row in server.ask_database("SELECT node || '/' || job_id, clock_offset_ns FROM records")}
    told = dict(server.ask_database("SELECT node, detail FROM events WHERE kind = 'clock'"))
    assert offsets == {"made-right/7": 0 if took["made-right"] < 2 else pytest.approx(0, abs=most),
                       "made-ahead/7": pytest.approx(100, abs=most), "made-behind/7": pytest.approx(-100, abs=most),
                       "made-node1/8": pytest.approx(5600, abs=most), "made-node1/9": 0}
    assert told["made-ahead"].endswith("ms ahead") and told["made-behind"].endswith("ms behind")
    job, = server.jobs("id=7")
    times = [datetime.datetime.fromisoformat(job[key].replace("Z", "+00:00")[:19] + "+00:00").timestamp() for key in ("start", "end")]
    assert job["nodes"] == 3 and times == [pytest.approx(now - 1000, abs=most), pytest.approx(now - 400, abs=most)]
    done = subprocess.run([BUILD / "jobmeter", "report", "7", "--json"], capture_output=True, text=True, cwd="/",
                          env={"JOBMETER_SERVER_SOCKET": str(server.socket), "HOME": str(folder), "PATH": os.environ["PATH"]})
    merged = json.loads(done.stdout)
    assert (merged["time"]["start"], merged["time"]["end"]) == (job["start"], job["end"])
    job, = server.jobs("id=8")
    assert datetime.datetime.fromisoformat(job["end"][:19] + "+00:00").timestamp() == pytest.approx(now, abs=most)


def test_a_server_that_stands_still_sees_no_late_clocks(server, hold_writes):
    """Both requests wait for the writer, which waits for us; what the loop itself was late (a busy machine) is told by /health."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for attempt in range(53):
            with hold_writes():
                begun = time.time()
                date = email.utils.formatdate(begun, usegmt=True)
                pushing = [pool.submit(server.post, line(record(10 * attempt + i, node=f"made-{i}")), Date=date) for i in range(2)]
                while server.get("/metrics", Date=date).status != 200 or time.time() < begun + 0.3:
                    pass
                took = time.time() - int(begun)
                time.sleep(4)
            assert [json.loads(one.result().text) for one in pushing] == [TAKEN, TAKEN]
            if took < 2:
                break
    assert took < 2 and server.ask_database(f"SELECT DISTINCT clock_offset_ns FROM records WHERE job_id IN ('{10 * attempt}', "
                                            f"'{10 * attempt + 1}')") == [(0,)]


def ledger(node, sequence, *entries):
    of_job = {"manager": "slurm", "start": "2026-02-03T03:00:00Z"}
    return json.dumps({"schema": "jobmeter.ledger/1", "cluster": "made", "node": node, "boot_id": "made-boot", "sequence": sequence,
                       "start": "2026-02-03T04:00:00Z", "end": "2026-02-03T04:15:00Z", "entries": [
                           {"owner": owner, "level": "node", "source": "made", "quality": "attributed", "microjoules": microjoules,
                            **(of_job | {"job": job, "uid": uid} if job else {})} for owner, job, uid, microjoules in entries]}).encode()


def test_the_ledger_adds_up_and_each_sees_his_own(server):
    sent = [ledger("made-node1", 1, ("job", "7", OWNER, 101), ("job", "8", OTHER, 103), ("idle", None, None, 107)),
            ledger("made-node1", 2, ("unattributed", None, None, 109)), ledger("made-node2", 1, ("job", "7", OWNER, 113))]
    assert server.push([*sent, ledger("made-node1", 3, ("nobody", None, None, 1))])[:3] == [TAKEN] * 3
    assert server.push(sent) == [KNOWN] * 3
    entries = json.loads(server.ask("/v1/ledger").text)["entries"]
    assert sorted(one["microjoules"] for one in entries) == [101, 103, 107, 109, 113]
    for query in ("", "?id=7", "?id=8", "?manager=slurm", "?node=made-node1", "?limit=10000", "?id=7%27%20OR%201%3D1%20--"):
        status, text = server.ask_as(OTHER, f"/v1/ledger{query}")
        assert (status, [one["uid"] for one in json.loads(text)["entries"] if one["uid"] != OTHER]) == (200, [])
    assert sum(one["microjoules"] for one in json.loads(server.ask_as(OWNER, "/v1/ledger")[1])["entries"]) == 101 + 113
    assert server.get("/v1/ledger", Authorization=f"Bearer {server.token}").status == 404
    assert server.run("forget", "--user", OWNER).returncode == 0
    entries = json.loads(server.ask("/v1/ledger").text)["entries"]
    assert sum(one["microjoules"] for one in entries) == 101 + 103 + 107 + 109 + 113
    assert {one["uid"] for one in entries} == {OTHER, None} and "7" not in {one["job"] for one in entries}


def test_what_is_old_is_deleted(serving_a_file):
    with serving_a_file(retention={"timelines": "1s"}) as server:
        server.push(lines(range(211)))
        until(lambda: '"timeline":null' in server.ask("/v1/records?id=7").text)
        assert len(server.jobs("limit=1000")) == 211
    with serving_a_file("another", retention={"records": "1s"}) as server:
        server.push(lines(range(211)))
        until(lambda: not server.jobs())
        for table in ("records", "jobs", "job_mounts", "job_steps"):
            assert server.ask_database(f"SELECT count(*) FROM {table}") == [(0,)]


def table_of(server):
    """The jobs without numbers that only the database uses, and their mounts."""
    jobs = {row["id"]: row for row in server.serving.rows(server, "SELECT * FROM jobs")}
    mounts = server.serving.rows(server, "SELECT * FROM job_mounts")
    name = {i: (job["manager"], job["job_id"], job["node"], job["start_ns"]) for i, job in jobs.items()}
    key = lambda row: sorted((k, str(v)) for k, v in row.items())  # noqa: E731
    return (sorted((row | {"id": None} for row in jobs.values()), key=key),
            sorted((row | {"job": name[row["job"]]} for row in mounts), key=key))


def test_the_index_is_made_again_while_it_serves(server):
    made = MADE if server.is_file else MADE // 3
    sent = lines(range(made)) + [line(record(i, node="made-node2")) for i in range(0, made, 3)]
    for batch in batches(sent, 512):
        server.push(batch)
    before = table_of(server)
    assert len(before[0]) == made
    done = server.run("reindex")
    assert (done.returncode, done.stderr) == (0, "")
    assert table_of(server) == before
    server.end(signal.SIGTERM)
    for table in ("jobs", "job_mounts", "job_steps"):
        server.ask_database(f"DELETE FROM {table}")
    server.start()
    broken_off = subprocess.Popen([*server.run("--version").args[:3], "reindex"], stdout=subprocess.DEVNULL)
    time.sleep(0.1)
    broken_off.kill()
    broken_off.wait()
    assert server.push(lines([MADE + 1])) == [TAKEN]
    assert server.run("reindex").returncode == 0
    after = table_of(server)
    assert [job for job in after[0] if job["job_id"] != str(MADE + 1)] == before[0]


def test_a_copy_is_made_and_a_user_forgotten_while_it_serves(server, tmp_path):
    server.push(lines(range(31)))
    server.push(lines(range(100, 117), uid=OTHER, user="made-other"))
    copied = server.run("backup", tmp_path / "copy.db")
    done = server.run("forget", "--user", "made-user")
    assert (done.returncode, done.stdout) == (0, "31 records deleted\n")
    assert {job["user"] for job in server.jobs()} == {"made-other"}
    if server.is_file:
        assert copied.returncode == 0 and b"made-user" not in server.database.read_bytes()
        with reading(tmp_path / "copy.db") as db:
            assert db.execute("SELECT count(*) FROM jobs").fetchone() == (48,)
    else:
        assert copied.returncode == 1 and "is copied by pg_dump" in copied.stderr
    assert server.push(lines([1000])) == [TAKEN]


def test_a_wrong_question_is_told(server_on_a_file):
    server = server_on_a_file
    for query, words in {"since=yesterday": "since: 'yesterday' is no time", "limit=-1": "limit: '-1' is no number",
                         "limit=10001": "limit", "offset=x": "offset"}.items():
        answer = server.ask(f"/v1/jobs?{query}")
        assert answer.status == 400 and words in json.loads(answer.text)["error"]
    assert server.ask("/v1/records").status == 400


def test_it_goes_on_as_its_user_without_a_right(server_on_a_file):
    server = server_on_a_file
    status = dict(one.split(":\t", 1) for one in open(f"/proc/{server.process.pid}/status").read().splitlines() if ":\t" in one)
    uid = subprocess.run(["id", "-u", USER], capture_output=True, text=True).stdout.strip()
    assert status["Uid"].split() == [uid] * 4
    assert {status[name].strip() for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    modes = {path.name: oct(path.stat().st_mode & 0o7777) for path in (server.socket, server.folder / "push.token")}
    assert modes == {"server.sock": "0o666", "push.token": "0o640"}
    assert oct(server.database.stat().st_mode & 0o7777) == "0o600"


def test_wrong_usage_is_one_line(server_on_a_file):
    for arguments, words in ((["backup"], "'backup' takes the name of a file"), (["forget"], "'forget' wants --user NAME"),
                             (["sing"], "'sing' is none of"), (["--user", "x"], "--user goes with 'forget' and 'token create' only"),
                             (["reindex", "x"], "'reindex' takes no argument")):
        done = server_on_a_file.run(*arguments)
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, arguments


def test_without_a_database_nothing_is_made(tmp_path, programs):
    done = subprocess.run([programs / "jobmeter-server", "--database", tmp_path / "none.db", "reindex"], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot open the database" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def hold_writes(serving, server):
    """Nobody else writes to the database meanwhile."""
    @contextlib.contextmanager
    def hold():
        with serving.connect(server) as db, contextlib.closing(db.cursor()) as cursor:
            if serving.postgres:
                cursor.execute("SET search_path = jobmeter")
                cursor.execute("SELECT pg_advisory_lock(1785684589, hashtext(current_schema()))")
            else:
                cursor.execute("BEGIN IMMEDIATE")
            yield
            cursor.execute("SELECT pg_advisory_unlock_all()" if serving.postgres else "ROLLBACK")
    return hold


def test_who_asks_waits_for_nobody_who_writes(server, hold_writes):
    """Records wait for their turn to be written, 10 s at most; health, metrics and lists come meanwhile."""
    server.push(lines(range(3)))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for _ in range(5):  # a machine may stand still for so long
            with hold_writes():
                pushing = pool.submit(server.post, b"".join(one + b"\n" for one in lines(range(3, 6))))
                answers = [len(server.jobs()) for _ in range(23)]
                answers += [server.get("/health").status, server.get("/metrics").status]
                is_waiting = not pushing.done()
            pushing.result()
            assert answers == [3] * 23 + [200, 200]
            if is_waiting:
                break
            server.ask_database("DELETE FROM records WHERE job_id IN ('3', '4', '5')")
    assert is_waiting
    Pusher(server).push(lines(range(3, 6)))
    assert len(server.jobs()) == 6


def test_a_job_of_many_nodes_comes_in_pieces_and_whole(server):
    sent = [line(record(7, node=f"made-node{i:03}", started=0, made={"incompressible": random.Random(i).randbytes(9973).hex()}))
            for i in range(41)]
    for batch in batches(sent, 7):
        Pusher(server).push(batch)
    whole = b"".join(one + b"\n" for one in sent)
    assert len(whole) > 3 * 262144
    assert server.ask("/v1/records?id=7").text.encode() == whole
    connection = UnixConnection(server.socket)
    connection.request("GET", "/v1/records?id=7", headers={"Accept-Encoding": "gzip"})
    packed = connection.getresponse()
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.read()) == whole
    connection.close()
    gone = UnixConnection(server.socket)  # that goes while a piece is read
    for _ in range(11):
        gone.request("GET", "/v1/records?id=7")
        gone.sock.close()
        gone.close()
    assert server.ask("/v1/records?id=7").text.encode() == whole
