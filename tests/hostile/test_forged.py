# SPDX-License-Identifier: MIT
"""A user, alice, who was given a cgroup directory of her own makes names in it that are another's: of a manager's jobs, of
runs, of containers.  None of hers is counted as bob's, none of bob's goes to her; before and after restarts of the agent."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent_pages import await_page, known_jobs, page_of, text_of
from slurm import USERS, make_users

ALICE, BOB = USERS
PATIENCE_S = 60
SIZE = 10007  # of each of bob's writes...
HERS = 100003  # ...and of alice's
REAL, INVENTED = 10 ** 9 + 2 * os.getpid(), 10 ** 9 + 2 * os.getpid() + 1  # jobs of no other Slurm on this machine
RESTARTS = [None, "stop", "step_aside", "kill"]


@contextlib.contextmanager
def restarted(agent, how):
    """What is done between the end of one agent and the start of the next; None: one agent all the time."""
    if how:
        agent.end(signal.SIGTERM) if how == "stop" else getattr(agent, how)()
    yield
    if how:
        agent.start()


class Scene:
    def __init__(self, bench, groups, keeper):
        self.bench, self.groups = bench, groups
        make_users(keeper)
        self.alice, self.bob = pwd.getpwnam(ALICE).pw_uid, pwd.getpwnam(BOB).pw_uid
        self.written = 0
        groups.make("alice")
        for root in groups.roots:
            for path in (root / "alice", root / "alice/cgroup.procs"):
                os.chown(path, self.alice, self.alice)

    def become(self, user):
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]

    def claim(self, *names):
        """Alice makes these groups in her directory."""
        folders = [str(root / "alice" / name) for root in self.groups.roots for name in names]
        subprocess.run([*self.become(self.alice), "mkdir", "-p", *folders], check=True)

    def dd(self, count, size):
        self.written += 1
        return ["dd", "if=/dev/zero", f"of={self.bench.memory}/{self.written}", f"bs={size}", f"count={count}", "status=none"]

    def write(self, group, count, size, user=0):
        """In a group, which is made if it is not there."""
        self.groups.run(group, *(self.become(user) if user else []), *self.dd(count, size))

    def lie(self, group, count=3):
        self.claim(group)
        self.write(f"alice/{group}", count, HERS, self.alice)


@pytest.fixture
def scene(bench, groups, keeper, demand):
    demand(shutil.which("setpriv"), "needs setpriv")
    return Scene(bench, groups, keeper)


def written(scene, record):
    rows = [row for row in record["io"] or () if row["mount"] == str(scene.bench.memory)]
    return sum(row["write"]["bytes"] for row in rows)


def record_of(agent, manager, job):
    answer = json.loads(text_of(agent, f"/v1/jobs/{manager}/{job}"))
    return None if "error" in answer else answer


def await_written(scene, agent, manager, job, count):
    """Its bytes written, when there are so many or when patience is at its end."""
    end = time.monotonic() + PATIENCE_S
    while True:
        record = record_of(agent, manager, job)
        found = written(scene, record) if record else None
        if found == count or time.monotonic() > end:
            return found
        time.sleep(0.05)


@pytest.fixture
def start_run(programs, bench):
    """start_run(scene, agent, user, script): a `jobmeter run` of theirs; .output is its record's file."""
    program, records = bench.folder / "jobmeter", bench.folder / "records"
    shutil.copy(programs / "jobmeter", program)
    records.mkdir()
    records.chmod(0o1777)
    started = []

    def start(scene, agent, user, script, group=None):
        output = records / f"{len(list(records.iterdir()))}-{user}.json"
        process = subprocess.Popen(
            [*scene.become(user), program, "run", "--quiet", "--output", output, "--", "sh", "-c", script],
            env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"], "XDG_STATE_HOME": str(records)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", start_new_session=True,
            preexec_fn=(lambda: scene.groups.enter(group)) if group else None)
        process.output = output
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:  # its session's processes with it
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def shell(argv):
    return " ".join(map(str, argv))


@pytest.mark.parametrize("restart", RESTARTS)
def test_a_managers_name_in_a_users_directory_is_none(scene, start_agent, start_run, restart):
    """Also where root made it there: the helper makes the group of her `run` below whatever she made up."""
    real, false, also = (f"slurm/uid_{scene.bob}/job_{n}" for n in (REAL, REAL, INVENTED))
    pod = f"kubepods-pod{REAL}.slice"
    scene.claim(f"{also}/step_0")  # ahead of all
    agent = start_agent()
    scene.write(f"{real}/step_batch", 3, SIZE)
    for _ in range(2):
        scene.claim(f"{false}/step_batch", pod, f"user-{scene.bob}.slice/user@{scene.bob}.service")
        for group in (f"{false}/step_batch", f"{also}/step_0", pod):
            scene.lie(group)
        run = start_run(scene, agent, scene.alice, shell(scene.dd(2, HERS)), f"alice/{also}")
        assert run.wait(PATIENCE_S) == 0
        assert written(scene, json.loads(run.output.read_text())) == 2 * HERS
        with restarted(agent, restart):
            pass
    scene.write(f"{real}/step_1", 2, SIZE)
    assert await_written(scene, agent, "slurm", REAL, 5 * SIZE) == 5 * SIZE
    page = page_of(agent)
    assert str(INVENTED) not in known_jobs(page, "slurm") and str(REAL) not in known_jobs(page, "kubernetes")


@pytest.mark.parametrize("restart, key", [*((restart, "auto") for restart in RESTARTS), (None, "cpuacct")])
def test_a_run_is_bound_to_its_group_and_not_to_its_number(scene, start_agent, start_run, demand, restart, key):
    """Alice makes groups for the next process numbers ahead, and for bob's when it is known.  On v1 a group has a number in
    each hierarchy."""
    demand(key == "auto" or Path("/sys/fs/cgroup", key).is_dir(), f"needs cgroup v1's {key}")
    agent = start_agent(key_hierarchy=key)
    now = int(open("/proc/sys/kernel/ns_last_pid").read())
    claimed = [str(now + n) for n in range(1, 233)]
    scene.claim(*(f"jobmeter-run-{number}" for number in claimed))
    go = scene.bench.folder / "go"
    run = start_run(scene, agent, scene.bob,
                    f"{shell(scene.dd(5, SIZE))}; echo up; until test -e {go}; do sleep 0.05; done; {shell(scene.dd(2, SIZE))}")
    assert run.stdout.readline() == "up\n"
    scene.lie(f"jobmeter-run-{run.pid}")
    assert await_written(scene, agent, "run", run.pid, 5 * SIZE) == 5 * SIZE
    with restarted(agent, restart):
        pass
    scene.lie(f"jobmeter-run-{run.pid}")
    record = record_of(agent, "run", run.pid)
    assert (written(scene, record), record["job"]["uid"]) == (5 * SIZE, scene.bob)
    go.touch()
    _, err = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, err) == (0, "")
    record = json.loads(run.output.read_text())
    assert (written(scene, record), record["job"]["uid"], record["final"]) == (7 * SIZE, scene.bob, True)
    scene.lie(f"jobmeter-run-{run.pid}")
    assert await_written(scene, agent, "run", run.pid, 7 * SIZE) == 7 * SIZE
    users = {labels["jobid"]: labels["user"] for labels, _ in page_of(agent).of("jobmeter_job_info")
             if labels["manager"] == "run"}
    assert {job for job, user in users.items() if user == BOB} & {*claimed, str(run.pid)} == {str(run.pid)}


@pytest.mark.parametrize("first, restart", [*(("alice", restart) for restart in RESTARTS), ("root", "stop")])
def test_a_container_of_roots_is_not_hidden_by_a_users(scene, start_agent, first, restart):
    name = "docker/" + "ab17" * 16
    manager, job = name.split("/")
    agent = start_agent()
    if first == "alice":
        scene.lie(name)
        assert await_written(scene, agent, manager, job, 3 * HERS) == 3 * HERS
        assert record_of(agent, manager, job)["job"]["uid"] == scene.alice  # it is hers alone, so far
    scene.write(name, 3, SIZE, scene.bob)
    scene.lie(name)
    assert await_written(scene, agent, manager, job, 3 * SIZE) == 3 * SIZE
    with restarted(agent, restart):
        pass
    scene.lie(name)
    scene.write(name, 2, SIZE, scene.bob)
    assert await_written(scene, agent, manager, job, 5 * SIZE) == 5 * SIZE
    assert record_of(agent, manager, job)["job"]["uid"] == scene.bob
    scene.groups.remove(name)
    scene.lie(name)
    assert await_written(scene, agent, manager, job, 5 * SIZE) == 5 * SIZE


def test_a_user_has_no_second_share_after_a_restart(scene, start_agent):
    """Of 512 jobs 32 may be groups of her own."""
    agent = start_agent(jobs_max=512)
    names = {f"{REAL:x}{n:050x}" for n in range(35)}
    scene.claim(*(f"libpod-{name}" for name in names))

    def hers(page):
        return len(known_jobs(page, "podman") & names)

    assert hers(await_page(agent, lambda page: hers(page) == 32)) == 32
    for how in ("stop", "kill", "stop"):
        with restarted(agent, how):
            pass
        assert hers(await_page(agent, lambda page: hers(page) == 32)) == 32, how


def group_of(scene, client):
    """Where its command is.  Groups of other tests go meanwhile, which os.walk() passes over."""
    name = f"jobmeter-run-{client}"
    return next(Path(folder) / name for folder, names, _ in os.walk(scene.groups.roots[0].parent) if name in names)


def test_groups_of_killed_clients_are_their_users_again(scene, start_agent, start_run):
    """All that she may have at once, 64; when what they ran has ended, the next one has its own."""
    agent = start_agent()
    runs = [start_run(scene, agent, scene.alice, "echo up; exec sleep 600") for _ in range(64)]
    assert [run.stdout.readline() for run in runs] == ["up\n"] * 64
    groups = {run.pid: group_of(scene, run.pid) for run in runs}
    for run in runs:
        run.kill()
        run.wait()
    for path in groups.values():
        for pid in (path / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while any(path.exists() for path in groups.values()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [path for path in groups.values() if path.exists()]
    run = start_run(scene, agent, scene.alice, shell(scene.dd(3, HERS)))
    assert run.wait(PATIENCE_S) == 0
    assert written(scene, json.loads(run.output.read_text())) == 3 * HERS
