# SPDX-License-Identifier: MIT
"""Stands in for a collector of OpenTelemetry, none of which can be had here: it takes spans by OTLP/HTTP with JSON, and answers
what the test wrote down.

    with Collector() as collector: collector.url; collector.spans
"""

import gzip
import json
import socket
import threading
import time

from http_double import HttpDouble


def spans_of(request):
    return [span for resource in request["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


class Collector(HttpDouble):
    """script: what the next requests are answered, each a step as below; always: the same for all beyond it.  Where there is
    neither, spans are taken."""

    def __init__(self, script=(), always=None, port=0):
        self.script, self.always, self.port = list(script), always, port
        self.spans = []  # taken, and that was answered
        self.bodies = []  # of all requests: (time, text)
        self.statuses = []
        self.released = threading.Event()  # for steps that wait
        self.lock = threading.Lock()

    def stop(self):
        self.released.set()
        super().stop()

    def answer(self, handler):
        headers = handler.headers
        body = gzip.decompress(handler.rfile.read(int(headers["Content-Length"]))).decode()
        assert handler.path == "/v1/traces" and headers["Content-Type"] == "application/json"
        assert headers["Content-Encoding"] == "gzip"
        with self.lock:
            self.bodies.append((time.monotonic(), body))
            step = self.script.pop(0) if self.script else self.always
        if not step or not step(self, handler, body):
            self.take(handler, body)

    def take(self, handler, body, count=None, text="{}"):
        """All of it, or the first @count spans."""
        with self.lock:
            self.spans += spans_of(json.loads(body))[:count]
        self.send(handler, 200, text)

    def send(self, handler, status, text="", **headers):
        with self.lock:
            self.statuses.append(status)
        self.reply(handler, status, text.encode(), Content_Type="application/json", **headers)


# ---- steps of the script ----


def status(number, text="", **headers):
    def step(double, handler, _):
        double.send(handler, number, text, **headers)
        return True
    return step


def cut(_, handler, __):
    """The connection ends before there is any answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def never(double, handler, _):
    """No answer comes; the connection stays."""
    double.released.wait()
    return cut(double, handler, _)


def late(is_time):
    """Taken, but not answered before is_time()."""
    def step(*_):
        while not is_time():
            time.sleep(0.01)
        return False
    return step


def in_part(rejected, reason):
    """All but the last @rejected spans are taken."""
    def step(double, handler, body):
        text = json.dumps({"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": reason}})
        double.take(handler, body, -rejected, text)
        return True
    return step
