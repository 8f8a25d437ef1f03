# SPDX-License-Identifier: MIT
"""Two nodes and the site's server: guests whose clocks are 3 s apart send one job's records to a server on this machine.  One of
them falls silent, comes back, and is killed at last."""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from guest import BUILD, MODULES, REPO, Case, Guest, Run, cases_part

sys.path.insert(0, str(REPO / "tests/system"))

from keeper import Keeper  # noqa: E402
from made_records import line  # noqa: E402
from server import Server  # noqa: E402

HOST = "10.0.2.2"  # this machine, from a guest
NET = ["-nic", "user,model=virtio-net-pci"]
AHEAD_S = 3
BLOCKS = {"node-a": 23, "node-b": 31}
BYTES = 1009  # of a block

# Both run a part of job 7, a run of their own with the same id, and job 8 or 9, which has no end.
SCRIPT = """exec 2>/dev/ttyS0
set -ex
trap 'wget -qO- --post-data ended http://{host}:{stages}/' EXIT # why stands on the console
modprobe virtio_net
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
stage() {{
	until test "$(wget -qO- http://{host}:{stages}/ || echo 0)" -ge $1; do sleep 0.5; done
}}
stage 1
date -s @$(($(wget -qO- http://{host}:{stages}/time) + {ahead})) >/dev/null
mkdir -m 1777 /tmp/w
mount -t tmpfs -o mode=1777 w /tmp/w
(umask 077; echo {token} >/tmp/token)
scope=/sys/fs/cgroup/system.slice/slurmstepd.scope
mkdir -p $scope/job_{other}/step_0/user/task_0 # before its agent
export JOBMETER_SERVER=http://{host}:{port} JOBMETER_SERVER_TOKEN_FILE=/tmp/token JOBMETER_INSECURE=on
export JOBMETER_CHECKPOINT_INTERVAL=2s JOBMETER_NODE={node} JOBMETER_CLUSTER=guests JOBMETER_INTERVAL=1s
jobmeter-agent &
until wget -qO /dev/null http://127.0.0.1:9840/health 2>/dev/null; do kill -0 $!; sleep 0.3; done
stage 2
mkdir -p $scope/job_7/step_0/user/task_0
work() {{
	sh -c "echo 0 >$scope/job_$1/step_0/user/task_0/cgroup.procs; exec su alice -c '$2'"
}}
work {other} 'sleep 3600' &
work 7 'dd if=/dev/zero of=/tmp/w/out bs={bytes} count={blocks} 2>/dev/null; sleep 3600' &
unshare -pf jobmeter run --quiet -- dd if=/dev/zero of=/tmp/w/run bs={bytes} count=7 2>/dev/null
stage 3
for process in $(cat $scope/job_7/step_0/user/task_0/cgroup.procs); do kill -KILL $process || true; done
until find $scope/job_7 -depth -type d -exec rmdir {{}} ';' 2>/dev/null && test ! -d $scope/job_7; do sleep 0.1; done
stage 4
"""


class Stages(http.server.BaseHTTPRequestHandler):
    """Tells guests how far they may go, and the time as a second begins; hears when one ended."""

    stage, has_ended = 1, False

    def do_GET(self):
        now = time.time()
        if self.path == "/time":
            time.sleep(1 - now % 1)
        self.answer(str(int(now) + 1 if self.path == "/time" else self.stage).encode())

    def do_POST(self):
        Stages.has_ended = True
        self.answer(b"")

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def stages():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Stages.stage = 1
        yield server
        server.shutdown()


@pytest.fixture
def server():
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with tempfile.TemporaryDirectory(prefix="jobmeter-server-") as name, Keeper() as keeper:
        os.chmod(name, 0o755)
        with Server(pathlib.Path(name) / "server", keeper, checkpoint_interval="4s") as server:
            yield server
            print([(job["id"], job["node"], job["nodes"], job["uid"], job["state"], job["io.write.bytes"]) for job in server.jobs()])


@contextlib.contextmanager
def booted(kernel, base, folder, node, **words):
    """A guest that goes through the script."""
    script = SCRIPT.format(host=HOST, node=node, blocks=BLOCKS[node], bytes=BYTES, **words)
    folder.mkdir()
    run = Run(folder, kernel, base + cases_part([Case(script)]), "")
    with subprocess.Popen([*run.command, *NET], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as qemu:
        try:
            yield qemu
        except AssertionError:
            print((folder / "console").read_text(errors="replace")[-6000:])
            raise
        finally:
            qemu.kill()


def wait_for(what, seconds=600):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert not Stages.has_ended
        assert time.monotonic() < end
        time.sleep(0.2)
    return found


def written(record):
    return {row["mount"]: row["write"]["bytes"] for row in record["io"] if row["mount"] == "/tmp/w"}.get("/tmp/w", 0)


def records_of(server, job):
    answer = server.ask(f"/v1/records?id={job}")
    return [json.loads(one) for one in answer.text.splitlines()] if answer.status == 200 else []


def state_of(server, job):
    found = server.jobs(f"id={job}")
    return found[0]["state"] if found else None


@pytest.mark.parametrize("kernel", ["6.12"], indirect=True)
def test_two_guests_are_one_job_and_what_they_leave_open_is_closed(kernel, programs, server, stages, tmp_path):
    tools = {name: path for name in ("curl",) if (path := shutil.which(name))}  # for its library
    if not tools:
        pytest.skip("needs curl")
    base = Guest(kernel, programs | tools, [*MODULES, "virtio_net"]).base
    words = {"stages": stages.server_port, "port": server.port, "token": server.token}
    with booted(kernel, base, tmp_path / "a", "node-a", ahead=0, other=8, **words), \
         booted(kernel, base, tmp_path / "b", "node-b", ahead=AHEAD_S, other=9, **words) as b:
        Stages.stage = 2
        wait_for(lambda: sum(written(one) for one in records_of(server, 7)) == sum(BLOCKS.values()) * BYTES)
        wait_for(lambda: len(server.jobs("id=1&manager=run&state=ended")) == 2)  # one id, two nodes, two runs
        assert state_of(server, 7) == "RUNNING"

        b.send_signal(subprocess.signal.SIGSTOP)  # it falls silent
        wait_for(lambda: state_of(server, 9) == "INCOMPLETE")
        assert state_of(server, 8) == "RUNNING"
        b.send_signal(subprocess.signal.SIGCONT)
        wait_for(lambda: state_of(server, 9) == "RUNNING")

        Stages.stage = 3
        wait_for(lambda: [one["final"] for one in records_of(server, 7)] == [True, True])
        job, = wait_for(lambda: server.jobs("id=7&state=ended"))
        parts = records_of(server, 7)
        assert [(one["node"], written(one)) for one in parts] == [(node, blocks * BYTES) for node, blocks in BLOCKS.items()]
        assert (job["nodes"], job["node"], job["final"]) == (2, None, True)
        for name, section, key in (("io.write.bytes", None, None), ("memory.minor_faults", "memory", "minor_faults")):
            sums = sum(one[section][key] for one in parts) if section else sum(
                row["write"]["bytes"] for one in parts for row in one["io"] if not row["mount"].startswith(("(", "/dev", "/proc", "/sys")))
            assert job[name] == sums, name

        b.kill()  # and does not come back
        wait_for(lambda: state_of(server, 9) == "INCOMPLETE")
        late, = records_of(server, 9)  # as its spool would have it after a boot
        late |= {"final": True, "sequence": late["sequence"] + 1}
        late["job"]["state"] = "ENDED"
        assert server.push([line(late)]) == [{"answer": "taken"}]
        assert state_of(server, 9) == "ENDED"

    done = subprocess.run([BUILD / "jobmeter", "report", "7", "--json"], capture_output=True, text=True, cwd="/",
                          env={"JOBMETER_SERVER_SOCKET": str(server.socket), "HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    merged = json.loads(done.stdout)
    assert written(merged) == sum(BLOCKS.values()) * BYTES
    told = dict(server.database_rows("SELECT node, clock_offset_ns FROM records WHERE job_id = '7'"))
    assert told["node-a"] == 0 and told["node-b"] == pytest.approx(AHEAD_S * 10**9, abs=10**9)
    assert merged["time"]["start"] == job["start"] and merged["time"]["end"] == job["end"]
