# SPDX-License-Identifier: MIT
"""doctor on other kernels: on cgroup v2, with fentry, and as a user without rights."""

import json

import loads
import pytest

from guest import BUILD, REPO, Case

# With a file system on storage and a loopback, so that mappings and connections are checked too.
ROOT = """ip link set lo up
mkdir -p /var/tmp
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop /tmp/image /var/tmp
jobmeter doctor --json > /out/found.json"""
# No process of ours is a kernel thread, nor asks for a request without a completion, nor spins; and what is only lost is not
# known to be right.
NEVER_CHECKED = ("sample_task", "count_kernel_", "count_loop_", "count_unposted_", "count_unseen_", "begin_request_",
                 "note_bio", "count_bio")
LACKS = {"5.10": ["operations by io_uring", "time that tasks spin"]}  # what no hook gives on a kernel
# The objects that run in their code for older kernels there.
OLDER = {"5.10": {"tasks", "files", "fentry", "syscalls", "block"}}
# What it costs is measured once for a kernel: it goes on and off a dozen times for that.
PREEMPTED = Case(ROOT.replace("--json", "--no-costs --json"), boot="preempt=full")
USER = 'jobmeter doctor --json > /out/found.json; [ $? = 1 ]'


def found_of(result):
    assert result.status == 0, result.stderr + result.files["found.json"].decode()
    return json.loads(result.files["found.json"])


@pytest.mark.parametrize("result", [Case(ROOT), PREEMPTED], indirect=True, ids=["", "preempt=full"])
def test_root_has_the_default_set_on_v2(kernel, result, request):
    found = found_of(result)
    assert found["works"]
    assert found["cgroups"]["version"] == 2
    assert found["machine"]["kernel"] == (kernel / "release").read_text().strip()
    if "preempt=full" in request.node.name and found["machine"]["preemption"]:
        assert found["machine"]["preemption"] == "full"
    works = {feature["name"]: feature["works"] for feature in found["features"]}
    assert works["fentry"]
    assert {row["object"] for row in found["older_code"]} == OLDER.get(kernel.name, set()), found["older_code"]
    (more,) = (tier for tier in found["tiers"] if tier["tier"] == "T2+")
    lacks = LACKS.get(kernel.name, [])
    assert more["on"] == (not lacks), [hook for hook in more["hooks"] if not hook["on"]]
    assert len(found["missing"]) == len(lacks), found["missing"]
    assert all(word in line for word, line in zip(lacks, found["missing"]))
    not_checked = [hook["program"] for hook in more["hooks"] if hook["on"] and not hook["checked"]]
    assert [name for name in not_checked if not name.startswith(NEVER_CHECKED)] == []
    if "preempt=full" not in request.node.name:
        assert found["costs"]["settings"][-1]["added_read_nanoseconds"]["median"] > 0


@pytest.mark.parametrize("result", [Case(ROOT)], indirect=True)
def test_the_page_of_operations_says_which_programs_load(kernel, result):
    found = found_of(result)
    (BUILD / f"doctor-{kernel.name}.json").write_text(json.dumps(found))  # loads.py makes the page of it
    page = (REPO / "docs/internals/operations.md").read_text()
    assert loads.page_column(page, kernel.name) == loads.column(found)


@pytest.mark.parametrize("result", [Case(USER, user="alice")], indirect=True)
def test_a_user_is_told_what_he_lacks(kernel, result):
    found = found_of(result)
    assert found["rights"]["uid"] == 1000
    assert not any(tier["on"] for tier in found["tiers"])
    assert any("CAP_BPF" in advice["do"] for advice in found["advice"])
