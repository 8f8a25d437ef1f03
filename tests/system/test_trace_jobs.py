# SPDX-License-Identifier: MIT
"""With `trace: sets` the agent traces all jobs: their records and metrics have what they called, and nobody asked."""

import collections
import re
import subprocess
import time

import pytest

import mpi_programs
from agent_pages import ask, await_page, page_of
from mpi_programs import ENVIRONMENT, LANGUAGES, mpirun
from test_trace_record import HOLDER, NUMBERS, counts, known_calls
from test_trace_users import attached, processes_named

FIRST, SECOND, THIRD = "slurm_test/uid_0/job_4711", "slurm_test/uid_0/job_4721", "slurm_test/uid_0/job_4723"
RUNS = 3  # of the third job


@pytest.fixture(scope="session")
def program(tmp_path_factory, demand):
    """transfers.c with MPICH."""
    made = mpi_programs.build("mpich", *LANGUAGES["c"], tmp_path_factory.mktemp("mpi"))
    demand(made, "needs mpicc.mpich")
    return made


def library_of(program):
    libraries = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.search(r"libmpich\S+ => (\S+)", libraries)[1]


class Holder:
    """A job that has the library mapped, and calls nothing of it; of which another job's first call is seen, too."""

    def __init__(self, groups, program):
        self.process = groups.start(FIRST, "python3", "-c", HOLDER, library_of(program), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "mapped\n"

    def await_probes(self, seconds=60):
        """Some are attached, and no more come."""
        end, before = time.monotonic() + seconds, 0
        while True:
            links = len(attached()[1])
            if links and links == before:
                return
            assert time.monotonic() < end, "nothing is attached"
            before = links
            time.sleep(1)


@pytest.fixture
def holder(groups, program):
    held = Holder(groups, program)
    yield held
    held.process.kill()
    held.process.communicate()


def series(page, job):
    found = collections.defaultdict(dict)
    for key in NUMBERS:
        for labels, number in page.of(f"jobmeter_job_trace_{key}_total"):
            if (labels["manager"], labels["jobid"]) == ("slurm", job):
                found[labels["set"], labels["function"]][key] = number
    return dict(found)


def calls_and_bytes(functions):
    return {name: (f["calls"], f["bytes"]) for (_, name), f in functions.items()}


def wanted(runs=1):
    return {name: (runs * calls, runs * size) for name, (calls, size) in known_calls().items()}


def await_calls(agent, job, runs=1):
    page = await_page(agent, lambda page: calls_and_bytes(series(page, job)) == wanted(runs))
    assert calls_and_bytes(series(page, job)) == wanted(runs)
    return page


@pytest.mark.smoke
def test_a_job_that_asks_for_nothing_has_its_calls_in_its_record(start_agent, groups, holder, program, tmp_path):
    agent = start_agent(trace={"sets": ["mpi-io"]})
    assert processes_named(agent, "jobmeter-tracer")
    holder.await_probes()
    groups.run(SECOND, *mpirun("mpich", program, tmp_path / "file"), env=ENVIRONMENT)
    third = groups.start(THIRD, "bash", "-c", f'for i in $(seq {RUNS}); do "$@" || exit 1; done; read -r _', "bash",
                         *mpirun("mpich", program, tmp_path / "other"), env=ENVIRONMENT, stdin=subprocess.PIPE)
    await_calls(agent, "4721")
    page = await_calls(agent, "4723", RUNS)
    assert not series(page, "4711")  # it called nothing
    assert not any(f["failed"] or f["lost"] or f["dropped_probes"] for f in series(page, "4723").values())
    record = ask(agent, "/v1/jobs/slurm/4723")
    assert counts(record) == series(page_of(agent), "4723") and record["trace"]["process_seconds"] > 0
    third.communicate(b"\n")
    before = series(page_of(agent), "4721")
    agent.kill()  # nothing that was told is lost
    agent.start()
    assert series(page_of(agent), "4721") == before
    await_calls(agent, "4723", RUNS)
