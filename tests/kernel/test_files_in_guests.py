# SPDX-License-Identifier: MIT
"""Files by mount on other kernels: what jobmeter recorded is what the truth program did, exactly; the
cases of the host's kernel, on voluntary and on full preemption."""

import json
import shlex

import compare
import hot_cases
import matrix as matrices
import mountinfo
import pytest
from cases import CASES, CROWDED, MAPPED_CASES

from guest import LONG_S, OPTIONAL, REPO, Case
from test_agent_in_guests import AGENT

# Two mounts whose paths end alike, a bind mount of a part of the first, a plain folder, and an overlay.
SCRIPT = """set -e
mkdir -p /tmp/x/a/data /tmp/x/b/data /tmp/x/bind /tmp/x/plain /tmp/x/lower /tmp/x/over
mount -t tmpfs truth /tmp/x/a/data
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop /tmp/image /tmp/x/b/data
mkdir /tmp/x/a/data/part /tmp/x/b/data/upper /tmp/x/b/data/work
mount --bind /tmp/x/a/data/part /tmp/x/bind
mount -t overlay -o lowerdir=/tmp/x/lower,upperdir=/tmp/x/b/data/upper,workdir=/tmp/x/b/data/work over /tmp/x/over
cp /proc/self/mountinfo /out/mountinfo
jobmeter run --quiet --output /out/record.json -- chain {truths}
"""
TRUTH = """/bin/truth --output /out/truth{number}.json --device /dev/zero --mount /tmp/x/a/data --mount /tmp/x/b/data \
    --bind /tmp/x/bind --mount /tmp/x/plain --mount /tmp/x/over {options}"""


def metered(cases, boot=""):
    """Truth programs one after the other in one record, in which what all of them did must be, to the call."""
    return Case(SCRIPT.format(truths=" , ".join(TRUTH.format(number=number, options=shlex.join(options))
                                                for number, options in enumerate(cases))), boot=boot, limit_s=LONG_S, agent=True)


# What mappings do comes also of what others leave in the page cache.
MAPPED = [options("/tmp/x/b/data") for options in MAPPED_CASES.values()]
TRUTHS = {"all": metered(CASES.values()), **{name: metered([options]) for name, options in zip(MAPPED_CASES, MAPPED)},
          "crowded, preempt=full": metered([CASES[name] for name in CROWDED], "preempt=full")}


@pytest.mark.parametrize("result", TRUTHS.values(), indirect=True, ids=TRUTHS)
def test_every_operation_byte_call_and_error_is_recorded(kernel, result, tmp_path, matrix):
    assert result.status == 0, result.stderr
    (tmp_path / "mountinfo").write_bytes(result.files["mountinfo"])
    mounts = mountinfo.read(tmp_path / "mountinfo")
    truth = compare.together([json.loads(text) for name, text in sorted(result.files.items()) if name.startswith("truth")])
    record = json.loads(result.files["record.json"])
    coverage = record["coverage"]

    def name_of(path):
        return mountinfo.name_of(path, mounts)

    assert "T2" in coverage["tiers"], coverage["missing"]
    if not compare.looks_skipped(record):
        matrix.note(kernel.name, matrices.outcomes(truth, record, name_of))
    assert compare.differences(truth, record, name_of, **compare.abilities(record)) == []
    assert compare.book_differences(truth, record) == []
    assert coverage["lost_events"] == compare.named_lost(record)


def test_the_page_of_operations_says_what_was_found(kernel, matrix):
    found = matrix.column(kernel.name)
    if not found:
        pytest.skip("no case of this kernel has run")
    assert matrices.contradictions((REPO / "docs/internals/operations.md").read_text(), matrix, kernel.name) == []


# Two fresh tmpfs, which number their files alike.
HOT = """set -e
mkdir -p /tmp/x/a /tmp/x/b
mount -t tmpfs hot /tmp/x/a
mount -t tmpfs hot /tmp/x/b
jobmeter run --quiet --files --output /out/record.json -- hot /tmp/x/a /tmp/x/b
"""


@pytest.mark.parametrize("result", [Case(HOT)], indirect=True)
def test_files_are_told_one_by_one(kernel, result):
    assert result.status == 0, result.stderr
    record = json.loads(result.files["record.json"])
    if "T3" not in record["coverage"]["tiers"] and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: no T3: {'; '.join(record['coverage']['missing'])}")
    assert hot_cases.differences(record, "/tmp/x/a") == {}
    assert hot_cases.sums_of_files(record) == hot_cases.sums_of_rows(record)
    assert record["files"]["small"]["opens"] == hot_cases.SMALL_OPENS
    assert record["coverage"]["lost_events"] == compare.not_shown(record)


# Two jobs, of which one ends while there is no agent.
HOT_JOBS = AGENT + """
export JOBMETER_FILES=on JOBMETER_MAPS_MEMORY_MIB=100MiB
use() {
	task=$scope/job_$1/step_0/user/task_0
	mkdir -p $task /tmp/x/$1
	sh -c "echo 0 >$task/cgroup.procs; exec /bin/hot /tmp/x/$1"
}
start
use 41
use 43
await 'jobid="41"' 'jobid="43"'
kill -KILL $agent
wait $agent || true
end 43
start
await 'end_time.*jobid="43"' 'jobid="41"'
jobmeter report --json slurm/41 >/out/41.json
jobmeter report --json slurm/43 >/out/43.json
finish
"""


@pytest.mark.parametrize("result", [Case(HOT_JOBS)], indirect=True)
def test_an_agent_tells_each_jobs_own_one_by_one(kernel, result):
    assert result.status == 0, (result.stderr, result.files.get("log"))
    for job in ("41", "43"):
        record = json.loads(result.files[f"{job}.json"])
        if "T3" not in record["coverage"]["tiers"] and kernel.name in OPTIONAL:
            pytest.skip(f"kernel {kernel.name}: no T3: {'; '.join(record['coverage']['missing'])}")
        assert hot_cases.differences(record, f"/tmp/x/{job}") == {}
        assert hot_cases.sums_of_files(record) == hot_cases.sums_of_rows(record)
