# SPDX-License-Identifier: MIT
"""trace - what Python's interpreter says of itself where it was built with USDT probes, and who says nothing."""

import collections
import json
import os
import re
import shutil
import subprocess

import pytest

PYTHON = "/usr/bin/python3"

SCRIPT = """
import gc, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
import m0
def work(n): return n
def outer(n):
    for i in range(n): work(i); work(i); again(i)
def again(n): return n
def all_of_it():
    for i in range(17): outer(101)
    for generation, times in enumerate((29, 13, 7)):
        for _ in range(times): gc.collect(generation)
    for _ in range(3):  # each is looked for once
        import m1, m2, m3, m4
    try: import not_there
    except ImportError: pass
all_of_it()
"""


@pytest.fixture
def trace(programs, root, demand, tmp_path):
    """trace(option...): what is said, of the script."""
    python = os.path.realpath(PYTHON)
    demand(b"function__return" in open(python, "rb").read(), f"{python} has no USDT probes")
    for i in range(5):
        (tmp_path / f"m{i}.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(*options):
        done = subprocess.run([programs / "jobmeter", "trace", "--budget", "0", "--set", "python", *map(str, options), "--",
                               PYTHON, "-B", tmp_path / "script.py", tmp_path], text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    return run


def test_collections_and_imports_are_counted(trace, tmp_path):
    trace("--format", "ndjson", "--output", tmp_path / "calls")
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert {c["probe"] for c in calls} == {"python:gc", "python:import"} and all(c["duration_ns"] > 0 for c in calls)
    imports = {c["arguments"]["module"]: c for c in calls if c["probe"] == "python:import"}
    # Before and behind these the interpreter collects by itself.
    begin, end = imports["m0"]["timestamp_ns"], imports["m1"]["timestamp_ns"]
    within = [c for c in calls if c["probe"] == "python:gc" and begin < c["timestamp_ns"] < end]
    assert collections.Counter(c["arguments"]["generation"] for c in within) == {0: 29, 1: 13, 2: 7}
    own = collections.Counter(c["arguments"]["module"] for c in calls if c["probe"] == "python:import")
    assert [own[name] for name in ("m0", "m1", "m2", "m3", "m4", "not_there")] == [1] * 6


def test_functions_are_counted_by_name(trace):
    said = trace("--level", "trace")
    assert re.search(rf" work +{2 * 17 * 101:,} ", said) and re.search(rf" again +{17 * 101:,} ", said), said


def test_each_return_of_a_function_has_its_name(trace, tmp_path):
    trace("--level", "trace", "--format", "ndjson", "--output", tmp_path / "calls")
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    names = collections.Counter(c["arguments"]["function"] for c in calls if c["probe"] == "python:function__return")
    assert (names["work"], names["again"], names["outer"], names["all_of_it"]) == (2 * 17 * 101, 17 * 101, 17, 1)


def test_a_python_without_probes_is_named(programs, root, demand, tmp_path):
    demand(shutil.which("objcopy"), "needs objcopy")
    other = tmp_path / "python3.11"
    subprocess.run(["objcopy", "--remove-section", ".note.stapsdt", os.path.realpath(PYTHON), other], check=True)
    for option in ([], ["--dry-run"]):
        done = subprocess.run([programs / "jobmeter", "trace", "--set", "python", *option, "--", other, "-c", ""], text=True,
                              capture_output=True)
        assert f"'{other}' has none of the probes of the set 'python'" in done.stderr + done.stdout
