# SPDX-License-Identifier: MIT
"""What systemd says of the agent's files: its unit, and its user."""

import pathlib
import shutil
import subprocess

FILES = pathlib.Path(__file__).resolve().parents[2] / "share/systemd"


def test_systemd_finds_nothing_in_the_unit(tmp_path, demand):
    demand(shutil.which("systemd-analyze"), "needs systemd-analyze")
    unit = tmp_path / "jobmeter-agent.service"
    text = (FILES / "jobmeter-agent.service").read_text()
    assert "ExecStart=/usr/local/bin/jobmeter-agent\n" in text
    unit.write_text(text.replace("/usr/local/bin/jobmeter-agent", "/bin/true"))  # which need not be installed
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "jobmeter" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_user_is_made(tmp_path, root, demand):
    demand(shutil.which("systemd-sysusers"), "needs systemd-sysusers")
    folder = tmp_path / "usr/lib/sysusers.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    shutil.copy(FILES / "jobmeter.sysusers", folder / "jobmeter.conf")
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}"], check=True, capture_output=True)
    line = next(l for l in (tmp_path / "etc/passwd").read_text().splitlines() if l.startswith("jobmeter:"))
    assert line.endswith(":/var/lib/jobmeter:/usr/sbin/nologin")
