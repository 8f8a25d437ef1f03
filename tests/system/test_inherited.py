# SPDX-License-Identifier: MIT
"""What a parent hands down changes no program of ours, and reaches the command as it was."""

import os
import pathlib
import select
import signal
import subprocess
import tempfile

import pytest

from agent import Agent
from made_records import lines
from server import Server
from up import Up

STATE = """grep -E '^(Umask|SigBlk|SigIgn|ShdPnd|Uid|Gid|Groups|Cap|NoNewPrivs|Cpus_allowed|Speculation)' /proc/self/status
ls /proc/self/fd | wc -l; ulimit -a; readlink /proc/self/ns/*; env | sort; nice; pwd; ps -o tty=,sess= -p $$
cat /proc/self/oom_score_adj /proc/self/personality /proc/self/timerslack_ns; exit 42"""
IGNORE = "for n in {}: signal.signal(n, signal.SIG_IGN)"
HANDED_DOWN = {
    "nothing": "",
    "SIGCHLD ignored": IGNORE.format([17]),
    "SIGPIPE by default": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "nearly all ignored": IGNORE.format([n for n in range(1, 65) if n not in (9, 19, 32, 33)]),
    "signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1})",
    "an umask for nobody": "os.umask(0o777)",
    "small files": "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))",
    "few descriptors": "resource.setrlimit(resource.RLIMIT_NOFILE, (8, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "no standard input": "os.close(0)",
}
HANDED_DOWN["all at once"] = "\n".join(text for name, text in HANDED_DOWN.items() if name != "small files")
RUN = ["run", "--quiet"]
TRACE = ["trace", "--budget", "0", "--output", "/dev/null", "--probe", "libc.so.6:getenv"]
CASES = [(RUN, name) for name in ("nothing", "SIGCHLD ignored", "SIGPIPE by default", "small files", "all at once")] + [
    ([*RUN, "--tiers", "none"], "SIGCHLD ignored"), ([*RUN, "--wait"], "SIGCHLD ignored"), (TRACE, "SIGCHLD ignored"), (TRACE, "all at once")]


def parent(handed_down):
    """A program that becomes the one that its arguments name."""
    return ["/usr/bin/python3", "-c", f"import os, resource, signal, sys\n{HANDED_DOWN[handed_down]}\nos.execvp(sys.argv[1], sys.argv[1:])"]


def state_of(handed_down, *argv, **environment):
    done = subprocess.run([*parent(handed_down), *argv, "sh", "-c", STATE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, timeout=120, env={**os.environ, **environment})
    return done.returncode, done.stdout


@pytest.mark.parametrize("words, handed_down", CASES)
def test_the_command_has_what_its_parent_handed_down(programs, root, tmp_path, words, handed_down):
    expected = state_of(handed_down, XDG_STATE_HOME=str(tmp_path))
    assert expected[0] == 42 and "Umask" in expected[1]
    assert state_of(handed_down, programs / "jobmeter", *words, "--", XDG_STATE_HOME=str(tmp_path)) == expected


@pytest.mark.parametrize("limit", [f"resource.setrlimit(resource.RLIMIT_NOFILE, ({n}, {n}))" for n in (4, 8)]
                         + ["os.setgid(65534); os.setuid(65534); resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))"])
def test_a_command_runs_unmeasured_where_a_limit_is_too_low(programs, root, limit):
    done = subprocess.run(["/usr/bin/python3", "-c", f"import os, resource, sys\n{limit}\nos.execvp(sys.argv[1], sys.argv[1:])",
                           programs / "jobmeter", "run", "--", "sh", "-c", "ulimit -n; exit 42"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 42 and done.stdout, done.stderr
    assert "runs without being measured: " in done.stderr


SERVICES = pytest.mark.parametrize("handed_down", ["SIGCHLD ignored", "all at once"])


@SERVICES
def test_an_agent_checks_its_hooks_and_ends(bench, keeper, agent_user, handed_down):
    agent = Agent(bench.folder / "agent", keeper).prepare()
    agent.start(before=parent(handed_down))
    assert "hooks were not checked" not in agent.log()
    agent.stop()


@SERVICES
def test_a_server_takes_records_and_ends(bench, keeper, handed_down):
    with Server(bench.folder / "server", keeper) as server:
        server.end(signal.SIGTERM)
        server.start(before=parent(handed_down))
        assert server.push(lines([1]))


@SERVICES
def test_an_agent_and_a_server_of_up_meet_and_end(programs, root, keeper, handed_down):
    """Neither has what `up` took aside for itself: both end with it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-up-"))
    keeper.undo("rm", "-rf", "--one-file-system", folder)
    folder.chmod(0o755)
    up = Up(programs, folder / "up", keeper).start(before=parent(handed_down))
    parts = [os.pidfd_open(pid) for pid in up.children().values()]
    assert len(parts) == 2
    up.end(signal.SIGTERM)
    assert len(select.select(parts, [], [], 60)[0]) == 2


@pytest.mark.parametrize("handed_down", ["SIGCHLD ignored", "nearly all ignored"])
def test_a_watch_ends_with_its_time(programs, root, handed_down):
    done = subprocess.run([*parent(handed_down), programs / "jobmeter", "watch", "--standalone", "--pid", str(os.getpid()),
                           "--duration", "1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "not checked" not in done.stderr, done.stderr
