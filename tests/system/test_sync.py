# SPDX-License-Identifier: MIT
"""What became of real jobs of a real Slurm, by its accounting (slurmdbd on MariaDB): our rows and sacct's are the same."""

import calendar
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

import accounting
import slurm as slurm_module
from accounting import AccountedSlurm
from agent import Agent, environment
from keeper import Keeper
from server import Server
from slurm import MADE_JOBS, USERS, make_users
from waiting import until

pytestmark = pytest.mark.node

ANN, BOB = USERS
CARL = f"jc{os.getpid():x}"
ALL = [*USERS, CARL]
URGENT = """\
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""


@pytest.fixture(scope="module")
def slurm(demand):
    missing = [name for name in slurm_module.PROGRAMS + accounting.PROGRAMS if not shutil.which(name)]
    demand(os.geteuid() == 0 and not missing, f"needs root and {missing or 'nothing else'}")
    with Keeper() as keeper:
        make_users(keeper, [CARL])
        with AccountedSlurm(accounts={"chem": [ANN, CARL], "bio": [ANN, BOB]}, jobscripts=True, more=URGENT,
                            cgroup_more="ConstrainSwapSpace=no") as slurm:
            yield slurm


class Site:
    """An agent that sends to a server that asks Slurm."""

    def __init__(self, slurm, server):
        self.slurm, self.server = slurm, server

    def jobs(self):
        """As a person sees them, by `jobmeter jobs`."""
        done = subprocess.run([self.server.program, "jobs", "--all", "--json", "--limit", "0"], capture_output=True, text=True,
                              env={**environment(), "JOBMETER_SERVER_SOCKET": str(self.server.socket)}, timeout=60, check=True)
        return [job for job in json.loads(done.stdout)["jobs"] if job["user"] in ALL]  # the agent sees others, too

    def asked(self):
        return int(self.metric("sync_questions_total"))

    def metric(self, name):
        lines = self.server.get("/metrics").text.splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"jobmeter_server_{name}"))

    def sync(self):
        """Until a question that is asked from now on was answered."""
        now = time.time()
        until(lambda: int(self.metric("sync_timestamp_seconds")) > now, 120)


@pytest.fixture(scope="module")
def site(slurm, programs):
    with tempfile.TemporaryDirectory(prefix="jobmeter-sync-") as name, Keeper() as keeper:
        os.chmod(name, 0o755)
        folder = pathlib.Path(name)
        with Server(folder / "server", keeper, environment={"SLURM_CONF": slurm.environment["SLURM_CONF"]},
                    sync={"manager": "slurm", "interval": "1s"}) as server:
            server.program = programs / "jobmeter"
            with Agent(folder / "agent", keeper, run_dir=slurm.folder / "run", server=f"http://127.0.0.1:{server.port}",
                       server_token_file=f"{folder}/server/push.token"):
                yield Site(slurm, server)


def moment(text):
    """Of ours or sacct's, in seconds; None: not yet, or never."""
    if text in (None, "Unknown", "None"):
        return None
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def test_jobs_have_the_states_and_exit_codes_of_sacct(site, slurm):
    ids = [slurm.submit(f"exit {i % 4}", "-A", "bio", user=USERS[i % 2], name=f"job {i}") for i in range(17)]
    ids.append(slurm.submit("kill -SEGV $$", "-A", "chem", user=ANN))
    ids.append(slurm.submit(f"echo >{slurm.out}/runs; sleep 600", "-A", "chem", "--mem=900M", user=ANN))
    slurm.wait_for((slurm.out / "runs").exists)
    ids.append(slurm.submit("true", "-A", "chem", "--mem=900M", user=ANN))  # waits, and does not begin
    slurm.wait_for(lambda: "Resources" in slurm.run("squeue", "-h", "-j", ids[19], "-o", "%r").stdout)
    # one that is cancelled before slurmdbd has heard of it is in no database
    slurm.wait_for(lambda: slurm.is_known(ids[19]))
    slurm.run("scancel", ids[19], ids[18])
    slurm.wait_until_over()
    site.sync()
    until(lambda: sum(job["measured"] for job in site.jobs()) == 19)  # records take their time
    ours = {job["id"]: job for job in site.jobs()}
    rows = {row["JobIDRaw"]: row for row in slurm.sacct("JobIDRaw", "State", "ExitCode", "User", "Account", "JobName", "Start", "End",
                                                       "NodeList")}
    assert set(ours) == set(rows) == set(map(str, ids))
    for number, row in rows.items():
        job, (code, signal) = ours[number], map(int, row["ExitCode"].split(":"))
        began = row["NodeList"] != "None assigned"
        assert job["state"] == row["State"].split()[0]
        assert (job["exit_code"], job["signal"]) == ((None, signal) if signal else (code, None) if began else (None, None))
        assert (job["user"], job["account"], job["name"]) == (row["User"], row["Account"], row["JobName"])
        assert (moment(job["start"]), moment(job["end"])) == (moment(row["Start"]) if began else None, moment(row["End"]))
        assert job["measured"] == began
    assert {job["state"] for job in ours.values()} == {"COMPLETED", "FAILED", "CANCELLED"}


COLUMNS = ["JobIDRaw", "JobID", "State", "ExitCode", "User", "UID", "Account", "Partition", "QOS", "JobName", "Submit", "Start", "End",
           "ElapsedRaw", "NodeList", "WorkDir", "TimelimitRaw", "DerivedExitCode", "Cluster"]


def of_sacct(row):
    """A row as ours has it."""
    code, signal = map(int, row["ExitCode"].split(":"))
    ended, began = row["End"] != "Unknown", row["NodeList"] != "None assigned"
    array, _, index = row["JobID"].partition("_")
    _, plus, offset = row["JobID"].partition("+")
    return {
        "id": row["JobIDRaw"], "state": row["State"].split()[0], "name": row["JobName"], "user": row["User"], "uid": int(row["UID"]),
        "account": row["Account"], "partition": row["Partition"], "qos": row["QOS"] if row["QOS"] != "Unknown" else None, "cluster": row["Cluster"],
        "exit_code": code if ended and began and not signal else None, "signal": signal or None if ended and began else None,
        "submit": moment(row["Submit"]), "start": moment(row["Start"]) if began else None, "end": moment(row["End"]),
        "array_id": array if index else None, "array_index": int(index) if index.isdigit() else None,
        "het_offset": int(offset) if plus else None, "workdir": row["WorkDir"],
        "derived_exit_code": int(row["DerivedExitCode"].split(":")[0]) if ended and began else None,
        "time_limit_seconds": int(row["TimelimitRaw"]) * 60 if row["TimelimitRaw"].isdigit() else None,
    }


def of_ours(job):
    row = {key: job.get(key) for key in ("id", "state", "name", "user", "uid", "account", "partition", "qos", "cluster", "exit_code",
                                         "signal", "array_id", "array_index", "het_offset", "workdir", "derived_exit_code",
                                         "time_limit_seconds")}
    return row | {key: moment(job.get(key)) for key in ("submit", "start", "end")}


def ordered(rows):
    return sorted(rows, key=lambda row: (row["id"], row["submit"]))


def assert_same(site, slurm):
    """slurmctld tells slurmdbd of an end when it comes to it: so what differs is asked for anew, a few times."""
    for _ in range(5):
        rows = slurm.sacct(*COLUMNS)
        ours, theirs = ordered(map(of_ours, site.jobs())), ordered(map(of_sacct, rows))
        if ours == theirs:
            break
        site.sync()
    assert ours == theirs
    return rows


def test_in_every_state_our_rows_and_saccts_are_the_same(site, slurm):
    before = len(slurm.sacct("JobID"))
    out = slurm.out
    array = slurm.submit("sleep 1", "-A", "bio", "--array=3-7%2", user=BOB, name="many")
    late = slurm.submit("sleep 600", "-A", "chem", "-t", "1", user=ANN, name="late")
    again = slurm.submit(f"echo >>{out}/again; test $(wc -l <{out}/again) -gt 1 || sleep 600", "-A", "chem", "--requeue", user=ANN)
    slurm.wait_for(lambda: slurm.states(late) == {"RUNNING"})
    slurm.run("scontrol", "update", f"JobId={late}", "EndTime=now+2")  # else in a minute; now may be its start, which is refused
    site.sync()  # some of it waits, or runs
    slurm.wait_for((out / "again").exists)
    slurm.run("scontrol", "requeue", again)
    slurm.wait_for(lambda: slurm.states(again) == {"PENDING"})
    slurm.run("scontrol", "update", f"JobId={again}", "StartTime=now")  # else in two minutes
    stopped = slurm.submit(f"echo >{out}/stopped; sleep 4", "-A", "bio", user=BOB, name="stopped")
    slurm.wait_for((out / "stopped").exists)
    slurm.run("scontrol", "suspend", stopped)
    time.sleep(3)
    slurm.run("scontrol", "resume", stopped)
    names = ["a|b", "two\nlines\tand a tab", "\x1f0000000000000000\x1f", "äöü 'x' \"y\" \\ ; $(false)"]
    for name in names:
        slurm.submit("true", "-A", "bio", user=BOB, name=name)
    both = slurm.run("sbatch", "--parsable", "-A", "chem", "-J", "both", "-n1", "--wrap", "true", ":", "-n1", user=ANN).stdout.strip()
    slurm.wait_for(lambda: "Resources" in slurm.run("squeue", "-h", "-j", both, "-o", "%r").stdout)  # it wants a second node
    slurm.run("scancel", both)
    slurm.wait_until_over()
    site.sync()
    rows = assert_same(site, slurm)
    assert len(rows) >= before + 11
    ours = site.jobs()
    assert len(ours) == len({(job["id"], job["submit"]) for job in ours})
    assert {"TIMEOUT", "REQUEUED", "COMPLETED"} <= {job["state"] for job in ours}
    assert not [job for job in ours if job.get("array_tasks")]  # nothing of the placeholder is left
    assert sorted(job["array_index"] for job in ours if job["array_id"] == str(array)) == [3, 4, 5, 6, 7]
    held = next(job for job in ours if job["id"] == str(stopped))
    measured, = (json.loads(line)["time"]["elapsed_seconds"] for line in site.server.ask(f"/v1/records?id={stopped}").text.splitlines())
    row, = (row for row in rows if row["JobIDRaw"] == str(stopped))
    assert held["suspended_seconds"] == moment(row["End"]) - moment(row["Start"]) - int(row["ElapsedRaw"]) >= 2
    assert held["elapsed_seconds"] == pytest.approx(measured - held["suspended_seconds"], abs=1e-6)  # not charged
    assert sorted(job["het_offset"] for job in ours if job["name"] == "both") == [0, 1]
    assert sorted(job["state"] for job in ours if job["id"] == str(again)) == ["COMPLETED", "REQUEUED"]
    assert len({job["name"] for job in ours if job["account"] == "bio"}) >= len(names)  # as sacct has them


def test_jobs_that_slurm_ends_have_its_state(site, slurm):
    """One takes too much memory, one comes too late for its deadline, one has to make room, one loses its node."""
    def begun(name):
        number = slurm.submit(f"echo >{slurm.out}/{name}; sleep 600", "-A", "bio", "--no-requeue", "--mem=900M", user=BOB, name=name)
        slurm.wait_for((slurm.out / name).exists)
        return number

    def miss_its_deadline(after_s):
        return slurm.submit("true", "-A", "bio", "-t", "5", f"--deadline=now+{40 + after_s}", "--begin=now+40", user=BOB, name="missed")
    hungry = slurm.submit("python3 -c 'bytearray(300 << 20)'", "-A", "chem", "--mem=64M", user=CARL, name="hungry")
    missed = miss_its_deadline(25)
    slurm.wait_for(lambda: slurm.states(hungry) == {"OUT_OF_MEMORY"})
    low = begun("low")
    slurm.submit("true", "-A", "chem", "-p", "urgent", "--mem=900M", user=ANN)
    slurm.wait_for(lambda: slurm.states(low) == {"PREEMPTED"})
    slurm.wait_for(lambda: slurm.states(missed) == {"DEADLINE"})
    if not slurm.is_known(missed):  # a starved slurmctld did not come to it between begin and deadline: then it is in no database
        missed = miss_its_deadline(200)
        slurm.wait_for(lambda: slurm.is_known(missed), 300)
        slurm.wait_for(lambda: slurm.states(missed) == {"DEADLINE"}, 300)
    lost = begun("lost")
    slurm.run("scontrol", "update", f"NodeName={slurm.node}", "State=DOWN", "Reason=made")
    slurm.wait_for(lambda: slurm.states(lost) == {"NODE_FAIL"})
    slurm.run("scontrol", "update", f"NodeName={slurm.node}", "State=RESUME", check=False)  # refused if it is there again by itself
    slurm.wait_until_over()
    slurm.wait_for(lambda: "idle" in slurm.run("sinfo", "-h", "-o", "%t").stdout)
    slurm.wait_for(lambda: all(map(slurm.is_known, (hungry, missed, low, lost))))
    site.sync()
    assert_same(site, slurm)
    ours = {job["id"]: job["state"] for job in site.jobs()}
    assert [ours[str(number)] for number in (hungry, missed, low, lost)] == ["OUT_OF_MEMORY", "DEADLINE", "PREEMPTED", "NODE_FAIL"]


SCRIPT = """echo "$SLURM_JOB_ID $(id -un) $SLURM_JOB_ACCOUNT ${{SLURM_ARRAY_TASK_ID:--}} {code}" >> {out}/truth; exit {code}"""


def test_many_short_jobs_are_those_that_they_say_they_are(site, slurm):
    """Of three users in two accounts; what each job saw of itself, sacct and our rows agree."""
    truth, before, alone = slurm.out / "truth", len(slurm.sacct("JobID")), 20
    each = (MADE_JOBS - alone) // 3
    truth.touch()
    truth.chmod(0o666)
    for user, account, code in ((ANN, "chem", 0), (BOB, "bio", 7), (CARL, "chem", 1)):
        slurm.submit(SCRIPT.format(code=code, out=slurm.out), "-A", account, f"--array=0-{each - 1}", user=user, name=f"array of {account}")
    for i in range(alone):
        slurm.submit(SCRIPT.format(code=i, out=slurm.out), "-A", "bio", user=USERS[i % 2], name=f"one {i}")
    slurm.wait_until_over(600)
    site.sync()
    told = [line.split() for line in truth.read_text().splitlines()]
    assert len(told) == 3 * each + alone
    numbers = {number for number, *_ in told}  # a record that has just come is a job of its own until it is joined
    until(lambda: all(job["measured"] for job in site.jobs() if job["id"] in numbers) and len(site.jobs()) == before + len(told))
    rows = assert_same(site, slurm)
    assert len(rows) == before + len(told)
    ours = {job["id"]: job for job in site.jobs()}
    for number, user, account, task, code in told:
        job = ours[number]
        assert (job["user"], job["account"], job["exit_code"], job["signal"]) == (user, account, int(code), None)
        assert job["state"] == ("FAILED" if int(code) else "COMPLETED")
        assert job["array_index"] == (None if task == "-" else int(task))


def test_ended_jobs_get_their_summary_as_admin_comment_once(site, slurm):
    script = pathlib.Path(__file__).resolve().parents[2] / "share/server/jobmeter-admin-comment"
    ids = [slurm.submit("sleep 1.7", "-A", "bio", user=user, name='"; $(true) | x') for user in USERS]
    slurm.wait_until_over()
    site.sync()
    until(lambda: {str(number) for number in ids} <= {job["id"] for job in site.jobs() if job["measured"]})
    kept = slurm.submit("true", "-A", "bio", user=ANN)
    slurm.wait_until_over()
    slurm.wait_for(lambda: slurm.run("sacctmgr", "-i", "modify", "job", "where", f"jobid={kept}", "set", "AdminComment=ours", check=False).returncode == 0)

    def run():
        path = f"{site.server.program.parent}:{os.environ['PATH']}"
        return subprocess.run([script], capture_output=True, text=True, timeout=600,
                              env={**slurm.environment, "PATH": path, "JOBMETER_SERVER_SOCKET": str(site.server.socket)})

    def comments():
        return {row["JobIDRaw"]: row["AdminComment"] for row in slurm.sacct("JobIDRaw", "AdminComment")}
    done = run()
    assert (done.returncode, done.stderr) == (0, "") and "0 failed" in done.stdout
    first = comments()
    assert first[str(kept)] == "ours"
    for number in map(str, ids):
        text = first[number].lower()  # as sacctmgr 22.05 writes it
        assert text.startswith("jobmeter: ;  $(true) | x ended, ") and "; cpu efficiency " in text and "; memory efficiency " in text
        assert not set(text) & set('\n"\'\\█·')
    done = run()
    assert done.stdout == "0 jobs got their summary, 0 failed\n" and comments() == first


def test_a_second_sync_changes_nothing(site, slurm):
    site.sync()
    news, rows = site.metric("sync_news_total"), site.server.database_rows("SELECT * FROM runs ORDER BY id")
    site.sync()
    assert (site.metric("sync_news_total"), site.server.database_rows("SELECT * FROM runs ORDER BY id")) == (news, rows)
    assert site.metric("sync_refused_total") == "0"


def test_without_slurmdbd_nothing_is_lost_and_later_it_comes(site, slurm):
    rows = site.server.database_rows("SELECT * FROM runs ORDER BY id")
    slurm.stop_slurmdbd()
    job = slurm.submit("exit 5", "-A", "bio", user=BOB)
    failures = int(site.metric("sync_failures_total"))
    until(lambda: int(site.metric("sync_failures_total")) > failures + 1)
    assert site.server.database_rows("SELECT * FROM runs ORDER BY id") == rows
    slurm.wait_until_over()
    slurm.start_slurmdbd()
    until(lambda: [one["exit_code"] for one in site.jobs() if one["id"] == str(job)] == [5])


def test_one_question_an_interval_is_one_query_of_jobs(site, slurm):
    def queries():
        return sum("DBD_GET_JOBS_COND" in line and "called" in line for line in (slurm.folder / "slurmdbd.log").read_text().splitlines())
    asked, seen = site.asked(), queries()
    site.sync()
    site.sync()
    time.sleep(0.2)
    assert 0 < queries() - seen <= site.asked() - asked + 1


def test_coordinators_are_those_of_sacctmgr(site, slurm):
    question = "SELECT manager, account, user_name FROM coordinators"
    slurm.sacctmgr("add", "coordinator", "account=chem", f"names={BOB}")
    until(lambda: site.server.database_rows(question) == [("slurm", "chem", BOB)])
    # who coordinates sees the account's jobs, and none of another account but their own
    token = site.server.run("token", "create", "--user", BOB).stdout.strip()
    answer = site.server.get("/api/v1/jobs?limit=1000&fields=user,account", Authorization=f"Bearer {token}")
    seen = [(job["user"], job["account"]) for job in json.loads(answer.text)["jobs"]]
    assert sorted(seen) == sorted((job["user"], job["account"]) for job in site.jobs() if job["account"] == "chem" or job["user"] == BOB)
    assert len({user for user, _ in seen}) == 3
    slurm.sacctmgr("delete", "coordinator", "account=chem", f"names={BOB}")
    until(lambda: site.server.database_rows(question) == [])


def test_a_job_of_a_reservation_has_its_name(site, slurm):
    """The last test here: Slurm 22.05 finds the reservation by the seconds of both and forgets it with its deletion, so it stays."""
    slurm.run("scontrol", "create", "reservation", "ReservationName=course", "StartTime=now", "Duration=60", f"Users={BOB}", "Nodes=ALL")
    time.sleep(2)
    number = slurm.submit("sleep 2", "-A", "bio", "--reservation=course", user=BOB)
    slurm.wait_until_over()
    until(lambda: [row["JobIDRaw"] for row in slurm.sacct("JobIDRaw", "Reservation") if row["Reservation"] == "course"] == [str(number)])
    until(lambda: [job["id"] for job in site.jobs() if job["reservation"] == "course"] == [str(number)])
