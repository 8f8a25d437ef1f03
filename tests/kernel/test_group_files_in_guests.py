# SPDX-License-Identifier: MIT
"""The files of real groups on v2: what they say, and what remains when a group or a controller goes."""

import pytest

from guest import Case

MIB = 1 << 20

SCRIPT = """set -e
cd /sys/fs/cgroup
echo "+memory +cpu +pids" >cgroup.subtree_control
mkdir top
echo "+memory +cpu +pids" >top/cgroup.subtree_control
mkdir top/a top/b
echo 55574528 >top/b/memory.max
echo "70000 100000" >top/b/cpu.max
mkfifo /tmp/ask
grouped /top/a /top/b </tmp/ask >/out/told &
exec 3>/tmp/ask
ask() { echo >&3; until [ "$(grep -c descriptors /out/told)" = $1 ]; do :; done; }
ask 1
rmdir top/a
ask 2
echo -memory >top/cgroup.subtree_control
ask 3
exec 3>&-
wait
rmdir top/b top
"""

case = pytest.mark.parametrize("result", [Case(SCRIPT)], indirect=True, ids=["guest"])


def told(result):
    """A reading each: {path: {key: text}, or "gone"}."""
    assert result.status == 0, result.stderr
    readings = [{}]
    for line in result.files["told"].decode().splitlines():
        name, *words = line.split()
        if name == "descriptors":
            readings.append({})
        else:
            readings[-1][name] = "gone" if words == ["gone"] else dict(word.split("=") for word in words)
    return readings[:-1]


@case
def test_files_of_v2_are_read(kernel, result):
    first = told(result)[0]
    assert first["/top/a"]["memory.usage_bytes"] == "0"
    # memory.peak came with Linux 5.19
    assert ("memory.peak_bytes" in first["/top/a"]) == (kernel.name != "5.10")
    assert {"cpu.user_seconds", "cpu.throttled_seconds", "memory.oom_kills", "memory.limit_hits", "memory.high_hits",
            "memory.limit_failures", "memory.anon_peak_bytes", "memory.file_peak_bytes",
            "memory.shmem_peak_bytes"} <= set(first["/top/a"])
    # memory.stat has it since Linux 5.18
    assert ("memory.kernel_peak_bytes" in first["/top/a"]) == (kernel.name != "5.10")


@case
def test_limits_of_v2_are_read(result):
    first = told(result)[0]
    assert first["/top/b"]["limit"] == str(53 * MIB)
    assert first["/top/b"]["millicores"] == "700"
    assert first["/top/a"]["millicores"] == "2000"
    assert first["/top/a"]["cpus"] == "0-1"


@case
def test_a_v2_group_that_goes_is_gone_and_one_that_loses_a_controller_is_not(result):
    _, second, third = told(result)
    assert second["/top/a"] == third["/top/a"] == "gone"
    assert "memory.usage_bytes" in second["/top/b"]
    assert "memory.usage_bytes" not in third["/top/b"]
    assert "cpu.user_seconds" in third["/top/b"]
