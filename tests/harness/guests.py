# SPDX-License-Identifier: MIT
"""The suites of tests/kernel: which of them are due, and their results."""

import shutil
import subprocess

import keys
import lanes
from counts import TOP, Counts, cases_of, complaint_of, has_passed, node_of

NEEDED = [["tests/kernel/fetch-kernels", "6.12"]]
NEEDED_BY_ALL = [["tests/kernel/fetch-kernels", "6.1"], ["tests/kernel/make-guest-root"],
                 ["tests/kernel/fetch-kernels", "6.1-generic"], ["tests/kernel/fetch-kernels", "5.10"]]


def fetch(is_all):
    """Kernels and the disk of guests, meanwhile.  The tests themselves name what cannot be had."""
    for command in NEEDED + (NEEDED_BY_ALL if is_all else []):
        subprocess.run(["tests/on-idle-time", *command], cwd=TOP, capture_output=True)


def series_of(case):
    """The kernel that the name of a test ends in: test_x[6.12-...]."""
    return next((series for series in keys.SERIES if f"[{series}-" in case.get("name") or f"[{series}]" in case.get("name")), None)


def passed_suites(suites):
    """Those of @suites of which a test passed and none failed."""
    found = {}
    for case in cases_of(lanes.report_of("kernel")):
        path = TOP / node_of(case).partition("::")[0]
        for suite in suites:
            if suite.path == path and series_of(case) in (None, suite.series):
                passed, failed = found.get(suite, (0, 0))
                found[suite] = passed + has_passed(case), failed + (complaint_of(case) is not None)
    return [suite for suite, (passed, failed) in found.items() if passed and not failed]


def run_suites(name, suites, output, **environment):
    """Counts of suites in one pytest, of which one report is kept."""
    series = ",".join(sorted({suite.series for suite in suites}))
    return lanes.pytest("kernel", "--series", series, *sorted({suite.path for suite in suites}), report=parts() / f"{name}.xml",
                        output=output, before=(), **environment)[0]


def parts():
    return lanes.report_of("kernel").with_name("kernel-parts")


def run_due(is_all=False, record=False, output=None, await_quiet=lambda: None):
    """Counts of the suites that are to run: all, or those of the daily kernel whose key has not passed.

    Those of the daily kernel take the time that others leave: their guests have a clock of their own.  All others run after
    @await_quiet(), since a guest with this machine's clock cannot tell that it is not running."""
    build, known = keys.Build("build"), keys.read_passed()
    suites = {suite: suite.key(build) for suite in keys.guest_suites()}
    changed = [suite for suite, key in suites.items() if known.get(suite.name) != key]
    chosen = list(suites) if is_all else [suite for suite in changed if suite.group == "daily"]
    skipped = [suite.name for suite in suites if suite not in chosen and suite not in changed]
    due = [suite.name for suite in changed if suite not in chosen]
    if skipped:
        print(f"skipped, nothing that they depend on has changed since they passed: {' '.join(skipped)}", file=output)
    if due:
        print(f"due, by make test-all: {' '.join(due)}", file=output, flush=True)
    counts = Counts(skipped=len(skipped) + len(due))
    shutil.rmtree(parts(), ignore_errors=True)
    parts().mkdir(parents=True)
    for name in ("daily", "older", "own"):
        group = [suite for suite in chosen if suite.group == name]
        if group and name != "daily":
            await_quiet()
        if group:
            counts += run_suites(name, group, output, **({"JOBMETER_GUESTS_BY": "tests/on-idle-time"} if name == "daily" else {}))
    lanes.merge(parts(), lanes.report_of("kernel"))
    if record:
        keys.record_passed({suite.name: suites[suite] for suite in passed_suites(chosen)})
    return counts
