# SPDX-License-Identifier: MIT
"""tests/run: counts, second tries, lanes, limits of time, and keys of what passed."""

import re
import shutil
import subprocess
import sys
import types

import pytest

import builds
import counts
import keys
import lanes

TESTS = keys.TOP / "tests"

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


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A checkout with one file of tests, of which all may run again."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for module in (counts, lanes):
        monkeypatch.setattr(module, "TOP", tmp_path)
    monkeypatch.setattr(lanes, "PAUSES_S", [0, 0])
    monkeypatch.setattr(lanes, "SHAKY", tmp_path / "shaky")
    for folder in ("build", "tests/system"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("lane", "conftest.py"):
        shutil.copy(TESTS / name, tmp_path / "tests")
    monkeypatch.setenv("JOBMETER_SECOND_TRIES", "all")
    failing = FAILING.format(path=str(tmp_path))

    def once(text):
        (tmp_path / "tests/system/test_made.py").write_text(text)
        return lanes.pytest("system", "tests/system")[0]

    return types.SimpleNamespace(path=tmp_path, once=once,
                                 judge=lambda text: lanes.try_again("system", once(failing + text)))


def shape(result):
    return result.passed, result.failed, result.skipped, len(result.failures), [turn for _, turn in result.retried]


@pytest.mark.parametrize("failures, expected", [
    (0, (2, 0, 1, 0, [])), (1, (2, 0, 1, 0, [2])), (2, (2, 0, 1, 0, [3])), (3, (1, 1, 1, 1, []))])
def test_three_failures_are_a_failure(house, failures, expected):
    result = house.judge(f"def test_it(): failing({failures})\n")
    assert shape(result) == expected
    reasons = result.failures + [reason for reason, _ in result.retried]
    assert all("test_made.test_it" in reason and "turn 0" in reason for reason in reasons)  # the first one's


def test_only_listed_tests_run_again(house, monkeypatch):
    monkeypatch.delenv("JOBMETER_SECOND_TRIES")
    (house.path / "shaky").write_text("# why\ntests/system/test_made.py::test_listed  the cause\n")
    result = house.judge("""
@pytest.mark.parametrize("n", range(3))
def test_listed(n): failing(1, f"listed {n}")
def test_other(): failing(1, "other")
""")
    assert shape(result) == (4, 1, 1, 1, [2, 2, 2])
    assert "test_other" in result.failures[0]


def test_at_most_ten_tests_are_listed_and_each_is_there_and_has_a_cause():
    listed = [line.split(maxsplit=1) for line in lanes.SHAKY.read_text().splitlines() if not line.startswith("#")]
    assert len(listed) <= 10 and all(len(words) == 2 for words in listed)
    for path, _, name in (node.partition("::") for node, _ in listed):
        assert f"\ndef {name}(" in (lanes.TOP / path).read_text()


def test_each_try_has_a_limit(house, monkeypatch):
    monkeypatch.setattr(lanes, "TRY_LIMIT_S", "1")
    result = house.judge("""
import time
def test_hangs():
    failing(1, "first")
    time.sleep(600)
def test_quick(): failing(1)
""")
    assert shape(result) == (2, 1, 1, 1, [2])
    assert "test_hangs" in result.failures[0]


def test_a_failed_fixture_is_tried_again_for_all_its_tests(house):
    """And a test that fails in its clean-up, too, fails once."""
    result = house.judge("""
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
    assert shape(result) == (11, 0, 1, 0, [2] * 10)


def test_skipped_at_the_second_try_is_not_passed(house):
    result = house.judge("""
@pytest.mark.skipif((TURNS / "turns").exists(), reason="was there")
def test_it(): failing(1)
""")
    assert shape(result) == (1, 1, 1, 1, [])


SPANS = """
import os, pathlib, time, pytest
def span(name, seconds=0.3):
    begin = time.monotonic()
    time.sleep(seconds)
    with open({path!r}, "a") as file:
        file.write(f"{{name}} {{begin}} {{time.monotonic()}} {{os.getpid()}}\\n")
"""


@pytest.fixture
def run_lanes(house):
    """run(**files): counts of these files of tests, and {test: (begin, end, process)}."""
    spans = house.path / "spans"

    def run(**files):
        for name, text in files.items():
            (house.path / f"tests/system/test_{name}.py").write_text(SPANS.format(path=str(spans)) + text)
        result = lanes.side_by_side("system")
        found = (line.split() for line in spans.read_text().splitlines())
        return result, {name: (float(begin), float(end), int(pid)) for name, begin, end, pid in found}

    return run


def test_each_test_runs_once_and_some_by_themselves(run_lanes):
    result, spans = run_lanes(
        a="def test_a(): span('a')\n@pytest.mark.alone\ndef test_alone(): span('alone')\n",
        b="def test_b(): span('b')\ndef test_wrong(): assert False\n",
        c="pytestmark = pytest.mark.alone\ndef test_c(): span('c')\n")
    assert shape(result) == (4, 1, 0, 1, [])
    assert spans.keys() == {"a", "b", "c", "alone"} and spans["a"][2] != spans["b"][2]
    assert max(spans["a"][1], spans["b"][1]) <= min(spans["c"][0], spans["alone"][0])
    assert spans["c"][1] <= spans["alone"][0] or spans["alone"][1] <= spans["c"][0]
    names = sorted(case.get("name") for case in counts.cases_of(lanes.report_of("system")))
    assert names == ["test_a", "test_alone", "test_b", "test_c", "test_wrong"]


def test_files_of_the_whole_node_share_a_lane(run_lanes):
    node = "pytestmark = pytest.mark.node\n"
    result, spans = run_lanes(**{name: f"{node}def test_{name}(): span('{name}')\n" for name in "abc"})
    assert shape(result) == (3, 0, 0, 0, [])
    assert len({pid for _, _, pid in spans.values()}) == 1


def test_a_file_that_dies_is_a_failure_and_costs_no_other(run_lanes):
    result, _ = run_lanes(a="def test_a(): os._exit(3)\n", b="def test_b(): span('b')\n")
    assert shape(result) == (1, 1, 0, 1, [])


def test_a_file_that_dies_once_runs_again(run_lanes, house):
    result, _ = run_lanes(b="def test_b(): span('b')\n", a=f"""
import pathlib
def test_a():
    if not (been := pathlib.Path({str(house.path / "been")!r})).exists():
        been.touch()
        os._exit(3)
""")
    assert shape(result) == (2, 0, 0, 0, [2]) and "left no report" in result.retried[0][0]


def test_what_has_no_test_keeps_no_test_from_running_again(house):
    result = house.once((FAILING + "def test_it(): failing(1)\n").format(path=str(house.path)))
    died = counts.Counts(failed=1, failures=["left no report"])
    assert shape(lanes.try_again("system", result + died)) == (2, 1, 1, 1, [2])


def test_a_lane_leaves_nothing_and_keeps_the_exit_code():
    script = "echo $JOBMETER_LANE; setsid sleep 3607 & (sleep 3607 &) ; exit 7"
    done = subprocess.run([TESTS / "lane", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 7 and int(done.stdout)
    assert subprocess.run(["pgrep", "-f", "sleep 3607"]).returncode == 1


def test_idle_time_is_what_no_other_session_wants():
    """The kernel shares time out to sessions first."""
    own = "chrt --pid $$; cat /proc/$$/autogroup || echo no autogroup"
    output = subprocess.run([TESTS / "on-idle-time", "sh", "-c", own], check=True, capture_output=True, text=True).stdout
    assert "SCHED_IDLE" in output
    assert re.search(r"nice 19$|no autogroup$", output, re.M)


def with_limits(house, **limits):
    """tests/conftest.py with other limits."""
    text = (TESTS / "conftest.py").read_text()
    for name, value in limits.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    (house.path / "tests/conftest.py").write_text(text)


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


def test_what_hangs_fails_with_its_name(house):
    with_limits(house, TEST_LIMIT_S={"system": 1})
    result = house.once(HANGS)
    assert shape(result) == (1, 2, 0, 2, [])
    for name, reason in zip(("test_hangs", "test_cannot_end"), result.failures):
        assert f"test_made.{name}" in reason and "had not ended after 1 s" in reason


def test_beyond_the_limit_of_the_suite_each_test_has_a_second(house):
    with_limits(house, SUITE_LIMIT_S={"system": 0})
    result = house.once("import time\ndef test_short(): pass\ndef test_long(): time.sleep(1000)\n")
    assert shape(result) == (1, 1, 0, 1, [])
    assert "test_long had not ended after 1 s" in result.failures[0]


def test_what_does_not_give_way_ends_the_suite_and_is_named(house, capfd):
    with_limits(house, TEST_LIMIT_S={"system": 1}, GRACE_S=1)
    result = house.once("""
import signal, time
def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
""")
    assert shape(result) == (0, 1, 0, 1, []) and "left no report" in result.failures[0]
    assert "in test_deaf" in capfd.readouterr().err


SIGNALLED = """
import subprocess, pytest
@pytest.mark.parametrize("name, number", [("INT", 2), ("QUIT", 3), ("HUP", 1)])
def test_a_program_ends_by_it(name, number):
    assert subprocess.run(["sh", "-c", f"ulimit -c 0; kill -{name} $$"]).returncode == -number
"""


def test_programs_take_signals_that_the_suite_was_started_to_ignore(house):
    """As under nohup, or in the background of a shell."""
    (house.path / "tests/system/test_made.py").write_text(SIGNALLED)
    done = subprocess.run(["sh", "-c", 'trap "" INT QUIT HUP; exec "$@"', "sh", sys.executable, "-m", "pytest", "-q",
                           "-p", "no:cacheprovider", house.path / "tests"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


# ---- keys ----


@pytest.fixture
def build():
    if not (keys.TOP / "build/build.ninja").exists():
        pytest.skip("needs a build")
    return keys.Build("build")


def test_a_guests_key_is_of_what_its_programs_are_made_of(build):
    suites = {suite.name: suite for suite in keys.guest_suites()}
    sources = {str(path.relative_to(keys.TOP)) for path in build.sources_of("jobmeter-agent")}
    assert {"src/bpf/tasks.bpf.c", "src/agent/main.c", "src/model/metric.h"} & sources >= {"src/agent/main.c", "src/model/metric.h"}
    assert any(name.startswith("src/bpf/") for name in sources) and not any(name.startswith("src/server/") for name in sources)
    files = {path.name for path in suites["time-6.12"].files}
    assert {"test_time_in_guests.py", "compare.py", "guest.py", "init", "throttled.sh"} <= files
    assert [suites[name].group for name in ("time-6.12", "time-6.1", "systemd-6.12")] == ["daily", "older", "own"]
    assert suites["time-6.12"].key(build) != suites["time-6.1"].key(build)
    assert "trace-6.1" in suites and "trace-5.10" not in suites
    files = {path.name for path in suites["slurm-6.1"].files}
    assert {"test_slurm_in_guests.py", "jobtruth.py", "slurm-init"} <= files and "test_api.py" not in files


def test_a_key_changes_with_a_byte_and_with_no_other_place(tmp_path, monkeypatch):
    found = []
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src/file.c").write_text(text)
        monkeypatch.setattr(keys, "TOP", tmp_path / name)
        found.append(keys.key_of({tmp_path / name / "src/file.c"}, "word"))
    assert found[0] == found[1] != found[2]


def test_keys_that_passed_are_kept_and_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "PASSED", tmp_path / "passed")
    keys.record_passed({"time-6.12": "1", "src/cli/main.c": "2", "src/gone.c": "3"})
    keys.record_passed({"time-6.12": "4"})
    assert keys.read_passed() == {"time-6.12": "4", "src/cli/main.c": "2"}


CASE = '<testcase classname="fuzz" name="{}">{}</testcase>'


def test_fuzz_targets_that_have_not_changed_are_not_tried(tmp_path, monkeypatch):
    for path in ("tests/fuzz/fuzz_a.c", "tests/fuzz/fuzz_b.c", "build-clang/ninja"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for module in (builds, keys):
        monkeypatch.setattr(module, "TOP", tmp_path)
    monkeypatch.setattr(keys, "PASSED", tmp_path / "passed")
    monkeypatch.setattr(keys.Build, "sources_of", lambda self, target: {tmp_path / f"{target}.c"})
    calls = []

    def run(*words, **_):
        calls.append(words[1:])
        cases = {"a": "", "b": "<failure/>"}
        (tmp_path / "build-clang/fuzz.junit.xml").write_text(
            "".join(["<s>", *(CASE.format(name, cases[name]) for name in words[1:]), "</s>"]))
        return 0

    monkeypatch.setattr(builds, "run", run)
    for _ in range(2):
        builds.fuzz(record=True)
    assert shape(builds.fuzz()) == (0, 1, 1, 1, []) and shape(builds.fuzz(everything=True)) == (1, 1, 0, 1, [])
    assert calls == [("a", "b"), ("b",), ("b",), ("a", "b")] and list(keys.read_passed()) == ["tests/fuzz/fuzz_a.c"]
