# SPDX-License-Identifier: MIT
"""What block devices did for jobs, against the kernel's own statistics of the device: equal, to the byte and the request."""

import os
import shutil
import subprocess
from pathlib import Path

import compare
import pytest

from agent_pages import await_page, final_record, known_jobs, page_of
from command import command

STAT = ["read.ios", "read.merges", "read.sectors", "read.ticks", "write.ios", "write.merges", "write.sectors", "write.ticks",
        "in_flight", "io_ticks", "queue_ticks", "discard.ios", "discard.merges", "discard.sectors", "discard.ticks",
        "flush.ios", "flush.ticks"]
READ = ["if={device}", "of=/dev/null", "bs=4096", "count=1009", "iflag=direct"]
WRITE = ["if=/dev/zero", "of={device}", "bs=8192", "count=499", "oflag=direct", "conv=notrunc"]
SYNCED = ["if=/dev/zero", "of={device}", "bs=4096", "count=101", "oflag=direct", "conv=notrunc,fsync"]


class Device:
    def __init__(self, path):
        self.path, self.name = path, Path(path).name

    def stat(self):
        words = Path(f"/sys/block/{self.name}/stat").read_text().split()
        return dict(zip(STAT, map(int, words)))

    def since(self, before):
        """What it did, in the record's words: a request that was merged is one that came."""
        now = self.stat()
        grew = {key: now[key] - before[key] for key in now}
        told = {op: {"bytes": grew[f"{op}.sectors"] * 512, "requests": grew[f"{op}.ios"] + grew[f"{op}.merges"]}
                for op in ("read", "write", "discard")}
        told["flush"] = {"requests": grew["flush.ios"]}
        told["write"]["requests"] -= grew["flush.ios"]  # a flush is a write of nothing there, too
        return {op: numbers for op, numbers in told.items() if numbers["requests"]}

    def dd(self, words):
        return ["dd", "status=none", *(word.format(device=self.path) for word in words)]


@pytest.fixture
def device(tmp_path, root, demand):
    """A loop device over a file on a tmpfs: 16 MiB of zeros."""
    folder = tmp_path / "below"
    folder.mkdir()
    try:
        command("mount", "-t", "tmpfs", "-o", "size=64m", "below", folder)
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot mount: {e.stderr.strip()}")
    (folder / "image").write_bytes(bytes(16 << 20))
    done = subprocess.run(["losetup", "--find", "--show", folder / "image"], capture_output=True, text=True)
    try:
        demand(done.returncode == 0, f"needs a loop device: {done.stderr.strip()}")
        yield Device(done.stdout.strip())
    finally:
        if done.returncode == 0:
            command("losetup", "--detach", done.stdout.strip())
        command("umount", "--lazy", folder)


def told(block, name):
    """The numbers of one device that the device tells, too."""
    found = [entry for entry in block if entry["device"] == name]
    return {op: {key: numbers[key] for key in ("bytes", "requests") if key in numbers}
            for op, numbers in found[0].items() if op != "device"} if found else {}


def check_times(block, name, longest_s, unseen_max):
    missing = 0
    for entry in block:
        for op, numbers in entry.items():
            if op != "device" and entry["device"] == name:
                missing += numbers["requests"] - sum(numbers["latencies"])
                assert numbers["errors"] == 0
                assert 0 < numbers["seconds"] < longest_s * numbers["requests"]
    assert 0 <= missing <= unseen_max


@pytest.mark.parametrize("words", [READ, WRITE, SYNCED], ids=["reads", "writes", "flushes"])
def test_a_run_has_what_the_device_says(run_metered, device, words):
    before = device.stat()
    record = run_metered(*device.dd(words), options=["--standalone"])
    truth = device.since(before)
    assert told(record["block"], device.name) == truth != {}
    check_times(record["block"], device.name, record["time"]["elapsed_seconds"], compare.not_shown(record))
    assert record["coverage"]["lost_events"] == compare.not_shown(record)
    count = int(next(word for word in words if word.startswith("count=")).removeprefix("count="))
    size = int(next(word for word in words if word.startswith("bs=")).removeprefix("bs="))
    op = "read" if words is READ else "write"
    assert truth[op] == {"bytes": count * size, "requests": count}
    assert truth.get("flush") == ({"requests": 1} if words is SYNCED else None)


def test_a_discard_is_one(run_metered, device, demand):
    demand(shutil.which("blkdiscard"), "needs blkdiscard")
    before = device.stat()
    record = run_metered("blkdiscard", "--offset", 4096 * 7, "--length", 4096 * 11, device.path, options=["--standalone"])
    truth = device.since(before)
    assert told(record["block"], device.name)["discard"] == truth["discard"] == {"bytes": 4096 * 11, "requests": 1}


def test_a_command_that_uses_nothing_has_no_rows(run_metered, device):
    """Of this device: the program itself may have to be read from another."""
    record = run_metered("true", options=["--standalone"])
    assert told(record["block"], device.name) == {} and record["network"] == {}
    assert "files" not in record and "syscalls" not in record  # which nobody asked for


def test_without_T2_what_it_measures_is_not_known(programs, run_metered, device, tmp_path):
    """Not of devices, sockets and files, nor of polls."""
    truth, output = programs / "tests/truth", tmp_path / "truth.json"
    record = run_metered(truth / "chain", shutil.which("dd"), *device.dd(READ)[1:], ",", truth / "looks", "poll", "101", output, ",",
                         truth / "talk", "tcp4", output, tier="T0", options=["--standalone", "--files", "--tiers", "T0,T1"])
    assert not {"block", "network", "files"} & set(record)
    assert any("hot files" in line for line in record["coverage"]["missing"])
    assert record["cpu"]["polling_seconds"] is record["cpu"]["empty_polls"] is record["cpu"]["yields"] is None


def test_what_a_file_system_reads_for_a_job_is_its(run_metered, disk):
    """Through the page cache, read ahead included: all that came from the device came for it."""
    file = disk / "file"
    file.write_bytes(bytes(range(251)) * 40009)
    command("sync", "-f", disk)
    with open(file, "rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    device = Device(command("findmnt", "--noheadings", "--output", "SOURCE", disk).stdout.strip())
    before = device.stat()
    read = told(run_metered("md5sum", file, options=["--standalone"])["block"], device.name)["read"]
    truth = device.since(before)["read"]
    assert read["bytes"] == truth["bytes"] >= 251 * 40009
    assert 0 < read["requests"] <= truth["requests"]  # large ones are more than one of the device's


def exposed(page, job, name):
    """{op: {key: number}} of one job on one device."""
    found = {}
    for (metric, labels), value in page.samples.items():
        labels = dict(labels)
        if metric.startswith("jobmeter_job_block_") and labels["jobid"] == str(job) and labels["device"] == name:
            op, key = metric.removeprefix("jobmeter_job_block_").removesuffix("_total").split("_", 1)
            if key in ("bytes", "requests"):
                found.setdefault(op, {})[key] = value
    return found


def add(*parts):
    sums = {}
    for part in parts:
        for op, numbers in part.items():
            for key, number in numbers.items():
                sums.setdefault(op, {}).setdefault(key, 0)
                sums[op][key] += number
    return sums


READS = {"read": {"bytes": 1009 * 4096, "requests": 1009}}
WRITES = {"write": {"bytes": 499 * 8192, "requests": 499}}


def test_two_jobs_at_once_have_each_its_own_and_together_what_the_device_says(start_agent, groups, device, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()
    before = device.stat()
    running = [groups.start(groups.name(job), *device.dd(words)) for job, words in ((1, READ), (2, WRITE))]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    truth = device.since(before)
    assert truth == add(READS, WRITES)
    page = await_page(agent, lambda p: add(exposed(p, 1, device.name), exposed(p, 2, device.name)) == truth)
    for job, part in ((1, READS), (2, WRITES)):
        assert exposed(page, job, device.name) == part
        groups.remove(groups.name(job))
        block = final_record(agent, job)["block"]
        assert told(block, device.name) == part
        check_times(block, device.name, 60, 5)
        assert exposed(page_of(agent), job, device.name) == part


def test_many_at_once_are_all_counted(run_metered, device):
    """Where ends come in the midst of each other the kernel does not tell of each: those are counted, and said to be."""
    turn = f"{' '.join(device.dd(READ))}; {' '.join(device.dd(WRITE))}"
    before = device.stat()
    record = run_metered("sh", "-c", f"for i in 1 2 3; do (for j in 1 2 3 4 5; do {turn}; done) & done; wait", options=["--standalone"])
    truth = device.since(before)
    found = told(record["block"], device.name)
    assert truth == add(*([READS, WRITES] * 15))
    left = sum(int(words.split()[0]) for words in record["coverage"]["missing"] if "requests to block devices not counted" in words)
    assert sum(numbers["requests"] for numbers in found.values()) + left == sum(numbers["requests"] for numbers in truth.values())
    assert found == truth or left
    check_times(record["block"], device.name, record["time"]["elapsed_seconds"], compare.not_shown(record))


def test_a_restart_of_the_agent_loses_nothing(start_agent, groups, device, demand):
    """What was counted before, meanwhile and after; that of a leaf that has ended, too."""
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent()

    def work(job, words):
        assert groups.start(groups.name(job), *device.dd(words)).wait(timeout=60) == 0

    work(1, READ)
    groups.remove(groups.name(1))
    await_page(agent, lambda page: "1" in known_jobs(page))
    ended = told(final_record(agent, 1)["block"], device.name)
    work(2, READ)
    agent.kill()
    work(2, WRITE)
    agent.start()
    work(2, READ)
    await_page(agent, lambda page: "2" in known_jobs(page))
    groups.remove(groups.name(2))
    assert told(final_record(agent, 2)["block"], device.name) == add(READS, WRITES, READS)
    assert told(final_record(agent, 1)["block"], device.name) == ended == READS


def test_switched_off_it_is_not_known_and_said_to_be_missing(start_agent, groups, device, demand):
    demand(shutil.which("curl"), "needs curl")
    agent = start_agent(block=False)
    groups.run(groups.name(1), *device.dd(READ))
    await_page(agent, lambda page: "1" in known_jobs(page))
    assert "jobmeter_job_block_" not in agent.get("/metrics").text
    groups.remove(groups.name(1))
    record = final_record(agent, 1)
    assert "block" not in record
    assert any("block devices" in words and "switched off" in words for words in record["coverage"]["missing"])


def test_a_partition_is_told_by_its_disk(run_metered, device):
    """One that begins at the first MiB and takes eight of them."""
    command("dd", "if=/dev/zero", f"of={device.path}", "bs=512", "count=1", "conv=notrunc")
    entry = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (16384).to_bytes(4, "little")
    with open(device.path, "r+b") as disk:
        disk.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")
    done = subprocess.run(["blockdev", "--rereadpt", device.path], capture_output=True, text=True)
    partition = Path(f"/sys/block/{device.name}/{device.name}p1")
    if not partition.is_dir():
        subprocess.run(["partx", "--add", device.path], capture_output=True)
    if not partition.is_dir():
        pytest.skip(f"this loop device takes no partitions: {done.stderr.strip()}")
    node = Path(f"/dev/{partition.name}")
    made = not node.exists()
    if made:
        major, minor = (partition / "dev").read_text().strip().split(":")
        command("mknod", node, "b", major, minor)
    try:
        record = run_metered("dd", "status=none", f"if={node}", "of=/dev/null", "bs=4096", "count=13", "iflag=direct",
                             options=["--standalone"])
    finally:
        if made:
            node.unlink()
        subprocess.run(["partx", "--delete", device.path], capture_output=True)
    assert told(record["block"], device.name) == {"read": {"bytes": 13 * 4096, "requests": 13}}
    assert partition.name not in [entry["device"] for entry in record["block"]]  # a disk with dd on it may be there
