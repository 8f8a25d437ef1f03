# SPDX-License-Identifier: MIT
"""What a run makes for its command, and what is left when one of them ends in another way."""

import json
import os
import signal
import subprocess
import sys

import pytest

WRITTEN = {1: 13117, 2: 7919}
# Ends beside a child that it terminated; nobody waits for that one while the measured program lives.
CHILD_LEFT = """import os, signal, time
child = os.fork()
if not child: os.execvp("sleep", ["sleep", "1000"])
os.kill(child, signal.SIGKILL)
while open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0] != "Z": time.sleep(0.01)
os._exit(0)"""
NOBODY_WAITS = """import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
sys.exit(subprocess.run(sys.argv[1:]).returncode)"""


def cgroups(*before):
    """{controllers: path} of a process that is started so."""
    text = subprocess.run([*before, "cat", "/proc/self/cgroup"], capture_output=True, text=True, check=True).stdout
    return {names: path for _, names, path in (line.split(":", 2) for line in text.splitlines())}


def directories(text):
    return [line.split()[1] + path for line in open("/proc/mounts") if line.split()[2] in ("cgroup", "cgroup2")
            for _, names, path in (line.split(":", 2) for line in text.splitlines())
            if set(filter(None, names.split(","))) <= set(line.split()[3].split(","))]


@pytest.fixture
def jobmeter(programs, root):
    return [programs / "jobmeter", "run", "--quiet"]


def test_runs_of_one_pid_are_told_apart(jobmeter, tmp_path):
    """In PID namespaces of their own, in one cgroup, at the same time: as ranks in containers."""
    runs = []
    for rank, size in WRITTEN.items():
        others = tmp_path / f"began-{3 - rank}"
        script = f"touch {tmp_path}/began-{rank}; until test -e {others}; do sleep 0.05; done; head -c {size} /dev/zero >{tmp_path}/{rank}"
        runs.append(subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", *jobmeter, "--output", tmp_path / f"{rank}.json",
                                      "--", "sh", "-c", script]))
    assert [run.wait(120) for run in runs] == [0, 0]
    records = {rank: json.loads((tmp_path / f"{rank}.json").read_text()) for rank in WRITTEN}
    assert records[1]["job"]["id"] != records[2]["job"]["id"]
    for rank, record in records.items():
        assert WRITTEN[rank] in [mount["write"]["bytes"] for mount in record["io"] if "write" in mount]


def test_the_groups_of_a_killed_run_go_with_the_next(jobmeter, tmp_path):
    run = subprocess.Popen([*jobmeter, "--output", tmp_path / "first.json", "--", "sh", "-c", "cat /proc/self/cgroup; echo $$; exec sleep 1000"],
                           stdout=subprocess.PIPE, text=True)
    lines = []
    while not lines or not lines[-1].strip().isdigit():
        lines.append(run.stdout.readline())
    own = [path for path in directories("".join(lines[:-1])) if path.endswith(f"-{run.pid}")]
    assert own and all(os.path.isdir(path) for path in own)
    run.kill()
    run.wait()
    command = os.pidfd_open(int(lines[-1]))
    signal.pidfd_send_signal(command, signal.SIGKILL)
    assert run.stdout.read() == ""  # the command has ended, and closed it
    while any(open(f"{path}/cgroup.procs").read() for path in own if os.path.isdir(path)):
        pass
    subprocess.run([*jobmeter, "--output", tmp_path / "next.json", "--", "true"], check=True)
    assert not any(os.path.isdir(path) for path in own)


def test_a_child_that_nobody_waits_for_is_counted_at_the_end(jobmeter, tmp_path):
    """A busy machine may free the command's own task too late, and then that is said; it does not do so five times."""
    for _ in range(5):
        subprocess.run([sys.executable, "-c", NOBODY_WAITS, *jobmeter, "--output", tmp_path / "run.json", "--", sys.executable, "-c",
                        CHILD_LEFT], check=True)
        record = json.loads((tmp_path / "run.json").read_text())
        assert record["tasks"]["ended"] == 2
        if "the last milliseconds of some processes' CPU time are missing" not in record["coverage"]["notes"]:
            return
    pytest.fail("a child that nobody waits for makes the run wait for it")


def test_the_command_shares_the_cpu_as_without_a_meter(jobmeter, tmp_path):
    alone, measured = cgroups(), cgroups(*jobmeter, "--output", tmp_path / "run.json", "--")
    assert measured != alone
    assert [path for names, path in measured.items() if "cpu" in names.split(",")] == \
           [path for names, path in alone.items() if "cpu" in names.split(",")]


def test_what_processes_did_that_left_the_cgroup_is_said_to_be_missing(jobmeter, tmp_path):
    """As sudo, systemd-run and docker move them."""
    top = next(path for path in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup") if os.path.exists(f"{path}/cgroup.procs"))
    script = f"echo $$ >{top}/cgroup.procs; exec {sys.executable} -c 'import time\nwhile time.process_time() < 0.6: pass'"
    subprocess.run([*jobmeter, "--output", tmp_path / "run.json", "--", "sh", "-c", script], check=True)
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["coverage"]["missing"][0].startswith("what some processes did: they left the command's cgroup")
    assert record["cpu"]["user_seconds"] + record["cpu"]["system_seconds"] > 0.6  # as wait() says
