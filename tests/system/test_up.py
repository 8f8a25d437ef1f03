# SPDX-License-Identifier: MIT
"""Agent and server as `jobmeter up` starts them, from the job to what `jobs`, `report`, `compare` and `insights` read back."""

import collections
import contextlib
import csv
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

import pytest

from person import NOBODY, Person
from repository import REPOSITORY
from slurm import MADE_JOBS as JOBS
from slurm import USERS
from up import USERS as SERVICE_USERS
from up import Up, make_users, two_ports
from waiting import until

pytestmark = pytest.mark.node


def primes(count, least):
    """The first @count primes from @least on."""
    found, number = [], least | 1
    while len(found) < count:
        if all(number % d for d in range(3, int(number ** 0.5) + 1, 2)):
            found.append(number)
        number += 2
    return found


@pytest.fixture
def folder(keeper):
    made = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-up-"))
    made.chmod(0o755)
    keeper.undo("rm", "-rf", "--one-file-system", made)
    return made


@pytest.fixture
def up(programs, folder, keeper):
    with Up(programs, folder / "up", keeper) as up:
        yield up


# ---- jobs of Slurm ----


@pytest.fixture(scope="module")
def site(slurm, programs):
    """Jobs of two users, each of which wrote a prime number of bytes: (up, {id: (user, bytes)})"""
    folder = slurm.folder / "up"
    place = slurm.folder / "written"
    place.mkdir()
    slurm.keeper.run("mount", "-t", "tmpfs", "-o", "size=512m,mode=1777", "written", place, undo=["umount", "-l", place])
    with Up(programs, folder, slurm.keeper, JOBMETER_RUN_DIR=str(slurm.facts.parent), JOBMETER_INTERVAL="1s") as up:
        told = {}
        for i, size in enumerate(primes(JOBS, 100_003)):
            user = USERS[i % 2]
            job = slurm.submit(f"exec dd if=/dev/zero of={place}/$SLURM_JOB_ID bs={size} count=1 status=none", "-A", "physics",
                               user=user)
            told[str(job)] = (user, size)
        slurm.wait_until_over(600)
        until(lambda: told.keys() <= {row["id"] for row in up.jobs("--all", "-o", "id,end") if row["end"]}, 180,
              lambda: f"{len(up.jobs('--all', '-o', 'id'))} of {JOBS} jobs arrived\n{up.log()}", 0.2)
        yield up, told


def sums_of(rows):
    """Of {mount: bytes}: what the mount has that the jobs write to, and all that hold data."""
    return (sum(size for mount, size in rows.items() if mount.endswith("/written")),
            sum(size for mount, size in rows.items() if not mount.startswith("(") and mount != "/dev"))


def written_by_all(up):
    """{job: its sums}, of the database's own rows."""
    rows = collections.defaultdict(dict)
    with contextlib.closing(sqlite3.connect(f"file:{up.database}?mode=ro", uri=True)) as db:
        for job, mount, size in db.execute('SELECT j.job_id, m.mount, m."io.write.bytes" FROM jobs j JOIN job_mounts m ON m.job = j.id'):
            rows[job][mount] = size
    return {job: sums_of(mounts) for job, mounts in rows.items()}


def written_by(up, job):
    """What its record in the database says."""
    done = up.type("report", "--database", up.database, job, "--format", "csv", "--by", "mount")
    assert done.returncode == 0, done.stderr
    return sums_of({row["mount"]: int(row["write_bytes"]) for row in csv.DictReader(done.stdout.splitlines())})


def test_each_of_many_jobs_is_there_with_exact_bytes(site):
    up, told = site
    rows = {row["id"]: row for row in up.jobs("--all", "-o", "id,user,account,written,manager")
            if row["manager"] == "slurm" and row["user"] in USERS}  # tests of other files have groups like Slurm's too
    found = {job: sums for job, sums in written_by_all(up).items() if job in told}
    assert all(written_by(up, job) == found[job] for job in list(told)[::10])
    assert {job: size for job, (size, _) in found.items()} == {job: size for job, (_, size) in told.items()}
    assert {job: (row["user"], row["account"], row["written"]) for job, row in rows.items()} == \
        {job: (user, "physics", str(found[job][1])) for job, (user, _) in told.items()}


def test_the_database_says_the_same_as_the_server(site):
    up, _ = site
    options = ("--account", "physics", "-o", "id,user,state,elapsed,written,memory_peak,cpu_time,reason,start,end")
    listed = up.jobs("--database", up.database, *options)
    assert listed == up.jobs("--all", "--since", "1970-01-02", *options) and len(listed) == JOBS


def test_a_user_sees_his_own_jobs(site):
    up, told = site
    for user in USERS:
        mine = {job for job, (owner, _) in told.items() if owner == user}
        for options in ([], ["--all"], ["--user", user]):
            assert {row["id"] for row in up.jobs(*options, user=user)} == mine
        job = min(mine)
        report = up.type("report", "--format", "json", job, user=user)
        assert report.returncode == 0, report.stderr
        assert f'"id": "{job}"' in report.stdout


def test_a_user_sees_nothing_of_another(site):
    up, told = site
    (theirs, (owner, _)), *_ = told.items()
    me = next(user for user in USERS if user != owner)
    own = next(job for job, (user, _) in told.items() if user == me)
    for options in (["--user", owner], ["--text", theirs], ["--text", owner]):
        assert up.jobs(*options, user=me) == [], options
    absent = "1" + theirs
    for command in (["report"], ["insights"], ["compare", own]):
        found, none = (up.type(*command, job, user=me) for job in (theirs, absent))
        assert (found.returncode, found.stdout) == (1, "")
        assert found.stderr.replace(theirs, "N") == none.stderr.replace(absent, "N")
    assert up.type("jobs", "--database", up.database, user=me).returncode == 1


def test_columns_have_sacct_names(site):
    up, told = site
    ours, theirs = (up.jobs("--all", "--account", "physics", "-o", names) for names in
                    ("id,user,elapsed,cores,memory_peak", "JobID,User%20,Elapsed,AllocCPUS,MaxRSS"))
    assert ours == theirs and len(ours) == JOBS


def test_filters_choose_in_the_database(site):
    up, told = site
    job, (user, _) = next(iter(told.items()))
    assert [row["id"] for row in up.jobs("--all", "--text", job)] == [job]
    assert len(up.jobs("--all", "--text", "PHYSICS")) == JOBS
    assert up.jobs("--all", "--name", "nothing") == []  # the prolog is told no names
    assert len(up.jobs("--all", "--account", "physics", "--state", "ended")) == JOBS
    assert up.jobs("--all", "--account", "chemistry") == []
    assert up.jobs("--all", "--account", "physics", "--until", "1d") == []
    assert len(up.jobs("--user", user)) == JOBS / 2
    assert len(up.type("jobs", "--all", "--account", "physics", "--limit", "7", "--no-legend").stdout.splitlines()) == 7


def test_jobs_have_the_names_that_their_environment_has(site, slurm):
    """The prolog of this Slurm is told none."""
    up, _ = site
    job = slurm.submit("sleep 6", name="long train", user=USERS[0])
    rows = until(lambda: [row for row in up.jobs("--all", "--name", "long train", "-o", "id,name,end") if row["end"]], 120, up.log, 0.2)
    assert [(row["id"], row["name"]) for row in rows] == [(str(job), "long train")]


def test_runs_have_the_name_of_their_command(site):
    up, _ = site
    done = up.type("run", "--quiet", "sleep", "5")
    assert done.returncode == 0, done.stderr
    until(lambda: [row for row in up.jobs("--all", "--name", "sleep", "-o", "id,end") if row["end"]], 120, up.log, 0.2)


# ---- up itself ----


def test_six_lines_say_what_is_open_and_where(up):
    assert [line.split()[0] for line in up.lines] == ["agent", "server", "database", "jobs", "page", "end"]
    text = "\n".join(up.lines)
    for part in (f"127.0.0.1:{up.port}/metrics", f"127.0.0.1:{up.port + 1} ", str(up.database), "agent.sock", "server.sock"):
        assert part in text
    assert up.database.exists() and up.database.stat().st_mode & 0o077 == 0


def test_its_link_opens_the_page_once(up):
    link = next(line.split()[1] for line in up.lines if line.startswith("page "))
    assert re.fullmatch(rf"http://127\.0\.0\.1:{up.port + 1}/login/[0-9a-f]{{64}}", link)

    def get(path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", up.port + 1, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer, answer.read().decode()

    path = link.partition(f":{up.port + 1}")[2]
    for asked in (get(path, "HEAD"), get(path, **{"Sec-Fetch-Site": "cross-site"}), get(path[:-1] + ("0" if path[-1] != "0" else "1"))):
        assert "jobmeter=" not in str(asked[0].headers)  # it is still there
    answer, _ = get(path)
    cookie = answer.headers["Set-Cookie"]
    assert (answer.status, answer.headers["Location"]) == (303, "/jobs") and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    answer, text = get("/jobs", Cookie=cookie.partition(";")[0])
    assert answer.status == 200 and "root, operator" in text
    answer, text = get(path)
    assert "used already" in text and "Set-Cookie: jobmeter=" not in str(answer.headers)


def test_the_server_has_no_rights(up):
    status = pathlib.Path(f"/proc/{up.children()['jobmeter-server']}/status").read_text()
    assert not re.search(r"^Uid:.*\b0\b", status, re.MULTILINE)
    assert re.search(r"^CapEff:\s0+$", status, re.MULTILINE) and re.search(r"^CapPrm:\s0+$", status, re.MULTILINE)


def test_one_ctrl_c_ends_both(up):
    children = up.children()
    assert set(children) >= {"jobmeter-agent", "jobmeter-server"}
    assert up.end(signal.SIGINT) == 0, up.log()
    assert not [pid for pid in children.values() if pathlib.Path(f"/proc/{pid}").exists()]


def test_a_kill_ends_both(up):
    up.end(signal.SIGKILL)
    until(lambda: not of(up.folder), 60, lambda: f"{of(up.folder)}\n{up.log()}")


def test_a_kill_while_they_start_ends_both(programs, folder, keeper):
    up = Up(programs, folder / "up", keeper)
    for milliseconds in (0, 20, 60, 150, 400):
        up.launch()
        time.sleep(milliseconds / 1000)
        up.end(signal.SIGKILL)
        until(lambda: not of(up.folder), 60, lambda: f"after {milliseconds} ms: {of(up.folder)}\n{up.log()}")


@pytest.mark.parametrize("name", ["jobmeter-agent", "jobmeter-server"])
def test_where_one_ends_the_other_does_too(up, name):
    children = up.children()
    os.kill(children[name], signal.SIGKILL)
    assert up.process.wait(60) == 1
    assert f"jobmeter up: {name} was killed by signal 9\n" in up.log()
    assert not [pid for pid in children.values() if pathlib.Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("name, offset", [("jobmeter-agent", 0), ("jobmeter-server", 1)])
def test_a_port_that_is_taken_is_named(programs, folder, keeper, name, offset):
    up = Up(programs, folder / "up", keeper)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", up.port + offset))
        taken.listen()
        done = subprocess.run([up.folder / "jobmeter", "up", "--state", up.state, "--port", str(up.port)], env=up.environment,
                              capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{name}: cannot listen on 127.0.0.1:{up.port + offset}: Address already in use\n" in done.stderr
    assert done.stderr.endswith(f"jobmeter up: {name} ended with status 1\n")


def test_who_is_not_root_is_told_in_a_line(programs, tmp_path, root):
    done = Person(programs, tmp_path / "home", NOBODY).type("jobmeter up")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "jobmeter up: it measures all jobs of this machine, and so wants root\n"


# ---- make run ----


def test_make_run_ends_with_the_report_from_the_database(programs, folder, keeper):
    make_users(keeper, SERVICE_USERS)
    build = folder / "build"
    build.mkdir(mode=0o755)
    for name in ("jobmeter", "jobmeter-agent", "jobmeter-server"):
        shutil.copy2(programs / name, build / name)
    work = folder / "work"
    work.write_text("#!/bin/sh\nexec dd if=/dev/zero of=/dev/shm/jobmeter-up bs=104729 count=17 status=none\n")
    work.chmod(0o755)
    keeper.undo("rm", "-f", "/dev/shm/jobmeter-up")
    done = subprocess.run([REPOSITORY / "tools/run-under-up", build, work], capture_output=True, text=True, timeout=300,
                          env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(folder / "history"),
                               "JOBMETER_CONFIG": "/dev/null", "JOBMETER_UP_PORT": str(two_ports())})
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  /dev/shm .* 1\.7 MiB +17 ", done.stdout, re.MULTILINE), done.stdout
    assert [line.split(":")[0] for line in done.stdout.splitlines()[-2:]] == ["From the database", "In a browser"]
    assert not of(build)


def of(folder):
    """Processes whose program lies there."""
    return [path for path in pathlib.Path("/proc").glob("[0-9]*/exe") if is_from(path, folder)]


def is_from(path, folder):
    try:
        return os.readlink(path).startswith(str(folder))
    except OSError:
        return False
