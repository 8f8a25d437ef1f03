# SPDX-License-Identifier: MIT
"""For tests that want a processor at once: their programs come before everything else on this machine.

Whatever starts with FIRST is in a session of its own, and the scheduler prefers that session to all others.  A command of
`jobmeter run` leaves it for a group of its own, which FIRST_IN_GROUP makes as strong; it forks nothing.  The fixture
`processors` keeps such tests apart: only one of them is first at a time."""

import contextlib
import fcntl
import functools
import os

import pytest

FIRST = ["setsid", "--wait", "sh", "-c", 'echo -20 >/proc/self/autogroup; exec "$@"', "sh"]
GREEDY = """while IFS=: read -r n c p; do
    case ,$c, in *,cpu,*) test "$p" = / || echo 262144 >"/sys/fs/cgroup/cpu$p/cpu.shares"; esac
done </proc/self/cgroup 2>/dev/null
"""
FIRST_IN_GROUP = ["sh", "-c", GREEDY + 'exec "$@"', "sh"]
LOCK = "/tmp/jobmeter-test-processors"


@contextlib.contextmanager
def hold_processors():
    """Waits until no other test, of this run or of another, is first."""
    fd = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@pytest.fixture
def processors(root):
    with hold_processors():
        yield


@pytest.fixture
def run_first(run_metered, processors):
    """run_metered() of conftest.py, with a jobmeter and a command that come first."""
    return functools.partial(run_metered, before=FIRST, within=FIRST_IN_GROUP)
