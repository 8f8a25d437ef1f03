# SPDX-License-Identifier: MIT
"""The installed unit under a real systemd, as an operator uses it: started, limited, reloaded, restarted, killed and
stopped, while a user's jobs run."""

import json
import re

import pytest


@pytest.fixture
def seen(systemd_boot):
    """What systemd_check.py wrote down."""
    files = systemd_boot.result()
    report = json.loads(files["report.json"])
    assert "failed" not in report, report["failed"] + files.get("journal", b"").decode()[-4000:]
    assert "waited in vain" not in report, report["waited in vain"]
    return report


WELL = {"status": 0, "out": "", "err": ""}


def test_the_unit_is_right_and_starts(seen):
    assert seen["verify"] == WELL and seen["start"] == WELL
    active = seen["active"]
    assert (active["ActiveState"], active["SubState"], active["NRestarts"]) == ("active", "running", "0")


def test_it_runs_without_roots_rights_in_the_units_limits(seen):
    status, limits = seen["process"]["status"], seen["process"]["limits"]
    assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split()
    kept = sum(1 << bit for bit in (2, 19, 38, 39))  # DAC_READ_SEARCH, SYS_PTRACE, PERFMON, BPF
    assert int(status["CapEff"], 16) == kept and int(status["CapBnd"], 16) == kept
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert status["Cpus_allowed_list"] == "1"  # CPUAffinity of the site's drop-in
    assert limits["Max open files"] == ["32768", "32768"] and limits["Max locked memory"][0] == "unlimited"
    assert seen["process"]["score"] == "-500"
    assert seen["process"]["group"].endswith("/jobmeter-agent.service")
    assert seen["active"]["MemoryMax"] == str(256 << 20) and seen["active"]["TasksMax"] == "64"
    assert seen["peak bytes"] is None or seen["peak bytes"] < 256 << 20


def test_systemd_finds_it_little_exposed(seen):
    assert seen["exposure"]["status"] == 0, seen["exposure"]["out"][-300:]  # at most 4.0


def test_nothing_that_it_calls_is_refused(seen):
    assert seen["refused calls"] == []


MOUNT = "/dev/shm"  # where nothing but those commands works


def totals(job):
    """{op: [calls, bytes]} on that mount: what the commands themselves counted, and what the record says."""
    told = {"read": [0, 0], "write": [0, 0]}
    for row in (row for truth in job["truths"] for row in truth["rows"]):
        if row["op"] in told and row["place"] == MOUNT and row["way"] != "mapping":
            told[row["op"]][0] += row["calls"]
            told[row["op"]][1] += row["bytes"]
    rows = {row["mount"]: row for row in job["record"]["io"]}
    return told, {op: [rows[MOUNT][op]["calls"], rows[MOUNT][op]["bytes"]] for op in told}


@pytest.mark.parametrize("name", ["short", "long"])
def test_a_users_job_is_exact(seen, name):
    """The long one lives while its agent is restarted, and killed: systemd starts it again, and it takes over."""
    job = seen[name]
    assert (job["status"], job["err"]) == (0, "")
    assert job["record"]["final"] is True and job["record"]["job"]["user"] == "alice"
    told, found = totals(job)
    assert found == told and told["write"][1] > 0


def test_a_user_with_a_delegated_directory_forges_nothing(seen):
    """Names of a manager's jobs and of a container of root's, made in user@1000.service; before and after a restart, and
    a stop and start."""
    assert seen["delegated"] == WELL and seen["delegate's owner"] == 1000
    container = "docker/" + "ab17" * 16
    assert seen["forged"] == [{"slurm/64": count * 30021, container: count * 30021} for count in (1, 2, 3)]


def test_it_is_scraped_with_the_token_of_its_first_start(seen):
    assert re.search(r'^jobmeter_job_info\{manager="run",.*user="alice"', seen["page"], re.M)
    assert 'jobmeter_agent_hook_attached{' in seen["page"]


def test_settings_are_read_again_and_wrong_ones_are_not_taken(seen):
    assert seen["reload"] == WELL and seen["bad reload"] == WELL
    assert any(re.search(r"agent\.yaml:2: .*intervall.*interval", line) for line in seen["bad reload journal"]), \
        seen["bad reload journal"]
    assert seen["after bad reload"] == {"ActiveState": "active", "NRestarts": "0"}


def test_it_is_another_process_after_a_restart_and_after_a_kill(seen):
    assert seen["restart"] == WELL and len(set(seen["pids"])) == 3
    assert seen["after kill"] == {"ActiveState": "active", "NRestarts": "1"}


def test_a_stop_leaves_nothing(seen):
    assert seen["stop"] == WELL
    assert (seen["stopped"]["ActiveState"], seen["stopped"]["Result"]) == ("inactive", "success")
    assert seen["left in bpffs"] == [] and seen["groups left"] == []


def test_wrong_settings_are_told_once_and_not_tried_again(seen):
    assert seen["bad start"]["status"] == 1
    assert seen["bad start state"] == {"ActiveState": "failed", "NRestarts": "0", "ExecMainStatus": "2"}
    told = [line for line in seen["bad start journal"] if line.startswith("jobmeter-agent: ")]
    assert len(told) == 1 and "agent.yaml:1: interval" in told[0]
