# SPDX-License-Identifier: MIT
"""Polls on other kernels, against the programs' own counts."""

import json

import pytest

from guest import Case

SAMPLE = 0.020011003  # seconds; Linux 5.10 has no samples
MODES = {"poll": True, "ppoll": True, "select": True, "yield": True, "seldom": False, "read": True, "limits": False}
RUN = "jobmeter run --quiet --output /out/{0}.json -- looks {0} 499 /out/{0}.truth\n"
ALL = Case("set -e\n" + "".join(RUN.format(mode) for mode in MODES), agent=True)


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", MODES)
def test_looks_are_the_programs_own(kernel, result, mode):
    assert result.status == 0, result.stderr
    cpu, truth = json.loads(result.files[f"{mode}.json"])["cpu"], json.loads(result.files[f"{mode}.truth"])
    assert (cpu["empty_polls"], cpu["yields"]) == (truth["polls"], truth["yields"])
    if cpu["polling_seconds"] is not None:
        assert cpu["polling_seconds"] <= (truth["spun_ns"] / 1e9 if MODES[mode] else 0) + 3 * SAMPLE
