# SPDX-License-Identifier: MIT
"""What is pinned outlives the process that pinned it, counts on, and is taken over or removed; and a clean end
leaves nothing."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

BPF_FS = pathlib.Path("/sys/fs/bpf")
OTHER_SIZES = ("file_rows=4099", "task_totals=1031")


class Pinned:
    """The program `pinned`, which a test may end as it likes."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.began = self.process.stdout.readline().rstrip("\n")
        if not self.began:
            raise RuntimeError(self.process.stderr.read().strip())

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def read(self, mount):
        """({op: (calls, bytes)} on that mount, tasks that ended)"""
        ended, *parts = self.ask("read").split(" ")
        ops = {}
        for part in parts:
            name, op, calls, amount = part.rsplit(",", 3)
            if name == str(mount):
                ops[op] = (int(calls), int(amount))
        return ops, int(ended.removeprefix("ended="))

    def programs(self):
        """The numbers of those that it has open."""
        files = pathlib.Path(f"/proc/{self.process.pid}/fdinfo").iterdir()
        return {int(number) for file in files for number in re.findall(r"^prog_id:\s*(\d+)", file.read_text(), re.M)}

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def close(self):
        self.process.communicate("close\n", timeout=60)
        assert self.process.returncode == 0


@pytest.fixture
def group(programs, root, demand):
    """A cgroup of the key hierarchy, which the tests' work is done in."""
    told = subprocess.run([programs / "tests/system/pinned", "--key"], capture_output=True, text=True)
    demand(told.returncode == 0, told.stderr.strip())
    path = pathlib.Path(told.stdout.strip()) / f"test-pins-{os.getpid()}"
    path.mkdir()
    yield path
    path.rmdir()


@pytest.fixture
def pin_dir():
    return BPF_FS / f"jobmeter-test-{os.getpid()}"


@pytest.fixture
def open_pinned(programs, group, pin_dir, demand):
    """open_pinned(MAP=ENTRIES...): a meter of the group with pins."""
    opened = []

    def open_one(*sizes, id=None):
        try:
            one = Pinned(programs / "tests/system/pinned", pin_dir, id or group.stat().st_ino, *sizes)
        except RuntimeError as e:
            demand(not re.search(r"permitted|bpf\(2\)|cannot mount", str(e)), str(e))
            raise
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        if one.process.poll() is None:
            one.kill()
    if pin_dir.exists():  # a test that failed
        subprocess.run(["find", pin_dir, "-depth", "-type", "f", "-delete"], check=True)
        subprocess.run(["find", pin_dir, "-depth", "-type", "d", "-delete"], check=True)


class Work:
    """What was done in the group, of which we know how much it is."""

    def __init__(self, group, mount):
        self.group, self.mount = group, mount
        self.ops, self.ended = collections.Counter(), 0

    def join(self):
        (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def start(self, blocks, size, source="/dev/zero"):
        """A process that writes so many blocks of so many bytes to one file of the mount."""
        self.ops.update({"write": blocks, "bytes": blocks * size, "opened": 1})
        self.ended += 1
        return subprocess.Popen(["dd", f"if={source}", f"of={self.mount}/out", f"bs={size}", f"count={blocks}",
                                 "conv=notrunc", "iflag=fullblock", "status=none"], preexec_fn=self.join)

    def do(self, blocks, size):
        assert self.start(blocks, size).wait() == 0

    def is_counted_by(self, pinned):
        """As soon as all ends are counted, which the kernel tells some time after it tells the parent."""
        deadline = time.monotonic() + 60
        while True:
            ops, ended = pinned.read(self.mount)
            opened = ops.get("open", (0, 0))[0] + ops.get("create", (0, 0))[0]
            counted = ((*ops.get("write", (0, 0)), opened), ended)
            expected = ((self.ops["write"], self.ops["bytes"], self.ops["opened"]), self.ended)
            if counted == expected or time.monotonic() > deadline:
                assert counted == expected
                return True
            time.sleep(0.01)


@pytest.fixture
def work(group, mounts):
    return Work(group, mounts.a)


def loaded_programs():
    listed = subprocess.run([shutil.which("bpftool") or "/usr/sbin/bpftool", "-j", "prog", "show"],
                            capture_output=True, text=True, check=True)
    return {program["id"] for program in json.loads(listed.stdout)}


def are_gone(programs, seconds=60):
    """The kernel frees them some time after the last descriptor and pin."""
    end = time.monotonic() + seconds
    while left := programs & loaded_programs():
        assert time.monotonic() < end, left
        time.sleep(0.05)
    return True


def test_what_runs_while_nobody_has_it_open_is_counted_once(open_pinned, pin_dir, work, tmp_path):
    first = open_pinned()
    assert first.began == "made"
    assert first.ask("seal") == "ok"
    hooks = first.ask("hooks")
    assert "leave_call:11:" in hooks and "count_freed_task:11:" in hooks
    work.do(23, 17)
    assert work.is_counted_by(first)
    os.mkfifo(tmp_path / "fifo")
    waiting = work.start(1, 13, source=tmp_path / "fifo")  # in a system call as the meter ends, and after it
    first.kill()
    work.do(31, 7)
    (tmp_path / "fifo").write_bytes(b"x" * 13)
    assert waiting.wait() == 0
    work.do(5, 4099)
    second = open_pinned()
    assert second.began == "taken"
    assert second.ask("hooks") == hooks
    assert work.is_counted_by(second)
    work.do(11, 3)
    assert work.is_counted_by(second)
    programs = second.programs()
    assert len(programs) >= 10
    second.close()
    assert not pin_dir.exists()
    assert are_gone(programs)


def test_pins_can_be_kept_and_taken_over_again_and_again(open_pinned, pin_dir, work):
    for i in range(3):
        one = open_pinned()
        assert one.began.startswith("taken" if i else "made")
        assert one.ask("seal") == "ok" and one.ask("keep") == "ok"
        work.do(7 + i, 19)
        assert work.is_counted_by(one)
        one.close()
        work.do(3, 29)
    last = open_pinned()
    assert work.is_counted_by(last)
    last.close()
    assert not pin_dir.exists()


def test_a_set_of_another_layout_is_removed_and_all_is_counted_from_then_on(open_pinned, pin_dir, work):
    """As that of another build, or of other settings."""
    first = open_pinned()
    assert first.ask("seal") == "ok"
    work.do(23, 17)
    assert work.is_counted_by(first)
    programs = first.programs()
    first.kill()
    work.do(31, 7)
    (old,) = pin_dir.iterdir()
    second = open_pinned(*OTHER_SIZES)
    assert second.began == "made, removed"
    assert [new != old for new in pin_dir.iterdir()] == [True]
    assert are_gone(programs)
    work.ops.clear()
    work.ended = 0
    work.do(41, 5)
    assert work.is_counted_by(second)
    second.close()
    assert not pin_dir.exists()


def test_a_set_that_is_not_complete_is_replaced(open_pinned, pin_dir, work):
    first = open_pinned()
    work.do(23, 17)
    first.kill()  # before it was sealed
    (half,) = pin_dir.iterdir()
    assert not (half / "hooks").exists() and list((half / "links").iterdir())
    second = open_pinned()
    assert second.began == "made"
    assert second.ask("seal") == "ok"
    second.kill()
    (half / "hooks").unlink()
    (half / "maps" / "files-file_rows").unlink()
    third = open_pinned()
    assert third.began == "made"
    work.ops.clear()
    work.ended = 0
    work.do(41, 5)
    assert work.is_counted_by(third)
    third.close()
    assert not pin_dir.exists()


def test_a_set_that_lacks_a_part_or_has_more_is_removed(programs, open_pinned, pin_dir, work):
    first = open_pinned()
    assert first.ask("seal") == "ok"
    first.kill()
    (only,) = pin_dir.iterdir()
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    for name in ("later", "maps/later-what_is_not_known"):
        subprocess.run([bpftool, "map", "create", only / name, "type", "array", "key", "4", "value", "8", "entries", "1",
                        "name", "later"], check=True)
    (only / "maps" / "tasks-task_totals").unlink()
    second = open_pinned()
    assert second.began == "made, removed"
    assert not (only / "later").exists()
    second.close()
    assert not pin_dir.exists()


def test_only_we_can_look_into_what_is_pinned(open_pinned, pin_dir):
    one = open_pinned()
    for path in [pin_dir, *pin_dir.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0 and path.stat().st_uid == 0
    assert one.ask("seal") == "ok"
    one.close()


def test_a_folder_of_another_user_is_left_alone(programs, group, pin_dir, root):
    subprocess.run([programs / "tests/system/pinned", pin_dir, "1"], stdin=subprocess.DEVNULL)  # mounts it
    pin_dir.mkdir(mode=0o777)
    try:
        os.chown(pin_dir, 65534, 65534)
        with pytest.raises(RuntimeError, match="is not a directory that only the agent may write to"):
            Pinned(programs / "tests/system/pinned", pin_dir, group.stat().st_ino)
    finally:
        pin_dir.rmdir()


def test_a_folder_outside_of_a_bpf_file_system_is_one_line(programs, group, tmp_path):
    with pytest.raises(RuntimeError, match=r"^pinned: '.*' is in no BPF file system \(see bpf\(2\)\)$"):
        Pinned(programs / "tests/system/pinned", tmp_path / "pins", group.stat().st_ino)


def test_a_signal_that_ends_it_politely_is_not_a_clean_end(open_pinned, pin_dir, work):
    first = open_pinned()
    assert first.ask("seal") == "ok"
    work.do(3, 3)
    first.process.send_signal(signal.SIGTERM)
    first.process.communicate()
    second = open_pinned()
    assert second.began.startswith("taken")
    assert work.is_counted_by(second)
    second.close()
    assert not pin_dir.exists()
