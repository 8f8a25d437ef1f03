# SPDX-License-Identifier: MIT
"""`jobmeter run` inside real Slurm jobs."""

import json
import pathlib

import pytest

import slurm as slurm_module
from leftovers import leftovers

pytestmark = pytest.mark.node

PRIME_BYTES, PRIME_CALLS = 1009, 1013


@pytest.fixture(scope="module")
def slurm(tmp_path_factory, demand):
    missing = slurm_module.missing_program()
    demand(not missing, f"needs Slurm: there is no {missing}")
    s = slurm_module.Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        s.start()
        yield s
    finally:
        s.stop()


@pytest.fixture(autouse=True)
def no_files_left():
    yield
    for name in ("job.out", "rank.0", "rank.1"):
        pathlib.Path("/dev/shm", name).unlink(missing_ok=True)


def dd(out):
    return ["dd", "if=/dev/zero", f"of={out}", f"bs={PRIME_BYTES}", f"count={PRIME_CALLS}",
            "status=none"]


def row(record, mount):
    return next(r for r in record["io"] if r["mount"] == mount)


def test_a_batch_job(slurm, programs, root, tmp_path):
    out = tmp_path / "record.json"
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n{programs}/jobmeter run --quiet --output {out} -- "
                      f"{' '.join(dd('/dev/shm/job.out'))}\necho code $?\n")
    slurm.run("sbatch", "--wait", "-n1", "--mem=101M", "-o", tmp_path / "log", script)

    record = json.loads(out.read_text())
    assert "code 0" in (tmp_path / "log").read_text()
    assert row(record, "/dev/shm")["write"]["bytes"] == PRIME_BYTES * PRIME_CALLS
    assert row(record, "/dev/shm")["write"]["calls"] == PRIME_CALLS
    assert record["cpu"]["allocated_cores"] == 1
    assert record["memory"]["limit_bytes"] == 101 << 20
    assert leftovers() == []


def test_each_rank_writes_its_own_record_and_report_merges_them(slurm, programs, root, tmp_path):
    out = tmp_path / "ranks"
    out.mkdir()
    slurm.run("srun", "-n2", "sh", "-c",
              f"{programs}/jobmeter run --quiet --output {out}/ -- "
              + " ".join(dd("/dev/shm/rank.$SLURM_PROCID")))

    records = [json.loads(p.read_text()) for p in sorted(out.iterdir())]
    assert sorted(r["job"]["rank"] for r in records) == [0, 1]
    for record in records:
        assert row(record, "/dev/shm")["write"]["bytes"] == PRIME_BYTES * PRIME_CALLS

    merged = json.loads(slurm.run(programs / "jobmeter", "report", "--json", out).stdout)
    assert row(merged, "/dev/shm")["write"]["bytes"] == 2 * PRIME_BYTES * PRIME_CALLS
    assert merged["cpu"]["allocated_cores"] == 2  # each rank has a core of its own
    assert leftovers() == []


def test_the_exit_code_reaches_slurm(slurm, programs, root, tmp_path):
    done = slurm.run("srun", "-n1", programs / "jobmeter", "run", "--quiet", "--", "sh", "-c", "exit 23",
                     check=False)
    assert done.returncode == 23


def test_scancel_reaches_the_command_once(slurm, programs, root, tmp_path):
    """Slurm signals every process of the step; the command must not get one more from us."""
    seen, out = tmp_path / "seen", tmp_path / "record.json"
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n"
                      f"exec {programs}/jobmeter run --quiet --output {out} -- "
                      f"python3 {tmp_path}/count.py\n")
    (tmp_path / "count.py").write_text(
        "import signal, time\n"
        f"seen = open('{seen}', 'w', buffering=1)\n"
        "signal.signal(signal.SIGUSR1, lambda *_: seen.write('usr1\\n'))\n"
        "seen.write('ready\\n')\n"
        "end = time.monotonic() + 60\n"
        f"while time.monotonic() < end and 'usr1' not in open('{seen}').read(): time.sleep(0.05)\n"
        "time.sleep(1)\n")  # a second one would come by then
    job = slurm.run("sbatch", "--parsable", "-n1", "-o", tmp_path / "log", script).stdout.strip()
    slurm.wait_for(lambda: seen.exists() and "ready" in seen.read_text())
    slurm.run("scancel", "--signal=USR1", "--full", job)
    slurm.wait_for(lambda: out.exists())
    assert seen.read_text().splitlines() == ["ready", "usr1"]
