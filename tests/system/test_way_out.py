# SPDX-License-Identifier: MIT
"""What was measured is there whatever becomes of who reads the report: kept and saved first, printed last."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from person import NOBODY, Person
from waiting import until


@pytest.fixture(params=[0, NOBODY], ids=["root", "user"])
def person(request, programs, tmp_path, root):
    return Person(programs, tmp_path / "home", request.param)


@pytest.fixture
def user(programs, tmp_path, root):
    return Person(programs, tmp_path / "home", NOBODY)


def saved(person, name="r.json"):
    return json.loads((person.home / name).read_text())


class TestAReaderThatGoesAway:
    RUN = "jobmeter run --output r.json -- sh -c 'echo here; exit 7'"

    def test_costs_neither_record_nor_exit_code(self, person):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([person.home / "build/jobmeter", "run", "--output", "r.json", "--", "sh", "-c", "exit 7"],
                                   cwd=person.home, env=person.environment, stderr=write, user=person.uid, group=person.uid)
        os.close(write)
        assert process.wait(60) == 7
        assert saved(person)["job"]["exit_code"] == 7
        assert len(person.records()) == 1

    def test_of_a_log_that_is_full(self, person):
        done = person.type(f"{self.RUN} 2>/dev/full")
        assert (done.returncode, done.stdout) == (7, "here\n")
        assert saved(person)["job"]["exit_code"] == 7 and len(person.records()) == 1

    def test_nothing_that_is_said_stands_in_a_file_where_the_standard_error_is_closed(self, person):
        """Else the first file that is opened has its number."""
        done = person.type("jobmeter run --output r.json -- sh -c 'test -e /proc/$$/fd/2 || echo closed; exit 7' 2>&-")
        assert (done.returncode, done.stdout) == (7, "closed\n")  # the command's is as ours was
        assert saved(person)["job"]["exit_code"] == 7
        assert json.loads(person.records()[0].read_text())["job"]["exit_code"] == 7

    def test_a_command_has_the_disposition_that_we_were_started_with(self, person):
        line = "jobmeter run -q -- grep SigIgn /proc/self/status"
        assert int(person.type(line).stdout.split()[1], 16) >> (signal.SIGPIPE - 1) & 1 == 0
        assert int(person.type(f"trap '' PIPE; {line}").stdout.split()[1], 16) >> (signal.SIGPIPE - 1) & 1 == 1

    def test_of_a_watch(self, programs, tmp_path, root, demand):
        person = Person(programs, tmp_path / "home", 0)
        done = person.type("sleep 61 & jobmeter watch --standalone --pid $! --live --interval 0.1 --duration 1 --output r.json "
                           "| head -n 1; kill $!")
        assert "time" in done.stdout and saved(person)["schema"] == "jobmeter.record/1", done

    def test_a_full_disk_costs_the_file_and_not_the_history(self, person):
        done = person.type("jobmeter run --format json --output /dev/full -- true")
        assert done.returncode == 1 and "No space left" in done.stderr and "OK, " in done.stderr
        assert person.type("jobmeter run --format json --output /dev/full -- sh -c 'exit 7'").returncode == 7
        assert len(person.records()) == 2


@pytest.mark.parametrize("words", ["help", "--version", "doctor --help", "trace --list"])
def test_what_cannot_be_printed_is_said(programs, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([programs / "jobmeter", *words.split()], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write to the standard output" in done.stderr
    assert done.stderr.count("\n") == 1


def test_who_wants_no_more_is_told_nothing(programs):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([programs / "jobmeter", "trace", "--list"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == b""


def test_a_signal_while_the_record_is_written_waits_until_it_is(programs, tmp_path, root, demand):
    """Else there is no record at all; and in the directory no file is ever seen that is empty or half-written."""
    demand(shutil.which("strace"), "strace is not installed")
    person = Person(programs, tmp_path / "home", 0)
    process = subprocess.Popen(["strace", "-o", "trace", "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=5000000",
                                "build/jobmeter", "run", "--output", "ranks/", "--", "true"],
                               cwd=person.home, env=person.environment, stderr=subprocess.PIPE)
    until(lambda: any(path.stat().st_size for path in person.home.glob("ranks/.*.json.*")), pause=0.01)  # its fsync() goes on
    assert process.poll() is None
    assert not list(person.home.glob("ranks/*.json"))
    pid, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(pid), signal.SIGTERM)
    process.communicate(timeout=60)
    file, = (person.home / "ranks").iterdir()
    assert json.loads(file.read_text())["job"]["exit_code"] == 0 and len(person.records()) == 1


def test_a_page_is_one_write(user, demand):
    """Others may write to a log, too; and it was a write a character."""
    demand(shutil.which("strace"), "strace is not installed")
    for line in ("run -- true", "run -- no-such-command"):
        done = user.type(f"strace -o trace -e trace=write build/jobmeter {line}")
        written = [text for text in (user.home / "trace").read_text().splitlines() if text.startswith("write(2,")]
        assert len(written) == 1 and len(done.stderr) > 40, (line, written)
    user.type("strace -o trace -e trace=write build/jobmeter report >page")
    assert len(re.findall(r"^write\(1,", (user.home / "trace").read_text(), re.MULTILINE)) == 1


class TestFilesOfAFolder:
    def test_no_record_takes_the_place_of_another(self, programs, tmp_path, root, demand):
        """Three containers of one host, in each of which it has the same PID."""
        person = Person(programs, tmp_path / "home", 0)
        line = "unshare --pid --fork --mount-proc jobmeter run -q --standalone --tiers none --output runs/ -- true"
        done = person.type(line)
        demand(done.returncode == 0, f"cannot make a PID namespace: {done.stderr}")
        assert person.type(f"{line} & {line} & {line} & wait").returncode == 0
        assert len(list((person.home / "runs").glob("*.json"))) == 4
        for path in (person.home / "runs").iterdir():
            assert json.loads(path.read_text())["schema"] == "jobmeter.record/1"

    def test_a_name_tells_host_time_job_and_rank(self, user):
        begun = time.gmtime()
        done = user.type("jobmeter run -q --output ranks/ -- true", SLURM_JOB_ID="../4711", SLURM_PROCID="17")
        assert done.returncode == 0
        name, = (path.name for path in (user.home / "ranks").iterdir())
        host = os.uname().nodename.split(".")[0]
        stamp, job, rank, pid = re.fullmatch(rf"{re.escape(host)}-(\d{{8}}T\d{{6}}Z)-(.*)-(r\d+)-(\d+)\.json", name).groups()
        assert (job, rank) == (".._4711", "r17") and stamp[:8] >= time.strftime("%Y%m%d", begun)

    def test_one_job_of_many_ranks_is_one_run_of_the_history(self, user):
        user.type("jobmeter run -q -- sleep 0")
        line = "for SLURM_PROCID in 0 1 2 3 4; do export SLURM_PROCID; jobmeter run -q --output ranks/ -- true; done"
        assert user.type(line).returncode == 0
        assert len(list((user.home / "ranks").iterdir())) == 5
        kept = [json.loads(path.read_text())["job"] for path in user.records()]
        assert [(job["name"], job["rank"]) for job in kept] == [("sleep", None), ("true", 0)]
        user.type("jobmeter run -q -- true", SLURM_PROCID="3")  # whose record is nowhere else
        assert len(user.records()) == 3


class TestWait:
    LINE = "jobmeter run --wait {} --output r.json -- sh -c '(sleep 0.7; seq 100000 | sort >/dev/null) >/dev/null 2>&1 & exit 3'"

    @pytest.mark.parametrize("options", ["--standalone", "--tiers none"])
    def test_the_time_is_of_all_whose_use_is_counted(self, person, options):
        done = person.type(self.LINE.format(options))
        record = saved(person)
        time_, cpu = record["time"], record["cpu"]
        assert done.returncode == 3
        assert time_["elapsed_seconds"] >= 0.7
        assert 0 < cpu["user_seconds"] + cpu["system_seconds"] <= time_["elapsed_seconds"] * cpu["allocated_cores"]
        assert not any("CPU time is" in note for note in record["coverage"]["notes"])
        shares = [float(text) for text in re.findall(r"([\d.]+) %", done.stderr)]
        assert all(share <= 100 for share in shares), done.stderr


def test_a_long_recording_is_not_kept_in_memory(programs, tmp_path, root, demand):
    """F10: 127 MiB of it, in lines of 1 MiB, and 300 MiB of no line."""
    person = Person(programs, tmp_path / "home", 0)
    done = person.type("jobmeter top --standalone --batch -n 2 -d 0.1 --record short")
    demand(done.returncode == 0, done.stderr)
    line = (person.home / "short").read_text().splitlines()[-1]
    with open(person.home / "long", "w") as file:
        for _ in range(127):
            file.write(" " * ((1 << 20) - len(line) - 1) + line + "\n")
    (person.home / "endless").touch()
    os.truncate(person.home / "endless", 300 << 20)
    (person.home / "peak.py").write_text("import resource, subprocess, sys\ncode = subprocess.call(sys.argv[1:])\n"
                                         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)\nsys.exit(code)\n")
    for name, code in (("long", 0), ("endless", 1)):
        done = person.type(f"/usr/bin/python3 peak.py jobmeter top --batch -d 0.1 --size 80 --replay {name}")
        assert done.returncode == code and int(done.stdout.splitlines()[-1]) < 64, (name, done.stderr, done.stdout[-100:])


@pytest.mark.parametrize("line", ["run --output - -- touch was-run", "run --output - --json -- touch was-run",
                                  "top --batch -n 1 --record -"])
def test_a_standard_output_that_is_anothers_is_no_file(user, line):
    done = user.type(f"jobmeter {line}")
    assert (done.returncode, done.stdout) == (2, "") and len(done.stderr.splitlines()) == 1
    assert "standard output" in done.stderr
    assert not (user.home / "-").exists() and not (user.home / "was-run").exists()
