# SPDX-License-Identifier: MIT
"""An agent that is stopped, killed and started again while jobs run: nothing counts twice, and what nobody counted is said."""

import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest

from agent_pages import PATIENCE_S, ask, page_of
from job_groups import MANAGER

SIZE = 4093  # of one write
WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for line in sys.stdin:
    for _ in range(int(line)):
        os.write(fd, bytes({size}))
    print("done", flush=True)
"""


class Writer:
    """A process of a job that writes when it is told to."""

    def __init__(self, groups, bench, job):
        self.process = groups.start(groups.name(job), sys.executable, "-c", WRITER.format(size=SIZE),
                                    bench.memory / f"writer-{job}", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True)

    def write(self, count):
        print(count, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "done\n"

    def io(self):
        """What the kernel itself says of it: by the names of records."""
        lines = open(f"/proc/{self.process.pid}/io", encoding="ascii").read().splitlines()
        said = {key: int(value) for key, value in (line.split(": ") for line in lines)}
        return {"rchar_bytes": said["rchar"], "wchar_bytes": said["wchar"], "syscr_calls": said["syscr"],
                "syscw_calls": said["syscw"]}

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def tasks_of(record):
    """Nothing is known of a job that no reading has seen yet."""
    tasks = record.get("tasks", {})
    return {key: tasks.get(key) for key in ("rchar_bytes", "wchar_bytes", "syscr_calls", "syscw_calls")}


def is_same_time(one, other):
    """An agent that was killed before it wrote the job down reads the clock of day anew: that of the boot is exact."""
    seconds = [datetime.fromisoformat(text[:26]).timestamp() for text in (one, other)]
    return abs(seconds[0] - seconds[1]) < 0.001


def written(agent, job, mount):
    """(bytes, calls) that stand in the rows of that mount."""
    page = page_of(agent)
    return tuple(sum(value for labels, value in page.of(f"jobmeter_job_io_write_{unit}_total")
                     if labels["jobid"] == str(job) and labels["manager"] == MANAGER and labels["mount"] == str(mount))
                 for unit in ("bytes", "calls"))


def await_equal(look, expected):
    end = time.monotonic() + PATIENCE_S
    while (found := look()) != expected and time.monotonic() < end:
        time.sleep(0.1)
    return found


def job_of(agent, job):
    return ask(agent, f"/v1/jobs/{MANAGER}/{job}")


def has_gap(record):
    noted = [note for note in record["coverage"]["notes"] if "while the agent was restarted" in note]
    assert bool(noted) == (record["coverage"].get("unmeasured_seconds", 0) > 0)
    return bool(noted)


# Who has other settings cannot use what is in the kernel, as another build cannot.  Not with less memory for maps: with
# 20 MiB there are 64 rows of files for the whole machine, and whoever is busy on it leaves none to the job.
OTHER, THIRD = {"histograms": False}, {"histograms": False, "block": False}


def restart(agent, how, meanwhile, **settings):
    """How long nobody can have counted, at most; *meanwhile* is done while there is no agent."""
    began = time.monotonic()
    if how == "aside":
        agent.step_aside()
    elif how == "kill":
        agent.kill()
    elif how == "stop":
        agent.stop()
    else:
        agent.process.send_signal(signal.SIGTERM)
        time.sleep(how / 1000)
        agent.kill()
    meanwhile()
    agent.configure(**settings)
    agent.start()
    return time.monotonic() - began


@pytest.mark.parametrize("turns", [["aside"], ["stop", "aside", "stop"], [0, 10, 40, 120]],
                         ids=lambda turns: "-".join(map(str, turns)))
def test_nothing_counts_twice(start_agent, bench, groups, turns):
    """Of tasks that live over it the kernel itself has what they did meanwhile; rows by mount lack that, which is said."""
    agent = start_agent()
    one, short = Writer(groups, bench, 1), Writer(groups, bench, 1)
    counted, gap_s = 0, 0
    for how in turns:
        for writer, count in ((one, 7), (short, 11)):
            writer.write(count)
        counted += 18
        assert await_equal(lambda: written(agent, 1, bench.memory)[1], counted) == counted
        before = job_of(agent, 1)
        took_s = restart(agent, how, lambda: one.write(13))
        truth = {key: value + short.io()[key] for key, value in one.io().items()}
        assert await_equal(lambda: tasks_of(job_of(agent, 1)), truth) == truth
        record = job_of(agent, 1)
        is_counted = written(agent, 1, bench.memory)[1] == counted + 13
        counted += 13 if is_counted else 0
        assert written(agent, 1, bench.memory) == (counted * SIZE, counted)
        gap_s += 0 if is_counted else took_s
        assert has_gap(record) == (gap_s > 0)
        assert record["coverage"].get("unmeasured_seconds", 0) <= gap_s
        assert before["time"]["measured_from"] == before["time"]["start"]
        assert is_same_time(record["time"]["measured_from"], before["time"]["measured_from"])
        assert record["cpu"]["user_seconds"] >= before["cpu"]["user_seconds"]
        if how in ("aside", "stop"):
            assert is_counted == (how == "aside")
    short.write(17)
    one.write(5)
    truth = {key: value + short.io()[key] for key, value in one.io().items()}
    short.end()  # what it did is known from its end now
    truth["syscr_calls"] += 1  # that of the end of its input
    assert await_equal(lambda: tasks_of(job_of(agent, 1)), truth) == truth
    one.end()
    truth["syscr_calls"] += 1
    groups.remove(groups.name(1))
    assert await_equal(lambda: job_of(agent, 1)["final"], True) is True
    record = job_of(agent, 1)
    assert tasks_of(record) == truth and has_gap(record) == (gap_s > 0)


def test_another_build_goes_on_from_what_the_one_before_wrote_down(start_agent, bench, groups):
    """As `systemctl restart` after an update."""
    agent = start_agent()
    one = Writer(groups, bench, 1)
    one.write(7)
    assert await_equal(lambda: written(agent, 1, bench.memory)[1], 7) == 7
    took_s = restart(agent, "aside", lambda: one.write(13), **OTHER)
    assert "removed what another build, or other settings, had left counting" in agent.log()
    one.write(11)
    assert await_equal(lambda: written(agent, 1, bench.memory), (18 * SIZE, 18)) == (18 * SIZE, 18)
    assert await_equal(lambda: tasks_of(job_of(agent, 1)), one.io()) == one.io()
    record = job_of(agent, 1)
    assert has_gap(record) and record["coverage"]["unmeasured_seconds"] <= took_s
    one.end()


def test_after_a_kill_another_build_says_what_it_lacks(start_agent, bench, groups):
    """What was shown never falls and nothing counts twice."""
    agent, began = start_agent(), time.monotonic()
    one, short = Writer(groups, bench, 1), Writer(groups, bench, 1)
    one.write(7)
    short.write(17)
    ended = short.io()
    short.end()
    ended["syscr_calls"] += 1  # that of the end of its input

    def truth():
        return {key: value + ended[key] for key, value in one.io().items()}

    assert await_equal(lambda: tasks_of(job_of(agent, 1)), truth()) == truth()
    assert written(agent, 1, bench.memory) == (24 * SIZE, 24)
    await_equal(lambda: len(list((agent.folder / "state/jobs").glob("made-1*"))), 1)  # what has ended is written down
    before = job_of(agent, 1)
    for turn in range(2):
        restart(agent, "kill", lambda: one.write(3), **(OTHER if turn == 0 else THIRD))
        one.write(5)
        assert await_equal(lambda: written(agent, 1, bench.memory), (5 * SIZE, 5)) == (5 * SIZE, 5)
        record = job_of(agent, 1)
        assert all(value <= tasks_of(record)[key] <= truth()[key] for key, value in tasks_of(before).items())
        assert all(record["cpu"][key] >= before["cpu"][key] for key in ("user_seconds", "system_seconds"))
        assert has_gap(record) and 0 < record["coverage"]["unmeasured_seconds"] <= time.monotonic() - began
        assert is_same_time(record["time"]["measured_from"], before["time"]["measured_from"])
    one.end()
