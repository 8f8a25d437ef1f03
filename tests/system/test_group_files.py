# SPDX-License-Identifier: MIT
"""The files of real groups: what they say of a known deed, what remains when a group goes."""

import os
import pathlib
import re
import subprocess

import pytest

CONTROLLERS = ["memory", "cpuacct", "cpu", "pids"]
MIB = 1 << 20

# Takes 37 MiB and some CPU time, then waits for its input to end.
WORK = """import sys
block = bytearray(37 << 20)
block[::4096] = b"x" * (37 << 8)
for i in range(5_000_000): pass
print("ready", flush=True)
sys.stdin.read()
"""


class Tree:
    """Groups below one of our own, in v2's tree or in all of v1's hierarchies."""

    def __init__(self, mounts, name):
        self.own = name
        self.tops = [mount / name for mount in mounts]

    def make(self, path):
        for top in self.tops:
            (top / path).mkdir(parents=True)
        return f"/{self.own}/{path}"

    def write(self, path, file, text):
        for top in self.tops:
            if (top / path / file).exists():
                (top / path / file).write_text(text)

    def remove(self, path=""):
        for top in self.tops:
            if top.exists():
                for folder, _, _ in os.walk(top / path, topdown=False):
                    os.rmdir(folder)


def mounts_of_groups():
    """(is v2, the folders to make groups in), as the meter chooses them; none: (None, [])."""
    v1 = {}
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, point, fstype, options, *_ = line.split()
        if fstype == "cgroup2" and "memory" in (pathlib.Path(point) / "cgroup.controllers").read_text().split():
            return True, [pathlib.Path(point)]
        if fstype == "cgroup":
            v1 |= {option: pathlib.Path(point) for option in options.split(",") if option in CONTROLLERS}
    return (False, list(dict.fromkeys(v1.values()))) if "memory" in v1 else (None, [])


@pytest.fixture
def tree(root, demand, request):
    is_v2, mounts = mounts_of_groups()
    demand(is_v2 is not None, "no memory controller")
    tree = Tree(mounts, f"jobmeter-test-{os.getpid()}")
    tree.is_v2 = is_v2
    try:
        tree.make("a")
        if is_v2:
            try:
                (mounts[0] / "cgroup.subtree_control").write_text("+memory +cpu +pids")
                (tree.tops[0] / "cgroup.subtree_control").write_text("+memory +cpu +pids")
            except OSError as e:
                demand(False, f"no controllers for groups of ours: {e}")
        tree.make("b")
        yield tree
    finally:
        tree.remove()


class Grouped:
    def __init__(self, programs, *arguments):
        self.process = subprocess.Popen([programs / "tests/system/grouped", *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait() == 0

    def read(self):
        """{path: {key: text}, or "gone"}, and the last line under ""."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        told = {}
        for line in self.process.stdout:
            name, *words = line.split()
            if name == "descriptors":
                told[""] = {"used": int(words[0]), "reopened": int(words[2])}
                return told
            told[name] = "gone" if words == ["gone"] else dict(word.split("=") for word in words)
        raise AssertionError("grouped has ended")


@pytest.fixture
def work(tree):
    """work(path): a process in that group which has done its deed, and lives until the test ends."""
    running = []

    def start(path):
        process = subprocess.Popen(["/usr/bin/python3", "-c", "input()\n" + WORK], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        tree.write(path, "cgroup.procs", str(process.pid))
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_files_tell_what_the_group_did(tree, work, programs):
    work("b")
    path = f"/{tree.own}/b"
    with Grouped(programs, path) as grouped:
        told = grouped.read()[path]
    assert 37 * MIB <= int(told["memory.usage_bytes"]) < 100 * MIB
    assert int(told.get("memory.peak_bytes", told["memory.usage_bytes"])) >= int(told["memory.usage_bytes"])
    assert int(told["cpu.user_seconds"]) > 10_000_000
    assert int(told["cpu.system_seconds"]) > 0
    assert told["memory.oom_kills"] == "0"


@pytest.mark.parametrize("descriptors", ["1000", "0"])
def test_a_group_that_goes_is_gone_and_the_other_stays(tree, programs, descriptors):
    a, b = f"/{tree.own}/a", f"/{tree.own}/b"
    with Grouped(programs, "--max", descriptors, a, b) as grouped:
        before = grouped.read()
        assert before[a] != "gone" and before[b] != "gone"
        tree.remove("a")
        after = grouped.read()
        assert after[a] == "gone"
        assert after[b] != "gone"
        tree.make("a")  # another one of that name
        assert grouped.read()[a] == "gone"
        if descriptors == "0":
            assert after[""]["used"] == 0 and after[""]["reopened"] > 0
        else:
            assert 0 < after[""]["used"] < before[""]["used"] and after[""]["reopened"] == 0


def test_a_group_that_has_lost_a_controller_still_tells_the_rest(tree, programs):
    path = f"/{tree.own}/b"
    with Grouped(programs, path) as grouped:
        assert "cpu.throttled_seconds" in grouped.read()[path]
        if tree.is_v2:
            (tree.tops[0] / "cgroup.subtree_control").write_text("-memory")
        else:
            next(top for top in tree.tops if (top / "b/cpuacct.usage_user").exists()).joinpath("b").rmdir()
        told = grouped.read()[path]
        assert told != "gone"
        assert ("memory.usage_bytes" in told) != tree.is_v2
        assert ("cpu.user_seconds" in told) == tree.is_v2
        if tree.is_v2:  # and is found again when it is back
            (tree.tops[0] / "cgroup.subtree_control").write_text("+memory")
            assert any("memory.usage_bytes" in grouped.read()[path] for _ in range(64))


def test_a_group_may_use_what_its_limits_say(tree, programs):
    path = tree.make("b/c")
    tree.write("b", "memory.limit_in_bytes", str(53 * MIB))
    tree.write("b", "memory.max", str(53 * MIB))
    tree.write("b", "cpu.cfs_quota_us", "70000")
    tree.write("b", "cpu.max", "70000 100000")
    with Grouped(programs, path) as grouped:
        told = grouped.read()[path]
    assert told["limit"] == str(53 * MIB)
    assert told["millicores"] == "700"
    assert re.fullmatch(r"[0-9,-]+", told["cpus"])
