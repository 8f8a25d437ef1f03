# SPDX-License-Identifier: MIT
"""The Debian packages: what is in them, what they need, what lintian says, and what an upgrade does to jobs that run.

What is installed is installed into a copy of this system, an overlay that is thrown away."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from agent import Agent
from agent_pages import await_page, page_of, wrong_totals
from job_groups import OWN_ONLY, MANAGER
from repository import REPOSITORY
from waiting import until

# What systemd does for the units, by RestartKillSignal= and ExecStart= of them.
SYSTEMCTL = """#!/bin/sh
echo "$@" >>/run/systemctl.log
signal_agent()
{
    pid=$(cat /run/agent.pid) && kill "$1" "$pid"
    while readlink "/proc/$pid/exe" >/dev/null; do sleep 0.05; done
}
start_agent()
{
    setsid /usr/bin/jobmeter-agent >>/run/agent.log 2>&1 </dev/null &
    echo $! >/run/agent.pid
}
case "$*" in
"start jobmeter-agent.service") start_agent ;;
"try-restart jobmeter-agent.service") signal_agent -USR1; start_agent ;;
"stop jobmeter-agent.service") signal_agent -TERM ;;
esac
"""
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


def test_settings_are_no_conffiles_and_users_and_places_are_declared(trees):
    for name, user in (("jobmeter-agent", "jobmeter"), ("jobmeter-server", "jobmeter-server")):
        assert not (trees / name / "DEBIAN/conffiles").exists() and not list((trees / name / "etc/jobmeter").iterdir())
        path = f"/etc/jobmeter/{name.removeprefix('jobmeter-')}.yaml"
        line, = re.findall(f"echo '(.*)' >{path}$", (trees / name / "DEBIAN/postinst").read_text(), re.MULTILINE)
        listed, = re.findall(r" /(usr/share/jobmeter/\S+\.yaml) ", line)
        assert line.startswith("#") and [one for one in NAMES if (trees / one / listed).exists()]
        assert "d /etc/jobmeter 0755 root root -\n" in (trees / name / f"usr/lib/tmpfiles.d/{name}.conf").read_text()
        lines = (trees / name / f"usr/lib/sysusers.d/{name}.conf").read_text().splitlines()
        assert [line.split()[1] for line in lines if line.startswith("u ")] == [user]


@pytest.mark.parametrize("name", NAMES[1:])
def test_the_unit_starts_the_packaged_program(trees, name):
    unit = (trees / name / f"lib/systemd/system/{name}.service").read_text()
    assert f"ExecStart=/usr/bin/{name}\n" in unit
    assert "/usr/local" not in unit


def test_lintian_finds_nothing(packages, demand):
    demand(shutil.which("lintian"), "needs lintian")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_other_recipes_can_be_read_and_name_the_same_packages(demand):
    demand(shutil.which("rpmspec"), "needs rpm")
    version, = re.findall(r"^  version: '(.*)',$", (REPOSITORY / "meson.build").read_text(), re.MULTILINE)
    spec = REPOSITORY / "packaging/jobmeter.spec"
    listed = subprocess.run(["rpmspec", "-q", "--define", f"version {version}", "--qf", "%{name} %{version}\n", spec], check=True,
                            capture_output=True, text=True).stdout
    assert listed.splitlines() == [f"{name} {version}" for name in NAMES]
    done = subprocess.run(["rpmspec", "-q", spec], capture_output=True, text=True)
    assert done.returncode and "give --define" in done.stderr
    recipes = [path for path in (REPOSITORY / "packaging").rglob("*") if path.is_file() and path.name != "README.md"]
    assert not [path for path in recipes if version in path.read_text()]  # it stands in meson.build alone
    container = (REPOSITORY / "packaging/Containerfile").read_text()
    assert set(re.findall(r"\b(jobmeter[a-z-]*)_\*\.deb", container)) == {"jobmeter", "jobmeter-server"}
    compile((REPOSITORY / "packaging/spack/package.py").read_text(), "package.py", "exec")


class Copy:
    """This system with room for changes, and a systemctl that knows the agent's unit."""

    def __init__(self, folder, keeper):
        self.root, changes = folder / "root", folder / "changes"
        for path in (self.root, changes):
            path.mkdir()
        keeper.run("mount", "-t", "tmpfs", "changes", changes, undo=["umount", "-l", changes])
        for name in ("upper", "work"):
            (changes / name).mkdir()
        keeper.run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={changes}/upper,workdir={changes}/work", self.root,
                   undo=["umount", "-l", self.root])
        for name in ("proc", "sys", "dev"):
            keeper.run("mount", "--rbind", f"/{name}", self.root / name, undo=["umount", "-R", "-l", self.root / name])
            subprocess.run(["mount", "--make-rslave", self.root / name], check=True)
        for path in ("etc/jobmeter", "run/jobmeter", "var/lib/jobmeter"):  # of an agent that was tried here
            shutil.rmtree(self.root / path, ignore_errors=True)
        (self.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
        (self.root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)  # which says in images that no service is to be restarted
        systemctl = self.root / "usr/local/sbin/systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)

    def run(self, *argv):
        return subprocess.run(["chroot", self.root, *map(str, argv)], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})

    def install(self, packages):
        for path in packages:
            shutil.copy(path, self.root / "tmp")
        return self.run("dpkg", "--no-triggers", "--force-downgrade", "-i", *(f"/tmp/{path.name}" for path in packages))


def repacked(trees, folder, version):
    """The command and the agent of another version, and else the same."""
    for name in NAMES[:2]:
        tree = folder / f"{name}-{version}"
        shutil.copytree(trees / name, tree, symlinks=True)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"~1\b", version, control.read_text()))
        path = folder / f"{name}{version}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, path], check=True, capture_output=True)
        yield path


@pytest.fixture
def copy(tmp_path, keeper, demand):
    try:
        return Copy(tmp_path, keeper)
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot make a copy of this system: {e.stderr}")


def jobs_of(page):
    """What counts up and what is a peak, of our jobs."""
    kept = {key for key in page.samples if key[0].endswith("_peak_bytes")} | set(page.counters())
    return {key: page.samples[key] for key in kept if ("manager", MANAGER) in key[1]}


def finals_of(spool):
    """{job: the bytes of its final records}"""
    found = {}
    for path in spool.glob("*.f.gz"):
        text = gzip.decompress(path.read_bytes())
        found.setdefault(json.loads(text)["job"]["id"], []).append(text)
    return found


def test_an_upgrade_and_a_downgrade_while_jobs_run_lose_nothing(copy, trees, tmp_path, keeper, bench, work, groups, demand):
    older, newer = list(repacked(trees, tmp_path, "~1")), list(repacked(trees, tmp_path, "~2"))
    settings = copy.root / "etc/jobmeter/agent.yaml"
    settings.parent.mkdir()
    settings.write_text("# the site's, from before there were packages\n")
    done = copy.install(older)
    demand("dependency problems" not in done.stderr, done.stderr)
    assert done.returncode == 0, done.stderr
    assert settings.read_text().startswith("# the site's")
    asked = copy.root / "run/systemctl.log"
    assert asked.read_text() == "--system daemon-reload\n"  # a first start is the site's
    agent = Agent(copy.root / "srv", keeper, rules=OWN_ONLY, user="jobmeter", state_dir="/var/lib/jobmeter", run_dir="/run/jobmeter",
                  socket={"path": "/run/jobmeter/agent.sock"}, server="http://127.0.0.1:1", server_token_file="", retention="1h")
    agent.config = copy.root / "etc/jobmeter/agent.yaml"
    agent.prepare()
    keeper.undo("/bin/sh", "-c", f"p=$(cat {copy.root}/run/agent.pid); case $(readlink /proc/$p/exe) in *jobmeter-agent*) kill -KILL $p ;; esac")
    log, spool = copy.root / "run/agent.log", copy.root / "var/lib/jobmeter/spool"

    def await_start():
        end = time.monotonic() + 60
        while not agent.is_ready():
            assert pathlib.Path("/proc", (copy.root / "run/agent.pid").read_text().strip()).exists() and time.monotonic() < end, log.read_text()
            time.sleep(0.05)

    def await_finals(*jobs):
        until(lambda: set(map(str, jobs)) <= set(finals_of(spool)), why=lambda: (log.read_text(), list(spool.iterdir())))

    def change(packages):
        """Another version, while a job works, and others are born and end."""
        before, finals, program = jobs_of(page_of(agent)), finals_of(spool), (copy.root / "run/agent.pid").read_text()
        said = copy.install(packages)
        assert said.returncode == 0, said.stderr
        await_start()
        assert (copy.root / "run/agent.pid").read_text() != program
        assert "syscalls" in agent.config.read_text()  # the site's settings stay
        after = jobs_of(page_of(agent))
        assert not {key: (value, after.get(key)) for key, value in before.items() if not after.get(key, -1) >= value}
        assert finals.items() <= finals_of(spool).items()

    agent.configure(syscalls=False)
    assert copy.run("systemctl", "start", "jobmeter-agent.service").returncode == 0
    await_start()
    work(1, "0")  # lives through all of it
    work(2)
    groups.remove(groups.name(2))
    burner = groups.start(groups.name(4), "/usr/bin/python3", "-c", "x = bytearray(64 << 20)\ndel x\nfor i in range(5000000): pass\nimport time\ntime.sleep(600)")
    keeper.undo("kill", "-KILL", burner.pid)
    await_finals(2)
    await_page(agent, lambda page: "4" in {labels["jobid"] for labels, _ in page.of("jobmeter_job_info")})
    busy = groups.start(groups.name(3), *bench.work("--job", 3, "--seed", 3, "--rounds", 40, "--children", 2).split(), env={})
    change(newer)
    assert "took over what was counting" in log.read_text()
    work(5)
    groups.remove(groups.name(5))
    assert busy.wait(120) == 0
    assert not wrong_totals(agent, bench)

    agent.configure(syscalls=True)  # as with another build, nothing can be taken over
    change(older)
    assert log.read_text().count("took over what was counting") == 1
    work(1, "0", seed=1)
    assert not wrong_totals(agent, bench)
    ran_s = int(open(f"/proc/{burner.pid}/schedstat").read().split()[0]) / 1e9
    cpu_s = sum(value for labels, value in page_of(agent).of("jobmeter_job_cpu_seconds_total") if labels["jobid"] == "4")
    assert 0 < cpu_s < 1.5 * ran_s
    assert [value for labels, value in page_of(agent).of("jobmeter_job_memory_peak_bytes") if labels["jobid"] == "4"][0] > 64 << 20
    burner.kill()
    burner.wait()
    for job in (1, 3, 4):
        groups.remove(groups.name(job))
    await_finals(1, 2, 3, 4, 5)
    finals = finals_of(spool)
    assert {job: len(texts) for job, texts in finals.items()} == {str(job): 1 for job in range(1, 6)}, \
        [(job, *(json.loads(text)[key] for key in ("sequence", "time", "tasks", "coverage"))) for job in finals if len(finals[job]) > 1
         for text in finals[job]] + [log.read_text()]

    links = [copy.root / "etc/systemd/system" / name for name in ("multi-user.target.wants/jobmeter-agent.service",
                                                                   "timers.target.wants/jobmeter-report@weekly.timer")]
    for link in links:  # which the systemctl here does not take away, as policy-rc.d does not let it in an image
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("/lib/systemd/system/" + link.name)
    assert copy.run("dpkg", "--no-triggers", "-r", "jobmeter-agent", "jobmeter").returncode == 0
    assert not [link for link in links if link.is_symlink()]
    said = asked.read_text().splitlines()
    assert not agent.pins.exists() and ["stop jobmeter-agent.service", "disable jobmeter-agent.service"] == \
        [line for line in said[-10:] if "jobmeter-agent" in line][-2:]
    assert (copy.root / "etc/jobmeter").is_dir() and (copy.root / "run/jobmeter/jobs").stat().st_mode & 0o7777 == 0o750
    purged = copy.run("dpkg", "--no-triggers", "-P", "jobmeter-agent")
    assert purged.returncode == 0 and "/var/lib/jobmeter and what is in /etc/jobmeter stay" in purged.stderr
    assert len(finals_of(spool)) == 5 and not agent.config.exists()
    assert copy.install(older).returncode == 0 and settings.read_text().startswith("# The settings of jobmeter-agent: ")
