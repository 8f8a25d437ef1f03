# SPDX-License-Identifier: MIT
"""What a real sbatch keeps of a prediction, and that it waits for none."""

import os
import pwd
import shutil

import pytest

from made_records import line, record
from repository import REPOSITORY
from server import BUILD
from serving import Serving, batches, folder, wait_for  # noqa: F401
from slurm import USERS, Slurm, missing_program

pytestmark = pytest.mark.node

ANN, BOB = USERS
FILTER = REPOSITORY / "share/slurm/cli_filter.lua"


@pytest.fixture
def slurm(demand, filtered):
    demand(os.geteuid() == 0 and not missing_program(), "needs root and Slurm")
    with Slurm(more="CliFilterPlugins=cli_filter/lua") as slurm:
        yield slurm


@pytest.fixture
def filtered(monkeypatch):
    """Its script lies beside slurm.conf from the start."""
    prepare = Slurm.prepare

    def prepare_with_filter(self):
        prepare(self)
        shutil.copy(FILTER, self.folder / "cli_filter.lua")

    monkeypatch.setattr(Slurm, "prepare", prepare_with_filter)


def test_a_batch_job_keeps_a_prediction_and_waits_for_none(slurm, folder, keeper):  # noqa: F811
    uid = pwd.getpwnam(ANN).pw_uid
    with Serving(folder, keeper)() as server:
        lines = []
        for number in range(1, 13):
            made = record(number, uid=uid, user=ANN, started=10_000 * number, seconds=60 + number, state="COMPLETED", name="it's 7")
            made["job"] |= {"partition": "debug"}
            lines.append(line(made))
        for batch in batches(lines):
            server.push(batch)
        wait_for(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(12,)])
        slurm.environment |= {"JOBMETER": str(BUILD.resolve() / "jobmeter"), "JOBMETER_SERVER_SOCKET": str(server.socket)}
        job = slurm.submit("true", "-N1", "-t", "5", user=ANN, name="it's 8")
        wait_for(lambda: server.ask_database("SELECT count(*) FROM predictions"
                                             f" WHERE target = 'runtime' AND job_id = '{job}' AND uid = {uid}") == [(1,)], 120)
        (value,), = server.ask_database("SELECT value_milli FROM predictions WHERE target = 'runtime'")
        assert 60_000 <= value <= 75_000

    # no server, and no program: jobs run as before
    second = slurm.submit("true", user=ANN)
    slurm.environment["JOBMETER"] = "/nonexistent/jobmeter"
    third = slurm.submit("true", user=ANN)
    slurm.wait_until_over()
    assert all(slurm.states(one) == {"COMPLETED"} for one in (job, second, third))


def test_names_are_one_word_of_the_shell(slurm, folder):  # noqa: F811
    marker = folder / "marker"
    folder.chmod(0o777)
    for name in (f"$(touch {marker})", f"'; touch {marker}; '", f"`touch {marker}`", f"a'\"'\\'; touch {marker} #"):
        slurm.submit("true", user=ANN, name=name)
    slurm.environment["JOBMETER"] = "/bin/true"
    slurm.submit("true", user=ANN, name=f"x' ; touch {marker}")
    slurm.wait_until_over()
    assert not marker.exists()
