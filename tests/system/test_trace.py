# SPDX-License-Identifier: MIT
"""Traced calls: what was received, dropped and skipped is what was made, whatever becomes of who makes them."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from command import command
from waiting import until

BUSY = ["--budget", "0"]  # these, or others of this machine, call as often as they can


@pytest.fixture
def traced(programs, root):
    return programs / "tests/system/traced"


@pytest.fixture
def trace(programs, root):
    """trace(option..., command=[...]): the calls, and what is said of missing ones; all of its own process."""

    def run(*options, command, code=0):
        done = subprocess.run([programs / "jobmeter", "trace", *BUSY, "--format", "ndjson", *options, "--", *command],
                              capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr

    return run


def missing(said):
    """{function: (missing, made)} of the messages."""
    line = re.compile(r"jobmeter trace: (\d+) of (\d+) calls of '(\w+)' are missing")
    return {m[3]: (int(m[1]), int(m[2])) for m in line.finditer(said)}


def probe(traced, text):
    return ["--probe", f"{traced}:{text}"]


def programs_of(pid):
    """The ids of the BPF programs that a process has loaded or attached."""
    found = set()
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found |= {int(number) for number in re.findall(r"^prog_id:\s*(\d+)$", file.read_text(), re.M)}
    return found


def await_unloading(ids, seconds=60):
    """The kernel frees programs a moment after their owner; one that is still attached would stay."""
    def left():
        return ids & {p["id"] for p in json.loads(command("bpftool", "-j", "prog").stdout)}

    until(lambda: not left(), seconds, left)


def count_lines(stream, pause):
    """How many calls come, read with pauses."""
    lines = 0
    while block := stream.read(1 << 20):
        lines += block.count(b"\n")
        time.sleep(pause)
    return lines


@pytest.mark.parametrize("calls, threads, pause_every, pause", [
    (100_003, 1, 97, 0), (500_009, 1, 0, 0), (350_003, 2, 0, 0.05)],
    ids=["gentle", "one", "two-slow-reader"])
def test_received_and_dropped_calls_are_those_made(programs, traced, calls, threads, pause_every, pause):
    with subprocess.Popen([programs / "jobmeter", "trace", *BUSY, "--format", "ndjson",
                           *probe(traced, "traced_work(size=p1, bytes=size)"), "--", traced, "work", str(calls), str(threads),
                           str(pause_every)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        received = count_lines(process.stdout, pause)
        said = process.stderr.read().decode()
    assert process.returncode == 0, said
    dropped, made = missing(said).get("traced_work", (0, received))
    assert made == calls * threads
    assert received + dropped == made


def test_nested_calls_have_their_own_times_and_depths(trace, traced):
    calls, said = trace(*probe(traced, "traced_nested(depth=p1, exit=return)"), command=[traced, "nested", "101", "13"])
    assert said == ""
    assert collections.Counter(c["arguments"]["depth"] for c in calls) == {depth: 101 for depth in range(1, 14)}
    assert all(c["return"] == c["arguments"]["depth"] for c in calls)
    for inner, outer in zip(calls, calls[1:]):
        if outer["arguments"]["depth"] == 1:
            continue
        assert outer["timestamp_ns"] <= inner["timestamp_ns"]
        assert (inner["timestamp_ns"] + inner["duration_ns"]) <= outer["timestamp_ns"] + outer["duration_ns"]


def test_calls_that_are_too_deep_are_said(trace, traced):
    calls, said = trace(*probe(traced, "traced_nested(depth=p1, exit=return)"), command=[traced, "nested", "3", "29"])
    assert missing(said)["traced_nested"] == (3 * (29 - 16), 3 * 29)
    assert sorted({c["arguments"]["depth"] for c in calls}) == list(range(29 - 15, 30))


def test_what_longjmp_leaves_does_not_disturb_the_others(trace, traced):
    calls, _ = trace(*probe(traced, "traced_leave(how=p1, exit=return)"), *probe(traced, "traced_work(n=p1, exit=return)"),
                     command=[traced, "leave", "37"])
    assert [(c["probe"].split(":")[1], c["arguments"]) for c in calls] == [("traced_leave", {"how": 0}),
                                                                            ("traced_work", {"n": 1})]


def test_a_process_that_becomes_another_is_followed(trace, traced):
    calls, said = trace(*probe(traced, "traced_work(n=p1)"), command=[traced, "exec", traced, "work", "17", "1", "0"])
    assert said == ""
    assert len(calls) == 11 + 17
    assert len({c["pid"] for c in calls}) == 1


def test_children_are_followed(trace, traced):
    script = f"{traced} work 13 1 0 & {traced} work 19 1 0; wait"
    calls, _ = trace(*probe(traced, "traced_work(n=p1)"), command=["sh", "-c", script])
    assert sorted(collections.Counter(c["pid"] for c in calls).values()) == [13, 19]


def test_a_text_that_nobody_touched_is_read(trace, traced):
    calls, _ = trace(*probe(traced, "traced_text(text=str(p1, 64), sleepable=yes)"), command=[traced, "text"])
    assert [c["arguments"] for c in calls] == [{"text": "untouched"}]


@pytest.mark.parametrize("product, bytes_of", [
    ("n * 2147483648 * 1073741824", lambda n: n << 61 if n < 4 else None),  # beyond 63 bits
    ("n * n * n * 3", lambda n: 3 * n ** 3),
    ("17 * widths(n)", lambda n: {0: 17, 1: 34, 3: 136}.get(n)),  # a row of 0, and behind the table
    ("sign * 3 | n", lambda n: n if n % 2 else 0),  # -1 of odd numbers
], ids=["overflow", "cube", "table", "negative"])
def test_bytes_are_the_first_product_that_is_known(trace, traced, tmp_path, product, bytes_of):
    probes = tmp_path / "made.probe"
    probes.write_text(f"[set made]\nabout = a test\n[library traced]\nfile = {traced}\n[table widths]\nrows = 1 2 0 8\n"
                      f"[probe traced_work]\ncap.n = p1:s64\ncap.sign = p1:s64 bits 0..0\nbytes = {product}\n")
    calls, _ = trace("--set", probes, command=[traced, "exec", "/bin/true"])
    assert [c.get("bytes") for c in calls] == [bytes_of(n) for n in range(11)]


def test_a_command_that_cannot_be_run_is_named(trace, traced):
    done = trace(*probe(traced, "traced_work(n=p1)"), command=["/etc/passwd/x"], code=1)
    assert "cannot run '/etc/passwd/x': Not a directory" in done[1]


def test_more_programs_than_can_be_kept_are_no_trouble_if_they_have_no_probes(trace, tmp_path):
    """As of a build: each may be one that MPI is linked into, and is looked at."""
    for i in range(1103):
        shutil.copy("/bin/sleep", tmp_path / f"s{i}")
    script = f"for program in {tmp_path}/s*; do $program 3 & done; wait"
    calls, said = trace("--set", "mpi", command=["sh", "-c", script])
    assert calls == [] and said == ""


def follow(programs, traced, *options, mode=("endless",)):
    """A process that waits for us, and a trace of it."""
    target = subprocess.Popen([traced, *mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert target.stdout.readline() == b"ready\n"
    tracer = subprocess.Popen([programs / "jobmeter", "trace", *BUSY, "--format", "ndjson", "--pid", str(target.pid),
                               *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return target, tracer


def take_calls(tracer, number):
    """Wait for so many."""
    for _ in range(number):
        assert tracer.stdout.readline().startswith(b"{")


def drain(tracer):
    """The other calls, as far as their lines are whole, and what was said."""
    out = tracer.stdout.read()
    said = tracer.stderr.read().decode()
    tracer.wait()
    return [json.loads(line) for line in out.splitlines(True) if line.endswith(b"\n")], said


def links_of(pid):
    """How many attachments of BPF programs a process holds."""
    count = 0
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            count += "link_id:" in file.read_text()
        except OSError:  # closed meanwhile
            pass
    return count


def test_a_library_that_is_opened_late_is_found(programs, traced):
    library = programs / "tests/system/traced_late.so"
    target, tracer = follow(programs, traced, "--probe", "traced_late*.so:late_work(n=p1)",
                            mode=("late", library, "23"))
    target.stdin.write(b"\n")
    target.stdin.flush()
    assert target.stdout.readline() == b"open\n"
    while links_of(tracer.pid) < 5:  # four follow forks, programs, ends and what threads are in when they end
        assert tracer.poll() is None
        time.sleep(0.05)
    target.stdin.write(b"\n")
    target.stdin.close()
    assert target.wait() == 0
    calls, said = drain(tracer)
    assert said == ""
    assert [c["arguments"]["n"] for c in calls] == list(range(23))


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_trace_that_ends_leaves_nothing_attached(programs, traced, end):
    target, tracer = follow(programs, traced, *probe(traced, "traced_work(n=p1, exit=return)"))
    try:
        take_calls(tracer, 101)
        ids = programs_of(tracer.pid)
        assert len(ids) >= 2  # at the function's entry and its end
        tracer.send_signal(end)
        drain(tracer)
        await_unloading(ids)
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()


def control_of(pid):
    """The id of the map with the switch, of the tracer @pid."""
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError, subprocess.CalledProcessError):  # closed meanwhile, and gone
            if (m := re.search(r"^map_id:\s*(\d+)$", file.read_text(), re.M)) and "control" in json.loads(
                    command("bpftool", "-j", "map", "show", "id", m[1]).stdout)["name"]:
                return m[1]
    raise LookupError("no switch")


def is_on(control):
    (entry,) = json.loads(command("bpftool", "-j", "map", "dump", "id", control).stdout)
    return any(int(byte, 16) for byte in entry["value"])


@pytest.mark.parametrize("how", ["asked", "duration"])
def test_it_is_off_on_time_though_nobody_reads(programs, traced, how):
    target, tracer = follow(programs, traced, *(["--duration", "2"] if how == "duration" else []),
                            *probe(traced, "traced_work(n=p1)"))
    try:
        take_calls(tracer, 1)  # and then it waits for us, with a pipe that is full
        control = control_of(tracer.pid)
        if how == "asked":
            assert is_on(control)
            tracer.send_signal(signal.SIGINT)
        while is_on(control):
            time.sleep(0.01)
        off_ns = time.time_ns()
        assert tracer.poll() is None and target.poll() is None
        calls, _ = drain(tracer)
        assert tracer.returncode == 0
        assert len(calls) > 1000 and max(c["timestamp_ns"] for c in calls) < off_ns
    finally:
        target.kill()
        target.wait()


@pytest.mark.parametrize("fate", ["killed", "stopped"])
def test_whatever_becomes_of_the_target_the_trace_ends_well(programs, traced, fate):
    target, tracer = follow(programs, traced, *probe(traced, "traced_work(n=p1, exit=return)"))
    try:
        take_calls(tracer, 101)
        target.send_signal(signal.SIGKILL if fate == "killed" else signal.SIGSTOP)
        if fate == "stopped":
            tracer.send_signal(signal.SIGINT)
        _, said = drain(tracer)
        assert tracer.returncode == 0, said
    finally:
        target.kill()
        target.wait()


def test_calls_of_a_job_are_counted_and_of_others_not(programs, traced, root):
    other = subprocess.Popen([traced, "endless"], stdout=subprocess.PIPE)
    job = subprocess.Popen([programs / "jobmeter", "run", "--standalone", "--quiet", "--", traced, "endless"],
                           stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == job.stdout.readline() == b"ready\n"
        done = subprocess.run([programs / "jobmeter", "trace", *BUSY, "--format", "ndjson", "--job", f"run/{job.pid}",
                               "--duration", "1", *probe(traced, "traced_work(n=p1)")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        pids = {json.loads(line)["pid"] for line in done.stdout.splitlines()}
        assert len(pids) == 1 and other.pid not in pids
    finally:
        other.kill()
        job.send_signal(signal.SIGTERM)
        other.wait()
        job.wait()


PYTHON = "/usr/bin/python3"


def test_usdt_probes_are_switched_on_and_their_arguments_read(trace, root, demand):
    python = os.path.realpath(PYTHON)
    demand(b"gc__start" in open(python, "rb").read(), f"{python} has no USDT probes")
    calls, _ = trace("--probe", f"usdt:{python}:python:gc__start(generation=p1:s64)",
                     command=[PYTHON, "-c", "import gc\nfor i in range(13): gc.collect(1)"])
    assert collections.Counter(c["arguments"]["generation"] for c in calls)[1] == 13


TWO_SITES = """
#include <sys/sdt.h>
__attribute__((noinline)) static void at(int skipped, int n) { (void)skipped; DTRACE_PROBE1(made, it, n); }
int main(void) { for (int i = 0; i < 11; i++) { DTRACE_PROBE1(made, it, 1997); at(i, i); } }
"""


def test_each_site_of_a_usdt_probe_has_its_own_arguments(trace, tmp_path, demand):
    demand(os.path.exists("/usr/include/x86_64-linux-gnu/sys/sdt.h") or os.path.exists("/usr/include/sys/sdt.h"), "needs systemtap-sdt-dev")
    (tmp_path / "sites.c").write_text(TWO_SITES)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "sites", tmp_path / "sites.c"], check=True)
    calls, _ = trace("--probe", f"usdt:{tmp_path}/sites:made:it(n=p1:s32)", command=[tmp_path / "sites"])
    assert collections.Counter(c["arguments"]["n"] for c in calls) == collections.Counter([1997] * 11 + list(range(11)))


THROWING = """
#include <cstdio>
extern "C" __attribute__((noinline)) int traced_throw(int n) { if (n % 2) throw n; return n; }
int main() { int caught = 0; for (int i = 0; i < 101; i++) try { traced_throw(i); } catch (int) { caught++; }
             std::printf("%d\\n", caught); }
"""


@pytest.fixture
def throwing(tmp_path, demand):
    demand(shutil.which("g++"), "needs g++")
    (tmp_path / "throwing.cc").write_text(THROWING)
    subprocess.run(["g++", "-O1", "-o", tmp_path / "throwing", tmp_path / "throwing.cc"], check=True)
    return tmp_path / "throwing"


def test_an_exception_through_a_probed_function_survives(programs, trace, throwing):
    refused = subprocess.run([programs / "jobmeter", "trace", "--probe",
                              f"{throwing}:traced_throw(n=p1:s32, throws=yes, exit=return)", "--", throwing],
                             capture_output=True, text=True)
    assert refused.returncode == 2, refused.stderr
    trace("--output", str(throwing) + ".ndjson", "--probe",
                     f"{throwing}:traced_throw(n=p1:s32, throws=yes, exit=ret-insn)", command=[throwing])
    with open(str(throwing) + ".ndjson") as lines:
        calls = [json.loads(line) for line in lines]
    assert [c["arguments"]["n"] for c in calls] == list(range(0, 101, 2))


@pytest.mark.parametrize("how", [["-static"], ["-O1"]], ids=["static", "dynamic"])
def test_programs_are_probed_by_their_own_symbols(trace, how, tmp_path):
    (tmp_path / "one.c").write_text("__attribute__((noinline)) int one(int n) { __asm__ volatile(\"nop\"); return n; }\n"
                                    "int main(void) { for (int i = 0; i < 29; i++) one(i); return 0; }\n")
    subprocess.run(["gcc", "-O1", *how, "-o", tmp_path / "one", tmp_path / "one.c"], check=True)
    calls, _ = trace("--probe", f"{tmp_path}/one:one(n=p1:s32)", command=[tmp_path / "one"])
    assert [c["arguments"]["n"] for c in calls] == list(range(29))


def test_a_stripped_program_is_said_to_lack_the_function(programs, root, tmp_path):
    (tmp_path / "one.c").write_text("static __attribute__((noinline)) int one(int n) { __asm__ volatile(\"\"); return n; }\n"
                                    "int main(int argc, char **argv) { (void)argv; return one(argc) - 1; }\n")
    subprocess.run(["gcc", "-O1", "-s", "-o", tmp_path / "one", tmp_path / "one.c"], check=True)
    done = subprocess.run([programs / "jobmeter", "trace", "--dry-run", "--probe", f"{tmp_path}/one:one(n=p1)", "--",
                           tmp_path / "one"], capture_output=True, text=True, check=True)
    assert "one (stripped)" in done.stdout
    assert "1 functions are not in their files" in done.stdout


def test_a_program_below_an_overlay_is_the_same_file(programs, root, traced, tmp_path, demand):
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    shutil.copy(traced, tmp_path / "lower/traced")
    mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                              f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work",
                              tmp_path / "merged"], capture_output=True, text=True)
    demand(mounted.returncode == 0, f"cannot mount an overlay: {mounted.stderr.strip()}")
    try:
        target, tracer = follow(programs, tmp_path / "merged/traced", "--probe", "traced:traced_work(n=p1)")
        take_calls(tracer, 31)
        target.kill()
        target.wait()
        drain(tracer)
    finally:
        subprocess.run(["umount", tmp_path / "merged"], check=True)


def test_traps_are_not_in_the_table_of_system_calls(programs, traced, root, tmp_path, demand):
    """The kernel's own return of a return probe is a system call, 335."""
    output = tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "trace", *BUSY, *probe(traced, "traced_work(n=p1, exit=return)"), "--",
                           programs / "jobmeter", "run", "--standalone", "--quiet", "--syscalls", "--output", output, "--",
                           traced, "work", "1009", "1", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = json.loads(output.read_text())
    demand("T3" in " ".join(record["coverage"]["tiers"]), "system calls are not counted here")
    names = {row["name"] for row in record["syscalls"]["calls"]} if isinstance(record["syscalls"], dict) \
        else {row["name"] for row in record["syscalls"]}
    assert not {n for n in names if "335" in n or "336" in n or "uretprobe" in n or "uprobe" in n}, names
    assert "1,009" in done.stderr


def test_a_probe_that_costs_too_much_goes_and_that_is_said(programs, traced, root):
    """It goes after a second; 40 million probed calls take longer on any machine, and without the probe a moment."""
    done = subprocess.run([programs / "jobmeter", "trace", "--budget", "1", *probe(traced, "traced_work(n=p1)"), "--",
                           traced, "work", "40000003", "1", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'traced_work' costs more than the budget" in done.stderr


def test_processes_that_call_nothing_leave_no_room_for_one_that_does(programs, traced, root):
    script = f"for i in $(seq 40); do sleep 600 & p=\"$p $!\"; done; {traced} work 40000003 1 0; kill $p"
    done = subprocess.run([programs / "jobmeter", "trace", *probe(traced, "traced_work(n=p1)"), "--", "sh", "-c", script],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'traced_work' costs more than the budget" in done.stderr


SLEEP = "libc.so*:clock_nanosleep(exit=return)"


def await_sleep(parent):
    """The child of @parent that sleeps: its pid."""
    def asleep():
        for path in pathlib.Path("/proc").glob("[0-9]*/syscall"):
            try:
                if f"\nPPid:\t{parent}\n" in (path.parent / "status").read_text(errors="replace") and path.read_text().startswith("230 "):
                    return int(path.parent.name)  # in clock_nanosleep
            except OSError:
                pass  # it has gone
        return None

    until(asleep)
    return asleep()


def test_a_call_whose_process_is_killed_is_said(programs, root):
    with subprocess.Popen([programs / "jobmeter", "trace", *BUSY, "--probe", SLEEP, "--", "sleep", "1000"], stderr=subprocess.PIPE,
                          text=True) as traced:
        sleeping = await_sleep(traced.pid)
        os.kill(sleeping, signal.SIGKILL)
        said = traced.communicate(timeout=60)[1]
    assert re.search(rf"clock_nanosleep +[\d.]+ .?s, to its end +sleep \({sleeping}\)\n", said), said
    assert re.search(r"clock_nanosleep: 1 call that never returned", said), said


def test_a_call_that_is_older_than_the_trace_is_said(programs, root):
    with subprocess.Popen(["sh", "-c", "sleep 1000; :"]) as shell:
        sleeping = await_sleep(shell.pid)
        attached = subprocess.run([programs / "jobmeter", "trace", *BUSY, "--probe", SLEEP, "--pid", str(sleeping), "--duration", "0.5"],
                                  capture_output=True, text=True).stdout
        os.kill(sleeping, signal.SIGKILL)
    assert re.search(rf"clock_nanosleep +longer than the trace +sleep \({sleeping}\)\n", attached), attached
    assert "No call of a probed function returned." in attached


def test_a_probe_of_ones_own_fails_by_no_result(programs, root):
    trace = [programs / "jobmeter", "trace", "--probe", "libc.so*:malloc(exit=return%s)", "--", "ls", "/"]
    for extra, says in ("", False), (", fails=not-0", True):
        said = subprocess.run([str(word).replace("%s", extra) for word in trace], check=True, capture_output=True, text=True).stderr
        assert re.search(r"\bmalloc +\d+ ", said), said
        assert ("malloc returned another value than 0" in said) == says, said


def test_what_a_probe_names_in_vain_is_said(programs, root):
    def said(probe, code):
        done = subprocess.run([programs / "jobmeter", "trace", "--probe", probe, "--", "true"], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stderr

    assert "no traced process has a file 'libnothing.so*'\n" in said("libnothing.so*:x", 0)
    assert "none of the probes of the set 'ad-hoc': strlen" in said("libc.so*:strlen", 0)
    assert "a pattern such as '*method*' finds them" in said("true:ns::K::method", 2)


def test_a_library_may_be_named_without_its_ending(programs, root):
    done = subprocess.run([programs / "jobmeter", "trace", "--probe", "libc:malloc", "--", "ls", "/"], check=True, capture_output=True,
                          text=True)
    assert re.search(r"\bmalloc +\d+ +-", done.stderr), done.stderr
    assert "returns not traced: '(exit=return)' behind a name does that" in " ".join(done.stderr.split())


def test_a_set_that_there_is_not_is_said(programs):
    done = subprocess.run([programs / "jobmeter", "trace", "--set", "nosuch", "--", "true"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no set 'nosuch'; --list shows those there are" in done.stderr


def test_without_a_target_or_with_two_it_is_misuse(programs):
    for arguments in ([], ["--job", "1", "--pid", "1"]):
        done = subprocess.run([programs / "jobmeter", "trace", *arguments], capture_output=True, text=True)
        assert done.returncode == 2
        assert "--job, --pid and a command" in done.stderr


LEADERLESS = """
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) int job_work(int n) { __asm__ volatile("nop"); return n; }
static void *work(void *unused) { for (int n = 0;; n++) { job_work(n); usleep(1000); } return unused; }
int main(void) { pthread_t thread; pthread_create(&thread, NULL, work, NULL); pthread_exit(NULL); }
"""


def test_a_process_whose_main_thread_has_ended_is_traced(programs, root, tmp_path):
    """As a server whose threads go on, or an MPI program with a progress thread."""
    (tmp_path / "leaderless.c").write_text(LEADERLESS)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "leaderless", tmp_path / "leaderless.c"], check=True)
    process = subprocess.Popen([tmp_path / "leaderless"])
    while "zombie" not in pathlib.Path(f"/proc/{process.pid}/status").read_text():
        time.sleep(0.01)
    tracer = subprocess.Popen([programs / "jobmeter", "trace", *BUSY, "--format", "ndjson", "--probe", f"{tmp_path}/leaderless:job_work(n=p1:s32)",
                               "--pid", str(process.pid)], stdout=subprocess.PIPE, text=True)
    called = [json.loads(tracer.stdout.readline())["arguments"]["n"] for _ in range(7)]
    assert called == list(range(called[0], called[0] + 7))
    process.kill()
    tracer.communicate(timeout=60)
