# SPDX-License-Identifier: MIT
"""straced - what a program does to files, by strace's account: the source that is not ours."""

import collections
import re
import subprocess

OPS = {
    **dict.fromkeys(("read", "pread64", "readv", "preadv", "preadv2"), "read"),
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), "write"),
    **dict.fromkeys(("open", "openat", "openat2", "creat"), "open"),  # create: strace cannot tell
    "close": "close",
    "fsync": "fsync",
    "fdatasync": "fdatasync",
}

STARTED = re.compile(r"(\d+) +(\w+)\((.*?)(?: *<unfinished \.\.\.>)?$")
RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)$")
RESULT = re.compile(r"\) += (-?\d+|\?)(.*)$")
FILE = re.compile(r"-?\d+<(.*?)>")


def trace(output, *argv):
    """Run @argv and return strace's lines; -y shows a descriptor's file as it is at the call's entry."""
    calls = ",".join([*OPS, "rt_sigreturn"])
    subprocess.run(
        ["strace", "-f", "-y", "-s", "0", "-o", output, "-e", f"trace={calls}", *map(str, argv)],
        check=True,
    )
    with open(output) as lines:
        return lines.read().splitlines()


def place_of_file(path, folders):
    if path.startswith("pipe:"):
        return "(pipe)"
    if path.startswith("socket:"):
        return "(socket)"
    if path.startswith(("anon_inode:", "/memfd:", "/proc/", "/sys/")):
        return "(pseudo)"
    inside = [f for f in folders if path == f or path.startswith(f.rstrip("/") + "/")]
    return max(inside, key=len) if inside else path


class Sum:
    """{(place, op): [calls, bytes, errors]}, fed with lines."""

    def __init__(self, folders):
        self.folders = folders
        self.counts = collections.defaultdict(lambda: [0, 0, 0])
        self.started = {}  # by task: the line of a call that is not over
        self.interrupted = {}  # by task: a call that a signal interrupted, until it is known how

    def note(self, place, op, result):
        row = self.counts[place, op]
        row[0] += 1
        if result < 0:
            row[2] += 1
        elif op in ("read", "write"):
            row[1] += result

    def place(self, op, text, result_text):
        """A descriptor's file stands in the first argument, but that of an open in the result."""
        match = FILE.match(result_text if op == "open" else text)
        return place_of_file(match[1], self.folders) if match else "(unresolved)"

    def end(self, task, name, text):
        result = RESULT.search(text)
        if not result:
            return
        if name == "rt_sigreturn":
            before = self.interrupted.pop(task, None)
            if before and "EINTR" in result[2]:
                self.note(*before, -1)
            return
        op = OPS[name]
        place = self.place(op, text, result[1] + result[2])
        if "ERESTART" in result[2]:
            self.interrupted[task] = (place, op)
        elif result[1] != "?":
            self.note(place, op, int(result[1]))

    def feed(self, line):
        resumed = RESUMED.match(line)
        if resumed:
            task, name, rest = resumed.groups()
            return self.end(task, name, self.started.pop(task) + rest)
        started = STARTED.match(line)
        if not started:  # signals, exits
            return None
        task, name, rest = started.groups()
        if line.endswith("<unfinished ...>"):
            self.started[task] = rest
            return None
        return self.end(task, name, rest)


def counts(lines, folders):
    total = Sum(folders)
    for line in lines:
        total.feed(line)
    return {key: tuple(row) for key, row in total.counts.items()}
