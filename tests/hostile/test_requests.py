# SPDX-License-Identifier: MIT
"""One user's requests take a tenth of a core of the agent at most, and nobody waits for them."""

import os
import pathlib
import pwd
import subprocess
import sys
import time

import pytest

from agent import USER
from agent_pages import ask
from job_groups import OWN_ONLY

JOBS, LOOKS = 50, 3
SPENT_S, MEASURED_S = 2, 1.5  # what may be taken at once is gone by then
MOST = 0.10 * 1.5             # of a core, beyond what the agent does anyway: ticks of 10 ms

# Asks for one thing again and again, until its input ends; says how often.
ASKER = r"""
import re, select, socket, sys
path, target = sys.argv[1], sys.argv[2].encode()
request, count = b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n", 0
s = socket.socket(socket.AF_INET if path.isdigit() else socket.AF_UNIX)
s.connect(("127.0.0.1", int(path)) if path.isdigit() else path)
while not select.select([sys.stdin], [], [], 0)[0]:
    s.sendall(request)
    head, answer = b"", b""
    while not head:
        answer += s.recv(1 << 20)
        head, _, body = answer.partition(b"\r\n\r\n") if b"\r\n\r\n" in answer else (b"", b"", b"")
    length = re.search(rb"Content-Length: (\d+)", head)
    while len(body) < int(length[1]) if length else not body.endswith(b"0\r\n\r\n"):
        body += s.recv(1 << 20)
    count += 1
print(count)
"""


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def busy_agent(start_agent, groups, bench):
    """An agent that shows jobs that have ended."""
    agent = start_agent(rules=OWN_ONLY, interval="60s", retention="5m", insecure=False, token_file=f"{bench.folder}/scrape.token")
    for job in range(JOBS):
        groups.run(groups.name(job), "/bin/true", env={})
        groups.remove(groups.name(job))
    return agent


def measure(agent, seconds):
    """The share of a core that the agent takes meanwhile, and how long root waits for an answer."""
    begun, before = time.monotonic(), cpu_seconds(agent.process.pid)
    ask(agent, "/v1/jobs")
    waited = time.monotonic() - begun
    time.sleep(max(seconds - waited, 0))
    return (cpu_seconds(agent.process.pid) - before) / (time.monotonic() - begun), waited


def test_a_users_requests_take_a_tenth_of_a_core_at_most(busy_agent):
    user, socket = pwd.getpwnam(USER), f"{busy_agent.folder}/agent.sock"
    loops = [(socket, target) for target in (
        "/v1/jobs/slurm/99999", "/v1/group?path=/slurm/uid_1002/job_99999", "/v1/snapshot?max_age=0.05",
        "/v1/snapshot?max_age=0.05&since=1&ahead=0.05", "/v1/agent", "/metrics")]
    loops.append((busy_agent.port, "/metrics"))  # without the token: all strangers are one user
    spent = set()
    for place, target in loops:
        spend_s = 0.2 if place in spent else SPENT_S
        if place not in spent:
            anyway, _ = measure(busy_agent, MEASURED_S)  # between two askers there is no such rest: more could be taken at once
        spent.add(place)
        asker = subprocess.Popen(
            [sys.executable, "-Sc", ASKER, str(place), target], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
        time.sleep(spend_s)
        for _ in range(LOOKS):  # what it does beside comes and goes; what requests take stays
            share, waited = measure(busy_agent, MEASURED_S)
            if share - anyway < MOST:
                break
        answered = int(asker.communicate()[0])
        print(f"{target}: {answered} answers, {100 * share:.1f} % of a core ({100 * anyway:.1f} anyway), "
              f"root's waited {1000 * waited:.0f} ms")
        assert asker.returncode == 0 and answered > 0
        assert share - anyway < MOST, target
