# SPDX-License-Identifier: MIT
"""What the kernel side knows by leaf, on other kernels and on cgroup v2: see tests/system/leaves.c."""

import pytest

from guest import OPTIONAL, Case

SCENES = ("life", "walk", "hostile", "full", "rows")
CASES = [pytest.param(Case(f"leaves {scene}"), id=scene) for scene in SCENES]


@pytest.mark.parametrize("result", CASES, indirect=True)
def test_each_leaf_has_what_was_done_in_it(kernel, result):
    if kernel.name in OPTIONAL and result.status == 77:
        pytest.skip(f"kernel {kernel.name}: {result.stderr.strip()}")
    assert (result.status, result.stderr) == (0, "")
