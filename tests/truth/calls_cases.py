# SPDX-License-Identifier: MIT
"""What `jobmeter run --syscalls` has to say of the program calls, exactly."""

import compare

REFUSED = 23  # by a filter, which are counted without their time


def lost(record):
    """Calls that are not counted as they should: 32-bit ones, which T2 does not count, and refused ones.  And what the kernel
    did not show, of which no call is one."""
    compat = sum(row["calls"] for name, row in rows(record).items() if name.endswith("(i386)"))
    return compat + REFUSED + compare.hidden_by_disks(record)


def rows(record):
    return {row["name"]: row for row in record["syscalls"]}


def differences(said, record):
    """What is not as the program said: {name: (is, should be)}."""
    found, wrong = rows(record), {}
    for line in said.splitlines():
        name, calls, errors, ns = line.rsplit(" ", 3)
        row = found.get(name, {"calls": 0, "errors": 0, "seconds": 0, "longest_seconds": 0})
        if (row["calls"], row["errors"]) != (int(calls), int(errors)) or row["seconds"] < int(ns) / 1e9:
            wrong[name] = (row, line)
    return wrong


def contradictions(record):
    """What cannot be, whatever was called."""
    return [row for row in record["syscalls"]
            if row["errors"] > row["calls"] or row["longest_seconds"] > row["seconds"] or row["calls"] == 0]
