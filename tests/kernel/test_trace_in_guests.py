# SPDX-License-Identifier: MIT
"""Traced calls on other kernels, some of which have no links of many probes; and functions of the kernel, which this machine's
need not have."""

import collections
import json

import pytest

from guest import OPTIONAL, Case

SCRIPT = """set -e
mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true
trace="jobmeter trace --budget 0 --format ndjson"
$trace --output /out/functions --probe '/bin/traced:traced_work(n=p1, exit=return)' \
	--probe '/bin/traced:traced_nested(depth=p1, exit=return)' --probe '/bin/traced:traced_text(text=str(p1, 64), sleepable=yes)' \
	-- sh -c 'traced work 997 2 0; traced nested 11 7; traced text'
cd /tmp
$trace --output /out/kernel --probe 'kernel:vfs_mkdir(exit=return)' --probe tracepoint:sched:sched_process_exec \
	-- traced exec /bin/busybox mkdir a b c d e
"""


def calls(result, name):
    return [json.loads(line) for line in result.files[name].decode().splitlines()]


@pytest.mark.parametrize("result", [Case(SCRIPT)], indirect=True, ids=[""])
def test_calls_are_those_made(kernel, result):
    if result.status != 0 and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: {result.stderr}")
    assert result.status == 0, result.stderr
    assert result.stderr == ""
    of = collections.Counter(c["probe"].split(":")[-1] for c in calls(result, "functions"))
    assert of == {"traced_work": 2 * 997, "traced_nested": 11 * 7, "traced_text": 1}
    nested = [c for c in calls(result, "functions") if "depth" in c["arguments"]]
    assert all(c["return"] == c["arguments"]["depth"] for c in nested)
    assert [c["arguments"] for c in calls(result, "functions") if "text" in c["arguments"]] == [{"text": "untouched"}]
    of = collections.Counter(c["probe"].split(":")[-1] for c in calls(result, "kernel"))
    assert of["vfs_mkdir"] == 5
    assert of["sched_process_exec"] == 2
