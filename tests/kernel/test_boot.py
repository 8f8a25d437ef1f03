# SPDX-License-Identifier: MIT
"""The guests themselves: that they are what the other kernel tests take them for."""

import hashlib

import pytest

from guest import Case, Guest, GuestError, Run

MOUNT_EXT4 = """set -e
dd if=/dev/zero of=/tmp/image bs=1M count=16 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mkdir /tmp/disk
mount -t ext4 -o loop /tmp/image /tmp/disk
grep ' /tmp/disk ' /proc/mounts
"""

def case(script, **kwargs):
    return pytest.mark.parametrize("result", [Case(script, **kwargs)], indirect=True, ids=["guest"])


@case("uname -r")
def test_runs_the_kernel_that_was_fetched(kernel, result):
    assert result.stdout == (kernel / "release").read_text()


@case("nproc")
def test_has_two_processors(result):
    assert result.stdout == "2\n"


@case("test -s /sys/kernel/btf/vmlinux")
def test_has_btf(result):
    assert result.status == 0


@case("cat /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/a; ls /sys/fs/cgroup/a")
def test_has_cgroup_v2_with_its_controllers(result):
    controllers, *files = result.stdout.splitlines()
    assert {"cpu", "cpuset", "io", "memory", "pids"} <= set(controllers.split())
    assert {"cpu.stat", "memory.current", "io.stat", "pids.current"} <= set(files)


@case("ls -d /sys/fs/cgroup/*/ /tmp/*")
def test_clears_away_what_the_case_before_left(result):
    assert result.stdout == ""


@case("id -u; id -un; touch /root/x || echo refused; touch /tmp/x /out/x", user="alice")
def test_runs_cases_of_an_ordinary_user(result):
    assert result.stdout == "1000\nalice\nrefused\n"
    assert result.files == {"x": b""}


@case("mkdir /out/a; head -c 100003 /dev/urandom >/out/a/b; sha256sum </out/a/b; echo why >&2; exit 3")
def test_brings_back_status_output_and_files(result):
    assert (result.status, result.stderr) == (3, "why\n")
    assert hashlib.sha256(result.files["a/b"]).hexdigest() == result.stdout.split()[0]


@case("sleep 60", limit_s=1)
def test_kills_a_case_at_its_time_limit(result):
    assert result.status == 137


@case(MOUNT_EXT4)
def test_mounts_ext4(result):
    assert result.status == 0, result.stderr
    assert " ext4 " in result.stdout


@case("jobmeter --version")
def test_runs_our_program_with_its_libraries(result):
    assert result.status == 0, result.stderr


@case("smoke /bin/smoke.bpf.o")
def test_loads_and_runs_bpf_programs(result):
    assert result.status == 0, result.stderr
    seen = dict(line.rsplit(maxsplit=1) for line in result.stdout.splitlines())
    assert int(seen["vfs_read"]) >= 997
    assert int(seen["system calls"]) >= 997


@case("cat /sys/kernel/debug/sched/preempt", boot="preempt=full")
def test_takes_its_command_line(result):
    assert "(full)" in result.stdout


def test_a_panic_is_told_with_the_end_of_the_console(kernel):
    before, panic, after = Case("echo before"), Case("echo c >/proc/sysrq-trigger"), Case("echo after")
    results = Guest(kernel, {}).run([before, panic, after])
    assert results[before].stdout == "before\n"
    with pytest.raises(GuestError, match=r"(?s)after 1 of 3 cases.*sysrq triggered crash"):
        results[panic]


def test_a_guest_that_falls_silent_is_killed(tmp_path):
    run = Run(tmp_path, kernel=tmp_path, initramfs=b"", cmdline_extra="")
    run.command = ["sleep", "1000"]
    assert run.boot(patience_s=0.1) == "was silent for 0.1 s and killed"
