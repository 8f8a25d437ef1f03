# SPDX-License-Identifier: MIT
"""Who takes over a process of the agent's has the calls that it needs, and none by which others are taken over."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess

import pytest

from agent import PROGRAM
from repository import REPOSITORY

HIDING = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
SYS_PTRACE = 1 << 19


@pytest.fixture
def victim(root):
    """A process of root's."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def tried(programs, victim, *words):
    done = subprocess.run([programs / "tests/system/taken-over", *words, str(victim)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_without_the_filter_others_can_be_taken_over(programs, victim):
    """Else the next test would show nothing."""
    for process in ("agent-unfiltered", "helper-unfiltered"):
        result = tried(programs, victim, process)
        assert result["trace"] == result["read-memory"] == result["start-program"] == "done"


@pytest.mark.parametrize("process", ["agent", "helper", "sender", "server"])
def test_no_other_process_can_be_taken_over(programs, victim, process):
    result = tried(programs, victim, process)
    # EPERM: refused to all; ENOSYS: not among what this one needs
    assert set(result.values()) <= {"EPERM", "ENOSYS"}, result
    assert result["trace"] == result["read-memory"] == result["take-descriptor"] == "EPERM"


def test_who_traces_can_load_programs_into_the_kernel_and_nothing_else(programs, victim):
    result = tried(programs, victim, "tracer")
    assert result.pop("load-program") == "done"
    assert set(result.values()) <= {"EPERM", "ENOSYS"}, result


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def helper_of(agent):
    with open(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children") as file:
        children = [int(pid) for pid in file.read().split()]
    names = {}
    for pid in children:
        with contextlib.suppress(OSError):  # it has ended
            names[pid] = status_of(pid)["Name"]
    helper, = (pid for pid, name in names.items() if name == "jobmeter-helper")
    return helper


def test_both_processes_of_a_running_agent_are_filtered(start_agent):
    agent = start_agent()
    for status in map(status_of, [agent.process.pid, helper_of(agent)]):
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1"), status["Name"]


@pytest.mark.parametrize("before", [(), HIDING], ids=["seen", "hidden"])
def test_the_helper_sees_into_processes_only_where_it_must(programs, bench, start_agent, before):
    """It needs that right where /proc hides processes, and there a user's run has its cgroup all the same."""
    agent = start_agent(before=before)
    assert bool(int(status_of(helper_of(agent))["CapEff"], 16) & SYS_PTRACE) == bool(before)
    program = shutil.copy(programs / "jobmeter", bench.folder / "jobmeter")
    place = bench.folder / "records"
    place.mkdir()
    place.chmod(0o1777)
    nobody = pwd.getpwnam("nobody")
    done = subprocess.run(["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--", program,
                           "run", "--output", place / "record.json", "--", "dd", "if=/dev/zero", f"of={place}/written", "bs=17", "count=23"],
                          env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "XDG_STATE_HOME": str(place)},
                          capture_output=True, text=True, cwd="/", timeout=60)
    assert done.returncode == 0, done.stderr
    record = json.loads((place / "record.json").read_text())
    written = max((row["write"]["bytes"] for row in record["io"]), default=0)
    assert record["final"] and written >= 17 * 23, record["coverage"]


# That of a thread: it ends a trace on time, or asks a file system that may hang, as another test may just have mounted one.  The C
# library goes on to clone().
CLONE3 = re.compile(r'comm="jobmeter-(trace|agent)" .* syscall=435 ')


@pytest.fixture
def whole_log():
    """Of what many refusals would hide others in it the kernel lets nothing out meanwhile."""
    limit = pathlib.Path("/proc/sys/kernel/printk_ratelimit")
    before = limit.read_text()
    limit.write_text("0")
    yield
    limit.write_text(before)


@pytest.mark.usefixtures("whole_log")
def test_what_the_agent_calls_is_not_refused(bench, start_agent, groups, work):
    """A trace of a user's, a job, a page, a reload, an end: nothing of it stands in the kernel's log."""
    (bench.folder / "bin").mkdir()
    program = shutil.copy(PROGRAM, bench.folder / "bin")  # the log has calls of others, too
    shutil.copytree(REPOSITORY / "share/probes", bench.folder / "share/probes")

    def refused():
        log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines()
        return [line for line in log if "type=1326" in line and f'exe="{program}"' in line and not CLONE3.search(line)]

    agent = start_agent(program=program, trace={"users": True})
    nobody = pwd.getpwnam("nobody")
    become = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
    traced = subprocess.Popen([*become, "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
    traced.stdout.readline()  # it is nobody's from now on
    text = subprocess.run([*become, "curl", "-s", "--unix-socket", agent.settings["socket"]["path"],
                           f"http://localhost/v1/trace?pid={traced.pid}&duration=1&format=text"], capture_output=True, text=True).stdout
    traced.kill()
    traced.communicate()
    assert "No call of a probed function came" in text
    work(1)
    assert agent.get("/metrics").status == 200
    agent.configure(interval="2s")
    os.kill(agent.process.pid, 1)
    agent.stop()
    assert refused() == []
