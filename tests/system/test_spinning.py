# SPDX-License-Identifier: MIT
"""Spinning: programs that wait in MPI or OpenMP, or in a lock of their own, against their own clocks.

How long they spin is known by samples, so each comparison has room for six standard deviations of their number."""

import json
import os
import re
import shutil
import subprocess

import pytest

import mpi_programs

SAMPLE = 0.020011003  # seconds
SECONDS = 6  # the finding wants 5, and 2 s of spinning
RUNS = [  # MPI, ms a step, and how many times as many has rank 0
    ("openmpi", 40, 1), ("openmpi", 100, 6), ("mpich", 8, 1), ("mpich", 15, 6),
]


def told_by_ranks(text):
    """[(seconds in MPI or waiting, seconds that may count as such, all)] by rank, as steps.c and timed.c print them."""
    found = sorted(re.findall(r"^rank (\d+): (\S+) (\S+) (\S+)$", text, re.M))
    return [tuple(map(float, numbers)) for _, *numbers in found]


@pytest.fixture
def spun(programs, tmp_path, root, demand):
    """spun(argv, env): (the record, seconds in MPI or waiting, seconds that may count as such, all), by the programs themselves."""

    def run(argv, env):
        output = tmp_path / "record.json"
        done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--quiet", "--output", output, "--", *map(str, argv)],
                              capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == 0, done.stderr
        record = json.loads(output.read_text())
        missing = "; ".join(record["coverage"]["missing"])
        demand(record["cpu"]["polling_seconds"] is not None, f"no samples here: {missing}")
        told = told_by_ranks(done.stdout)
        assert told
        inside, around, own = map(sum, zip(*told))
        rest = record["cpu"]["user_seconds"] + record["cpu"]["system_seconds"] - own  # mpirun's, which is of the same libraries
        return record, inside, around + max(rest, 0), own

    return run


def noise(part, whole):
    """Six standard deviations of what @part is estimated at, and a sample at each end."""
    samples, share = whole / SAMPLE, min(part / whole, 1)
    return SAMPLE * (6 * (samples * share * (1 - share)) ** 0.5 + 2)


def check(record, inside, besides, whole):
    """A tenth of the time in a library may be in what it calls: the C library, the clock, the kernel."""
    polling, cpu = record["cpu"]["polling_seconds"], whole + besides
    assert 0.9 * inside - noise(inside, cpu) < polling < inside + besides + noise(inside + besides, cpu)


def findings(programs, record, tmp_path):
    (tmp_path / "record.json").write_text(json.dumps(record))
    said = json.loads(subprocess.run([programs / "jobmeter", "insights", "--json", tmp_path / "record.json"], check=True,
                                     capture_output=True, text=True).stdout)
    return {i["id"] for i in said["insights"]}


@pytest.mark.parametrize("mpi,ms,times", RUNS, ids=lambda value: str(value))
def test_who_waits_in_mpi_spins_and_who_computes_does_not(programs, spun, demand, tmp_path, mpi, ms, times):
    program = mpi_programs.build(mpi, "mpicc", "steps.c", tmp_path)
    demand(program, f"needs mpicc.{mpi}")
    record, inside, besides, whole = spun(mpi_programs.mpirun(mpi, program, ms, times, SECONDS), mpi_programs.ENVIRONMENT)
    check(record, inside, besides, whole)
    cpu, polling = record["cpu"], record["cpu"]["polling_seconds"]
    # of a quarter of its CPU time the finding is; which of the programs have that is what check() shows
    assert ("spin-wait" in findings(programs, record, tmp_path)) == \
        (polling >= 2 and polling >= 0.25 * (cpu["user_seconds"] + cpu["system_seconds"]))


@pytest.fixture
def threads(tmp_path, demand):
    demand(shutil.which("gcc"), "needs gcc")
    program = tmp_path / "threads"
    subprocess.run(["gcc", "-O2", "-fopenmp", mpi_programs.SOURCES / "threads.c", "-o", program], check=True)
    return program


def test_threads_that_wait_in_openmp_spin(spun, threads):
    check(*spun([threads, "barrier", 3], os.environ | {"OMP_WAIT_POLICY": "active"}))


def test_of_a_lock_of_the_programs_own_nothing_is_said(spun, threads):
    record, inside, besides, whole = spun([threads, "lock", 3], os.environ)
    assert record["cpu"]["polling_seconds"] <= besides + noise(besides + SAMPLE, whole)
