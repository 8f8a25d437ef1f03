# SPDX-License-Identifier: MIT
"""`jobmeter up` in a folder of its own, on free ports, that nothing outlives.

    with Up(programs, folder, keeper) as up:
        up.jobs("--all", "-o", "id,written")
"""

import csv
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from agent import BPFFS
from ports import free_ports
from slurm import make_users

PROGRAMS = ("jobmeter", "jobmeter-agent", "jobmeter-server")
USERS = ("jobmeter", "jobmeter-server")


def two_ports():
    """A port that is free, and whose next one is."""
    while True:
        port, = free_ports(1)
        if port < 65000 and port + 1 not in taken_ports():
            return port


def taken_ports():
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {int(line.split()[1].rpartition(":")[2], 16) for line in lines}


class Up:
    """@settings: of the agent, as its environment has them."""

    def __init__(self, programs, folder, keeper, **settings):
        self.folder, self.state, self.keeper = folder, folder / "state", keeper
        self.port = two_ports()
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        for program in PROGRAMS:  # where no user's way is barred
            shutil.copy2(programs / program, folder / program)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": str(folder / "history"),
                            "JOBMETER_CONFIG": "/dev/null", **settings}
        make_users(keeper, USERS)
        self.process = None

    def launch(self, before=()):
        """@before: what it is started by."""
        self.keeper.undo("rm", "-rf", BPFFS / f"jobmeter-{self.port}")
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*before, self.folder / "jobmeter", "up", "--state", self.state, "--port", str(self.port)], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        self.keeper.undo("/bin/sh", "-c", f"kill {self.process.pid}; sleep 1; kill -KILL {self.process.pid}")

    def start(self, seconds=90, before=()):
        """Returns when both serve."""
        self.launch(before)
        self.lines = []
        end = time.monotonic() + seconds
        while not (self.lines and self.lines[-1].startswith("end")):
            line = self.process.stdout.readline()
            assert line and time.monotonic() < end, f"up did not start: {self.process.poll()}\n{self.log()}"
            self.lines.append(line.rstrip("\n"))
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind:
            print(self.log())
        self.end(signal.SIGTERM)

    def end(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(120)

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace")[-8000:] if path.exists() else "no log"

    @property
    def database(self):
        return self.state / "server/jobs.db"

    def type(self, *argv, user=None):
        """`jobmeter ...`, as @user."""
        options = {}
        environment = {**self.environment, "JOBMETER_SOCKET": str(self.state / "agent.sock"),
                       "JOBMETER_SERVER_SOCKET": str(self.state / "server.sock")}
        if user:
            entry = pwd.getpwnam(user)
            options = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            environment["XDG_STATE_HOME"] = "/nonexistent"
        return subprocess.run([self.folder / "jobmeter", *map(str, argv)], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, cwd="/", **options)

    def jobs(self, *options, user=None):
        """The rows of the list."""
        done = self.type("jobs", "--format", "csv", "--limit", "0", *options, user=user)
        assert done.returncode == 0, done.stderr
        return list(csv.DictReader(done.stdout.splitlines()))

    def children(self):
        """{name: pid} of what it started."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = path.read_bytes().rpartition(b")")[2].split()[1]
                if int(parent) == self.process.pid:
                    found[os.readlink(path.parent / "exe").rpartition("/")[2]] = int(path.parent.name)
            except OSError:  # it has gone
                continue
        return found
