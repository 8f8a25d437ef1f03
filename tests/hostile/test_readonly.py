# SPDX-License-Identifier: MIT
"""A disk that is read-only as the agent starts is said, and survived."""

import json
import subprocess

from agent_pages import ask, await_log, await_page, final_record, known_jobs
from job_groups import OWN_ONLY

SAYS = "the state of jobs cannot be written to"


def test_a_state_directory_that_is_read_only_at_the_start(start_agent, bench, groups, keeper, programs):
    state = bench.folder / "ro"
    state.mkdir()
    keeper.run("mount", "-t", "tmpfs", "-o", "size=1m", "state", state, undo=["umount", "-l", state])
    agent = start_agent(state_dir=str(state), rules=OWN_ONLY)  # jobs of other tests would fill it
    agent.kill()
    subprocess.run(["mount", "-o", "remount,ro", state], check=True)
    try:
        agent.start()
        assert await_log(agent, SAYS).count(SAYS) == 1
        assert any(SAYS in note for note in ask(agent, "/v1/agent")["notes"])
        groups.run(groups.name(1), "/bin/true", env={})
        groups.remove(groups.name(1))
        await_page(agent, lambda page: "1" in known_jobs(page))
        assert final_record(agent, 1)["cpu"]["user_seconds"] is not None
        assert agent.log().count(SAYS) == 1
        doctor = subprocess.run([programs / "jobmeter", "doctor", "--json", "--no-costs"], capture_output=True, text=True,
                                env={"JOBMETER_SOCKET": f"{agent.folder}/agent.sock"})
        assert any(SAYS in note for note in json.loads(doctor.stdout)["agent"]["notes"])
    finally:
        subprocess.run(["mount", "-o", "remount,rw", state], check=True)
