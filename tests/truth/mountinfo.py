# SPDX-License-Identifier: MIT
"""mountinfo - which name jobmeter should give to the mount of a path; worked out apart from it."""

import collections
import os

Mount = collections.namedtuple("Mount", "device root point fstype source")


def unescape(text):
    return text.encode().decode("unicode_escape").encode("latin-1").decode()


def read(path="/proc/self/mountinfo"):
    mounts = []
    with open(path) as lines:
        for line in lines:
            left, _, right = line.partition(" - ")
            device, root, point = left.split()[2:5]
            fstype, source = right.split()[:2]
            mounts.append(Mount(device, unescape(root), unescape(point), fstype, source))
    return mounts


def is_below(path, point):
    return path == point or path.startswith(point.rstrip("/") + "/")


def name_of(path, mounts=None):
    """The mount of the superblock's root, else the shortest mount point of the same superblock."""
    mounts = mounts or read()
    path = os.path.realpath(path)
    above = [m for m in mounts if is_below(path, m.point)]
    deepest = max(len(m.point) for m in above)
    device = [m for m in above if len(m.point) == deepest][-1].device  # the last one lies on top
    same = [m for m in mounts if m.device == device]
    return min(same, key=lambda m: (m.root != "/", len(m.point), m.point)).point
