# SPDX-License-Identifier: MIT
"""scenes - mounts, a job that writes and reads a known number of bytes on them, and the rows that its
record must have.  The host's tests and the guests' run the same scenes: they need a shell, no more."""

import collections
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = Path(__file__).with_name("filesystems.sh")

Row = collections.namedtuple("Row", "write_calls write_bytes read_calls read_bytes")

# All prime, so that no two sums look alike.
WRITE = Row(13, 13 * 101, 0, 0)
MORE = Row(17, 17 * 211, 0, 0)
READ = Row(0, 0, 11, 11 * 97)


def dd(counts, file, program="dd"):
    """The shell command that does WRITE, MORE or READ on @file, and nothing else with data but on
    /dev/zero and /dev/null."""
    if counts.read_calls:
        calls, size, way = counts.read_calls, counts.read_bytes, f"if={file} of=/dev/null"
    else:
        calls, size, way = counts.write_calls, counts.write_bytes, f"if=/dev/zero of={file}"
    return f"{program} status=none {way} bs={size // calls} count={calls}\n"


def total(*rows):
    return Row(*map(sum, zip(*rows)))


@dataclass(frozen=True)
class Scene:
    """@setup and @job: shell, with W for the folder of all mounts; the job alone is metered.
    @rows: {(mount, fstype): Row}, a mount without "/" in front being below W.
    @names: {what else the job called a mount at some time: its name in @rows}: the meter's first reading of it decides."""
    setup: str
    job: str
    rows: dict
    names: dict = field(default_factory=dict)

    def script(self, work, out):
        """The whole as one shell script; the record is left in @out."""
        return f"""set -e
export W={work} OUT={out}
mkdir -p $W
. {LIBRARY.name}
{self.setup}
jobmeter run --quiet --output $OUT/record.json -- sh -ec {shlex.quote(self.job)}
"""

    def expected(self, work):
        return {(mount if mount.startswith("/") else f"{work}/{mount}", fstype): row
                for (mount, fstype), row in self.rows.items()}

    def differences(self, record, work):
        """In words, what in @record is not as expected; empty: nothing."""
        expected, found = self.expected(work), data_rows(record)
        names = {f"{work}/{name}": mount for name, mount in self.names.items()}
        found = {(names.get(mount, mount), fstype): row for (mount, fstype), row in found.items()}
        ours = {key: row for key, row in found.items() if key in expected or key[0].startswith(f"{work}/")}
        differences = [f"{key}: {expected.get(key)} expected, {ours.get(key)} recorded"
                       for key in sorted(expected.keys() | ours.keys()) if expected.get(key) != ours.get(key)]
        written = sum(row.write_bytes for (mount, _), row in found.items() if mount not in ("/dev", "(pipe)"))
        if written != total(*expected.values()).write_bytes:
            differences.append(f"{written} bytes written in all: {found}")
        for op, book in record["coverage"]["accounting"].items():
            if book["difference_bytes"]:
                differences.append(f"books, {op}: {book}")
        return differences


def data_rows(record):
    """{(mount, fstype): Row} of the rows on which data was moved."""
    found = {}
    for row in record["io"]:
        numbers = [(row.get(op) or {}).get(key, 0) for op in ("write", "read") for key in ("calls", "bytes")]
        if any(numbers) and row["mount"] != "(kernel)":  # nobody's in particular, and only some kernels show it
            key = row["mount"], row["fstype"]
            found[key] = total(found.get(key, Row(0, 0, 0, 0)), Row(*numbers))
    return found


FSTYPES = {
    "tmpfs": "tmpfs",
    "ext4": "ext4",
    "xfs": "xfs",
    "overlay": "overlay",
    "overlay_on_ext4": "overlay",
    "overlay_on_xfs": "overlay",
    "fuse": "fuse",
    "nfs": "nfs4",
}

# Counted once, where the job asked: nothing on what lies below.
KINDS = {
    kind: Scene(f"make {kind} $W/m", dd(WRITE, "$W/m/f") + dd(READ, "$W/m/f"), {("m", fstype): total(WRITE, READ)})
    for kind, fstype in FSTYPES.items()
}

# What the kernel's own threads do for it on the file system below: a loop device's, and the NFS server's.
BY_KERNEL_THREADS = {
    "ext4": Scene("make ext4 $W/m", dd(WRITE, "$W/m/f conv=fsync"), {("m", "ext4"): WRITE}),
    "nfs": Scene("make nfs $W/m", dd(WRITE, "$W/m/f conv=fsync"), {("m", "nfs4"): WRITE}),
}


def kernel_threads_row(record):
    (row,) = [row for row in record["io"] if row["mount"] == "(kernel)"]
    return row


COPY_UP = Scene(
    """make overlay_on_ext4 $W/m
dd status=none if=/dev/zero of=$W/m.below/lower/f bs=10007 count=1
""",
    dd(WRITE, "$W/m/f conv=notrunc") + dd(READ, "$W/m/f"),
    {("m", "overlay"): total(WRITE, READ)},
)

BIND = Scene(
    """make tmpfs $W/m
mkdir $W/m/part $W/bind
mount --bind $W/m/part $W/bind
made="$W/bind $made"
""",
    dd(WRITE, "$W/m/f") + dd(MORE, "$W/bind/f") + dd(READ, "$W/bind/f"),
    {("m", "tmpfs"): total(WRITE, MORE, READ)},
)

IN_ROOT = "busybox dd"
ZEROES_READ = Row(0, 0, MORE.write_calls, MORE.write_bytes)  # from the root's own /dev/zero

# A mount that jobmeter itself sees keeps the name that it has for jobmeter.
CHROOT = Scene(
    "make root $W/root\nmkdir $W/root/inside\nmake tmpfs $W/root/inside\n",
    dd(WRITE, "$W/root/inside/f") + "exec chroot $W/root " + dd(MORE, "/inside/f", IN_ROOT),
    {("root/inside", "tmpfs"): total(WRITE, MORE), ("root", "overlay"): ZEROES_READ},
)

# Mounted and unmounted again while the job runs, where jobmeter could see it.
SHORT_LIVED = Scene(
    "mkdir $W/m",
    "mount -t tmpfs own $W/m\n" + dd(WRITE, "$W/m/f") + dd(READ, "$W/m/f") + "umount $W/m\n",
    {("m", "tmpfs"): total(WRITE, READ)},
)

# The second mount gets the device number of the first.
SAME_NUMBER = Scene(
    "mkdir $W/a $W/b",
    "mount -t tmpfs own $W/a\nfirst=$(stat -c %d $W/a)\n" + dd(WRITE, "$W/a/f") + "umount $W/a\n"
    "mount -t tmpfs own $W/b\nsecond=$(stat -c %d $W/b)\n" + dd(MORE, "$W/b/f") + "umount $W/b\n"
    'test $first = $second || { echo "the kernel gave another device number" >&2; exit 77; }\n',
    {("a", "tmpfs"): WRITE, ("b", "tmpfs"): MORE},
)

# In a mount namespace of the job's own, which ends with the job's last write.
OWN_NAMESPACE = Scene(
    "mkdir $W/m",
    "exec unshare -m sh -ec 'mount -t tmpfs own $W/m\n" + "exec " + dd(WRITE, "$W/m/f") + "'",
    {("m", "tmpfs"): WRITE},
)

# The same mount point in two namespaces at a time.
TWO_NAMESPACES = Scene(
    "make tmpfs $W/m",
    dd(WRITE, "$W/m/f") + "exec unshare -m sh -ec 'mount -t ramfs own $W/m\nexec " + dd(MORE, "$W/m/f") + "'",
    {("m", "tmpfs"): WRITE, ("m", "ramfs"): MORE},
)

# As a container: a root of its own, with mounts that are at another place for everyone else.  The
# root file system of a guest cannot be pivoted away from, but a mount of it can.
CONTAINER = Scene(
    "make root $W/root\nmkdir $W/base\n",
    """exec unshare -m sh -ec '
mount --rbind / $W/base
exec chroot $W/base sh -ec "
mkdir -p $W/root/inside $W/root/old $W/root/dev/shm
mount -t tmpfs inside $W/root/inside
mount -t tmpfs shm $W/root/dev/shm
cd $W/root
pivot_root . old
exec busybox chroot . busybox sh -ec \\"
busybox umount -l /old
%s
exec %s\\""'
""" % (dd(WRITE, "/inside/f", IN_ROOT), dd(MORE, "/dev/shm/f", IN_ROOT)),
    {("/inside", "tmpfs"): WRITE, ("/dev/shm", "tmpfs"): MORE,
     ("/", "overlay"): Row(0, 0, WRITE.write_calls + MORE.write_calls, WRITE.write_bytes + MORE.write_bytes)},
    {"root": "/", "root/inside": "/inside", "root/dev/shm": "/dev/shm"},  # before it pivots
)

MOUNTS = {
    "copy-up": COPY_UP,
    "bind": BIND,
    "chroot": CHROOT,
}


# Mounts of which jobmeter's own mount namespace has nothing when the job has ended.
OUT_OF_SIGHT = {
    "mounted and unmounted": SHORT_LIVED,
    "same device number": SAME_NUMBER,
    "own namespace": OWN_NAMESPACE,
    "two namespaces": TWO_NAMESPACES,
    "container": CONTAINER,
}

COPY = Row(1, 10007, 1, 10007)


def copying(kind, fstype):
    return Scene(
        f"make {kind} $W/m\ndd status=none if=/dev/zero of=$W/m/f bs={COPY.read_bytes} count=1\n",
        f"copy-range $W/m/f $W/m/g {COPY.read_bytes} >/dev/null",
        {("m", fstype): COPY},
    )


# By copy_file_range(2).  An overlay hands it on to the file system below, and the kernel adds the bytes
# to the task's counters on both levels.
COPYING = {kind: copying(kind, fstype) for kind, fstype in FSTYPES.items()}

def both(kind, fstype, calls):
    """Written and copied on one file system, so often that no other's numbers are like its own."""
    write, read = Row(calls, calls * 101, 0, 0), Row(0, 0, calls - 2, (calls - 2) * 97)
    copy = Row(1, 1000 * calls + 7, 1, 1000 * calls + 7)
    return Scene(
        f"make {kind} $W/m\ndd status=none if=/dev/zero of=$W/m/from bs={copy.read_bytes} count=1\n",
        dd(write, "$W/m/f") + dd(read, "$W/m/f") + f"copy-range $W/m/from $W/m/to {copy.read_bytes} >/dev/null\n",
        {("m", fstype): total(write, read, copy)},
    )


KINDS_AND_COPYING = {kind: both(kind, fstype, calls)
                     for (kind, fstype), calls in zip(FSTYPES.items(), (13, 17, 19, 23, 29, 31, 37, 41))}


def together(scenes):
    """@scenes, {name: Scene}, in one record: one after the other, each in a folder of its name."""
    return Scene(
        "all=$W\n" + "".join(f"W=$all/{name}\nmkdir -p $W\n{scene.setup}" for name, scene in scenes.items()) + "W=$all\n",
        "".join(f"(export W=$W/{name}\n{scene.job})\n" for name, scene in scenes.items()),
        {(f"{name}/{mount}", fstype): row for name, scene in scenes.items() for (mount, fstype), row in scene.rows.items()},
    )


COPYING_UNMETERED = f"""set -e
export W={{work}}
mkdir -p $W
. {LIBRARY.name}
for kind in {' '.join(kind for kind in FSTYPES if kind != "nfs")}; do
	make $kind $W/$kind
	dd status=none if=/dev/zero of=$W/$kind/f bs={COPY.read_bytes} count=1
	echo "$kind $(copy-range $W/$kind/f $W/$kind/g {COPY.read_bytes})"
done
"""


def times_charged(text):
    """{kind: how often the kernel put the bytes of a copy into the task's rchar and wchar}"""
    found = {}
    for line in text.splitlines():
        kind, counters = line.split(maxsplit=1)
        counters = json.loads(counters)
        assert counters["copied"] == COPY.read_bytes
        found[kind] = counters["rchar"] / counters["copied"], counters["wchar"] / counters["copied"]
    return found


TIMES_CHARGED = {kind: (2, 2) if fstype == "overlay" else (1, 1) for kind, fstype in FSTYPES.items() if kind != "nfs"}
