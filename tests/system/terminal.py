# SPDX-License-Identifier: MIT
"""A real terminal: tmux with one window of 80x24, typed into and read."""

import pathlib
import shlex
import subprocess
import tempfile
import uuid

from waiting import until


class Terminal:
    def __init__(self, *argv, columns=80, rows=24):
        self.socket = f"jobmeter-{uuid.uuid4().hex}"
        line = " ".join(shlex.quote(str(a)) for a in argv)
        # the shell stays, so that what is on the screen at the end can be read
        self.log = tempfile.NamedTemporaryFile(prefix="jobmeter-terminal-")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "sh", "-c", f"trap : INT; {line}; echo \"code $?\"; exec sleep 600",
                  ";", "pipe-pane", "-o", f"exec cat >>{shlex.quote(self.log.name)}")

    def tmux(self, *argv):
        return subprocess.run(["tmux", "-L", self.socket, *argv], capture_output=True, text=True,
                              check=True).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200")

    def written(self):
        """All that has been written to it, also what stood there for a moment only."""
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def wait_until(self, is_so, seconds=60):
        until(is_so, seconds, self.screen)

    def wait_for(self, text, seconds=60):
        until(lambda: text in self.screen(), seconds, lambda: f"no '{text}' on the screen:\n{self.screen()}")
        return self.screen()

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True)
