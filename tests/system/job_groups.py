# SPDX-License-Identifier: MIT
"""Jobs that nobody but the test starts: cgroups that a site's rule, or jobmeter's own, takes for jobs."""

import os
import pathlib
import subprocess
import time

TREE = pathlib.Path("/sys/fs/cgroup")
MANAGER = "made"
TOP = f"jm-test-{os.getpid()}"
# Other tests may make theirs beside them.
RULES = [{"name": "made", "manager": MANAGER, "pattern": TOP + "/made_<job:+>[/step_<step:+>[/task_<task:#>]]"}]
# An agent with these knows the jobs of its own test only: all other groups are systemd's, and no jobs while `units` is off.
# Of two rules that match, the one that goes deeper holds.
OWN_ONLY = [*RULES, {"name": "others", "manager": "systemd", "pattern": "/<job:+>[/+[/+[/+[/+[/+[/+[/+[/+]]]]]]]]"}]

# Kill what is in there, until all of it can be removed.
END = """for i in $(seq 1200); do
    find "$1" -name cgroup.procs -exec cat {} + | xargs -r kill -KILL
    find "$1" -depth -type d -exec rmdir {} + && break
    sleep 0.05
done"""


def tops():
    """Where groups are told apart, and on v1 also where their CPU time stands."""
    if (TREE / "cgroup.controllers").exists():
        return [TREE]
    return [TREE / name for name in ("memory", "cpuacct") if (TREE / name).is_dir()]


class JobGroups:
    """All below one group of our own, which the keeper removes."""

    def __init__(self, keeper):
        self.roots = [top / TOP for top in tops()]
        for root in self.roots:
            keeper.undo("/bin/sh", "-c", END, "sh", root)
            root.mkdir(exist_ok=True)

    @staticmethod
    def name(job, step=None, task=None):
        name = f"made_{job}"
        if step is not None:
            name += f"/step_{step}"
        return name if task is None else f"{name}/task_{task}"

    def make(self, name):
        for root in self.roots:
            (root / name).mkdir(parents=True, exist_ok=True)

    def enter(self, name):
        for root in self.roots:
            fd = os.open(root / name / "cgroup.procs", os.O_WRONLY)
            os.write(fd, b"0")
            os.close(fd)

    def start(self, name, *argv, **options):
        self.make(name)
        return subprocess.Popen([str(a) for a in argv], preexec_fn=lambda: self.enter(name), **options)

    def run(self, name, *argv, **options):
        process = self.start(name, *argv, **options)
        assert process.wait(300) == 0, argv

    def remove(self, name, seconds=60):
        """With what is below; what has just ended is out of its group a moment later."""
        end = time.monotonic() + seconds
        for root in self.roots:
            for folder, _, _ in os.walk(root / name, topdown=False):
                while True:
                    try:
                        os.rmdir(folder)
                        break
                    except OSError:
                        if time.monotonic() > end:
                            raise
                        time.sleep(0.005)
