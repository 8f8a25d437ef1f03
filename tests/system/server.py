# SPDX-License-Identifier: MIT
"""A server in a folder of its own, on a free port, as a user of its own, that nothing outlives.

    with Server(folder, keeper) as server:
        server.push([b'{"schema": ...}'])
        server.ask("/v1/jobs")
"""

import collections
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import signal
import socket
import sqlite3
import ssl
import subprocess
import time

from ports import free_ports
from slurm import make_users

BUILD = pathlib.Path(os.environ.get("JOBMETER_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
PROGRAM = BUILD.resolve() / "jobmeter-server"
USER = f"jm-server-{os.getpid()}"

Answer = collections.namedtuple("Answer", "status headers text")


class ServerError(Exception):
    pass


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """@folder: where its user may go.  @data: where the database is, if the folder's own will not do; @settings: more of server.yaml."""

    def __init__(self, folder, keeper, data=None, environment=None, **settings):
        self.folder, self.keeper = folder, keeper
        self.environment = {"PATH": os.environ["PATH"], **(environment or {})}
        self.port, = free_ports(1)
        self.socket = folder / "server.sock"
        self.models = folder / "models"
        self.database = (data or folder / "data") / "jobs.db"
        self.config = folder / "server.yaml"
        self.process = None
        self.settings = {"listen": f"127.0.0.1:{self.port}", "token_file": f"{folder}/push.token",
                         "socket": {"path": str(self.socket)}, "database": str(self.database), "model_file": str(self.models),
                         "user": USER, **settings}

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        make_users(self.keeper, [USER])
        self.configure()
        self.start()
        return self

    def configure(self, **settings):
        self.settings.update(settings)
        self.config.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in self.settings.items()))  # JSON is YAML

    def __exit__(self, kind, *_):
        if kind:
            print(self.log())
            self.end(signal.SIGKILL)
        elif status := self.end(signal.SIGTERM):
            raise ServerError(f"the server ended with {status}:\n{self.log()}")

    def start(self, seconds=60, before=()):
        """Returns when it serves; @before: what it is started by."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*before, PROGRAM, "--config", self.config], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True, env=self.environment)
        self.keeper.undo("/bin/sh", "-c", f"kill -KILL {self.process.pid}")
        end = time.monotonic() + seconds
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise ServerError(f"the server did not start ({self.process.poll()}):\n{self.log()}")
            time.sleep(0.01)

    def is_ready(self):
        try:
            return self.get("/health").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def run(self, *arguments):
        """The program beside it, on the same settings."""
        return subprocess.run([PROGRAM, "--config", self.config, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={"PATH": os.environ["PATH"]})

    @property
    def token(self):
        return (self.folder / "push.token").read_text().strip()

    def request(self, connection, method, path, body=None, **headers):
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def get(self, path, method="GET", body=None, **headers):
        tls = self.settings.get("tls")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60,
                                                 context=ssl.create_default_context(cafile=tls["certificate"])) \
            if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        return self.request(connection, method, path, body, **headers)

    def post(self, body, **headers):
        """The whole answer."""
        return self.get("/api/v1/records", "POST", body, Authorization=f"Bearer {self.token}",
                        **{"Content-Type": "application/x-ndjson"}, **headers)

    def push(self, lines, packed=True):
        """As a spool does: members behind each other.  What was answered to each line."""
        body = b"".join(gzip.compress(line + b"\n", 1) if packed else line + b"\n" for line in lines)
        answer = self.post(body, **({"Content-Encoding": "gzip"} if packed else {}))
        if answer.status != 200:
            raise ServerError(f"{answer.status}: {answer.text}")
        return [json.loads(one) for one in answer.text.splitlines()]

    def ask(self, path):
        """As root, on the socket."""
        return self.request(UnixConnection(self.socket), "GET", path)

    def jobs(self, query=""):
        answer = self.ask(f"/v1/jobs?{query}")
        if answer.status != 200:
            raise ServerError(answer.text)
        return json.loads(answer.text)["jobs"]

    def ask_as(self, uid, path):
        """(status, text) for another user."""
        done = subprocess.run(["curl", "-s", "-w", "\n%{http_code}", "--unix-socket", self.socket, f"http://localhost{path}"],
                              user=uid, group=uid, extra_groups=[], capture_output=True, text=True, timeout=60, cwd="/")
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text

    def database_rows(self, question):
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            return db.execute(question).fetchall()

    def log(self):
        path = self.folder / "log"
        return f"server's log:\n{path.read_text(errors='replace')[-8000:]}" if path.exists() else "no server's log"
