# SPDX-License-Identifier: MIT
"""What block devices did for a job, on other kernels and cgroup v2: with a queue of requests and without, ended in an
interrupt or by a thread, and written back by the kernel's own threads."""

import json

import compare
import pytest

from guest import Case

# Device, operation, bytes of a request, how many.
WORK = {
    "ended-by-interrupts": ("nullb0", "read", 4096, 1009),
    "written-to-null": ("nullb0", "write", 8192, 499),
    "without-requests": ("ram0", "read", 4096, 503),
    "written-to-memory": ("ram0", "write", 4096, 211),
    "through-a-loop": ("loop0", "read", 4096, 307),
    "written-to-a-loop": ("loop0", "write", 4096, 401),
}

BEGIN = """set -e
modprobe null_blk irqmode=2 completion_nsec=20000 queue_mode=2 nr_devices=1 gb=1
modprobe brd rd_nr=1 rd_size=16384
dd if=/dev/zero of=/tmp/image bs=1M count=16 2>/dev/null
losetup /dev/loop0 /tmp/image
"""
DEVICES = sorted({device for device, *_ in WORK.values()})


def words_of(device, op, size, count):
    ends = f"if=/dev/{device} of=/dev/null iflag=direct" if op == "read" else f"if=/dev/zero of=/dev/{device} oflag=direct conv=notrunc"
    return f"{ends} bs={size} count={count}"


def stats(when):
    return "".join(f"cat /sys/block/{device}/stat >/out/{device}.{when}\n" for device in DEVICES)


# In one record: no device does the same twice.
DIRECT = Case(BEGIN + "cat >/tmp/work <<'END'\n" + "".join(f"dd {words_of(*work)} 2>/dev/null\n" for work in WORK.values()) +
              f"END\n{stats('before')}jobmeter run --quiet --output /out/direct.json -- sh -e /tmp/work\n{stats('after')}"
              "losetup -d /dev/loop0\n", agent=True)


def block_of(result, name):
    return {entry.pop("device"): entry for entry in json.loads(result.files[f"{name}.json"])["block"]}


@pytest.mark.parametrize("result", [DIRECT], indirect=True, ids=["direct"])
@pytest.mark.parametrize("name", WORK)
def test_each_request_is_counted_with_its_bytes_and_its_time(kernel, result, name):
    assert result.status == 0, result.stderr
    device, op, size, count = WORK[name]
    record = json.loads(result.files["direct.json"])
    done = block_of(result, "direct")
    assert sorted(done) == DEVICES and done[device].keys() == {"read", "write"}
    numbers = done[device][op]
    assert (numbers["bytes"], numbers["requests"], numbers["errors"]) == (size * count, count, 0)
    assert 0 <= count - sum(numbers["latencies"]) <= compare.not_shown(record) < 5 * len(WORK)  # whose end the kernel did not tell of
    assert record["coverage"]["lost_events"] == compare.not_shown(record)
    assert 0 < numbers["seconds"] <= record["time"]["elapsed_seconds"]


@pytest.mark.parametrize("result", [DIRECT], indirect=True, ids=["direct"])
@pytest.mark.parametrize("name", [name for name, work in WORK.items() if work[0] != "ram0"])  # which tells nothing on older ones
def test_the_device_says_the_same(kernel, result, name):
    assert result.status == 0, result.stderr
    device, op, _, _ = WORK[name]
    before, after = ([int(word) for word in result.files[f"{device}.{when}"].split()] for when in ("before", "after"))
    first = 0 if op == "read" else 4
    ios, merges, sectors = (after[first + i] - before[first + i] for i in range(3))
    numbers = block_of(result, "direct")[device][op]
    assert (numbers["requests"], numbers["bytes"]) == (ios + merges, sectors * 512)


PAGES = 1009
OTHERS = 503
# A file system without a journal, which the kernel's threads write back where somebody asks it to.
BUFFERED = Case(f"""set -e
dd if=/dev/zero of=/tmp/image bs=1M count=32 2>/dev/null
mke2fs -F /tmp/image >/dev/null 2>&1
losetup /dev/loop0 /tmp/image
mkdir /tmp/m
mount -t ext4 /dev/loop0 /tmp/m
sync
cat >/tmp/write <<'END'
dd if=/dev/zero of=/tmp/m/mine bs=4096 count={PAGES} 2>/dev/null
sync
END
jobmeter run --quiet --output /out/mine.json -- sh /tmp/write
dd if=/dev/zero of=/tmp/m/others bs=4096 count={OTHERS} 2>/dev/null
cat /sys/block/loop0/stat >/out/before
jobmeter run --quiet --output /out/others.json -- sync
cat /sys/block/loop0/stat >/out/after
umount /tmp/m
losetup -d /dev/loop0
""", agent=True)


def written(result, name):
    return block_of(result, name).get("loop0", {}).get("write", {"bytes": 0})["bytes"]


@pytest.mark.parametrize("result", [BUFFERED], indirect=True, ids=["buffered"])
def test_what_the_kernel_writes_back_is_whose_pages_they_were(kernel, result):
    """And nobody's who only asks for it: then it is the kernel's threads that wrote."""
    assert result.status == 0, result.stderr
    before, after = (int(result.files[when].split()[6]) * 512 for when in ("before", "after"))
    assert after - before >= OTHERS * 4096  # it was written as the second one ran
    assert PAGES * 4096 <= written(result, "mine") < (PAGES + 200) * 4096  # with what the file system keeps of the file
    assert written(result, "others") < 200 * 4096
