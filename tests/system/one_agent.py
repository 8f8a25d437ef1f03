# SPDX-License-Identifier: MIT
"""Fixtures for a file whose tests share an agent: what it needs lives as long as the file.  They replace conftest's of these
names, so a test removes the groups that it made.

    from one_agent import bench, groups, keeper, start_shared_agent  # noqa: F401"""

import os

import pytest

from agent import Agent
from job_groups import RULES, JobGroups
from jobtruth import make_bench
from keeper import Keeper


@pytest.fixture(scope="module")
def keeper(demand):
    demand(os.geteuid() == 0, "needs root")
    with Keeper() as keeper:
        yield keeper


@pytest.fixture(scope="module")
def bench(keeper, programs):
    return make_bench(keeper, programs)


@pytest.fixture(scope="module")
def groups(keeper, demand):
    try:
        return JobGroups(keeper)
    except OSError as e:
        demand(False, f"cannot make a cgroup: {e}")


@pytest.fixture(scope="module")
def start_shared_agent(bench, keeper, demand, agent_user):
    agents = []

    def start(**settings):
        agents.append(Agent(bench.folder / f"shared-agent-{len(agents)}", keeper, **{"rules": RULES, **settings}).prepare())
        agents[-1].start()
        demand("started without BPF" not in agents[-1].log(), "needs BPF")
        return agents[-1]

    yield start
    for agent in agents:
        agent.stop()
