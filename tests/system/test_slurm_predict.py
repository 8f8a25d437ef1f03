# SPDX-License-Identifier: MIT
"""What a real sbatch keeps of a prediction, and that it waits for none."""

import os
import pwd
import shutil
import signal
import time

import pytest

from made_records import line, record
from repository import REPOSITORY
from server import BUILD
from serving import Serving, batches, folder  # noqa: F401
from slurm import USERS, Slurm, missing_program
from waiting import until

pytestmark = pytest.mark.node

ANN, BOB = USERS
SHARE = REPOSITORY / "share/slurm"
HOUR = 3600


@pytest.fixture
def slurm(demand, filtered):
    demand(os.geteuid() == 0 and not missing_program(), "needs root and Slurm")
    with Slurm(more="CliFilterPlugins=cli_filter/lua\nJobSubmitPlugins=lua") as slurm:
        yield slurm


@pytest.fixture
def filtered(monkeypatch):
    """The scripts lie beside slurm.conf from the start; the forecast, which slurmctld reads, may come later."""
    prepare = Slurm.prepare

    def prepare_with_filter(self):
        prepare(self)
        for name in ("cli_filter.lua", "job_submit.lua"):
            shutil.copy(SHARE / name, self.folder)
        self.forecast = self.folder / "forecast"
        self.environment["JOBMETER_FORECAST"] = str(self.forecast)

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
        until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(12,)])
        slurm.environment |= {"JOBMETER": str(BUILD.resolve() / "jobmeter"), "JOBMETER_SERVER_SOCKET": str(server.socket)}
        job = slurm.submit("true", "-N1", "-t", "5", user=ANN, name="it's 8")
        until(lambda: server.ask_database("SELECT count(*) FROM predictions"
                                             f" WHERE target = 'runtime' AND job_id = '{job}' AND uid = {uid}") == [(1,)], 120)
        (value,), = server.ask_database("SELECT value_milli FROM predictions WHERE target = 'runtime'")
        assert 60_000 <= value <= 75_000

        # what was answered when the job had been submitted is printed: this sbatch lasts as long
        answered = slurm.out / "answered"
        program = slurm.folder / "program"
        program.write_text(f'#!/bin/sh\n"{BUILD.resolve()}/jobmeter" "$@"\ntouch {answered}\n')
        program.chmod(0o755)
        slurm.environment["JOBMETER"] = str(program)
        with open(slurm.folder / "cli_filter.lua", "a") as script:
            script.write("local submitted = slurm_cli_post_submit\nfunction slurm_cli_post_submit(...)\n"
                         f"os.execute('until test -e {answered}; do sleep 0.1; done')\nreturn submitted(...)\nend\n")
        done = slurm.run("sbatch", "-N1", "-t", "5", "-J", "it's 9", "-o", "/dev/null", "--wrap", "true", user=ANN)
        assert "jobmeter expects: runtime 1 m 0" in done.stderr and "), peak memory 3" in done.stderr and "energy" not in done.stderr, done.stderr
        shutil.copy(SHARE / "cli_filter.lua", slurm.folder)

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


def test_what_is_not_given_is_not_asked(slurm):
    program = slurm.folder / "program"
    asked = slurm.out / "asked"
    program.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    program.chmod(0o755)
    slurm.environment["JOBMETER"] = str(program)
    slurm.submit("true", user=ANN)
    until(lambda: asked.exists() and len(asked.read_text().splitlines()) == 2, 120)
    assert "--time" not in asked.read_text() and "--mem" not in asked.read_text()
    slurm.submit("true", "-t", "5", "--mem=16M", user=ANN)
    until(lambda: len(asked.read_text().splitlines()) == 4, 120)
    assert all("--time=00:05:00" in line and "--mem=16" in line.split() for line in asked.read_text().splitlines()[2:])


def late(slurm, job):
    """The seconds until it may begin, as Slurm has it."""
    account, partition, start, end = slurm.facts_of(job)
    return start - time.time()


def test_a_job_for_which_less_emission_is_worth_waiting_waits(slurm):
    now = int(time.time())
    rows = [(now // 60 * 60 + i * HOUR, 100 if i == 3 else 400) for i in range(24)]
    forecast = "".join(f"{at} {at + HOUR} {grams}\n" for at, grams in rows)
    slurm.forecast.write_text(forecast)
    eco = ["--comment=eco", "-t", "60"]
    done = slurm.run("sbatch", "--parsable", *eco, "-o", "/dev/null", "--wrap", "true", user=ANN)
    assert "emits 75 % less CO2e by the forecast" in done.stderr
    waits = int(done.stdout)
    assert slurm.facts_of(waits)[2] == rows[3][0] and slurm.states(waits) == {"PENDING"}
    assert slurm.facts_of(slurm.submit("true", "--comment=eco:4h", "-t", "60", user=ANN))[2] == rows[3][0]
    own = slurm.submit("true", *eco, "--begin=now+1hour", user=ANN)
    assert abs(late(slurm, own) - HOUR) < HOUR / 2
    # too short a slack, no limit that says how long it runs, longer than the forecast, another comment
    at_once = [slurm.submit("true", *options, user=ANN) for options in
               (["--comment=eco:2h", "-t", "60"], ["--comment=eco"], ["--comment=eco", "-t", "2-0"], ["--comment=economy", "-t", "60"],
                ["--comment=eco:9999h", "-t", "60"], ["-t", "60"])]
    # no forecast, or one that is none: old, flat, empty, of bytes, without an end, a folder
    old = "".join(f"{at - 30 * 24 * HOUR} {at - 29 * 24 * HOUR} {grams}\n" for at, grams in rows)
    flat = "".join(f"{at} {at + HOUR} 400\n" for at, _ in rows)
    for text in (old, flat, "", "\0\xff" * 999, "1 " * 10**6, "nan inf -1\n" * 99, f"{now - 9} {now + 10**6} 0\n", forecast.replace(" ", ","),
                 "".join(f"{now - 9 + i} {now + 10**6} {400 - i}\n" for i in range(3000))):
        slurm.forecast.write_text(text)
        at_once.append(slurm.submit("true", *eco, user=ANN))
    slurm.forecast.unlink()
    at_once.append(slurm.submit("true", *eco, user=ANN))
    slurm.forecast.mkdir()
    at_once.append(slurm.submit("true", *eco, user=ANN))
    for job in at_once:
        slurm.wait_for(lambda: slurm.states(job) == {"COMPLETED"})
    assert slurm.states(waits) == {"PENDING"}


@pytest.mark.parametrize("program", ["#!/bin/sh\nsleep 1000\n", "#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\nyes runtime\n", "#!/bin/sh\nexit 1\n"],
                         ids=["slow", "killed", "endless", "failed"])
def test_sbatch_waits_for_no_answer(slurm, program, tmp_path_factory):
    asked = slurm.folder / "program"
    asked.write_text(program.replace("yes", f"echo $$ >>{slurm.out}/asked; exec yes").replace("sleep", f"echo $$ >>{slurm.out}/asked; exec sleep"))
    asked.chmod(0o755)
    slurm.environment["JOBMETER"] = str(asked)
    job = slurm.submit("true", user=ANN)
    slurm.wait_for(lambda: slurm.states(job) == {"COMPLETED"})  # while what was asked still runs
    for pid in (slurm.out / "asked").read_text().split() if (slurm.out / "asked").exists() else []:
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
