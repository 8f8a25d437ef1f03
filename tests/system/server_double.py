# SPDX-License-Identifier: MIT
"""Stands in for the site's jobmeter-server where that rarely says what a test needs: it answers what the
test wrote down (401, 413, cut connections, lies), keeps records in memory by the rules of their key, and
stores nothing."""

import email.utils
import gzip
import json
import socket
import threading
import time

from http_double import HttpDouble
from waiting import until


def key_of(record):
    job = record["job"]
    return (record["cluster"], record["node"], record["boot_id"], job["manager"], job["id"], record["time"]["start"])


class Server(HttpDouble):
    """script: what the next requests are answered, each a step as below; always: the same for all beyond it.
    Where there is neither, records are taken.  lines_max: 413 beyond."""

    def __init__(self, token="", certificate=None, port=0):
        self.token, self.certificate, self.lines_max = token, certificate, 10 ** 9
        self.script, self.always = [], None
        self.records = {}  # the one that holds, of each key
        self.history = []  # all that came and were taken
        self.requests = []  # (status, lines)
        self.node = None  # what a node said of itself last
        self.lock = threading.Lock()
        self.port = port
        self.start()

    # ---- one request ----

    def send(self, handler, status, text="", lines=0, type="application/x-ndjson", **headers):
        with self.lock:
            self.requests.append((status, lines))
        handler.close_connection = True  # so that one that is stopped answers nobody
        self.reply(handler, status, text.encode(), Content_Type=type, Connection="close", **headers)

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        assert handler.path == "/api/v1/records" and handler.headers["Content-Type"] == "application/x-ndjson"
        assert handler.headers["Content-Encoding"] == "gzip"
        assert abs(email.utils.parsedate_to_datetime(handler.headers["Date"]).timestamp() - time.time()) < 600
        lines = gzip.decompress(body).decode().splitlines()
        self.node = json.loads(handler.headers.get("Jobmeter-Node", "null")) or self.node
        if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
            return self.send(handler, 401, lines=len(lines))
        step = self.script.pop(0) if self.script else self.always
        if step and step(self, handler, lines):
            return None
        if len(lines) > self.lines_max:
            return self.send(handler, 413, lines=len(lines))
        return self.send(handler, 200, "".join(json.dumps(a) + "\n" for a in self.take(lines)), len(lines))

    def take(self, lines):
        with self.lock:
            return [self.take_one(json.loads(line)) for line in lines]

    def take_one(self, record):
        if "job" not in record:  # a quarter of an hour of the energy ledger, which may end in any test
            return {"answer": "taken"}
        key = key_of(record)
        known = self.records.get(key)
        if known and (known["sequence"] >= record["sequence"] or known["final"] and not record["final"]):
            return {"answer": "known"}
        self.records[key] = record
        self.history.append(record)
        return {"answer": "taken"}

    # ---- what a test asks ----

    def of(self, job, manager="made"):
        """All that were taken of a job, in the order in which they came."""
        with self.lock:
            return [r for r in self.history if r["job"]["manager"] == manager and r["job"]["id"] == str(job)]

    def statuses(self):
        with self.lock:
            return [status for status, _ in self.requests]

    def await_record(self, job, is_enough, seconds=60, manager="made"):
        return self.await_it(lambda: next((r for r in self.of(job, manager) if is_enough(r)), None), seconds)

    def await_final(self, job, seconds=60):
        return self.await_record(job, lambda r: r["final"], seconds)

    await_it = staticmethod(until)


# ---- steps of the script ----


def status(number, **headers):
    def step(double, handler, lines):
        double.send(handler, number, lines=len(lines), **headers)
        return True
    return step


def cut_before(double, handler, _):
    """The connection breaks before there is any answer, and nothing was taken."""
    with double.lock:
        double.requests.append((0, 0))
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def lie(text, type="application/x-ndjson"):
    """Status 200, and what is no answer for what was sent; nothing was taken."""
    def step(double, handler, lines):
        double.send(handler, 200, text, len(lines), type)
        return True
    return step


def refuse(job, reason):
    """One job's records; the rest is taken."""
    def step(double, handler, lines):
        def is_of_it(line):
            return json.loads(line).get("job", {}).get("id") == job  # a line of the ledger is of no job

        answers = [{"answer": "refused", "reason": reason} if is_of_it(line) else double.take([line])[0] for line in lines]
        double.send(handler, 200, "".join(json.dumps(a) + "\n" for a in answers), len(lines))
        return True
    return step
