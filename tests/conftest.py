# SPDX-License-Identifier: MIT
"""What hangs is a failure with a name.  A test has a limit, and so has its suite: once that is over each test that is left
has a second.  What does not even give way to its limit (a process that cannot be killed) ends the suite, and the stack that
it leaves names it.

What this machine has of jobmeter (an agent, a history, a site's rules) changes no test.

The limits are for what would never end, not for what is slow: they are many times what a test takes on a busy machine."""

import faulthandler
import os
import shutil
import signal
import tempfile
import time

import pytest

TEST_LIMIT_S = {"system": 600, "kernel": 3600}  # of each: set-up, test, clean-up; a guest is waited for in the set-up, and it for system
SUITE_LIMIT_S = {"hostile": 600, "system": 2700, "kernel": 4200, "harness": 2700}  # harness on time that nobody else wants
LAST_S = 1
GRACE_S = 120


class Limits:
    def __init__(self, stderr_fd):
        self.begun = float(os.environ.get("JOBMETER_SUITE_BEGAN", time.monotonic()))  # of which this may be a part
        self.stderr_fd = stderr_fd

    def of(self, item):
        """Seconds that are left for a part of this test."""
        suite = item.path.parent.name
        suite_s = min(SUITE_LIMIT_S.get(suite, 600), float(os.environ.get("JOBMETER_SUITE_LIMIT_S", "inf")))
        left = self.begun + suite_s - time.monotonic()
        return min(TEST_LIMIT_S.get(suite, 600), max(left, LAST_S))

    def watched(self, item):
        """A hook wrapper's body: fails what goes on within it beyond the limit."""
        limit_s = self.of(item)

        def give_up(*_):  # no Exception: none of those who try again may take it for a reason to
            pytest.fail(f"{item.nodeid} had not ended after {limit_s:.0f} s")

        before = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        faulthandler.dump_traceback_later(limit_s + GRACE_S, exit=True, file=self.stderr_fd)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        yield from self.watched(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        yield from self.watched(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield from self.watched(item)


NOT_OURS = ["JOBMETER_SOCKET", "JOBMETER_SERVER_SOCKET", "JOBMETER_CONFIG", "JOBMETER_DEBUG", "JOBMETER_INSIGHTS"]


def set_aside_what_is_here():
    for name in NOT_OURS:
        os.environ.pop(name, None)
    os.environ["JOBMETER_SOCKET"] = "/nonexistent/agent.sock"
    os.environ["JOBMETER_SERVER_SOCKET"] = "/nonexistent/server.sock"
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="jobmeter-history-")


def give_signals_to_programs():
    """Under nohup, or behind a shell's &, signals are ignored, and so they would be by each program under test.  What is
    caught is by default in a program that is started; here it goes on being ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


MARKERS = {
    "node": "a file whose tests see other jobs of this node than their own, or have Slurm: these share one lane",
    "alone": "no other test may run beside it: at the end, by itself",
    "smoke": "a choice for daily work, of some seconds: tests/run smoke",
}


def pytest_configure(config):
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    give_signals_to_programs()
    set_aside_what_is_here()
    config.pluginmanager.register(Limits(os.dup(2)))  # what a test writes there is kept apart


def pytest_unconfigure():
    """The reports are written: threads that wait for a guest are not waited for."""
    faulthandler.dump_traceback_later(GRACE_S, exit=True)
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)
