# SPDX-License-Identifier: MIT
"""Users trace what is theirs by the agent's helper, and nothing else; nothing stays attached."""

import collections
import json
import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

import mpi_programs
from agent import USER
from agent_pages import ask as ask_agent
from agent_pages import await_page, known_jobs
from job_groups import MANAGER
from one_agent import bench, groups, keeper, start_shared_agent  # noqa: F401
from person import Person
from repository import REPOSITORY
from waiting import until

SOURCES = REPOSITORY / "tests/system"
ALICE, BOB, CAROL = 64711, 64717, 64733  # nobody's, on machines that these tests run on
BARRIERS, MORE, BCASTS = 101, 37, 53
ROUNDS = 307


def become(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def counted(text):
    calls = [line["probe"] for line in lines_of(text)]
    return {name: calls.count(name) for name in set(calls)}


def attached():
    """Programs that the agent's user has loaded, and their links: its own are root's, from its start."""
    bpftool, uid = shutil.which("bpftool") or "/usr/sbin/bpftool", pwd.getpwnam(USER).pw_uid

    def show(what, tries=20):
        """It fails where one of them, perhaps another test's, goes meanwhile."""
        done = subprocess.run([bpftool, "-j", what], check=tries == 1, capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else show(what, tries - 1)

    programs, links = show("prog"), show("link")
    loaded = {program["id"] for program in programs if program.get("uid") == uid}
    return loaded, [link["id"] for link in links if link.get("prog_id") in loaded]


def is_attached():
    loaded, links = attached()
    return bool(loaded or links)


def processes_named(agent, name):
    """Of the agent's: its children, and theirs."""
    parents, names = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = stat.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        pid, _, comm = head.partition(" (")
        parents[int(pid)], names[int(pid)] = int(rest.split()[1]), comm
    return [pid for pid, parent in parents.items()
            if names[pid] == name and agent.process.pid in (parent, parents.get(parent))]


@pytest.fixture(scope="module")
def folder(bench, demand):
    """A program that calls a library that both have to find, which is ours and not MPI's."""
    demand(shutil.which("cc") and shutil.which("curl") and shutil.which("setpriv"), "needs cc, curl, setpriv")
    demand(os.stat(REPOSITORY / "share/probes").st_uid == 0, "the probe sets are not root's")
    made = bench.folder / "calls"
    made.mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", SOURCES / "fake_mpi.c", "-o", made / "libmpi.so.12"], check=True)
    subprocess.run(["cc", "-pthread", SOURCES / "mpi_caller.c", made / "libmpi.so.12", f"-Wl,-rpath,{made}", "-o", made / "caller"],
                   check=True)
    return made


class Caller:
    """A process of @uid that makes calls when it is told to."""

    def __init__(self, folder, uid, *words, program="caller"):
        self.process = subprocess.Popen([*become(uid), folder / program, "wait", *map(str, words)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "waits\n"
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def go_until(self, stream):
        """Call again and again until something of it is told there."""
        for _ in range(ROUNDS - 1):
            if select.select([stream], [], [], 0.3)[0]:
                return
            self.go()
            assert self.process.stdout.readline() == "waits\n"
        raise AssertionError("no call is told")

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(60)


@pytest.fixture
def start(folder):
    callers = []

    def start(uid, *words, **options):
        callers.append(Caller(folder, uid, *words, **options))
        return callers[-1]

    yield start
    for caller in callers:
        caller.process.kill()
        caller.end()


@pytest.fixture(scope="module")
def agent(start_shared_agent):
    return start_shared_agent(trace={"users": True})


@pytest.fixture(autouse=True)
def room(agent):
    """For the traces of the next test, which may be the same user's."""
    yield
    until(lambda: not is_attached() and not processes_named(agent, "jobmeter-trace"))


@pytest.fixture
def own_agent(start_agent):
    """For what changes an agent."""
    return start_agent(trace={"users": True})


class Asked:
    """Somebody who asks for a trace, and takes what comes."""

    def __init__(self, agent, folder, uid, query):
        self.head = folder / f"head-{time.monotonic_ns()}"
        self.head.touch()
        os.chown(self.head, uid, uid)
        self.process = subprocess.Popen([*become(uid), "curl", "-sN", "-D", self.head, "--unix-socket",
                                         agent.settings["socket"]["path"], f"http://localhost/v1/trace?{query}"],
                                        stdout=subprocess.PIPE, text=True)
        until(lambda: "\n\n" in self.head.read_text() or self.process.poll() is not None)
        self.status = int(self.head.read_text().split()[1])

    def text(self):
        return self.process.communicate(timeout=60)[0]

    def why(self):
        return json.loads(self.text())["error"]


@pytest.fixture
def ask(agent, folder):
    """ask(uid, query): returns when the trace is on, or is refused.  @of: another agent."""
    asked = []

    def ask(uid, query, of=agent):
        asked.append(Asked(of, folder, uid, query))
        return asked[-1]

    yield ask
    for one in asked:
        one.process.kill()
        one.process.communicate()


class User(Person):
    """Somebody with jobmeter and its sets, as they are installed."""

    def __init__(self, programs, folder, uid, agent):
        super().__init__(programs, folder, uid, agent.settings["socket"]["path"])
        shutil.copytree(REPOSITORY / "share/probes", folder / "share/probes")


@pytest.fixture(scope="module")
def alice(programs, bench, agent):
    return User(programs, bench.folder / "alice", ALICE, agent)


@pytest.mark.smoke
def test_calls_of_an_own_process_are_all_there(agent, start, ask):
    caller = start(ALICE, BARRIERS, f"bcast={BCASTS}", f"fork={MORE}")
    asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
    assert asked.status == 200 and all(attached())
    caller.go()
    assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS + MORE, "mpi:MPI_Bcast": BCASTS}
    until(lambda: not is_attached())


def test_without_the_setting_there_is_no_such_helper(start_agent, start, folder):
    agent = start_agent()
    assert not processes_named(agent, "jobmeter-tracer") and processes_named(agent, "jobmeter-helper")
    asked = Asked(agent, folder, ALICE, f"pid={start(ALICE, BARRIERS).pid}&sets=mpi")
    assert (asked.status, asked.why()) == (403, "users may not trace here: the setting 'trace.users' is off")


def test_the_helper_has_the_rights_that_it_needs_and_no_others(agent):
    (pid,) = processes_named(agent, "jobmeter-tracer")
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    wanted = sum(1 << number for number in (2, 19, 38, 39, 40))  # DAC_READ_SEARCH, SYS_PTRACE, PERFMON, BPF, CHECKPOINT_RESTORE
    assert f"CapEff:\t{wanted:016x}\n" in status and f"CapBnd:\t{wanted:016x}\n" in status
    assert "Seccomp:\t2\n" in status and "NoNewPrivs:\t1\n" in status
    uid = pwd.getpwnam(USER).pw_uid
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in status


REFUSED = [
    ("sets=mpi", 400, "either 'pid' or 'job' is wanted"),
    ("pid=PID&job=slurm/1", 400, "either 'pid' or 'job' is wanted"),
    ("pid=0", 400, "'pid' is a process' number"),
    ("job=17", 400, "'job' is MANAGER/ID"),
    ("pid=PID&level=all", 400, "'level' is default, profile or trace"),
    ("pid=PID&format=xml", 400, "'format' is text, chrome, folded or ndjson"),
    ("pid=PID&format=otlp", 400, "'format' is text, chrome, folded or ndjson"),
    ("pid=PID&duration=3601", 400, "'duration' is a number of seconds up to 3600"),
    ("pid=PID&sets=" + "m" * 256, 400, "'sets' is too long"),
    ("pid=PID&sets=no-such", 404, "there is no set 'no-such'"),
    ("pid=PID&sets=mpi,", 404, "there is no set ''"),
    ("pid=PID&sets=/tmp/own.probe", 403, "only root may trace by a file: '/tmp/own.probe' is no set that came with jobmeter"),
    ("pid=PID&sets=../probes/mpi", 403, "only root may trace by a file: '../probes/mpi' is no set that came with jobmeter"),
    ("pid=1&sets=mpi", 404, "there is no such process, or it is not yours"),
    ("pid=2147483647&sets=mpi", 404, "there is no such process, or it is not yours"),
    ("job=slurm/123456789", 404, "there is no such job, or it is not yours"),
]


def test_what_is_no_question_is_refused_in_words(start, ask):
    caller = start(ALICE, 1)
    asked = [(query, ask(ALICE, query.replace("PID", str(caller.pid)))) for query, _, _ in REFUSED]
    assert [(query, one.status, one.why()) for query, one in asked] == REFUSED
    assert not is_attached()


class TestOthers:
    """Of what is not the user's alone nothing is told."""

    def test_another_users_process(self, start, ask):
        asked = ask(ALICE, f"pid={start(BOB, BARRIERS).pid}&sets=mpi")
        assert (asked.status, asked.why()) == (404, "there is no such process, or it is not yours")
        assert not is_attached()

    def test_roots_own_question_gets_no_more(self, start, ask):
        assert ask(0, f"pid={start(BOB, BARRIERS).pid}&sets=mpi").status == 404
        assert ask(0, f"pid={os.getpid()}&sets=mpi").status == 403  # it has capabilities

    def test_a_set_user_id_program(self, folder, start, ask):
        program = shutil.copy(folder / "caller", folder / "of-bob")
        os.chown(program, BOB, BOB)
        os.chmod(program, 0o4755)
        asked = ask(ALICE, f"pid={start(ALICE, BARRIERS, program='of-bob').pid}&sets=mpi")
        assert asked.status == 404 and not is_attached()

    def test_a_set_group_id_program(self, folder, start, ask):
        program = shutil.copy(folder / "caller", folder / "of-bobs-group")
        os.chown(program, 0, BOB)
        os.chmod(program, 0o2755)
        asked = ask(ALICE, f"pid={start(ALICE, BARRIERS, program='of-bobs-group').pid}&sets=mpi")
        assert (asked.status, asked.why()) == (403, "the process has other groups or more rights than you")

    def test_a_program_with_file_capabilities(self, folder, start, ask, demand):
        demand(shutil.which("setcap"), "needs setcap")
        program = shutil.copy(folder / "caller", folder / "capable")
        subprocess.run(["setcap", "cap_net_raw+p", program], check=True)
        asked = ask(ALICE, f"pid={start(ALICE, BARRIERS, program='capable').pid}&sets=mpi")
        assert (asked.status, asked.why()) == (403, "the process has other groups or more rights than you")

    def test_what_may_not_be_dumped(self, folder, ask):
        process = subprocess.Popen([*become(ALICE), folder / "caller", "undumpable", "wait"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "waits\n"
        asked = ask(ALICE, f"pid={process.pid}&sets=mpi")
        assert asked.status == 403 and asked.why().startswith("the process may not be looked at")
        process.communicate("\n")

    def test_a_program_that_the_user_may_not_read(self, folder, start, ask):
        program = shutil.copy(folder / "caller", folder / "unreadable")
        os.chmod(program, 0o711)
        caller = start(ALICE, BARRIERS, program="unreadable")
        if os.stat(f"/proc/{caller.pid}/maps").st_uid != 0:
            pytest.skip("this kernel lets users dump what they may not read")
        assert ask(ALICE, f"pid={caller.pid}&sets=mpi").status == 403
        assert not is_attached()

    def test_what_becomes_set_user_id_by_exec_is_not_traced_on(self, folder, start, ask):
        program = shutil.copy(folder / "caller", folder / "of-bob")
        os.chown(program, BOB, BOB)
        os.chmod(program, 0o4755)
        caller = start(ALICE, BARRIERS, f"exec={program}", MORE, f"bcast={BCASTS}")
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
        assert asked.status == 200
        caller.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS}
        assert caller.process.wait(60) == 0  # it did call on

    def test_what_becomes_set_group_id_by_exec_is_not_traced_on_though_it_is_dumpable(self, folder, start, ask):
        program = shutil.copy(folder / "caller", folder / "becomes-of-bobs-group")
        os.chown(program, 0, BOB)
        os.chmod(program, 0o2755)
        process = start(ALICE, BARRIERS, f"exec={program}", "dumpable", BCASTS)
        asked = ask(ALICE, f"pid={process.pid}&sets=mpi")
        process.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS}

    def test_what_becomes_another_program_of_the_user_is(self, folder, start, ask):
        caller = start(ALICE, BARRIERS, f"exec={folder}/caller", MORE)
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
        caller.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS + MORE}

    def test_what_makes_itself_undumpable_is_not_traced_on(self, start, ask):
        caller = start(ALICE, BARRIERS, "undumpable", MORE)
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
        caller.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS}

    def test_a_thread_with_other_ids_is_not_traced(self, folder, ask):
        """Root's, of which one thread became the user's and says that it may be dumped."""
        process = subprocess.Popen([folder / "caller", f"ids={ALICE}", "wait", str(BARRIERS), f"other={MORE}", f"bcast={BCASTS}"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "waits\n"
        asked = ask(ALICE, f"pid={process.pid}&sets=mpi")
        assert asked.status == 200
        process.communicate("\n")
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS, "mpi:MPI_Bcast": BCASTS}

    def test_a_number_that_comes_again_is_not_traced_on(self, start, ask, demand):
        last = pathlib.Path("/proc/sys/kernel/ns_last_pid")
        demand(last.exists(), "needs a kernel that lets root choose a process' number")
        caller = start(ALICE, f"leave={MORE}")
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
        caller.go()
        assert caller.process.wait(60) == 0  # its child goes on
        for _ in range(500):
            last.write_text(str(caller.pid - 1))
            other = start(BOB, BARRIERS)
            if other.pid == caller.pid:
                break
            other.end()
        assert other.pid == caller.pid
        other.go()
        assert other.process.wait(60) == 0
        caller.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": MORE}

    def test_others_that_use_the_same_library_are_not_told_of(self, start, ask):
        mine, others = start(ALICE, BARRIERS), start(BOB, MORE)
        asked = ask(ALICE, f"pid={mine.pid}&sets=mpi")
        others.go()
        others.process.wait(60)
        mine.go()
        assert counted(asked.text()) == {"mpi:MPI_Barrier": BARRIERS}


    def test_of_a_job_the_users_own_processes_are_traced(self, agent, folder, groups, ask):
        """A job is one user's; what another user has in it is not told."""
        def join(uid, calls):
            process = groups.start(groups.name(17), *become(uid), folder / "caller", "wait", str(calls), env={},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdout.readline() == "waits\n"
            return process

        mine = join(ALICE, BARRIERS)
        await_page(agent, lambda page: "17" in known_jobs(page))
        until(lambda: ask_agent(agent, f"/v1/jobs/{MANAGER}/17")["job"]["uid"] == ALICE)  # whose it is, is known a moment later
        others = join(BOB, MORE)
        assert ask(CAROL, f"job={MANAGER}/17&sets=mpi").status == 404
        asked = ask(ALICE, f"job={MANAGER}/17&sets=mpi")
        assert asked.status == 200
        others.communicate("\n")
        mine.communicate("\n")
        calls = lines_of(asked.text())
        assert [(call["probe"], call["job"], call["pid"]) for call in calls] == [("mpi:MPI_Barrier", "17", mine.pid)] * BARRIERS
        groups.remove(groups.name(17))

    def test_what_costs_others_too_much_is_not_probed_any_more(self, own_agent, start, ask):
        mine, others = start(ALICE, BARRIERS), start(BOB, 10_000_019)
        asked = ask(ALICE, f"pid={mine.pid}&sets=mpi", of=own_agent)
        others.go()
        until(lambda: "'MPI_Barrier' costs too much" in own_agent.log())
        mine.go()
        (line,) = lines_of(asked.text())
        assert line == {"probe": "mpi:MPI_Barrier", "missing": 0, "over_budget": True}
        next_one = start(ALICE, BARRIERS)
        asked = ask(ALICE, f"pid={next_one.pid}&sets=mpi", of=own_agent)
        assert asked.status != 200 and "cost programs of others too much; the next one can begin in" in asked.why()
        assert ask(BOB, f"pid={start(BOB, BARRIERS).pid}&sets=mpi", of=own_agent).status == 200


class TestEnds:
    def test_a_client_that_goes_ends_the_trace(self, agent, start, ask):
        caller = start(ALICE, BARRIERS)
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")
        assert asked.status == 200 and is_attached()
        asked.process.send_signal(signal.SIGKILL)
        until(lambda: not is_attached() and not processes_named(agent, "jobmeter-trace"))
        assert ask(ALICE, f"pid={caller.pid}&sets=mpi").status == 200  # there is room again

    def test_a_user_may_end_his_own_and_nobody_elses(self, agent, start, ask):
        caller = start(ALICE, BARRIERS)
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi")

        def end(uid):
            return subprocess.run([*become(uid), "curl", "-s", "--unix-socket", agent.settings["socket"]["path"], "-X", "POST",
                                   "http://localhost/v1/trace/end"], capture_output=True, text=True, check=True).stdout

        assert json.loads(end(BOB)) == {"error": "no trace of yours is under way"}
        assert is_attached()
        assert json.loads(end(ALICE)) == {}
        assert asked.text() == ""
        until(lambda: not is_attached())

    def test_it_ends_when_its_time_is_up(self, start, ask):
        caller = start(ALICE, BARRIERS)
        assert ask(ALICE, f"pid={caller.pid}&sets=mpi&duration=0.5").text() == ""
        assert caller.process.poll() is None
        until(lambda: not is_attached())

    @pytest.mark.parametrize("name", ["jobmeter-tracer", "jobmeter-trace", "agent"])
    def test_whoever_is_killed_nothing_stays(self, own_agent, start, ask, name):
        agent = own_agent
        caller = start(ALICE, BARRIERS)
        asked = ask(ALICE, f"pid={caller.pid}&sets=mpi", of=agent)
        assert is_attached()
        (pid,) = [agent.process.pid] if name == "agent" else processes_named(agent, name)
        os.kill(pid, signal.SIGKILL)
        asked.text()
        until(lambda: not is_attached() and not processes_named(agent, "jobmeter-trace"))
        if name == "agent":
            agent.process.wait(60)
            agent.start()
        if name == "jobmeter-tracer":
            until(lambda: "the helper that traces is gone" in agent.log())
            again = ask(ALICE, f"pid={caller.pid}&sets=mpi", of=agent)
            assert (again.status, again.why()) == (503, "the helper that traces is gone")
        else:
            assert ask(ALICE, f"pid={caller.pid}&sets=mpi", of=agent).status == 200

    def test_one_user_has_one_and_all_have_four(self, start, ask):
        users = [ALICE + i for i in range(5)]
        callers = [start(uid, 1) for uid in users]
        asked = [ask(uid, f"pid={caller.pid}&sets=mpi") for uid, caller in zip(users, callers)]
        assert [one.status for one in asked] == [200] * 4 + [503]
        assert asked[4].why() == "4 traces are under way already"
        second = ask(ALICE, f"pid={callers[0].pid}&sets=mpi")
        assert (second.status, second.why()) == (503, "another trace of yours is under way")

    def test_others_are_answered_meanwhile(self, agent, start, ask):
        ask(ALICE, f"pid={start(ALICE, 1).pid}&sets=mpi")
        assert agent.get("/health").status == 200


class TestCommand:
    """jobmeter trace by somebody without root."""

    def test_a_command_is_traced_from_its_first_call_on(self, alice, folder):
        done = alice.type(f"jobmeter trace --set mpi --format ndjson -- {folder}/caller {BARRIERS} bcast={BCASTS} fork={MORE}")
        assert (done.returncode, done.stderr) == (0, "")
        assert counted(done.stdout) == {"mpi:MPI_Barrier": BARRIERS + MORE, "mpi:MPI_Bcast": BCASTS}

    def test_a_summary_and_the_commands_own_status(self, alice, folder):
        done = alice.type(f"jobmeter trace --set mpi -- {folder}/caller {BARRIERS} exec=/bin/false")
        assert done.returncode == 1 and done.stdout == ""
        assert re.search(rf"MPI_Barrier +{BARRIERS}\b", done.stderr), done.stderr

    def test_the_example_of_a_reader_prints_calls(self, alice, start):
        caller = start(ALICE, *["1", "wait"] * ROUNDS)
        reader = shutil.copy(REPOSITORY / "share/examples/call-reader.py", alice.home / "reader")
        with subprocess.Popen([*become(ALICE), reader, str(caller.pid), "mpi"], env=alice.environment,
                              stdout=subprocess.PIPE, text=True) as reading:
            caller.go_until(reading.stdout)
            caller.end()
            text, _ = reading.communicate(timeout=60)
        assert reading.returncode == 0
        assert {line.rpartition(" ")[0] for line in text.splitlines()} == {f"{caller.pid} mpi:MPI_Barrier {{'comm': 0}} None"}
        refused = alice.type("./reader 1")
        assert (refused.returncode, refused.stderr) == (1, "there is no such process, or it is not yours\n")

    def test_what_only_root_may_is_said(self, alice):
        for option in ("--probe 'libz.so*:deflate'", "--budget 0", "--dry-run", "--format otlp"):
            done = alice.type(f"jobmeter trace {option} -- true")
            assert (done.returncode, done.stderr) == (1, "jobmeter trace: only root may use '--probe', '--dry-run', '--budget' "
                                                         "and '--format otlp'\n")

    def test_what_cannot_be_run_is_said(self, alice):
        done = alice.type("jobmeter trace --set mpi -- /no/such")
        assert (done.returncode, done.stderr) == (1, "jobmeter trace: cannot run '/no/such': No such file or directory\n")

    def test_a_signal_ends_it_and_the_calls_stay_whole(self, alice, start):
        caller = start(ALICE, *["1", "wait"] * ROUNDS)
        with subprocess.Popen([*become(ALICE), alice.home / "build/jobmeter", "trace", "--set", "mpi", "--format", "ndjson",
                               "--pid", str(caller.pid)], env=alice.environment, stdout=subprocess.PIPE, text=True) as trace:
            caller.go_until(trace.stdout)
            trace.send_signal(signal.SIGINT)
            text, _ = trace.communicate(timeout=60)
        assert trace.returncode == 0
        assert set(counted(text)) == {"mpi:MPI_Barrier"}
        assert caller.process.poll() is None

    @pytest.mark.parametrize("mpi", mpi_programs.MPIS)
    def test_a_run_of_mpi_is_told_as_root_is_told(self, alice, programs, demand, mpi):
        program = mpi_programs.build(mpi, "mpicc", "transfers.c", alice.home)
        demand(program, f"needs mpicc.{mpi}")
        command = " ".join(["jobmeter trace --set mpi,mpi-io --format ndjson --output calls --",
                            *mpi_programs.mpirun(mpi, program, alice.home / "file")])
        done = alice.type(command)
        assert done.returncode == 0, done.stderr
        as_root = subprocess.run(command.replace("jobmeter", str(programs / "jobmeter"), 1).replace("calls", "roots", 1), shell=True,
                                 cwd=alice.home, env=mpi_programs.ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert as_root.returncode == 0, as_root.stderr
        told = [collections.Counter((call["rank"], call["probe"], call["bytes"]) for call in lines_of((alice.home / name).read_text()))
                for name in ("calls", "roots")]
        assert told[0] == told[1] and sum(told[0].values()) > 2 * mpi_programs.BARRIERS
