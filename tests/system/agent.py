# SPDX-License-Identifier: MIT
"""An agent in a folder of its own, on a free port, that nothing outlives.

    with Agent(folder, keeper) as agent:
        agent.get("/metrics").text
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from ports import free_ports
from slurm import make_users

BUILD = pathlib.Path(os.environ.get("JOBMETER_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
PROGRAM = BUILD.resolve() / "jobmeter-agent"
USER = f"jm-agent-{os.getpid()}"  # other tests' end, and take theirs with them
BPFFS = pathlib.Path("/sys/fs/bpf")

UNVERIFIED = ssl._create_unverified_context()  # that a certificate holds is for curl and Prometheus to say

Answer = collections.namedtuple("Answer", "status type text")


class AgentError(Exception):
    pass


def environment():
    found = {"PATH": os.environ.get("PATH", "")}
    if libraries := os.environ.get("JOBMETER_LIBRARIES"):  # in a guest
        found["LD_LIBRARY_PATH"] = libraries
    return found


class Agent:
    """@folder: where it keeps all it has.  @run_dir: where its jobs/ is, if the folder's own will not do.
    @settings: more of agent.yaml."""

    def __init__(self, folder, keeper, program=PROGRAM, run_dir=None, **settings):
        self.folder, self.keeper, self.program = folder, keeper, program
        self.port, = free_ports(1)
        self.pins = BPFFS / f"jobmeter-test-{os.getpid()}-{self.port}"
        self.config = folder / "agent.yaml"
        self.process = None
        self.settings = {
            "listen": f"127.0.0.1:{self.port}", "insecure": True, "socket": {"path": f"{folder}/agent.sock"},
            "state_dir": f"{folder}/state", "run_dir": str(run_dir or folder / "run"), "pin_dir": str(self.pins),
            "user": USER, "interval": "1s",
            "budget": "100%",  # by default a storm of calls in another test makes it stop timing them
            **settings}

    def __enter__(self):
        self.prepare()
        self.start()
        return self

    def prepare(self):
        """What there has to be before it starts."""
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        make_users(self.keeper, [USER])
        if not os.path.ismount(BPFFS):
            self.keeper.run("mount", "-t", "bpf", "bpf", BPFFS, undo=["umount", BPFFS])
        self.keeper.undo("rm", "-rf", self.pins)
        self.configure()
        return self

    def configure(self, **settings):
        """It reads them when it starts, or at a SIGHUP."""
        self.settings.update(settings)
        # JSON is YAML
        self.config.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in self.settings.items()))

    def __exit__(self, kind, *_):
        if kind:
            print(self.log())
            self.kill()
        else:
            self.stop()

    def start(self, seconds=60, before=()):
        """Returns when it serves; @before: what it is started by."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*before, self.program, "--config", self.config], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True, env=environment())
        self.keeper.undo("/bin/sh", "-c", f"kill -KILL {self.process.pid}")
        end = time.monotonic() + seconds
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AgentError(f"the agent did not start ({self.process.poll()}):\n{self.log()}")
            time.sleep(0.02)

    def refusal(self, *options, before=(), **arguments):
        """(status, what it says) of one that is not to start; @before: what it is started by."""
        program = self.program
        if "user" in arguments:  # who need not reach where it was built
            program = shutil.copy(program, self.folder.parent / "agent-of-a-user")
        done = subprocess.run([*before, program, "--config", self.config, *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, env=environment(), **arguments)
        return done.returncode, done.stderr

    def is_ready(self):
        try:
            return self.get("/health").status == 200
        except OSError:
            return False

    def get(self, path, timeout=60, **headers):
        scheme = "https" if "tls" in self.settings else "http"
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=UNVERIFIED) as answer:
                return Answer(answer.status, answer.headers.get("Content-Type"), answer.read().decode("utf-8"))
        except urllib.error.HTTPError as e:
            return Answer(e.code, e.headers.get("Content-Type"), e.read().decode("utf-8", "replace"))

    def end(self, number):
        """Its exit status after this signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(120)

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        """As systemd stops it: nothing stays in the kernel."""
        status = self.end(signal.SIGTERM)
        left = [str(p) for p in [self.pins, *self.pins.rglob("*")]] if self.pins.exists() else []
        if status or left:
            raise AgentError(f"the agent ended with {status} and left {left}:\n{self.log()}")

    def step_aside(self):
        """As systemd restarts it: the pins stay for the next one."""
        return self.end(signal.SIGUSR1)

    def log(self):
        path = self.folder / "log"
        return f"agent's log:\n{path.read_text(errors='replace')[-8000:]}" if path.exists() else "no agent's log"
