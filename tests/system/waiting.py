# SPDX-License-Identifier: MIT
"""waiting - wait until something is so, and fail with what was there instead."""

import time

PATIENCE_S = 60


def until(look, seconds=PATIENCE_S, why=lambda: "it does not come to that", pause=0.05):
    """What @look finds, once it is true; after so many seconds the test fails with what @why says."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, why()
        time.sleep(pause)
    return found
