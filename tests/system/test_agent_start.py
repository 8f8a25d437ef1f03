# SPDX-License-Identifier: MIT
"""What keeps an agent from starting: one clear line, the right exit status, and nothing that stays."""

import fcntl
import os
import pathlib
import pwd
import shutil
import socket
import subprocess

import pytest

from agent import PROGRAM, USER, Agent, environment

FAILED, MISUSED = 1, 2


@pytest.fixture
def prepared(tmp_path, keeper):
    """prepared(**settings): an agent that has all it needs, but was not started."""
    for folder in (tmp_path, *tmp_path.parents):  # users have to get to what they may see
        if str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)

    def prepare(**settings):
        return Agent(tmp_path / "agent", keeper, **settings).prepare()

    return prepare


def processes_of(agent):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(agent.config) in words and words[0] == os.fsencode(agent.program):
            found.append(path.parent.name)
    return found


def what_stays(agent):
    """Of an agent that is over; its folders may stay, and the lock's file, if nobody holds it."""
    left = [str(path) for path in (agent.pins, pathlib.Path(agent.settings["socket"]["path"])) if path.exists()]
    lock = pathlib.Path(agent.settings["run_dir"]) / "agent.lock"
    if lock.exists():
        with open(lock, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                left.append(f"{lock} is held")
    return left + [f"process {pid}" for pid in processes_of(agent)]


def refused(agent, status, *words, **arguments):
    """It says one line that holds the words."""
    told, said = agent.refusal(**arguments)
    print(said)
    assert told == status, said
    assert said.count("\n") == 1 and said.startswith("jobmeter-agent: "), said
    assert not [word for word in words if word not in said], said
    assert not what_stays(agent)


# ---- the command line, and the settings ----


@pytest.mark.parametrize("argv, words", [
    (["--nonsense"], "there is no option '--nonsense'; --help lists them"),
    (["-x"], "there is no option '-x'"),
    (["--config"], "'--config' needs its FILE"),
    (["left", "over"], "'left' is too much"),
    (["--config", "/no/such.yaml"], "/no/such.yaml"),
])
def test_wrong_usage_is_a_line(argv, words):
    done = subprocess.run([PROGRAM, *argv], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == MISUSED and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_help_and_version_are_data():
    for option, words in (("--help", "sage: jobmeter-agent"), ("--version", "jobmeter-agent ")):
        done = subprocess.run([PROGRAM, option], capture_output=True, text=True, env=environment(), timeout=60)
        assert (done.returncode, done.stderr) == (0, "") and words in done.stdout.splitlines()[0]


@pytest.mark.parametrize("text, line, words", [
    ("# none\n\nbpf: maybe\n", 3, ["bpf", "on, off"]),
    ("interval: 10s\nintervall: 5s\n", 2, ["intervall", "interval"]),
    ("tiers:\n  T7: on\n", 2, ["T7"]),
    ("interval: {\n", None, []),
    ("a: &a 1\n", 1, []),
])  # the other ways are in tests/unit/test_config.c
def test_wrong_settings_are_told_with_their_line(prepared, text, line, words):
    agent = prepared()
    agent.config.write_text(text)
    where = f"agent.yaml:{line}:" if line else "agent.yaml:"
    refused(agent, MISUSED, where, *words)
    assert agent.refusal("--check-config")[0] == MISUSED
    assert agent.refusal("--dump-config")[0] == MISUSED


def test_a_rule_that_says_nothing_is_refused(prepared):
    refused(prepared(rules=[{"name": "made", "manager": "made", "pattern": "x<job:"}]), MISUSED, "rules[0]")
    refused(prepared(rules=[{"name": "made", "pattern": "<job:#>"}]), MISUSED, "manager")


def test_settings_that_cannot_be_read(prepared):
    agent = prepared()
    agent.config.chmod(0o600)
    user = pwd.getpwnam(USER)
    status, said = agent.refusal(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    assert status == MISUSED and said.count("\n") == 1 and "agent.yaml': Permission denied" in said, said
    agent.config.unlink()
    agent.config.mkdir()
    refused(agent, MISUSED, "agent.yaml")


def test_settings_that_everyone_may_write_are_not_believed(prepared):
    agent = prepared()
    agent.config.chmod(0o666)
    refused(agent, MISUSED, "agent.yaml")


@pytest.mark.smoke
def test_check_config_says_nothing_of_what_is_right(prepared):
    agent = prepared()
    assert agent.refusal("--check-config") == (0, "")
    assert not what_stays(agent)


def test_what_is_dumped_are_settings_again(prepared, tmp_path):
    agent = prepared(interval="7s", mounts=[{"path": "/scratch", "name": 'a "scratch"'}])

    def dump():
        return subprocess.run([PROGRAM, "--config", agent.config, "--dump-config"], capture_output=True, text=True,
                              env={**environment(), "JOBMETER_RETENTION": "90s"}, check=True).stdout

    first = dump()
    assert "7s" in first and "JOBMETER_RETENTION" in first and "agent.yaml" in first
    agent.config.write_text(first)
    assert agent.refusal("--check-config") == (0, "")


# ---- what is not to be had ----


def test_what_was_shown_is_kept_of_all_jobs_that_there_may_be(start_agent):
    """A file that takes room as it is needed: its size is that of all."""
    agent = start_agent(jobs_max=70001)
    assert (agent.folder / "run/published").stat().st_size > 70001 * 64


def test_a_port_in_use(prepared):
    agent = prepared()
    with socket.socket() as other:
        other.bind(("127.0.0.1", agent.port))
        other.listen()
        refused(agent, FAILED, f"cannot listen on 127.0.0.1:{agent.port}: Address already in use")


def test_another_agent_runs(prepared, tmp_path, keeper):
    agent = prepared()
    agent.start()
    try:
        other = Agent(tmp_path / "other", keeper, run_dir=agent.settings["run_dir"]).prepare()
        status, said = other.refusal()
        assert status == FAILED
        assert said == f"jobmeter-agent: another agent runs (PID {agent.process.pid})\n"
        assert agent.get("/metrics").status == 200  # which is none the worse for it
    finally:
        agent.stop()
    assert not what_stays(agent)


def test_another_agent_has_its_place_in_the_kernel(prepared, tmp_path, keeper):
    """Of one in another run_dir, which the lock cannot tell of."""
    agent = prepared()
    agent.start()
    try:
        other = Agent(tmp_path / "other", keeper, pin_dir=str(agent.pins)).prepare()
        status, said = other.refusal()
        assert (status, said) == (FAILED, f"jobmeter-agent: another agent uses '{agent.pins}'\n")
        assert agent.get("/metrics").status == 200 and agent.pins.exists()
    finally:
        agent.stop()


def test_a_directory_of_all_users_stays_as_it_is(prepared, tmp_path):
    """Such as /tmp, whose mode it would take from everybody."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "of somebody").touch()
    refused(prepared(run_dir=str(shared)), FAILED, f"'{shared}' is a directory of all users")
    assert shared.stat().st_mode & 0o7777 == 0o1777


def test_no_such_user(prepared):
    refused(prepared(user="jm-nobody-at-all"), FAILED, "jm-nobody-at-all")


def test_an_ordinary_user_cannot_start_it(prepared):
    agent = prepared()
    user = pwd.getpwnam(USER)
    refused(agent, FAILED, "start it as root", user=user.pw_uid, group=user.pw_gid, extra_groups=[])


@pytest.mark.parametrize("name, text, mode", [("token", "a-token-that-is-long-enough-0123456789\n", 0o644), ("token", "\n", 0o600),
                                              ("no/such/token", None, None)], ids=["everyone may read it", "is none", "has no place"])
def test_a_token_that_will_not_do(prepared, tmp_path, name, text, mode):
    token = tmp_path / name
    if text:
        token.write_text(text)
        token.chmod(mode)
    refused(prepared(insecure=False, token_file=str(token)), FAILED, str(token))


def test_one_token_for_all_nodes_is_in_place_before_the_first_start(prepared, tmp_path):
    given, token = tmp_path / "given", tmp_path / "etc/scrape.token"
    given.write_text("one-token-of-the-whole-site\n")
    given.chmod(0o600)
    agent = prepared(insecure=False, token_file=str(token))
    assert agent.refusal("--init-token-from", given) == (0, "")
    made = token.stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o7777) == (0, pwd.getpwnam(USER).pw_gid, 0o640)
    assert agent.refusal("--init-token-from", given) == (0, "") and token.stat().st_ino == made.st_ino  # nothing to do
    with agent:
        assert agent.get("/metrics").status == 401
        assert agent.get("/metrics", Authorization="Bearer one-token-of-the-whole-site").status == 200
    given.write_text("another-token-of-the-site\n")
    assert agent.refusal("--init-token-from", given)[0] == 0 and token.read_text() == "another-token-of-the-site\n"
    for text, mode, words in (("short\n", 0o600, "it must have 16 at least"), ("two-lines-of-a-token\n" * 2, 0o600, "more than one line"),
                              ("another-token-of-the-site\n", 0o644, "others can read or write it (chmod 0640)")):
        given.write_text(text)
        given.chmod(mode)
        status, said = agent.refusal("--init-token-from", given)
        assert (status, said.count("\n")) == (FAILED, 1) and str(given) in said and words in said, said
    assert token.read_text() == "another-token-of-the-site\n"


@pytest.mark.parametrize("text", [None, "no key\n"])
def test_a_key_that_cannot_be_read(prepared, tmp_path, text):
    """Root reads everything: a file that is none, and one that is not there."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text("no certificate\n")
    if text:
        key.write_text(text)
        key.chmod(0o600)
    refused(prepared(tls={"certificate": str(cert), "key": str(key)}), FAILED, str(key))


def test_a_socket_where_there_is_no_folder(prepared, tmp_path):
    refused(prepared(socket={"path": str(tmp_path / "no/such/agent.sock")}), FAILED, "agent.sock")


def test_a_socket_that_is_somebodys_file(prepared, tmp_path):
    path = tmp_path / "file.sock"
    path.write_text("kept\n")
    status, said = prepared(socket={"path": str(path)}).refusal()
    assert status == FAILED and said.count("\n") == 1 and str(path) in said, said
    assert path.read_text() == "kept\n"


def test_a_state_of_another_user(prepared, tmp_path):
    agent = prepared()
    jobs = tmp_path / "agent/state/jobs"
    jobs.mkdir(parents=True)
    os.chown(jobs, 54321, 54321)
    refused(agent, FAILED, str(jobs), "belongs to another user")


def test_a_state_that_cannot_be_written(prepared, tmp_path, keeper):
    agent = prepared()
    state = tmp_path / "agent/state"
    state.mkdir()
    keeper.run("mount", "-t", "tmpfs", "-o", "ro", "state", state, undo=["umount", "-l", state])
    refused(agent, FAILED, str(state), "Read-only file system")


def test_a_state_that_is_a_link(prepared, tmp_path):
    agent = prepared()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "agent/state").mkdir()
    (tmp_path / "agent/state/jobs").symlink_to(tmp_path / "elsewhere")
    refused(agent, FAILED, "state/jobs")


def test_no_cgroup_is_mounted(prepared):
    refused(prepared(), FAILED, "cgroup", before=["unshare", "--mount", "sh", "-c", 'umount -R -l /sys/fs/cgroup; exec "$@"', "sh"])


def test_a_key_hierarchy_that_is_not_there(prepared):
    """On v2 there is none of v1's, and here it is taken away."""
    without = ["unshare", "--mount", "sh", "-c", 'umount -l /sys/fs/cgroup/freezer 2>/dev/null; exec "$@"', "sh"]
    refused(prepared(key_hierarchy="freezer"), FAILED, "key_hierarchy: cgroup v1's 'freezer' is not mounted", before=without)


def test_pins_on_another_file_system(prepared, tmp_path):
    """It measures, but nothing outlives it when it is killed; it says so."""
    agent = prepared(pin_dir=str(tmp_path / "pins"))
    agent.start()
    try:
        assert agent.get("/metrics").status == 200
        assert "nothing outlives this agent if it is killed: " in agent.log()
    finally:
        agent.stop()
    assert not what_stays(agent)


# ---- an end ----


@pytest.mark.smoke
def test_a_clean_end_leaves_nothing(prepared):
    agent = prepared()
    agent.start()
    assert processes_of(agent)
    agent.stop()
    assert not what_stays(agent)


def test_an_agent_that_was_killed_is_followed_by_another(prepared):
    """The socket that it leaves is in nobody's way, its helper ends with it."""
    agent = prepared()
    agent.start()
    agent.kill()
    agent.start()
    assert "took over what was counting" in agent.log()
    agent.stop()
    assert not what_stays(agent)


def test_root_without_bpf_measures_what_files_tell(prepared, demand):
    """As in a container: root, whose rights are cut."""
    demand(shutil.which("setpriv"), "needs setpriv")
    agent = prepared()
    agent.start(before=["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin,-sys_resource", "--"])
    try:
        print(agent.log())
        assert "started without BPF, which the kernel does not permit: only cgroup files are read" in agent.log()
        assert "jobmeter_node_load1 " in agent.get("/metrics").text
    finally:
        agent.stop()
    assert not what_stays(agent)
