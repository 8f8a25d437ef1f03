# SPDX-License-Identifier: MIT
"""Stands in for the site's jobmeter-server where that rarely says what a test needs: it answers what the
test wrote down (401, 413, cut connections, lies), keeps records in memory by the rules of their key, and
stores nothing."""

import email.utils
import gzip
import http.server
import json
import socket
import ssl
import sys
import threading
import time


def key_of(record):
    job = record["job"]
    return (record["cluster"], record["node"], record["boot_id"], job["manager"], job["id"], record["time"]["start"])


class Server:
    """script: what the next requests are answered, each a step as below; always: the same for all beyond it.
    Where there is neither, records are taken.  lines_max: 413 beyond."""

    def __init__(self, token="", certificate=None, port=0):
        self.token, self.certificate, self.lines_max = token, certificate, 10 ** 9
        self.script, self.always = [], None
        self.records = {}  # the one that holds, of each key
        self.history = []  # all that came and were taken
        self.requests = []  # (status, lines)
        self.lock = threading.Lock()
        self.port = port
        self.server = None
        self.start()

    def start(self):
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                double.answer(self)

            def log_message(self, *_):
                pass

        class Http(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *whose):
                if not isinstance(sys.exc_info()[1], OSError):  # as of connections that the test cuts
                    super().handle_error(*whose)

        self.server = Http(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
            self.server = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    # ---- one request ----

    def send(self, handler, status, text="", lines=0, type="application/x-ndjson", **headers):
        body = text.encode()
        with self.lock:
            self.requests.append((status, lines))
        handler.send_response(status)
        handler.send_header("Content-Type", type)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Connection", "close")  # so that one that is stopped answers nobody
        handler.close_connection = True
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(body)

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        assert handler.path == "/api/v1/records" and handler.headers["Content-Type"] == "application/x-ndjson"
        assert handler.headers["Content-Encoding"] == "gzip"
        assert abs(email.utils.parsedate_to_datetime(handler.headers["Date"]).timestamp() - time.time()) < 600
        lines = gzip.decompress(body).decode().splitlines()
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

    @staticmethod
    def await_it(look, seconds=60):
        end = time.monotonic() + seconds
        while not (found := look()) and time.monotonic() < end:
            time.sleep(0.05)
        assert found, "it did not come"
        return found


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
        answers = [{"answer": "refused", "reason": reason} if json.loads(line)["job"]["id"] == job else
                   double.take([line])[0] for line in lines]
        double.send(handler, 200, "".join(json.dumps(a) + "\n" for a in answers), len(lines))
        return True
    return step
