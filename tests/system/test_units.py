# SPDX-License-Identifier: MIT
"""What systemd says of the agent's files: its unit, and its user."""

import pathlib
import re
import shutil
import subprocess

FILES = pathlib.Path(__file__).resolve().parents[2] / "share/systemd"


def test_systemd_finds_nothing_in_the_unit(programs, tmp_path, demand):
    demand(shutil.which("systemd-analyze"), "needs systemd-analyze")
    unit = tmp_path / "jobmeter-agent.service"
    text = (programs / "share/jobmeter-agent.service").read_text()
    text, count = re.subn("(?m)^ExecStart=.*/bin/jobmeter-agent$", "ExecStart=/bin/true", text)  # it need not be installed
    assert count == 1
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "jobmeter" in line]
    assert (done.returncode, ours) == (0, [])


def test_systemd_finds_the_unit_little_exposed(programs, demand):
    demand(shutil.which("systemd-analyze"), "needs systemd-analyze")
    unit = programs / "share/jobmeter-agent.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=40", unit],
                          capture_output=True, text=True)
    demand("unrecognized option" not in done.stderr, "needs systemd-analyze of systemd 250 or later")
    assert done.returncode == 0, done.stdout[-200:]  # at most 4.0


def test_the_user_is_made(tmp_path, root, demand):
    demand(shutil.which("systemd-sysusers"), "needs systemd-sysusers")
    folder = tmp_path / "usr/lib/sysusers.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    shutil.copy(FILES / "jobmeter.sysusers", folder / "jobmeter.conf")
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}"], check=True, capture_output=True)
    line = next(l for l in (tmp_path / "etc/passwd").read_text().splitlines() if l.startswith("jobmeter:"))
    assert line.endswith(":/var/lib/jobmeter:/usr/sbin/nologin")
