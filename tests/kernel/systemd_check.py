#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Within a guest whose process 1 is systemd: uses the installed unit as an operator would, and writes down what it
saw.  What of it is right is for test_systemd_in_guests.py to say."""

import json
import os
import re
import subprocess
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

RESULTS = Path("/results")
UNIT = "jobmeter-agent"
DROP_IN = Path(f"/etc/systemd/system/{UNIT}.service.d/site.conf")
SETTINGS = Path("/etc/jobmeter/agent.yaml")
PATIENCE_S = 300

seen = {}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def said(*command):
    done = run(*command)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def shown(*names):
    """Properties of the unit."""
    lines = run("systemctl", "show", UNIT, *[f"--property={name}" for name in names]).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines)


def journal():
    return run("journalctl", "--unit", UNIT, "--output", "cat", "--no-pager").stdout.splitlines()


def waited_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.5)
    seen.setdefault("waited in vain", []).append(what)


def main_pid():
    return int(shown("MainPID")["MainPID"])


def process():
    """What the kernel says of the agent."""
    pid = main_pid()
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                  if ":\t" in line)
    limits = {line[:25].strip(): line[26:].split()[:2] for line in Path(f"/proc/{pid}/limits").read_text().splitlines()}
    return {"status": status, "limits": limits, "score": Path(f"/proc/{pid}/oom_score_adj").read_text().strip(),
            "group": Path(f"/proc/{pid}/cgroup").read_text().strip()}


def scraped():
    """The page's text, or the status that it was refused with."""
    token = Path("/etc/jobmeter/scrape.token").read_text().strip()
    request = urllib.request.Request("http://127.0.0.1:9840/metrics", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code


def as_alice(*command):
    return ["env", "HOME=/home/alice", "setpriv", "--reuid", "alice", "--regid", "alice", "--init-groups", *command]


def truth(name):
    """A command of alice's that counts what it does itself."""
    return f"truth --output /tmp/{name}.json --mount /dev/shm --processes 3"


def collect(record, *truths):
    return {"record": json.loads(Path(f"/tmp/{record}.json").read_text()),
            "truths": [json.loads(Path(f"/tmp/{name}.json").read_text()) for name in truths]}


def start():
    DROP_IN.parent.mkdir(parents=True)
    DROP_IN.write_text("[Service]\nCPUAffinity=1\n")
    seen["verify"] = said("systemd-analyze", "verify", f"{UNIT}.service")
    seen["exposure"] = said("systemd-analyze", "security", "--no-pager", "--threshold=40", UNIT)
    seen["start"] = said("systemctl", "start", UNIT)
    seen["active"] = shown("ActiveState", "SubState", "NRestarts", "MemoryMax", "TasksMax")
    seen["process"] = process()


def measure():
    done = run(*as_alice("jobmeter", "run", "--quiet", "--output", "/tmp/short.json", "--", *truth("once").split()))
    seen["short"] = {"status": done.returncode, "err": done.stderr} | collect("short", "once")
    seen["page"] = scraped()


DELEGATED = Path("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service")
MANAGER = """\
[Service]
Type=notify
User=alice
Slice=user-1000.slice
Delegate=yes
RuntimeDirectory=user/1000
Environment=XDG_RUNTIME_DIR=/run/user/1000
ExecStart=/lib/systemd/systemd --user
"""
BOB = 1002
REAL = Path("/sys/fs/cgroup/slurmstepd.scope/job_64/step_batch")
CONTAINER = "docker-" + "ab17" * 16 + ".scope"


def write_in(group, size, *become):
    """Three times so many bytes."""
    subprocess.run([*become, "dd", "if=/dev/zero", f"of=/dev/shm/{time.monotonic_ns()}", f"bs={size}", "count=3"],
                   check=True, stderr=subprocess.DEVNULL, preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))


def jobs_written():
    """{"manager/job": bytes} in that place, of jobs that are none of alice's own runs."""
    found = {}
    for line in scraped().splitlines():
        if not line.startswith("jobmeter_job_io_write_bytes_total{"):
            continue
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if labels["mount"] == "/dev/shm" and labels["manager"] != "run":
            found[f"{labels['manager']}/{labels['jobid']}"] = int(float(line.split()[-1]))
    return found


def lie():
    """Alice makes names of others in her own part of the tree, and works there, also by a `run`; bob's job goes on."""
    false = [DELEGATED / name for name in
             (f"slurm/uid_{BOB}/job_64/step_batch", "slurmstepd.scope/job_64/step_batch", "kubepods-pod12.slice", CONTAINER)]
    for group in false:
        subprocess.run(as_alice("mkdir", "-p", group), check=True)
        write_in(group, 100003, *as_alice())
    invented = DELEGATED / "slurmstepd.scope/job_77"
    subprocess.run(as_alice("mkdir", "-p", invented / "shell"), check=True)
    subprocess.run(as_alice("jobmeter", "run", "--quiet", "--", "dd", "if=/dev/zero", "of=/dev/shm/77", "bs=100003", "count=2"),
                   check=True, capture_output=True, preexec_fn=lambda: (invented / "shell/cgroup.procs").write_text("0"))
    container = Path("/sys/fs/cgroup/system.slice") / CONTAINER
    for group in (REAL, container):
        group.mkdir(parents=True, exist_ok=True)
        write_in(group, 10007, "setpriv", "--reuid", str(BOB), "--regid", str(BOB), "--clear-groups")


def forge():
    """Alice has a delegated user@1000.service; before and after restarts of the agent."""
    Path("/etc/systemd/system/user@1000.service").write_text(MANAGER)
    seen["daemon-reload"] = said("systemctl", "daemon-reload")
    seen["delegated"] = said("systemctl", "start", "user@1000.service")
    seen["delegate's owner"] = DELEGATED.stat().st_uid
    seen["forged"] = []
    for restart in ((), ("restart",), ("stop", "start")):
        for how in restart:
            run("systemctl", how, UNIT)
        lie()
        wanted = 3 * 10007 * (len(seen["forged"]) + 1)
        waited_for("bob's bytes", lambda: jobs_written().get("slurm/64") == wanted)
        seen["forged"].append(jobs_written())
    run("systemctl", "stop", "user@1000.service")


def change_settings():
    SETTINGS.write_text("interval: 2s\n")
    seen["reload"] = said("systemctl", "reload", UNIT)
    waited_for("a word about the new settings", lambda: any("read the settings again" in line for line in journal()))
    before = len(journal())
    SETTINGS.write_text("interval: 2s\nintervall: 3\n")
    seen["bad reload"] = said("systemctl", "reload", UNIT)
    waited_for("a word about the bad setting", lambda: any("intervall" in line for line in journal()[before:]))
    seen["bad reload journal"] = journal()[before:]
    seen["after bad reload"] = shown("ActiveState", "NRestarts")
    SETTINGS.unlink()


def survive():
    """A job lives while its agent is restarted, and while it is killed."""
    script = f"{truth('before')} && while ! test -e /tmp/go; do sleep 0.2; done && {truth('after')}"
    job = subprocess.Popen(as_alice("jobmeter", "run", "--quiet", "--output", "/tmp/long.json", "--", "sh", "-c", script),
                           stderr=subprocess.PIPE, text=True)
    waited_for("the job's first half", lambda: os.path.exists("/tmp/before.json"))
    first = main_pid()
    seen["restart"] = said("systemctl", "restart", UNIT)
    second = main_pid()
    os.kill(second, 9)
    waited_for("another agent", lambda: shown("ActiveState")["ActiveState"] == "active" and main_pid() not in (0, second))
    seen["pids"] = [first, second, main_pid()]
    seen["after kill"] = shown("ActiveState", "NRestarts")
    Path("/tmp/go").touch()
    complaint = job.communicate()[1]
    seen["long"] = {"status": job.returncode, "err": complaint} | collect("long", "before", "after")


def stop():
    group = Path("/sys/fs/cgroup/system.slice/jobmeter-agent.service")
    seen["peak bytes"] = int((group / "memory.peak").read_text()) if (group / "memory.peak").exists() else None
    seen["stop"] = said("systemctl", "stop", UNIT)
    kernel_log = run("journalctl", "--dmesg", "--output", "cat", "--no-pager").stdout.splitlines()
    seen["refused calls"] = [line for line in kernel_log if "type=1326" in line and "jobmeter" in line]
    seen["stopped"] = shown("ActiveState", "Result", "NRestarts")
    seen["left in bpffs"] = [str(path) for path in Path("/sys/fs/bpf").rglob("*")]
    seen["groups left"] = [str(path) for path in Path("/sys/fs/cgroup").rglob("*jobmeter-run*")]


def refuse():
    """With a wrong configuration it is not started again and again."""
    SETTINGS.write_text("interval: never\n")
    before = len(journal())
    seen["bad start"] = said("systemctl", "start", UNIT)
    time.sleep(7)
    seen["bad start state"] = shown("ActiveState", "NRestarts", "ExecMainStatus")
    seen["bad start journal"] = journal()[before:]


def send():
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "report.json").write_text(json.dumps(seen))
    with open(RESULTS / "journal", "w") as file:
        subprocess.run(["journalctl", "--no-pager", "--boot"], stdout=file)
    subprocess.run("stty -F /dev/ttyS1 raw; tar -c -C /results . | cat >/dev/ttyS1", shell=True)


try:
    for part in (start, measure, forge, change_settings, survive, stop, refuse):
        part()
        send()
except BaseException:
    seen["failed"] = traceback.format_exc()
    send()
    raise
