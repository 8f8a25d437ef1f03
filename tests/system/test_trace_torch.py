# SPDX-License-Identifier: MIT
"""trace - operators of PyTorch: each call by name, beside what its own profiler counts."""

import collections
import json
import re
import subprocess

import pytest

import torch_programs
from torch_programs import PREFIX, PYTHON, RANKS, training

STEPS = 13


@pytest.fixture(scope="module")
def torch(demand):
    demand(torch_programs.is_there(), f"{PYTHON} has no torch with gloo")


@pytest.fixture
def trace(programs, root, torch):
    """trace(option..., command=[...]): what is said; whatever a probe costs it stays."""

    def run(*options, command):
        done = subprocess.run([programs / "jobmeter", "trace", "--budget", "0", *map(str, options), "--", *command], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, env=torch_programs.environment())
        assert done.returncode == 0, done.stderr
        return done

    return run


def python(*lines):
    return [PYTHON, "-c", "\n".join(["import torch", *lines])]


def test_each_call_of_an_operator_is_counted_by_its_name(trace):
    said = trace("--set", "torch", "--level", "profile", command=python("a = torch.ones(3)", "for i in range(101): torch.add(a, a)",
                                                  "for i in range(43): a.mul_(2.0)")).stderr
    assert re.search(r"^ +(functions +function.*\n)? +add_Tensor +101 ", said, re.MULTILINE), said
    assert re.search(r"mul__Tensor +43 ", said), said


def test_an_exception_that_python_catches_goes_through(trace):
    done = trace("--set", "torch", "--level", "profile", command=python("caught = 0", "for i in range(11):", " try: torch.ones(2, 3) @ torch.ones(2, 3)",
                                                  " except RuntimeError: caught += 1", "print(caught)"))
    assert done.stdout == "11\n"
    assert re.search(r" mm +11 ", done.stderr), done.stderr


def test_by_default_only_operators_are_counted_that_do_most_of_the_work(trace):
    said = trace("--set", "torch", command=python("a = torch.ones(3, 3)", "for i in range(41): a @ a", "a + a")).stderr
    assert re.search(r"functions +function.*\n +mm +41 .*\n +mm and others: returns not traced: the set counts calls alone\n\n", said), said


@pytest.fixture
def operators(trace, tmp_path):
    """[(seen, profiled)] of each rank: {operator: calls} while the profiler was on."""
    lines, profile = tmp_path / "calls", tmp_path / "profile"
    done = trace("--set", "torch", "--level", "profile", "--format", "ndjson", "--output", lines, command=training(STEPS, 32, 16, profile))
    assert "missing" not in done.stderr
    with open(lines) as file:
        calls = [json.loads(line) for line in file]
    found = []
    for rank in range(RANKS):
        begin, end, counts, names = torch_programs.profiled(profile.with_suffix(f".{rank}"))
        seen = [c["probe"].removeprefix("torch:") for c in calls if c["rank"] == rank and begin <= c["timestamp_ns"] <= end]
        found.append((collections.Counter(names.get(name, name) for name in seen), counts))
    return found


def test_a_training_has_the_operators_that_the_profiler_counts(operators):
    for seen, counts in operators:
        assert seen.pop("autograd::Engine::execute") == STEPS
        assert seen["aten::conv2d"] == seen["aten::addmm"] // 2 == STEPS
        assert seen == {name: calls for name, calls in counts.items() if name.startswith(PREFIX)}
        # What the profiler has besides is no operator of ATen: nodes of the backward pass, messages, parts of the program.
        others = {name for name in counts if not name.startswith(PREFIX)}
        assert all(re.match(r"autograd::|torch::autograd::|\w+Backward0$|c10d::|gloo:|torch.distributed.|DistributedDataParallel.|"
                            r"Optimizer.|detach$", name) for name in others), others
