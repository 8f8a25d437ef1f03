# SPDX-License-Identifier: MIT
"""Who is killed for want of memory is named: beside what the kernel's own log says of the very same kill."""

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime

import pytest

from agent_pages import PATIENCE_S, ask, final_record
from job_groups import MANAGER, TREE

LIMIT = 67 << 20
HOG_MIB = 131

# A hog beside one that stays below the limit, and that goes on after it.
BOTH = '{burn} memory 13 {small} & {burn} memory {mib} /dev/null; {burn} memory 11 {late}; wait'


def log_since(kmsg):
    lines = []
    while True:
        try:
            lines.append(os.read(kmsg, 8192).decode(errors="replace"))
        except BlockingIOError:
            return lines


@pytest.fixture
def kernel_log(root, demand):
    """kernel_log(): {pid: what the kernel said of its kill} since the test began."""
    try:
        kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as e:
        demand(False, f"cannot read the kernel's log: {e}")
    os.lseek(kmsg, 0, os.SEEK_END)

    def read():
        found = {}
        for line in log_since(kmsg):
            kill = re.search(r"Killed process (\d+) \((.*?)\).* anon-rss:(\d+)kB, file-rss:(\d+)kB, shmem-rss:(\d+)kB, "
                             r"UID:(\d+)", line)
            if kill:
                pid, command, anon, file, shmem, uid = kill.groups()
                found[int(pid)] = {"command": command, "uid": int(uid), "anon_bytes": int(anon) << 10,
                                   "file_bytes": int(file) << 10, "shmem_bytes": int(shmem) << 10}
        return found

    yield read
    os.close(kmsg)


def set_limit(groups, name):
    groups.make(name)
    folder = next(root for root in groups.roots if root.parent == TREE or root.parent.name == "memory") / name
    file = folder / "memory.limit_in_bytes"
    (file if file.exists() else folder / "memory.max").write_text(str(LIMIT))


def script(programs, folder):
    return BOTH.format(burn=programs / "tests/truth/burn", mib=HOG_MIB, small=folder / "small.json",
                       late=folder / "late.json")


def assert_is_named(victims, said, began):
    """Each kill of the log, and nobody else."""
    assert len(said) == 1
    assert {v["pid"] for v in victims} == set(said)
    for v in victims:
        own = said[v["pid"]]
        assert {key: v[key] for key in own} == own
        assert v["rss_bytes"] == own["anon_bytes"] + own["file_bytes"] + own["shmem_bytes"]
        # What runs below a limit has the meter beside it, which takes some 27 MiB of it, tables and all.
        assert LIMIT // 4 < v["rss_bytes"] <= LIMIT + (8 << 20)
        assert began - 1 < datetime.fromisoformat(v["time"][:26] + "+00:00").timestamp() < time.time() + 1


def test_run_names_who_was_killed(programs, groups, tmp_path, kernel_log):
    set_limit(groups, "limited")
    began, output = time.time(), tmp_path / "record.json"
    done = groups.start("limited", programs / "jobmeter", "run", "--standalone", "--output", output, "--", "sh", "-c",
                        script(programs, tmp_path), stderr=subprocess.PIPE, text=True,
                        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    report = done.communicate(timeout=120)[1]
    memory = json.loads(output.read_text())["memory"]
    assert memory["oom_kills"] == 1
    said = kernel_log()
    assert_is_named(memory["oom"], said, began)
    assert (tmp_path / "small.json").exists() and (tmp_path / "late.json").exists()
    pid = next(iter(said))
    assert re.search(rf"^  Out of memory +burn \(pid {pid}\) with [\d.]+ MiB at \d\d:\d\d:\d\d$", report, re.MULTILINE), report


# On v1 a group counts its own kills alone: eleven hogs in a group, and three in one below it, of which the command removes
# both before it ends.
BELOW = """
import os, subprocess, sys
own = next(line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup") if ":memory:" in line)
outer = "/sys/fs/cgroup/memory" + own + "/outer"
inner = outer + "/inner"
os.makedirs(inner)
with open(outer + "/memory.limit_in_bytes", "w") as file:
    file.write(sys.argv[1])
def enter(group):
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
for group, count in ((outer, 11), (inner, 3)):
    for _ in range(count):
        hog = subprocess.run([sys.argv[2], "memory", sys.argv[3], "/dev/null"], preexec_fn=lambda: enter(group))
        assert hog.returncode == 1  # its child was killed
for group in (inner, outer):
    while True:
        try:
            os.rmdir(group)
            break
        except OSError:  # the last one is still going
            pass
"""


def below(programs):
    return [sys.executable, "-c", BELOW, LIMIT, programs / "tests/truth/burn", HOG_MIB]


@pytest.fixture
def own_kills_only(demand):
    demand((TREE / "memory/memory.oom_control").exists(), "needs cgroup v1, where a group counts its own kills alone")


def test_run_counts_kills_of_groups_that_the_command_made(programs, tmp_path, root, own_kills_only, run_metered):
    memory = run_metered(*below(programs), options=["--standalone"], tier="T0")["memory"]
    assert memory["oom_kills"] == 14
    assert len(memory["oom"]) == 8 + 3  # of each group the first ones


def test_an_agent_counts_kills_of_a_group_and_those_below_it(start_agent, programs, groups, own_kills_only):
    agent, name = start_agent(), groups.name(3, "0")
    groups.run(name, *below(programs))
    groups.remove(groups.name(3))
    assert folded_record(agent, 3)["memory"]["oom_kills"] == 14


def test_without_a_kill_nobody_is_named(programs, tmp_path, root):
    output = tmp_path / "record.json"
    subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--output", output, "--", "sh", "-c",
                    "sleep 100 & kill -KILL $!; wait"], check=True, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    record = json.loads(output.read_text())
    assert "oom" not in record["memory"] and record["memory"]["oom_kills"] == 0


def victims_of(agent, job):
    """Once there is one: a reading that is younger than a second is not taken again."""
    end = time.monotonic() + PATIENCE_S
    while not (found := ask(agent, f"/v1/jobs/{MANAGER}/{job}")["memory"].get("oom")) and time.monotonic() < end:
        time.sleep(0.1)
    return found or []


def folded_record(agent, job):
    """The last one: a job has ended before the last of its tasks is freed, and its groups' own counts come after that."""
    end = time.monotonic() + 2 * PATIENCE_S
    while (record := final_record(agent, job))["memory"]["oom_kills"] is None and time.monotonic() < end:
        time.sleep(0.1)
    return record


def test_an_agent_names_them_and_forgets_none(start_agent, programs, groups, tmp_path, kernel_log):
    agent, name = start_agent(), groups.name(7, "0")
    set_limit(groups, groups.name(7))
    began = time.time()
    groups.run(name, "sh", "-c", script(programs, tmp_path))
    said = kernel_log()
    assert_is_named(victims_of(agent, 7), said, began)
    for end in (agent.kill, agent.step_aside):
        end()
        agent.start()
        assert_is_named(victims_of(agent, 7), said, began)
    groups.remove(groups.name(7))
    record = folded_record(agent, 7)
    assert_is_named(record["memory"]["oom"], said, began)
    assert record["memory"]["oom_kills"] == 1
    agent.kill()  # what ended is in its state alone
    agent.start()
    assert_is_named(victims_of(agent, 7), said, began)
