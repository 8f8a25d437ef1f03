# SPDX-License-Identifier: MIT
"""System calls by name on other kernels: what jobmeter counted is what the program made, on full preemption too."""

import json

import pytest
from calls_cases import OPTIONS, contradictions, differences, lost

from guest import OPTIONAL, Case

SCRIPT = """set -e
jobmeter run --quiet --syscalls --output /out/record.json -- calls {options} > /out/said.txt
"""


def cases():
    for name, options in OPTIONS.items():
        for boot in ("", "preempt=full"):
            yield pytest.param(Case(SCRIPT.format(options=" ".join(options)), boot=boot), options,
                               id=f"{name}, {boot}" if boot else name)


@pytest.mark.parametrize("result, options", cases(), indirect=["result"])
def test_every_call_error_and_nap_is_counted(kernel, result, options):
    assert result.status == 0, result.stderr
    record = json.loads(result.files["record.json"])
    if "T3" not in record["coverage"]["tiers"] and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: no T3: {'; '.join(record['coverage']['missing'])}")
    assert differences(result.files["said.txt"].decode(), record) == {}
    assert contradictions(record) == []
    assert record["coverage"]["lost_events"] == lost(record, options)
