# SPDX-License-Identifier: MIT
"""What a record tells of time: the parts are together the whole, and stand where it was done."""

import json
import math
import shutil
import subprocess

import pytest

from agent_pages import final_record, text_of, wrong_totals
from job_groups import MANAGER
from timelines import buckets_until_now, load, values_of, wrong_series
from waiting import until

# 17 MiB, then nothing for 3 s, then 13 MiB in 1,000 writes, and 1 s at the end.
STAGES = """
import os, time
fd = os.open('/dev/shm/stages', os.O_CREAT | os.O_RDWR)
os.write(fd, b'x' * (17 << 20))
time.sleep(3.1)
for _ in range(1000):
    os.write(fd, b'y' * 13631)
os.unlink('/dev/shm/stages')
time.sleep(1.1)
"""


def most_buckets(record):
    """Of a second each: begun ones at both ends, and one that a late look began."""
    return math.ceil(record["time"]["elapsed_seconds"]) + 2


@pytest.fixture
def run(programs, tmp_path, root, monkeypatch):
    """run(*argv, options=[...]): the record of a command that has to end well."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*argv, options=()):
        output = tmp_path / "record.json"
        done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--output", output, *options, "--",
                               *map(str, argv)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return load(output.read_text())

    return run


class TestRun:
    def test_each_bucket_has_what_was_done_in_it(self, run):
        record = run("/usr/bin/python3", "-c", STAGES)
        assert not wrong_series(record)
        assert record["timeline"]["interval_seconds"] == 1
        written = values_of(record, "write.bytes")
        assert len(written) == buckets_until_now(record)
        assert sum(written) == (17 << 20) + 1000 * 13631
        slept = next(i for i in range(len(written)) if sum(written[i:]) == 1000 * 13631)
        second = next(i for i, v in enumerate(written) if i >= slept and v)
        assert second > slept, written
        usage = [v for v in values_of(record, "memory.usage_bytes") if v is not None]
        assert max(usage) <= record["memory"]["peak_bytes"]

    def test_a_command_of_5_ms_has_one(self, run):
        record = run("sh", "-c", "echo 12345 >/dev/null")
        assert not wrong_series(record)
        assert 1 <= len(values_of(record, "write.bytes")) <= most_buckets(record)
        assert sum(values_of(record, "write.bytes")) == 6

    def test_what_was_left_behind_and_waited_for_is_in_it(self, run):
        record = run("sh", "-c", "(sleep 2.3; echo late >/dev/null) &", options=["--wait"])
        assert not wrong_series(record)
        assert len(values_of(record, "write.bytes")) >= 3
        assert values_of(record, "write.bytes")[0] == 0

    def test_what_nobody_measured_is_null(self, run):
        record = run("sleep", "1.2", options=["--tiers", "T0"])
        assert not wrong_series(record)
        assert values_of(record, "read.bytes") is None and values_of(record, "cpu.user_seconds") is not None

    def test_signals_in_its_midst_are_still_passed_on(self, run, tmp_path):
        """Looking once a second takes nothing from waiting."""
        record = run("/usr/bin/python3", "-c", "import os, signal, time\n"
                     "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'heard'))\n"
                     "for _ in range(5): os.kill(os.getppid(), signal.SIGUSR1); time.sleep(0.5)\n")
        assert not wrong_series(record)
        assert sum(values_of(record, "write.bytes")) == 25

    def test_ranks_are_merged_as_their_records_are(self, run, programs, tmp_path):
        paths = []
        for rank, seconds in enumerate((0.3, 2.2)):
            run("sh", "-c", f"head -c 1009 /dev/zero >/dev/null; sleep {seconds}")
            paths.append(tmp_path / f"{rank}.json")
            (tmp_path / "record.json").rename(paths[-1])
        merged = load(subprocess.run([programs / "jobmeter", "report", "--json", *paths], check=True,
                                     capture_output=True, text=True).stdout)
        assert not wrong_series(merged)
        parts = [sum(values_of(load(path.read_text()), "read.bytes")) for path in paths]
        between = None  # what stands in a bucket that neither was there in: the second began later
        assert sum(value for value in values_of(merged, "read.bytes") if value is not between) == sum(parts)


def record_of(agent, job, seconds=60):
    """A reading may be some tenths of a second old, and the job younger."""
    return load(until(lambda: "jobmeter.record/1" in (text := text_of(agent, f"/v1/jobs/{MANAGER}/{job}")) and text, seconds))


def wait_until_written(agent, job, seconds=60):
    """Its timeline is written down with the reading after its end."""
    until(lambda: any('"timeline"' in path.read_text() for path in (agent.folder / "state/jobs").glob(f"*-{job}.json")), seconds)


def buckets_of(record):
    return len(values_of(record, "cpu.user_seconds"))


class TestAgent:
    @pytest.fixture(autouse=True)
    def curl(self, demand):
        demand(shutil.which("curl"), "needs curl")

    def test_the_parts_of_a_job_are_the_whole_at_any_moment(self, start_agent, bench, work, groups):
        agent = start_agent()
        for seed in range(3):
            work(1, "0", seed=seed, children=2)
            record = record_of(agent, 1)
            assert record["final"] is False and not wrong_series(record)
            assert not wrong_totals(agent, bench)
        groups.remove(groups.name(1))
        assert not wrong_totals(agent, bench)
        final_record(agent, 1)
        record = record_of(agent, 1)
        assert not wrong_series(record)
        assert buckets_of(record) in (buckets_until_now(record), buckets_until_now(record) + 1)
        assert sum(values_of(record, "write.bytes")) > 0

    def test_a_short_job_has_one(self, start_agent, bench, work, groups):
        agent = start_agent()
        work(2)
        groups.remove(groups.name(2))
        assert not wrong_totals(agent, bench)
        final_record(agent, 2)
        record = record_of(agent, 2)
        assert not wrong_series(record) and buckets_of(record) <= most_buckets(record)
        assert "before" not in record["timeline"]["series"]["write.bytes"]

    def test_an_agent_that_comes_later_says_what_was_before(self, start_agent, bench, groups):
        waits = groups.start(groups.name(3), "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 60")
        try:
            while "sleep" not in open(f"/proc/{waits.pid}/comm").read():
                pass
            agent = start_agent()
            record = record_of(agent, 3)
            assert not wrong_series(record)
            assert record["timeline"]["series"]["cpu.user_seconds"]["before"] > 0
            assert sum(values_of(record, "cpu.user_seconds")) == 0
        finally:
            waits.kill()
            waits.wait()

    def test_a_kill_loses_no_count_and_the_past_stays(self, start_agent, bench, work, groups):
        agent = start_agent(interval="1s")
        work(1, "0", children=2)
        work(4, "0")
        groups.remove(groups.name(4, "0"))  # folded, and so written down
        assert not wrong_totals(agent, bench)
        past = record_of(agent, 4)
        wait_until_written(agent, 4)
        for seed in (11, 12):
            agent.kill()
            work(1, "0", seed=seed)
            agent.start()
            assert not wrong_totals(agent, bench)
            assert not wrong_series(record_of(agent, 1))
        now = record_of(agent, 4)
        assert not wrong_series(now)
        assert now["timeline"]["start"] == past["timeline"]["start"]
        assert buckets_of(now) >= buckets_of(past)
        groups.remove(groups.name(1))
        final_record(agent, 1)
        assert not wrong_series(record_of(agent, 1))

    def test_a_clean_end_keeps_all_of_it(self, start_agent, bench, work, groups):
        agent = start_agent()
        work(1, "0", children=2)
        assert not wrong_totals(agent, bench)
        assert agent.step_aside() == 0
        saved = json.loads((agent.folder / f"state/jobs/{MANAGER}-1.json").read_text())["timeline"]
        agent.start()
        work(1, "0", seed=1)
        assert not wrong_totals(agent, bench)
        record = record_of(agent, 1)
        assert not wrong_series(record)
        kept = values_of(record, "write.calls")
        runs = saved["series"]["write.calls"]["runs"]
        assert runs[0] is None or kept[0] == runs[0]

    def test_a_run_has_the_agents(self, start_agent, bench, programs, monkeypatch, tmp_path):
        agent = start_agent()
        monkeypatch.setenv("JOBMETER_SOCKET", agent.settings["socket"]["path"])
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        subprocess.run([programs / "jobmeter", "run", "--quiet", "--output", tmp_path / "r.json", "--", "sh", "-c",
                        "head -c 4013 /dev/zero >/dev/null; sleep 2.5; head -c 4013 /dev/zero >/dev/null"], check=True)
        record = load((tmp_path / "r.json").read_text())
        assert not wrong_series(record)
        read = values_of(record, "read.bytes")
        assert len(read) >= 3 and sum(read) >= 8026

    def test_a_watch_has_the_part_of_it(self, start_agent, bench, work, groups, programs, monkeypatch):
        agent = start_agent()
        work(1, "0", children=2)
        assert not wrong_totals(agent, bench)
        monkeypatch.setenv("JOBMETER_SOCKET", agent.settings["socket"]["path"])
        watch = subprocess.Popen([programs / "jobmeter", "watch", "--job", f"{MANAGER}/1", "--duration", "4", "--json"],
                                 stdout=subprocess.PIPE, text=True)
        work(1, "0", seed=5)
        record = load(watch.communicate(timeout=60)[0])
        assert watch.returncode == 0 and not wrong_series(record)
        assert buckets_of(record) <= most_buckets(record)
