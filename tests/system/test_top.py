# SPDX-License-Identifier: MIT
"""`jobmeter top`: through an agent with real groups, alone, as a user, from a recording, and on a real screen."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from agent import BUILD
from agent_pages import seldom
from job_groups import MANAGER, OWN_ONLY
from leftovers import processes
from one_agent import bench, groups, keeper, start_shared_agent  # noqa: F401
from slurm import make_users
from terminal import Terminal
from waiting import until

OWNER = f"jt{os.getpid():x}"
BUSY = "while :; do :; done"
# To a file that goes with who writes to it.
WRITES = "exec >/dev/shm/jobmeter-top; rm /dev/shm/jobmeter-top; " \
         "while :; do dd if=/dev/zero of=/dev/stdout bs=1009 count=1009 status=none; sleep 0.05; done"


class Node:
    """An agent and jobs, which others may have, too."""

    def __init__(self, agent, groups, started):
        self.agent, self.groups, self.started = agent, groups, started
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "JOBMETER_SOCKET": agent.settings["socket"]["path"]}

    def under(self, agent):
        """The same jobs, as another agent sees them."""
        return Node(agent, self.groups, self.started)

    def top(self, *options, code=0, **arguments):
        done = subprocess.run([BUILD.resolve() / "jobmeter", "top", *map(str, options)], capture_output=True, text=True,
                              timeout=60, **{"env": self.environment, **arguments})
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def ticks(self, *options, **arguments):
        return [json.loads(line) for line in self.top("--json", *options, **arguments).splitlines()]

    def ask(self, path):
        """The agent's own answer on its socket."""
        done = subprocess.run(["curl", "-s", "--unix-socket", self.environment["JOBMETER_SOCKET"],
                               f"http://localhost{path}"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def await_users(self, seconds=60):
        """Whose a job is, the agent learns from its processes."""
        until(lambda: {j["job"]["user"] for j in self.ticks("-n", 1)[0]["jobs"] if j["job"]["id"] == "9"} == {OWNER}, seconds)


@pytest.fixture(scope="module")
def node(start_shared_agent, groups, keeper):
    """Three jobs: 7 with two steps that work, 8 that writes, 9 that sleeps and is another's."""
    node = Node(start_shared_agent(rules=OWN_ONLY), groups, [])
    make_users(keeper, [OWNER])
    sleep = ["setpriv", "--reuid", OWNER, "--regid", OWNER, "--clear-groups", "sleep", "6000"]
    for name, argv in ((groups.name(7, 0, 0), ["sh", "-c", BUSY]), (groups.name(7, 1), ["sh", "-c", BUSY]),
                       (groups.name(8), ["sh", "-c", WRITES]), (groups.name(9), sleep)):
        node.started.append(groups.start(name, *argv))
    yield node
    for process in node.started:
        process.kill()
        process.wait()


def jobs_of(tick):
    return {job["job"]["id"]: job for job in tick["jobs"] if job["job"]["manager"] == MANAGER}


def busy_ticks(pids):
    """That these processes and their children have used of a CPU, in ticks of the clock."""
    fields = (pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(sum(map(int, words[11:15])) for words in fields)


def let_compute(node, ticks=5):
    """Until each process of the job that computes has used so much more of a CPU."""
    for process in node.started[:2]:
        enough = busy_ticks([process.pid]) + ticks
        until(lambda: busy_ticks([process.pid]) >= enough, pause=0.01)


def written(job):
    return sum(row["write"]["bytes"] for row in job["io"])


def check_rates(before, tick):
    """They are what each job has more than it had, over the time between both readings."""
    seconds = tick["boot_seconds"] - before["boot_seconds"]
    for key, job in jobs_of(tick).items():
        earlier = jobs_of(before)[key]
        cpu = [sum(j["cpu"][f"{mode}_seconds"] for mode in ("user", "system")) for j in (earlier, job)]
        assert job["now"]["seconds"] == pytest.approx(seconds, abs=1e-6)
        assert job["now"]["cores"] == pytest.approx((cpu[1] - cpu[0]) / seconds, rel=1e-4, abs=1e-5)
        assert job["now"]["write_bytes"] == pytest.approx((written(job) - written(earlier)) / seconds, rel=1e-4, abs=1e-3)


def lines_of(text):
    """The rows by their first word: those below the heads."""
    lines = text.splitlines()
    heads = next(i for i, line in enumerate(lines) if line.startswith(" ID "))
    return {line.split()[0]: line for line in lines[heads + 1:] if line.strip()}


class TestThroughAnAgent:
    @pytest.mark.smoke
    def test_the_first_frame_has_rates_and_the_busiest_first(self, node, start_agent):
        """Since the reading before, in which the job that computes did."""
        node = node.under(start_agent(rules=OWN_ONLY, interval=seldom()))
        node.ask("/v1/snapshot?max_age=0.05")
        let_compute(node)
        rows = lines_of(node.top("--batch", "-n", 1, "-d", 60, "--size", 80))
        cores = {key: float(rows[key].split()[3].split("/")[0]) for key in rows if key in "789"}
        assert list(cores.values()) == sorted(cores.values(), reverse=True)
        assert 0 < cores["7"] <= float(rows["7"].split()[3].split("/")[1]) == len(os.sched_getaffinity(0))
        assert cores["9"] < cores["7"]

    def test_the_first_frame_takes_one_reading_and_has_rates_since_the_last_one(self, node, start_agent, tmp_path):
        """And asking for many groups takes none each.  The agent itself takes none meanwhile, and none is younger than 50 ms."""
        node = node.under(start_agent(rules=OWN_ONLY, interval=seldom()))
        for options in (["--batch", "--size", "80"], ["--json"], ["--json", "--record", tmp_path / "recording"]):
            last = node.ask("/v1/snapshot?max_age=0.05")
            let_compute(node)
            readings = node.ask("/v1/agent")["readings"]
            text = node.top("-n", 1, "-d", 60, *options)
            assert node.ask("/v1/agent")["readings"] == readings + 1
            if options[0] == "--batch":
                assert "by CORES ▼  over " in text and float(lines_of(text)["7"].split()[3].split("/")[0]) > 0
                continue
            tick = json.loads(text)
            check_rates(last, tick)
            assert jobs_of(tick)["7"]["now"]["cores"] > 0
        recorded = json.loads((tmp_path / "recording").read_text().splitlines()[0])
        assert recorded["boot_seconds"] == last["boot_seconds"]
        path = f"/{node.groups.roots[0].name}/{node.groups.name(7, 1)}"
        begin, readings = time.monotonic(), node.ask("/v1/agent")["readings"]
        for _ in range(7):
            assert node.ask(f"/v1/group?path={path}")["id"] == "7"
            time.sleep(0.06)
        assert node.ask("/v1/agent")["readings"] <= readings + 1 + int(time.monotonic() - begin)

    def test_the_node_stands_above_its_jobs_as_proc_has_it(self, node):
        def meminfo():
            lines = (line.split() for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
            return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}

        def busy():
            user, nice, system, _, _, irq, softirq, *_ = map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:])
            return user + nice + system + irq + softirq

        before = busy()
        told = node.ask("/v1/snapshot?max_age=0.05")["node"]
        after = busy()
        mine = sum(told[f"cpu_{mode}_seconds"] for mode in ("user", "nice", "system", "irq", "softirq"))
        assert before <= round(mine * os.sysconf("SC_CLK_TCK")) <= after
        assert told["cpus"] == os.cpu_count() and told["memory_total_bytes"] == meminfo()["MemTotal"]
        assert told["swap_total_bytes"] == meminfo()["SwapTotal"]
        assert 0 < told["memory_available_bytes"] < told["memory_total_bytes"] and told["load15"] >= 0
        text = node.top("--batch", "-n", 1, "--size", 80)
        assert re.search(rf"^ CPU +[█·]{{20}} +[\d.]+ % of {os.cpu_count()} CPU", text, re.M)
        assert re.search(r"^ memory +[█·]{20} +[\d.]+ % of [\d.]+ GiB", text, re.M)
        assert re.search(r"^ load +[\d.]+ [\d.]+ [\d.]+", text, re.M)
        small = node.top("--batch", "-n", 1, "--size", "40x10").splitlines()
        assert re.match(r" CPU [\d.]+ %  memory [\d.]+ %  load", small[1]) and small[2].startswith(" ID ")

    def test_a_site_may_not_want_numbers_of_the_node(self, node, start_agent):
        node = node.under(start_agent(rules=OWN_ONLY, node_files="off"))
        assert "node" not in node.ask("/v1/snapshot")
        assert node.top("--batch", "-n", 1, "--size", 80).splitlines()[1].startswith(" ID ")

    def test_columns_are_chosen(self, node):
        node.await_users()
        rows = node.top("--batch", "-n", 1, "-o", "id,user,state", "--no-legend").splitlines()
        assert [row.split()[1:] for row in rows if row.split()[0] == "9"] == [[OWNER, "S"]]
        assert not any("CORES" in row or "CPU" in row for row in rows)
        assert "there is no column 'x'" in node.top("--batch", "-o", "id,x", code=2)

    def test_jobs_that_do_nothing_are_left_out_where_somebody_wants_that(self, node):
        node.await_users()
        shown = lines_of(node.top("--batch", "-n", 1, "--hide-idle", "--size", 80))
        assert "7" in shown and "9" not in shown
        assert "9" not in jobs_of(node.ticks("-n", 1, "-i")[0])

    def test_rates_are_the_difference_of_two_readings_over_their_own_times(self, node):
        checked, end = 0, time.monotonic() + 60
        while not checked:  # something has to be written meanwhile
            assert time.monotonic() < end
            first, *rest = node.ticks("-n", 4, "-d", 0.3)
            for tick in rest:
                check_rates(first, tick)
                checked += sum(job["now"]["write_bytes"] > 0 for job in jobs_of(tick).values())
                first = tick

    def test_a_job_of_now_is_there_at_the_next_tick_and_one_that_ended_is_not_for_long(self, node):
        of_now = node.groups.start(node.groups.name(50), "sleep", "600")
        with subprocess.Popen([BUILD.resolve() / "jobmeter", "top", "--json", "-d", "0.3"], env=node.environment, text=True,
                              stdout=subprocess.PIPE) as top:
            first = jobs_of(json.loads(top.stdout.readline()))
            of_now.kill()
            of_now.wait()
            node.groups.remove(node.groups.name(50))
            shown = []
            while "50" in (jobs := jobs_of(json.loads(top.stdout.readline()))):
                shown.append(jobs["50"]["final"])
            top.terminate()
        assert "50" in first and shown.count(True) <= 1 and True not in shown[:-1]

    def test_the_tree_has_steps_tasks_and_processes(self, node):
        text = node.top("--batch", "--tree", "-n", 1, "--size", 120)
        pids = [str(p.pid) for p in node.started]
        lines = text.splitlines()
        at = {pid: next(i for i, line in enumerate(lines) if re.match(rf"[ │├└]*{pid} ", line)) for pid in pids}
        step = next(i for i, line in enumerate(lines) if re.match(r" [├└]\.0 ", line))
        assert re.match(r" [│ ]└task 0 ", lines[step + 1])
        assert at[pids[0]] == step + 2 and "sh" in lines[at[pids[0]]]
        assert "sleep" in lines[at[pids[3]]]

    def test_jobs_and_users_are_chosen(self, node):
        node.await_users()
        assert set(jobs_of(node.ticks("-n", 1, "--job", f"8,{MANAGER}/9")[0])) == {"8", "9"}
        assert set(jobs_of(node.ticks("-n", 1, "--user", OWNER)[0])) == {"9"}
        assert "there is no job '4711' that lives" in node.top("--batch", "-n", 1, "--job", "4711", code=1)

    def test_a_user_sees_his_own_jobs_and_no_other(self, node, tmp_path):
        node.await_users()
        folder = node.agent.folder.parent / "programs"
        folder.mkdir()
        folder.chmod(0o755)
        program = shutil.copy(BUILD.resolve() / "jobmeter", folder)

        def top(*options):
            return subprocess.run([program, "top", *options], capture_output=True, text=True, check=True, user=OWNER,
                                  group=OWNER, extra_groups=[], env=node.environment, cwd="/").stdout

        tick = json.loads(top("--json", "-n", "1"))
        assert [job["job"]["id"] for job in tick["jobs"]] == ["9"]
        text = top("--batch", "--tree", "-n", "1", "--size", "100")
        assert "1 job " in text and str(node.started[3].pid) in text
        assert str(node.started[0].pid) not in text

    def test_a_run_of_roots_is_roots(self, node, start_agent):
        node = node.under(start_agent())
        run = subprocess.Popen([BUILD.resolve() / "jobmeter", "run", "--", "sleep", "600"], env=node.environment,
                               stderr=subprocess.DEVNULL)
        try:
            until(lambda: re.search(rf"^.{run.pid} +root +\(sleep\) ", node.top("--batch", "-n", 1, "--size", 80), re.M), pause=0.3)
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait()

    def test_a_job_without_a_name_is_told_by_what_it_runs(self, node):
        until(lambda: "(sleep)" in lines_of(node.top("--batch", "-n", 1, "--size", 80)).get("9", ""), pause=0.3)
        job = jobs_of(node.ticks("-n", 1)[0])["9"]["job"]
        assert job["command"] == ["sleep"] and job["name"] is None

    def test_who_looks_again_gets_whole_jobs_that_did_something(self, node):
        node.await_users()

        def pair():
            whole = node.ask("/v1/snapshot?max_age=0.05")
            time.sleep(0.3)
            now = node.ask(f"/v1/snapshot?max_age=0.05&since={whole['boot_seconds']:.9f}")
            assert whole["boot_seconds"] < now["boot_seconds"]
            return whole["jobs"], now["jobs"]

        def by_id(jobs):
            ids = {j["id"] if "unchanged" in j else j["job"]["id"]: j for j in jobs}
            return {i: j for i, j in ids.items() if (j.get("manager") or j["job"]["manager"]) == MANAGER}

        before, now = map(by_id, pair())
        end = time.monotonic() + 60
        while "unchanged" not in now["9"]:  # now and then it is looked whether somebody knows more of the job
            assert time.monotonic() < end
            before, now = map(by_id, pair())
        assert before.keys() == now.keys() >= {"7", "8", "9"} and not any("unchanged" in j for j in before.values())
        assert now["9"]["elapsed_seconds"] > before["9"]["time"]["elapsed_seconds"]
        assert now["8"]["io"] and now["8"]["cpu"]

    def test_sums_of_files_are_those_of_the_rows(self, node):
        """Of the job that sleeps, whose numbers stand still; each mount on which something was done has its own."""
        node.await_users()
        whole = jobs_of(node.ask("/v1/snapshot?max_age=0.05"))["9"]
        summed = jobs_of(node.ask("/v1/snapshot?max_age=0.05&files=sums"))["9"]
        rows = {(row["mount"], row["fstype"]): (row["read"]["bytes"], row["write"]["bytes"],
                                                sum(op["calls"] for op in row["meta"].values()))
                for row in whole["io"] if row["mount"] != "(kernel)"}
        assert rows and summed["io"] is None
        assert {(row["mount"], row["fstype"]): (row["read_bytes"], row["write_bytes"], row["meta_calls"])
                for row in summed["io_sums"]} == {key: sums for key, sums in rows.items() if any(sums)}
        assert len(json.dumps(summed)) < len(json.dumps(whole))

    def test_a_recording_is_played_as_it_was(self, node, tmp_path):
        file = tmp_path / "recording"
        now = node.ticks("-n", 3, "-d", 0.3, "--record", file)
        lines = file.read_text().splitlines()
        assert len(lines) == 4  # and the reading before the first
        assert [json.loads(line) for line in lines[1:]] == now
        assert node.ticks("--replay", file, env={**node.environment, "JOBMETER_SOCKET": "/nonexistent"}) == now
        text = node.top("--replay", file, "--batch", "--size", 100)
        assert text.count("by CORES") == 3 and "4 of 4" in text

    def test_a_torn_recording_is_told_in_a_line(self, node, tmp_path):
        file, torn = tmp_path / "recording", tmp_path / "torn"
        node.top("--batch", "-n", 2, "-d", 0.1, "--record", file)
        torn.write_text(file.read_text()[:-7])
        done = subprocess.run([BUILD.resolve() / "jobmeter", "top", "--batch", "--replay", torn], capture_output=True,
                              text=True, check=True, env=node.environment)
        assert done.stderr == f"jobmeter top: {torn}:3: the line is torn, and left out\n"
        assert done.stdout.count("by CORES") == 1
        torn.write_text("{}\n")
        assert node.top("--batch", "--replay", torn, code=1) == \
            f"jobmeter top: {torn}:1: schema is not 'jobmeter.snapshot/1'\n"


@pytest.fixture
def screen(node, tmp_path, demand):
    """A real terminal in which top runs between two looks at its settings; under=: an agent of its own."""
    demand(shutil.which("tmux"), "needs tmux")
    opened = []

    def start(*options, columns=80, rows=24, under=None, **environment):
        words = [f"{key}={value}" for key, value in {**environment, "LC_ALL": "C.UTF-8", "JOBMETER_SOCKET":
                 (under or node.agent).settings["socket"]["path"]}.items()]
        script = 'trap : INT; echo before; stty -g > "$0"; "$@"; echo "left with $?"; stty -g >> "$0"'
        settings = tmp_path / f"stty-{len(opened)}"
        t = Terminal("env", *words, "sh", "-c", script, settings, BUILD.resolve() / "jobmeter", "top", *options,
                     columns=columns, rows=rows)
        t.settings = settings
        opened.append(t)
        return t

    yield start
    for t in opened:
        t.close()


def left(terminal):
    """After it left: the screen is what it was before, and so is the terminal."""
    text = terminal.wait_for("left with 0")
    assert "before" in text and "CORES" not in text
    before, after = until(lambda: len(lines := terminal.settings.read_text().split()) == 2 and lines)
    assert before == after


def click(terminal, column, row):
    """As a terminal tells of it: pressed, and released."""
    at = f"{chr(33 + column)}{chr(33 + row)}"
    terminal.type("-l", f"\x1b[M {at}\x1b[M#{at}")


class TestOnAScreen:
    def test_keys_do_what_htops_do(self, screen, node):
        node.await_users()
        t = screen("--delay", "0.5")
        t.wait_for("by CORES")
        t.wait_for("every 500 ms")
        assert "F10Quit" in t.screen() and "WAIT BLOCKED" in t.screen()
        t.type("M")
        t.wait_for("by MEMORY ▼")
        t.type("I")
        t.wait_for("by MEMORY ▲")
        t.type("F6", "Up", "Enter")
        t.wait_for("by BLOCKED")
        t.type("F5")
        t.wait_for("task 0")
        t.type("t", "i")
        t.wait_for("idle hidden")
        t.type("i", "F4")
        t.wait_for("filter:")
        t.type(OWNER, "Enter")
        t.wait_for("1 of ")
        t.wait_for("\n>9 ")
        t.type("Enter")
        t.wait_for("in 9")
        t.wait_for(f"{MANAGER}/9")
        t.wait_until(lambda: re.search(rf"{node.started[3].pid}\b.*\bsleep", t.screen()))
        t.type("Escape")
        t.type("\\", "Escape")
        t.type("8", "d")  # the one that writes
        t.wait_for("mounts  ")
        t.wait_for("/dev/shm")
        t.type("d")
        t.wait_for(f"{len(set(jobs_of(node.ticks('-n', 1)[0])))}")
        t.type("?")
        t.wait_for("this help")
        t.type("q")
        t.wait_for("F10Quit")
        t.type("Z")
        t.wait_for("PAUSED")
        t.type("q")
        left(t)

    def test_every_size_is_filled(self, screen):
        t = screen("-d", "0.5")
        t.wait_for("READ WRITE   TIME S")
        for columns, rows, word in [(160, 50, "METADATA BY MOUNT"), (40, 10, "READ WRITE\n"), (80, 24, "WRITE   TIME S\n")]:
            t.tmux("resize-window", "-x", str(columns), "-y", str(rows))
            t.wait_for(word)
            assert all(len(line) <= columns for line in t.tmux("capture-pane", "-p").splitlines())
        t.type("F10")
        left(t)

    def test_the_mouse_sorts_and_selects(self, screen):
        t = screen("-d", "0.5")
        lines = t.wait_for("READ WRITE   TIME S").splitlines()
        heads = next(i for i, line in enumerate(lines) if "WRITE   TIME" in line)
        click(t, lines[heads].index("WRITE") + 1, heads)
        t.wait_for("by WRITE")
        click(t, 3, heads + 2)
        t.wait_until(lambda: t.tmux("capture-pane", "-p").splitlines()[heads + 2].startswith(">"))
        t.type("q")
        left(t)

    def test_a_signal_leaves_the_terminal_as_it_was(self, screen):
        t = screen()
        t.wait_for("by CORES")
        t.type("C-c")
        left(t)

    def test_without_colours_and_without_more_than_ascii(self, screen):
        t = screen("--ascii", "--tree", NO_COLOR="1")
        text = t.wait_for("task 0")
        assert text.isascii() and "by CORES v" in text
        coloured = t.tmux("capture-pane", "-p", "-e")
        assert re.search(r"[\[;]7m", coloured) and not re.search(r"[\[;][34]([0-7]|8;5;\d+)m", coloured)
        t.type("q")
        left(t)

    def test_an_agent_that_comes_back_is_asked_again(self, screen, start_agent):
        agent = start_agent(rules=OWN_ONLY)
        t = screen("-d", "0.3", under=agent)
        t.wait_for("every 300 ms")
        agent.step_aside()
        t.wait_for("no agent answers")
        agent.start()
        t.wait_for("every 300 ms")
        t.type("q")
        left(t)

    def test_an_agent_that_stands_still_does_not_hold_the_keys_and_is_shown_again(self, screen, start_agent):
        agent = start_agent(rules=OWN_ONLY)
        t, stays = screen("-d", "0.3", under=agent), screen("-d", "0.3", "--tree", under=agent)
        for one in (t, stays):
            one.wait_for("by the agent  every 300 ms")
        agent.process.send_signal(signal.SIGSTOP)
        try:
            stays.wait_for("waiting for the agent for ")
            t.wait_for("waiting for the agent for ")
            t.type("M")
            t.wait_for("by MEMORY")
            assert "waiting for the agent for " in t.wait_for("waiting for the agent for ")  # the same request still
            t.type("q")
            left(t)
            assert "does not answer" not in t.screen()
        finally:
            agent.process.send_signal(signal.SIGCONT)
        stays.wait_for("every 300 ms")
        stays.wait_for("task 0")
        stays.type("q")
        left(stays)

    def test_a_meter_of_our_own_starts_behind_the_screen(self, screen):
        """Which takes a second and more; who does not wait for it leaves nothing."""
        t = screen("--standalone")
        t.wait_for("by the meter of our own")
        t.wait_until(lambda: "starting a meter of our own" in t.written())  # before that
        t.type("q")
        left(t)
        t = screen("--standalone")
        t.wait_until(lambda: "starting a meter of our own" in t.written())
        t.type("q")
        left(t)

    def test_a_recording_is_stepped_through(self, screen, node, tmp_path):
        file = tmp_path / "recording"
        node.top("--batch", "-n", 5, "-d", 0.1, "--record", file)
        t = screen("--replay", file, "-d", "60")
        t.wait_for("2 of 6")
        t.type("Right", "Right")
        t.wait_for("4 of 6")
        t.type("Left")
        t.wait_for("3 of 6")
        t.type("q")
        left(t)


class TestAlone:
    @pytest.mark.smoke
    def test_root_measures_by_himself_and_leaves_nothing(self, programs, groups, keeper, tmp_path):
        """By the built-in rules: a group as Slurm makes them."""
        name = f"slurm_test/uid_0/job_{os.getpid()}"
        process = groups.start(name, "sh", "-c", WRITES)
        file = tmp_path / "ticks"
        try:
            end, found = time.monotonic() + 60, []
            while not any(job["now"]["write_bytes"] > 0 for job in found):
                assert time.monotonic() < end
                done = subprocess.run([programs / "jobmeter", "top", "--standalone", "--json", "-n", "3", "-d", "0.5"],
                                      stdout=open(file, "w"), stderr=subprocess.PIPE, text=True, timeout=120)
                assert done.returncode == 0 and not done.stderr, done.stderr
                ticks = [json.loads(line) for line in file.read_text().splitlines()]
                found = [job for tick in ticks for job in tick["jobs"] if job["job"]["id"] == str(os.getpid())]
                assert len(found) == 3
        finally:
            process.kill()
            process.wait()
            groups.remove("slurm_test")
        assert not processes()

    def test_one_that_is_killed_leaves_nothing(self, programs, root):
        """In a /run of its own, which other tests write nothing to."""
        killed = subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount -t tmpfs made /run && exec "$@"', "sh", programs / "jobmeter", "top",
                                   "--standalone", "--json", "-d", "60"], stdout=subprocess.PIPE)
        assert killed.stdout.readline()
        folder = os.open(f"/proc/{killed.pid}/root/run", os.O_RDONLY)  # it can be read when its mount is gone, too
        killed.kill()
        killed.communicate()
        remaining = os.listdir(folder)
        os.close(folder)
        assert not remaining

    def test_a_user_without_an_agent_is_told(self, programs, keeper):
        make_users(keeper, [OWNER])
        environment = {"PATH": os.environ["PATH"], "JOBMETER_SOCKET": "/nonexistent"}
        program = shutil.copy(programs / "jobmeter", "/dev/shm/jobmeter-of-a-user")
        recorded = pathlib.Path("/dev/shm/jobmeter-of-a-user.ndjson")
        recorded.write_text("of yesterday")
        shutil.chown(recorded, OWNER)
        try:
            for options in (["--batch"], ["--batch", "--standalone"], ["--batch", "--record", recorded]):
                done = subprocess.run([program, "top", *options], capture_output=True, text=True, env=environment,
                                      user=OWNER, group=OWNER, extra_groups=[], cwd="/")
                assert done.returncode == 1 and "root" in done.stderr and done.stderr.count("\n") == 1
            assert recorded.read_text() == "of yesterday"
        finally:
            os.unlink(program)
            recorded.unlink()


@pytest.mark.parametrize("options, words", [
    (["--delay", "0"], "a delay is from 0.1 to 60 seconds, not '0'"),
    (["--delay", "61"], "a delay is from 0.1 to 60 seconds"),
    (["-n", "0"], "a number of iterations is 1 or more, not '0'"),
    (["--size", "80x2", "--batch"], "a size is COLUMNSxROWS"),
    (["--size", "80x24", "--json"], "'--size' needs '--batch'"),
    (["--batch", "--json"], "exclude each other"),
    (["--batch", "--job", "7,,8"], "7,,8"),
    (["--batch", "--user", ""], "is not a user name"),
    (["--batch", "--replay", "a", "--record", "b"], "'--replay' and '--record' exclude each other"),
    (["--batch", "--replay", "a", "--standalone"], "'--replay' and '--standalone' exclude each other"),
    (["7"], "did you mean '--job 7'?"),
    (["--bath"], "did you mean '--batch'?"),
    ([], "the output is not a terminal; use '--batch' or '--json'"),
])
def test_what_makes_no_sense_is_told_in_a_line(programs, options, words):
    done = subprocess.run([programs / "jobmeter", "top", *options], capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_a_dumb_terminal_is_told_in_a_line(screen):
    t = screen(TERM="dumb")
    assert "this is no terminal to draw on; '--batch' prints text" in t.wait_for("left with 2")
