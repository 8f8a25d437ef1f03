# SPDX-License-Identifier: MIT
"""By which names a job of Slurm is found: its number, as a task of an array, and by its SLUID where cgroups have that."""

import json
import os
import subprocess

import pytest

from agent_pages import ask, await_page
from job_groups import OWN_ONLY, TOP
from repository import REPOSITORY
from waiting import until

RULES = [{"name": "slurm", "manager": "slurm", "pattern": TOP + "/made_<job:+>[/step_<step:+>]"}, OWN_ONLY[-1]]
SLUIDS = {"s5K1KKYAYG5D00": "9001", "sEKNKTV3WPV500": "9011"}  # the second one's prolog did not run


def known(page):
    return {labels["jobid"]: labels for labels, _ in page.of("jobmeter_job_info") if labels["manager"] == "slurm"}


def write_prolog(folder, **environment):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["sh", REPOSITORY / "share/slurm/prolog-jobmeter.sh"], check=True,
                   env={**os.environ, "JOBMETER_JOBS": str(folder), "SLURM_JOB_USER": "nobody", "SLURM_JOB_UID": "65534", **environment})


@pytest.fixture
def report(programs):
    def report(agent, job):
        done = subprocess.run([programs / "jobmeter", "report", "--json", job], capture_output=True, text=True,
                              env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "XDG_STATE_HOME": str(agent.folder)})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["job"]

    return report


@pytest.fixture
def sleep(groups):
    """In a group, by root or another user, with a title of its own."""
    started = []

    def sleep(name, title="sleep", uid=0):
        groups.make(name)
        started.append(subprocess.Popen([title, "1000"], executable="/bin/sleep", preexec_fn=lambda: (groups.enter(name), os.setuid(uid))))

    yield sleep
    for process in started:
        process.kill()
        process.wait()


def test_a_part_of_a_job_is_found_by_the_name_that_its_users_know(start_agent, bench, sleep, report):
    jobs = bench.folder / "agent/run/jobs"
    write_prolog(jobs, SLURM_JOB_ID="4160740", SLURM_ARRAY_JOB_ID="4160739", SLURM_ARRAY_TASK_ID="207")
    write_prolog(jobs, SLURM_JOB_ID="7002", SLURM_HET_JOB_OFFSET="1")
    for job in ("4160740", "7002"):
        sleep(f"made_{job}")
    agent = start_agent(rules=RULES)
    await_page(agent, lambda page: known(page).keys() == {"4160740", "7002"})
    for name in ("4160740", "4160739_207", "slurm/4160739_207"):
        job = report(agent, name)
        assert (job["id"], job["array_id"], job["array_index"], job["het_offset"]) == ("4160740", "4160739", 207, None)
    assert report(agent, "7001+1")["id"] == "7002"


def test_a_job_whose_cgroup_has_its_sluid_has_its_number(start_agent, bench, sleep, report):
    write_prolog(bench.folder / "agent/run/jobs", SLURM_JOB_ID="9001", SLURM_JOB_SLUID="s5K1KKYAYG5D00", SLURM_JOB_ACCOUNT="chem")
    for sluid, number in SLUIDS.items():
        sleep(f"made_{sluid}/step_batch/slurm", f"slurmstepd: [{number}.batch]")
        sleep(f"made_{sluid}/step_batch/user/task_0", "slurmstepd: [7777.batch]", 65534)  # a user's has any title
    agent = start_agent(rules=RULES)
    page = await_page(agent, lambda page: known(page).keys() == set(SLUIDS.values()))
    assert known(page)["9001"]["account"] == "chem"
    for sluid, number in SLUIDS.items():
        for name in (sluid, number):
            assert (report(agent, name)["id"], report(agent, name)["sluid"]) == (number, sluid)
    agent.kill()
    agent.start()  # it is in the state
    await_page(agent, lambda page: known(page).keys() == set(SLUIDS.values()))


def test_a_reservation_is_a_fact_of_the_job(start_agent, bench, sleep, report):
    write_prolog(bench.folder / "agent/run/jobs", SLURM_JOB_ID="9021", SLURM_JOB_RESERVATION="maintenance 7")
    sleep("made_9021")
    agent = start_agent(rules=RULES)
    await_page(agent, lambda page: known(page).keys() == {"9021"})
    assert report(agent, "9021")["reservation"] == "maintenance 7"
    assert [job["reservation"] for job in ask(agent, "/v1/jobs")["jobs"] if job["id"] == "9021"] == ["maintenance 7"]
    state = agent.folder / "state"
    assert until(lambda: any("maintenance 7" in path.read_text(errors="replace") for path in state.glob("jobs/*.json")))
    (bench.folder / "agent/run/jobs/slurm-9021.json").unlink()
    agent.kill()
    agent.start()  # it is in the state
    await_page(agent, lambda page: known(page).keys() == {"9021"})
    assert report(agent, "9021")["reservation"] == "maintenance 7"
