# SPDX-License-Identifier: MIT
"""Every command line that README, the pages for users, the manual pages and the help print, and each option of each command: typed by root and by
a user, with and without an agent, with an empty and a full history.  None crashes, each ends as its page says, and what
fails says why in a line."""

import concurrent.futures
import pwd
import re
import shutil
import subprocess

import pytest

import examples
import offered
from person import NOBODY, Person, was_killed
from repository import REPOSITORY

AT_A_TIME = 4  # they mostly wait
READS_ALL = re.compile(r"^jobmeter report .*\S/$")  # of a folder, into which other lines write
DAEMONS = ("agent", "server")
ENDLESS = ("watch", "top", "gpu", "up", *DAEMONS)
LIVE = ("run", "watch", "top", "trace", "doctor", "energy", "gpu")  # they ask an agent, or load BPF programs
ALONE = {"report", "insights", "doctor", "jobs", "usage", "energy", "gpu", "up"}  # what wants no argument, nor a terminal
KEPT = 200


def exit_codes(programs, name):
    """Those that the manual page lists."""
    page = programs / f"share/man/jobmeter-{name}.{8 if name in DAEMONS else 1}"
    part = re.search(r"^\.SH EXIT STATUS$(.*?)^\.SH", page.read_text(), re.MULTILINE | re.DOTALL)[1]
    codes = {int(code) for code in re.findall(r"^(\d+)$", part, re.MULTILINE)}
    return codes or {0} | {int(code) for code in re.findall(r"\b(\d+)\b(?! and the signal)", part)} - {128}


@pytest.fixture(scope="module")
def codes(programs):
    found = {name: exit_codes(programs, name) for name in [*offered.commands(programs), *DAEMONS]}
    found["help"] = {0, 2}  # it has no page of its own
    assert found["run"] >= {0, 1, 2, 126, 127} and found["compare"] == {0, 1, 2, 3} and found["agent"] == {0, 1, 2}
    return found


@pytest.fixture(scope="module")
def lines(programs):
    printed = []
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))):
        printed += examples.of_docs(page.read_text())
    assert len(printed) > 20
    pages = sorted((programs / "share/man").glob("*.[1-8]"))
    for page in pages:
        printed += examples.of_page(page.read_text())
    typed = [*map(examples.here, printed), *examples.of_help(programs)]
    for invocation in offered.invocations(programs):  # none is left out
        name = " ".join(invocation)
        for letter, option, _ in offered.options(programs, invocation):
            assert any(line.startswith(name) and f"--{option}" in line for line in typed), (name, option)
    return list(dict.fromkeys(typed))


class Scene:
    """Somebody in a folder with all the files that examples name."""

    def __init__(self, programs, folder, uid, socket, history):
        self.person = Person(programs, folder, uid, socket)
        home = self.person.home
        self.sleeper = subprocess.Popen(["sleep", "3600"], user=uid, group=uid)
        self.environment = {"SLEEPER": str(self.sleeper.pid), "NAME": pwd.getpwuid(uid).pw_name,
                            "JOBMETER_CONFIG": str(home / "agent.yaml"), "JOBMETER_INSIGHTS": ""}
        for name in ("train.sh", "solver", "starts-a-daemon", "share/examples/pack-headers", "build/make", "build/srun",
                     "build/useradd", "build/systemctl"):
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#!/bin/sh\n[ "${0##*/}" != srun ] || { shift 2; exec "$@"; }\n')
            path.chmod(0o755)
        for name in ("A", "B", "good.json", "new.json", "run.json"):
            shutil.copy(REPOSITORY / "tests/data/made-train.json", home / name)
        shutil.copy(REPOSITORY / "share/site-insights.yaml", home / "site.yaml")
        (home / "agent.yaml").write_text(
            f"listen: 127.0.0.1:1\nsocket: {{path: {home}/own/a.sock}}\nstate_dir: {home}/own/state\nrun_dir: {home}/own/run\n"
            f"pin_dir: {home}/own/pins\nuser: nobody\n")
        if history:
            runs = self.person.state / "jobmeter/runs"
            runs.mkdir(parents=True)
            for i in range(KEPT):
                shutil.copy(home / "run.json", runs / f"20260203T040506.{i:09}Z-{i}.json")
        subprocess.run(["chown", "-R", str(uid), home], check=True)

    def type(self, line):
        """To its end; what may have none gets some seconds, and then as by Ctrl-C."""
        seconds = 3 if name_of(line) in ENDLESS else 300
        return self.person.type(f"timeout --preserve-status -k 60 -s INT {seconds} bash -o pipefail -c {quoted(line)}", 420,
                                **self.environment)

    def close(self):
        self.sleeper.kill()
        self.sleeper.wait()


def quoted(line):
    return "'" + line.replace("'", "'\\''") + "'"


@pytest.fixture
def scene(programs, tmp_path, root):
    opened = []

    def scene(uid, socket, history):
        opened.append(Scene(programs, tmp_path / "home", uid, socket, history))
        return opened[-1]

    yield scene
    for s in opened:
        s.close()


@pytest.fixture(params=[False, True], ids=["without-agent", "with-agent"])
def socket(request):
    """Of an agent, where there is one."""
    if not request.param:
        return None
    return request.getfixturevalue("start_agent")().settings["socket"]["path"]


def name_of(line):
    daemon = next((name for name in DAEMONS if f"jobmeter-{name}" in line), None)
    return daemon or (line[line.index("jobmeter"):].split() + [""])[1]


def complaint_of(line, done, codes):
    """What is wrong with the end of a line; None."""
    name, said = name_of(line), done.stderr.splitlines()
    is_endless = name in ENDLESS and done.returncode == 130
    if was_killed(done) and not is_endless:
        return "crashed"
    if done.returncode not in codes[name] and not is_endless:
        return f"its page knows no {done.returncode}"
    if "Traceback" in done.stderr or "Sanitizer" in done.stderr:
        return "crashed"
    if done.returncode in (1, 2, 126, 127) and name not in ("doctor", "up", *DAEMONS) and \
            (len(said) != 1 or not said[0].startswith("jobmeter") or len(said[0]) < 20):
        return "does not say why in a line"
    if done.returncode in (1, 2) and name in ("doctor", *DAEMONS) and not done.stdout + done.stderr and not re.search(" -q| --quiet", line):
        return "says nothing"
    return None


def check(scene, lines, codes):
    lines = sorted(lines, key=lambda line: READS_ALL.search(line) is not None)
    readers = [line for line in lines if READS_ALL.search(line)]
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        ends = list(pool.map(scene.type, lines[:len(lines) - len(readers)])) + list(pool.map(scene.type, readers))
    told = [f"{line}: {complaint_of(line, done, codes)} ({done.returncode}, {done.stderr[-500:]!r})"
            for line, done in zip(lines, ends) if complaint_of(line, done, codes)]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("uid", [0, NOBODY], ids=["root", "user"])
def test_none_crashes_and_each_ends_as_its_page_says(scene, lines, codes, socket, uid):
    """All of them by root without an agent and by a user with one; else those for which user or agent make a difference."""
    is_whole = (uid == 0) == (socket is None)
    scene = scene(uid, socket, history=bool(socket))
    made = scene.type("jobmeter top --batch -n 2 -d 0.1 --record night.ndjson")
    assert made.returncode == 0 or not socket
    check(scene, lines if is_whole else [line for line in lines if name_of(line) in LIVE], codes)


@pytest.mark.parametrize("uid", [0, NOBODY], ids=["root", "user"])
def test_commands_by_themselves(programs, scene, codes, socket, uid):
    """With a history where there is no agent, else without: what one of them has a part in, the other has none."""
    history = not socket
    scene = scene(uid, socket, history)
    for name in ("report", "insights"):
        done = scene.type(f"jobmeter {name}")
        assert done.returncode == (0 if history else 1) and (history or "there is no local run yet" in done.stderr), done
    lines = [f"jobmeter {name}" for name in offered.commands(programs) if name != "doctor"]
    check(scene, lines + ["jobmeter doctor --no-costs"], codes)
    for name in set(offered.commands(programs)) - ALONE:
        assert scene.type(f"jobmeter {name}").returncode == 2, name
    assert scene.type("jobmeter").returncode == 2
    if history:
        assert scene.type("jobmeter run -q -- true").returncode == 0
        assert len(scene.person.records()) == KEPT
