# SPDX-License-Identifier: MIT
"""What `meson install` puts where: programs, the unit that starts them, what sites copy, the pages."""

import json
import os
import pwd
import re
import shutil
import stat
import subprocess

import pytest

from agent import USER, Agent
from keeper import Keeper

OWN_FILES = {"lib/systemd/system/jobmeter-agent.service", "lib/systemd/system/jobmeter-server.service",
             "lib/systemd/system/jobmeter-report@.service", "lib/systemd/system/jobmeter-report@.timer",
             "lib/systemd/system/jobmeter-train.service", "lib/systemd/system/jobmeter-train.timer",
             "lib/systemd/system/jobmeter-admin-comment.service", "lib/systemd/system/jobmeter-admin-comment.timer",
             "lib/systemd/system/jobmeter-forecast.service", "lib/systemd/system/jobmeter-forecast.timer", "lib/sysusers.d/jobmeter.conf",
             "lib/tmpfiles.d/jobmeter-agent.conf", "lib/tmpfiles.d/jobmeter-server.conf",
             "share/jobmeter/agent.yaml", "share/jobmeter/server/server.yaml", "share/jobmeter/server/jobmeter-admin-comment",
             "share/jobmeter/server/jobmeter-forecast",
             "share/jobmeter/prometheus/jobmeter.yml",
             *(f"share/jobmeter/prometheus/jobmeter-{name}.yml" for name in ("alerts", "alerts-test", "rules")),
             "share/jobmeter/factors/yearly.csv",
             *(f"share/jobmeter/grafana/jobmeter-{name}.json" for name in ("cluster", "energy", "files", "gpu", "job", "mine", "service", "thermal")),
             "share/jobmeter/grafana/provisioning/dashboards/jobmeter.yaml",
             "share/jobmeter/grafana/provisioning/datasources/jobmeter.yaml",
             "share/jobmeter/grafana/provisioning/datasources/jobmeter-api.yaml",
             *(f"share/jobmeter/compose/{name}" for name in (".env.example", "alertmanager.yml", "compose.yaml", "make-database.sh",
                                                             "prometheus.yml")),
             "share/jobmeter/postgresql/role.sql", "share/jobmeter/postgresql/timescaledb.sql",
             "share/jobmeter/slurm/prolog-jobmeter.sh", "share/jobmeter/slurm/epilog-jobmeter.sh",
             "share/jobmeter/slurm/task-epilog-jobmeter.sh",
             "share/jobmeter/slurm/cli_filter.lua", "share/jobmeter/slurm/job_submit.lua", "share/jobmeter/slurm/energy-qos.sh",
             "share/jobmeter/examples/hog.c", "share/jobmeter/examples/locks.c", "share/jobmeter/examples/matrix.c",
             "share/jobmeter/examples/ranks.c", "share/jobmeter/examples/pack-headers",
             "share/jobmeter/examples/call-reader.py", "share/jobmeter/examples/trace-reader.py", "share/jobmeter/insights.yaml",
             *(f"share/jobmeter/probes/{name}.probe" for name in ("cuda-driver", "cuda-runtime", "hdf5", "hip", "mpi", "mpi-io", "nccl",
                                                                  "python", "rccl", "torch")),
             "share/jobmeter/site-insights.yaml",
             "share/doc/jobmeter/README.md"}
COMPLETION = {pattern.format(program) for program in ("jobmeter", "jobmeter-agent", "jobmeter-server")
              for pattern in ("share/bash-completion/completions/{}", "share/zsh/site-functions/_{}",
                              "share/fish/vendor_completions.d/{}.fish")}


@pytest.fixture(scope="module")
def installed(programs, demand, tmp_path_factory):
    """The folder that stands for the prefix, and the prefix."""
    demand(shutil.which("meson"), "needs meson")
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", programs], check=True,
                                        capture_output=True).stdout)
    prefix = next(o["value"] for o in options if o["name"] == "prefix")
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", programs, "--no-rebuild", "--quiet", "--destdir", folder], check=True,
                   capture_output=True)
    return folder / prefix.lstrip("/"), prefix


def files_below(top):
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() and not path.is_symlink()}


def test_all_that_is_needed_is_there_and_nothing_else(installed):
    top, _ = installed
    found = files_below(top)
    assert OWN_FILES <= found
    rest = {path for path in found - OWN_FILES if not path.startswith("share/doc/jobmeter/")}
    manual = {path for path in rest if re.fullmatch(r"share/man/man([158])/jobmeter[a-z.-]*\.\1", path)}
    assert {"share/man/man1/jobmeter.1", "share/man/man8/jobmeter-agent.8"} <= manual  # test_manual knows which there are
    assert rest == {"bin/jobmeter", "bin/jobmeter-agent", "bin/jobmeter-server"} | COMPLETION | manual
    assert not [path for path in found if path.startswith("etc/")]  # settings are the site's


def test_programs_and_scripts_can_be_run(installed):
    top, _ = installed
    for path in ("bin/jobmeter", "bin/jobmeter-agent", "bin/jobmeter-server"):
        done = subprocess.run([top / path, "--version"], capture_output=True, text=True)
        assert (done.returncode, done.stdout.split()[0]) == (0, os.path.basename(path))
    for path in ("slurm/prolog-jobmeter.sh", "slurm/epilog-jobmeter.sh", "slurm/task-epilog-jobmeter.sh",
                 "server/jobmeter-admin-comment", "server/jobmeter-forecast", "examples/pack-headers"):
        assert stat.S_IMODE((top / "share/jobmeter" / path).stat().st_mode) == 0o755


@pytest.mark.parametrize("program", ["jobmeter-agent", "jobmeter-server"])
def test_the_unit_starts_what_was_installed(installed, program):
    top, prefix = installed
    text = (top / f"lib/systemd/system/{program}.service").read_text()
    started = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1)
    assert started == f"{prefix}/bin/{program}"
    page = re.search(r"^Documentation=file:(.*)$", text, re.MULTILINE).group(1)
    assert (top / os.path.relpath(page, prefix)).is_file()
    assert not re.search(r"@\w+@", text)


def test_links_among_the_pages_lead_somewhere(installed):
    pages = installed[0] / "share/doc/jobmeter"
    links = 0
    for page in pages.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
            links += 1
    assert links > 20


def test_paths_are_whose_the_docs_say(tmp_path, root, programs):
    """The table in docs/sites/security.md."""
    with Keeper() as keeper, Agent(tmp_path / "agent", keeper) as agent:
        service = pwd.getpwnam(USER)
        agent.get("/metrics")
        paths = {"state": (0, 0o755), "state/jobs": (service.pw_uid, 0o700),
                 "state/spool": (service.pw_uid, 0o700), "state/spool/refused": (service.pw_uid, 0o700), "run": (0, 0o755), "run/jobs": (0, 0o750),
                 "run/agent.lock": (0, 0o644), "agent.sock": (0, 0o666)}
        for path, (owner, mode) in paths.items():
            st = (agent.folder / path).stat()
            assert (path, st.st_uid, stat.S_IMODE(st.st_mode)) == (path, owner, mode)
        st = agent.pins.stat()
        assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (service.pw_uid, 0o700)
