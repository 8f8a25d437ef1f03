# SPDX-License-Identifier: MIT
"""Prolog and epilog of share/slurm, by themselves, with what users may name their jobs."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

SHARE = pathlib.Path(__file__).resolve().parents[2] / "share/slurm"
AWKS = [name for name in ("mawk", "gawk", "busybox") if shutil.which(name)]

NASTY = [
    b"", b" ", b'"', b"\\", b'\\"', b"\\n", b"\n", b"a\nb\r\tc", b'", "uid": 0, "x": "', b"}\n{", b"\n}\n",
    b'\n"end": 1', b"$(touch evil)", b"`touch evil`", b"${IFS}", b"'; touch evil; '", b"%s%n", b"-n", b"--", b"&",
    b"\x01\x1f\x7f", b"/../../etc/passwd", "Größe 日本 😀 \u2028".encode(), b"\xff", b"\xc3", b"\xc3(", b"\xc0\xaf",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x80\x80\x80", b"\xe0\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80abc",
    "é😀".encode()[:-1], b"x" * 1023 + "é".encode(),
]


@pytest.fixture(params=AWKS)
def path(request, tmp_path):
    """A PATH on which awk is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "awk").symlink_to(shutil.which(request.param))  # busybox looks at the name that it is called by
    return f"{folder}:{os.environ['PATH']}"


class Scripts:
    def __init__(self, folder, path):
        self.jobs, self.path, self.folder = folder / "jobs", path, folder

    def run(self, name, **slurm):
        """The prolog or epilog, with just this environment."""
        environment = {b"PATH": self.path.encode(), b"JOBMETER_JOBS": os.fsencode(self.jobs),
                       **{key.encode(): value if isinstance(value, bytes) else value.encode()
                          for key, value in slurm.items()}}
        return subprocess.run(["sh", SHARE / f"{name}-jobmeter.sh"], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=60)

    def file(self, job):
        return self.jobs / f"slurm-{job}.json"

    def facts(self, job="7"):
        def pairs(found):
            assert len(dict(found)) == len(found), "a key twice"
            return dict(found)
        return json.loads(self.file(job).read_text(encoding="utf-8"), object_pairs_hook=pairs)


@pytest.fixture
def scripts(tmp_path, path):
    return Scripts(tmp_path, path)


def quiet(done):
    return (done.returncode, done.stdout, done.stderr) == (0, "", "")


def replaced(name):
    """As the prolog has to write it: U+FFFD for each byte that is no part of a character."""
    text, at = "", 0
    name = name[:1024]
    while at < len(name):
        for length in range(1, 5):
            try:
                text += name[at:at + length].decode()
                break
            except UnicodeDecodeError:
                continue
        else:
            text, length = text + "\ufffd", 1
        at += length
    return text


@pytest.mark.parametrize("name", NASTY, ids=repr)
def test_any_name_comes_back(scripts, name):
    assert quiet(scripts.run("prolog", SLURM_JOB_ID="7", SLURM_JOB_NAME=name, SLURM_JOB_ACCOUNT=name))
    facts = scripts.facts()
    assert facts.get("name", "") == facts.get("account", "") == replaced(name)
    assert facts.keys() - {"name", "account"} == {"schema", "manager", "id", "start"}
    assert not (scripts.folder / "evil").exists()
    assert os.listdir(scripts.jobs) == ["slurm-7.json"]

    assert quiet(scripts.run("epilog", SLURM_JOB_ID="7"))
    ended = scripts.facts()
    assert isinstance(ended.pop("end"), int)
    assert ended == facts


def test_all_that_slurm_may_tell(scripts):
    before = int(time.time())
    scripts.run("prolog", SLURM_JOB_ID="7", SLURM_ARRAY_JOB_ID="5", SLURM_ARRAY_TASK_ID="0", SLURM_HET_JOB_OFFSET="1",
                SLURM_JOB_USER="alice", SLURM_JOB_UID="1000", SLURM_JOB_ACCOUNT="physics", SLURM_JOB_PARTITION="gpu",
                SLURM_JOB_QOS="high", SLURM_JOB_RESERVATION="course", SLURM_JOB_NAME="train", SLURM_JOB_CPUS_PER_NODE="4(x2)",
                SLURM_MEM_PER_NODE="8193", SLURM_JOB_GPUS="0-1,4")
    facts = scripts.facts()
    assert before <= facts.pop("start") <= time.time()
    assert facts == {
        "schema": "jobmeter.job/1", "manager": "slurm", "id": "7", "array_id": "5", "array_index": 0, "het_offset": 1,
        "user": "alice", "uid": 1000, "account": "physics", "partition": "gpu", "qos": "high", "reservation": "course", "name": "train",
        "cores": 4, "memory_limit_bytes": 8193 << 20, "gpus": [0, 1, 4]}
    mode = scripts.file("7").stat()
    assert (mode.st_mode & 0o7777, mode.st_uid) == (0o644, os.geteuid())


def test_a_start_that_slurm_tells(scripts):
    scripts.run("prolog", SLURM_JOB_ID="7", SLURM_JOB_START_TIME="1700000000")
    assert scripts.facts()["start"] == 1700000000


@pytest.mark.parametrize("rubbish", ["", "x", "-1", "1.5", "0x10", "1e3", " 1", "1 ", "9" * 30, "1,2(x3)", "4294967294x"])
def test_what_is_no_number_is_left_out(scripts, rubbish):
    assert quiet(scripts.run("prolog", SLURM_JOB_ID="7", SLURM_JOB_UID=rubbish, SLURM_ARRAY_TASK_ID=rubbish,
                             SLURM_JOB_CPUS_PER_NODE=rubbish, SLURM_MEM_PER_NODE=rubbish))
    assert scripts.facts().keys() == {"schema", "manager", "id", "start"}


@pytest.mark.parametrize("gpus", ["MIG-1", "0,", ",", "0-", "-1", "0-99999999", "a-b"])
def test_gpus_are_numbers_or_nothing(scripts, gpus):
    assert quiet(scripts.run("prolog", SLURM_JOB_ID="7", SLURM_JOB_GPUS=gpus))
    assert "gpus" not in scripts.facts()


def test_numbers_are_no_octal(scripts):
    scripts.run("prolog", SLURM_JOB_ID="7", SLURM_JOB_UID="010", SLURM_JOB_GPUS="00,08")
    assert (scripts.facts()["uid"], scripts.facts()["gpus"]) == (10, [0, 8])


@pytest.mark.parametrize("job", ["", "x", "../../etc/x", "7/8", "7 8", "-1", "7\n8"])
def test_a_strange_id_makes_no_file_and_no_failure(scripts, job):
    done = scripts.run("prolog", SLURM_JOB_ID=job)
    assert done.returncode == 0 and "SLURM_JOB_ID" in done.stderr
    assert scripts.run("epilog", SLURM_JOB_ID=job).returncode == 0
    assert not scripts.jobs.exists()


def test_no_folder_to_write_in_drains_no_node(scripts):
    scripts.jobs.write_text("a file")
    assert scripts.run("prolog", SLURM_JOB_ID="7").returncode == 0
    assert scripts.run("epilog", SLURM_JOB_ID="7").returncode == 0


def test_a_job_that_is_requeued_starts_anew(scripts):
    for _ in range(2):
        scripts.run("prolog", SLURM_JOB_ID="7")
        assert "end" not in scripts.facts()
        scripts.run("epilog", SLURM_JOB_ID="7")
        scripts.run("epilog", SLURM_JOB_ID="7")
        assert "end" in scripts.facts()


def test_files_go_ten_minutes_after_the_end(scripts):
    for job in "1", "2", "3":
        scripts.run("prolog", SLURM_JOB_ID=job)
    scripts.run("epilog", SLURM_JOB_ID="1")
    (scripts.jobs / "other-1.json").write_text('"end": 1\n')
    (scripts.jobs / ".slurm-9.json.55").write_text("half")
    for path in scripts.jobs.iterdir():
        os.utime(path, (time.time() - 700, time.time() - 700))
    scripts.run("epilog", SLURM_JOB_ID="2")
    assert sorted(p.name for p in scripts.jobs.iterdir()) == ["other-1.json", "slurm-2.json", "slurm-3.json"]


@pytest.mark.parametrize("environment", [
    {}, {"SLURM_JOB_ID": "x"}, {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}, {"SLURM_JOB_ID": "7"},
    {"SLURM_JOB_ID": "7", "JOBMETER": "/nonexistent"}], ids=repr)
def test_the_task_epilog_says_nothing_where_there_is_nothing_to_say(scripts, environment):
    """No batch script, no agent (the socket is none), no program."""
    assert quiet(scripts.run("task-epilog", JOBMETER_SOCKET="/nonexistent", **environment))


def test_the_task_epilog_repeats_what_the_program_says_and_nothing_if_it_fails(scripts):
    program = scripts.folder / "program"
    program.write_text('#!/bin/sh\necho "$@"; echo what failed >&2; exit $CODE\n')
    program.chmod(0o755)
    done = scripts.run("task-epilog", SLURM_JOB_ID="7", JOBMETER=str(program), CODE="0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "report --summary slurm/7\n")
    assert quiet(scripts.run("task-epilog", SLURM_JOB_ID="7", JOBMETER=str(program), CODE="1"))


def test_shellcheck_finds_nothing():
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    done = subprocess.run(["shellcheck", *SHARE.glob("*.sh")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
