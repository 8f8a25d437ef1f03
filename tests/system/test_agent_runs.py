# SPDX-License-Identifier: MIT
"""`jobmeter run` through a real agent: as root, and as a user without any rights."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import time

import pytest

from agent import USER
from agent_pages import await_page, page_of
from jobtruth import META, Count, differences
from leftovers import groups

PATIENCE_S = 60


@pytest.fixture(params=["root", "user"])
def run(request, programs, bench, start_agent, demand):
    """run(*argv): a `jobmeter run` that writes its record to .output(name)."""
    demand(shutil.which("setpriv"), "needs setpriv")
    agent = start_agent()
    place = bench.folder / "records"
    place.mkdir()
    place.chmod(0o1777)
    program = bench.folder / "jobmeter"
    shutil.copy(programs / "jobmeter", program)
    user = pwd.getpwnam(USER if request.param == "user" else "root")
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    started = []

    class Run:
        uid = user.pw_uid

        def start(self, name, *argv, asked=(), **options):
            environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"],
                           "XDG_STATE_HOME": str(place)}
            started.append(subprocess.Popen([*become, program, "run", "--output", place / f"{name}.json", *asked, "--",
                                             *map(str, argv)],
                                            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, cwd="/", start_new_session=True, **options))
            return started[-1]

        def __call__(self, name, *argv, asked=()):
            process = self.start(name, *argv, asked=asked)
            out, err = process.communicate(timeout=PATIENCE_S)
            return process.returncode, out, err

        def record(self, name):
            return json.loads((place / f"{name}.json").read_text())

    Run.agent, Run.started = agent, started
    yield Run()
    for process in started:  # a job that is left is another job to each later test
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def found_in(record, job, mounts):
    found, names = {}, {str(mount) for mount in mounts}
    for row in record["io"]:
        if row["mount"] not in names:
            continue
        for op in ("read", "write"):
            found[job, row["mount"], op] = Count(row[op]["bytes"], row[op]["calls"])
        for op in META:
            found[job, row["mount"], op] = Count(0, row["meta"].get(op, {"calls": 0})["calls"])
    return found


@pytest.mark.smoke
def test_the_record_is_exact(run, bench):
    status, out, err = run("one", *bench.work("--job", "one", "--children", 3).split())
    assert status == 0, err
    record = run.record("one")
    assert not differences(bench.truth(), found_in(record, "one", bench.mounts))
    assert record["job"]["manager"] == "run" and record["job"]["uid"] == run.uid
    assert record["job"]["exit_code"] == 0 and record["final"] is True
    assert not any("agent" in note for note in record["coverage"]["notes"]), record["coverage"]
    name = pwd.getpwuid(run.uid).pw_name
    page = await_page(run.agent, lambda page: shown(page, record["job"]["id"]) == name)  # it is asked for, meanwhile
    assert shown(page, record["job"]["id"]) == name


def shown(page, job):
    return next((labels["user"] for labels, _ in page.of("jobmeter_job_info")
                 if (labels["manager"], labels["jobid"]) == ("run", job)), None)


def test_what_is_on_demand_root_measures_himself_and_others_are_told_that_it_is_missing(run):
    status, _, err = run("demand", "sh", "-c", "exit 0", asked=["--files", "--syscalls"])
    assert status == 0, err
    record = run.record("demand")
    if run.uid == 0:
        assert "T3" in record["coverage"]["tiers"] and record["files"]["hot"]
        assert {row["name"]: row["calls"] for row in record["syscalls"]}["exit_group"] == 1
        return
    assert err.count("and this node's does not: your site can switch it on") == 2
    assert "files" not in record and "syscalls" not in record
    assert {"hot files: the agent does not count them ('files: on' in its settings)",
            "system calls by name: the agent does not count them ('syscalls: on' in its settings)"} <= \
        set(record["coverage"]["missing"])


def test_fifty_at_once(run, bench):
    """None is mixed up with another."""
    running = [(f"n{n}", run.start(f"n{n}", *bench.work("--job", f"n{n}", "--seed", n).split())) for n in range(50)]
    errors = {name: process.communicate(timeout=120)[1] for name, process in running}
    assert {name: process.returncode for name, process in running if process.returncode} == {}, errors
    truth = bench.truth()
    for name, _ in running:
        record = run.record(name)
        own = {key: count for key, count in truth.items() if key[0] == name}
        assert record["io"] is not None, (record["coverage"], errors[name])
        assert not differences(own, found_in(record, name, bench.mounts)), record["coverage"]
    assert not left_groups(run)


def left_groups(run):
    """Groups of its that stay though their maker is gone."""
    pids = {str(process.pid) for process in run.started}
    end = time.monotonic() + PATIENCE_S
    while (found := groups(pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_an_agent_that_fails_costs_numbers_only(run, tmp_path, number):
    """Its exit code is the command's, a line says what is missing, and what wait() tells is there."""
    go = run.agent.folder.parent / "go"
    process = run.start("f", "sh", "-c", f"echo up; until test -e {go}; do sleep 0.05; done; exit 7")
    assert process.stdout.readline() == "up\n"
    run.agent.process.send_signal(number)
    if number == signal.SIGKILL:
        run.agent.process.wait()
    go.touch()
    out, err = process.communicate(timeout=PATIENCE_S)  # while the agent is gone, or stands still
    if number == signal.SIGSTOP:
        run.agent.process.send_signal(signal.SIGCONT)
    print(err)
    assert process.returncode == 7
    complaints = [line for line in err.splitlines() if line.startswith("jobmeter")]
    assert len(complaints) == 1 and "agent" in complaints[0], err
    record = run.record("f")
    assert record["job"]["exit_code"] == 7 and record["io"] is None and record["cpu"]["user_seconds"] is not None
    if number == signal.SIGKILL:
        run.agent.start()
    assert page_of(run.agent).samples


def test_an_agent_that_comes_back_has_missed_nothing(run, bench):
    """It is killed, and restarted, and started again in the midst of a run: the next one ends the run for it."""
    go, work = bench.folder / "go", bench.work("--job", "back", "--children", 3)
    process = run.start("back", "sh", "-c",
                        f"{work}; echo up; until test -e {go}; do sleep 0.05; done; {work} --seed 2; exit 7")
    assert process.stdout.readline() == "up\n"
    for end in (run.agent.kill, run.agent.step_aside):
        end()
        run.agent.start()
    go.touch()
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 7
    assert not [line for line in err.splitlines() if line.startswith("jobmeter")], err
    record = run.record("back")
    assert not differences(bench.truth(), found_in(record, "back", bench.mounts)), record["coverage"]
    assert record["final"] is True and record["job"]["exit_code"] == 7
    assert not left_groups(run)

