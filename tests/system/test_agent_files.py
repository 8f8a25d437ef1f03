# SPDX-License-Identifier: MIT
"""Files one by one in the agent (`files: on`): each job has those that it used, and no other.  More
of them, with system calls, is in test_agent_details.py."""

import json
import os
import pwd
import shutil
import subprocess
import time

import hot_cases
import pytest

from agent import USER
from agent_pages import ask, await_page, final_record, known_jobs
from job_groups import MANAGER

NOBODY = pwd.getpwnam("nobody")
ROOM = 200  # MiB: 2,400 files for one job


def become(user):
    """The program that starts another as that user."""
    return [] if user == "root" else [shutil.which("setpriv"), f"--reuid={user}", f"--regid={NOBODY.pw_gid}", "--clear-groups", "--"]


@pytest.fixture
def place(bench, demand):
    """A folder of everybody's, on a file system that has files."""
    demand(shutil.which("setpriv") and shutil.which("curl"), "needs setpriv and curl")
    folder = bench.folder / "place"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


# Opens a file and writes to it so often, each of the ways NAME:TIMES.
WRITE = """import os, sys
for way in sys.argv[2:]:
    name, times = way.rsplit(":", 1)
    fd = os.open(os.path.join(sys.argv[1], name), os.O_CREAT | os.O_WRONLY, 0o666)
    for _ in range(int(times)):
        assert os.write(fd, bytes(1009)) == 1009
    os.close(fd)
"""


@pytest.fixture
def write(groups, place):
    """write(job, name=times, user=): what is written in that job."""

    def write(job, user="root", **times):
        groups.run(groups.name(job), *become(user), "/usr/bin/python3", "-c", WRITE, place,
                   *[f"{name}:{count}" for name, count in times.items()])

    return write


def record_of(agent, job):
    time.sleep(0.06)  # a record may be 50 ms old
    return ask(agent, f"/v1/jobs/{MANAGER}/{job}")


def written(record, place):
    """{name: (writes, bytes, opens, closes)} of the files in the place."""
    return {os.path.basename(path): (entry["write"]["calls"], entry["write"]["bytes"], entry["opens"] + entry["creates"], entry["closes"])
            for path, entry in hot_cases.by_path(record).items() if os.path.dirname(path) == str(place)}


def times(*counts):
    """What one file has that was opened once for each of these."""
    return sum(counts), sum(counts) * 1009, len(counts), len(counts)


@pytest.mark.smoke
def test_two_jobs_of_two_users_have_each_their_own(start_agent, groups, programs, bench, place):
    """Exactly what was done with them."""
    agent = start_agent(files=True, maps_memory_mib=ROOM)
    program = shutil.copy(programs / "tests/truth/hot", bench.folder)
    for job, user in ((1, "root"), (2, USER)):
        (place / str(job)).mkdir()
        (place / str(job)).chmod(0o1777)
        groups.run(groups.name(job), *become(user), program, place / str(job))
    await_page(agent, lambda page: {"1", "2"} <= known_jobs(page))
    for is_final in (False, True):
        for job, other in ((1, 2), (2, 1)):
            if is_final:
                groups.remove(groups.name(job))
            record = final_record(agent, job) if is_final else record_of(agent, job)
            assert hot_cases.differences(record, place / str(job)) == {}
            assert not [path for path in hot_cases.by_path(record) if path.startswith(f"{place}/{other}/")]
            assert hot_cases.sums_of_files(record) == hot_cases.sums_of_rows(record)
            assert record["files"]["dropped"]["files"] == 0
            assert "T3" in record["coverage"]["tiers"]
            assert not any("files" in text for text in record["coverage"]["missing"])


def test_cgroups_of_a_job_add_up_by_file(start_agent, groups, place):
    """Live ones and such that ended."""
    agent = start_agent(files=True)
    counts = (13, 17, 19)
    for step, count in enumerate(counts):
        groups.run(groups.name(1, step), "/usr/bin/python3", "-c", WRITE, place, f"both:{count}")
        if step == 0:
            groups.remove(groups.name(1, step))
    await_page(agent, lambda page: "1" in known_jobs(page))
    record = record_of(agent, 1)
    assert written(record, place) == {"both": times(*counts)}
    assert hot_cases.by_path(record)[f"{place}/both"]["files"] == 1


def test_who_uses_files_without_end_takes_nobody_elses_room(start_agent, write, groups, place):
    """What is beyond a job's share is in its sum, and said."""
    share, used = 50 * 96 // 8, 1709
    agent = start_agent(files=True)
    write(1, **{f"file-{i}": 1 for i in range(used)})
    write(2, own=31)
    await_page(agent, lambda page: {"1", "2"} <= known_jobs(page))
    record = record_of(agent, 1)
    files = record["files"]
    assert share - 50 < files["followed"]["files"] <= share  # the rest are directories
    assert files["dropped"]["files"] is None
    assert hot_cases.sums_of_files(record) == hot_cases.sums_of_rows(record)
    assert files["followed"]["write"]["calls"] + files["dropped"]["write"]["calls"] == used
    note, = (note for note in record["coverage"]["notes"] if "files that were not followed" in note)
    assert int(note.split()[0]) >= (used - share) * 3
    assert written(record_of(agent, 2), place) == {"own": times(31)}
    groups.remove(groups.name(1))
    assert hot_cases.sums_of_files(final_record(agent, 1)) == hot_cases.sums_of_rows(final_record(agent, 1))


@pytest.fixture
def run(start_agent, programs, bench, place):
    """run(user, way...): what `run --files` of that user says of its files, and its record."""
    agent = start_agent(files=True)
    program = shutil.copy(programs / "jobmeter", bench.folder)

    def run(user, *ways):
        output = place / f"{user}.json"
        done = subprocess.run([*become(user), program, "run", "--quiet", "--files", "--output", output, "--",
                               "/usr/bin/python3", "-c", WRITE, place, *ways], capture_output=True, text=True, cwd="/",
                              env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "XDG_STATE_HOME": str(place)})
        assert done.returncode == 0, done.stderr
        return json.loads(output.read_text())

    run.agent = agent
    return run


def test_a_run_has_them_from_the_agent_and_nobody_else_sees_them(run, place):
    records = {user: run(user, f"{name}:{count}") for user, name, count in (("root", "a", 37), (USER, "b", 41), ("nobody", "c", 43))}
    assert {user: written(record, place) for user, record in records.items()} == \
        {"root": {"a": times(37)}, USER: {"b": times(41)}, "nobody": {"c": times(43)}}
    for record in records.values():
        assert record["job"]["manager"] == "run" and record["job"]["id"]
        assert not any("files" in text for text in record["coverage"]["missing"])

    def answer(user, path):
        return subprocess.run([*become(user), "curl", "--silent", "--unix-socket", run.agent.settings["socket"]["path"],
                               f"http://agent{path}"], capture_output=True, text=True).stdout

    def path_of(user):
        return f"/v1/jobs/run/{records[user]['job']['id']}"

    assert f"{place}/b\"" in answer(USER, path_of(USER))
    assert f"{place}/b\"" in answer("root", path_of(USER))
    for user, other, name in ((USER, "nobody", "c"), ("nobody", USER, "b"), (USER, "root", "a")):
        for path in (path_of(other), path_of(user), "/v1/jobs", "/v1/agent", "/metrics"):
            assert f"{place}/{name}\"" not in answer(user, path)
