# SPDX-License-Identifier: MIT
"""Kernel tests: a test names the case that it looks at, and gets the case's result from a guest.

    @pytest.mark.parametrize("result", [Case("uname -r")], indirect=True)
    def test_something(result): ...

All cases that the selected tests want of one kernel and one command line run in one boot.  What takes longest is the start of
a meter, whose programs the emulated kernel has to look through: one agent serves all cases but those that say otherwise, and a
case is metered once for all that its record can tell apart."""

import concurrent.futures
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import disk_guest
import ipmi_guest
import slurm_guest
import systemd_guest
from guest import BUILD, HERE, OPTIONAL, REPO, REQUIRED, Guest, time_of

for shared in ("truth", "mounts"):
    sys.path.insert(0, str(REPO / "tests" / shared))

import matrix as matrices  # noqa: E402

SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def pytest_addoption(parser):
    parser.addoption("--series", help="only on these kernels: 6.12,6.1")


def pytest_collection_modifyitems(config, items):
    """Leave out what is for other kernels than those asked for."""
    chosen = config.getoption("series", None)
    if chosen:
        left_out = [item for item in items
                    if getattr(item, "callspec", None) and item.callspec.params.get("kernel") not in (None, *chosen.split(","))]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def missing(series, reason):
    """CI has all that the required kernels need: there, being without one is a failure."""
    if os.environ.get("CI") == "true" and series in REQUIRED:
        pytest.fail(f"kernel {series}: {reason}", pytrace=False)
    pytest.skip(f"kernel {series}: {reason}")


KERNELS = REPO / ".cache" / "kernels"
GUESTS_AT_ONCE = 2
BEFORE = os.environ.get("JOBMETER_GUESTS_BY", "").split()  # what starts QEMU
SLURM_SERIES, SYSTEMD_SERIES, IPMI_SERIES = "6.1", "6.12", "6.1-generic"


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
def programs():
    """What stands in a guest's /bin beside busybox.  What is not built is absent there too."""
    ours = {name: BUILD / name for name in ("jobmeter", "jobmeter-agent")}
    ours |= {name: BUILD / "tests/truth" / name for name in ("truth", "burn", "calls", "chain", "hot", "looks", "talk", "waits")}
    ours["grouped"] = BUILD / "tests/system/grouped"
    ours["copy-range"] = BUILD / "tests/mounts/copy-range"
    ours["pinned"] = BUILD / "tests/system/pinned"
    ours["leaves"] = BUILD / "tests/system/leaves"
    ours["traced"] = BUILD / "tests/system/traced"
    debians = {name: Path(path) for name in ("bindfs", "mkfs.xfs") if (path := shutil.which(name, path=SYSTEM_PATH))}
    shared = {path.name: path for path in (REPO / "tests/mounts/filesystems.sh", REPO / "tests/truth/throttled.sh")}
    built = {name: path for name, path in ours.items() if path.exists()}
    return built | debians | shared


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


def wanted_cases(session):
    """{(kernel, command line, options of its time): the cases that the selected tests want of it}, in the order of the tests."""
    wanted = {}
    for item in session.items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if "result" in params and "kernel" in params:
            case = params["result"]
            wanted.setdefault((params["kernel"], case.boot, *time_of(params["kernel"], case.is_timed)), []).append(case)
    return {key: list(dict.fromkeys(cases)) for key, cases in wanted.items()}


def work_of(cases):
    """How long they take, in starts of a meter, which take most of a guest's time."""
    return sum(1 if case.agent else 5 + 10 * case.script.count("jobmeter run") for case in cases)


def wanted_boots(session):
    """[(kernel, command line, cases)] for those kernels that there are, the longest first."""
    found = [(kernel, boot, cases) for (kernel, boot, *_), cases in wanted_cases(session).items()
             if not fetch(kernel).returncode and ("preempt=" not in boot or chooses_preemption(KERNELS / kernel))]
    return sorted(found, key=lambda boot: -work_of(boot[2]))


@pytest.fixture(scope="session")
def pool():
    """Runs guests: each keeps a processor busy."""
    pool = concurrent.futures.ThreadPoolExecutor(GUESTS_AT_ONCE)
    yield pool
    pool.shutdown(cancel_futures=True)


def disk_kernel(series):
    """The kernel's folder, once there is a disk, too."""
    for tool in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(tool):
            missing(series, f"{tool} is not installed")
    fetched = fetch(series)
    why_not = fetched.stderr.strip() if fetched.returncode else disk_guest.make_image()
    if why_not:
        missing(series, why_not)
    return KERNELS / series


def boot_slurm():
    """{name: bytes} of what a guest with Slurm left."""
    agent = BUILD / "jobmeter-agent"
    return slurm_guest.SlurmGuest(disk_kernel(SLURM_SERIES)).run(
        BUILD / "tests/truth/jobwork", agent if agent.exists() else None, slurm_guest.SCENARIOS)


def boot_systemd():
    """{name: bytes} of what a guest with systemd left."""
    return systemd_guest.SystemdGuest(disk_kernel(SYSTEMD_SERIES)).run(BUILD)


@pytest.fixture(scope="session")
def slurm_boot(pool):
    """A future of boot_slurm(), the longest of all boots."""
    return pool.submit(boot_slurm)


@pytest.fixture(scope="session")
def systemd_boot(pool):
    """A future of boot_systemd()."""
    return pool.submit(boot_systemd)


def boot_ipmi():
    """(what a guest with a BMC said, a line a second; what its BMC was asked)"""
    fetched = fetch(IPMI_SERIES)
    if fetched.returncode:
        missing(IPMI_SERIES, fetched.stderr.strip())
    return ipmi_guest.run(KERNELS / IPMI_SERIES)


@pytest.fixture(scope="session")
def ipmi_boot(pool):
    """A future of boot_ipmi(), in which little is done but waiting."""
    return pool.submit(boot_ipmi)


@pytest.fixture(scope="session")
def boots(request, programs, pool):
    """{(kernel, case): a future of Results}, of all boots."""
    futures, guests = {}, {}
    for longest in ("slurm_boot", "systemd_boot", "ipmi_boot"):
        if any(longest in item.fixturenames for item in request.session.items):
            request.getfixturevalue(longest)
    for series, boot, cases in wanted_boots(request.session):
        guests[series] = guests.get(series) or Guest(KERNELS / series, programs)
        future = pool.submit(guests[series].run, cases, boot, BEFORE)
        futures |= {(series, case): future for case in cases}
    return futures


@pytest.fixture
def result(request, kernel, boots):
    """The result of the case that the test names."""
    case = request.param
    if "preempt=" in case.boot and not chooses_preemption(kernel):
        pytest.skip(f"kernel {kernel.name} cannot choose its preemption at boot")
    result = boots[kernel.name, case].result()[case]
    assert not result.complaint(), f"the kernel complained:\n{result.complaint()}"
    return result
