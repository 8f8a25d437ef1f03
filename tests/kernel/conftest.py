# SPDX-License-Identifier: MIT
"""Kernel tests: a test names the case that it looks at, and gets the case's result from a guest.

    @pytest.mark.parametrize("result", [Case("uname -r")], indirect=True)
    def test_something(result): ...

All cases that the selected tests want of one kernel and one command line run in a single boot."""

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


@pytest.fixture(scope="session", params=REQUIRED + OPTIONAL)
def kernel(request):
    """The folder of a kernel: vmlinuz, config, modules/, release."""
    series = request.param
    for tool in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(tool):
            missing(series, f"{tool} is not installed")
    fetched = subprocess.run([HERE / "fetch-kernels", series], capture_output=True, text=True)
    if fetched.returncode:
        missing(series, fetched.stderr.strip())
    return REPO / ".cache" / "kernels" / series


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """What stands in a guest's /bin beside busybox.  What is not built is absent there too."""
    ours = {"jobmeter": BUILD / "jobmeter"} | {name: BUILD / "tests/truth" / name for name in ("truth", "burn", "hot")}
    ours["copy-range"] = BUILD / "tests/mounts/copy-range"
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


@pytest.fixture(scope="session")
def guest(kernel, programs):
    """A kernel with our programs, not yet booted."""
    return Guest(kernel, programs)


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


@pytest.fixture(scope="session")
def boots():
    """{(guest, command line): Results} of the guests that have run."""
    return {}


@pytest.fixture
def result(request, guest, boots):
    """The result of the case that the test names."""
    case = request.param
    if "preempt=" in case.boot and "CONFIG_PREEMPT_DYNAMIC=y" not in (guest.kernel / "config").read_text():
        pytest.skip(f"kernel {guest.kernel.name} cannot choose its preemption at boot")
    if (guest, case.boot) not in boots:
        boots[guest, case.boot] = guest.run(cases_of(request.session, guest, case.boot), case.boot)
    result = boots[guest, case.boot][case]
    assert not result.complaint(), f"the kernel complained:\n{result.complaint()}"
    return result


def cases_of(session, guest, boot):
    """The cases that the selected tests want of one boot, each once, in the order of the tests."""
    params = [item.callspec.params for item in session.items if hasattr(item, "callspec")]
    cases = [p["result"] for p in params if "result" in p and p.get("kernel") == guest.kernel.name]
    return list(dict.fromkeys(case for case in cases if case.boot == boot))
