# SPDX-License-Identifier: MIT
"""Servers on one kind of database, what stands in it, and who sends to them.

    with Serving(folder, keeper, postgres) as serving, serving(checkpoint_interval="1s") as server:
        server.ask_database("SELECT count(*) FROM records")"""

import concurrent.futures
import contextlib
import functools
import http.client
import itertools
import json
import os
import pathlib
import random
import sqlite3
import tempfile
import time

import pytest

from server import Server

NUMBERS = itertools.count(1)
TAKEN, KNOWN = {"answer": "taken"}, {"answer": "known"}
LONGEST = 30  # seconds of a request


@pytest.fixture
def folder():
    """Where the server's user may go: another pytest that begins closes its own folders, of which tmp_path is one, to all others."""
    with tempfile.TemporaryDirectory(prefix="jobmeter-server-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


def batches(items, size=17):
    return [items[i:i + size] for i in range(0, len(items), size)]


class Pusher:
    """As a spool: what was not answered is sent again.  What servers said when they took nothing."""

    def __init__(self, *servers):
        self.servers, self.refusals = itertools.cycle(servers), []

    def push(self, batch, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            try:
                answer = next(self.servers).post(b"".join(one + b"\n" for one in batch))
            except (OSError, http.client.HTTPException):  # this server is being killed
                time.sleep(0.01)
                continue
            finally:
                assert time.monotonic() - begun < LONGEST
            if answer.status == 200:
                answers = [json.loads(one) for one in answer.text.splitlines()]
                assert len(answers) == len(batch) and all(one in (TAKEN, KNOWN) for one in answers)
                return
            assert answer.status == 503 and answer.headers["Retry-After"] == "30"
            self.refusals.append(json.loads(answer.text)["error"])
            time.sleep(0.05)  # a node waits longer
        raise TimeoutError(self.refusals[-1:])

    def push_while(self, sent, happens):
        """All once, and then some again, until @happens has ended."""
        left = batches(sent)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(happens)
            while left or not done.done():
                self.push(left.pop(0) if left else random.choice(batches(sent)))
            done.result()


def stored(server):
    """{id: its lines}, as the server gives them."""
    ids = [row[0] for row in server.ask_database("SELECT job_id FROM records")]
    assert len(ids) == len(set(ids))
    return {one: server.ask(f"/v1/records?id={one}").text.encode().splitlines() for one in ids}


def assert_stored(server, sent):
    assert stored(server) == {str(i): [one] for i, one in enumerate(sent)}
    assert server.ask_database("SELECT count(*) FROM jobs") == [(len(sent),)]


def reading(database):
    """Closed at the end, unlike what sqlite3 itself does of a `with`."""
    return contextlib.closing(sqlite3.connect(f"file:{database}?mode=rw", uri=True, isolation_level=None))


class Serving:
    """@postgres: where a database is made for it; None: a file."""

    def __init__(self, folder, keeper, postgres=None):
        self.folder, self.keeper, self.postgres = folder, keeper, postgres
        self.name = f"jobs{next(NUMBERS)}"

    def __enter__(self):
        self.url = self.postgres and self.postgres.make_database(self.name)
        return self

    def __exit__(self, *_):
        if self.postgres:
            self.postgres.drop_database(self.name)

    def __call__(self, place="server", **settings):
        server = Server(self.folder / place, self.keeper, **({"database": self.url} if self.postgres else {}), **settings)
        server.is_file = not self.postgres
        server.serving = self
        server.ask_database = functools.partial(self.ask, server)
        return server

    def connect(self, server):
        return self.postgres.connect(self.name) if self.postgres else reading(server.database)

    def ask(self, server, question):
        with self.connect(server) as db, contextlib.closing(db.cursor()) as cursor:
            if self.postgres:
                cursor.execute("SET search_path = jobmeter")
            cursor.execute(question)
            return cursor.fetchall() if cursor.description else None

    def rows(self, server, question):
        """The same as maps."""
        with self.connect(server) as db, contextlib.closing(db.cursor()) as cursor:
            if self.postgres:
                cursor.execute("SET search_path = jobmeter")
            cursor.execute(question)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor.fetchall()]


# ---- fixtures: `server` is of the file's own `serving`, which may be one of these by another name ----


@pytest.fixture(params=["sqlite", "postgresql"])
def serving_either(request, folder, keeper):
    with Serving(folder, keeper, request.getfixturevalue("postgres") if request.param == "postgresql" else None) as serving:
        yield serving


@pytest.fixture
def server(serving):
    with serving() as server:
        yield server


@pytest.fixture
def server_on_either(serving_either):
    with serving_either() as server:
        yield server


@pytest.fixture
def serving_a_file(folder, keeper):
    """For what the kind of database has no part in."""
    return Serving(folder, keeper)


@pytest.fixture
def server_on_a_file(serving_a_file):
    with serving_a_file() as server:
        yield server
