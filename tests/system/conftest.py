# SPDX-License-Identifier: MIT
"""Fixtures of the system tests: the programs as built, mounts of our own, and a metered run."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

import browser as browser_module
import postgres as postgres_module
import slurm as slurm_module
from command import command
from repository import REPOSITORY

for shared in ("truth", "mounts"):
    sys.path.insert(0, str(REPOSITORY / "tests" / shared))

from agent import PROGRAM, USER, Agent  # noqa: E402
from job_groups import RULES, JobGroups  # noqa: E402
from jobtruth import make_bench  # noqa: E402
from keeper import Keeper  # noqa: E402
from layouts import make_root  # noqa: E402


@pytest.fixture(scope="session")
def demand():
    """Skip aloud where something is not to be had; in CI's own environment that is a failure."""

    def demand(condition, reason):
        if condition:
            return
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return demand


@pytest.fixture(scope="session")
def programs():
    """The build folder."""
    folder = pathlib.Path(os.environ.get("JOBMETER_BUILD", REPOSITORY / "build")).resolve()
    assert (folder / "tests/truth/truth").exists(), f"nothing is built in {folder}"
    return folder


@pytest.fixture(scope="module")
def postgres(demand):
    """A PostgreSQL of the module's own."""
    demand(postgres_module.is_there(), "needs root, postgresql and python3-psycopg2")
    with tempfile.TemporaryDirectory(prefix="jobmeter-postgres-") as name, Keeper() as keeper:
        os.chmod(name, 0o755)
        with postgres_module.Postgres(pathlib.Path(name) / "cluster", keeper) as postgres:
            yield postgres


@pytest.fixture(scope="module")
def browser(demand):
    demand(browser_module.is_there(), "needs chromium and chromium-driver")
    with browser_module.Browser() as browser:
        yield browser


@pytest.fixture
def root(demand):
    demand(os.geteuid() == 0, "needs root")


Mounts = collections.namedtuple("Mounts", "a b bind plain")


@pytest.fixture
def mounts(tmp_path, root, demand):
    """Two tmpfs whose paths end alike, a bind mount of a part of the first, and a plain folder."""
    m = Mounts(tmp_path / "a/data", tmp_path / "b/data", tmp_path / "bind", tmp_path / "plain")
    mounted = []
    for folder in m:
        folder.mkdir(parents=True)
    try:
        for folder in (m.a, m.b):
            command("mount", "-t", "tmpfs", "-o", "size=512m", "truth", folder)
            mounted.append(folder)
        (m.a / "part").mkdir()
        command("mount", "--bind", m.a / "part", m.bind)
        mounted.append(m.bind)
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot mount: {e.stderr.strip()}")
    else:
        yield m
    finally:
        for folder in reversed(mounted):
            command("umount", folder)


@pytest.fixture
def disk(tmp_path, root, demand):
    """An ext4 of its own, empty."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    try:
        with open(image, "wb") as file:
            file.truncate(128 << 20)
        command("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", image)
        command("mount", "-o", "loop", image, folder)
    except (OSError, subprocess.CalledProcessError) as e:
        demand(False, f"cannot make a disk: {getattr(e, 'stderr', None) or e}")
    try:
        yield folder
    finally:
        command("umount", folder)


@pytest.fixture(scope="module")
def slurm(demand):
    """A Slurm of one node on this machine's cgroup v1, whose prolog is ours."""
    demand(os.geteuid() == 0, "needs root")
    missing = slurm_module.missing_program()
    demand(not missing, f"needs Slurm: there is no {missing}")
    demand(not pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists(), "needs cgroup v1; v2 has its guest")
    with slurm_module.Slurm(jobscripts=True) as s:
        yield s


@pytest.fixture
def run_metered(programs, tmp_path, root, demand):
    """run_metered(*argv, options=[...]): the record of a command that has to end well; @before, @within: what starts jobmeter, and
    the command."""

    def run(*argv, options=(), tier="T2", before=(), within=()):
        output = tmp_path / "record.json"
        done = subprocess.run([*before, programs / "jobmeter", "run", "--quiet", "--output", output, *options, "--", *within,
                               *map(str, argv)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        record = json.loads(output.read_text())
        assert record["schema"] == "jobmeter.record/1"
        coverage = record["coverage"]
        demand(tier in coverage["tiers"], f"no {tier} here: {'; '.join(coverage['missing'])}")
        return record

    return run


@pytest.fixture
def keeper(root):
    with Keeper() as keeper:
        yield keeper


@pytest.fixture
def groups(keeper, demand):
    try:
        return JobGroups(keeper)
    except OSError as e:
        demand(False, f"cannot make a cgroup: {e}")


@pytest.fixture
def bench(keeper, programs):
    return make_bench(keeper, programs)


@pytest.fixture(scope="session")
def agent_user():
    """Made once for all agents: a test that finds it has nothing to make."""
    with Keeper() as keeper:
        if os.geteuid() == 0:
            slurm_module.make_users(keeper, [USER])
        yield USER


@pytest.fixture
def start_agent(bench, keeper, demand, agent_user):
    agents = []

    def start(before=(), **settings):
        agent = Agent(bench.folder / "agent", keeper, **{"rules": RULES, **settings}).prepare()
        agent.start(before=before)
        agents.append(agent)
        demand("started without BPF" not in agent.log(), "needs BPF")
        return agent

    yield start
    for agent in agents:
        print(agent.log())
        agent.stop()
        shutil.rmtree(agent.folder, ignore_errors=True)  # the next one of the file begins with nothing


@pytest.fixture
def start_below(bench, keeper, agent_user):
    """start(name, files): an agent that reads proc and sys below a directory with these files, and the directory."""
    with contextlib.ExitStack() as stack:
        def start(name, files, **settings):
            folder = bench.folder / name
            folder.mkdir()
            program = folder / "agent-below"
            root = make_root(folder / "root", files)
            program.write_text(f'#!/bin/sh\nexec "{PROGRAM}" --root "{root}" "$@"\n')
            program.chmod(0o755)
            return stack.enter_context(Agent(folder / "agent", keeper, program=program, **{"bpf": False, "helper": False, **settings})), root
        yield start


@pytest.fixture
def work(bench, groups):
    """work(job, ...): a part of a job that notes in the ledger what it did."""

    def work(job, step=None, task=None, seed=0, group=None, **options):
        argv = bench.work("--job", job, "--seed", seed, *(str(word) for key, value in options.items()
                                                         for word in (f"--{key.replace('_', '-')}", value))).split()
        groups.run(group or groups.name(job, step, task), *argv, env={"SLURM_STEP_ID": str(step)})

    return work


@pytest.fixture
def certificate(tmp_path, demand):
    demand(shutil.which("openssl"), "needs openssl")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "1", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return cert, key
