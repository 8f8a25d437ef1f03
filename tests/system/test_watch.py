# SPDX-License-Identifier: MIT
"""`jobmeter watch`: what already runs, from now on; by a meter of our own, and through an agent (a double)."""

import csv
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from agent_double import Agent, record
from leftovers import groups, processes
from timelines import load, wrong_series

JOB_ID = 10**9 + 2 * os.getpid()  # a job that nothing else on this machine has, and the next one is such, too
UID = str(70000 + os.getpid())

SERVANT = 'echo $$ > "$1/cgroup.procs"; while read n; do dd if=/dev/zero of="$2" bs=1009 count=$n status=none; echo $n; done'


@pytest.fixture
def group(root, demand):
    """A cgroup of the key hierarchy that is no job's."""
    top = pathlib.Path("/sys/fs/cgroup/memory")
    folder = (top if top.exists() else pathlib.Path("/sys/fs/cgroup")) / f"watched {os.getpid()}\tü"
    try:
        folder.mkdir()
    except OSError as e:
        demand(False, f"cannot make a cgroup: {e}")
    yield folder
    end = time.monotonic() + 60
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


class Servant:
    """A process in the group that writes so many blocks of 1009 bytes when it is told to."""

    def __init__(self, group, file):
        self.process = subprocess.Popen(["sh", "-c", SERVANT, "sh", str(group), str(file)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.write(1)  # it is in its group

    def write(self, blocks):
        self.process.stdin.write(f"{blocks}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{blocks}\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def servant(group, tmp_path):
    s = Servant(group, "/dev/shm/jobmeter-watched")
    yield s
    s.process.kill()
    s.process.wait()
    os.unlink("/dev/shm/jobmeter-watched")


@pytest.fixture
def watch(programs, tmp_path):
    """Starts a watch; no agent of the machine is asked."""
    environment = {**os.environ, "JOBMETER_SOCKET": str(tmp_path / "agent.sock"), "XDG_STATE_HOME": str(tmp_path)}

    def start(*argv, **options):
        process = subprocess.Popen([programs / "jobmeter", "watch", *map(str, argv)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment, **options)
        start.pids.add(str(process.pid))
        return process

    start.socket, start.pids = environment["JOBMETER_SOCKET"], set()
    return start


@pytest.fixture
def nothing_new(watch):
    """No group and no process of a watch is left."""
    return lambda: not groups(watch.pids) and not processes()


def wait_until_it_looks(process):
    """The first line of --live comes after the first looks."""
    stream = process.stderr
    line = stream.readline()
    assert "cores" in line, line + stream.read()


def finish(process, code=0):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err


def written(document):
    row = [r for r in document["io"] if r["mount"] == "/dev/shm"]
    return (row[0]["write"]["bytes"], row[0]["write"]["calls"]) if row else (0, 0)


class TestByItself:
    @pytest.mark.smoke
    def test_only_what_comes_later_is_in_it_and_it_ends_with_the_group(self, watch, servant, group, nothing_new):
        servant.write(103)
        process = watch("--cgroup", group, "--json", "--live", "--interval", "0.1")
        wait_until_it_looks(process)
        servant.write(17)
        servant.write(211)
        servant.end()
        out = finish(process)[0]
        document = json.loads(out)
        assert document["schema"] == "jobmeter.record/1" and document["final"]
        assert not wrong_series(load(out))
        assert written(document) == ((17 + 211) * 1009, 17 + 211)
        assert document["tasks"]["ended"] == 3  # two dd, and the shell
        books = document["coverage"]["accounting"]
        assert books["write"]["difference_bytes"] == 0
        assert any(note.startswith("covers only the time since ") for note in document["coverage"]["notes"])
        assert nothing_new()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_with_a_report(self, watch, servant, group, number, nothing_new):
        process = watch("--cgroup", group, "--json", "--live", "--interval", "0.1")
        wait_until_it_looks(process)
        servant.write(37)
        process.send_signal(number)
        out = finish(process)[0]
        document = json.loads(out)
        assert not document["final"]
        assert not wrong_series(load(out))
        assert written(document) == (37 * 1009, 37)
        servant.write(1)  # it lives
        assert nothing_new()

    def test_a_duration_ends_it(self, watch, servant, group):
        out, _ = finish(watch("--cgroup", group, "--duration", "0.7"))
        assert "still running" in out
        began = time.monotonic()
        document = json.loads(finish(watch("--cgroup", group, "--duration", "0.7", "--json"))[0])
        assert 0.7 <= document["time"]["elapsed_seconds"] < time.monotonic() - began

    def test_the_leaf_of_a_process(self, watch, servant, group):
        process = watch("--pid", servant.process.pid, "--json", "--live", "--interval", "0.1")
        wait_until_it_looks(process)
        servant.write(41)
        process.send_signal(signal.SIGINT)
        document = json.loads(finish(process)[0])
        assert written(document) == (41 * 1009, 41)
        assert document["job"]["name"] == f"/{group.name}"

    def test_a_process_with_others_is_said_to_be(self, watch, servant, group):
        assert "the report is of all of them" not in finish(watch("--pid", servant.process.pid, "--duration", "0.2"))[1]
        with subprocess.Popen(["sleep", "60"]) as other:
            try:
                (group / "cgroup.procs").write_text(str(other.pid))
                _, err = finish(watch("--pid", servant.process.pid, "--duration", "0.2"))
            finally:
                other.kill()
        assert f"watch: process {servant.process.pid} is in /" in err  # what the name holds is made printable
        assert ", with 1 other: the report is of all of them" in err

    def test_files_one_by_one_are_those_of_this_time(self, watch, servant, group, demand):
        servant.write(103)
        process = watch("--cgroup", group, "--json", "--files", "--live", "--interval", "0.1")
        wait_until_it_looks(process)
        servant.write(43)
        process.send_signal(signal.SIGINT)
        document = json.loads(finish(process)[0])
        demand("T3" in document["coverage"]["tiers"], "no T3 here")
        files = {file["path"]: file for file in document["files"]["hot"]}
        assert files["/dev/shm/jobmeter-watched"]["write"]["bytes"] == 43 * 1009

    def test_files_one_by_one_take_root(self, watch, programs, root, demand):
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = subprocess.run([*nobody, programs / "jobmeter", "watch", "--files", "--pid", "1"], capture_output=True, text=True)
        assert done.returncode == 1 and "'--files' needs root: the agent does not count them" in done.stderr

    def test_jobs_of_a_user_and_several_jobs(self, watch, group, demand, nothing_new):
        """Groups as Slurm makes them, with a process of the user's each."""
        ids = [str(JOB_ID), str(JOB_ID + 1)]
        jobs = [group / f"slurm/uid_{UID}/job_{number}" for number in ids]
        work = (f'echo $$ > "$1/cgroup.procs"; exec setpriv --reuid={UID} --clear-groups '
                'sh -c "while read n; do head -c \\$n /dev/zero | cat > /dev/null; echo; done"')
        started = []
        try:
            for job in jobs:
                job.mkdir(parents=True)
                started.append(subprocess.Popen(["sh", "-c", work, "sh", job], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for wanted in (["--user", UID], ["--job", f"slurm/{ids[0]},slurm/{ids[1]}"]):
                began = time.monotonic()
                process = watch("--standalone", *wanted, "--json", "--live", "--interval", "0.1")
                wait_until_it_looks(process)
                for i, servant in enumerate(started):
                    servant.stdin.write(f"{(i + 2) * 100003}\n")
                    servant.stdin.flush()
                    servant.stdout.readline()
                process.send_signal(signal.SIGINT)
                session = json.loads(finish(process)[0])
                took = time.monotonic() - began
                assert [job["job"]["id"] for job in session["jobs"]] == ids
                for i, job in enumerate(session["jobs"]):
                    (pipe,) = [row for row in job["io"] if row["mount"] == "(pipe)"]
                    assert pipe["write"]["bytes"] == (i + 2) * 100003 + 1 and job["job"]["uid"] == int(UID)
                    assert 0 < job["time"]["elapsed_seconds"] < took
        finally:
            for servant in started:
                servant.stdin.close()
                servant.wait()
            for path in [*jobs, group / f"slurm/uid_{UID}", group / "slurm"]:
                path.rmdir()
        assert nothing_new()

    def test_csv_and_files(self, watch, servant, group, tmp_path):
        rows = list(csv.DictReader(io.StringIO(finish(watch("-c", group, "-d", "0.2", "-f", "csv"))[0])))
        assert len(rows) == 1
        out, err = finish(watch("-c", group, "-d", "0.2", "-q", "--output", tmp_path / "w.yaml"))
        assert (out, err) == ("", "") and (tmp_path / "w.yaml").read_text().startswith("schema: jobmeter.record/1")
        by_mount = finish(watch("-c", group, "-d", "0.2", "--by", "mount"))[0]
        assert "mount" in by_mount.splitlines()[0]

    def test_a_job_is_found_by_its_group_and_so_is_its_step(self, watch, group, programs):
        job, other = str(JOB_ID), str(JOB_ID + 1)
        top = group / "slurm"
        folders = [top, top / "uid_0", top / f"uid_0/job_{job}", top / f"uid_0/job_{job}/step_0"]
        for folder in folders:
            folder.mkdir()
        try:
            for which in (job, f"slurm/{job}", f"{job}.0"):
                document = json.loads(finish(watch("--job", which, "-d", "0.2", "--json"))[0])
                assert (document["job"]["manager"], document["job"]["id"]) == ("slurm", job)
            assert document["job"]["name"] == f"slurm/{job}.0"
            _, err = finish(watch("--job", other, "-d", "0.2"), 1)
            assert f"there is no job '{other}' of yours here; there " in one_line(err)
        finally:
            for folder in reversed(folders):
                folder.rmdir()


def one_line(err):
    lines = err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("jobmeter watch: "), err
    return lines[0]


@pytest.mark.parametrize("argv, words", [
    ([], "give one of --job, --user, --pid and --cgroup"),
    (["--job", "1", "--pid", "1"], "only one of --job"),
    (["1"], "did you mean '--job 1'?"),
    (["--job", "1,"], "a job is ID or MANAGER/ID"),
    (["--job", ""], "a job is ID or MANAGER/ID"),
    (["--user", "no such user\x1b[31m"], "there is no user 'no such user?[31m'"),
    (["--pid", "x"], "a process is a number, not 'x'"),
    (["--pid", "0"], "a process is a number, not '0'"),
    (["--pid", "-1"], "a process is a number, not '-1'"),
    (["--cgroup", "relative"], "a cgroup is a path that begins with '/'"),
    (["--job", "1", "--duration", "0"], "a duration is a number of seconds, not '0'"),
    (["--job", "1", "--duration", "1h"], "not '1h'"),
    (["--job", "1", "--interval", "0.01"], "an interval is from 0.1 to 60 seconds, not '0.01'"),
    (["--job", "1", "--interval", "nan"], "not 'nan'"),
    (["--job", "1", "--format", "jsn"], "did you mean 'json'?"),
    (["--job", "1", "--by", "mount", "--json"], "'--by mount' needs '--format csv'"),
    (["--jobs", "1"], "did you mean '--job'?"),
    (["--job"], "'--job' needs its ID[,ID]"),
])
def test_wrong_usage_is_one_line_and_code_2(watch, argv, words):
    out, err = finish(watch(*argv), 2)
    assert words in one_line(err) and out == ""


@pytest.mark.parametrize("argv, words", [
    (["--cgroup", "/no/such/group"], "there is no cgroup '/no/such/group'"),
    (["--pid", str(2**22 + 1)], f"there is no process {2**22 + 1}"),
    (["--user", UID], f"user '{UID}' has no job here"),
    (["--job", "1,2"], "there is no job '1' of yours here"),
    (["--job", "1,2", "--files"], "there is no job '1' of yours here"),
    (["--job", "1\x1b\n/2"], "there is no job '1??/2'"),
])
def test_what_cannot_be_watched_is_one_line_and_code_1(watch, root, argv, words):
    assert words in one_line(finish(watch(*argv), 1)[1])


def test_without_root_and_agent_it_is_one_line(watch, programs, root, demand, tmp_path):
    demand(shutil.which("setpriv"), "needs setpriv")
    program = pathlib.Path("/tmp") / f"jobmeter-{os.getpid()}"
    shutil.copy(programs / "jobmeter", program)
    try:
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", program, "watch", "--job", "1"],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "JOBMETER_SOCKET": "/nonexistent/agent.sock"})
    finally:
        program.unlink()
    assert done.returncode == 1
    assert "watching needs a running agent, or root: no agent answers at '/nonexistent/agent.sock'" in \
        one_line(done.stderr)


class TestThroughAnAgent:
    @pytest.mark.smoke
    def test_the_difference_of_two_records(self, watch):
        looks = [record("7", elapsed=10, user_seconds=1, read_bytes=1009, read_calls=1),
                 record("7", elapsed=12, user_seconds=2, read_bytes=1009 * 24, read_calls=24, final=True)]
        with Agent(watch.socket, {("slurm", "7"): looks}) as agent:
            document = json.loads(finish(watch("--job", "7", "--json", "--interval", "0.1"))[0])
            assert document["io"][0]["read"]["bytes"] == 23 * 1009
            assert document["io"][0]["read"]["calls"] == 23
            assert document["cpu"]["user_seconds"] == 1 and document["time"]["elapsed_seconds"] == 2
            assert document["final"] and agent.asked[0] == "GET /health"

    @pytest.mark.parametrize("job_id", ["7.batch", "a/b"])
    def test_ids_that_look_like_more_than_one_word(self, watch, job_id):
        jobs = {("slurm", job_id): [record(job_id), record(job_id, elapsed=11, final=True)]}
        with Agent(watch.socket, jobs):
            process = watch("--job", f"slurm/{job_id}", "--json", "--interval", "0.1")
            assert json.loads(finish(process)[0])["job"]["id"] == job_id

    def test_several_jobs_are_a_session(self, watch, programs, tmp_path):
        jobs = {("slurm", i): [record(i, read_bytes=7), record(i, elapsed=13, read_bytes=7 + 1009 * int(i), final=True)]
                for i in ("2", "3")}
        with Agent(watch.socket, jobs):
            document = json.loads(finish(watch("--job", "2,slurm/3", "--json", "-i", "0.1"))[0])
        assert document["schema"] == "jobmeter.session/1" and document["session"]["name"] == "2,slurm/3"
        assert [j["io"][0]["read"]["bytes"] for j in document["jobs"]] == [2018, 3027]
        assert document["summary"]["io"][0]["read"]["bytes"] == 5045
        for one in (*document["jobs"], document["summary"]):
            assert {"classification", "efficiency", "insights", "patterns"} <= one.keys()
        assert document["jobs"][0]["efficiency"]["cores"]["allocated_cores"] == 2
        file = tmp_path / "session.json"
        file.write_text(json.dumps(document))
        done = subprocess.run([programs / "jobmeter", "report", file], capture_output=True, text=True)
        assert "merged from 2 records" in done.stdout

    def test_jobs_of_a_user_that_begin_meanwhile_are_whole(self, watch):
        jobs = {("slurm", "1"): [record("1"), record("1", elapsed=11), record("1", elapsed=12, final=True)],
                ("slurm", "2"): [record("2", read_bytes=1009, elapsed=1), record("2", read_bytes=2018, elapsed=2, final=True)]}
        with Agent(watch.socket, jobs) as agent:
            agent.begin = [(1, ("slurm", "2"))]
            document = json.loads(finish(watch("--user", os.getuid(), "--json", "--live", "-i", "0.1"))[0])
        read = {j["job"]["id"]: j["io"] for j in document["jobs"]}
        assert read["2"][0]["read"]["bytes"] == 2018  # from its birth on
        assert read["1"] == []                         # nothing since we look

    def test_a_run_that_is_repeated_is_a_job_each_time(self, watch):
        def again(bytes, **facts):
            return {**record("7", "run", read_bytes=bytes, **facts), "time": {"start": "2026-02-03T04:06:07Z", "elapsed_seconds": 2}}

        jobs = {("run", "7"): [record("7", "run", read_bytes=1009), record("7", "run", elapsed=11, read_bytes=2018),
                               again(17), again(211, final=True)],
                ("slurm", "8"): [record("8"), record("8", elapsed=11, read_bytes=103), record("8", elapsed=12, read_bytes=211, final=True)]}
        with Agent(watch.socket, jobs):
            document = json.loads(finish(watch("--user", os.getuid(), "--json", "--live", "-i", "0.1"))[0])
        read = sorted((j["job"]["id"], j["io"][0]["read"]["bytes"]) for j in document["jobs"])
        assert read == [("7", 211), ("7", 1009), ("8", 211)]

    def test_what_had_ended_before_is_not_watched_and_what_ends_unseen_is(self, watch):
        jobs = {("slurm", "1"): [record("1"), record("1", elapsed=11), record("1", elapsed=12, final=True)],
                ("slurm", "2"): [record("2", read_bytes=1009, final=True)],
                ("slurm", "3"): [record("3", read_bytes=1013, final=True)]}
        with Agent(watch.socket, jobs) as agent:
            agent.ends = {("slurm", "2"): "1999-02-03T04:05:06Z", ("slurm", "3"): "2499-02-03T04:05:06.5Z"}
            agent.begin = [(1, ("slurm", "3"))]
            document = json.loads(finish(watch("--user", os.getuid(), "--json", "--live", "-i", "0.1"))[0])
        assert {j["job"]["id"] for j in document["jobs"]} == {"1", "3"}

    def test_live_lines_are_rates(self, watch):
        looks = [record("7", elapsed=e, user_seconds=e, read_bytes=e * 1024 * 1024) for e in (10, 12, 14)]
        with Agent(watch.socket, {("slurm", "7"): looks + [{**looks[-1], "final": True}]}):
            out, _ = finish(watch("--job", "7", "--live", "-i", "0.1"))
        lines = out.splitlines()
        assert lines[0].split() == ["time", "job", "cores", "memory", "read/s", "write/s", "calls/s"]
        assert "slurm/7" in lines[1] and "1 MiB" in lines[1]
        assert "\x1b" not in out

    def test_no_two_live_lines_have_the_same_second(self, watch):
        """At any load: a line has the time at which it was due."""
        looks = [record("7", elapsed=e) for e in range(10, 16)]
        with Agent(watch.socket, {("slurm", "7"): looks + [{**looks[-1], "final": True}]}):
            out, _ = finish(watch("--job", "7", "--live", "-i", "1"))
        times = [line.split()[0] for line in out.splitlines() if "slurm/7" in line]
        assert len(times) > 2 and len(set(times)) == len(times)

    def test_a_process_is_watched_with_its_job(self, watch):
        jobs = {("slurm", "7"): [record("7"), record("7", final=True)]}
        with Agent(watch.socket, jobs, groups={"42": ("slurm", "7")}):
            assert json.loads(finish(watch("--pid", 42, "--json", "-i", "0.1"))[0])["job"]["id"] == "7"

    @pytest.mark.parametrize("argv, words", [
        (["--job", "9"], "there is no job '9' of yours here; there are slurm/7, run/7"),
        (["--job", "7"], "'7' is more than one job: slurm/7, run/7; name one with its manager"),
        (["--job", "slurm/7.0"], "whole jobs are watched here: '--job slurm/7' holds step '0' too"),
        (["--job", "run/7"], "job 'run/7' has ended: 'jobmeter report 7' prints its record"),
        (["--user", "4711"], "user '4711' has no job here"),
    ])
    def test_what_is_not_there_is_one_line(self, watch, argv, words):
        jobs = {("slurm", "7"): [record("7")], ("run", "7"): [record("7", "run", final=True)]}
        with Agent(watch.socket, jobs):
            assert words in one_line(finish(watch(*argv), 1)[1])

    def test_an_agent_that_goes_away_leaves_what_was_known(self, watch):
        looks = [record("7", elapsed=10 + i, read_bytes=1009 * i) for i in range(1000)]
        with Agent(watch.socket, {("slurm", "7"): looks}) as agent:
            process = watch("--job", "7", "--json", "--live", "-i", "0.1")
            wait_until_it_looks(process)
            agent.stop()
            out, err = finish(process, 1)
        assert "no agent answers" in err or "went away" in err
        assert json.loads(out)["io"][0]["read"]["bytes"] >= 1009

    def test_a_stopped_agent_is_not_waited_for(self, watch, tmp_path):
        stopped = subprocess.Popen(["/usr/bin/python3", "-c", "import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
                                    "s.bind(sys.argv[1])\ns.listen(4)\nprint('ready', flush=True)\nsys.stdin.read()",
                                    watch.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert stopped.stdout.readline() == "ready\n"
            stopped.send_signal(signal.SIGSTOP)
            if os.geteuid() == 0:
                lines = finish(watch("-c", "/no/such"), 1)[1].splitlines()
                assert "does not answer" in lines[0] and "there is no cgroup" in lines[1] and len(lines) == 2
            else:
                assert "does not answer" in one_line(finish(watch("--job", "1"), 1)[1])
        finally:
            stopped.kill()
            stopped.communicate()


class TestRunThroughAnAgent:
    @pytest.fixture
    def run(self, programs, watch, tmp_path, monkeypatch):
        monkeypatch.setenv("JOBMETER_SOCKET", watch.socket)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

        def start(*argv):
            return subprocess.run([programs / "jobmeter", "run", *map(str, argv)], capture_output=True, text=True,
                                  timeout=60)

        start.socket = watch.socket
        return start

    @staticmethod
    def accept(agent, body):
        agent.pid = body["pid"]
        return 200, {"manager": "run", "id": "55", "path": "/nowhere"}

    def test_the_agents_numbers_and_the_clients_facts(self, run, tmp_path):
        looks = [record("55", "run", user_seconds=3), record("55", "run", user_seconds=3, read_bytes=1013, read_calls=1, final=True)]
        with Agent(run.socket, {("run", "55"): looks}, runs=self.accept) as agent:
            began = time.monotonic()
            done = run("--output", tmp_path / "r.json", "--", "sh", "-c", "exit 5")
            took = time.monotonic() - began
        document = json.loads((tmp_path / "r.json").read_text())
        assert done.returncode == 5 and "exit 5" in done.stderr
        assert document["cpu"]["user_seconds"] == 3 and document["io"][0]["read"]["bytes"] == 1013
        assert document["job"]["command"] == ["sh", "-c", "exit 5"] and document["job"]["exit_code"] == 5
        assert document["time"]["elapsed_seconds"] < took and document["coverage"]["tiers"] == ["T0", "T2"]
        assert agent.asked == ["GET /health", "POST /v1/runs", "POST /v1/runs/55/end", "GET /v1/jobs/run/55"]

    def test_the_command_runs_only_when_the_agent_has_it(self, run, tmp_path):
        seen = []

        def accept(agent, body):
            seen.append((tmp_path / "ran").exists())
            return self.accept(agent, body)

        with Agent(run.socket, {("run", "55"): [record("55", "run", final=True)]}, runs=accept):
            assert run("--quiet", "--", "touch", tmp_path / "ran").returncode == 0
        assert seen == [False] and (tmp_path / "ran").exists()

    def test_an_agent_that_goes_away_costs_numbers_and_not_the_exit_code(self, run, tmp_path):
        with Agent(run.socket, {}, runs=self.accept) as agent:
            done_file, go = tmp_path / "started", tmp_path / "go"
            os.mkfifo(go)
            thread = threading.Thread(target=lambda: self.stop_when(agent, done_file, go))
            thread.start()
            done = run("--output", tmp_path / "r.json", "--", "sh", "-c", f"touch {done_file}; cat {go}; exit 7")
            thread.join()
        document = json.loads((tmp_path / "r.json").read_text())
        assert done.returncode == 7
        assert "no agent answers" in done.stderr.splitlines()[0]
        assert document["cpu"]["user_seconds"] is not None and document["io"] is None
        assert any("no agent answers" in text for text in document["coverage"]["missing"])

    @staticmethod
    def stop_when(agent, file, go):
        while not file.exists():
            time.sleep(0.02)
        agent.stop()
        with open(go, "w"):
            pass

    def test_an_agent_that_refuses_leaves_it_to_us(self, run, root, tmp_path):
        with Agent(run.socket, {}, runs=lambda *_: (503, {"error": "no helper"})):
            done = run("--output", tmp_path / "r.json", "--", "sh", "-c", "exit 7")
        document = json.loads((tmp_path / "r.json").read_text())
        assert done.returncode == 7 and document["memory"]["peak_bytes"]
        assert "the agent did not measure this run: no helper" in document["coverage"]["notes"]

    def test_standalone_asks_nobody(self, run, root):
        with Agent(run.socket, {}, runs=self.accept) as agent:
            assert run("--standalone", "--quiet", "--", "true").returncode == 0
            assert agent.asked == []

    def test_a_command_that_is_not_there_ends_its_run(self, run):
        with Agent(run.socket, {("run", "55"): [record("55", "run", final=True)]}, runs=self.accept) as agent:
            assert run("--", "/no/such/command").returncode == 127
            assert agent.asked[-1] == "POST /v1/runs/55/end"


class TestReportThroughAnAgent:
    @pytest.mark.smoke
    @pytest.mark.parametrize("name", ["7", "slurm/7"])
    def test_a_job_that_the_agent_knows(self, programs, watch, tmp_path, name):
        environment = {**os.environ, "JOBMETER_SOCKET": watch.socket, "XDG_STATE_HOME": str(tmp_path)}
        with Agent(watch.socket, {("slurm", "7"): [record("7", read_bytes=1009)]}):
            done = subprocess.run([programs / "jobmeter", "report", "--json", name], capture_output=True, text=True,
                                  env=environment)
            missing = subprocess.run([programs / "jobmeter", "report", "8"], capture_output=True, text=True,
                                     env=environment)
        assert json.loads(done.stdout)["io"][0]["read"]["bytes"] == 1009
        assert missing.returncode == 1
        assert missing.stderr == ("jobmeter report: there is no file, directory or local run '8': "
                                  "there is no job '8' of yours here; there is slurm/7\n")
