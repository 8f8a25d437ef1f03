# SPDX-License-Identifier: MIT
"""The two builds, and the suites that need no machine: unit, fuzz, tidy.

build        gcc, as a user builds it: the programs, and what the system tests start
build-clang  clang with ASan, UBSan and libFuzzer's coverage: unit tests, fuzz targets, clang-tidy's database"""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keys
from counts import TOP, Counts, cases_of, has_passed, one_check, read_junit

SANITIZED = "build-clang"
# -O0 and line tables alone: compiled in a quarter of the time.
SANITIZED_OPTIONS = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=0",
                     "-Dc_args=-g1 -fsanitize=fuzzer-no-link"]
# 250 programs are linked, by lld in a third of the time.
SANITIZED_TOOLS = {"CC": "clang", **({"CC_LD": "lld"} if shutil.which("ld.lld") else {})}
# With less that was freed and is kept, pages are used again: a tenth less time.
SANITIZERS = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
              "ASAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_summary=1:quarantine_size_mb=32"}
CHECKS = ["tests/argument-order", "tests/arrows", "tests/formatted"]
# clang-tidy gives up on a function after that many states instead of 225,000: in a tenth of the time.
ANALYZER_STATES = [f"-extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=15000")]


def run(*command, output=None, **environment):
    return subprocess.run(command, cwd=TOP, stdout=output, stderr=output and subprocess.STDOUT,
                          env={**os.environ, **environment}).returncode


def setup(folder, *options, targets=(), before=(), output=None, **environment):
    """Configured once; warnings are errors."""
    if not (TOP / folder / "build.ninja").exists():
        code = run("meson", "setup", folder, "-Dwerror=true", *options, output=output, **environment)
        if code != 0:
            return code
    return run(*before, "ninja", "--quiet", "-C", folder, *targets, output=output)


def build():
    return one_check(setup("build", targets=["programs", "system-programs", "bench-programs"]), "gcc's build", "see its output")


def sanitized(before=(), output=None):
    """All of src, too, so that clang-tidy knows how."""
    return one_check(setup(SANITIZED, *SANITIZED_OPTIONS, targets=["meson-test-prereq", "programs"], before=before, output=output,
                           **SANITIZED_TOOLS), "clang's build", "see its output")


def meson_unit(folder, before=(), output=None, everything=False):
    report = TOP / folder / "meson-logs/testlog.junit.xml"
    report.unlink(missing_ok=True)
    # Ten times their limit: on time that nobody else wants, one may stand still for minutes.
    code = run(*before, "meson", "test", "-C", folder, "--suite", "unit", "-t", "10", "--print-errorlogs", "--quiet", output=output,
               **SANITIZERS, **({} if everything else {"JOBMETER_NOISE_SEEDS": "250"}))
    return read_junit(report, code)


def harness(before=(), output=None):
    """Tests of the tests' own tools."""
    report = TOP / "build/harness.junit.xml"
    report.unlink(missing_ok=True)
    code = run(*before, "/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
               "tests/harness", output=output)
    return read_junit(report, code)


def due_of(found, everything):
    """Of {name: key} those that are to be looked at: all, or whose key has not passed."""
    passed = keys.read_passed()
    return [name for name in sorted(found) if everything or passed.get(name) != found[name]]


def fuzz(before=(), output=None, everything=False, record=False):
    """Each fuzz target whose key has not passed; their corpora are among the unit tests."""
    seconds = os.environ.get("JOBMETER_FUZZ_SECONDS") or ("10" if everything else "5")
    report, database = TOP / SANITIZED / "fuzz.junit.xml", keys.Build(SANITIZED)
    found = {f"tests/fuzz/{path.name}": keys.key_of(database.sources_of(f"tests/fuzz/{path.stem}"))
             for path in (TOP / "tests/fuzz").glob("fuzz_*.c")}
    due = due_of(found, everything)
    names = {Path(name).stem.removeprefix("fuzz_"): name for name in due}
    report.unlink(missing_ok=True)
    counts = read_junit(report, run(*before, "tests/fuzz/run", *names, output=output, JOBMETER_FUZZ_SECONDS=seconds)) if due else Counts()
    print(f"fuzz: {len(due)} targets tried; {len(found) - len(due)} have not changed since they passed", file=output, flush=True)
    if record:
        passed = [names[case.get("name")] for case in cases_of(report) if has_passed(case)]
        keys.record_passed({name: found[name] for name in passed})
    return counts + Counts(skipped=len(found) - len(due))


def tidy(before=(), output=None, everything=False, record=False):
    """The checks of the whole tree, and clang-tidy on each file whose key has not passed."""
    counts = Counts()
    for command in CHECKS:
        done = subprocess.run([command], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout.strip(), file=output, flush=True)
        counts += one_check(done.returncode, command, done.stdout)

    database = keys.Build(SANITIZED)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout.strip()
    sources = [path for folder in ("src", "tools") for path in (TOP / folder).rglob("*.c") if not path.name.endswith(".bpf.c")]
    found = {str(path.relative_to(TOP)): keys.key_of(database.with_headers(path) | {TOP / ".clang-tidy"}, version)
             for path in sources}
    due = due_of(found, everything)

    def look(name):
        done = subprocess.run([*before, "clang-tidy", "-p", SANITIZED, "--quiet", *ANALYZER_STATES, name], cwd=TOP,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(done.stdout, file=output, flush=True)
        return one_check(done.returncode, f"clang-tidy {name}", done.stdout)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(due, pool.map(look, due)))
    counts += sum(results.values(), Counts())
    print(f"clang-tidy: {len(due)} files looked at; {len(found) - len(due)} have not changed since they passed",
          file=output, flush=True)
    if record:
        keys.record_passed({name: found[name] for name, result in results.items() if not result.failed})
    return counts
