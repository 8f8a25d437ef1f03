# SPDX-License-Identifier: MIT
"""docs/sites/rollout.md, typed: its tokens, certificates, settings and checks bring a record from a node to the server."""

import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import yaml
from agent import Agent
from job_groups import OWN_ONLY
from repository import REPOSITORY
from server import Server
from waiting import until

PAGE = (REPOSITORY / "docs/sites/rollout.md").read_text()


def blocks(section):
    """What is indented in a section, a block each, without the indent."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [re.sub(r"^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.M)]


class Site:
    """A folder for the machine on which root makes things, and one in the place of /etc/jobmeter."""

    def __init__(self, folder, programs):
        self.admin, self.etc = folder / "admin", folder / "etc"
        for path in (folder / "bin", self.admin, self.etc):
            path.mkdir()
        self.path = f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        for name in ("jobmeter", "jobmeter-agent", "jobmeter-server"):
            (folder / "bin" / name).symlink_to(programs / name)

    def type(self, script, status=0, **environment):
        script = script.replace("/etc/jobmeter", str(self.etc)).replace("node0001", "localhost")
        done = subprocess.run(["sh", "-euc", script], cwd=self.admin, capture_output=True, text=True, timeout=120,
                              env={"PATH": self.path, **environment})
        assert done.returncode == status, (script, done.stdout, done.stderr)
        return done


class NamedServer(Server):
    """Its certificate has a name, and no address."""

    def is_ready(self):
        return subprocess.run(["curl", "-sfk", f"https://localhost:{self.port}/health"], capture_output=True).returncode == 0


@pytest.fixture
def folder(keeper):
    """Where the daemons' users may go."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-rollout-"))
    keeper.undo("rm", "-rf", folder)
    folder.chmod(0o755)
    return folder


@pytest.fixture
def site(folder, programs, demand):
    demand(shutil.which("openssl") and shutil.which("curl"), "needs openssl and curl")
    return Site(folder, programs)


def test_what_the_page_says_brings_a_record_to_the_server_by_tls(site, folder, keeper, groups):
    tokens, on_each_node = blocks("Tokens")
    authority, certificate, renewal = blocks("Certificates")
    site.type(tokens + authority + certificate)
    for name in ("agent", "server"):
        for end in ("crt", "key"):
            shutil.copy(site.admin / f"node0001.{end}".replace("node0001", "localhost"), site.etc / f"{name}.{end}")
    shutil.copy(site.admin / "ca.pem", site.etc)
    (site.etc / "ca.pem").chmod(0o644)

    with NamedServer(folder / "server", keeper, token_file=str(site.admin / "push.token"),
                tls={"certificate": str(site.etc / "server.crt"), "key": str(site.etc / "server.key")}) as server:
        at = f"https://localhost:{server.port}"
        health, = re.findall(r"`(curl --cacert [^`]*)`", PAGE)
        assert site.type(health.replace("https://jobs.example.org:9841", at)).stdout == "ok\n"

        agent = Agent(folder / "agent", keeper, rules=OWN_ONLY, insecure=False, server_token_file=str(site.etc / "push.token"),
                      token_file=str(site.etc / "scrape.token")).prepare()
        text, = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
        settings = yaml.safe_load(text.replace("/etc/jobmeter", str(site.etc)))
        assert settings.pop("listen") == "0.0.0.0:9840"
        agent.configure(**settings | {"server": at})
        (site.etc / "agent.yaml").write_text(agent.config.read_text())
        validate, = re.findall(r'validate: "([^"]*)"', PAGE)
        site.type(validate.replace("%s", str(agent.config)))
        (folder / "wrong.yaml").write_text("intervall: 1s\n")
        assert "intervall" in site.type(validate.replace("%s", str(folder / "wrong.yaml")), status=2).stderr
        take, push = on_each_node.splitlines()
        site.type(f"{take} --config {agent.config}\n{push.replace('-g jobmeter', '-g ' + agent.settings['user'])}")
        assert (site.etc / "scrape.token").read_text() == (site.admin / "scrape.token").read_text()

        quick = blocks("Check")[0]
        where = {"JOBMETER_SOCKET": agent.settings["socket"]["path"]}
        assert "not healthy" in site.type(quick, status=1, **where).stdout
        agent.start()
        site.type(quick, **where)
        groups.run(groups.name(1), "/bin/true")
        groups.remove(groups.name(1))
        until(lambda: re.search(r"^ *1 ", site.type("jobmeter jobs --all", JOBMETER_SERVER_SOCKET=str(server.socket)).stdout, re.M),
              why=lambda: (agent.log(), server.log()))

    # The certificates last for 400 days, which is more than the 30 that the timer asks for.
    site.type(renewal.replace("logger", "false; echo"))
