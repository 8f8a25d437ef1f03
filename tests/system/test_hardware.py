# SPDX-License-Identifier: MIT
"""The processor's own counters: by the kernel's software events where there are none, which take the same road."""

import json
import os
import pathlib
import subprocess
import time

import pytest

from agent_pages import ask, await_page, final_record, known_jobs
from job_groups import MANAGER

PAGES = 613
TOUCH = f"""
import mmap, os, threading
def touch():
    pages = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range({PAGES}):
        pages[i * mmap.PAGESIZE] = 1
for i in range(2):
    if os.fork() == 0:
        thread = threading.Thread(target=touch)
        thread.start()
        thread.join()
        os._exit(0)
for i in range(2):
    os.wait()
"""


def unified():
    """Where cgroup v2 is mounted, and has the controller of perf events."""
    controllers = pathlib.Path("/proc/cgroups").read_text().split()
    if controllers[controllers.index("perf_event") + 1] != "0":
        return None
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    return next((pathlib.Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)


@pytest.fixture
def events(programs, root):
    def run(*argv):
        done = subprocess.run([programs / "tests/system/software_events", *map(str, argv)], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_faults_of_a_process_its_children_and_their_threads_are_its_own_count(events):
    counted, known = map(int, events("--process").split())
    assert counted == known > 3 * 2 * 101


def test_faults_of_a_group_are_its_processes_own_count(events, demand):
    top = unified()
    demand(top, "perf events are of a cgroup v1 hierarchy")
    folder = top / f"jobmeter-test-{os.getpid()}"
    folder.mkdir()
    try:
        counted, known = map(int, events("--group", folder).split())
        assert counted == known > 3 * 2 * 101
    finally:
        folder.rmdir()


def test_faults_of_a_job_are_added_up_over_agents(events, demand):
    top = unified()
    demand(top, "perf events are of a cgroup v1 hierarchy")
    folders = [top / "slurm", top / "slurm/uid_0", top / f"slurm/uid_0/job_{os.getpid()}"]
    made = [folder for folder in folders if not folder.exists()]
    for folder in made:
        folder.mkdir()
    try:
        counted, known, has_fallen = map(int, events("--job", top, f"/{folders[-1].relative_to(top)}").split())
        assert counted == known > 2 * 3 * 2 * 101
        assert not has_fallen
    finally:
        for folder in reversed(made):
            folder.rmdir()


UNIFIED = """
awk '$3 == "cgroup" { print $2 }' /proc/self/mounts | xargs -r umount
exec "$@"
"""


def test_faults_of_a_group_that_is_watched_are_its_processes_own_count(programs, root, demand):
    """In a mount namespace of its own, which has no cgroup v1."""
    top = unified()
    demand(top, "perf events are of a cgroup v1 hierarchy")
    folder = top / f"jobmeter-test-watched-{os.getpid()}"
    folder.mkdir()
    try:
        done = subprocess.run(["unshare", "-m", "sh", "-c", UNIFIED, "sh", programs / "tests/system/software_events",
                               "--watch", f"/{folder.name}", folder], capture_output=True, text=True, timeout=60)
    finally:
        folder.rmdir()
    assert done.returncode == 0, done.stderr
    counted, known = map(int, done.stdout.split())
    assert counted == known > 3 * 2 * 101


def test_a_run_has_them_in_its_record(events, tmp_path):
    out = tmp_path / "record.json"
    events(out, "--", "/usr/bin/python3", "-c", TOUCH)
    record = json.loads(out.read_text())
    cpu, memory = record["cpu"], record["memory"]
    faults = memory["minor_faults"] + memory["major_faults"]
    # those from execve() on: what came before is of the process that was to become the command
    assert 2 * PAGES < cpu["instructions"] <= faults
    assert cpu["flops"] is None  # of an event that no kernel has
    switches = cpu["voluntary_switches"] + cpu["involuntary_switches"]
    assert 0 < cpu["llc_misses"] <= switches + 8
    assert cpu["counters_running_seconds"] == cpu["counters_enabled_seconds"] > 0
    assert cpu["counters_enabled_seconds"] <= cpu["user_seconds"] + cpu["system_seconds"] + 0.1
    assert not any(text.startswith("hardware counters") for text in record["coverage"]["missing"])


def test_where_there_are_none_the_record_says_so(programs, tmp_path, demand):
    out = tmp_path / "record.json"
    done = subprocess.run([programs / "jobmeter", "run", "--standalone", "--full", "--tiers", "none", "--output", out, "--", "true"],
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    said = [text for text in record["coverage"]["missing"] if text.startswith("hardware counters: ")]
    if record["cpu"]["cycles"] is not None:  # a machine that has them
        assert said == [] and record["cpu"]["cycles"] > 0 and record["cpu"]["instructions"] > 0
        demand(False, "this machine has counters of its own")
    assert said == ["hardware counters: not offered by this machine"]
    for key in ("cycles", "instructions", "llc_misses", "flops", "counters_enabled_seconds", "counters_running_seconds"):
        assert record["cpu"][key] is None
    assert ("frequency and temperature: not offered by this machine" in record["coverage"]["missing"]) == ("thermal" not in record)
    assert "Hardware counters: not offered by this machine." in " ".join(done.stderr.split())


@pytest.mark.parametrize("hardware", [False, True])
def test_an_agent_says_why_a_job_has_none(start_agent, groups, hardware, demand):
    agent = start_agent(hardware=hardware)
    process = groups.start(groups.name(5), "cat", stdin=subprocess.PIPE, env={})
    await_page(agent, lambda page: "5" in known_jobs(page))
    record = ask(agent, f"/v1/jobs/{MANAGER}/5")
    process.communicate(timeout=60)
    said = [text for text in record["coverage"]["missing"] if text.startswith("hardware counters: ")]
    demand(record["cpu"]["cycles"] is None, "this machine has counters of its own")
    node = [text for text in ask(agent, "/v1/agent")["missing"] if text.startswith("hardware counters: ")]
    if not hardware:  # that is no loss of this job's: it is told of the node, to who asks
        assert said == []
        assert node == ["hardware counters: switched off (the agent's setting hardware)"]
    else:
        assert said == node
        assert said in (["hardware counters: not offered by this machine"],
                        ["hardware counters: no hierarchy of cgroup v1 that jobs are in has perf_event"])
    felt = [text for text in record["coverage"]["missing"] if text.startswith("frequency and temperature: ")]
    assert ("thermal" in record) == (felt == [])


SENSORS = """
set -e
cpus=$(cat /sys/devices/system/cpu/online)
mount -t tmpfs made /sys/devices/system/cpu
echo "$cpus" | tee /sys/devices/system/cpu/online >/sys/devices/system/cpu/possible
for cpu in /sys/devices/system/cpu/cpu0 /sys/devices/system/cpu/cpu1; do
    mkdir -p $cpu/cpufreq
    echo 2900000 >$cpu/cpufreq/scaling_cur_freq
done
mount -t tmpfs made /sys/class/thermal
mkdir /sys/class/thermal/thermal_zone0
echo x86_pkg_temp >/sys/class/thermal/thermal_zone0/type
echo 61003 >/sys/class/thermal/thermal_zone0/temp
exec "$@"
"""
CHANGE = """
echo 1300000 >/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq
echo 1300000 >/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq
echo 73009 >/sys/class/thermal/thermal_zone0/temp
"""


def test_an_agent_exposes_those_of_a_live_job(start_agent, groups, demand):
    demand(os.path.isdir("/sys/class/thermal"), "sysfs has no folder of thermal zones to mount over")
    agent = start_agent(before=["unshare", "-m", "sh", "-c", SENSORS, "sh"])
    process = groups.start(groups.name(7), "cat", stdin=subprocess.PIPE, env={})
    page = await_page(agent, lambda page: "7" in known_jobs(page))
    own = {"manager": MANAGER, "jobid": "7"}
    frequency, temperature = "jobmeter_job_cpu_frequency_hertz", "jobmeter_job_temperature_celsius"
    assert ({**own, "of": "mean"}, 2900000000) in page.of(frequency)
    assert ({**own, "of": "min"}, 2900000000) in page.of(frequency)
    assert (own, 61.003) in page.of(temperature)
    process.communicate(timeout=60)
    groups.remove(groups.name(7))
    page = await_page(agent, lambda page: own not in [labels for labels, _ in page.of(temperature)])
    assert own not in [labels for labels, _ in page.of(temperature)]
    assert "7" in known_jobs(page)
    record = final_record(agent, "7")
    assert record["thermal"]["temperature_celsius"] == 61.003
    series = record["timeline"]["series"]
    assert set(series["thermal.temperature_celsius"]["values"]) - {None} == {61}
    assert set(series["thermal.frequency_hertz"]["values"]) - {None} == {2900000000}
    assert series["thermal.core_throttles"]["values"] is None


def test_a_watch_samples_those_of_its_time(programs, root, demand):
    demand(os.path.isdir("/sys/class/thermal"), "sysfs has no folder of thermal zones to mount over")
    key = pathlib.Path("/sys/fs/cgroup/memory")
    folder = (key if key.is_dir() else unified()) / f"jobmeter-test-warm-{os.getpid()}"
    folder.mkdir()
    began = time.monotonic()
    try:
        done = subprocess.run(["unshare", "-m", "sh", "-c", SENSORS, "sh", programs / "jobmeter", "watch", "--standalone",
                               "--cgroup", f"/{folder.name}", "--duration", "1.5", "--json"],
                              capture_output=True, text=True, timeout=60)
    finally:
        folder.rmdir()
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    thermal = record["thermal"]
    assert 2 <= thermal["samples"] <= time.monotonic() - began + 3  # as it begins, at each second, and as it ends
    assert thermal["frequency_hertz"] == thermal["frequency_min_hertz"] == 2900000000
    assert thermal["temperature_max_celsius"] == 61.003
    assert not any(text.startswith("frequency and temperature") for text in record["coverage"]["missing"])


def test_frequency_and_temperature_of_made_sensors_are_sampled(programs, root, tmp_path, demand):
    """In a mount namespace of its own, where sysfs shows files that this test makes."""
    demand(os.path.isdir("/sys/class/thermal"), "sysfs has no folder of thermal zones to mount over")
    out, began = tmp_path / "record.json", time.monotonic()
    done = subprocess.run(["unshare", "-m", "sh", "-c", SENSORS, "sh", programs / "jobmeter", "run", "--standalone",
                           "--full", "--tiers", "none", "--output", out, "--", "sh", "-c", CHANGE + "sleep 1.1"],
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")})
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    # as it begins, at each second, and as it ends: the first before the change, the last after it
    thermal = record["thermal"]
    samples = thermal["samples"]
    assert 2 <= samples <= time.monotonic() - began + 3
    assert thermal["frequency_min_hertz"] == 1300000000
    assert thermal["temperature_max_celsius"] == 73.009
    means = [((before * 2900000000 + (samples - before) * 1300000000) // samples,
              (before * 61003 + (samples - before) * 73009) // samples) for before in range(1, samples)]
    assert (thermal["frequency_hertz"], round(thermal["temperature_celsius"] * 1000)) in means
    assert thermal["core_throttles"] is None
    said = " ".join(done.stderr.split())
    assert "1.30 GHz at least" in said and "73 °C at most" in said and f"({samples} samples of its CPUs)" in said
