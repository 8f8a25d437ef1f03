# SPDX-License-Identifier: MIT
"""What users see of jobs of Slurm through the agent: their own, from now on or from the beginning, and no other's."""

import collections
import contextlib
import json
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import time

import pytest

import jobtruth
from agent import Agent
from exposition import parse
from slurm import USERS

pytestmark = pytest.mark.node

ALICE, BOB = USERS


class Served:
    """A job of @user that does a part of work when it is told to, until it is told to end."""

    def __init__(self, slurm, bench, user):
        self.slurm, self.bench, self.user, self.parts = slurm, bench, user, 0
        self.signs = slurm.out / f"{user}.{time.monotonic_ns()}"
        self.signs.mkdir()
        self.signs.chmod(0o777)
        self.job = str(slurm.submit(f"""echo $$ >{self.signs}/pid
            for i in $(seq 100); do
                until test -e {self.signs}/$i -o -e {self.signs}/end; do sleep 0.05; done
                test -e {self.signs}/$i || exit 0
                {bench.work("--seed", "$i")} && touch {self.signs}/$i.done
            done""", user=user))
        slurm.wait_for(lambda: (self.signs / "pid").exists() and (self.signs / "pid").read_text().strip())
        self.pid = (self.signs / "pid").read_text().strip()

    def work(self):
        """What it did by that: {(mount, op): Count}."""
        before = self.did()
        self.parts += 1
        (self.signs / f"{self.parts}").touch()
        self.slurm.wait_for((self.signs / f"{self.parts}.done").exists)
        return {key: jobtruth.Count(count.bytes - before[key].bytes, count.calls - before[key].calls)
                for key, count in self.did().items()}

    def did(self):
        sums = collections.defaultdict(lambda: jobtruth.Count(0, 0))
        sums.update({key[1:]: count for key, count in self.bench.truth().items() if key[0] == self.job})
        return sums

    def end(self):
        (self.signs / "end").touch()
        self.slurm.wait_for(lambda: "COMPLETED" in self.slurm.states(self.job))


def recorded(record, bench):
    """The same of a record."""
    found = {}
    for row in record["io"]:
        if row["mount"] in map(str, bench.mounts):
            for op in jobtruth.DATA:
                found[row["mount"], op] = jobtruth.Count(row[op]["bytes"], row[op]["calls"])
            for op in jobtruth.META:
                found[row["mount"], op] = jobtruth.Count(0, row["meta"].get(op, {"calls": 0})["calls"])
    return found


Node = collections.namedtuple("Node", "slurm bench agent program token")


@pytest.fixture(scope="module")
def node(slurm, programs):
    """A Slurm, and an agent whose TCP wants a token, as on a site."""
    with jobtruth.bench(slurm, programs / "tests/truth/jobwork") as bench:
        program = bench.folder / "jobmeter"
        shutil.copy(programs / "jobmeter", program)  # where no user's way is barred
        token = bench.folder / "scrape.token"
        with Agent(bench.folder / "agent", slurm.keeper, run_dir=slurm.facts.parent, insecure=False,
                   token_file=str(token), retention="6s") as agent:
            yield Node(slurm, bench, agent, program, token.read_text().strip())


@contextlib.contextmanager
def two_jobs(node):
    """One of each user, each of which has done something."""
    both = {user: Served(node.slurm, node.bench, user) for user in USERS}
    for job in both.values():
        job.work()
    when(node, lambda page: {job.job for job in both.values()} <= shown_jobs(page))
    yield both
    for job in both.values():
        job.end()
    node.slurm.wait_until_over()


@pytest.fixture(scope="class")
def jobs(node):
    """For tests that only look at them."""
    with two_jobs(node) as both:
        yield both


def start(node, user, *argv):
    entry = pwd.getpwnam(user)
    environment = {"PATH": "/usr/bin:/bin", "JOBMETER_SOCKET": str(node.agent.folder / "agent.sock"), "HOME": "/",
                   "XDG_STATE_HOME": "/nonexistent"}
    return subprocess.Popen([node.program, *map(str, argv)], env=environment, user=entry.pw_uid, group=entry.pw_gid,
                            extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd="/")


def finish(process, code=0):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err


def watch(node, user, *argv):
    """A watch that has looked once."""
    process = start(node, user, "watch", "--json", "--live", "--interval", "0.1", *argv)
    line = process.stderr.readline()
    assert "cores" in line, line + process.stderr.read()
    return process


ASK = """
import http.client, socket, sys
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
connection = Connection("localhost")
connection.request("GET", sys.argv[2])
answer = connection.getresponse()
print(answer.status)
sys.stdout.write(answer.read().decode())
"""


def ask(node, user, path):
    """Status and text of what the socket answers to @user."""
    entry = pwd.getpwnam(user)
    done = subprocess.run(["/usr/bin/python3", "-c", ASK, node.agent.folder / "agent.sock", path], check=True, cwd="/",
                          capture_output=True, text=True, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])
    status, _, text = done.stdout.partition("\n")
    return int(status), text


def scrape(node):
    return parse(node.agent.get("/metrics", Authorization=f"Bearer {node.token}").text)


def shown_jobs(page):
    return {labels["jobid"] for labels, _ in page.of("jobmeter_job_info") if labels["manager"] == "slurm"}


def when(node, condition, seconds=60):
    """The first page for which that is so."""
    end = time.monotonic() + seconds
    while not condition(page := scrape(node)):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
    return page


class TestWhatOthersDo:
    @pytest.mark.parametrize("user, other", [USERS, USERS[::-1]])
    def test_is_not_told_by_the_socket(self, node, jobs, user, other):
        mine, theirs = jobs[user].job, jobs[other].job
        status, text = ask(node, user, "/v1/jobs")
        listed = {job["id"]: job for job in json.loads(text)["jobs"]}
        assert status == 200 and mine in listed
        assert {job["user"] for job in listed.values()} <= {user, None} and listed[mine]["user"] == user
        assert ask(node, user, f"/v1/jobs/slurm/{mine}")[0] == 200
        status, text = ask(node, user, f"/v1/jobs/slurm/{theirs}")
        assert (status, text) == ask(node, user, "/v1/jobs/slurm/1") and status == 404
        status, text = ask(node, user, f"/v1/group?pid={jobs[other].pid}")
        assert status in (403, 404) and theirs not in text
        assert theirs in ask(node, "root", "/v1/jobs")[1]

    @pytest.mark.parametrize("user, other", [USERS, USERS[::-1]])
    def test_is_not_in_the_metrics_over_the_socket(self, node, jobs, user, other):
        status, text = ask(node, user, "/metrics")
        page = parse(text)
        assert status == 200 and jobs[user].job in shown_jobs(page)
        assert jobs[other].job not in text and other not in text
        assert {labels["user"] for labels, _ in page.of("jobmeter_job_info")} == {user}
        assert not any(name.startswith("jobmeter_node_") for name, _ in page.samples)

    @pytest.mark.parametrize("command", [["watch", "--job"], ["report"]], ids=str)
    def test_is_not_shown_by_a_command(self, node, jobs, command):
        out, err = finish(start(node, ALICE, *command, jobs[BOB].job), code=1)
        assert not out and len(err.splitlines()) == 1
        absent = finish(start(node, ALICE, *command, "99999999999"), code=1)[1]
        assert err.replace(jobs[BOB].job, "ID") == absent.replace("99999999999", "ID")

    def test_cannot_be_watched_by_a_process_of_theirs(self, node, jobs):
        out, err = finish(start(node, ALICE, "watch", "--pid", jobs[BOB].pid), code=1)
        assert not out and len(err.splitlines()) == 1 and jobs[BOB].job not in err

    def test_is_in_no_file_that_a_user_can_read(self, node, jobs):
        state = node.agent.folder / "state"
        files = [*(state / "jobs").iterdir(), node.slurm.facts.parent / "published"]
        assert (state / "jobs").stat().st_mode & 0o777 == 0o700
        assert not any(path.stat().st_mode & 0o077 for path in files)
        done = subprocess.run(["ls", state / "jobs"], capture_output=True, user=pwd.getpwnam(ALICE).pw_uid, group=0,
                              extra_groups=[])
        assert done.returncode

    def test_is_not_told_over_tcp_without_the_token(self, node, jobs):
        for headers in ({}, {"Authorization": "Bearer no"}, {"Authorization": node.token}):
            answer = node.agent.get("/metrics", **headers)
            assert answer.status == 401 and "jobmeter_" not in answer.text
        assert (node.bench.folder / "scrape.token").stat().st_mode & 0o777 == 0o640
        assert node.agent.get("/metrics", Authorization=f"Bearer {node.token}").status == 200


class TestWatch:
    @pytest.fixture
    def jobs(self, node):
        with two_jobs(node) as both:
            yield both

    def test_a_job_from_now_on(self, node, jobs):
        process = watch(node, ALICE, "--job", jobs[ALICE].job)
        did = jobs[ALICE].work()
        jobs[BOB].work()
        process.send_signal(signal.SIGINT)
        record = json.loads(finish(process)[0])
        assert recorded(record, node.bench) == did
        assert not record["final"] and record["job"]["id"] == jobs[ALICE].job

    def test_a_job_to_its_end(self, node, jobs):
        process = watch(node, ALICE, "--job", jobs[ALICE].job)
        did = jobs[ALICE].work()
        jobs[ALICE].end()
        record = json.loads(finish(process)[0])
        assert recorded(record, node.bench) == did
        assert record["final"]

    def test_the_job_of_a_process(self, node, jobs):
        process = watch(node, BOB, "--pid", jobs[BOB].pid)
        did = jobs[BOB].work()
        process.send_signal(signal.SIGINT)
        record = json.loads(finish(process)[0])
        assert recorded(record, node.bench) == did and record["job"]["id"] == jobs[BOB].job

    def test_a_users_jobs_and_those_that_come(self, node, jobs):
        process = watch(node, ALICE, "--user", ALICE)
        did = jobs[ALICE].work()
        jobs[BOB].work()
        late = Served(node.slurm, node.bench, ALICE)
        when(node, lambda page: late.job in shown_jobs(page))
        late_did = late.work()
        late.end()
        process.send_signal(signal.SIGINT)
        document = json.loads(finish(process)[0])
        records = {record["job"]["id"]: recorded(record, node.bench) for record in document["jobs"]}
        assert records == {jobs[ALICE].job: did, late.job: late_did}

    def test_a_report_tells_all_of_it(self, node, jobs):
        record = json.loads(finish(start(node, ALICE, "report", "--json", jobs[ALICE].job))[0])
        assert recorded(record, node.bench) == dict(jobs[ALICE].did())


def held_job(node):
    done = node.slurm.run("salloc", "-n1", "--no-shell", user=BOB)
    return re.search(r"job allocation (\d+)", done.stderr)[1]


def test_an_allocation_without_a_process_is_shown_and_then_its_end(node):
    """Slurm keeps a process of its own there; without it the allocation is still one."""
    job = held_job(node)
    try:
        when(node, lambda page: job in shown_jobs(page))
        for path in pathlib.Path("/sys/fs/cgroup/memory").glob(f"slurm_{node.slurm.node}/*/job_{job}/**/cgroup.procs"):
            for pid in path.read_text().split():
                with contextlib.suppress(OSError):
                    comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                    assert comm in ("sleep", "slurmstepd")
        readings = {value for _, value in scrape(node).of("jobmeter_agent_readings_total")}
        page = when(node, lambda page: min(value for _, value in page.of("jobmeter_agent_readings_total"))
                    > max(readings) + 2)
        assert job in shown_jobs(page)
        assert job not in {labels["jobid"] for labels, _ in page.of("jobmeter_job_end_time_seconds")}
    finally:
        node.slurm.run("scancel", job)
    page = when(node, lambda page: job in {l["jobid"] for l, _ in page.of("jobmeter_job_end_time_seconds")})
    assert job in shown_jobs(page)


def test_an_ended_job_is_shown_as_long_as_the_site_wants(node):
    job = node.slurm.submit("true", user=ALICE)
    page = when(node, lambda page: any(l["jobid"] == str(job)
                                       for l, _ in page.of("jobmeter_job_end_time_seconds")), 300)
    ended = next(value for labels, value in page.of("jobmeter_job_end_time_seconds") if labels["jobid"] == str(job))
    when(node, lambda page: str(job) not in shown_jobs(page))
    assert time.time() > ended + 6
    node.slurm.wait_until_over()
    assert not list((node.agent.folder / "state/jobs").glob(f"*{job}*"))


def test_what_slurms_own_processes_wait_for_is_not_lost_to_the_job(node):
    """Each step has a process of Slurm's, whose threads wait for as long as it lives, and so do srun's."""
    job = node.slurm.submit("srun sleep 5", user=ALICE)
    end = time.monotonic() + 300
    while not (record := json.loads(ask(node, ALICE, f"/v1/jobs/slurm/{job}")[1])).get("final"):  # it is there for some seconds
        assert time.monotonic() < end
        time.sleep(0.1)
    node.slurm.wait_until_over()
    step = next(step for step in record["steps"] if step["id"] == "0")
    assert step["cpu"]["causes"]["sleep_seconds"] == pytest.approx(5, abs=0.1)
    causes = record["cpu"]["causes"]
    lost = ("file_read", "file_write", "file_meta", "file_async", "sync", "lock", "network", "page_fault")
    assert sum(causes[f"{cause}_seconds"] for cause in lost) < 5  # slurmstepd's and srun's locks were 15 s
    assert causes["children_seconds"] > 9.5  # srun's, and the script's that waits for it
