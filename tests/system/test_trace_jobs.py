# SPDX-License-Identifier: MIT
"""With `trace: sets` the agent traces all jobs: their records and metrics have what they called, and nobody asked."""

import collections
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

import mpi_programs
from agent_pages import ask, await_log, await_page, page_of
from collector_double import Collector, status
from job_groups import MANAGER, OWN_ONLY, JobGroups
from mpi_programs import ENVIRONMENT, LANGUAGES, mpirun
from test_trace_record import HOLDER, NUMBERS, counts, known_calls
from test_trace_users import processes_named
from waiting import until

FIRST, SECOND, THIRD = map(JobGroups.name, (4713, 4721, 4723))
RUNS = 3  # of the third job


@pytest.fixture(scope="session")
def program(tmp_path_factory, demand):
    """transfers.c with a copy of MPICH: an agent traces no returns of a library through which any process of the machine throws,
    as those of other tests do, and then the sizes of derived types are not known."""
    folder = tmp_path_factory.mktemp("mpi")
    made = mpi_programs.build("mpich", *LANGUAGES["c"], folder, f"-Wl,-rpath,{folder}")
    demand(made, "needs mpicc.mpich")
    shutil.copy(library_of(made), folder)
    assert library_of(made).startswith(str(folder))
    return made


def library_of(program):
    libraries = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.search(r"libmpich\S+ => (\S+)", libraries)[1]


def links_of(pid):
    """Of probes, that the process holds."""
    count = 0
    with contextlib.suppress(OSError):  # the process ended
        for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                count += bool(re.search("^link_type:\t(uprobe|uretprobe|perf)", path.read_text(), re.MULTILINE))
    return count


WAITS = {"7", "232", "271", "281", "441"}  # poll, epoll_wait, ppoll, epoll_pwait, epoll_pwait2


def is_waiting(pid):
    """For what comes: it is not at work, and does not wait for a CPU either."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in WAITS
    return False


class Holder:
    """A job that has the library mapped, and calls nothing of it; of which another job's first call is seen, too."""

    def __init__(self, groups, program):
        self.process = groups.start(FIRST, "python3", "-c", HOLDER, library_of(program), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "mapped\n"

    @staticmethod
    def await_probes(agent, seconds=60):
        """Its tracer has attached some, and no more come: three looks find the same, and that it does nothing."""
        end, looks = time.monotonic() + seconds, []
        while not (len(looks) >= 3 and looks[-1] and len(set(looks[-3:])) == 1):
            assert time.monotonic() < end, f"links at each look: {looks}"
            tracers = processes_named(agent, "jobmeter-trace")
            is_idle = all(map(is_waiting, tracers))
            looks.append(sum(map(links_of, tracers)) if is_idle else 0)
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
            if (labels["manager"], labels["jobid"]) == (MANAGER, job):
                found[labels["set"], labels["function"]][key] = number
    return dict(found)


def calls_and_bytes(functions):
    return {name: (f["calls"], f["bytes"]) for (_, name), f in functions.items()}


def wanted(runs=1):
    return {name: (runs * calls, runs * size) for name, (calls, size) in known_calls().items()}


def await_calls(agent, job, runs=1):
    return await_page(agent, lambda page: calls_and_bytes(series(page, job)) == wanted(runs))


@pytest.mark.smoke
def test_a_job_that_asks_for_nothing_has_its_calls_in_its_record(start_agent, groups, holder, program, tmp_path):
    agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"]})
    assert processes_named(agent, "jobmeter-tracer")
    holder.await_probes(agent)
    groups.run(SECOND, *mpirun("mpich", program, tmp_path / "file"), env=ENVIRONMENT)
    third = groups.start(THIRD, "bash", "-c", f'for i in $(seq {RUNS}); do "$@" || exit 1; done; read -r _', "bash",
                         *mpirun("mpich", program, tmp_path / "other"), env=ENVIRONMENT, stdin=subprocess.PIPE)
    await_calls(agent, "4721")
    page = await_calls(agent, "4723", RUNS)
    assert not series(page, "4713")  # it called nothing
    assert not any(f["failed"] or f["lost"] or f["dropped_probes"] for f in series(page, "4723").values())
    record = ask(agent, f"/v1/jobs/{MANAGER}/4723")
    assert counts(record) == series(page_of(agent), "4723") and record["trace"]["process_seconds"] > 0
    third.communicate(b"\n")
    before = series(page_of(agent), "4721")
    agent.kill()  # nothing that was told is lost
    agent.start()
    assert series(page_of(agent), "4721") == before
    await_calls(agent, "4723", RUNS)


def test_what_was_counted_last_is_told_when_the_agent_ends(start_agent, groups, holder, program, tmp_path):
    agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"]})
    holder.await_probes(agent)
    job = groups.start(SECOND, "bash", "-c", 'for i in 1 2; do "$@" || exit 1; echo done; read -r _; done', "bash",
                       *mpirun("mpich", program, tmp_path / "file"), env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    await_calls(agent, "4721")
    job.stdin.write(b"\n")
    job.stdin.flush()
    assert job.stdout.readline() and job.stdout.readline()  # of both runs
    assert agent.step_aside() == 0
    agent.start()
    assert calls_and_bytes(series(page_of(agent), "4721")) == wanted(2)
    job.communicate(b"\n")


@pytest.mark.parametrize("sets, why", [(["mpi-io", "nosuch"], "there is no set 'nosuch'"), (["../probes/mpi"], "trace.sets cannot be")])
def test_sets_that_are_none_are_refused_at_the_start(start_agent, sets, why):
    agent = start_agent()
    agent.stop()
    agent.configure(trace={"sets": sets})
    status, said = agent.refusal()
    assert status != 0 and why in said
    agent.configure(trace={})
    agent.start()


def by_trace(collector):
    """{trace: its spans}"""
    found = collections.defaultdict(list)
    for span in list(collector.spans):
        found[span["traceId"]].append(span)
    return found


def test_calls_are_sent_as_spans_a_trace_a_job(start_agent, groups, holder, program, tmp_path):
    names = ("MPI_File_open", *sorted({name for name in wanted() if "read" in name or "write" in name}))
    with Collector() as collector:
        agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"], "otlp": collector.url})
        holder.await_probes(agent)
        for job, path in ((SECOND, "file"), (THIRD, "other")):
            groups.run(job, *mpirun("mpich", program, tmp_path / path), env=ENVIRONMENT)
        def roots():
            """Of our jobs: calls of another test may come, too, by the rule for others."""
            return [span for span in list(collector.spans) if not span.get("parentSpanId") and span["name"].startswith(MANAGER)]

        end = time.monotonic() + 60
        while len(roots()) < 2 and time.monotonic() < end:  # those that a trace sends last
            time.sleep(0.1)
        assert sorted(span["name"] for span in roots()) == [f"{MANAGER}/4721", f"{MANAGER}/4723"]
        traces = {root["traceId"]: by_trace(collector)[root["traceId"]] for root in roots()}
        assert len(traces) == 2
        for spans in traces.values():
            found = collections.Counter(span["name"] for span in spans)
            assert {name: found[name] for name in names} == {name: wanted()[name][0] for name in names}
        agent.stop()
        assert f"spans of all jobs: {len(collector.spans)} sent; missing: 0 not taken, 0 refused" in agent.log()
        agent.start()


def test_a_collector_that_refuses_costs_spans_alone(start_agent, groups, holder, program, tmp_path):
    with Collector(always=status(400)) as collector:
        agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"], "otlp": collector.url})
        holder.await_probes(agent)
        groups.run(SECOND, *mpirun("mpich", program, tmp_path / "file"), env=ENVIRONMENT)
        await_calls(agent, "4721")
        until(lambda: re.search(r"spans of all jobs: 0 sent; missing: 0 not taken, [1-9]\d* refused, 0 when .*; the last reason: "
                                "the collector answers 400", agent.log()))
        assert not collector.spans


def test_users_may_not_trace_by_it(start_agent):
    agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"]})
    done = subprocess.run(["curl", "-s", "--unix-socket", agent.settings["socket"]["path"], "http://agent/v1/trace?pid=1"],
                          capture_output=True, text=True, check=True)
    assert "users may not trace here: the setting 'trace.users' is off" in done.stdout


MAPS_ALL = """import mmap, os, pathlib, sys
os.setuid(65534)
maps = [mmap.mmap(os.open(path, os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC) for path in pathlib.Path(sys.argv[1]).iterdir()]
print("mapped", flush=True)
sys.stdin.read()"""


def test_libraries_of_one_user_leave_room_for_others(start_agent, groups, holder, program, tmp_path):
    """As many copies as anybody can map."""
    (tmp_path / "small.c").write_text("int MPI_File_sync(void *file) { __asm__ volatile(\"nop\"); return file == 0; }\n")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "small.so", tmp_path / "small.c"], check=True)
    copies = tmp_path / "copies"
    copies.mkdir()
    for i in range(151):
        shutil.copy(tmp_path / "small.so", copies / f"libmpi.so.40.{i}")
        os.chown(copies / f"libmpi.so.40.{i}", 65534, 65534)
    for path in (tmp_path, tmp_path.parent):  # what is above it may be /tmp itself, which is everybody's
        path.chmod(0o755)
    greedy = groups.start(THIRD, sys.executable, "-c", MAPS_ALL, copies, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert greedy.stdout.readline() == "mapped\n"
    agent = start_agent(rules=OWN_ONLY, trace={"sets": ["mpi-io"]})
    log = await_log(agent, "user 65534 has more than an eighth of its files or probes: more are left out")
    holder.await_probes(agent)
    groups.run(SECOND, *mpirun("mpich", program, tmp_path / "file"), env=ENVIRONMENT)
    await_calls(agent, "4721")
    assert "begins again" not in log
    greedy.communicate()
