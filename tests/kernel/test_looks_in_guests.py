# SPDX-License-Identifier: MIT
"""Spinning on other kernels, against the programs' own counts."""

import json

import pytest

from guest import HAVE_OWN_TIME, Case

MODES = {"poll": True, "ppoll": True, "select": True, "yield": True, "seldom": True, "read": False, "limits": False}
RUN = "jobmeter run --quiet --output /out/{0}.json -- looks {0} 499 /out/{0}.truth\n"
ALL = Case("set -e\n" + "".join(RUN.format(mode) for mode in MODES), agent=True)


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", MODES)
def test_looks_and_their_time_are_the_programs_own(kernel, result, mode):
    assert result.status == 0, result.stderr
    cpu, truth = json.loads(result.files[f"{mode}.json"])["cpu"], json.loads(result.files[f"{mode}.truth"])
    assert (cpu["empty_polls"], cpu["yields"]) == (truth["polls"], truth["yields"])
    if MODES[mode] and kernel.name in HAVE_OWN_TIME:
        assert cpu["polling_seconds"] == pytest.approx(truth["spun_ns"] / 1e9, rel=0.02, abs=0.02)
    elif MODES[mode]:  # a guest that is held up for 30 ms and more takes that for work
        assert 0.3 * truth["spun_ns"] / 1e9 < cpu["polling_seconds"] < truth["spun_ns"] / 1e9 + 0.02
    else:
        assert cpu["polling_seconds"] == 0
