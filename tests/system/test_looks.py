# SPDX-License-Identifier: MIT
"""Polls: programs that ask again and again whether there is something to do, against their own counts."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from agent_pages import ask, final_record
from greedy import FIRST, FIRST_IN_GROUP, processors  # noqa: F401
from job_groups import MANAGER
from mpi_programs import SOURCES
from repository import REPOSITORY
from test_spinning import SAMPLE, check, told_by_ranks

SPINNING = ["poll", "epoll", "yield", "read"]  # ppoll and select: tests/kernel/test_looks_in_guests.py
WORKING = ["seldom", "apart", "compute", "events", "limits"]
MS = 1009
SHORT_MS = 503
LONG_MS = 4001  # of 200 samples a third are more than six deviations from none, also where a hypervisor takes a third
YIELD_MS = 101  # beside others, who yields hardly gets any time

# Polls that must not wait change their CPU midway, as a page that they read is not there yet, and each is followed by one that
# may wait, on the CPU where it began.
MOVED = """
import ctypes, fcntl, mmap, os, struct, sys, threading
TURNS, PAGE = 23, mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
cpus = sorted(os.sched_getaffinity(0))[:2]
fault = libc.syscall(323, os.O_CLOEXEC)  # userfaultfd
if fault < 0:
    sys.exit(77)
fcntl.ioctl(fault, 0xc018aa3f, bytearray(struct.pack("QQQ", 0xaa, 0, 0)))
r, w = os.pipe()
tid = threading.get_native_id()
def resolve():
    for _ in range(TURNS):
        message = os.read(fault, 32)
        address = struct.unpack_from("Q", message, 16)[0] & -PAGE
        os.sched_setaffinity(tid, {cpus[1]})
        page = ctypes.create_string_buffer(struct.pack("ihh", r, 1, 0), PAGE)
        fcntl.ioctl(fault, 0xc028aa03, bytearray(struct.pack("QQQQq", address, ctypes.addressof(page), PAGE, 0, 0)))
helper = threading.Thread(target=resolve)
helper.start()
os.sched_setaffinity(helper.native_id, {cpus[1]})
for _ in range(TURNS):
    address = libc.mmap(None, PAGE, 3, 0x22, -1, 0)
    fcntl.ioctl(fault, 0xc020aa00, bytearray(struct.pack("QQQQ", address, PAGE, 1, 0)))
    os.sched_setaffinity(tid, {cpus[0]})
    assert libc.poll(ctypes.c_void_p(address), 1, 0) == 0
    os.sched_setaffinity(tid, {cpus[0]})
    assert libc.poll(ctypes.c_void_p(address), 1, 1) == 0
helper.join()
"""


def most_seen(seconds):
    """Of so much time.  The clock is each processor's own, so that beside others its ticks meet a task by chance: a square root
    of their number more, and six times that never."""
    return seconds + 6 * SAMPLE * max(seconds / SAMPLE, 1) ** 0.5


@pytest.fixture
def looks(programs, tmp_path, run_metered):
    def run(mode):
        output = tmp_path / "looks.json"
        ms = {"yield": YIELD_MS, "epoll": LONG_MS}.get(mode, MS)
        record = run_metered(programs / "tests/truth/looks", mode, ms, output, options=["--standalone"])
        return record["cpu"], json.loads(output.read_text())

    return run


def check_looks(cpu, truth):
    assert (cpu["empty_polls"], cpu["yields"]) == (truth["polls"], truth["yields"])
    assert cpu["polling_seconds"] <= most_seen(truth["spun_ns"] / 1e9)


@pytest.mark.parametrize("mode", SPINNING)
def test_each_look_that_found_nothing_is_counted(looks, mode):
    """Half of the time of most goes into asking how late it is, which is no look; of epoll's a hundredth."""
    cpu, truth = looks(mode)
    check_looks(cpu, truth)
    assert mode != "epoll" or cpu["polling_seconds"] > 0.3 * truth["spun_ns"] / 1e9


@pytest.mark.parametrize("mode", WORKING)
def test_a_program_that_works_or_sleeps_does_not_spin(looks, mode):
    cpu, truth = looks(mode)
    assert (cpu["empty_polls"], cpu["yields"]) == (truth["polls"], truth["yields"])
    assert truth["used_ns"] >= SHORT_MS * 1000000 and cpu["polling_seconds"] <= 2 * SAMPLE


def test_a_poll_that_waits_is_none_where_one_that_must_not_was_left(run_metered, demand):
    """Those that moved are not counted: nobody saw that they end."""
    demand(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    demand(subprocess.run([sys.executable, "-c", MOVED]).returncode != 77, "needs userfaultfd(2)")
    assert run_metered(sys.executable, "-c", MOVED, options=["--standalone"])["cpu"]["empty_polls"] == 0


def test_an_agent_counts_the_same_of_a_job(start_agent, groups, programs, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    agent, output = start_agent(), tmp_path / "looks.json"
    looks = groups.start(groups.name(1), programs / "tests/truth/looks", "poll", str(MS), output)
    assert looks.wait(timeout=300) == 0
    groups.remove(groups.name(1))
    check_looks(final_record(agent, 1)["cpu"], json.loads(output.read_text()))


def test_an_agent_that_takes_over_starts_clocks_of_its_own(start_agent, groups, programs, tmp_path, demand):
    """How long tasks spin is known by clocks of the agent's process, which end with it."""
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    agent.kill()
    agent.start()
    assert "took over what was counting" in agent.log()
    looks = groups.start(groups.name(3), programs / "tests/truth/looks", "epoll", str(LONG_MS), tmp_path / "looks.json")
    assert looks.wait(timeout=300) == 0
    groups.remove(groups.name(3))
    # two agents' would be twice that
    assert 0.3 * LONG_MS / 1000 < final_record(agent, 3)["cpu"]["polling_seconds"] < most_seen(LONG_MS / 1000) < 2 * LONG_MS / 1000


def test_an_agent_tells_how_even_the_tasks_of_a_step_are(start_agent, groups, programs, tmp_path, demand):
    demand(shutil.which("curl"), "needs curl")
    agent, tasks = start_agent(), [("compute", 1499), ("compute", 499), ("epoll", 499)]
    running = [groups.start(groups.name(2, "0", task), programs / "tests/truth/looks", mode, ms, tmp_path / f"{task}.json")
               for task, (mode, ms) in enumerate(tasks)]
    assert [process.wait(timeout=300) for process in running] == [0, 0, 0]
    groups.remove(groups.name(2, "0", 1))
    live = ask(agent, f"/v1/jobs/{MANAGER}/2")
    groups.remove(groups.name(2))
    used = [json.loads((tmp_path / f"{task}.json").read_text())["used_ns"] / 1e9 for task in range(len(tasks))]
    for record in (live, final_record(agent, 2)):
        spun = min(record["cpu"]["polling_seconds"], used[2])
        expected = pytest.approx((sum(used) - spun) / 3 / max(used), abs=0.02)
        assert spun > 0 and record["ranks"] == {"count": 3, "balance": expected}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory, demand):
    """The example: the last of two ranks has twice as much to do.  It tells what each waited in barriers."""
    demand(shutil.which("mpicc") and shutil.which("mpirun"), "needs mpicc and mpirun")
    program = tmp_path_factory.mktemp("ranks") / "ranks"
    subprocess.run(["mpicc", "-O2", REPOSITORY / "share/examples/ranks.c", SOURCES / "timed.c", "-o", program], check=True)
    return program


def launch(*argv):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", *map(str, argv)]


def test_a_rank_that_waits_for_a_slower_one_spins(programs, ranks, root, tmp_path, processors):
    """Two ranks that spin want two processors."""
    said = subprocess.run([*FIRST, *launch("-n", 2, programs / "jobmeter", "run", "--standalone", "--quiet", "--output", f"{tmp_path}/r/",
                                           "--", *FIRST_IN_GROUP, ranks, 60)], check=True, capture_output=True, text=True, timeout=300).stdout
    records = sorted((json.loads(path.read_text()) for path in (tmp_path / "r").iterdir()), key=lambda r: r["job"]["rank"])
    told = told_by_ranks(said)
    assert len(told) == 2 and told[0][0] > 0
    for record, (inside, around, own) in zip(records, told):
        cpu = record["cpu"]
        check(record, inside, around + max(cpu["user_seconds"] + cpu["system_seconds"] - own, 0), own)
    merged = json.loads(subprocess.run([programs / "jobmeter", "report", "--json", tmp_path / "r"], check=True,
                                       capture_output=True, text=True).stdout)
    busy = [r["cpu"]["user_seconds"] + r["cpu"]["system_seconds"] - r["cpu"]["polling_seconds"] for r in records]
    balance = sum(busy) / 2 / max(busy)  # 3 of 4, if both CPUs are equally fast
    assert merged["ranks"] == {"count": 2, "balance": pytest.approx(balance, abs=1e-3)}
    assert (balance < 0.8 and merged["time"]["elapsed_seconds"] >= 5) == ("ranks-uneven" in [i["id"] for i in merged["insights"]])


def test_a_job_of_such_ranks_is_told_so(programs, ranks, root, tmp_path, processors):
    output, rules = tmp_path / "job.json", tmp_path / "rules.yaml"
    done = subprocess.run([*FIRST, programs / "jobmeter", "run", "--standalone", "--quiet", "--output", output, "--",
                           *FIRST_IN_GROUP, *launch("-n", 2, ranks, 40)], check=True, capture_output=True, text=True, timeout=300)
    record = json.loads(output.read_text())
    inside, around, own = map(sum, zip(*told_by_ranks(done.stdout)))
    polling, cpu = record["cpu"]["polling_seconds"], record["cpu"]["user_seconds"] + record["cpu"]["system_seconds"]
    check(record, inside, around + max(cpu - own, 0), own)  # mpirun's is of the same libraries
    built_in = (REPOSITORY / "share/insights.yaml").read_text()
    mine = built_in.split("- id: spin-wait")
    assert len(mine) == 3
    mine[1] = mine[1].replace("{elapsed: 5 s, cpu_polling: 2 s}\n    thresholds: {least: 25 %}",
                              "{elapsed: 1 s, cpu_polling: 0.1 s}\n    thresholds: {least: 10 %}", 1)
    mine[2] = mine[2].replace("20 %, time: 10 s", "10 %, time: 1 s", 1)
    rules.write_text("- id: spin-wait".join(mine))
    said = json.loads(subprocess.run([programs / "jobmeter", "insights", "--rules", rules, "--json", output], check=True,
                                     capture_output=True, text=True).stdout)
    share = next(c["share"] for c in said["classification"]["classes"] if c["id"] == "spin-wait")
    # a quarter, where nobody takes CPU time: half of one of two
    assert share == pytest.approx(polling / (record["cpu"]["allocated_cores"] * record["time"]["elapsed_seconds"]), rel=1e-3)
    insight = next(i for i in said["insights"] if i["id"] == "spin-wait")
    assert insight["lost_seconds"] == pytest.approx(polling, rel=1e-3)
