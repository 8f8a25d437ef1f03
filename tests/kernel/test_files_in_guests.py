# SPDX-License-Identifier: MIT
"""Files by mount on other kernels: what jobmeter recorded is what the truth program did, exactly; the
cases of the host's kernel, on voluntary and on full preemption."""

import json
import shlex

import compare
import mountinfo
import pytest
from cases import CASES

from guest import OPTIONAL, Case

# Two mounts whose paths end alike, a bind mount of a part of the first, and a plain folder.
SCRIPT = """set -e
mkdir -p /tmp/x/a/data /tmp/x/b/data /tmp/x/bind /tmp/x/plain
mount -t tmpfs truth /tmp/x/a/data
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop /tmp/image /tmp/x/b/data
mkdir /tmp/x/a/data/part
mount --bind /tmp/x/a/data/part /tmp/x/bind
cp /proc/self/mountinfo /out/mountinfo
jobmeter run --quiet --output /out/record.json -- truth --output /out/truth.json --device /dev/zero \
    --mount /tmp/x/a/data --mount /tmp/x/b/data --bind /tmp/x/bind --mount /tmp/x/plain {options}
"""


def truth_cases():
    for name, options in CASES.items():
        for boot in ("", "preempt=full"):
            case = Case(SCRIPT.format(options=shlex.join(options)), boot=boot)
            yield pytest.param(case, id=f"{name}, {boot}" if boot else name)


@pytest.mark.parametrize("result", truth_cases(), indirect=True)
def test_every_operation_byte_call_and_error_is_recorded(kernel, result, tmp_path):
    assert result.status == 0, result.stderr
    (tmp_path / "mountinfo").write_bytes(result.files["mountinfo"])
    mounts = mountinfo.read(tmp_path / "mountinfo")
    truth, record = json.loads(result.files["truth.json"]), json.loads(result.files["record.json"])
    coverage = record["coverage"]

    if "T2" not in coverage["tiers"] and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: no T2: {'; '.join(coverage['missing'])}")
    assert "T2" in coverage["tiers"], coverage["missing"]
    assert compare.differences(truth, record, lambda path: mountinfo.name_of(path, mounts)) == []
    assert compare.book_differences(truth, record) == []
    assert coverage["lost_events"] == 0
