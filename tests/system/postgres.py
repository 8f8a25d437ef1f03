# SPDX-License-Identifier: MIT
"""A real PostgreSQL in a folder of its own, on a Unix socket and on 127.0.0.1 with passwords, as user postgres, that nothing outlives.

    with Postgres(folder, keeper) as postgres:
        url = postgres.make_database("jobs")     # with share/postgresql/role.sql
        postgres.ask("jobs", "SELECT count(*) FROM records")"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from repository import REPOSITORY
from ports import free_ports

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
ROLE = "jm"
SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = off
shared_buffers = 32MB
min_wal_size = 32MB
max_wal_size = 64MB
log_line_prefix = '%m [%p] %a '
"""


def is_there():
    try:
        import psycopg2  # noqa: F401
    except ImportError:
        return False
    return bool(PROGRAMS) and os.geteuid() == 0


class Postgres:
    """@data: where its data directory is made, if the folder's own will not do."""

    def __init__(self, folder, keeper, data=None):
        self.folder, self.keeper = folder, keeper
        self.data = (data or folder) / "data"
        self.port, = free_ports(1)
        self.process = None

    def run(self, program, *arguments):
        return subprocess.run([PROGRAMS[-1] / program, *arguments], user="postgres", group="postgres", extra_groups=[], check=True,
                              capture_output=True, text=True, cwd="/")

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        for folder in {self.folder, self.data.parent}:
            shutil.chown(folder, "postgres", "postgres")
            folder.chmod(0o755)
        self.run("initdb", "-D", self.data, "--auth-local=trust", "--auth-host=scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--wal-segsize=1")
        (self.data / "postgresql.auto.conf").write_text(SETTINGS.format(folder=self.folder, port=self.port).replace("wal_segment_size = 1MB\n", ""))
        self.start()
        return self

    def __exit__(self, *_):
        self.end(signal.SIGQUIT)  # at once

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([PROGRAMS[-1] / "postgres", "-D", self.data], stdout=log, stderr=log, user="postgres",
                                            group="postgres", extra_groups=[], cwd="/", start_new_session=True)
        # those of a session go with it
        self.keeper.undo("/bin/sh", "-c", f"kill -QUIT {self.process.pid}")
        end = time.monotonic() + 60
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text(errors="replace")[-4000:])
            time.sleep(0.02)

    def is_ready(self):
        return subprocess.run([PROGRAMS[-1] / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]).returncode == 0

    def end(self, number=signal.SIGINT):
        """SIGINT: fast, SIGQUIT: without a checkpoint; SIGKILL: the processes of its connections, too."""
        if self.process.poll() is None:
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split()
            self.process.send_signal(number)
            for pid in children if number == signal.SIGKILL else []:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), number)
        return self.process.wait(60)

    def connect(self, database="postgres", role="postgres"):
        """Closed at the end; each statement by itself."""
        import psycopg2
        connection = psycopg2.connect(host=str(self.folder), port=self.port, dbname=database, user=role)
        connection.autocommit = True
        return contextlib.closing(connection)

    def ask(self, database, question, role="postgres"):
        with self.connect(database, role) as connection, connection.cursor() as cursor:
            if role == "postgres":
                cursor.execute("SET search_path = jobmeter, public")
            cursor.execute(question)
            return cursor.fetchall() if cursor.description else None

    def make_database(self, name):
        """Its URL for the server."""
        role = f"{ROLE}_{name}"
        subprocess.run(["psql", "-q", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-v", f"database={name}",
                        "-v", f"role={role}", "-f", REPOSITORY / "share/postgresql/role.sql", "postgres"], check=True)
        return self.url(role, name)

    def url(self, role, name):
        return f"postgresql://{role}@/{name}?host={self.folder}&port={self.port}"

    def drop_database(self, name):
        self.ask("postgres", f"DROP DATABASE {name} WITH (FORCE)")
        self.ask("postgres", f"DROP ROLE {ROLE}_{name}")
