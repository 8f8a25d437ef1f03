# SPDX-License-Identifier: MIT
"""A process that undoes what a test did to the machine, also when the tests are killed.

    with Keeper() as keeper:
        keeper.run("mount", ..., undo=["umount", folder])

The undo is told to the keeper *before* the deed, so it has to bear that there is nothing to undo.  The
keeper is in a session of its own, and works when our end of its pipe is closed, whoever closes it."""

import contextlib
import json
import subprocess
import sys


class Keeper:
    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-S", __file__], stdin=subprocess.PIPE,
                                        start_new_session=True, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def undo(self, *argv):
        """To be run at the end, the last one first."""
        self.process.stdin.write(json.dumps([str(a) for a in argv]) + "\n")
        self.process.stdin.flush()

    def run(self, *argv, undo):
        self.undo(*undo)
        return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True)


def main():
    undos = []
    for line in sys.stdin:
        if line.endswith("\n"):  # else it was cut as its writer died, before the deed
            undos.append(json.loads(line))
    for argv in reversed(undos):
        with contextlib.suppress(OSError):  # a program that is not there must not keep the others from their work
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
