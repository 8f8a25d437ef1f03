# SPDX-License-Identifier: MIT
"""The guests themselves: that they are what the other kernel tests take them for."""

import hashlib

import pytest

from guest import Case, Guest, GuestError, Run


def case(script, **kwargs):
    return pytest.mark.parametrize("result", [Case(script, **kwargs)], indirect=True, ids=["guest"])


@case("ls -d /sys/fs/cgroup/*/ /tmp/*")
def test_clears_away_what_the_case_before_left(result):
    assert result.stdout == ""


@case("mkdir /out/a; head -c 100003 /dev/urandom >/out/a/b; sha256sum </out/a/b; echo why >&2; exit 3")
def test_brings_back_status_output_and_files(result):
    assert (result.status, result.stderr) == (3, "why\n")
    assert hashlib.sha256(result.files["a/b"]).hexdigest() == result.stdout.split()[0]


@case("sleep 60", limit_s=1)
def test_kills_a_case_at_its_time_limit(result):
    assert result.status == 137


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
