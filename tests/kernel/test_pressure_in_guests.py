# SPDX-License-Identifier: MIT
"""Pressure of real groups on v2, against what the command itself reads of its group at its end."""

import json

import pytest

from guest import Case

# A file larger than the memory that there is for it, of which the meter takes its part, read again and again; and two programs for half a CPU.
SCRIPT = """set -e
mkdir -p /tmp/x
dd if=/dev/zero of=/tmp/image bs=1M count=80 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop /tmp/image /tmp/x
dd if=/dev/zero of=/tmp/x/data bs=1M count=61 2>/dev/null
sync
echo 3 >/proc/sys/vm/drop_caches
cd /sys/fs/cgroup
echo "+memory +cpu +pids" >cgroup.subtree_control
mkdir tight
echo "+memory +cpu +pids" >tight/cgroup.subtree_control
mkdir tight/own
echo 37748736 >tight/memory.max
echo "50000 100000" >tight/cpu.max
cat >/tmp/work <<'END'
for i in 1 2 3 4 5; do dd if=/tmp/x/data of=/dev/null bs=1M 2>/dev/null; done
burn spin 499 /dev/null & burn spin 499 /dev/null; wait
group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
for kind in cpu io memory; do cat $group/$kind.pressure >/out/$kind; done
END
sh -c 'echo $$ >tight/own/cgroup.procs; exec jobmeter run --quiet --output /out/record.json -- sh /tmp/work'
"""

case = pytest.mark.parametrize("result", [Case(SCRIPT, agent=True)], indirect=True, ids=["guest"])


def totals(result, kind):
    lines = (line.split() for line in result.files[kind].decode().splitlines())
    return {words[0]: int(words[-1].removeprefix("total=")) / 1e6 for words in lines}


@case
def test_pressure_is_what_the_kernel_says_of_the_group(kernel, result):
    assert result.status == 0, result.stderr
    record = json.loads(result.files["record.json"])
    pressure = record["pressure"]
    for kind in ("cpu", "io", "memory"):
        told = totals(result, kind)
        for word, key in (("some", "waiting"), ("full", "stalled")):
            seconds = pressure[f"{kind}_{key}_seconds"]
            if kernel.name == "5.10" and (kind, word) == ("cpu", "full"):
                assert seconds is None and word not in told
                continue
            assert told[word] <= seconds <= told[word] + 0.25, (kind, word)  # the end of the shell is in it
    assert pressure["cpu_waiting_seconds"] > 0.3 and pressure["memory_waiting_seconds"] > 0
    assert pressure["memory_waiting_seconds"] >= pressure["memory_stalled_seconds"]
