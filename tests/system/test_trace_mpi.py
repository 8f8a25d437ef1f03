# SPDX-License-Identifier: MIT
"""trace - what MPI programs do, in C and Fortran, by Open MPI and MPICH: calls, bytes, files and who waits."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import chrome_trace
import mpi_programs
from command import command
from mpi_programs import ENVIRONMENT, LANGUAGES, MPIS, RANKS, messages, moved, mpirun, transfers
from repository import REPOSITORY


@pytest.fixture(scope="session")
def built(tmp_path_factory, demand):
    """built(mpi, compiler, source): the program."""
    folder, made = tmp_path_factory.mktemp("mpi"), {}

    def get(mpi, compiler, source):
        if (mpi, source) not in made:
            made[mpi, source] = mpi_programs.build(mpi, compiler, source, folder)
        demand(made[mpi, source], f"needs {compiler}.{mpi}")
        return made[mpi, source]

    return get


@pytest.fixture
def own_mount(tmp_path, root, demand):
    folder = tmp_path / "own"
    folder.mkdir()
    try:
        command("mount", "-t", "tmpfs", "-o", "size=256m", "own", folder)
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot mount: {e.stderr.strip()}")
    yield folder
    command("umount", folder)


@pytest.fixture
def trace(programs, root):
    """trace(arguments, command): what it said, and its complaints."""

    def run(*arguments):
        done = subprocess.run([programs / "jobmeter", "trace", *map(str, arguments)], env=ENVIRONMENT, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        return done

    return run


def calls_of(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def of_rank(calls, rank):
    return sorted((c for c in calls if c["rank"] == rank), key=lambda c: c["timestamp_ns"])


def outside_of(calls, word):
    """@calls but for those within others whose probes have @word: what MPI-IO makes of MPI's own."""
    spans = [(c["timestamp_ns"], c["timestamp_ns"] + c["duration_ns"]) for c in calls if word in c["probe"]]
    return [c for c in calls if not any(begin < c["timestamp_ns"] < end for begin, end in spans)]


def name_of(call):
    return call["probe"].partition(":")[2]


def moving(calls):
    """Those that move bytes of the file, as transfers() has them."""
    kinds = ("MPI_File_read", "MPI_File_write", "MPI_File_iwrite")
    return [(name_of(c), *(c["arguments"].get(key) for key in ("offset", "count", "size")), c["bytes"])
            for c in calls if name_of(c).startswith(kinds)]


# Fortran's own functions call those of C: by MPICH from Fortran 2008's wrappers, by Open MPI from those that all bindings share.
@pytest.mark.parametrize("mpi, language", [("openmpi", "c"), ("mpich", "c"), ("openmpi", "mpi"), ("mpich", "f08")])
class TestTransfers:
    """One run is traced for all that can be told of it."""

    @pytest.fixture
    def calls(self, trace, built, own_mount, programs, tmp_path, mpi, language):
        """The calls, and the kernel's own row of the mount."""
        program, lines, record = built(mpi, *LANGUAGES[language]), tmp_path / "calls", tmp_path / "record.json"
        subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--output", record, "--",
                        programs / "jobmeter", "trace", "--set", "mpi,mpi-io", "--format", "ndjson", "--output", lines, "--",
                        *mpirun(mpi, program, own_mount / "file")],
                       env=ENVIRONMENT, check=True, capture_output=True, text=True)
        (row,) = [row for row in json.loads(record.read_text())["io"] if row["mount"] == str(own_mount)]
        return calls_of(lines), row

    def test_calls_are_seen_with_what_they_were_given(self, calls, mpi, language):
        calls, row = calls
        for rank in range(RANKS):
            own = of_rank(calls, rank)
            assert moving(own) == transfers(rank)
            on_world = [(name_of(c), c["arguments"], c["bytes"]) for c in outside_of(own, "mpi-io:")
                        if c["probe"].startswith("mpi:") and c["arguments"].get("comm") == 0 and name_of(c) in {m[0] for m in messages(rank)}]
            assert on_world == messages(rank)
            (opened,) = [c for c in own if name_of(c) == "MPI_File_open"]
            assert opened["arguments"]["path"].endswith("/own/file")
            assert {c["arguments"]["fh"] for c in own if c["probe"].startswith("mpi-io:")} == {opened["arguments"]["fh"]}
            assert {c["arguments"]["fh_name"] for c in own if c["probe"].startswith("mpi-io:")} == {opened["arguments"]["path"]}
        assert {c["task"] for c in calls} == {f"transfers{'' if language == 'c' else f'_{language}'}.{mpi}"[:15]}
        assert all(c["return"] == 0 and c["duration_ns"] > 0 for c in calls)
        assert sum(c["bytes"] for c in calls if "MPI_File" in c["probe"] and "write" in c["probe"]) == row["write"]["bytes"]
        assert sum(c["bytes"] for c in calls if "MPI_File_read" in c["probe"]) == row["read"]["bytes"]
        assert (row["write"]["bytes"], row["read"]["bytes"]) == (moved("write"), moved("read"))


def test_a_library_within_the_program_is_found(trace, own_mount, tmp_path, demand):
    program, lines = mpi_programs.build_static(tmp_path), tmp_path / "calls"
    demand(program, "needs libmpich.a")
    trace("--set", "mpi-io", "--format", "ndjson", "--output", lines, "--", *mpirun("mpich", program, own_mount / "file"))
    for rank in range(RANKS):
        assert moving(of_rank(calls_of(lines), rank)) == transfers(rank)


def test_the_example_of_a_reader_adds_calls_up(trace, built, own_mount, tmp_path):
    program, lines = built("mpich", *LANGUAGES["c"]), tmp_path / "calls"
    trace("--set", "mpi-io", "--format", "ndjson", "--output", lines, "--", *mpirun("mpich", program, own_mount / "file"))
    said = subprocess.run([REPOSITORY / "share/examples/trace-reader.py"], stdin=open(lines), check=True,
                          capture_output=True, text=True).stdout
    assert re.search(rf"rank 1 mpi-io:MPI_File_write_at_all: 5 calls, {31 * mpi_programs.MIB} bytes", said), said


def test_a_chrome_file_can_be_viewed(trace, built, own_mount, tmp_path):
    program, path = built("mpich", *LANGUAGES["c"]), tmp_path / "trace.json"
    trace("--set", "mpi,mpi-io", "--format", "chrome", "--output", path, "--", *mpirun("mpich", program, own_mount / "file"))
    slices = chrome_trace.read(path)
    assert {e["pid"] for e in slices} == set(range(RANKS))
    for rank in range(RANKS):
        written = [e["args"]["bytes"] for e in slices if e["pid"] == rank and e["name"] == "MPI_File_write_at_all"]
        assert written == [call[4] for call in transfers(rank) if call[0] == "MPI_File_write_at_all"]


def test_folded_stacks_add_up_to_the_time_in_calls(trace, built, own_mount, tmp_path):
    program, path = built("mpich", *LANGUAGES["c"]), tmp_path / "trace.folded"
    trace("--set", "mpi-io", "--format", "folded", "--output", path, "--", *mpirun("mpich", program, own_mount / "file"))
    stacks = dict(line.rsplit(" ", 1) for line in path.read_text().splitlines())
    assert all(int(ns) > 0 for ns in stacks.values())
    for rank in range(RANKS):
        assert {f"rank {rank};{call[0]}" for call in transfers(rank)} <= set(stacks)


@pytest.mark.parametrize("mpi", MPIS)
def test_the_summary_names_the_rank_that_others_wait_for(trace, built, mpi):
    said = trace("--set", "mpi", "--", *mpirun(mpi, built(mpi, "mpicc", "late.c"))).stderr
    assert re.search(r"MPI_Barrier +13 +0 .*rank 1: last 13 times", said), said


@pytest.mark.parametrize("mpi", MPIS)
def test_what_ranks_hang_in_is_said(programs, root, built, mpi):
    """By their launcher, which is attached to when they hang already."""
    trace = [programs / "jobmeter", "trace", "--set", "mpi"]
    command = mpirun(mpi, built(mpi, "mpicc", "hang.c"))
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as hanging:
        try:
            assert sorted(hanging.stdout.readline() for _ in range(RANKS)) == [f"begun {rank}\n" for rank in range(RANKS)]
            end, said = time.monotonic() + 60, ""
            while said.count("longer than the trace") < RANKS and time.monotonic() < end:
                said = subprocess.run([*trace, "--pid", str(hanging.pid), "--duration", "1"], env=ENVIRONMENT, check=True,
                                      capture_output=True, text=True).stdout
            assert re.search(r"MPI_Recv +longer than the trace +rank 0\n", said), said
            assert re.search(r"MPI_Barrier +longer than the trace +rank 1\n", said), said
        finally:
            hanging.terminate()
            hanging.wait()


@pytest.mark.parametrize("how", [["trace", "--set", "mpi"], ["run", "--quiet", "--standalone", "--trace", "mpi"]], ids=["trace", "run"])
def test_that_ranks_share_cores_is_said_while_they_run(programs, root, built, tmp_path, how):
    """No budget covers what they lose then: two ranks poll for each other on one CPU, for ever."""
    one_cpu = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    command = [programs / "jobmeter", *how, "--", *one_cpu, *mpirun("openmpi", built("openmpi", "mpicc", "hang.c"))]
    with subprocess.Popen(command, env=ENVIRONMENT | {"XDG_STATE_HOME": str(tmp_path)}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as traced:
        try:
            assert any(line.startswith(f"jobmeter {how[0]}: the traced processes wait for cores") for line in traced.stderr)
        finally:
            os.killpg(traced.pid, signal.SIGTERM)
            traced.wait()


@pytest.mark.parametrize("mpi", MPIS)
def test_waits_are_told_of_any_communicator_and_of_each_run(trace, built, mpi):
    """Two runs at once: 7 barriers on a copy of the world, and 5 on a part of it; those of one rank alone are no waits."""
    run = " ".join(mpirun(mpi, built(mpi, "mpicc", "communicators.c")))
    said = trace("--set", "mpi", "--", "sh", "-c", f"{run} & {run}; wait").stderr
    assert re.search(r"MPI_Barrier +24 +0 .*rank 1: last 12 times", said), said
    assert re.search(r"MPI_Comm_split +4 +0 ", said), said
    assert "not compared" not in said


@pytest.mark.parametrize("mpi", MPIS)
def test_bytes_are_those_of_all_ranks_or_not_known(trace, built, mpi):
    said = trace("--set", "mpi", "--", *mpirun(mpi, built(mpi, "mpicc", "communicators.c"))).stderr
    assert re.search(r"MPI_Alltoall +2 .* 31\.3 KiB", said), said  # 2 ranks give 1000 of 8 bytes to 2
    assert re.search(r"MPI_Alltoallv +2 +≤?[\d.]+ .?s +\S+ %? +- ", said), said
    assert "MPI_Alltoallv: the bytes of 2 calls are not known" in said
    assert "not probed  at this level: MPI_Testall (--level trace)\n" in said
    assert re.search(r"in mpi +process +time +of wall +most in\n +2 ranks .* imbalance \d", said), said


def test_the_summary_has_bytes_and_sizes(trace, built, own_mount):
    said = trace("--set", "mpi-io", "--", *mpirun("mpich", built("mpich", *LANGUAGES["c"]), own_mount / "file")).stderr
    assert re.search(r"MPI_File_write_at_all +10 .* 62 MiB", said), said
    words = " ".join(said.split())
    assert "MPI_File_write_at_all 1 MiB: 2, 2 MiB: 2, 4 MiB: 2, 8 MiB: 2, 16 MiB: 2" in words
    assert f"kernel {own_mount}: 62 MiB read, 62 MiB written" in words
