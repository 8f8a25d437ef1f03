# SPDX-License-Identifier: MIT
"""What a jobmeter that has ended must not leave behind.  Others may run on the machine meanwhile."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

PROGRAMS = {"enter_call", "leave_call", "park_call", "count_freed_task", "read_tasks"}


def is_alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def is_anothers(pid):
    """Started by other tests, which run beside these: by another pytest than this one."""
    while pid > 1 and pid != os.getpid():
        if b"pytest" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            return True
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pid = int(re.search(r"^PPid:\s*(\d+)", status, re.M)[1])
    return False


def groups():
    """Groups whose maker has gone; the name ends in its pid."""
    found = (f"{folder}/{name}" for folder, names, _ in os.walk("/sys/fs/cgroup")  # bears groups that vanish
             for name in names if name.startswith("jobmeter-"))
    return [path for path in found if (m := re.search(r"-(\d+)$", path)) and not is_alive(m[1])]


def bpf_programs():
    """Programs of ours that are loaded though no process holds them, and no pin of an agent's."""
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.path.exists(bpftool):
        return []

    def show(what):
        listed = subprocess.run([bpftool, "-f", "-j", what, "show"], capture_output=True, text=True).stdout
        return json.loads(listed or "[]")

    loaded = [p for p in show("prog") if p.get("name") in PROGRAMS]
    pinned = {link["prog_id"] for link in show("link") if link.get("pinned") and "prog_id" in link}
    return [f"{p['name']} {p['id']}" for p in loaded
            if not any(is_alive(h["pid"]) for h in p.get("pids", [])) and p["id"] not in pinned]


def processes():
    """Processes of the program under test, but those of other tests."""
    build = os.environ.get("JOBMETER_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
    program = os.path.realpath(f"{build}/jobmeter")
    found = []
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(exe) == program and not is_anothers(int(exe.parent.name)):
                found.append(exe.parent.name)
        except OSError:
            pass
    return found


def leftovers(seconds=60):
    """What is left and stays: the kernel frees programs a moment after their last user has gone."""
    end = time.monotonic() + seconds
    left = set(groups() + bpf_programs() + processes())
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= set(groups() + bpf_programs() + processes())
    return sorted(left)
