# SPDX-License-Identifier: MIT
"""Kernels that no guest has (docs/sites/kernels.md): this one, without bpf() and without the system calls that came after them.
What else is different there, this does not show."""

import json
import re
import subprocess

import pytest

from agent import Agent
from job_groups import MANAGER, OWN_ONLY
from repository import REPOSITORY
from waiting import until

BEFORE = REPOSITORY / "tests/system/older_kernel.py"
PATTERN = f'^jobmeter_job_cpu_seconds_total{{manager="{MANAGER}",jobid="1".*}} (?!0$)'
TOKEN = "of-the-whole-site-0123456789"
# The number of the last call of each.
OLDER = pytest.mark.parametrize("last", [313, 332, 435], ids=["3.10", "4.15", "5.4"])


@OLDER
def test_a_run_has_what_the_kernel_counts_anyway(programs, root, tmp_path, last):
    script = "head -c 3000017 /dev/zero >/dev/null; x=0; while [ $x -lt 50000 ]; do x=$((x+1)); done; exit 7"
    done = subprocess.run([BEFORE, str(last), programs / "jobmeter", "run", "--output", tmp_path / "r.json", "--", "sh", "-c", script],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 7, done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["job"]["exit_code"] == 7 and record["cpu"]["user_seconds"] > 0 and record["memory"]["peak_bytes"] > 0
    assert record["tasks"]["wchar_bytes"] == 3000017
    assert record["io"] is None and any("cannot load" in line for line in record["coverage"]["missing"])


@OLDER
def test_an_agent_reads_cgroups_and_says_that_it_does_no_more(programs, keeper, groups, tmp_path, last):
    agent = Agent(tmp_path / "agent", keeper, rules=OWN_ONLY, insecure=False, token_file=str(tmp_path / "agent/scrape.token")).prepare()
    before = [BEFORE, str(last)]
    (tmp_path / "site.token").write_text(TOKEN + "\n")
    (tmp_path / "site.token").chmod(0o600)
    assert agent.refusal("--init-token-from", tmp_path / "site.token", before=before)[0] == 0
    agent.start(before=before)
    assert "without BPF" in agent.log()
    groups.start(groups.name(1), "/usr/bin/python3", "-c", "for i in range(3000000): pass\nimport time\ntime.sleep(600)")
    until(lambda: re.search(PATTERN, agent.get("/metrics", Authorization=f"Bearer {TOKEN}").text, re.MULTILINE), why=agent.log)
    quick = subprocess.run([*before, programs / "jobmeter", "doctor", "--quick"], capture_output=True, text=True,
                           env={"JOBMETER_SOCKET": str(tmp_path / "agent/agent.sock")})
    assert quick.returncode == 1 and "files are not measured" in quick.stdout
