# SPDX-License-Identifier: MIT
"""Jobs of Slurm that know what they did, and whether the agent's /metrics says the same.

Needs nothing but Python, so that it also runs in a guest:

    jobtruth.py [--v2] --jobwork PROGRAM --report FILE [--agent PROGRAM SCENARIO...]
"""

import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import slurm_groups
from agent import Agent
from exposition import PageError, parse
from keeper import Keeper
from slurm import USERS, Slurm

DATA = {"read": "read", "write": "write"}
META = ("create", "open", "close", "fsync")

# What the agent says of its own process begins with each process; all else outlives it.
OF_ITS_PROCESS = {f"jobmeter_agent_{name}_total" for name in (
    "cpu_seconds", "readings", "failed_readings", "walks", "found_by_walk", "state_errors", "set_aside_files",
    "bad_prolog_files", "reopened_files", "refused_files", "hooked_calls",
    "programs_seconds", "unclocked_seconds", "scrapes")}

Count = collections.namedtuple("Count", "bytes calls")
Facts = collections.namedtuple("Facts", "user account partition start end")


class Bench:
    """Two mounts to work on, an ext4 and a tmpfs, and a third for the ledger; all may write everywhere."""

    def __init__(self, keeper, folder, jobwork, jobs):
        self.folder, self.jobs = folder, jobs
        self.disk, self.memory, self.ledger = folder / "disk", folder / "memory", folder / "ledger"
        self.mounts = [self.disk, self.memory]
        image = folder / "image"
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", image], check=True)
        for place, options in ((self.disk, ["-o", "loop", image]), (self.memory, ["-t", "tmpfs", "jobtruth"]),
                               (self.ledger, ["-t", "tmpfs", "jobtruth"])):
            place.mkdir()
            keeper.run("mount", *options, place, undo=["umount", "-l", place])
            place.chmod(0o1777)
        # Where no user's way is barred, and off the mounts that are compared.
        self.program = folder / "jobwork"
        self.program.write_bytes(pathlib.Path(jobwork).read_bytes())
        self.program.chmod(0o755)

    def work(self, *options):
        """The command line of one part of a job."""
        return " ".join(map(str, [self.program, "--ledger", self.ledger, *options, *self.mounts]))

    def truth(self):
        """{(job, mount, op): Count} of all that wrote into the ledger."""
        sums = collections.defaultdict(lambda: Count(0, 0))
        for line in self.lines():
            key = line["job"], line["mount"], line["op"]
            sums[key] = Count(sums[key].bytes + line["bytes"], sums[key].calls + line["calls"])
        return dict(sums)

    def lines(self):
        return [json.loads(line) for path in self.ledger.iterdir() for line in path.read_text().splitlines()]

    def steps(self):
        """{job: its steps that left something}"""
        found = collections.defaultdict(set)
        for line in self.lines():
            found[line["job"]].add(line["step"])
        return dict(found)


def measured(page, mounts, manager="slurm"):
    """The same of a page of /metrics: {(job, mount, op): Count}, of one manager's jobs on these mounts.  Calls that failed are not in
    it: an open for O_DIRECT that a file system refuses stands on its mount only where fentry is offered."""
    sums, names = collections.defaultdict(lambda: [0, 0]), {str(m) for m in mounts}
    for op, word in DATA.items():
        for at, unit in enumerate(("bytes", "calls")):
            for labels, value in page.of(f"jobmeter_job_io_{word}_{unit}_total"):
                if labels["manager"] == manager and labels["mount"] in names:
                    sums[labels["jobid"], labels["mount"], op][at] += value
    for unit, sign in (("calls", 1), ("errors", -1)):
        for labels, value in page.of(f"jobmeter_job_io_meta_{unit}_total"):
            if labels["manager"] == manager and labels["mount"] in names and labels["op"] in META:
                sums[labels["jobid"], labels["mount"], labels["op"]][1] += sign * value
    return {key: Count(*value) for key, value in sums.items() if any(value)}


def differences(truth, found):
    """In words; none where they are equal."""
    return [f"job {key[0]}, {key[1]}, {key[2]}: did {truth.get(key)}, /metrics says {found.get(key)}"
            for key in sorted(truth.keys() | found.keys()) if truth.get(key) != found.get(key)]


class Scraper(threading.Thread):
    """Scrapes all the time, and holds each page against those before it."""

    def __init__(self, agent, interval_s=0.1):
        super().__init__(daemon=True)
        self.agent, self.interval_s = agent, interval_s
        self.over, self.complaints, self.scrapes, self.last = threading.Event(), [], 0, {}
        self.is_down, self.restarts, self.restarts_seen = False, 0, 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    @contextlib.contextmanager
    def without_agent(self):
        """Only here a scrape may fail; what a page says must hold all the same."""
        self.is_down = True
        try:
            yield
        finally:
            self.restarts += 1
            self.is_down = False

    def run(self):
        while not self.over.wait(self.interval_s):
            may_fail, restarts = self.is_down, self.restarts
            try:
                page = self.scrape()
                if may_fail or restarts != self.restarts_seen:
                    self.forget_process()
                    self.restarts_seen = restarts
                self.look_at(page)
                self.scrapes += 1
            except (OSError, http.client.HTTPException, PageError, ValueError) as e:
                if not (may_fail or self.is_down):
                    self.complain(f"scrape {self.scrapes}: {type(e).__name__}: {e}")

    def scrape(self):
        answer = self.agent.get("/metrics")
        if answer.status != 200 or not (answer.type or "").startswith("text/plain"):
            raise PageError(f"status {answer.status}, type {answer.type}")
        return parse(answer.text)

    def forget_process(self):
        """A page from before a restart may still be looked at after it: it was asked for before."""
        self.last = {key: value for key, value in self.last.items() if key[0] not in OF_ITS_PROCESS}

    def look_at(self, page):
        """A `run` of another test is called by its pid, which may come again: then it is another job."""
        counters = {key: value for key, value in page.counters().items() if ("manager", "run") not in key[1]}
        for key, value in counters.items():
            before = self.last.get(key)
            if before is not None and value < before:
                self.complain(f"scrape {self.scrapes}: {key} fell from {before} to {value}")
        self.last.update(counters)  # what vanishes and comes again lower has fallen, too

    def complain(self, text):
        if len(self.complaints) < 100:
            self.complaints.append(text)


def make_bench(keeper, programs):
    """A Bench of jobs that a test makes itself."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-jobs-"))
    folder.chmod(0o755)
    keeper.undo("rm", "-rf", "--one-file-system", folder)
    return Bench(keeper, folder, programs / "tests/truth/jobwork", 0)


@contextlib.contextmanager
def bench(slurm, jobwork, jobs=20):
    """A Bench whose mounts go before the Slurm whose jobs use them; @jobs: how many the plain scenario has."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-jobtruth-"))
    folder.chmod(0o755)
    with Keeper() as keeper:
        keeper.undo("rm", "-rf", "--one-file-system", folder)
        yield Bench(keeper, folder, jobwork, jobs)


class Jobs:
    """Submits jobs of all kinds, by turns of two users."""

    def __init__(self, slurm, bench):
        self.slurm, self.bench = slurm, bench
        self.count, self.owners, self.batches, self.talks = 0, {}, [], []
        self.lingering = set()  # jobs whose groups Slurm cannot remove: for the agent they live on

    def srun(self, *options, seed=0):
        return f"srun -n1 {self.bench.work('--seed', self.count + seed, *options)}\n"

    def here(self, *options, seed=0):
        return f"{self.bench.work('--seed', self.count + seed, *options)}\n"

    def submit_one(self):
        """The kinds by turns; whether it is short is up to its sleep: without one a step takes some ms."""
        kind = self.KINDS[self.count % len(self.KINDS)]
        user = USERS[self.count % len(USERS)]
        self.count += 1
        kind(self, user)

    def batch(self, user, script, *options, name="job"):
        job = self.slurm.submit(f"set -e\n{script}", "-A", f"of {user}", *options, user=user, name=name)
        self.batches.append((user, job))
        return job

    def steps(self, user):
        self.batch(user, self.srun() + self.srun("--sleep-ms", 300, seed=1) + self.srun("--children", 3, seed=2))

    def batch_and_steps(self, user):
        self.batch(user, self.here("--children", 1) + self.srun(seed=3) + self.here(seed=4))

    def array(self, user):
        self.batch(user, self.here() + self.srun(seed=1), "--array=3-4")

    def parallel_tasks(self, user):
        self.batch(user, f"srun -n2 --overcommit {self.bench.work('--children', 2, '--rounds', 2, '--nasty')}\n",
                   "-n2", name='a "job"\\\n{}')

    def interactive(self, user):
        """As after salloc: steps of an allocation without a batch script."""
        script = "echo id $SLURM_JOB_ID\n" + self.srun() + self.srun(seed=5)
        self.talks.append((user, self.slurm.popen("salloc", "-n1", "-A", f"of {user}", "sh", "-ec", script,
                                                  user=user)))

    def held(self, user):
        """An allocation that nobody is in, but for a step in its midst; somebody has to end it."""
        done = self.slurm.run("salloc", "-n1", "-A", f"of {user}", "--no-shell", user=user)
        job = done.stderr.split("job allocation ")[1].split()[0]
        self.owners[job] = user
        self.slurm.run("srun", f"--jobid={job}", "-n1", *self.bench.work("--seed", self.count).split(), user=user)
        self.slurm.run("scancel", job, user=user)

    KINDS = [steps, batch_and_steps, array, parallel_tasks, interactive, held]

    def wait(self):
        for user, process in self.talks:
            stdout, stderr = process.communicate(timeout=300)
            if process.returncode:
                raise RuntimeError(f"salloc: {process.returncode}: {stderr}\n{self.slurm.logs()}")
            self.owners[stdout.split()[1]] = user
        self.talks = []
        self.slurm.wait_until_over()
        for user, first in self.batches:
            self.owners.update((job, user) for job in self.slurm.jobs_of(first))

    def unfinished(self):
        """{job: states} of those that did not end well; a held one is cancelled by us."""
        states = {job: self.slurm.states(job) for job in self.owners}
        return {job: state for job, state in states.items() if not state <= {"COMPLETED", "CANCELLED"}}

    def facts(self):
        """{job: Facts}, as Slurm has them."""
        return {job: Facts(user, *self.slurm.facts_of(job)) for job, user in self.owners.items()}


def hostile_script(jobs, victim):
    """In another job's name, as far as the environment goes; with as many groups of its own as it can make, some
    named like the victim's (but root, who may name groups as the manager does, and is believed), and work from
    within one of those.  On v1 Slurm gives a user the groups of his step,
    though not their cgroup.procs: he gets into a group of his own and never back, and it keeps Slurm from removing
    the job's."""
    work = jobs.bench.work("--job", "$me", "--nasty", "--children", 5)
    return rf"""
    me=$SLURM_JOB_ID
    export SLURM_JOB_ID={victim} SLURM_JOBID={victim} SLURM_STEP_ID=7 SLURM_JOB_USER=root SLURM_JOB_ACCOUNT='"}} 1'
    nasty=$(printf 'a"\\\\}}\t\377{{x= ')
    groups=$(sed -n 's,^[0-9]*:\(memory\|cpuacct\|freezer\):,/sys/fs/cgroup/\1,p; s,^0::/.,/sys/fs/cgroup&,p' \
             /proc/self/cgroup | sed 's,0::,,' | grep job_ || true)
    for group in $groups; do
        for i in $(seq 1000); do echo "$nasty$i"; done | (cd "$group" && xargs -d '\n' mkdir 2>/dev/null || true)
        for own in job_{victim}/step_0 slurm_{jobs.slurm.node}/uid_0/job_{victim}/step_0; do
            test $(id -u) != 0 && mkdir -p "$group/$own" 2>/dev/null || own=job_1
            mkdir -p "$group/$own" 2>/dev/null && echo 0 2>/dev/null >"$group/$own/cgroup.procs" || true
        done
    done
    find $groups -type d | grep -ac x= >>{jobs.slurm.out}/made || true
    {work}
    for group in $groups; do
        echo 0 2>/dev/null >"$group/cgroup.procs" || true
        find "$group" -mindepth 1 -depth -type d -exec rmdir {{}} + 2>/dev/null || true
    done
    {work}
    """


def await_truth(scraper, bench, seconds=60, readings=3):
    """Until the page says what was done, and says so still some readings later, when all is folded; or time is up
    while it does not: the differences that stay."""
    end, held = time.monotonic() + seconds, set()
    while True:
        page = scraper.scrape()
        wrong = differences(bench.truth(), measured(page, bench.mounts))
        held = set() if wrong else held | {value for _, value in page.of("jobmeter_agent_readings_total")}
        if len(held) > readings or (wrong and time.monotonic() > end):
            return wrong, page
        time.sleep(0.2)


def wrong_facts(page, jobs):
    """What /metrics says of whose the jobs are and when they were, where that is not so."""
    shown = {labels["jobid"]: labels for labels, _ in page.of("jobmeter_job_info") if labels["manager"] == "slurm"}
    times = {name: {labels["jobid"]: value for labels, value in page.of(f"jobmeter_job_{name}_time_seconds")
                    if labels["manager"] == "slurm"} for name in ("start", "end")}
    wrong = []
    for job, facts in jobs.facts().items():
        labels = shown.get(job, {})
        for name in ("user", "account", "partition"):
            if labels.get(name) != getattr(facts, name):
                wrong.append(f"job {job}: {name} is {getattr(facts, name)!r}, /metrics says {labels.get(name)!r}")
        start, end = times["start"].get(job, 0), times["end"].get(job, 0)
        if job in jobs.lingering and not end:
            end = start
        if not facts.start - 1 <= start <= facts.end + 1 or not start <= end:  # Slurm's seconds are whole
            wrong.append(f"job {job}: was from {facts.start} to {facts.end}, /metrics says {start} to {end}")
    return wrong


def plain(slurm, bench, agent, scraper):
    """Jobs of all kinds."""
    jobs = Jobs(slurm, bench)
    for _ in range(bench.jobs):
        jobs.submit_one()
    jobs.wait()
    return jobs


def long_job(jobs):
    """One that works now, and again when the function that is given back is called."""
    slurm = jobs.slurm
    for name in ("begun", "end"):
        (slurm.out / name).unlink(missing_ok=True)
    jobs.batch(USERS[0], jobs.here() + f"touch {slurm.out}/begun\nuntil test -e {slurm.out}/end; do sleep 0.1; done\n"
               + jobs.srun(seed=1))
    slurm.wait_for((slurm.out / "begun").exists)
    return (slurm.out / "end").touch


def wait_for_all_but_one(slurm):
    slurm.wait_for(lambda: len(slurm.run("squeue", "-h").stdout.split("\n")) <= 2)


def killed(slurm, bench, agent, scraper):
    """The agent is killed while a job runs, when others have ended, and comes back when many have come and gone."""
    jobs = Jobs(slurm, bench)
    finish = long_job(jobs)
    for _ in range(3):
        jobs.submit_one()
    wait_for_all_but_one(slurm)
    with scraper.without_agent():
        agent.kill()
        died = time.monotonic()
        while jobs.count < 9 or time.monotonic() < died + 10:
            jobs.submit_one()
        wait_for_all_but_one(slurm)
        agent.start()
    finish()
    for _ in range(6):
        jobs.submit_one()
    jobs.wait()
    return jobs


def restarted(slurm, bench, agent, scraper):
    """As systemd restarts it, again and again, and in the end killed once more: whatever happens at that moment."""
    jobs = Jobs(slurm, bench)
    finish = long_job(jobs)
    for _ in range(6):
        with scraper.without_agent():
            if agent.step_aside():
                raise RuntimeError(f"the agent did not step aside\n{agent.log()}")
            jobs.submit_one()
            agent.start()
        jobs.submit_one()
    finish()
    jobs.wait()
    with scraper.without_agent():
        agent.kill()
        agent.start()
    return jobs


def hostile(slurm, bench, agent, scraper):
    jobs = Jobs(slurm, bench)
    finish = long_job(jobs)
    victim = jobs.batches[0][1]
    for user in (USERS[1], "root"):
        jobs.lingering.add(str(jobs.batch(user, hostile_script(jobs, victim), name='\n"},x{\\')))
    for _ in range(6):
        jobs.submit_one()
    wait_for_all_but_one(slurm)
    finish()
    jobs.wait()
    return jobs


SCENARIOS = {"plain": plain, "killed": killed, "restarted": restarted, "hostile": hostile}


def play(name, slurm, jobwork, program, jobs=20, interval_s=0.1):
    """One scenario under an agent: what was wrong, in words."""
    with bench(slurm, jobwork, jobs) as place, \
         Agent(place.folder / "agent", slurm.keeper, program, run_dir=slurm.facts.parent) as agent:
        with Scraper(agent, interval_s) as scraper:
            done = SCENARIOS[name](slurm, place, agent, scraper)
            wrong, page = await_truth(scraper, place)
        wrong += scraper.complaints + wrong_facts(page, done)
        wrong += [f"job {job} ended as {state}" for job, state in done.unfinished().items()]
        if not scraper.scrapes:
            wrong.append("nothing was scraped")
        if wrong:
            print(agent.log())
    slurm_groups.remove(slurm.node, listed=slurm_groups.of_jobs)
    return wrong


def ledger_only(slurm, jobwork, jobs=20):
    """The jobs without an agent: they all end, and what they left adds up."""
    with bench(slurm, jobwork, jobs) as place:
        done = plain(slurm, place, None, None)
        truth, wrong = place.truth(), [f"job {job} ended as {state}" for job, state in done.unfinished().items()]
        wrong += [f"job {job} left nothing" for job in done.owners if job not in place.steps()]
        for job, mount in {key[:2] for key in truth}:
            read, write = truth[job, mount, "read"], truth[job, mount, "write"]
            times = truth[job, mount, "open"].calls // truth[job, mount, "create"].calls
            if not write.bytes or read.bytes not in (write.bytes, times * write.bytes):
                wrong.append(f"job {job}, {mount}: wrote {write}, read {read}")
        return wrong, {"jobs": len(done.owners), "steps": sum(map(len, place.steps().values())),
                       "bytes": sum(count.bytes for count in truth.values()),
                       "calls": sum(count.calls for count in truth.values())}


def captured(slurm):
    """The paths of a job's groups while it runs, with how many processes are in each."""
    held = slurm.run("salloc", "-n1", "--no-shell", user=USERS[1]).stderr.split("job allocation ")[1].split()[0]
    job = slurm.submit(f"srun -n2 --overcommit sh -c 'touch {slurm.out}/up.$SLURM_PROCID; sleep 60'", user=USERS[0])
    slurm.wait_for(lambda: all((slurm.out / f"up.{rank}").exists() for rank in (0, 1)))
    found = []
    for group in sorted(slurm_groups.groups(slurm.node)):
        with contextlib.suppress(OSError):
            pids = (group / "cgroup.procs").read_text().split()
            names = sorted(pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids)
            found.append(f"{group.relative_to(slurm_groups.TREE)} {' '.join(names)}".replace(slurm.node, "node1").strip())
    slurm.run("scancel", job, held)
    slurm.wait_until_over()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--v2", action="store_true")
    parser.add_argument("--agent", type=pathlib.Path)
    parser.add_argument("--jobwork", required=True)
    parser.add_argument("--report", type=pathlib.Path, required=True)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("scenarios", nargs="*")
    wanted = parser.parse_args()
    report = {}

    def keep(name, function):
        print(name, flush=True)
        try:
            report[name] = function()
        except Exception:
            report[name] = traceback.format_exc()
        wanted.report.write_text(json.dumps(report, indent=1))

    with Slurm(version="v2" if wanted.v2 else "v1", address=wanted.address, jobscripts=True, memory=768,
               cgroup_more="IgnoreSystemd=yes" if wanted.v2 else "") as slurm:
        keep("groups", lambda: captured(slurm))
        if not wanted.scenarios:
            keep("ledger", lambda: ledger_only(slurm, wanted.jobwork, wanted.jobs))
        for name in wanted.scenarios:
            keep(name, lambda: play(name, slurm, wanted.jobwork, wanted.agent, wanted.jobs, wanted.interval))
    keep("groups after", lambda: [str(path) for path in slurm_groups.groups(slurm.node)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
