# SPDX-License-Identifier: MIT
"""What a job's memory was used for, and how often it was at its limit, against what the group's own files said meanwhile."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from agent_pages import PATIENCE_S, ask, await_page, page_of
from job_groups import MANAGER, TREE

ANON, SHARED = 61 << 20, 17 << 20

# Takes memory of both kinds, waits (some seconds, or for the end of its input), and tells what its group's own file says by then.
HOLDER = f"""
import mmap, os, sys, time
anon = mmap.mmap(-1, {ANON}, flags=mmap.MAP_PRIVATE)
shared = mmap.mmap(-1, {SHARED})
for memory in anon, shared:
    for at in range(0, len(memory), 4096):
        memory[at] = 1
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
else:
    sys.stdin.read()
path = [line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")
        if line.split(":")[1] in ("memory", "")][0]
for top in "/sys/fs/cgroup/memory", "/sys/fs/cgroup":
    if os.path.exists(top + path + "/memory.stat"):
        open(sys.argv[1], "w").write(open(top + path + "/memory.stat").read())
        break
"""

# In a group of its own with a limit, more page cache than that; then what the group's own file says of it.
CACHER = """
group=$(sed -n 's/^[0-9]*:memory://p;s/^0:://p' /proc/self/cgroup | head -n 1)
for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do [ -f $top$group/memory.stat ] && break; done
limit=$top$group/memory.limit_in_bytes; [ -f $limit ] || limit=$top$group/memory.max
echo 16M >$limit
dd if=/dev/zero of=$1/cached bs=64k count=640 status=none
rm $1/cached
cat $top$group/memory.failcnt 2>/dev/null || sed -n 's/^max //p' $top$group/memory.events
"""


def stat_of(text):
    stat = dict(line.split() for line in text.splitlines())
    names = ("total_rss", "total_cache", "total_shmem") if "total_rss" in stat else ("anon", "file", "shmem")
    return [int(stat[name]) for name in names]


def parts_of(memory):
    return [memory[f"{part}_peak_bytes"] for part in ("anon", "file", "shmem")]


def assert_parts(memory, text):
    for told, is_so in zip(parts_of(memory), stat_of(text)):
        assert told == pytest.approx(is_so, rel=0.02, abs=1 << 20)
    assert ANON <= memory["anon_peak_bytes"] < ANON + (30 << 20) and SHARED <= memory["shmem_peak_bytes"]
    assert memory["kernel_peak_bytes"] is None or 0 < memory["kernel_peak_bytes"] < 8 << 20


def run(programs, tmp_path, *argv):
    output = tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--full", "--output", output, "--", *argv], check=True,
                          capture_output=True, text=True, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    return json.loads(output.read_text())["memory"], done


def test_run_tells_what_memory_was_used_for(programs, tmp_path, root):
    memory, done = run(programs, tmp_path, "/usr/bin/python3", "-c", HOLDER, tmp_path / "stat", "2.5")
    assert_parts(memory, (tmp_path / "stat").read_text())
    assert re.search(r"^memory +programs [\d.]+ MiB, page cache [\d.]+ MiB, shared memory 17 MiB", done.stderr, re.MULTILINE)


def test_the_largest_process_is_the_commands(programs, tmp_path, root):
    """And not what jobmeter itself had in memory, of which the command began as a copy."""
    memory, done = run(programs, tmp_path, "grep", "VmHWM", "/proc/self/status")
    said = int(done.stdout.split()[1]) << 10
    unsummed = 32 * os.sysconf("SC_PAGE_SIZE") * os.cpu_count()  # that the kernel's own counter leaves with the CPUs
    assert said - unsummed <= memory["process_peak_bytes"] <= said + (512 << 10)


def test_what_no_look_saw_is_not_known(programs, tmp_path, root):
    """A command that is over before the first look."""
    for _ in range(53):
        memory, _ = run(programs, tmp_path, "true")
        if memory["anon_peak_bytes"] is None:  # else the wall clock's second ended in it
            assert parts_of(memory) == [None] * 3
            return
    pytest.fail("each of many short runs was looked at")


def test_how_often_the_limit_was_hit(programs, tmp_path, root):
    folder = tmp_path if os.statvfs(tmp_path).f_bfree else "/var/tmp"
    memory, done = run(programs, tmp_path, "sh", "-c", CACHER, "sh", folder)
    said = int(done.stdout)
    assert said > 0
    assert said <= memory["limit_hits"] <= said + 64  # the shell's end is behind it
    assert memory["oom_kills"] == 0


def await_readings(agent, count):
    """So many more, one a second."""
    seen = page_of(agent).of("jobmeter_agent_readings_total")[0][1]
    await_page(agent, lambda page: page.of("jobmeter_agent_readings_total")[0][1] >= seen + count)


def count_opens(agent, name, readings, log):
    with subprocess.Popen(["strace", "-f", "-e", "trace=openat", "-o", log, "-p", str(agent.process.pid)], stderr=subprocess.DEVNULL) as s:
        await_readings(agent, readings)
        s.send_signal(signal.SIGINT)
    return len(re.findall(name, log.read_text()))


def test_an_agent_looks_at_it_seldom(start_agent, groups, tmp_path, demand):
    demand(shutil.which("strace"), "needs strace")
    demand(not (TREE / "cgroup.controllers").exists() or "memory" in (TREE / "cgroup.controllers").read_text(),
           "needs the memory controller")
    agent = start_agent()
    job = groups.start(groups.name(3), "/usr/bin/python3", "-c", HOLDER, tmp_path / "stat", stdin=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            memory = ask(agent, f"/v1/jobs/{MANAGER}/3").get("memory", {})  # none: it is not known yet
            if (memory.get("anon_peak_bytes") or 0) >= ANON and (memory.get("shmem_peak_bytes") or 0) >= SHARED:
                break
            time.sleep(0.2)
        await_readings(agent, 3)  # what the last readings saw is more than what was looked at
        assert count_opens(agent, "made_3/memory.stat", 4, tmp_path / "opens") == 0  # it grows no more
    finally:
        job.stdin.close()
        assert job.wait(60) == 0
    assert_parts(ask(agent, f"/v1/jobs/{MANAGER}/3")["memory"], (tmp_path / "stat").read_text())
