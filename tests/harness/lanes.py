# SPDX-License-Identifier: MIT
"""pytest in lanes: files of tests side by side, the longest first, each in a process and a network of its own (tests/lane).

Files marked `node` see all jobs of the machine: they share one lane.  Tests marked `alone` have the machine for themselves, at
the end.  What fails runs again, alone, if tests/harness/shaky names it, or
$JOBMETER_SECOND_TRIES is "all"."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from counts import TOP, Counts, cases_of, complaints_of, describe, has_passed, node_of, read_junit, seconds_of

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider"]
LANES = min(6, max(2, os.cpu_count()) + 1)  # they mostly wait
ONE_NODE = re.compile(r"^pytestmark = pytest.mark.node\b", re.M)
NO_TEST = 5  # pytest's code where none was left to run
SECONDS = Path(__file__).with_name("seconds")  # of each file, as last recorded; a fresh clone begins with the longest by it
SHAKY = Path(__file__).with_name("shaky")
PAUSES_S = [0, 60]  # before the second try, and before the third
TRY_LIMIT_S = "600"


def report_of(suite):
    return TOP / "build" / f"{suite}.junit.xml"


def pytest(suite, *arguments, report=None, output=None, before=("tests/lane",), **environment):
    """Counts of one pytest, and its exit code.  Its scratch is its own: a pytest that starts closes the shared one to users."""
    report = report or report_of(suite)
    report.unlink(missing_ok=True)
    scratch = tempfile.mkdtemp(prefix="jm-")
    code = subprocess.run([*before, *PYTEST, f"--junitxml={report}", f"--basetemp={scratch}", *map(str, arguments)],
                          cwd=TOP, env={**os.environ, **environment}, stdout=output, stderr=output and subprocess.STDOUT).returncode
    subprocess.run(["rm", "-rf", "--one-file-system", scratch])
    return read_junit(report, 0 if code == NO_TEST else code), code


def read_seconds():
    return {name: int(seconds) for name, seconds in map(str.split, SECONDS.read_text().splitlines())} if SECONDS.exists() else {}


def record_seconds(suites):
    """By file, from the reports of these suites."""
    known = {name: seconds for name, seconds in read_seconds().items() if (TOP / name).exists()}
    fresh = {}
    for suite in suites:
        for name, seconds in seconds_of(report_of(suite)).items():
            name = name.partition("::")[0]
            fresh[name] = fresh.get(name, 0) + seconds
    known |= {name: round(seconds) for name, seconds in fresh.items()}
    SECONDS.write_text("".join(f"{name} {seconds}\n" for name, seconds in sorted(known.items())))


def parts_of(suite, word=""):
    """[(name, files)]: what may run side by side, the longest first; files with this word."""
    known = read_seconds()
    texts = {path: path.read_text() for path in (TOP / "tests" / suite).glob("test_*.py")}
    texts = {path: text for path, text in texts.items() if word in text}

    def seconds(files):
        return sum(known.get(str(path.relative_to(TOP)), len(texts[path]) / 200) for path in files)

    of_node = sorted(path for path, text in texts.items() if ONE_NODE.search(text))
    parts = [("node", of_node)] if of_node else []
    parts += [(path.stem, [path]) for path in texts if path not in of_node]
    return sorted(parts, key=lambda part: -seconds(part[1]))


def side_by_side(suite, chosen="not alone", word="", last="alone"):
    """Counts of all files of a suite in lanes, and then of the tests that are @last, one after the other."""
    reports = TOP / "build" / f"{suite}-parts"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    began = {"JOBMETER_SUITE_BEGAN": str(time.monotonic())}

    def run_once(name, report, arguments):
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            counts, code = pytest(suite, *arguments, report=report, output=output, **began)
            output.seek(0)
            if code != NO_TEST:
                print(f"== {suite}, {name}\n{output.read()}", end="", flush=True)
        return counts

    def run_part(name, *arguments):
        """A part that ends without the name of a failed test runs once more, as tests do."""
        report = reports / f"{name}.xml"
        counts = run_once(name, report, arguments)
        if counts.failed <= len(complaints_of(report)) or not may_run_again(f"tests/{suite}/{name}.py"):
            return counts
        again = run_once(name, report, arguments)
        return again if again.failed else again + Counts(retried=[(f"{name}: {reason}", 2) for reason in counts.failures])

    with ThreadPoolExecutor(LANES) as pool:
        parts = [pool.submit(run_part, name, "-m", chosen, *files) for name, files in parts_of(suite, word)]
        counts = sum((part.result() for part in parts), Counts())
    if last:
        counts += run_part(last, "-m", last, TOP / "tests" / suite)
    merge(reports, report_of(suite))
    return counts


def merge(reports, path):
    whole = ElementTree.Element("testsuites")
    for report in sorted(reports.glob("*.xml")):
        whole.extend(ElementTree.parse(report).iter("testsuite"))
    ElementTree.ElementTree(whole).write(path)


def read_shaky():
    """Names of tests that may run again, without parameters; each has its cause behind it."""
    lines = SHAKY.read_text().splitlines() if SHAKY.exists() else []
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def may_run_again(node):
    return os.environ.get("JOBMETER_SECOND_TRIES") == "all" or node.partition("[")[0] in read_shaky()


def try_again(suite, counts):
    """@counts, with tests of tests/harness/shaky that pass when they run again among those that passed."""
    failed = [(node_of(case), describe(case)) for case in complaints_of(report_of(suite))]
    left = {node: reason for node, reason in failed if node and may_run_again(node)}
    tried = {reason for node, reason in failed if node in left}
    final = [reason for reason in counts.failures if reason not in tried]
    retried = []
    for turn, pause_s in enumerate(PAUSES_S, 2):
        if not left:
            break
        print(f"== {suite}, what failed, try {turn}", flush=True)
        time.sleep(pause_s)
        again = TOP / "build" / f"{suite}-again.junit.xml"
        pytest(suite, *left, report=again, JOBMETER_SUITE_LIMIT_S=TRY_LIMIT_S)
        cases = cases_of(again)
        passed = {node_of(case) for case in cases} - {node_of(case) for case in cases if not has_passed(case)}
        retried += [(reason, turn) for node, reason in left.items() if node in passed]
        left = {node: reason for node, reason in left.items() if node not in passed}
    return Counts(counts.passed + len(retried), len(final) + len(left), counts.skipped, [*final, *left.values()],
                  counts.retried + retried)


def slowest(suites, count=20):
    """[(seconds, name)] of the tests that took longest; all seconds are kept in build/durations.json."""
    seconds = {}
    for suite in suites:
        seconds |= seconds_of(report_of(suite))
    (TOP / "build/durations.json").write_text(json.dumps(seconds, indent=0, sort_keys=True))
    return sorted(((s, name) for name, s in seconds.items()), reverse=True)[:count]
