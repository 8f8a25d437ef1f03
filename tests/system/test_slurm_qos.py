# SPDX-License-Identifier: MIT
"""The energy QOS that share/slurm/energy-qos.sh makes, in a real slurmdbd."""

import os
import re
import shutil

import pytest

from accounting import PROGRAMS, AccountedSlurm
from slurm import SHARE, USERS, missing_program

pytestmark = pytest.mark.node

ANN, BOB = USERS
SCRIPT = SHARE / "energy-qos.sh"
NAMES = {"cpu_intensive", "io_intensive", "energy_efficient"}


@pytest.fixture
def slurm(demand):
    demand(os.geteuid() == 0 and not missing_program() and all(map(shutil.which, PROGRAMS)), "needs root, Slurm and its accounting")
    with AccountedSlurm(accounts={"physics": [ANN, BOB]}, more="AccountingStorageEnforce=associations,limits,qos\nPriorityType=priority/multifactor\n") as slurm:
        yield slurm


def shown(slurm):
    """{name: (priority, usage factor, TRES of the group)}"""
    rows = slurm.run("sacctmgr", "-nP", "show", "qos", "format=name,priority,usagefactor,grptres").stdout.splitlines()
    return {name: tuple(values) for name, *values in (row.split("|") for row in rows) if name in NAMES}


def test_the_script_says_what_it_would_do_and_does_it_as_often_as_asked(slurm):
    printed = slurm.run("sh", SCRIPT).stdout
    assert {re.match(r"sacctmgr -i (?:add|modify) qos (\S+)", one)[1] for one in printed.splitlines()} == NAMES and shown(slurm) == {}
    assert slurm.run("sh", SCRIPT, "--aply", check=False).returncode == 2
    slurm.environment |= {"IO_NODES": "0", "ACCOUNTS": "physics"}
    for factor in ("0.8", "0.5"):
        slurm.environment["FACTOR"] = factor
        slurm.run("sh", SCRIPT, "--apply")
        assert shown(slurm) == {"cpu_intensive": ("0", "1.000000", ""), "io_intensive": ("0", "1.000000", "node=0"),
                                "energy_efficient": ("0", f"{float(factor):.6f}", "")}

    # what they do in Slurm: io_intensive alone limits, here to no node at all
    free = [slurm.submit("true", f"--qos={name}", user=ANN) for name in ("cpu_intensive", "energy_efficient")]
    held = slurm.submit("true", "--qos=io_intensive", user=ANN)
    for job in free:
        slurm.wait_for(lambda: slurm.states(job) == {"COMPLETED"})
    slurm.wait_for(lambda: "Reason=QOSGrpNodeLimit" in slurm.run("scontrol", "show", "job", held).stdout)
    slurm.run("sacctmgr", "-i", "modify", "qos", "io_intensive", "set", "GrpTRES=node=1")
    slurm.wait_for(lambda: slurm.states(held) == {"COMPLETED"})
