# SPDX-License-Identifier: MIT
"""Processor time: user and system within 1 % of what the kernel charged the program itself."""

import json

import pytest

CASES = {
    "spin": 1999,  # ms
    "calls": 1999,  # ms
    "forks": 503,  # children; what they do at their end counts
    "memory": 1009,  # MiB, freed by a child's end
}


@pytest.mark.parametrize("mode, amount", CASES.items(), ids=CASES.keys())
def test_user_and_system_time_are_the_kernels(programs, tmp_path, run_metered, mode, amount):
    output = tmp_path / "burn.json"
    record = run_metered(programs / "tests/truth/burn", mode, amount, output, tier="T0")
    burnt = json.loads(output.read_text())
    user, system = burnt["user_us"] / 1e6, burnt["system_us"] / 1e6
    allowed = (user + system) / 100
    cpu = record["cpu"]
    assert cpu["user_seconds"] + cpu["system_seconds"] == pytest.approx(user + system, abs=allowed)
    assert cpu["user_seconds"] == pytest.approx(user, abs=allowed)
    assert cpu["system_seconds"] == pytest.approx(system, abs=allowed)
