# SPDX-License-Identifier: MIT
"""What a jobmeter that has ended must not leave behind.  Other tests may run on the machine meanwhile: theirs does not count."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

PROGRAMS = {"enter_call", "leave_call", "park_call", "count_freed_task", "read_tasks"}
BEGAN = time.time()
# Processes of this test, and of its lane, where orphans go to.
OURS = {os.getpid(), int(os.environ.get("JOBMETER_LANE", os.getpid()))}


def is_alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def is_ours(pid):
    """It, or what started it, is this test or its lane.  OSError: it has ended."""
    while pid > 1:
        if pid in OURS:
            return True
        status = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
        pid = int(re.search(r"^PPid:\s*(\d+)", status, re.M)[1])
    return False


def is_anothers(group):
    """It was there before this test, or a process lives in it that is not ours."""
    try:
        if os.stat(group).st_ctime < BEGAN:
            return True
        return any(not is_ours(int(pid)) for pid in pathlib.Path(group, "cgroup.procs").read_text().split())
    except OSError:  # it goes
        return False


def groups(started=None):
    """Groups whose maker has gone; the name ends in its pid.  @started: those of these pids only."""
    found = (f"{folder}/{name}" for folder, names, _ in os.walk("/sys/fs/cgroup")  # bears groups that vanish
             for name in names if name.startswith("jobmeter-"))
    makers = {path: m[1] for path in found if (m := re.search(r"-(\d+)$", path))}
    return [path for path, pid in makers.items() if not is_alive(pid)
            and (not is_anothers(path) if started is None else pid in started)]


def held_programs():
    """Numbers of the BPF programs that processes have open, themselves or by a link."""
    found = set()
    for fd in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if "bpf" in os.readlink(fd):
                found.update(map(int, re.findall(r"^prog_id:\s*(\d+)", (fd.parents[1] / "fdinfo" / fd.name).read_text(), re.M)))
        except OSError:
            pass
    return found


def bpf_programs():
    """Programs of a meter that no process holds, and no pin of an agent's: of all that share its maps, none."""
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.path.exists(bpftool):
        return []

    def show(what, tries=20):
        """It fails where one of them, perhaps another test's, goes meanwhile."""
        done = subprocess.run([bpftool, "-f", "-j", what, "show"], capture_output=True, text=True)
        return json.loads(done.stdout or "[]") if done.returncode == 0 or tries == 1 else show(what, tries - 1)

    programs = show("prog")
    loaded = [p for p in programs if p.get("name") in PROGRAMS and p.get("loaded_at", BEGAN) >= int(BEGAN)]
    if not loaded:
        return []
    used = held_programs() | {link["prog_id"] for link in show("link") if link.get("pinned") and "prog_id" in link}
    used_maps = {number for p in programs if p["id"] in used or p.get("pinned") for number in p.get("map_ids", [])}
    return [f"{p['name']} {p['id']}" for p in loaded if p["id"] not in used and not used_maps & set(p.get("map_ids", []))]


def processes():
    """Processes of the program under test that this test started."""
    build = os.environ.get("JOBMETER_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
    program = os.path.realpath(f"{build}/jobmeter")
    found = []
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(exe) == program and is_ours(int(exe.parent.name)):
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
