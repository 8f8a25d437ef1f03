# SPDX-License-Identifier: MIT
"""The cgroups of a Slurm node: all of them, or their end.

    slurm_groups.py NODE        kill what runs in them, and remove them
"""

import contextlib
import glob
import os
import signal
import sys
import time
from pathlib import Path

TREE = Path("/sys/fs/cgroup")


def roots(node):
    """Of each hierarchy."""
    return [TREE / path for pattern in (f"slurm_{node}", f"*/slurm_{node}", f"**/{node}_slurmstepd.scope")
            for path in glob.glob(pattern, root_dir=TREE, recursive=True)]  # bears what vanishes, as Path's does not


def groups(node):
    """All of them, as paths below the mounts of the hierarchies, the inner before the outer."""
    return [Path(folder) for root in roots(node) for folder, _, _ in os.walk(root, topdown=False)]


def kill(group):
    with contextlib.suppress(OSError):
        (group / "freezer.state").write_text("THAWED")
    with contextlib.suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def of_jobs(node):
    return [group for group in groups(node) if "/job_" in str(group)]


def remove(node, seconds=60, listed=groups):
    """And what runs in them; of_jobs: what jobs left that Slurm itself could not remove."""
    end = time.monotonic() + seconds
    while (found := listed(node)) and time.monotonic() < end:
        for group in found:
            kill(group)
            with contextlib.suppress(OSError):
                group.rmdir()
        time.sleep(0.02)


if __name__ == "__main__":
    remove(sys.argv[1])
