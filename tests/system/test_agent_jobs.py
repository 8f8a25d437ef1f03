# SPDX-License-Identifier: MIT
"""What the agent says of jobs is what they did, to the byte, whatever happens to the agent meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from agent import Agent
from agent_pages import (PATIENCE_S, ask, await_log, await_page, final_record, known_jobs, page_of, state_files, those_of,
                         text_of, wrong_totals)
from job_groups import MANAGER, OWN_ONLY, RULES
from jobtruth import Count
from server import UnixConnection

BORN = int(os.environ.get("JOBMETER_BORN", "499"))

# ---- totals ----


@pytest.mark.smoke
def test_steps_and_tasks_add_up(start_agent, bench, work, groups, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    for seed, (step, task) in enumerate([("0", 0), ("0", 1), ("1", 0), ("batch", None)]):
        work(7, step, task, seed=seed, children=2)
    assert not wrong_totals(agent, bench)
    groups.remove(groups.name(7, "0"))  # a part of it ends before the others
    work(7, "1", 5, seed=5)
    assert not wrong_totals(agent, bench)
    groups.remove(groups.name(7))
    assert not wrong_totals(agent, bench)
    record = final_record(agent, 7)
    assert sorted(step["id"] for step in record["steps"]) == ["0", "1", "batch"]
    ended = {step["id"]: step["tasks"]["ended"] for step in record["steps"]}
    assert ended == {"0": 6, "1": 4, "batch": 3}  # a process and its children


def test_short_jobs(start_agent, bench, work, groups):
    """Each is over within some ms, and removed before anybody could have looked."""
    agent = start_agent()
    for job in range(100, 140):
        work(job, seed=job)
        groups.remove(groups.name(job))
    assert not wrong_totals(agent, bench)
    assert known_jobs(page_of(agent)) == {str(job) for job in range(100, 140)}


def test_jobs_that_are_born_while_samples_are_taken_get_their_final_record(start_agent, groups):
    """A walk over the kernel's map may meet a step before its job."""
    agent = start_agent(rules=OWN_ONLY, retention="1h")
    is_over = threading.Event()
    samples = []

    def sample():
        while not is_over.is_set():
            samples.append(text_of(agent, "/v1/snapshot?max_age=0.05"))

    sampler = threading.Thread(target=sample)
    sampler.start()
    for job in range(BORN):
        groups.make(groups.name(job, "0"))
        time.sleep(0.002)
        while len(samples) < 5 * job // BORN:
            time.sleep(0.002)
    for job in range(BORN):
        groups.remove(groups.name(job))
    is_over.set()
    sampler.join()
    assert len(samples) > 3
    left, end = set(range(BORN)), time.monotonic() + 2 * PATIENCE_S
    while left:
        assert time.monotonic() < end, f"not final: {left}"
        left = {job for job in left if not is_final(agent, job)}


def is_final(agent, job):
    """One of thousands: without a program that asks."""
    connection = UnixConnection(agent.settings["socket"]["path"])
    try:
        connection.request("GET", f"/v1/jobs/{MANAGER}/{job}")
        return json.loads(connection.getresponse().read()).get("final")
    finally:
        connection.close()


def test_a_job_for_which_there_was_no_room_is_known_later_and_says_what_it_lacks(start_agent, bench, work, groups):
    agent = start_agent(rules=OWN_ONLY, jobs_max=16, retention="1s")
    for n in range(24):
        groups.make(groups.name(n))
    await_page(agent, lambda page: len(known_jobs(page)) > 0)
    work("late", "0")
    work("late", "1", seed=1)
    lost = page_of(agent)
    assert "late" not in known_jobs(lost)
    groups.remove(groups.name("late", "1"))
    await_reading(agent)
    for n in range(24):
        groups.remove(groups.name(n))
    assert await_page(agent, lambda page: "late" in known_jobs(page))
    record = json.loads(text_of(agent, f"/v1/jobs/{MANAGER}/late"))
    assert [step["id"] for step in record["steps"]] == ["0"]
    assert "lower bound: 1 of its cgroups are not in, since there were too many jobs (jobs_max) while they lived" in \
        record["coverage"]["notes"]


def await_reading(agent):
    """Two of them, the second of which began after this did."""
    def count(page):
        return page.of("jobmeter_agent_readings_total")[0][1]

    first = count(page_of(agent))
    await_page(agent, lambda page: count(page) > first + 1)


def test_a_job_inside_a_job(start_agent, bench, work, groups):
    """As a `jobmeter run` within a job of the batch system: it is one by itself, and a part of the other."""
    agent = start_agent()
    run = str(os.getpid())
    inner = groups.name(1, "0") + f"/jobmeter-run-{run}"
    work(1, "0")
    work(run, seed=1, group=inner)
    work(1, "0", seed=2)
    inside = {key[1:]: count for key, count in bench.truth().items() if key[0] == run}
    outside = {key[1:]: count for key, count in bench.truth().items() if key[0] == "1"}
    both = {("1", *key): Count(*map(sum, zip(count, inside[key]))) for key, count in outside.items()}
    for _ in range(2):
        assert not wrong_totals(agent, bench, both)
        assert not wrong_totals(agent, bench, {(run, *key): count for key, count in inside.items()}, "run")
        if (groups.roots[0] / groups.name(1)).exists():
            groups.remove(groups.name(1))


def test_a_job_that_comes_again(start_agent, bench, work, groups):
    """As one that is requeued: its groups are removed and made anew, and its counters go on."""
    again = "slurm_test/uid_0/job_4711"
    agent = start_agent()
    for seed in range(3):
        work(4711, seed=seed, group=again)
        groups.remove("slurm_test")
        assert not wrong_totals(agent, bench, manager="slurm")


def test_another_job_with_the_same_name(start_agent, bench, work, groups):
    """A manager that does not remake its groups gave the name to another job, which begins with nothing."""
    agent = start_agent()
    work(3)
    groups.remove(groups.name(3))
    assert not wrong_totals(agent, bench)
    for path in bench.ledger.iterdir():
        path.unlink()
    work(3, seed=1)
    assert not wrong_totals(agent, bench)


# ---- the agent's own troubles ----


def jobs_meanwhile(work, groups, first, count=8):
    """Jobs that are born, and die, at once."""
    for job in range(first, first + count):
        work(job, step="0", seed=job)
        groups.remove(groups.name(job))


@pytest.mark.smoke
def test_a_kill_loses_nothing(start_agent, bench, work, groups):
    agent = start_agent()
    for turn in range(3):
        work(1, "0", seed=turn)  # lives through all of it
        work(50 + turn, seed=1)  # ends while nobody looks
        agent.kill()
        work(1, "0", seed=10 + turn)
        jobs_meanwhile(work, groups, 100 * (turn + 1))
        groups.remove(groups.name(50 + turn))
        agent.start()
        assert not wrong_totals(agent, bench)
    groups.remove(groups.name(1))
    assert not wrong_totals(agent, bench)


def test_a_restart_loses_nothing(start_agent, bench, work, groups):
    """As systemd does it: the agent steps aside for the next one.  One that is stopped leaves nothing in the kernel: what jobs
    that live do until the next one starts is not seen, and the rest adds up."""
    agent = start_agent()
    work(1, "0")
    assert agent.step_aside() == 0
    work(1, "0", seed=1)
    jobs_meanwhile(work, groups, 100)
    agent.start()
    assert "took over what was counting" in agent.log()
    assert not wrong_totals(agent, bench)
    work(2, "0", seed=1)
    groups.remove(groups.name(2))
    agent.stop()
    agent.start()
    work(1, "0", seed=2)
    assert not wrong_totals(agent, bench)


def test_a_kill_in_the_midst_of_work_loses_nothing(start_agent, bench, groups):
    agent = start_agent()
    argv = [bench.work("--job", job, "--seed", job, "--rounds", 40, "--children", 2).split() for job in (1, 2)]
    running = [groups.start(groups.name(job), *words, env={}) for job, words in enumerate(argv, 1)]
    for _ in range(3):
        agent.kill()
        agent.start()
    assert [process.wait(120) for process in running] == [0, 0]
    assert not wrong_totals(agent, bench)


def test_a_full_disk_loses_nothing(start_agent, bench, work, groups, keeper):
    state = bench.folder / "state"
    state.mkdir()
    keeper.run("mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "state", state, undo=["umount", "-l", state])
    agent = start_agent(state_dir=str(state))
    work(1, "0")
    jobs_meanwhile(work, groups, 100, 40)
    assert not wrong_totals(agent, bench)
    assert agent.log().count(f"the state of jobs cannot be written to '{state}/jobs'") == 1, agent.log()  # energy's may fail first
    assert page_of(agent).of("jobmeter_agent_state_errors_total")[0][1] > 0
    agent.kill()  # while the disk is still full
    jobs_meanwhile(work, groups, 200, 10)
    agent.start()
    assert not wrong_totals(agent, bench)
    assert agent.end(signal.SIGTERM) == 1
    assert "what jobs did stays in the kernel, for the next agent" in agent.log()
    work(1, "0", seed=1)
    agent.start()
    assert not wrong_totals(agent, bench)
    subprocess.run(["mount", "-o", "remount,size=16m", state], check=True)
    await_log(agent, "is written to")
    agent.kill()
    agent.start()
    assert not wrong_totals(agent, bench)


def last_states(state):
    """Of this test's jobs: another lane may begin a run meanwhile."""
    return sorted(path.name for path in (state / "jobs").glob(f".{MANAGER}-*.last"))


@pytest.mark.parametrize("pages", [0, 4])  # none of the states fits, or some
def test_a_disk_that_is_full_at_the_end_loses_nothing(start_agent, bench, work, keeper, pages):
    """Until then there was nothing to write of jobs that live."""
    state = bench.folder / "state"
    state.mkdir()
    keeper.run("mount", "-t", "tmpfs", "-o", "size=32m,mode=755", "state", state, undo=["umount", "-l", state])
    agent = start_agent(state_dir=str(state))
    for job in range(1, 7):
        work(job, "0", seed=job)
    assert not wrong_totals(agent, bench)
    subprocess.run(["dd", "if=/dev/zero", f"of={state}/fill", "bs=64k"], stderr=subprocess.DEVNULL)
    os.truncate(state / "fill", (state / "fill").stat().st_size - 4096 * pages)
    assert agent.end(signal.SIGTERM) == 1
    assert agent.log().count("what jobs did stays in the kernel, for the next agent") == 1
    assert "No space left on device" in agent.log()
    assert not last_states(state)
    work(1, "0", seed=11)
    (state / "fill").unlink()
    agent.start()
    assert "took over what was counting" in agent.log()
    assert not wrong_totals(agent, bench)
    agent.stop()
    assert not last_states(state)
    agent.start()
    assert not wrong_totals(agent, bench)


def end_at(agent, path):
    """SIGTERM, and a SIGKILL as it is about to remove @path."""
    with subprocess.Popen(["strace", "-p", str(agent.process.pid), "-P", path, "-e", "inject=unlink,unlinkat:signal=KILL"],
                          stderr=subprocess.PIPE, text=True) as tracer:
        assert "attached" in tracer.stderr.readline()
        assert agent.end(signal.SIGTERM) == -signal.SIGKILL
        print(tracer.stderr.read())
    assert path.exists()


@pytest.fixture
def agent_of_three(start_agent, bench, work, demand):
    """An agent that has counted three jobs."""
    demand(shutil.which("strace"), "needs strace")
    agent = start_agent()
    for job in (1, 2, 3):
        work(job, "0", seed=job)
    assert not wrong_totals(agent, bench)
    return agent


def test_a_kill_before_the_kernel_side_is_gone_counts_nothing_twice(agent_of_three, bench, work):
    agent = agent_of_three
    end_at(agent, next(agent.pins.glob("*/hooks")))
    assert len(last_states(agent.folder / "state")) >= 3
    work(1, "0", seed=11)
    agent.start()
    assert "took over what was counting" in agent.log()
    assert not last_states(agent.folder / "state")
    assert not wrong_totals(agent, bench)


def test_a_kill_after_the_kernel_side_is_gone_loses_nothing(agent_of_three, bench, work):
    agent = agent_of_three
    end_at(agent, next(agent.pins.glob("*/links/*")))
    assert not list(agent.pins.glob("*/hooks"))
    agent.start()
    assert "took over what was counting" not in agent.log()
    work(1, "0", seed=11)
    assert not last_states(agent.folder / "state")
    assert not wrong_totals(agent, bench)


def test_state_that_is_torn_is_set_aside(start_agent, bench, work, groups):
    agent = start_agent()
    for job in (1, 2, 3):
        work(job)
        groups.remove(groups.name(job))
    assert not wrong_totals(agent, bench)
    await_page(agent, lambda _: len(state_files(agent)) == 3)
    agent.kill()
    whole = agent.folder / "state/jobs" / state_files(agent)[0]
    whole.write_bytes(whole.read_bytes()[:-40])
    agent.start()
    page = await_page(agent, lambda page: known_jobs(page) == {"2", "3"})
    assert known_jobs(page) == {"2", "3"}
    assert page.of("jobmeter_agent_quarantined_files_total")[0][1] == 1
    assert [name for name in state_files(agent) if name.endswith(".bad")] == [whole.name + ".bad"]
    told = [line for line in agent.log().splitlines() if "was rejected" in line]
    assert len(told) == 1 and f"'{whole}' was rejected, and is kept as .bad: line " in told[0], told
    assert not wrong_totals(agent, bench, those_of(bench, "2", "3"))


def test_a_bad_file_of_the_prolog_is_told_once(start_agent, bench, work):
    """One a job, with the reason, however often it is read; and of very many only the first."""
    folder = bench.folder / "agent/run/jobs"
    folder.mkdir(parents=True)
    for job in range(1, 21):
        (folder / f"{MANAGER}-{job}.json").write_text("{torn")
    (folder / f"{MANAGER}-2.json").write_text('{"account": 7}')
    agent = start_agent()
    for job in (1, 2, 30):  # the last has none
        work(job)
    page = await_page(agent, lambda page: page.of("jobmeter_agent_invalid_prolog_files_total")[0][1] == 2)
    readings = page.of("jobmeter_agent_readings_total")[0][1]
    page = await_page(agent, lambda page: page.of("jobmeter_agent_readings_total")[0][1] > readings + 3)
    assert page.of("jobmeter_agent_invalid_prolog_files_total")[0][1] == 2
    told = [line for line in agent.log().splitlines() if "not taken from the prolog" in line]
    assert len(told) == 2, told
    where = f"not taken from the prolog, in '{folder}': "
    assert any(f"{where}'{MANAGER}-1.json': line 1: " in line for line in told), told
    assert any(f"{where}'{MANAGER}-2.json': account is a number" in line for line in told), told
    for job in range(3, 21):
        work(job)
    page = await_page(agent, lambda page: page.of("jobmeter_agent_invalid_prolog_files_total")[0][1] == 20)
    assert page.of("jobmeter_agent_invalid_prolog_files_total")[0][1] == 20
    assert agent.log().count("not taken from the prolog") == 16


def test_files_that_cannot_be_kept_open_are_counted(start_agent, work):
    agent = start_agent()
    for job in range(1, 9):
        work(job)
    assert page_of(agent).of("jobmeter_agent_reopened_files_total")[0][1] == 0
    assert agent.step_aside() == 0
    agent.start(before=["prlimit", "--nofile=516:516"])  # four of them may be kept
    page = await_page(agent, lambda page: page.of("jobmeter_agent_reopened_files_total")[0][1] > 0)
    assert page.of("jobmeter_agent_reopened_files_total")[0][1] > 0
    assert page.of("jobmeter_agent_denied_files_total")[0][1] == 0
    live = [labels["jobid"] for labels, _ in page.of("jobmeter_job_memory_usage_bytes") if labels["manager"] == MANAGER]
    assert sorted(live) == [str(job) for job in range(1, 9)]


# ---- their end ----


def test_what_has_ended_is_shown_for_a_while(start_agent, bench, work, groups):
    agent = start_agent(retention="10s")
    work(1)
    work(2)
    groups.remove(groups.name(1))
    assert not wrong_totals(agent, bench)
    await_page(agent, lambda _: f"{MANAGER}-1.json" in state_files(agent))
    assert f"{MANAGER}-1.json" in state_files(agent)
    await_page(agent, lambda page: known_jobs(page) == {"2"})
    page = page_of(agent)
    assert known_jobs(page) == {"2"}
    assert not [key for key in page.samples if ("jobid", "1") in key[1] and ("manager", MANAGER) in key[1]]
    assert state_files(agent) == [f"{MANAGER}-2.json"]  # what lives has its timeline written down
    assert not wrong_totals(agent, bench, those_of(bench, "2"))


# ---- settings ----


def test_settings_are_read_again(start_agent):
    agent = start_agent(interval="1h")
    assert page_of(agent).of("jobmeter_node_load1")
    agent.configure(node_metrics=False, interval="1s", retention="9m")
    agent.process.send_signal(signal.SIGHUP)
    log = await_log(agent, "read the settings again")
    assert "changed: " in log and "interval" in log and "node_metrics" in log
    assert "after a restart: retention" in log
    assert not page_of(agent).of("jobmeter_node_load1")
    agent.configure(metrics_prefix="site_x")
    agent.process.send_signal(signal.SIGHUP)
    await_page(agent, lambda page: page.of("site_x_agent_build_info") and not page.of("jobmeter_agent_build_info"))
    agent.configure(metrics_prefix="jobmeter")
    agent.process.send_signal(signal.SIGHUP)
    await_page(agent, lambda page: page.of("jobmeter_agent_build_info"))
    agent.config.write_text(agent.config.read_text() + "interval: never\n")
    agent.process.send_signal(signal.SIGHUP)
    log = await_log(agent, "the old settings stay")
    assert f"agent.yaml:{len(agent.config.read_text().splitlines())}:" in log
    readings = page_of(agent).of("jobmeter_agent_readings_total")[0][1]
    page = await_page(agent, lambda page: page.of("jobmeter_agent_readings_total")[0][1] > readings + 1)
    assert page.of("jobmeter_agent_readings_total")[0][1] > readings + 1


@pytest.mark.parametrize("settings, missing", [({"bpf": False}, "BPF is switched off"),
                                               ({"tiers": {"files": False}}, "files by mount: switched off")])
def test_what_is_switched_off_is_said(bench, keeper, groups, settings, missing, demand):
    demand(shutil.which("curl"), "needs curl")
    with Agent(bench.folder / "agent", keeper, rules=RULES, **settings) as agent:
        process = groups.start(groups.name(5), "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec cat",
                               stdin=subprocess.PIPE, env={})

        def cpu(page):
            return sum(value for labels, value in page.of("jobmeter_job_cpu_seconds_total") if labels["jobid"] == "5")

        page = await_page(agent, lambda page: cpu(page) > 0.05)
        assert cpu(page) > 0.05
        assert any(labels["jobid"] == "5" and value > 0 for labels, value in page.of("jobmeter_job_memory_usage_bytes"))
        assert not page.of("jobmeter_job_io_read_bytes_total")
        coverage = ask(agent, f"/v1/jobs/{MANAGER}/5")["coverage"]
        process.communicate(timeout=60)
        assert "T2" not in coverage["tiers"]
        assert any(missing in text for text in coverage["missing"]), coverage
