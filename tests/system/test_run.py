# SPDX-License-Identifier: MIT
"""`jobmeter run`: the command's life, its terminal, its signals, and what is left afterwards."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from agent_double import record as made_record
from greedy import FIRST, FIRST_IN_GROUP, processors  # noqa: F401
from leftovers import leftovers
from terminal import Terminal
from waiting import until

COUNTER = """\
import os, signal, sys, time
seen = open(sys.argv[1], 'w', buffering=1)
for name in ('SIGINT', 'SIGTERM', 'SIGUSR1'):
    signal.signal(getattr(signal, name), lambda n, _: seen.write(signal.Signals(n).name + '\\n'))
seen.write('ready\\n')
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
"""


def unseen(record):
    """What is missing, the processor's own counters and sensors apart, which some machines have."""
    labels = ("hardware counters: ", "frequency and temperature: ")
    return [text for text in record["coverage"]["missing"] if not text.startswith(labels)]


@pytest.fixture
def jobmeter(programs, tmp_path, monkeypatch):
    """Runs the program; its local runs lie in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*argv, **options):
        return subprocess.run([programs / "jobmeter", *map(str, argv)], capture_output=True, text=True,
                              timeout=60, **options)

    return run


@pytest.fixture
def shm():
    """The path of a file in memory that is not there yet, and not there any more."""
    path = pathlib.Path(f"/dev/shm/jobmeter-test-{os.getpid()}")
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def counter(tmp_path):
    """A command that writes down the signals that it gets, until all are there and no second one of them has come."""
    script, over = tmp_path / "count.py", tmp_path / "over"
    script.write_text(COUNTER)

    def command():
        return ["/usr/bin/python3", str(script), str(tmp_path / "seen"), str(over)]

    def end(*names):
        for name in names:
            wait_for_text(command.seen, name)
        time.sleep(0.5)
        over.touch()

    command.seen, command.end = tmp_path / "seen", end
    return command


def wait_for_text(path, text, seconds=60):
    until(lambda: path.exists() and text in path.read_text(), seconds, lambda: f"no '{text}' in {path}", pause=0.02)


def children(pid):
    return set(subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split())


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def one_line_error(done, *words):
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("jobmeter"), done.stderr
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.smoke
class TestTheCommandsLife:
    def test_output_and_exit_code_are_the_commands_own(self, jobmeter, root):
        done = jobmeter("run", "--", "sh", "-c", "echo to stdout; echo to stderr >&2; exit 7")
        assert done.returncode == 7
        assert done.stdout == "to stdout\n"
        assert done.stderr.startswith("to stderr\n") and "exit 7" in done.stderr
        assert leftovers() == []

    def test_quiet_says_nothing(self, jobmeter, root):
        done = jobmeter("run", "--quiet", "--", "true")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_a_command_of_5_ms_has_a_full_record(self, jobmeter, root, tmp_path, shm):
        out, began = tmp_path / "r.json", time.monotonic()
        jobmeter("run", "--quiet", "--output", out, "--", "sh", "-c", f"echo 12345 > {shm}; sleep 0.005")
        took = time.monotonic() - began
        record = load(out)
        shm = next(r for r in record["io"] if r["mount"] == "/dev/shm")
        assert shm["write"]["bytes"] == 6 and shm["meta"]["create"]["calls"] == 1
        assert 0.005 <= record["time"]["elapsed_seconds"] < took
        assert record["tasks"]["ended"] == 2

    def test_a_command_is_repeated_and_its_runs_are_summed_up(self, jobmeter, root, tmp_path, shm):
        out = tmp_path / "runs.ndjson"
        done = jobmeter("run", "--repeat", "5", "--output", out, "--", "sh", "-c", f"echo 12345 >> {shm}; exit 3")
        assert done.returncode == 3 and shm.read_text() == "12345\n" * 5
        assert [json.loads(line)["job"]["exit_code"] for line in out.read_text().splitlines()] == [3] * 5
        assert "sh  5 runs\n" in done.stderr and "run 5: exit 3" in done.stderr
        row, = (line.split() for line in done.stderr.splitlines() if line.split()[:1] == ["written"])
        assert row[1:] == ["6", "B", "±", "0.0", "%", *["6", "B"] * 3]

    def test_who_ends_a_repeated_command_ends_its_repetition(self, jobmeter, root):
        done = jobmeter("run", "--repeat", "7", "--", "sh", "-c", "kill -INT $$")
        assert done.returncode == 128 + signal.SIGINT
        assert "sh  1 run\n" in done.stderr

    def test_a_later_run_that_cannot_start_loses_none_of_those_before(self, jobmeter, root, tmp_path):
        once, out = tmp_path / "once", tmp_path / "runs.ndjson"
        once.write_text('#!/bin/sh\n[ -e "$0.again" ] && rm "$0"\n: > "$0.again"\n')
        once.chmod(0o755)
        done = jobmeter("run", "--repeat", "5", "--output", out, "--", once)
        assert done.returncode == 127
        assert "once  2 runs\n" in done.stderr and len(out.read_text().splitlines()) == 2
        assert f"run 3 of 5: cannot run '{once}': No such file or directory" in " ".join(done.stderr.split())
        assert leftovers() == []

    def test_death_by_a_signal(self, jobmeter, root, tmp_path):
        out = tmp_path / "r.json"
        done = jobmeter("run", "--output", out, "--", "sh", "-c", "kill -SEGV $$")
        assert done.returncode == 128 + signal.SIGSEGV
        assert "SIGSEGV" in done.stderr
        assert load(out)["job"]["signal"] == signal.SIGSEGV
        assert leftovers() == []

    def test_a_daemon_is_named_and_left_alone(self, jobmeter, root, tmp_path):
        out, pid_file = tmp_path / "r.json", tmp_path / "pid"
        done = jobmeter("run", "--output", out, "--", "sh", "-c",
                        f"sleep 61 >/dev/null 2>&1 & echo $! > {pid_file}; "
                        "until grep -q sleep /proc/$!/comm; do :; done")
        pid = int(pid_file.read_text())
        try:
            assert done.returncode == 0
            assert load(out)["survivors"] == [{"pid": pid, "command": "sleep"}]
            assert str(pid) in done.stderr
            assert leftovers() == []
            os.kill(pid, 0)  # it lives
        finally:
            os.kill(pid, signal.SIGKILL)

    def test_wait_follows_a_daemon_to_its_end(self, jobmeter, root, tmp_path, shm):
        out = tmp_path / "r.json"
        daemon = f"(sleep 0.3; dd if=/dev/zero of={shm} bs=1009 count=101 status=none) "
        done = jobmeter("run", "--quiet", "--wait", "--output", out, "--", "sh", "-c",
                        f"{daemon} >/dev/null 2>&1 & exit 3")
        record = load(out)
        assert done.returncode == 3
        assert record.get("survivors", []) == []
        shm = next(r for r in record["io"] if r["mount"] == "/dev/shm")
        assert shm["write"]["bytes"] == 1009 * 101

    def test_run_within_run_counts_in_both(self, jobmeter, programs, root, tmp_path, shm):
        inner, outer = tmp_path / "inner.json", tmp_path / "outer.json"
        done = jobmeter("run", "--quiet", "--output", outer, "--", programs / "jobmeter", "run", "--quiet",
                        "--output", inner, "--", "dd", "if=/dev/zero", f"of={shm}", "bs=1009",
                        "count=1013", "status=none")
        assert done.returncode == 0

        def written(path):
            return next(r for r in load(path)["io"] if r["mount"] == "/dev/shm")["write"]["calls"]

        assert written(inner) == 1013
        assert written(outer) >= 1013
        assert load(outer)["cpu"]["user_seconds"] >= load(inner)["cpu"]["user_seconds"]
        for which in (inner, outer):
            books = load(which)["coverage"]["accounting"]
            assert books["read"]["difference_bytes"] == 0 and books["write"]["difference_bytes"] == 0
        assert leftovers() == []

    @pytest.mark.alone  # an agent that starts sweeps up at once
    def test_what_a_killed_jobmeter_left_is_swept_up_by_a_later_one(self, jobmeter, programs, root, tmp_path):
        """Groups that nobody holds any more."""
        begun = tmp_path / "begun"
        process = subprocess.Popen([programs / "jobmeter", "run", "--quiet", "--", "sh", "-c", "echo here >$0; exec sleep 61", begun])
        wait_for_text(begun, "here")
        name = f"jobmeter-run-{process.pid}"
        left = [pathlib.Path(folder) / name for folder, names, _ in os.walk("/sys/fs/cgroup") if name in names]
        pids = {int(line) for g in left for line in (g / "cgroup.procs").read_text().split()}
        process.kill()
        process.wait()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        jobmeter("run", "--quiet", "--", "true")
        assert left and not any(g.is_dir() for g in left)

    def test_memory_peak_is_the_groups_own(self, jobmeter, root, tmp_path):
        """The command itself reads the peak of its group just before it ends."""
        out, own = tmp_path / "r.json", tmp_path / "own"
        script = (
            "import pathlib\n"
            "block = bytearray(61 << 20)\n"
            "lines = [l.split(':', 2) for l in open('/proc/self/cgroup').read().splitlines()]\n"
            "v1 = next((p for _, c, p in lines if 'memory' in c.split(',')), None)\n"
            "path = (f'/sys/fs/cgroup/memory{v1}/memory.max_usage_in_bytes' if v1 else\n"
            "        '/sys/fs/cgroup' + next(p for _, c, p in lines if not c) + '/memory.peak')\n"
            f"open({str(own)!r}, 'w').write(open(path).read())\n")
        jobmeter("run", "--quiet", "--output", out, "--", "/usr/bin/python3", "-c", script)
        peak = load(out)["memory"]["peak_bytes"]
        assert peak >= 61 << 20
        assert 0 <= peak - int(own.read_text()) <= 1 << 20  # what the end itself took

    def test_the_second_run_is_compared_with_the_first(self, jobmeter, root, tmp_path):
        command = ("run", "--", "sleep", "1.1")
        assert "Since the last run: " not in jobmeter(*command, cwd=tmp_path).stderr
        assert "Since the last run: " in jobmeter(*command, cwd=tmp_path).stderr


def is_pending(pid, number):
    found = re.search(r"^ShdPnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found[1], 16) >> (number - 1) & 1


class TestSignals:
    def start(self, programs, counter, *options, **popen):
        process = subprocess.Popen([programs / "jobmeter", "run", "--quiet", *options, "--", *counter()],
                                   start_new_session=True, **popen)
        wait_for_text(counter.seen, "ready")
        return process

    def test_one_that_comes_to_us_is_passed_on_once(self, programs, counter, root):
        process = self.start(programs, counter)
        process.send_signal(signal.SIGTERM)
        counter.end("SIGTERM")
        assert process.wait(60) == 0
        assert counter.seen.read_text().split() == ["ready", "SIGTERM"]

    def test_one_to_the_whole_process_group_arrives_once(self, programs, counter, root):
        process = self.start(programs, counter)
        for number in (signal.SIGINT, signal.SIGUSR1):
            before, end = children(process.pid), time.monotonic() + 60
            os.killpg(process.pid, number)
            wait_for_text(counter.seen, number.name)
            # By a new one of its children it knows the next signal of a group: before that it is not ready for one.
            while (now := children(process.pid)) == before or len(now) < len(before):
                assert time.monotonic() < end
                time.sleep(0.02)
        counter.end()
        assert process.wait(60) == 0
        assert counter.seen.read_text().split() == ["ready", "SIGINT", "SIGUSR1"]
        assert leftovers() == []

    def test_one_that_kills_the_command_is_its_exit_code(self, programs, root, tmp_path):
        begun = tmp_path / "begun"
        process = subprocess.Popen([programs / "jobmeter", "run", "--quiet", "--", "sh", "-c", "echo here >$0; exec sleep 60", begun])
        wait_for_text(begun, "here")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        assert leftovers() == []

    def test_a_command_that_fails_by_it_was_ended_by_it(self, programs, root, tmp_path):
        """As mpirun does; one that was not asked to end has failed."""
        begun, out = tmp_path / "begun", tmp_path / "r.json"
        command = "trap 'exit 1' TERM; echo here >$0; while :; do sleep 0.1; done"
        process = subprocess.Popen([programs / "jobmeter", "run", "--output", out, "--", "sh", "-c", command, begun],
                                   stderr=subprocess.PIPE, text=True)
        wait_for_text(begun, "here")
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 1 and "sh was ended by SIGTERM." in said, said
        assert load(out)["job"]["signal"] == signal.SIGTERM and load(out)["job"]["exit_code"] == 1
        told = [subprocess.run([programs / "jobmeter", *command, out], check=True, capture_output=True, text=True).stdout
                for command in (["report"], ["seff"])]
        assert "exit 1 after SIGTERM" in told[0] and "(exit code 1)" in told[1], told
        said = subprocess.run([programs / "jobmeter", "run", "--", "sh", "-c", "exit 1"], capture_output=True, text=True).stderr
        assert "The command failed: exit code 1." in said, said

    def test_one_that_comes_when_the_command_is_over_does_not_end_the_report(self, programs, root, tmp_path):
        """All that are pending when we wake up are the command's, though the first of them ended it."""
        begun, out = tmp_path / "begun", tmp_path / "r.json"
        process = subprocess.Popen([programs / "jobmeter", "run", "--output", out, "--", "sh", "-c", "echo here >$0; exec sleep 60",
                                    begun], stderr=subprocess.PIPE, text=True, start_new_session=True)
        wait_for_text(begun, "here")
        process.send_signal(signal.SIGSTOP)
        wait_for_text(pathlib.Path(f"/proc/{process.pid}/stat"), ") T ")
        for number in (signal.SIGINT, signal.SIGTERM):
            os.killpg(process.pid, number)
        while not is_pending(process.pid, signal.SIGCHLD):
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 128 + signal.SIGINT and "SIGINT" in said
        assert load(out)["job"]["signal"] == signal.SIGINT


    @pytest.mark.parametrize("delay", [0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5])
    def test_one_that_comes_while_the_meter_is_made_ready_leaves_nothing(self, programs, root, delay):
        process = subprocess.Popen([programs / "jobmeter", "run", "--quiet", "--standalone", "--", "sleep", "60"])
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (-signal.SIGTERM, 128 + signal.SIGTERM)  # before we hold it, or from the command
        assert leftovers() == []


@pytest.fixture
def terminal(demand, tmp_path, monkeypatch):
    demand(shutil.which("tmux"), "needs tmux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened = []

    def start(*argv, **options):
        opened.append(Terminal(*argv, **options))
        return opened[-1]

    yield start
    for t in opened:
        t.close()


class TestTerminal:
    def test_an_editor_works(self, terminal, programs, root, demand, tmp_path):
        vi = shutil.which("vim") or shutil.which("vim.tiny")
        demand(vi, "needs vim")
        text = tmp_path / "text"
        t = terminal(programs / "jobmeter", "run", "--", vi, "-u", "NONE", text)
        t.wait_for("~")
        t.type("i", "typed in vim", "Escape", ":wq", "Enter")
        screen = t.wait_for("code 0")
        assert text.read_text() == "typed in vim\n"
        assert "OK, " in screen

    def test_ctrl_c_reaches_the_command_once(self, terminal, programs, counter, root):
        t = terminal(programs / "jobmeter", "run", "--", *counter())
        wait_for_text(counter.seen, "ready")
        t.type("C-c")
        counter.end("SIGINT")
        screen = t.wait_for("code ")
        assert counter.seen.read_text().split() == ["ready", "SIGINT"]
        assert "code 0" in screen and "OK, " in screen

    def test_ctrl_c_ends_a_command_and_its_report_appears(self, terminal, programs, root):
        t = terminal(programs / "jobmeter", "run", "--", "sh", "-c", "echo begun; exec sleep 60")
        t.wait_for("begun")
        t.type("C-c")
        screen = t.wait_for("code 130")
        assert "SIGINT" in screen
        assert leftovers() == []


class TestWithoutRights:
    @pytest.fixture
    def as_user(self, root, programs, tmp_path):
        """Runs as nobody, in a folder that is his."""
        home = tmp_path / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        for folder in tmp_path.parents:
            if folder.stat().st_mode & 0o005 != 0o005 and str(folder).startswith("/tmp"):
                folder.chmod(folder.stat().st_mode | 0o055)
        tmp_path.chmod(0o755)
        for program in ("jobmeter", "tests/truth/truth"):  # the build may lie where nobody may go
            shutil.copy2(programs / program, tmp_path / pathlib.Path(program).name)

        def run(*argv):
            return subprocess.run(
                ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *map(str, argv)],
                capture_output=True, text=True, cwd=home, timeout=120,
                env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")})

        run.home, run.jobmeter, run.truth = home, tmp_path / "jobmeter", tmp_path / "truth"
        return run

    def test_totals_equal_the_truth_plus_the_exec_row(self, as_user, programs, jobmeter, tmp_path):
        truth, out = as_user.home / "truth.json", as_user.home / "r.json"
        done = as_user(as_user.jobmeter, "run", "--quiet", "--output", out, "--",
                       as_user.truth, "--output", truth, "--mount", as_user.home,
                       "--processes", "7")
        assert done.returncode == 0, done.stderr
        by_root = tmp_path / "root.json"
        jobmeter("run", "--quiet", "--output", by_root, "--", programs / "tests/truth/truth",
                 "--output", tmp_path / "t.json")
        exec_bytes = next(r for r in load(by_root)["io"] if r["mount"] == "(exec)")["read"]["bytes"]

        totals, tasks = load(truth)["totals"], load(out)["tasks"]
        assert tasks["wchar_bytes"] == totals["wchar_bytes"]
        assert tasks["rchar_bytes"] == totals["rchar_bytes"] + exec_bytes
        assert load(out)["io"] is None  # nobody looked: absent, not zero

    def test_one_line_says_what_is_missing_and_how_to_get_it(self, as_user):
        done = as_user(as_user.jobmeter, "run", "--", "true")
        assert done.returncode == 0
        assert re.search(r"\n  Not measured: files by mount, wait times, total memory( and \d+ more)?\. For\s", done.stderr)
        assert "ask your site to run jobmeter-agent, or run as root." in " ".join(done.stderr.split())
        assert re.search(r"\n  Read, written +≥?[\d.]+ \w+ read in \d+ calls, ", done.stderr)
        done = as_user(as_user.jobmeter, "run", "--", "sh", "-c", "kill -SEGV $$")
        assert "sh died of SIGSEGV." in done.stderr
        done = as_user(as_user.jobmeter, "run", "--full", "--", "true")
        assert "ask your site to run jobmeter-agent, or run as root." in " ".join(done.stderr.split())

    def test_what_was_asked_for_and_cannot_be_counted_is_said_before_the_command_runs(self, as_user):
        def said(*options):
            lines = as_user(as_user.jobmeter, "run", "--quiet", *options, "--", "sh", "-c", "echo ran >&2").stderr.splitlines()
            assert lines[-1] == "ran"
            return lines[:-1]

        lack = "jobmeter run: the report will lack '{}': without root only an agent counts it, {}"
        nobody = "and none answers here: ask your site to run jobmeter-agent"
        assert said() == []
        assert said("--files") == [lack.format("--files", nobody)]
        assert said("--files", "--syscalls") == [lack.format("--files", nobody), lack.format("--syscalls", nobody)]
        assert said("--syscalls", "--standalone") == [lack.format("--syscalls", "and '--standalone' or '--tiers' leaves it out")]


@pytest.mark.smoke
def test_help_is_of_all_commands_or_of_one(jobmeter):
    all_of_them = jobmeter("help")
    assert (all_of_them.returncode, all_of_them.stdout) == (0, jobmeter("--help").stdout)
    assert jobmeter("help", "run").stdout == jobmeter("run", "--help").stdout
    for line in ("CPU efficiency", "Memory efficiency", "Working time", "Processes", "Not measured"):
        assert f"\n  {line}\n" in jobmeter("help", "report").stdout
    done = jobmeter("help", "rnu")
    assert done.returncode == 2
    one_line_error(done, "did you mean 'run'?")


TOUCH = ("--", "touch", "/dev/shm/was-run")
REFUSED = [  # what is typed, the exit code, and what the line has
    (("run", "--", "ls | wc"), 127, "sh -c"), (("run", "--", "FOO=1"), 127, "env NAME=VALUE"), (("run", "--", "cd"), 127, "a shell's own"),
    (("run", "--", "no-such-command"), 127, "no-such-command"), (("run", "--", "{}/data"), 126, "data"),
    (("run",), 2, ""), (("run", "--"), 2, ""), (("run", "--quiet"), 2, ""),
    (("run", "--outptu", "x", *TOUCH), 2, "--output"), (("run", "-o", "x", *TOUCH), 2, "--output"),
    (("run", "--repeat", "0", *TOUCH), 2, "1 to 1000"), (("run", "--repeat", "2", "--output", "{}/x.json", *TOUCH), 2, ".ndjson"),
    (("rnu",), 2, "run"), (("run", "--format", "json", *TOUCH), 2, "--output"),
    (("run", "--output", "/no/such/folder/r.json", *TOUCH), 1, "/no/such/folder/r.json"),
    (("run", "--output", "/proc/r.json", *TOUCH), 1, "/proc/r.json"),
]


@pytest.mark.smoke
class TestBadInput:
    @pytest.fixture(autouse=True)
    def no_trace(self):
        pathlib.Path("/dev/shm/was-run").unlink(missing_ok=True)

    @pytest.mark.parametrize("words, code, hint", REFUSED)
    def test_what_cannot_be_run_is_told_in_a_line_before_anything_is(self, jobmeter, root, tmp_path, words, code, hint):
        (tmp_path / "data").touch()
        done = jobmeter(*(word.format(tmp_path) for word in words))
        assert done.returncode == code
        one_line_error(done, hint)
        assert not os.path.exists("/dev/shm/was-run") and (code != 127 or leftovers() == [])

    def test_a_local_run_is_found_as_reports_name_it(self, jobmeter, root, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        jobmeter("run", "--quiet", "--", "true")
        job = json.loads(jobmeter("report", "--json").stdout)["job"]
        assert json.loads(jobmeter("report", "--json", f"{job['manager']}/{job['id']}").stdout)["job"] == job
        assert jobmeter("report", f"slurm/{job['id']}").returncode == 1
        monkeypatch.chdir(tmp_path)
        (tmp_path / job["id"]).mkdir()  # as jobs often have one: it has no records
        assert json.loads(jobmeter("report", "--json", job["id"]).stdout)["job"] == job

    def test_an_escape_in_a_name_does_not_reach_the_terminal(self, jobmeter, root):
        done = jobmeter("run", "--", "ev\x1b[31mil")
        assert done.returncode == 127 and "\x1b" not in done.stderr
        one_line_error(done, "ev?[31mil")
        assert "\x1b" not in jobmeter("ev\x1b[31mil").stderr

    def test_without_bpf_the_rest_is_there(self, jobmeter, root, tmp_path):
        out = tmp_path / "r.json"
        done = jobmeter("run", "--full", "--tiers", "none", "--output", out, "--", "true")
        record = load(out)
        assert done.returncode == 0
        assert record["cpu"]["user_seconds"] is not None and record["memory"]["peak_bytes"] is not None
        assert record["io"] is None and "switched off" in done.stderr


class TestWhatIsRefused:
    """Whatever the machine does not permit costs its own numbers, a line, and nothing else."""

    def measure(self, programs, tmp_path, *before):
        out = tmp_path / "r.json"
        done = subprocess.run([*before, programs / "jobmeter", "run", "--full", "--output", out, "--", "sh", "-c", "exit 5"],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")})
        assert done.returncode == 5, done.stderr
        return load(out), done.stderr

    def test_bpf(self, programs, root, tmp_path):
        record, said = self.measure(programs, tmp_path, "setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin")
        assert record["io"] is None and record["memory"]["peak_bytes"] and record["cpu"]["user_seconds"] is not None
        assert len(unseen(record)) == 1 and "BPF" in said

    def test_cgroups(self, programs, root, tmp_path):
        record, said = self.measure(programs, tmp_path, "unshare", "-m", "sh", "-c",
                                    'umount -a -t cgroup,cgroup2; exec "$@"', "sh")
        assert record["io"] is None and record["memory"]["peak_bytes"] is None
        assert record["cpu"]["user_seconds"] is not None and record["memory"]["process_peak_bytes"]
        assert len(unseen(record)) == 1 and "no cgroup" in said


def test_of_several_records_of_one_job_the_newest_counts(jobmeter, tmp_path):
    records = tmp_path / "records"
    records.mkdir()
    kept = {"final": True, "sequence": 5}
    for name, seconds, facts in (("a", 13, {}), ("b", 29, kept), ("c", 17, {}), ("d", 31, {"boot_id": "another"})):
        (records / f"{name}.json").write_text(json.dumps({**made_record("7", elapsed=seconds, user_seconds=seconds), **facts}))
    done = jobmeter("report", "--json", records)
    assert json.loads(done.stdout)["cpu"]["user_seconds"] == 29 + 31
    assert done.stderr == "jobmeter report: 2 records are left out: there is a newer one of the same job\n"
    twice = jobmeter("report", "--json", records / "b.json", records / "b.json")
    assert json.loads(twice.stdout)["cpu"]["user_seconds"] == 29
    assert "1 record is left out" in twice.stderr
    compared = jobmeter("compare", "--format", "json", records / "b.json", records)
    assert compared.returncode == 0 and "2 records are left out" in compared.stderr


def test_ranks_of_mpirun_leave_records_that_merge(jobmeter, programs, root, demand, tmp_path):
    demand(shutil.which("mpirun"), "needs mpirun")
    ranks = tmp_path / "ranks"
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", programs / "jobmeter", "run",
                           "--quiet", "--output", f"{ranks}/", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1009",
                           "count=1013", "status=none"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(load(p)["job"]["rank"] for p in ranks.iterdir()) == [0, 1, 2]
    merged = json.loads(jobmeter("report", "--json", ranks).stdout)
    dev = next(r for r in merged["io"] if r["mount"] == "/dev")
    assert dev["write"]["bytes"] == 3 * 1009 * 1013 and dev["write"]["calls"] == 3 * 1013


def test_a_report_says_what_the_meter_cost(programs, processors, tmp_path):  # noqa: F811
    """Of a program that only makes tiny calls it is a good part of its CPU time.  It comes first on this machine: of less than
    3 % of a core nothing is said."""
    loop = "import os, time\nfile = os.open('/dev/zero', os.O_RDONLY)\nwhile time.process_time() < 1.5: os.read(file, 1)"
    done = subprocess.run([*FIRST, programs / "jobmeter", "run", "--standalone", "--output", tmp_path / "r.json", "--", *FIRST_IN_GROUP,
                           "/usr/bin/python3", "-c", loop], capture_output=True, text=True, timeout=120)
    said = re.search(r"^  Metering +~([\d.]+) (m?s) of CPU time, (\d+) % of a core$", done.stderr, re.MULTILINE)
    assert said, done.stderr
    cost, unit, share = said.groups()
    record, seconds = load(tmp_path / "r.json"), float(cost) / (1000 if unit == "ms" else 1)
    assert 0.01 <= seconds / (record["cpu"]["user_seconds"] + record["cpu"]["system_seconds"]) < 1
    assert abs(int(share) - 100 * seconds / record["time"]["elapsed_seconds"]) <= 1, done.stderr
