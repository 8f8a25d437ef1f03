# SPDX-License-Identifier: MIT
"""metered - one run of a command, seen by jobmeter and by strace at once.

strace traces jobmeter, and so the command too; of its lines those of the command's processes count,
from the command's own execve() on."""

import collections
import re

PROCESS_CALLS = ("clone", "clone3", "fork", "vfork", "execve")
CALL = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()")
MADE = re.compile(r"(\d+) +(?:<\.\.\. )?(?:clone3?|v?fork)\b.*= (\d+)$")


def children(lines):
    """{task: those that it made}"""
    made = collections.defaultdict(list)
    for line in lines:
        match = MADE.match(line)
        if match:
            made[match[1]].append(match[2])
    return made


def family(first, made):
    found, left = set(), [first]
    while left:
        task = left.pop()
        if task not in found:
            found.add(task)
            left += made[task]
    return found


def lines_of_command(lines, argv):
    """The lines of the processes of a command that was executed as @argv."""
    words = ", ".join(f'"{word}"' for word in argv)
    executed = re.compile(rf'(\d+) +execve\(".*", \[{re.escape(words)}\]')
    begin, first = next((i, match[1]) for i, line in enumerate(lines) if (match := executed.match(line)))
    tasks = family(first, children(lines[begin:]))
    return [line for line in lines[begin + 1:]
            if (match := CALL.match(line)) and match[1] in tasks and match[2] not in PROCESS_CALLS]
