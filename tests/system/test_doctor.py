# SPDX-License-Identifier: MIT
"""doctor on this machine: as root, as a user, in namespaces, and on a made tree."""

import json
import os
import shutil
import subprocess

import pytest

from agent import Agent
from keeper import Keeper

NOBODY = 65534
GROUPS = "/sys/fs/cgroup"


@pytest.fixture
def doctor(programs, tmp_path):
    """doctor(*options, before=[...]): how it ended.  The program is copied where every user sees it."""
    program = tmp_path / "jobmeter"
    shutil.copy(programs / "jobmeter", program)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(folder.stat().st_mode | 0o005)  # pytest keeps its folders to itself

    def run(*options, before=()):
        return subprocess.run([*before, program, "doctor", *map(str, options)],
                              capture_output=True, text=True)

    return run


def as_user(*command):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]


@pytest.fixture(scope="module")
def checked(programs, demand):
    """One run as root, with all checks and costs: it says its PID first, and has a /dev/shm of its own, which it lists last."""
    demand(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    script = 'mount -t tmpfs shm /dev/shm; "$@"; code=$?; ls -A /dev/shm >&2; exit $code'
    return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "sh", "-c", 'echo $$ >&2; exec "$@"', "sh",
                           programs / "jobmeter", "doctor", "--json"],
                          capture_output=True, text=True)


def test_root_has_the_default_set(checked, demand):
    found = json.loads(checked.stdout)
    assert found["schema"] == "jobmeter.doctor/1"
    hooks = [hook for tier in found["tiers"] if tier["default"] for hook in tier["hooks"]]
    off = [f"{hook['attach']}: {hook['why']}" for hook in hooks if not hook["on"]]
    demand(found["machine"]["btf"] and found["rights"]["capabilities"]["BPF"], "no BPF here")
    assert not off
    assert [tier["tier"] for tier in found["tiers"]] == ["T0", "T1", "T2", "T2+", "T3"]
    assert all(tier["on"] and tier["checked"] for tier in found["tiers"] if tier["default"])
    assert all(hook["on"] for hook in hooks)
    assert found["works"] and checked.returncode == 0


def test_the_checks_leave_no_file_and_no_group(checked):
    (pid,) = checked.stderr.split()  # it said nothing, and no file is in /dev/shm
    groups = [f"{folder}/{name}" for folder, names, _ in os.walk(GROUPS) for name in names
              if name.startswith("jobmeter-") and name.endswith(f"-{int(pid)}")]
    assert groups == []


def test_a_canary_that_is_freed_late_is_not_counted_as_the_next_one(doctor, programs, root, demand):
    done = doctor("--json", "--no-costs", before=["env", f"LD_PRELOAD={programs}/tests/system/late_ends.so"])
    found = json.loads(done.stdout)
    demand(found["machine"]["btf"] and found["rights"]["capabilities"]["BPF"], "no BPF here")
    totals, = (tier for tier in found["tiers"] if tier["tier"] == "T0")
    assert totals["on"] and totals["checked"], [hook["why"] for hook in totals["hooks"] if not hook["on"]]


def test_costs_are_measured(checked, demand):
    """How they compare is for a quiet machine, and bench/ to say."""
    found = json.loads(checked.stdout)
    demand(found["works"], "the default set does not work here")
    bare, *_, default = found["costs"]["settings"]
    assert found["costs"]["quality"] == "measured"
    assert bare["read_nanoseconds"]["median"] > 0 and bare["call_nanoseconds"]["median"] > 0
    assert "added_read_nanoseconds" in default and "added_call_nanoseconds" in default


def hooks_of(found, tier):
    (tier,) = (t for t in found["tiers"] if t["tier"] == tier)
    return {hook["program"]: hook for hook in tier["hooks"]}


# No process of ours is a kernel thread, nor asks for a request without a completion, nor spins.
NEVER_CHECKED = ["sample_task", "count_kernel_", "count_loop_", "begin_request_", "count_unposted_", "note_bio", "count_bio"]
ON_STORAGE = ["count_page_in", "count_dirtied"]


def test_without_a_loopback_connections_are_believed_and_not_checked(doctor, root, demand):
    demand(shutil.which("unshare"), "needs unshare")
    hooks = {}
    for name, before in (("up", ()), ("down", ("unshare", "--net"))):
        found = json.loads(doctor("--json", "--no-costs", before=before).stdout)
        demand(found["works"], "the default set does not work here")
        hooks[name] = hooks_of(found, "T2+")
    for program in ("open_connection", "end_connection"):
        assert (hooks["up"][program]["on"], hooks["up"][program]["checked"]) == (True, True)
        assert (hooks["down"][program]["on"], hooks["down"][program]["checked"]) == (True, False)


def test_what_T2_gains_by_more_hooks_is_checked_or_told_missing(doctor, root, demand):
    done = doctor("--json", "--no-costs")
    found = json.loads(done.stdout)
    demand(found["works"], "the default set does not work here")
    hooks = hooks_of(found, "T2+")
    for hook in hooks.values():
        if hook["on"] and not hook["program"].startswith((*NEVER_CHECKED, *ON_STORAGE)):
            assert hook["checked"], hook
        if not hook["on"]:
            assert any(hook["gives"] in text and hook["why"] in text for text in found["missing"])
    works = {feature["name"]: feature["works"] for feature in found["features"]}
    assert hooks["note_permission"]["on"] == works["fentry"]
    assert hooks["count_page_in"]["on"] and hooks["count_dirtied"]["on"]

    text = doctor("--no-costs").stdout
    reasons = {hook["why"] for hook in hooks.values() if not hook["on"]}
    assert text.startswith("The default set works here")
    assert all(" ".join(text.split()).count(why) == 1 for why in reasons)


def test_a_user_is_told_why_not(doctor, root):
    done = doctor(before=as_user())
    assert done.returncode == 1
    assert done.stdout.startswith("The default set does not work here: totals and files are not measured.")
    assert "user 65534" in done.stdout
    assert "does not permit BPF to this user" in done.stdout
    assert "CAP_BPF and CAP_PERFMON" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "/" not in line) <= 80


def test_root_of_a_user_namespace_is_nobody(doctor, root):
    unshare = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    found = json.loads(doctor("--json", "--no-costs", before=unshare).stdout)
    assert not found["works"]
    assert found["rights"]["uid"] == 0 and found["rights"]["user_namespace"]
    assert any("user namespace" in advice["do"] for advice in found["advice"])
    assert found["costs"] is None


def test_hooks_that_nothing_could_check_do_not_work(doctor, root, demand):
    """With BPF and PERFMON hooks go on; but a user who may make no group has no canary."""
    held = "+bpf,+perfmon"
    done = doctor("--json", "--no-costs",
                  before=as_user("--inh-caps", held, "--ambient-caps", held))
    demand("setpriv" not in done.stderr, done.stderr)
    found = json.loads(done.stdout)
    assert found["rights"]["capabilities"]["BPF"]
    assert done.returncode == 1 and not found["works"]
    assert not any(tier["on"] or tier["checked"] for tier in found["tiers"])
    demand(any(hook["on"] for tier in found["tiers"] for hook in tier["hooks"]), "no BPF here")
    assert all("cgroup" in tier["why"] for tier in found["tiers"] if tier["default"])


def test_explain_pid_finds_the_run_that_it_is_in(programs, root):
    done = subprocess.run(
        [programs / "jobmeter", "run", "--quiet", "--", "sh", "-c",
         f"{programs}/jobmeter doctor --explain-pid $$ --json"], capture_output=True, text=True)
    process = json.loads(done.stdout)["process"]
    assert process["command"] == "sh"
    assert process["identity"]["rule"] == "run"
    assert process["cgroup"].endswith(f"jobmeter-run-{process['identity']['job']}")
    assert process["cgroup_id"] > 0
    assert done.returncode == 0


def test_explain_pid_of_oneself_and_of_nobody(doctor):
    done = doctor("--explain-pid", os.getpid())
    assert done.returncode == 0
    assert f"{os.getpid()} " in done.stdout.splitlines()[0]
    assert "cgroup" in done.stdout and "rule" in done.stdout
    done = doctor("--explain-pid", 2**22 + 1)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"jobmeter doctor: there is no process {2**22 + 1}\n"


@pytest.fixture
def agent(programs, tmp_path, root):
    """One with a rule of the site's own."""
    rule = {"name": "ours", "manager": "made", "pattern": "jm-doctor-<job:#>"}
    with Keeper() as keeper, Agent(tmp_path / "agent", keeper, rules=[rule]) as agent:
        yield agent


def test_the_agent_of_the_node_is_asked(programs, agent, doctor, monkeypatch):
    def ask(*options, **environment):
        return subprocess.run([programs / "jobmeter", "doctor", "--no-costs", *options], capture_output=True,
                              text=True, env={**os.environ, **environment}).stdout

    socket = {"JOBMETER_SOCKET": agent.settings["socket"]["path"]}
    found = json.loads(ask("--json", **socket))
    said = found["agent"]
    assert said["runs"] and said["socket"] == socket["JOBMETER_SOCKET"] and said["why"] is None
    assert said["version"] == found["version"]
    assert set(said["tiers"]) <= {"T0", "T1", "T2"} and isinstance(said["jobs_live"], int)
    assert f" agent {said['version']} answers at {said['socket']}, totals " in " ".join(ask(**socket).split())

    monkeypatch.setenv(*next(iter(socket.items())))
    user = doctor("--no-costs", before=as_user())
    if {"T0", "T2"} <= set(said["tiers"]):
        assert user.stdout.startswith("The agent of this node measures everything here; ") and user.returncode == 0

    nowhere = {"JOBMETER_SOCKET": "/nowhere/agent.sock"}
    none = json.loads(ask("--json", **nowhere))["agent"]
    assert not none["runs"] and none["version"] is None and "no agent answers" in none["why"]
    assert "agent       none runs: no agent answers at '/nowhere/agent.sock'" in ask(**nowhere)


def test_a_quick_look_is_one_line_and_asks_the_agent_alone(programs, agent, doctor, monkeypatch):
    monkeypatch.setenv("JOBMETER_SOCKET", agent.settings["socket"]["path"])
    found = json.loads(doctor("--quick", "--json").stdout)
    done = doctor("--quick")
    if {"T0", "T2"} <= set(found["agent"]["tiers"]):
        assert found["reasons"] == [] and found["healthy"] and done.returncode == 0
        assert done.stdout.startswith(f"healthy: agent {found['version']} measures ")
    else:
        assert not found["healthy"] and "totals are not measured" in done.stdout and done.returncode == 1
    assert done.stdout.count("\n") == 1 and not done.stderr

    monkeypatch.setenv("JOBMETER_SOCKET", "/nowhere/agent.sock")
    done = doctor("--quick")
    assert done.returncode == 1
    assert done.stdout.startswith("not healthy: no agent answers at '/nowhere/agent.sock'") and done.stdout.count("\n") == 1
    assert json.loads(doctor("--quick", "--json").stdout)["healthy"] is False


def test_explain_pid_tells_what_the_sites_rules_say(doctor, agent, monkeypatch):
    own = next(line.split(":", 2) for line in open("/proc/self/cgroup") if is_key(line))
    folder = f"{GROUPS}/{own[1]}{own[2].strip()}/jm-doctor-1009".replace("//", "/")
    agent.keeper.run("mkdir", folder, undo=["rmdir", folder])
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        with open(f"{folder}/cgroup.procs", "w") as procs:
            procs.write(str(sleeper.pid))
        monkeypatch.setenv("JOBMETER_SOCKET", agent.settings["socket"]["path"])
        found = explain_when_known(doctor, sleeper.pid)
        assert found["process"]["identity"] is None
        assert found["agent"]["identity"] == {"manager": "made", "job": "1009", "step": None}
        text = doctor("--explain-pid", sleeper.pid).stdout
        assert "no built-in rule matches" in text
        assert "with the site's rules: manager made, job 1009\n" in text
    finally:
        sleeper.kill()
        sleeper.wait()
    monkeypatch.setenv("JOBMETER_SOCKET", "/nowhere/agent.sock")
    assert "none runs here; it would know the site's own rules" in doctor("--explain-pid", os.getpid()).stdout


def explain_when_known(doctor, pid):
    """The agent's list may be a second old."""
    for _ in range(1009):
        found = json.loads(doctor("--explain-pid", pid, "--json").stdout)
        if found["agent"]["identity"]:
            break
    return found


def is_key(line):
    """v1's memory, as the agent has it here; on v2 the only one."""
    return "memory" in line.split(":")[1].split(",") or not os.path.isdir(f"{GROUPS}/memory") and line.startswith("0:")


def make_node(root):
    """A node as a tree of files: a layout, not a capture."""
    files = {
        "proc/self/mountinfo": "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
        "proc/77/cgroup": "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_3\n",
        "proc/77/comm": "a.out\n",
        "proc/50/comm": "slurmd\n",
        "proc/sys/kernel/hostname": "made17\n",
        "proc/sys/kernel/osrelease": "6.1.0-50-amd64\n",
        "sys/devices/system/cpu/online": "0-63\n",
        "sys/class/powercap/intel-rapl:0/name": "package-0\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": "1\n",
        "sys/bus/pci/devices/0000:17:00.0/class": "0x030200\n",
        "sys/bus/pci/devices/0000:17:00.0/vendor": "0x10de\n",
        "etc/slurm/slurm.conf": "ProctrackType=proctrack/linuxproc\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_made_tree_is_read_and_nothing_is_tried(doctor, tmp_path):
    make_node(tmp_path / "node")
    done = doctor("--root", tmp_path / "node", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert not found["tried"] and found["features"] == [] and found["costs"] is None
    assert found["machine"]["node"] == "made17" and found["machine"]["cpus_online"] == 64
    assert found["managers"] == [{"name": "Slurm", "file": "etc/slurm/slurm.conf",
                                  "daemon": "slurmd", "jobs_in_cgroups": False}]
    assert found["sensors"][0]["name"] == "package-0"
    assert found["gpus"][0]["vendor"] == "NVIDIA" and found["gpus"][0]["driver"] is None
    assert any("proctrack/cgroup" in advice["do"] for advice in found["advice"])

    done = doctor("--root", tmp_path / "node", "--explain-pid", 77)
    assert "slurm-v2: manager slurm, job 42, step 0, task 3" in done.stdout


def test_output_goes_where_it_is_asked_for(doctor, tmp_path):
    make_node(tmp_path / "node")
    output = tmp_path / "found.yaml"
    done = doctor("--root", tmp_path / "node", "--output", output)
    assert done.stdout.startswith("Nothing was tried")
    assert output.read_text().startswith("schema: jobmeter.doctor/1\n")
    done = doctor("--root", tmp_path / "node", "--quiet", "--output", output)
    assert done.stdout == ""
    assert len(doctor("--root", tmp_path / "node", "--format", "ndjson").stdout.splitlines()) == 1


@pytest.mark.parametrize("options, message", [
    (["--unknown"], "there is no option '--unknown'"),
    (["--explain-pid"], "needs its PID"),
    (["--explain-pid", "x"], "'x' is no process id"),
    (["--explain-pid", "0"], "'0' is no process id"),
    (["--format", "csv"], "no csv output"),
    (["--json", "--format", "yaml"], "exclude each other"),
    (["node17"], "takes no argument"),
    (["--quick", "--explain-pid", "1"], "asks the agent of this node alone"),
    (["--quick", "--root", "/tmp"], "asks the agent of this node alone"),
])
def test_wrong_usage_is_one_line_and_2(doctor, options, message):
    done = doctor(*options)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_root_that_is_not_there_fails(doctor, tmp_path):
    done = doctor("--root", tmp_path / "absent")
    assert done.returncode == 1
    assert "cannot open" in done.stderr
