# SPDX-License-Identifier: MIT
"""Files one by one and system calls by name, of an agent that has both (`files: on`, `syscalls: on`): nothing is lost or counted
twice, whatever becomes of agent and job."""

import json
import os
import shutil
import subprocess

from calls_cases import differences

from agent import USER
from agent_pages import await_page, entries, final_record, known_jobs
from job_groups import MANAGER
from test_agent_files import WRITE, become, place, record_of, times, write, written  # noqa: F401
from test_agent_syscalls import make_calls, wrong  # noqa: F401

# Jobs that write files, and jobs that make calls.
LIVES, ENDS, LIVES_TOO, ENDS_TOO = 1, 2, 11, 12


def test_nothing_is_lost_or_counted_twice_whatever_becomes_of_the_agent(start_agent, write, make_calls, groups, place):  # noqa: F811
    agent = start_agent(files=True, syscalls=True)
    write(LIVES, lives=101)
    write(ENDS, USER, ends=103)
    lives, ends = make_calls(LIVES_TOO), make_calls(ENDS_TOO)
    agent.kill()
    write(LIVES, lives=107)
    write(ENDS, USER, ends=109, more=11)
    lives.update(make_calls(LIVES_TOO))
    ends.update(make_calls(ENDS_TOO))
    for job in (ENDS, ENDS_TOO):
        groups.remove(groups.name(job))
    agent.start()
    ended = {"ends": times(103, 109), "more": times(11)}
    assert written(final_record(agent, ENDS), place) == ended
    assert not wrong(final_record(agent, ENDS_TOO), ends)
    assert written(record_of(agent, LIVES), place) == {"lives": times(101, 107)}
    assert not wrong(record_of(agent, LIVES_TOO), lives)
    assert agent.step_aside() == 0
    write(LIVES, lives=113)
    lives.update(make_calls(LIVES_TOO))
    agent.start()
    assert "took over what was counting" in agent.log()
    assert written(record_of(agent, LIVES), place) == {"lives": times(101, 107, 113)}
    assert not wrong(record_of(agent, LIVES_TOO), lives)
    agent.stop()
    agent.start()  # from what is written down
    assert written(record_of(agent, ENDS), place) == ended
    assert not wrong(record_of(agent, ENDS_TOO), ends)
    write(LIVES, lives=127)
    lives.update(make_calls(LIVES_TOO))
    whole = {"lives": times(101, 107, 113, 127)}
    assert written(record_of(agent, LIVES), place) == whole
    assert not wrong(record_of(agent, LIVES_TOO), lives)
    for job in (LIVES, LIVES_TOO):
        groups.remove(groups.name(job))
    assert written(final_record(agent, LIVES), place) == whole
    assert not wrong(final_record(agent, LIVES_TOO), lives)


def test_of_what_an_agent_did_not_count_nothing_is_told(start_agent, write, make_calls, place):  # noqa: F811
    agent = start_agent()
    write(LIVES, early=3)
    await_page(agent, lambda page: str(LIVES) in known_jobs(page))
    record = record_of(agent, LIVES)
    assert not {"files", "syscalls"} & record.keys() and "T3" not in record["coverage"]["tiers"]
    assert not any("system calls" in text for text in record["coverage"]["missing"])
    agent.stop()
    agent.configure(files=True, syscalls=True)
    agent.start()
    write(LIVES, late=5)
    write(ENDS, own=7)
    said = make_calls(ENDS_TOO)
    await_page(agent, lambda page: {str(ENDS), str(ENDS_TOO)} <= known_jobs(page))
    assert written(record_of(agent, ENDS), place) == {"own": times(7)}
    assert not wrong(record_of(agent, ENDS_TOO), said)
    record = record_of(agent, LIVES)
    assert not {"files", "syscalls"} & record.keys()
    assert {f"{what}: an earlier agent, which measured a part of the job, did not count them"
            for what in ("hot files", "system calls by name")} <= set(record["coverage"]["missing"])


def test_what_has_ended_is_erased_in_the_kernel(start_agent, make_calls, groups, place, demand):  # noqa: F811
    demand(shutil.which("bpftool") or os.path.exists("/usr/sbin/bpftool"), "needs bpftool")
    agent = start_agent(files=True, syscalls=True)
    keeps_open = WRITE.replace("    os.close(fd)\n", "")  # who closes takes what is known of an open file along
    groups.run(groups.name(LIVES), "/usr/bin/python3", "-c", keeps_open, place, *[f"{i}:1" for i in range(23)])
    make_calls(LIVES)
    ids = {(root / groups.name(LIVES)).stat().st_ino for root in groups.roots}
    of_files = ("followed_files", "followed_names", "followed_counts", "open_files")
    for name in of_files:
        assert entries(agent, name, ids) >= 23, name
    assert entries(agent, "syscalls_by_cgroup", ids) > 10
    groups.remove(groups.name(LIVES))
    final_record(agent, LIVES)
    await_page(agent, lambda _: not any(entries(agent, name, ids) for name in (*of_files, "syscalls_by_cgroup")))


def test_a_run_has_its_calls_from_the_agent(start_agent, programs, bench, place):  # noqa: F811
    agent = start_agent(files=True, syscalls=True)
    for path in ("jobmeter", "tests/truth/calls"):
        shutil.copy(programs / path, bench.folder)
    environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "XDG_STATE_HOME": str(place)}
    for user in ("root", USER):
        output = place / f"{user}.json"
        done = subprocess.run([*become(user), bench.folder / "jobmeter", "run", "--quiet", "--syscalls", "--output", output, "--",
                               bench.folder / "calls"], env=environment, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr
        record = json.loads(output.read_text())
        assert record["job"]["manager"] == "run" and record["job"]["id"]
        assert differences(done.stdout, record) == {}
        assert not any("system calls" in text for text in record["coverage"]["missing"])


def test_a_watch_has_them_from_the_agent(start_agent, write, make_calls, programs, bench, groups, place):  # noqa: F811
    """From when it begins on."""
    agent = start_agent(files=True, syscalls=True, socket={"path": f"{bench.folder}/agent/agent.sock", "everyone_sees_all": True})
    write(LIVES, both=47, before=53)
    make_calls(LIVES_TOO)
    await_page(agent, lambda page: {str(LIVES), str(LIVES_TOO)} <= known_jobs(page))
    shutil.copy(programs / "jobmeter", bench.folder)
    watches = {(user, job): subprocess.Popen(
        [*become(user), bench.folder / "jobmeter", "watch", option, "--live", "--job", f"{MANAGER}/{job}", "--output",
         place / f"{user}-{job}.json"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"]})
        for user in ("root", USER) for job, option in ((LIVES, "--files"), (LIVES_TOO, "--syscalls"))}
    for watch in watches.values():
        assert watch.stdout.readline()  # after its first looks
    write(LIVES, both=59, after=61)
    said = make_calls(LIVES_TOO)
    for job in (LIVES, LIVES_TOO):
        groups.remove(groups.name(job))
    for (user, job), watch in watches.items():
        _, err = watch.communicate(timeout=60)
        assert watch.returncode == 0, err
        record = json.loads((place / f"{user}-{job}.json").read_text())
        if job == LIVES:
            assert written(record, place) == {"both": times(59), "after": times(61)}
        else:
            assert not wrong(record, said)
