# SPDX-License-Identifier: MIT
"""Who is killed for want of memory is named on other kernels, whose tracepoint tells less, and on cgroup v2."""

import json
import re

import pytest

from guest import Case

LIMIT = 37 << 20

# In the run's own group, which gets a limit, a hog beside one that stays below it.  jobmeter's own memory is not in it.
HOG = f"""set -e
cat >/tmp/script <<'END'
echo {LIMIT} >/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/memory.max
burn memory 7 /out/small.json & burn memory 61 /tmp/hog.json
wait
END
jobmeter run --quiet --output /out/record.json -- sh /tmp/script
dmesg | grep 'Killed process' >/out/log
"""


@pytest.mark.parametrize("result", [Case(HOG, agent=True)], indirect=True)
def test_who_was_killed_is_named_as_the_kernels_log_has_it(kernel, result):
    assert result.status == 0, result.stderr
    memory, log = json.loads(result.files["record.json"])["memory"], result.files["log"].decode()
    kills = re.findall(r"Killed process (\d+) \((\w+)\).* anon-rss:(\d+)kB, file-rss:(\d+)kB, shmem-rss:(\d+)kB", log)
    assert len(kills) == 1 and "small.json" in result.files
    pid, command, *parts = kills[0]
    victim, = memory["oom"]
    assert (victim["pid"], victim["command"], victim["uid"]) == (int(pid), command, 0)
    assert [victim[f"{kind}_bytes"] >> 10 for kind in ("anon", "file", "shmem")] == [int(part) for part in parts]
    assert memory["oom_kills"] == 1
