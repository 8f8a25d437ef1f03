# SPDX-License-Identifier: MIT
"""A guest that runs real Slurm on cgroup v2, with our programs and tests.

    files = SlurmGuest(kernel).run(agent=PROGRAM or None, jobwork=PROGRAM)    {name: bytes}
"""

from pathlib import Path

from disk_guest import DiskGuest, libraries
from guest import HERE, REPO, GuestError

SCENARIOS = ["plain", "killed", "hostile"]
PATIENCE_S = 900  # results come at the end of each scenario


class SlurmGuest:
    def __init__(self, kernel):
        self.kernel = Path(kernel)

    @staticmethod
    def payload(arguments, programs):
        helpers = [path for path in (REPO / "tests/system").glob("*.py") if not path.name.startswith("test_")]
        files = {f"jobmeter/tests/system/{path.name}": (path.read_bytes(), 0o644) for path in helpers}
        files["jobmeter/tests/kernel/slurm-init"] = ((HERE / "slurm-init").read_bytes(), 0o755)
        for path in (REPO / "share/slurm").iterdir():
            files[f"jobmeter/share/slurm/{path.name}"] = (path.read_bytes(), 0o755)
        files["jobmeter/arguments"] = (" ".join(arguments).encode(), 0o644)
        for name, path in programs.items():
            files[f"jobmeter/bin/{name}"] = (Path(path).read_bytes(), 0o755)
        for name, path in libraries(programs.values()).items():
            files[f"jobmeter/lib/{name}"] = (Path(path).read_bytes(), 0o755)
        return files

    def run(self, jobwork, agent=None, scenarios=()):
        """What the guest left: the report of jobtruth.py, and logs."""
        programs = {"jobwork": jobwork} | ({"jobmeter-agent": agent} if agent else {})
        # A guest is much slower than its host, and so has one job of each kind, and scrapes that leave it some time.
        arguments = ["--jobs", "6", "--interval", "0.5"]
        arguments += ["--agent", "/jobmeter/bin/jobmeter-agent", *scenarios] if agent else []
        guest = DiskGuest(self.kernel, self.payload(arguments, programs), "/jobmeter/tests/kernel/slurm-init")
        files, end = guest.run(PATIENCE_S)
        if "report.json" not in files:
            tail = "\n".join(files["console"].decode(errors="replace").splitlines()[-60:])
            raise GuestError(f"guest with Slurm: {end} without a report; the end of its console:\n{tail}")
        return files
