# SPDX-License-Identifier: MIT
"""System calls by name on other kernels: what jobmeter counted is what the program made, on full preemption too; and what
the agent counted of two jobs is what each made."""

import collections
import json

import pytest
from calls_cases import contradictions, differences, lost, rows

from guest import OPTIONAL, Case
from test_agent_in_guests import AGENT

SCRIPT = """set -e
jobmeter run --quiet --syscalls --output /out/record.json -- calls > /out/said.txt
"""


PREEMPTIONS = ("", "preempt=full")


@pytest.mark.parametrize("result", [Case(SCRIPT, boot=boot) for boot in PREEMPTIONS], indirect=True, ids=PREEMPTIONS)
def test_every_call_error_and_nap_is_counted(kernel, result):
    assert result.status == 0, result.stderr
    record = json.loads(result.files["record.json"])
    if "T3" not in record["coverage"]["tiers"] and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: no T3: {'; '.join(record['coverage']['missing'])}")
    assert differences(result.files["said.txt"].decode(), record) == {}
    assert contradictions(record) == []
    assert record["coverage"]["lost_events"] == lost(record)


# Job 31 goes on while the agent is killed and started again.
AGENTS = AGENT + """
export JOBMETER_SYSCALLS=on
call() {
	task=$scope/job_$1/step_0/user/task_0
	mkdir -p $task
	sh -c "echo 0 >$task/cgroup.procs; exec /bin/calls --plain" >>/out/said.$1
}
start
call 31
call 37
await 'jobid="37"'
kill -KILL $agent
wait $agent || true
call 31
end 37
start
call 31
await 'end_time.*jobid="37"' 'jobid="31"'
jobmeter report --json slurm/31 >/out/31.json
jobmeter report --json slurm/37 >/out/37.json
finish
"""


@pytest.mark.parametrize("result", [Case(AGENTS, boot=boot) for boot in PREEMPTIONS], indirect=True, ids=PREEMPTIONS)
def test_an_agent_has_each_jobs_own(kernel, result):
    assert result.status == 0, (result.stderr, result.files.get("log"))
    for job in ("31", "37"):
        record = json.loads(result.files[f"{job}.json"])
        if "T3" not in record["coverage"]["tiers"] and kernel.name in OPTIONAL:
            pytest.skip(f"kernel {kernel.name}: no T3: {'; '.join(record['coverage']['missing'])}")
        said = collections.Counter()
        for line in result.files[f"said.{job}"].decode().splitlines():
            name, calls, errors, _ = line.rsplit(" ", 3)
            said.update({(name, "calls"): int(calls), (name, "errors"): int(errors)})
        assert {key: rows(record)[key[0]][key[1]] for key in said} == dict(said)
        assert contradictions(record) == []
