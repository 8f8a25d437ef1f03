# SPDX-License-Identifier: MIT
"""A server that knows by munge who sends: a real munged, credentials by its own program, and a real agent."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from agent import USER
from job_groups import OWN_ONLY
from made_records import line, record
from server import Server
from waiting import until

HOST = "localhost"  # by the credentials' address, as this machine knows it
TAKEN = {"answer": "taken"}
BODY = line(record(7, node=HOST)) + b"\n"


class Munged:
    def __init__(self, folder, keeper):
        self.folder, self.keeper, self.socket = folder, keeper, folder / "munge.sock"
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)

    def start(self):
        self.process = subprocess.Popen(
            ["munged", "--foreground", "--force", "--origin=127.0.0.1", f"--socket={self.socket}", f"--key-file={self.folder}/munge.key",
             f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.keeper.undo("/bin/sh", "-c", f"kill -KILL {self.process.pid}")
        until(self.socket.exists)
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def sign(self, body, purpose="jobmeter records ", **who):
        """What the header says."""
        done = subprocess.run(["munge", f"--socket={self.socket}", f"--string={purpose}{hashlib.sha256(body).hexdigest()}"],
                              capture_output=True, text=True, cwd="/", **who)
        assert done.returncode == 0, done.stderr
        return f"MUNGE {done.stdout.strip()}"


@pytest.fixture
def munged(keeper, demand, root):
    demand(shutil.which("munged") and shutil.which("munge"), "needs munge")
    with tempfile.TemporaryDirectory(prefix="jobmeter-munge-") as name:
        os.chmod(name, 0o755)
        munged = Munged(pathlib.Path(name), keeper).start()
        yield munged
        munged.stop()


@pytest.fixture
def serving(munged, keeper):
    """serving(authentication): a server."""
    servers = []

    def serving(authentication="munge"):
        server = Server(munged.folder / "server", keeper, authentication=authentication,
                        munge={"socket": str(munged.socket), "user": USER})
        servers.append(server.__enter__())
        return server

    yield serving
    for server in servers:
        server.__exit__(None)


def post(server, body, authorization):
    return server.get("/api/v1/records", "POST", body, Authorization=authorization)


def answers(server, body, authorization):
    answer = post(server, body, authorization)
    assert answer.status == 200, answer.text
    return [json.loads(one) for one in answer.text.splitlines()]


def test_root_and_the_agents_user_are_believed_once_for_one_body(serving, munged, agent_user):
    server = serving()
    credential = munged.sign(BODY)
    assert answers(server, BODY, credential) == [TAKEN]
    refusal = post(server, BODY, credential)
    assert (refusal.status, json.loads(refusal.text)) == (401, {"error": "the munge credential: Replayed credential"})
    assert answers(server, BODY, munged.sign(BODY, user=USER)) == [{"answer": "known"}]
    other = post(server, BODY.replace(b"made-7", b"made-8"), munged.sign(BODY))
    assert other.status == 401 and "of another body" in other.text
    assert len(server.jobs()) == 1


def test_whoever_is_neither_is_not(serving, munged, agent_user):
    server = serving()
    refusal = post(server, BODY, munged.sign(BODY, user="nobody"))
    assert refusal.status == 401 and "and should be of root or of" in refusal.text
    refusal = post(server, BODY, munged.sign(BODY, purpose="anything "))
    assert refusal.status == 401 and "is not for records" in refusal.text
    for authorization in ("MUNGE ", "MUNGE MUNGE:AAAA:", f"MUNGE {'A' * 4000}", "MUNGE '; DROP TABLE records; --", "Bearer x", "Negotiate",
                          munged.sign(BODY)[:-20]):
        assert post(server, BODY, authorization).status == 401
    assert server.get("/api/v1/records", "POST", BODY).status == 401
    assert not (server.folder / "push.token").exists() and not server.jobs()


def test_a_node_writes_in_its_own_name_only(serving, munged):
    body = b"".join(line(record(i, node=node)) + b"\n" for i, node in enumerate([HOST, "node17", f"{HOST}.other", "localhos", HOST]))
    said = answers(serving(), body, munged.sign(body))
    assert [one["answer"] for one in said] == ["taken", "refused", "taken", "refused", "taken"]
    assert said[1]["reason"].startswith("it is of node 'node17', and its credential of localhost")


def test_either_takes_the_token_too(serving, munged):
    server = serving("either")
    assert server.push([BODY.strip()]) == [TAKEN]
    assert answers(server, BODY, munged.sign(BODY)) == [{"answer": "known"}]


def test_without_munged_records_wait(serving, munged):
    server, credential = serving(), munged.sign(BODY)
    munged.stop()
    assert post(server, BODY, credential).status == 503
    munged.start()
    assert answers(server, BODY, munged.sign(BODY)) == [TAKEN]


def test_an_agent_sends_with_credentials(serving, munged, start_agent, groups):
    server = serving()
    agent = start_agent(rules=OWN_ONLY, server=f"http://127.0.0.1:{server.port}", server_authentication="munge",
                        munge_socket=str(munged.socket), node=HOST, checkpoint_interval="1h")
    groups.run(groups.name(17), "sleep", "0.2")
    groups.remove(groups.name(17))
    job, = until(lambda: server.jobs("id=17"))
    assert (job["node"], job["state"], job["final"]) == (HOST, "ENDED", True)
    munged.stop()
    groups.run(groups.name(19), "true")
    groups.remove(groups.name(19))
    until(lambda: "munge gives no credential" in agent.log())
    munged.start()
    until(lambda: server.jobs("id=19"))


def test_a_user_reads_their_own_jobs_by_a_credential_of_nothing(munged, serving):
    server, alice = serving(), 61001
    body = line(record(7, node=HOST, uid=alice, user="made-alice")) + b"\n" + line(record(8, node=HOST, uid=61002, user="made-bob")) + b"\n"
    sent = server.get("/api/v1/records", "POST", body, Authorization=munged.sign(body, user=0), **{"Content-Type": "application/x-ndjson"})
    assert sent.status == 200

    def ask(credential):
        answer = server.get("/api/v1/jobs?fields=id", Authorization=credential)
        return answer.status, json.loads(answer.text).get("jobs")

    once = munged.sign(b"", user=alice, group=alice, extra_groups=[])
    assert ask(once) == (200, [{"id": "7"}])
    assert ask(once)[0] == 401  # munged knows it
    assert ask(munged.sign(b"", user=0)) == (200, [])  # root of some node is no operator
    assert ask(munged.sign(body, user=alice, group=alice, extra_groups=[]))[0] == 401  # it is of another request
    assert ask(munged.sign(b"", "something else ", user=alice, group=alice, extra_groups=[]))[0] == 401
