# SPDX-License-Identifier: MIT
"""Which suites of guests run, which are skipped, and which are due."""

import types

import pytest

import guests
import keys
import lanes
from counts import Counts

CASE = '<testcase classname="tests.kernel.{}" name="{}">{}</testcase>'


@pytest.fixture
def house(tmp_path, monkeypatch):
    """run(known, ...): the counts, the words of pytest's call, and what was printed; where each suite's key is its name."""
    monkeypatch.setattr(keys, "PASSED", tmp_path / "passed")
    monkeypatch.setattr(keys, "Build", lambda directory: None)
    monkeypatch.setattr(keys.GuestSuite, "key", lambda suite, build: f"key-of-{suite.name}")
    monkeypatch.setattr(lanes, "report_of", lambda suite: tmp_path / f"{suite}.xml")
    calls, found = [], []

    def pytest_double(suite, *words, report, **options):
        calls.append(words)
        report.write_text(f"<testsuite>{''.join(found)}</testsuite>")
        found.clear()
        return Counts(passed=1), 0

    monkeypatch.setattr(lanes, "pytest", pytest_double)

    def run(known, cases=(), **options):
        keys.PASSED.write_text("".join(f"{name} key-of-{name}\n" for name in known))
        found.extend(CASE.format(*case) for case in cases)
        with open(tmp_path / "output", "w+") as output:
            counts = guests.run_due(output=output, await_quiet=lambda: calls.append("quiet"), **options)
            output.seek(0)
            return types.SimpleNamespace(counts=counts, calls=calls, output=output.read(), passed=keys.read_passed())

    return run


ALL = [suite.name for suite in keys.guest_suites()]
DAILY = [suite.name for suite in keys.guest_suites() if suite.group == "daily"]


def test_what_has_passed_is_skipped_aloud(house):
    done = house(ALL)
    assert done.calls == [] and done.counts == Counts(skipped=len(ALL))
    assert done.output.startswith("skipped") and "time-6.12" in done.output and "due" not in done.output


def test_changed_suites_of_the_daily_kernel_run_and_others_are_due(house):
    done = house([name for name in ALL if not name.startswith(("time-", "slurm-"))])
    (words,) = done.calls
    assert words[:2] == ("--series", "6.12") and [path.name for path in words[2:]] == ["test_time_in_guests.py"]
    due = next(line for line in done.output.splitlines() if line.startswith("due"))
    assert due.split()[-3:] == ["slurm-6.1", "time-6.1", "time-5.10"]
    assert done.counts == Counts(passed=1, skipped=len(ALL) - 1)


def test_all_run_when_all_are_asked_for(house):
    done = house(ALL, is_all=True)
    paths = {name: sorted({suite.path for suite in keys.guest_suites() if suite.group == name}) for name in ("daily", "older", "own")}
    assert done.calls == [("--series", "6.12", *paths["daily"]), "quiet", ("--series", "5.10,6.1", *paths["older"]),
                          "quiet", ("--series", "6.1,6.12", *paths["own"])]
    assert done.counts == Counts(passed=3)


def test_keys_are_kept_of_suites_that_passed(house):
    cases = [("test_time_in_guests", "test_a[6.12-all]", ""), ("test_time_in_guests", "test_a[6.1-all]", "<failure/>"),
             ("test_run_in_guests", "test_b[6.12]", "<skipped/>"), ("test_slurm_in_guests", "test_c", "")]
    assert house([], cases, is_all=True, record=True).passed == {name: f"key-of-{name}" for name in ("time-6.12", "slurm-6.1")}
    assert house([], cases, record=True).passed == {"time-6.12": "key-of-time-6.12"}
    assert house(["time-6.1"], [], record=True).passed == {"time-6.1": "key-of-time-6.1"}


def test_every_suite_is_of_one_kernel(house):
    assert len(ALL) == len(set(ALL)) and set(DAILY) < set(ALL)
    assert {"slurm-6.1", "systemd-6.12", "ipmi-6.1", "site-6.12"} <= set(ALL) - set(DAILY)
