# SPDX-License-Identifier: MIT
"""Results of tests: counts, failures with their reasons, and seconds, from JUnit files."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
REASON_LINES = 30


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # name and the end of the reason, one text each
    retried: list = field(default_factory=list)   # (the same text of the first failure, the number of the try that passed)

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped,
                      self.failures + other.failures, self.retried + other.retried)

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def with_reason(name, lines):
    return "\n    ".join([name, *lines[-REASON_LINES:]])


def one_check(code, name="", output=""):
    """Counts of a program whose exit code is its only result."""
    if code == 0:
        return Counts(passed=1)
    return Counts(failed=1, failures=[with_reason(name, output.splitlines())] if name else [])


def cases_of(report):
    return list(ElementTree.parse(report).iter("testcase")) if report.exists() else []


def complaint_of(case):
    """The failure of a case, or the error of its set-up or clean-up; None without either."""
    return next((child for child in case if child.tag in ("failure", "error")), None)


def complaints_of(report):
    """Cases that failed."""
    return [case for case in cases_of(report) if complaint_of(case) is not None]


def has_passed(case):
    return not any(child.tag in ("failure", "error", "skipped") for child in case)


def name_of(case):
    return ".".join(filter(None, (case.get("classname"), case.get("name"))))


def describe(case):
    complaint = complaint_of(case)
    text = complaint.text or complaint.get("message") or ""
    return with_reason(name_of(case), [line for line in text.splitlines() if line.strip()])


def read_junit(path, code):
    """Counts of a JUnit file.  An exit code other than 0 without a failure in the file is one failure."""
    if not path.exists():
        return Counts(failed=1, failures=[f"ended with {code} and left no report: see its output"])
    counts = Counts()
    for case in cases_of(path):
        if complaint_of(case) is not None:
            counts.failed += 1
            counts.failures.append(describe(case))
        elif has_passed(case):
            counts.passed += 1
        else:
            counts.skipped += 1
    if code != 0 and not counts.failed:
        counts += Counts(failed=1, failures=[f"{path.stem}: ended with {code}, and no case of it failed"])
    return counts


def node_of(case):
    """pytest's id of a case of its JUnit file; None where no file fits."""
    parts = case.get("classname").split(".")
    files = [TOP.joinpath(*parts[:end]).with_suffix(".py") for end in range(1, len(parts) + 1)]
    end = next((end for end, path in enumerate(files, 1) if path.is_file()), 0)
    return "::".join([str(files[end - 1].relative_to(TOP)), *parts[end:], case.get("name")]) if end else None


def seconds_of(report):
    """{name: seconds} of the cases of a JUnit file."""
    seconds = {}
    for case in cases_of(report):
        name = node_of(case) or name_of(case)
        seconds[name] = seconds.get(name, 0) + float(case.get("time") or 0)
    return seconds
