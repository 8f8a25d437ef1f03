# SPDX-License-Identifier: MIT
"""`jobmeter run` on other kernels and on cgroup v2: CPU time, groups, and an ordinary user."""

import json

import pytest

from guest import OPTIONAL, Case

BURNS = ["spin 2003", "calls 2003", "forks 211", "memory 101"]

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


def load(result, name):
    return json.loads(result.files[name])


def close(a, b, of):
    """Equal to 1 % of @of; what burn itself does after getrusage() is far less in runs of this length."""
    return abs(a - b) <= 0.01 * of


@pytest.mark.parametrize("result", [Case(BURN.format(mode=mode)) for mode in BURNS], indirect=True, ids=BURNS)
def test_cpu_time_is_what_getrusage_says(kernel, result):
    assert result.status == 0, result.stderr
    record, burn = load(result, "record.json"), load(result, "burn.json")
    user, system = burn["user_us"] / 1e6, burn["system_us"] / 1e6
    assert close(record["cpu"]["user_seconds"], user, user + system)
    assert close(record["cpu"]["system_seconds"], system, user + system)
    assert result.files["left"] == b""


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
