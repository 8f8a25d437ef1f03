# SPDX-License-Identifier: MIT
"""What a trace counts is in the record and the metrics of the job that was traced, once."""

import collections
import json
import os
import re
import subprocess

import pytest

import mpi_programs
from agent_pages import ask, await_page, page_of
from mpi_programs import BARRIERS, ENVIRONMENT, LANGUAGES, MESSAGE, MPIS, RANKS, REDUCED, STRIDED, moved, mpirun, transfers
from waiting import until

NUMBERS = ("calls", "failed", "lost", "bytes", "unsized", "seconds", "dropped_probes")


@pytest.fixture(scope="session")
def built(tmp_path_factory, demand):
    """built(mpi): transfers.c with it."""
    folder, made = tmp_path_factory.mktemp("mpi"), {}

    def get(mpi):
        if mpi not in made:
            made[mpi] = mpi_programs.build(mpi, *LANGUAGES["c"], folder)
        demand(made[mpi], f"needs mpicc.{mpi}")
        return made[mpi]

    return get


def counts(record):
    """{(set, function): {number: value}}"""
    return {(f["set"], f["function"]): {key: f[key] for key in NUMBERS} for f in record["trace"]["functions"]}


def known_calls():
    """{function: (calls, bytes)} of MPI-IO in one run of transfers.c, over all ranks."""
    sums = collections.defaultdict(lambda: [0, 0])
    for rank in range(RANKS):
        for name, *_, size in transfers(rank):
            sums[name][0] += 1
            sums[name][1] += size
    return {name: tuple(pair) for name, pair in sums.items()} | {
        "MPI_File_open": (RANKS, 0), "MPI_File_close": (RANKS, 0), "MPI_File_sync": (5 * RANKS, 0)}


def are_right(functions, runs=1):
    found = {name: (f["calls"], f["bytes"]) for (group, name), f in functions.items() if group == "mpi-io"}
    return found == {name: (runs * calls, runs * size) for name, (calls, size) in known_calls().items()}


@pytest.mark.parametrize("mpi", MPIS)
def test_a_runs_record_has_what_the_program_called_and_the_kernel_counted(programs, built, root, tmp_path, mpi):
    record_path = tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--trace", "mpi,mpi-io", "--output", record_path,
                           "--", *mpirun(mpi, built(mpi), tmp_path / "file")], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = json.loads(record_path.read_text())
    functions = counts(record)
    assert are_right(functions), functions
    assert not any(f["failed"] or f["lost"] or f["dropped_probes"] for f in functions.values())
    sent, received = functions["mpi", "MPI_Send"], functions["mpi", "MPI_Recv"]
    assert (sent["calls"], sent["bytes"]) == (2, MESSAGE + STRIDED)
    assert (received["calls"], received["bytes"], received["unsized"]) == (2, MESSAGE, 1)  # one's status is ignored
    assert functions["mpi", "MPI_Allreduce"]["calls"] >= RANKS and functions["mpi", "MPI_Barrier"]["calls"] >= RANKS * BARRIERS
    assert functions["mpi", "MPI_Allreduce"]["bytes"] >= RANKS * REDUCED * 8
    written = sum(f["bytes"] for (_, name), f in functions.items() if "write" in name)
    kernel = sum(row["write"]["bytes"] for row in record["io"] if str(tmp_path).startswith(row["mount"]) and row["fstype"] != "tmpfs")
    assert written == moved("write") and kernel >= written
    assert 0 < sum(f["seconds"] for f in functions.values()) and record["trace"]["process_seconds"] > 0
    assert re.search(r"MPI_File_write_at_all +10 +- .* 62 MiB", done.stderr), done.stderr
    html = tmp_path / "report.html"
    subprocess.run([programs / "jobmeter", "report", record_path, "--output", html], check=True)
    assert "Traced functions" in html.read_text() and "MPI_File_write_at_all" in html.read_text()
    table = subprocess.run([programs / "jobmeter", "report", record_path, "--format", "csv", "--by", "function"], check=True,
                           capture_output=True, text=True).stdout
    assert re.search(rf",mpi-io/MPI_File_read_at,10,0,0,{moved('read')},0,", table), table


def test_two_records_of_ranks_add_up(programs, built, root, tmp_path):
    """As under mpirun, where each rank is a run with a trace of its own."""
    records = tmp_path / "records"
    subprocess.run([*mpirun("mpich", programs / "jobmeter", "run", "--standalone", "--quiet", "--trace", "mpi-io", "--output", f"{records}/",
                            "--", built("mpich"), tmp_path / "file")], env=ENVIRONMENT, check=True, capture_output=True)
    assert len(list(records.iterdir())) == RANKS
    merged = subprocess.run([programs / "jobmeter", "report", records, "--format", "json"], check=True, capture_output=True,
                            text=True).stdout
    assert are_right(counts(json.loads(merged)))


def test_what_cannot_be_traced_is_not_run(programs, root, tmp_path):
    done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--trace", "mpi,nosuch", "--", "touch", tmp_path / "file"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "nosuch" in done.stderr and not (tmp_path / "file").exists()


# ---- under the agent ----

JOB = "slurm_test/uid_0/job_4729"


def series(page):
    """The same as counts() of the job's metrics."""
    found = collections.defaultdict(dict)
    for key in NUMBERS:
        for labels, number in page.of(f"jobmeter_job_trace_{key}_total"):
            if (labels["manager"], labels["jobid"]) == ("slurm", "4729"):
                found[labels["set"], labels["function"]][key] = number
    return dict(found)


def record_of(agent):
    return ask(agent, "/v1/jobs/slurm/4729")


# Somebody has the library mapped, so that a trace finds it as it begins.
HOLDER = """import ctypes, sys, time
ctypes.CDLL(sys.argv[1])
print("mapped", flush=True)
time.sleep(10000)"""


class Traced:
    """A job that runs the program at each word, until its input ends."""

    def __init__(self, programs, groups, program, agent, folder):
        script = 'python3 -c "$0" "$1" & shift; while read -r _; do "$@" || exit 1; echo done; done; kill %1'
        libraries = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        library = re.search(r"libmpich\S+ => (\S+)", libraries)[1]
        self.job = groups.start(JOB, "bash", "-c", script, HOLDER, library, *mpirun("mpich", program, folder / "file"), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert self.job.stdout.readline() == "mapped\n"
        self.environment = ENVIRONMENT | {"JOBMETER_SOCKET": agent.settings["socket"]["path"]}
        self.programs = programs

    def trace(self):
        return subprocess.Popen([self.programs / "jobmeter", "trace", "--job", "slurm/4729", "--set", "mpi-io", "--budget", "0"],
                                env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self):
        self.job.stdin.write("go\n")
        self.job.stdin.flush()
        assert self.job.stdout.readline() == "done\n"

    def end(self):
        self.job.stdin.close()
        assert self.job.wait(60) == 0


def await_traces(agent, is_enough):
    assert is_enough(series(await_page(agent, lambda page: is_enough(series(page))))), series(page_of(agent))


def told_by(agent):
    """How many traces told something, as far as it is written down."""
    return sum(len(json.loads(path.read_text()).get("traces", [])) for path in (agent.folder / "state/jobs").glob("slurm-4729*"))


def test_traces_of_a_job_add_up_over_restarts_of_the_agent(programs, built, start_agent, groups, tmp_path):
    agent = start_agent()
    traced = Traced(programs, groups, built("mpich"), agent, tmp_path)
    await_page(agent, lambda page: any(labels["jobid"] == "4729" for labels, _ in page.of("jobmeter_job_info")))
    first, second = traced.trace(), traced.trace()
    until(lambda: told_by(agent) >= 2)  # their first words come when all is on
    traced.run()
    await_traces(agent, lambda found: are_right(found, 2))  # each trace saw all
    before = series(page_of(agent))
    agent.kill()
    agent.start()
    assert {key: n["calls"] for key, n in series(page_of(agent)).items()} == {key: n["calls"] for key, n in before.items()}
    traced.run()
    traced.end()
    said = [trace.communicate(timeout=60) for trace in (first, second)]
    for out, complaints in said:
        assert re.search(r"MPI_File_write_at_all +20 .* 124 MiB", out), out
        assert not complaints
    await_traces(agent, lambda found: are_right(found, 4))
    assert agent.step_aside() == 0
    agent.start()
    assert are_right(series(page_of(agent)), 4)
    assert counts(record_of(agent)) == series(page_of(agent))


def test_a_run_under_the_agent_has_its_trace_there_too(programs, built, start_agent, tmp_path):
    agent, record_path = start_agent(), tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "run", "--quiet", "--trace", "mpi-io", "--output", record_path, "--",
                           *mpirun("mpich", built("mpich"), tmp_path / "file")],
                          env=ENVIRONMENT | {"JOBMETER_SOCKET": agent.settings["socket"]["path"]}, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    record = json.loads(record_path.read_text())
    assert "the agent did not measure" not in " ".join(record["coverage"]["notes"])
    assert are_right(counts(record))
    assert ask(agent, f"/v1/jobs/run/{record['job']['id']}")["trace"] == record["trace"]


def post(agent, body, user=()):
    done = subprocess.run([*user, "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--unix-socket",
                           agent.settings["socket"]["path"], "--data", json.dumps(body), "http://agent/v1/traces"],
                          check=True, capture_output=True, text=True)
    return int(done.stdout)


def word(groups, trace, calls, **more):
    function = {"set": "made", "function": "f", "calls": calls, "failed": 1, "lost": 2, "bytes": 1009 * calls, "unsized": 0,
                "seconds": 0.017, "dropped_probes": 0}
    return {"schema": "jobmeter.trace/1", "group": str(os.stat(groups.roots[0] / JOB).st_ino), "id": str(trace), "last": True,
            "trace": {"process_seconds": 1, "functions": [function]}} | more


def test_what_is_told_again_counts_once(start_agent, groups):
    agent = start_agent()
    job = groups.start(JOB, "sleep", "1000")
    await_page(agent, lambda page: any(labels["jobid"] == "4729" for labels, _ in page.of("jobmeter_job_info")))

    def calls():
        return record_of(agent).get("trace", {"functions": [{"calls": 0}]})["functions"][0]["calls"]

    def are(number):
        """In the next reading at the latest: one that was made as the word came is answered once more."""
        return until(lambda: calls() == number, why=calls)

    told = [(3, 13, 13), (3, 13, 13), (5, 7, 20), (3, 17, 24), (3, 13, 24)]  # trace, its calls, all of the job's
    for trace, own, sum_of_all in told:
        assert post(agent, word(groups, trace, own)) == 200
        assert are(sum_of_all)
    await_page(agent, lambda page: series(page)[("made", "f")]["calls"] == 24)
    agent.kill()
    agent.start()
    assert series(page_of(agent))[("made", "f")] == {"calls": 24, "failed": 2, "lost": 4, "bytes": 24 * 1009, "unsized": 0,
                                                   "seconds": 0.034, "dropped_probes": 0}
    assert post(agent, word(groups, 3, 17)) == 200 and are(24)
    for trace in range(11, 18):
        assert post(agent, word(groups, trace, 1)) == 200
    assert are(31)
    assert post(agent, word(groups, 3, 19)) == 200 and are(33)
    assert post(agent, word(groups, 5, 11)) == 409 and are(33)  # it told something longest ago, and is forgotten
    assert post(agent, word(groups, 4, 1)) == 409 and are(33)
    assert post(agent, word(groups, 3, 19, group="1")) == 404
    assert post(agent, word(groups, 3, 19, schema="jobmeter.trace/2")) == 400
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    assert post(agent, word(groups, 3, 23), nobody) == 403 and are(33)
    job.kill()
    job.wait()
