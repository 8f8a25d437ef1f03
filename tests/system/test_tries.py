# SPDX-License-Identifier: MIT
"""What tests/run makes of tests that fail, or hang: tried again as often as it says, and named."""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import threading
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]


def load_runner():
    loader = importlib.machinery.SourceFileLoader("runner", str(TESTS / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """tests/run, for a house with one file of tests."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    module = load_runner()
    module.TOP, module.PAUSES_S = tmp_path, [0, 0]
    for folder in ("build", "tests/system"):
        (tmp_path / folder).mkdir(parents=True)

    def judge(text):
        (tmp_path / "tests/system/test_made.py").write_text(text)
        return module.try_again("system", module.pytest("system"))

    module.judge = judge
    return module


# failing(n) fails n times, and then passes.
FAILING = """
import pathlib, pytest
TURNS = pathlib.Path({path!r})
def failing(n, name="turns"):
    turns = TURNS / name
    turn = int(turns.read_text()) if turns.exists() else 0
    turns.write_text(str(turn + 1))
    assert turn >= n, f"turn {{turn}} of {{name}}"
def test_good(): pass
@pytest.mark.skip
def test_skipped(): pass
"""


def told(counts):
    return counts.passed, counts.failed, counts.skipped, len(counts.failures), [turn for _, turn in counts.shaken]


@pytest.mark.parametrize("failures, expected", [
    (0, (2, 0, 1, 0, [])), (1, (2, 0, 1, 0, [2])), (2, (2, 0, 1, 0, [3])), (3, (1, 1, 1, 1, []))])
def test_who_fails_three_times_has_failed(runner, tmp_path, failures, expected):
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + f"def test_it(): failing({failures})\n")
    assert told(counts) == expected
    reasons = counts.failures + [reason for reason, _ in counts.shaken]
    assert all("test_made.test_it" in reason and "turn 0" in reason for reason in reasons)  # the first one's


def test_each_is_counted_by_itself(runner, tmp_path):
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + """
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_it(n): failing(n, str(n))
""")
    assert told(counts) == (4, 1, 1, 1, [2, 3])
    assert "turn 0 of 9" in counts.failures[0]


def test_many_failures_are_tried_again(runner, tmp_path):
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + """
@pytest.mark.parametrize("n", range(60))
def test_it(n): failing(1, str(n))
""")
    assert told(counts) == (61, 0, 1, 0, [2] * 60)


def test_a_try_has_its_limit(runner, tmp_path):
    """What it does not come to has failed."""
    runner.TRY_LIMIT_S = "1"
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + """
import time
def test_hangs():
    failing(1, "first")
    time.sleep(600)
def test_quick(): failing(1)
""")
    assert told(counts) == (2, 1, 1, 1, [2])
    assert "test_hangs" in counts.failures[0]


def test_what_many_need_is_tried_again_for_all(runner, tmp_path):
    """And who fails and cannot clean up either fails once."""
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + """
@pytest.fixture(scope="session")
def needed(): failing(1)
@pytest.mark.parametrize("n", range(9))
def test_it(needed, n): pass
@pytest.fixture
def unclean():
    yield
    failing(1, "unclean")
def test_both(unclean): failing(1, "both")
""")
    assert told(counts) == (11, 0, 1, 0, [2] * 10)


def test_a_test_of_another_name_on_the_second_try_has_not_passed(runner, tmp_path):
    """Skipped is not passed, either."""
    counts = runner.judge(FAILING.format(path=str(tmp_path)) + """
@pytest.mark.skipif((TURNS / "turns").exists(), reason="was there")
def test_it(): failing(1)
""")
    assert told(counts) == (1, 1, 1, 1, [])


def test_what_runs_beside_system_is_told_after_it(runner, capfd):
    """kernel is told when system has ended, and not before; and what it says is printed to the end."""
    has_looked, saw = threading.Event(), []

    def say(words, output):
        print(words, file=output, flush=True)
        return runner.Counts(passed=1)

    def system():
        assert has_looked.wait(60)
        return say("from system", None)

    def kernel(folder, output, JOBMETER_TIMED_GUESTS_AFTER):
        others_ended = pathlib.Path(JOBMETER_TIMED_GUESTS_AFTER)
        saw.append(others_ended.exists())
        say("before", output)
        has_looked.set()
        while not others_ended.exists():
            time.sleep(0.01)
        return say("after", output)

    runner.pytest = kernel
    runner.SUITES |= {"system": system, "tidy": lambda before, output: say(f"tidy by {before[0]}", output)}
    runner.fetch_for_guests = lambda: None
    results = runner.run_suites(["tidy", "system", "kernel"])
    assert [(name, counts.passed, counts.failed) for name, (counts, _) in results.items()] == \
        [("tidy", 1, 0), ("system", 1, 0), ("kernel", 1, 0)]
    assert saw == [False]
    lines = ["== system", "from system", "== tidy", "tidy by tests/on-idle-time", "== kernel", "before", "after"]
    assert capfd.readouterr().out.splitlines() == lines


SPANS = """
import os, pathlib, time, pytest
def span(name, seconds=0.3):
    begin = time.monotonic()
    time.sleep(seconds)
    with open({path!r}, "a") as file:
        file.write(f"{{name}} {{begin}} {{time.monotonic()}} {{os.getpid()}}\\n")
"""


@pytest.fixture
def lanes(runner, tmp_path):
    """run(**files): the counts of these files of tests, and {test: (begin, end, process)}."""
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    spans = tmp_path / "spans"

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"tests/system/test_{name}.py").write_text(SPANS.format(path=str(spans)) + text)
        counts = runner.system()
        found = (line.split() for line in spans.read_text().splitlines())
        return counts, {name: (float(begin), float(end), int(pid)) for name, begin, end, pid in found}

    return run


def test_each_test_is_run_once_and_some_by_themselves(lanes, runner):
    counts, spans = lanes(
        a="def test_a(): span('a')\n@pytest.mark.alone\ndef test_alone(): span('alone')\n",
        b="def test_b(): span('b')\ndef test_wrong(): assert False\n",
        c="pytestmark = pytest.mark.alone\ndef test_c(): span('c')\n")
    assert told(counts) == (4, 1, 0, 1, [])
    assert spans.keys() == {"a", "b", "c", "alone"} and spans["a"][2] != spans["b"][2]
    last = max(spans["a"][1], spans["b"][1])
    assert last <= min(spans["c"][0], spans["alone"][0])
    assert spans["c"][1] <= spans["alone"][0] or spans["alone"][1] <= spans["c"][0]
    names = sorted(case.get("name") for case in runner.cases_of(runner.pytest_report("system")))
    assert names == ["test_a", "test_alone", "test_b", "test_c", "test_wrong"]


def test_files_that_see_the_whole_node_run_one_after_the_other(lanes):
    node = "pytestmark = pytest.mark.node\n"
    counts, spans = lanes(**{name: f"{node}def test_{name}(): span('{name}')\n" for name in "abc"})
    assert told(counts) == (3, 0, 0, 0, [])
    assert len({pid for _, _, pid in spans.values()}) == 1


def test_what_fails_side_by_side_is_tried_again_and_told_as_debt(lanes, runner, tmp_path, capsys):
    counts, _ = lanes(a=FAILING.format(path=str(tmp_path)) + "def test_it():\n    span('it')\n    failing(1)\n",
                      b="def test_b(): pass\n")
    counts = runner.try_again("system", counts)
    assert told(counts) == (3, 0, 1, 0, [2])
    runner.tell_debt(counts.debt())
    assert capsys.readouterr().out.splitlines()[-2:] == \
        ["debt: 1 tests passed only at another try", "    tests.system.test_a.test_it"]


def test_a_file_that_dies_is_a_failure_and_costs_no_other(lanes):
    counts, _ = lanes(a="def test_a(): os._exit(3)\n", b="def test_b(): span('b')\n")
    assert told(counts) == (1, 1, 0, 1, [])


def test_idle_time_is_what_no_other_session_wants():
    """The kernel shares time out to sessions first."""
    own = "chrt --pid $$; cat /proc/$$/autogroup || echo no autogroup"
    said = subprocess.run([TESTS / "on-idle-time", "sh", "-c", own], check=True, capture_output=True, text=True).stdout
    assert "SCHED_IDLE" in said
    assert re.search(r"nice 19$|no autogroup$", said, re.M)


def with_limits(top, **limits):
    """tests/conftest.py with other limits."""
    text = (TESTS / "conftest.py").read_text()
    for name, value in limits.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{name} = "))
        text = text.replace(before, f"{name} = {value}")
    (top / "tests/conftest.py").write_text(text)


HANGS = """
import signal, threading, time, pytest
@pytest.fixture
def endless():
    yield
    threading.Event().wait()
def test_good(): pass
def test_hangs():
    while True:
        try:
            time.sleep(1000)
        except Exception:
            pass
def test_cannot_end(endless): pass
"""


def test_what_hangs_fails_with_its_name(runner, tmp_path):
    with_limits(tmp_path, TEST_LIMIT_S={"system": 1})
    runner.judge(HANGS)
    counts = runner.read_junit(runner.pytest_report("system"), 1)
    assert told(counts) == (1, 2, 0, 2, [])
    for name, reason in zip(("test_hangs", "test_cannot_end"), counts.failures):
        assert f"test_made.{name}" in reason and "had not ended after 1 s" in reason


def test_beyond_the_limit_of_the_suite_each_test_has_a_second(runner, tmp_path):
    with_limits(tmp_path, SUITE_LIMIT_S={"system": 0})
    counts = runner.judge("import time\ndef test_short(): pass\ndef test_long(): time.sleep(1000)\n")
    assert told(counts) == (1, 1, 0, 1, [])
    assert "test_long had not ended after 1 s" in counts.failures[0]


def test_what_does_not_give_way_ends_the_suite_and_is_named(runner, tmp_path, capfd):
    with_limits(tmp_path, TEST_LIMIT_S={"system": 1}, GRACE_S=1)
    counts = runner.judge("""
import signal, time
def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
""")
    assert told(counts) == (0, 1, 0, 1, []) and "left no report" in counts.failures[0]
    assert "in test_deaf" in capfd.readouterr().err


SIGNALLED = """
import subprocess, pytest
@pytest.mark.parametrize("name, number", [("INT", 2), ("QUIT", 3), ("HUP", 1)])
def test_a_program_ends_by_it(name, number):
    assert subprocess.run(["sh", "-c", f"ulimit -c 0; kill -{name} $$"]).returncode == -number
"""


def test_programs_take_signals_that_the_suite_was_started_to_ignore(tmp_path):
    """As under nohup, or in the background of a shell."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_made.py").write_text(SIGNALLED)
    done = subprocess.run(["sh", "-c", 'trap "" INT QUIT HUP; exec "$@"', "sh", "/usr/bin/python3", "-m", "pytest", "-q",
                           "-p", "no:cacheprovider", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
