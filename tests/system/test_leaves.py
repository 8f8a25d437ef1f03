# SPDX-License-Identifier: MIT
"""What the kernel side knows by leaf: lives of groups, their tasks and what they did with files; see leaves.c."""

import subprocess

import pytest

pytestmark = pytest.mark.alone  # all groups of the machine are in its tables

SCENES = ("life", "walk", "hostile", "full", "rows", "crowded")


@pytest.mark.parametrize("scene", SCENES)
def test_each_leaf_has_what_was_done_in_it(programs, root, demand, scene):
    done = subprocess.run([programs / "tests/system/leaves", scene], capture_output=True, text=True)
    demand(done.returncode != 77, f"not here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
