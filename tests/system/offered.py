# SPDX-License-Identifier: MIT
"""What the programs' own help says that they take."""

import re
import subprocess

OPTION = re.compile(r"^  (?:-(\w),|   ) --([a-z-]+)(?: (\S+))?  ", re.MULTILINE)


def help_of(*argv):
    """Each option on one line, also where the page breaks it."""
    return re.sub(r"\n {28}(?=\S)", " ", subprocess.run([*map(str, argv), "--help"], check=True, capture_output=True, text=True).stdout)


def commands(programs):
    """The names that 'jobmeter --help' lists."""
    found = re.findall(r"^  ([a-z]+) +[A-Z]", help_of(programs / "jobmeter"), re.MULTILINE)
    assert len(found) > 5
    return found


def invocations(programs):
    """Each command line that has options of its own: ("jobmeter", "run"), ..., ("jobmeter-agent",), ("jobmeter-server",)."""
    return [("jobmeter", name) for name in commands(programs)] + [("jobmeter-agent",), ("jobmeter-server",)]


def options(programs, invocation):
    """[(letter or "", name, argument or "")]"""
    found = OPTION.findall(help_of(programs / invocation[0], *invocation[1:]))
    assert len(found) > 2
    return found


def flags(programs, invocation):
    """{"--output", "-o", ...}"""
    return {flag for letter, name, _ in options(programs, invocation)
            for flag in (f"--{name}", f"-{letter}" if letter else None) if flag}
