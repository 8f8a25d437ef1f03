# SPDX-License-Identifier: MIT
"""Somebody at a shell: root or an ordinary user, with the programs in the PATH and a home and history of their own.

    person = Person(programs, tmp_path, uid=65534)
    person.type("jobmeter run -- true")
"""

import os
import pathlib
import shutil
import subprocess

NOBODY = 65534


class Person:
    """@socket: that of the agent to be asked; None: there is none."""

    def __init__(self, programs, folder, uid, socket=None):
        self.uid, self.home = uid, folder
        self.state = folder / "state"
        bin_folder = folder / "build"  # the build may lie where nobody may go
        bin_folder.mkdir(parents=True)
        for program in ("jobmeter", "jobmeter-agent", "jobmeter-server"):
            shutil.copy2(programs / program, bin_folder / program)
        for parent in [folder, *folder.parents]:
            if str(parent).startswith("/tmp/") and parent.stat().st_mode & 0o005 != 0o005:
                parent.chmod(parent.stat().st_mode | 0o055)
        (folder / "tmp").mkdir()  # Open MPI names its folder by the user alone: another lane's would be in the way
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, uid, uid)
        self.environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder / "tmp"),
                            "XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(folder / "config"),
                            "JOBMETER_SOCKET": str(socket or folder / "no-agent.sock"),
                            "JOBMETER_SERVER_SOCKET": str(folder / "no-server.sock")}

    def type(self, line, seconds=60, **environment):
        """The line's end, its pipes' too: the status is the first one's that failed."""
        become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"] if self.uid else []
        return subprocess.run([*become, "bash", "-o", "pipefail", "-c", line], cwd=self.home, capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=seconds,
                              env={**self.environment, **environment})

    def records(self):
        """The history's files, the oldest first."""
        return sorted(pathlib.Path(self.state, "jobmeter/runs").glob("*.json"))


def was_killed(done):
    """By a signal, its own or one of a command of its line."""
    return done.returncode < 0 or 128 < done.returncode < 128 + 65
