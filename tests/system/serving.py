# SPDX-License-Identifier: MIT
"""Servers on one kind of database, and what stands in it.

    with Serving(folder, keeper, postgres) as serving, serving(checkpoint_interval="1s") as server:
        server.ask_database("SELECT count(*) FROM records")"""

import contextlib
import functools
import itertools
import sqlite3

from server import Server

NUMBERS = itertools.count(1)


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
