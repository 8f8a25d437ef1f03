# SPDX-License-Identifier: MIT
"""Keys of what a suite depends on: a hash of the contents of files.  A suite whose key has passed need not run again.

tests/harness/passed holds the keys that passed, a line each, "SUITE KEY"; tests/run --record writes it."""

import functools
import hashlib
import re
import subprocess
from pathlib import Path

from counts import TOP

PASSED = Path(__file__).with_name("passed")
GUESTS = TOP / "tests/kernel"
HELPER_FOLDERS = [TOP / "tests" / name for name in ("kernel", "system", "truth", "mounts")]
EVERY_GUEST = ["meson.build", "tests/kernel/init", "tests/kernel/conftest.py", "tests/kernel/guest.py", "tests/kernel/modules.py", "tests/kernel/fetch-kernels",
               "tests/mounts/filesystems.sh", "tests/truth/throttled.sh"]
GUEST_PROGRAMS = ["jobmeter", "jobmeter-agent", "tests/mounts/copy-range",
                  *(f"tests/truth/{name}" for name in ("truth", "burn", "calls", "chain", "hot", "looks", "talk", "waits")),
                  *(f"tests/system/{name}" for name in ("grouped", "pinned", "leaves", "traced"))]
SERIES = ["6.12", "6.1", "5.10"]
DAILY = "6.12"
SKIPPED = {"test_trace_in_guests": ["5.10"]}  # the kernels on which all of a file is skipped, and nothing passes

# Suites that are no case of an initramfs on each kernel: the kernel that they have, and what they need beside their helpers.
DISKS = ["tests/kernel/make-guest-root", "tests/kernel/disk_guest.py"]
OF_THEIR_OWN = {
    "test_slurm_in_guests": ("6.1", [*DISKS, "tests/kernel/slurm-init", "share/slurm", "tests/system/*.py"],
                             ["jobmeter-agent", "tests/truth/jobwork"]),
    "test_systemd_in_guests": ("6.12", [*DISKS, "share", "tests/kernel/systemd_check.py"],
                               ["jobmeter", "jobmeter-agent", "jobmeter-server", "tests/truth/truth"]),
    "test_ipmi_in_guests": ("6.1", [], ["tests/system/sensed"]),
    "test_site_in_guests": ("6.12", [], ["jobmeter", "jobmeter-agent", "jobmeter-server"]),
}


@functools.cache
def content_of(path):
    return hashlib.sha256(path.read_bytes()).digest()


def key_of(paths, *words):
    """A key of these files and words, the same in each checkout."""
    digest = hashlib.sha256("\0".join(words).encode())
    for path in sorted(paths):
        digest.update(str(path.relative_to(TOP)).encode() + b"\0" + content_of(path))
    return digest.hexdigest()[:16]


class Build:
    """What ninja knows of a build folder: the sources of its targets."""

    def __init__(self, folder):
        self.folder = TOP / folder

    def ninja(self, *words):
        return subprocess.run(["ninja", "-C", self.folder, *words], capture_output=True, text=True).stdout.splitlines()

    def in_tree(self, name):
        """The file of the checkout that ninja means; None for what is made, or the system's."""
        path = (self.folder / name).resolve()
        return path if path.is_relative_to(TOP) and not path.is_relative_to(self.folder) and path.is_file() else None

    @functools.cached_property
    def deps(self):
        """{output: what it was made of}, as compilers told."""
        found, current = {}, None
        for line in self.ninja("-t", "deps"):
            if line.startswith("    "):
                current.append(line.strip())
            elif ": " in line:
                current = found.setdefault(line.partition(": ")[0], [])
        return found

    @functools.cache
    def sources_of(self, target):
        """Files of the checkout that the target is made of, headers too."""
        inputs = self.ninja("-t", "inputs", target)
        names = {*inputs, *(name for made in inputs for name in self.deps.get(made, []))}
        return {path for name in names if (path := self.in_tree(name))}

    @functools.cached_property
    def includes(self):
        """{source: it and the files of the checkout that it includes}"""
        found = {}
        for names in self.deps.values():
            paths = [path for name in names if (path := self.in_tree(name))]
            if paths:
                found.setdefault(paths[0], set()).update(paths)
        return found

    def with_headers(self, source):
        return self.includes.get(source, {source})


def with_helpers(path):
    """@path, and the modules of tests/ that it imports, and theirs."""
    found, ahead = set(), [path]
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            names = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.M)
            ahead += [file for name in names for folder in HELPER_FOLDERS if (file := folder / f"{name}.py").exists()]
    return found


def expand(names):
    """Files, but for tests: a guest takes what helps them."""
    return {path for name in names for match in TOP.glob(name)
            for path in ([match] if match.is_file() else match.rglob("*")) if path.is_file() and not path.name.startswith("test_")}


class GuestSuite:
    """A file of tests on one kernel."""

    def __init__(self, path, series, files, programs=GUEST_PROGRAMS):
        self.path, self.series, self.files, self.programs = path, series, files, programs
        self.name = f"{path.stem.removeprefix('test_').removesuffix('_in_guests')}-{series}"
        self.group = "own" if path.stem in OF_THEIR_OWN else "daily" if series == DAILY else "older"

    def key(self, build):
        sources = set().union(*(build.sources_of(program) for program in self.programs))
        return key_of(self.files | sources, self.series)


def guest_suites():
    suites = []
    for path in sorted(GUESTS.glob("test_*.py")):
        files = with_helpers(path) | expand(EVERY_GUEST)
        if path.stem in OF_THEIR_OWN:
            series, more, programs = OF_THEIR_OWN[path.stem]
            suites.append(GuestSuite(path, series, files | expand(more), programs))
        else:
            suites += [GuestSuite(path, series, files) for series in SERIES if series not in SKIPPED.get(path.stem, [])]
    return suites


def read_passed():
    """{suite: key}"""
    return dict(line.split() for line in PASSED.read_text().splitlines()) if PASSED.exists() else {}


def record_passed(keys):
    """Add @keys, or put them in the place of older ones; forget suites that are no more."""
    known = read_passed() | keys
    guests = {suite.name for suite in guest_suites()}
    kept = {name: key for name, key in known.items() if name in guests or (TOP / name).exists()}
    PASSED.write_text("".join(f"{name} {key}\n" for name, key in sorted(kept.items())))
