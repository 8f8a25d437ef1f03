# SPDX-License-Identifier: MIT
"""Kernel tests: a test names the case that it looks at, and gets the case's result from a guest.

    @pytest.mark.parametrize("result", [Case("uname -r")], indirect=True)
    def test_something(result): ...

All cases that the selected tests want of one kernel and one command line run in a single boot."""

import concurrent.futures
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guest import BUILD, HERE, OPTIONAL, REPO, REQUIRED, Guest

for shared in ("truth", "mounts"):
    sys.path.insert(0, str(REPO / "tests" / shared))

import matrix as matrices  # noqa: E402

SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def missing(series, reason):
    """CI has all that the required kernels need: there, being without one is a failure."""
    if os.environ.get("CI") == "true" and series in REQUIRED:
        pytest.fail(f"kernel {series}: {reason}", pytrace=False)
    pytest.skip(f"kernel {series}: {reason}")


KERNELS = REPO / ".cache" / "kernels"


@functools.cache
def fetch(series):
    """Bring a kernel into its folder."""
    return subprocess.run([HERE / "fetch-kernels", series], capture_output=True, text=True)


@pytest.fixture(scope="session", params=REQUIRED + OPTIONAL)
def kernel(request):
    """The folder of a kernel: vmlinuz, config, modules/, release."""
    series = request.param
    for tool in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(tool):
            missing(series, f"{tool} is not installed")
    fetched = fetch(series)
    if fetched.returncode:
        missing(series, fetched.stderr.strip())
    return KERNELS / series


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """What stands in a guest's /bin beside busybox.  What is not built is absent there too."""
    ours = {name: BUILD / name for name in ("jobmeter", "jobmeter-agent")}
    ours |= {name: BUILD / "tests/truth" / name for name in ("truth", "burn", "hot")}
    ours["grouped"] = BUILD / "tests/system/grouped"
    ours["copy-range"] = BUILD / "tests/mounts/copy-range"
    ours["pinned"] = BUILD / "tests/system/pinned"
    ours["leaves"] = BUILD / "tests/system/leaves"
    debians = {name: Path(path) for name in ("bindfs", "mkfs.xfs") if (path := shutil.which(name, path=SYSTEM_PATH))}
    shared = {"filesystems.sh": REPO / "tests/mounts/filesystems.sh"}
    built = {name: path for name, path in ours.items() if path.exists()}
    return built | debians | shared | smoke(tmp_path_factory.mktemp("smoke"))


def smoke(folder):
    """A program that tries whether BPF works in a guest, and its object."""
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu",
                    "-c", HERE / "smoke.bpf.c", "-o", folder / "smoke.bpf.o"], check=True)
    subprocess.run(["cc", HERE / "smoke.c", "-o", folder / "smoke", "-lbpf"], check=True)
    return {name: folder / name for name in ("smoke", "smoke.bpf.o")}


MATRIX = matrices.Matrix()


@pytest.fixture(scope="session")
def matrix():
    """What became of each operation on each kernel, in all cases."""
    return MATRIX


def pytest_terminal_summary(terminalreporter):
    """Print the matrix, and save it for its page."""
    kernels = [name for name in REQUIRED + OPTIONAL if MATRIX.column(name)]
    if not kernels:
        return
    MATRIX.save(BUILD / "matrix-kernels.json")
    terminalreporter.write_sep("=", "operations by kernel")
    for line in matrices.lines_of(MATRIX, kernels):
        terminalreporter.write_line(line)


def chooses_preemption(kernel):
    return "CONFIG_PREEMPT_DYNAMIC=y" in (kernel / "config").read_text()


def wanted_boots(session):
    """{(kernel, command line): the cases that the selected tests want of it}, in the order of the tests."""
    wanted = {}
    for item in session.items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if "result" in params and "kernel" in params:
            cases = wanted.setdefault((params["kernel"], params["result"].boot), [])
            cases.append(params["result"])
    return {key: list(dict.fromkeys(cases)) for key, cases in wanted.items()}


@pytest.fixture(scope="session")
def boots(request, programs):
    """{(kernel, command line): a future of Results}: all boots, two at a time, since each keeps one processor
    busy."""
    futures, guests = {}, {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (series, boot), cases in wanted_boots(request.session).items():
            if fetch(series).returncode or ("preempt=" in boot and not chooses_preemption(KERNELS / series)):
                continue
            guests[series] = guests.get(series) or Guest(KERNELS / series, programs)
            futures[series, boot] = pool.submit(guests[series].run, cases, boot)
        yield futures
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def result(request, kernel, boots):
    """The result of the case that the test names."""
    case = request.param
    if "preempt=" in case.boot and not chooses_preemption(kernel):
        pytest.skip(f"kernel {kernel.name} cannot choose its preemption at boot")
    result = boots[kernel.name, case.boot].result()[case]
    assert not result.complaint(), f"the kernel complained:\n{result.complaint()}"
    return result
