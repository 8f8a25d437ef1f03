# SPDX-License-Identifier: MIT
"""The Debian packages: what is in them, what they need, and what lintian says.  Nothing is installed."""

import os
import shutil
import subprocess

import pytest

from repository import REPOSITORY

NAMES = ("jobmeter", "jobmeter-agent", "jobmeter-server")


@pytest.fixture(scope="module")
def packages(programs, demand, tmp_path_factory):
    demand(shutil.which("meson") and shutil.which("dpkg-shlibdeps"), "needs meson and dpkg-dev")
    out = tmp_path_factory.mktemp("packages")
    subprocess.run([REPOSITORY / "tools/make-packages", programs, out], check=True, capture_output=True,
                   env=os.environ | {"REVISION": "~1", "SOURCE_DATE_EPOCH": "1700000000", "DPKG_DEB_COMPRESSOR_TYPE": "gzip"})
    return {path.name.split("_")[0]: path for path in out.glob("*.deb")}


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def trees(packages, tmp_path_factory):
    top = tmp_path_factory.mktemp("trees")
    for name, package in packages.items():
        subprocess.run(["dpkg-deb", "--raw-extract", package, top / name], check=True)
    return top


def files_below(top):
    return {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir() and path.relative_to(top).parts[0] != "DEBIAN"}


def test_no_file_is_in_two_packages_and_each_has_its_program(packages, trees):
    assert set(packages) == set(NAMES)
    files = {name: files_below(trees / name) for name in NAMES}
    assert len(set.union(*files.values())) == sum(map(len, files.values()))
    for name in NAMES:
        assert f"usr/bin/{name}" in files[name]
        assert not [path for path in files[name] if path.startswith("usr/local")]


def test_libraries_are_found_and_the_daemons_need_the_command_of_their_version(packages):
    assert "libbpf1" in field(packages["jobmeter-agent"], "Depends")
    assert "libcurl4" in field(packages["jobmeter-agent"], "Depends")  # loaded with dlopen()
    assert "libpq5" in field(packages["jobmeter-server"], "Depends")
    for name in NAMES[1:]:
        version = field(packages[name], "Version")
        assert f"jobmeter (= {version})" in field(packages[name], "Depends")
        assert "systemd" in field(packages[name], "Depends")


def test_settings_are_conffiles_and_users_are_declared(trees):
    assert (trees / "jobmeter-agent/DEBIAN/conffiles").read_text() == "/etc/jobmeter/agent.yaml\n"
    for name, user in (("jobmeter-agent", "jobmeter"), ("jobmeter-server", "jobmeter-server")):
        lines = (trees / name / f"usr/lib/sysusers.d/{name}.conf").read_text().splitlines()
        assert [line.split()[1] for line in lines if line.startswith("u ")] == [user]


@pytest.mark.parametrize("name", NAMES[1:])
def test_the_unit_starts_the_packaged_program(trees, name):
    unit = (trees / name / f"lib/systemd/system/{name}.service").read_text()
    assert f"ExecStart=/usr/bin/{name}\n" in unit
    assert "/usr/local" not in unit


def test_lintian_finds_no_error(packages, demand):
    demand(shutil.which("lintian"), "needs lintian")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *packages.values()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
