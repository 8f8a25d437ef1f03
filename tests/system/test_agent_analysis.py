# SPDX-License-Identifier: MIT
"""What is concluded from records that an agent measured, of jobs that still run: by report, insights and watch."""

import itertools
import json
import os
import subprocess
import time

import pytest

from agent import USER
from agent_pages import PATIENCE_S, await_page
from greedy import hold_processors
from one_agent import bench, groups, keeper, start_shared_agent  # noqa: F401

BURN = "while :; do :; done"
JOBS = itertools.count(41)
# Time is shared out to sessions, and on v1 to groups of cpu, first: what follows has its core, whoever else wants it.
GREEDY = """test $$ != $(ps -o sid= -p $$) || echo -20 >/proc/self/autogroup
group=$(sed -n 's/^[0-9]*:cpu\\(,[^:]*\\)\\?://p' /proc/self/cgroup)
test "$group" = / -o ! -e "/sys/fs/cgroup/cpu$group/cpu.shares" || echo 262144 >"/sys/fs/cgroup/cpu$group/cpu.shares"
exec "$@" """
SECTIONS = ("classification", "efficiency", "insights", "patterns")

# Jobs of some seconds are to be told of.
SITE = """
rules:
  - {id: serial, least: {elapsed: 1 s}}
  - {id: like-serial, least: {elapsed: 1 s}}
  - {id: cpu-low, least: {elapsed: 1 s}}
classes:
  - {id: cpu-bound, thresholds: {time: 1 s}}
  - {id: idle-heavy, thresholds: {time: 1 s}}
"""


@pytest.fixture(scope="module")
def jobmeter(programs, start_shared_agent, tmp_path_factory):
    """jobmeter(*argv): the document that it prints, asking a live agent."""
    agent, folder = start_shared_agent(), tmp_path_factory.mktemp("home")
    site = folder / "site.yaml"
    site.write_text(SITE)
    site.chmod(0o644)
    environment = {**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "JOBMETER_INSIGHTS": str(site),
                   "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}

    def ask(*argv):
        done = subprocess.run([programs / "jobmeter", *map(str, argv), "--json"], capture_output=True, text=True,
                              env=environment, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    ask.environment, ask.agent = environment, agent
    return ask


@pytest.fixture(scope="module")
def first():
    """Only one test of this machine wants its processors first."""
    with hold_processors():
        yield


def await_report(jobmeter, job, is_good):
    end = time.monotonic() + PATIENCE_S
    while not is_good(document := jobmeter("report", f"made/{job}")):
        assert time.monotonic() < end, document
        time.sleep(0.2)
    return document


@pytest.fixture
def burners(groups, jobmeter, first):
    """(one that keeps a core busy, one that sleeps beside it), two jobs of one user; root's processes may be anybody's.  New
    ones for each test.  Their timelines have begun, and no other job of this user runs: a watch of jobs of which one
    has no timeline has none."""
    become = ["setsid", "sh", "-c", GREEDY, "sh", "setpriv", f"--reuid={USER}", "--clear-groups", "--"]
    jobs = str(next(JOBS)), str(next(JOBS))
    running = [groups.start(groups.name(job), *become, "sh", "-c", what) for job, what in zip(jobs, (BURN, "exec sleep 600"))]
    await_page(jobmeter.agent, lambda page: set(jobs) <= {
        labels["jobid"] for labels, _ in page.of("jobmeter_job_info") if labels.get("user") == USER})
    for job in jobs:
        await_report(jobmeter, job, lambda document: document["timeline"])
    yield jobs
    for process in running:
        process.kill()
        process.wait()
    for job in jobs:
        groups.remove(groups.name(job))
        await_report(jobmeter, job, lambda document: document["final"])


def allowed():
    return len(os.sched_getaffinity(0))


def check_busy(document):
    """One core of all that there are."""
    assert all(document[section] is not None for section in SECTIONS)
    efficiency = document["efficiency"]
    assert efficiency["cores"]["allocated_cores"] == allowed()
    cpu, used = document["cpu"], efficiency["cores"]["used_cores"]
    wanted = used + (cpu["stolen_seconds"] + cpu["run_queue_seconds"]) / document["time"]["elapsed_seconds"]
    assert 0 < used < 1.05 and 0.5 < wanted
    assert efficiency["score"] == pytest.approx(100 * efficiency["cores"]["share"], abs=0.01)
    told = {insight["id"] for insight in document["insights"]}
    if allowed() > 1:
        assert told & {"serial", "like-serial", "cpu-low", "cores-taken"}, document["insights"]
    else:
        assert document["classification"]["primary"] == "cpu-bound"


def test_a_run_that_the_agent_measured_is_analysed(jobmeter, first, programs, tmp_path):
    file = tmp_path / "run.json"
    done = subprocess.run([programs / "jobmeter", "run", "--output", file, "--", "setsid", "--wait", "sh", "-c", GREEDY, "sh",
                           "sh", "-c", f"timeout 4 sh -c '{BURN}' || :"], capture_output=True, text=True, env=jobmeter.environment, timeout=60)
    document = json.loads(file.read_text())
    assert "CPU efficiency" in done.stderr and "  -> " in done.stderr
    assert not any("the agent did not measure" in note for note in document["coverage"]["notes"])
    check_busy(document)


def has_a_while(document):
    """Some buckets of a second, and little of its start."""
    return document["timeline"] and document["time"]["elapsed_seconds"] > 4


def test_a_live_job_is_analysed(jobmeter, burners):
    document = await_report(jobmeter, burners[0], has_a_while)
    assert not document["final"]
    check_busy(document)
    alone = jobmeter("insights", f"made/{burners[0]}")
    # it lives: what is said of one moment may be surer than of another, "serial" and "like-serial"
    then, now = ({i["id"].removeprefix("like-") for i in one["insights"]} for one in (document, alone))
    assert now >= then - {"cpu-low"}
    assert alone["schema"] == "jobmeter.insights/1"


def test_a_session_is_analysed_job_by_job_and_as_a_whole(jobmeter, burners):
    document = jobmeter("watch", "--user", USER, "--duration", 4)
    assert document["schema"] == "jobmeter.session/1"
    jobs = {job["job"]["id"]: job for job in document["jobs"]}
    check_busy(jobs[burners[0]])
    assert jobs[burners[1]]["classification"]["primary"] == "idle-heavy"
    assert set(jobs) == set(burners)
    check_busy(document["summary"])
