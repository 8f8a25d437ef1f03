# SPDX-License-Identifier: MIT
"""`jobmeter run` on other kernels and on cgroup v2: CPU time, groups, and an ordinary user."""

import json

import pytest

from guest import OPTIONAL, Case

BURNS = ["spin 2003", "calls 2003", "forks 211", "memory 503"]

BURN = """set -e
jobmeter run --quiet --output /out/record.json -- burn {mode} /out/burn.json
find /sys/fs/cgroup -name 'jobmeter*' >/out/left
"""

TRUTH_AS_USER = """set -e
cd /home/alice
jobmeter run --quiet --output /out/record.json -- truth --output /out/truth.json --mount /tmp --processes 3
"""

# A leaf of alice's own, where jobmeter is the only process, as in a scope that systemd delegates.
IN_A_LEAF = """set -e
mkdir -p /sys/fs/cgroup/site/job
echo '+memory +cpu +pids' >/sys/fs/cgroup/site/cgroup.subtree_control
chown -R alice /sys/fs/cgroup/site
cat >/tmp/script <<'END'
echo $$ >/sys/fs/cgroup/site/job/cgroup.procs
exec su {user} -c "exec jobmeter run --quiet --output /out/record.json -- burn memory 31 /out/burn.json"
END
sh /tmp/script
find /sys/fs/cgroup/site -name 'jobmeter*' >/out/left
cat /sys/fs/cgroup/site/job/cgroup.subtree_control >>/out/left
"""

# busybox' shell; of its children 3 crash, and the others end otherwise.
CRASHES = """set -e
cat >/tmp/script <<'END'
for signal in SEGV ABRT BUS KILL TERM QUIT; do sh -c "kill -$signal \\$\\$"; done
sh -c 'exit 11'
exit 0
END
jobmeter run --quiet --output /out/record.json -- sh /tmp/script
"""


TEAM = "jobmeter run --quiet --output /out/record.json -- burn team 997 /out/burn.json"


def load(result, name):
    return json.loads(result.files[name])


def close(a, b, of):
    """Equal to 1 % of @of; what burn itself does after getrusage() is far less in runs of this length."""
    return abs(a - b) <= 0.01 * of


def is_what_getrusage_says(record, burn):
    user, system = burn["user_us"] / 1e6, burn["system_us"] / 1e6
    return close(record["cpu"]["user_seconds"], user, user + system) and \
        close(record["cpu"]["system_seconds"], system, user + system)


@pytest.mark.parametrize("result", [Case(BURN.format(mode=mode), agent=True, is_timed=True) for mode in BURNS], indirect=True, ids=BURNS)
def test_cpu_time_is_what_getrusage_says(kernel, result):
    assert result.status == 0, result.stderr
    record, burn = load(result, "record.json"), load(result, "burn.json")
    assert is_what_getrusage_says(record, burn), (record["cpu"], burn)
    assert result.files["left"] == b""


@pytest.mark.parametrize("result", [Case(TEAM, agent=True, is_timed=True)], indirect=True)
def test_the_busiest_process_tells_how_even_its_threads_were(kernel, result):
    assert result.status == 0, result.stderr
    threads, parts = load(result, "record.json")["threads"], [0.997, 0.498, 0.249]
    assert threads["count"] == 3
    assert threads["cpu_seconds"] == pytest.approx(sum(parts), rel=0.02)
    assert threads["balance"] == pytest.approx(sum(parts) / 3 / parts[0], rel=0.02)


@pytest.mark.parametrize("result", [Case(TRUTH_AS_USER, user="alice")], indirect=True)
def test_an_ordinary_user_has_exact_totals(kernel, result):
    assert result.status == 0, result.stderr
    record, totals = load(result, "record.json"), load(result, "truth.json")["totals"]
    assert record["tasks"]["wchar_bytes"] == totals["wchar_bytes"]
    assert record["tasks"]["rchar_bytes"] == totals["rchar_bytes"] + 816  # the exec of a static program
    assert record["io"] is None
    assert any("root" in line for line in record["coverage"]["missing"])


LEAVES = [Case(IN_A_LEAF.format(user=user)) for user in ("root", "alice")]


@pytest.mark.parametrize("result", LEAVES, indirect=True, ids=["root", "alice"])
def test_in_a_leaf_of_its_own_the_groups_memory_is_known(kernel, result):
    assert result.status == 0, result.stderr
    record = load(result, "record.json")
    if kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name}: no memory.peak")
    assert record["memory"]["peak_bytes"] >= 31 << 20
    assert result.files["left"].strip() == b""


@pytest.mark.parametrize("result", [Case(CRASHES, agent=True)], indirect=True)
def test_processes_that_crash_are_counted(kernel, result):
    assert result.status == 0, result.stderr
    assert load(result, "record.json")["tasks"]["crashed"] == 3
