# SPDX-License-Identifier: MIT
"""The truth program on other kernels: it does all that it can there, and what strace cannot confirm the
kernel's own trace of io_uring does."""

import collections
import json
import re

import pytest

from guest import OPTIONAL, Case

SETUP = """set -e
mkdir -p /tmp/x/a /tmp/x/disk
mount -t tmpfs truth /tmp/x/a
dd if=/dev/zero of=/tmp/image bs=1M count=64 2>/dev/null
mke2fs -F /tmp/image >/dev/null
mount -t ext4 -o loop,lazytime /tmp/image /tmp/x/disk  # else a store dirties the inode again, once another one was written beside it
"""
EVERYTHING = Case(SETUP + """
truth --output /out/truth.json --meta --newest --ways --io-uring-splice --storm 2003 1009 --device /dev/zero \\
    --mount /tmp/x/a --mount /tmp/x/disk --processes 2 --threads 3
ls /tmp/x/a >/out/left; ls /tmp/x/disk >>/out/left
""")
# Alone: a sync of another worker would write its pages, which the next store dirties again.
MAPPED = Case(SETUP + """
truth --output /out/truth.json --mapped /tmp/x/disk --processes 2 --threads 3
""")
BY_ALICE = Case("""
mkdir /tmp/mine
truth --output /out/truth.json --meta --newest --ways --mount /tmp/mine --threads 3
ls /tmp/mine >/out/left
""", user="alice")
TRACED = Case(SETUP + """
cd /sys/kernel/tracing
echo 16384 >buffer_size_kb
echo counter >trace_clock  # in the order of what happened, whatever a CPU's clock says
for event in io_uring_complete io_uring_submit_req io_uring_submit_sqe; do
    test -d events/io_uring/$event && echo 1 >events/io_uring/$event/enable
done
truth --output /out/truth.json --io-uring --mount /tmp/x/a --mount /tmp/x/disk --threads 2 --processes 2
cat trace >/out/trace
""")

# From when on kernels have what the program asks for: absent before.
LACKS_BEFORE = {"6.1": ["io_uring's CQE_SKIP_SUCCESS: EOPNOTSUPP"]}


PAGES_DIRTIED = 2 * (251 + 16)  # all of the mapped file's and one in sixteen; each once more when clean


def version(text):
    return tuple(map(int, text.split(".")))


def lacks(kernel):
    return [text for since, texts in LACKS_BEFORE.items() if version(kernel.name) < version(since)
            for text in texts]


@pytest.mark.parametrize("result", [EVERYTHING, BY_ALICE], indirect=True, ids=["everything", "by alice"])
def test_all_is_done_and_nothing_left(kernel, result):
    assert result.status == 0, result.stderr
    assert result.files["left"].split() in ([], [b"lost+found"])
    truth = json.loads(result.files["truth.json"])
    assert truth["absent"] == lacks(kernel)
    ways = {row["way"] for row in truth["rows"] if row["calls"] or row["bytes"]}
    assert ways >= {"call", "io_uring", "libaio", "sendfile", "copy_file_range", "splice"}


@pytest.mark.parametrize("result", [MAPPED], indirect=True, ids=["mapped"])
def test_a_mapped_page_is_dirtied_once(kernel, result):
    assert result.status == 0, result.stderr
    rows = json.loads(result.files["truth.json"])["rows"]
    (dirtied,) = [row["bytes"] for row in rows if row["way"] == "mapping" and row["op"] == "write"]
    assert dirtied == 6 * PAGES_DIRTIED * 4096


# A request and its end as the kernel prints them; how they name the request changed.
SUBMITTED = re.compile(r"io_uring_submit_(?:req|sqe): ring \w+, req (\w+),.* opcode (\w+)")
ENDED = re.compile(r"io_uring_complete: ring \w+, req (\w+),.* result (-?\d+)")
OPS = {
    "READ": "read", "READV": "read", "READ_FIXED": "read", "WRITE": "write", "WRITEV": "write",
    "WRITE_FIXED": "write", "FSYNC": "fsync", "OPENAT": "open", "OPENAT2": "open", "CLOSE": "close",
    "STATX": "stat", "RENAMEAT": "rename", "UNLINKAT": "unlink", "MKDIRAT": "mkdir", "SYMLINKAT": "symlink",
    "LINKAT": "link", "FALLOCATE": "fallocate", "FTRUNCATE": "truncate", "SYNC_FILE_RANGE": "sync",
    "FSETXATTR": "xattr", "SETXATTR": "xattr", "FGETXATTR": "xattr", "GETXATTR": "xattr",
}
NOT_TOLD = {"create": "open", "fdatasync": "fsync", "rmdir": "unlink"}  # from others of their opcode


def traced(lines):
    """{op: [calls, bytes, errors]} of requests that ended with a word."""
    opcodes, counts = {}, collections.defaultdict(lambda: [0, 0, 0])
    for line in lines:
        if match := SUBMITTED.search(line):
            opcodes[match[1]] = match[2]
        elif match := ENDED.search(line):
            op = OPS.get(opcodes[match[1]])
            if not op:
                assert opcodes[match[1]] == "NOP"
                continue
            row, result = counts[op], int(match[2])
            row[0] += 1
            row[1] += result if op in ("read", "write") and result > 0 else 0
            row[2] += result < 0
    return dict(counts)


def told(truth):
    """The same from what the program noted."""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for member, sign in (("rows", 1), ("skipped", -1)):
        for row in truth[member]:
            if row["way"] == "io_uring":
                sums = counts[NOT_TOLD.get(row["op"], row["op"])]
                for i, field in enumerate(("calls", "bytes", "errors")):
                    sums[i] += sign * row[field]
    return dict(counts)


@pytest.mark.parametrize("result", [TRACED], indirect=True, ids=["traced"])
def test_what_went_through_io_uring_is_what_the_kernel_traced(kernel, result):
    assert result.status == 0, result.stderr
    lines = result.files["trace"].decode().splitlines()
    (written,) = [line for line in lines if "entries-in-buffer" in line]
    kept, all_of_them = re.search(r": (\d+)/(\d+)", written).groups()
    assert kept == all_of_them
    if not any(map(ENDED.search, lines)) and kernel.name in OPTIONAL:
        pytest.skip(f"kernel {kernel.name} does not say which request ended")
    assert traced(lines) == told(json.loads(result.files["truth.json"]))
