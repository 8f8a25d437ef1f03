# SPDX-License-Identifier: MIT
"""Time by cause on other kernels, against the programs' own clocks."""

import json

import compare
import pytest

from guest import OPTIONAL, Case

# With a file system on storage, so that pages of a mapping can be missing.
SETUP = """set -e
mkdir -p /tmp/x
dd if=/dev/zero of=/tmp/image bs=1M count=48 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop /tmp/image /tmp/x
"""
RUN = "jobmeter run --quiet --output /out/{mode}.json -- {by} waits {mode} {amount} /out/{mode}.truth /tmp/x\n"
MODES = {"sleep": 29, "lock": 29, "work": 29, "thread": 29, "poll": 29, "pipe": 29, "local": 29, "network": 29,
         "children": 29, "stopped": 29, "storage": 1009, "faults": 2003, "share": 499, "storm": 401}
ALL = Case(SETUP +
           "".join(RUN.format(mode=mode, amount=amount, by="") for mode, amount in MODES.items()) +
           RUN.format(mode="spin", amount=499, by="sh /bin/throttled.sh 20 /out/cpu.stat"), agent=True, is_timed=True)
STORM_PARENTS = 5


def near(seconds):
    return pytest.approx(seconds, rel=0.01, abs=0.02)  # software emulation: what wakes up takes its time


def read(result, mode):
    """What jobmeter says of it, and what the program does."""
    assert result.status == 0, result.stderr
    return (json.loads(result.files[f"{mode}.{kind}"]) for kind in ("json", "truth"))


def causes_of(kernel, record):
    """By cause; skips aloud where the kernel has none of it."""
    coverage = record["coverage"]
    if kernel.name in OPTIONAL:
        assert "T1" not in coverage["tiers"] and record["cpu"]["blocked_seconds"] is None
        assert "what threads wait for: this kernel offers no storage in tasks" in coverage["missing"]
        pytest.skip(f"kernel {kernel.name}: no task storage")
    assert "T1" in coverage["tiers"], coverage["missing"]
    return {key.removesuffix("_seconds"): seconds for key, seconds in record["cpu"]["causes"].items()}


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"storm"}))
def test_each_wait_has_its_cause(kernel, result, mode):
    record, truth = read(result, mode)
    causes = causes_of(kernel, record)
    expected = {cause: ns / 1e9 for cause, ns in truth["waits_ns"].items()}
    assert {cause: causes[cause] for cause in expected} == {cause: near(s) for cause, s in expected.items()}
    assert sum(seconds for cause, seconds in causes.items() if cause not in expected) < 0.05


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", sorted(MODES))
def test_nothing_is_stolen_where_the_kernel_does_not_tell_it_apart(kernel, result, mode):
    record, _ = read(result, mode)
    causes_of(kernel, record)
    assert record["cpu"]["stolen_seconds"] == 0


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", ["share", "storm"])
def test_waiting_for_a_cpu_is_what_the_kernel_told_the_program(kernel, result, mode):
    record, truth = read(result, mode)
    assert record["cpu"]["run_queue_seconds"] == near(truth["queued_ns"] / 1e9)
    assert truth["queued_ns"] / 1e9 > 0.1


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
def test_a_storm_of_short_children_is_counted_whole(kernel, result):
    record, truth = read(result, "storm")
    cpu = record["cpu"]
    assert record["tasks"]["ended"] == MODES["storm"] + STORM_PARENTS + 1
    assert cpu["user_seconds"] + cpu["system_seconds"] == near(truth["rusage_ns"] / 1e9)
    assert cpu["user_seconds"] + cpu["system_seconds"] == near(truth["wait4_ns"] / 1e9)
    assert record["coverage"]["lost_events"] == compare.not_shown(record)
    causes = causes_of(kernel, record)
    assert {cause: causes[cause] for cause in truth["waits_ns"]} == {cause: near(ns / 1e9) for cause, ns in truth["waits_ns"].items()}


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
def test_who_is_held_back_by_a_quota_waits_for_a_cpu(kernel, result):
    record, truth = read(result, "spin")
    stat = dict(line.split() for line in result.files["cpu.stat"].decode().splitlines())
    throttled, cpu = int(stat["throttled_usec"]) / 1e6, record["cpu"]
    assert throttled > 0.6
    assert cpu["throttled_seconds"] == near(throttled)
    assert throttled * 0.99 - 0.02 < cpu["run_queue_seconds"] < record["time"]["elapsed_seconds"]  # others may want it, too
    causes = causes_of(kernel, record)
    assert truth["own_ns"] / 1e9 - 0.02 < causes.pop("children") < record["time"]["elapsed_seconds"]  # the shell
    assert sum(causes.values()) < record["time"]["elapsed_seconds"] - truth["own_ns"] / 1e9 + 0.05
