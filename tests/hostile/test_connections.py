# SPDX-License-Identifier: MIT
"""Idle connections of a user who has no token keep no scrape waiting."""

import http.client
import pwd
import subprocess
import sys
import time

import pytest

from agent import USER

SCRAPES = 12
ANSWER_S = 20   # what a scrape may take on a machine that is busy; where idle ones come first, it is never answered
TOGETHER = 512  # sockets of one process: below its limit of descriptors

# Holds N connections open, says nothing on them, and opens each again that is cut; ends with its input.
IDLER = """
import select, socket, sys
address, count = ("127.0.0.1", int(sys.argv[1])), int(sys.argv[2])
poll, held = select.epoll(), {}
def connect():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(address)
    held[s.fileno()] = s
    poll.register(s, select.EPOLLIN | select.EPOLLRDHUP)
for _ in range(count):
    connect()
poll.register(0, select.EPOLLIN)
print("held", flush=True)
while True:
    for fd, _ in poll.poll():
        if fd == 0:
            sys.exit()
        held.pop(fd).close()
        connect()
"""


@pytest.fixture
def idle(keeper):
    """idle(port, count): so many connections of somebody who is not root."""
    running = []

    def start(port, count):
        user = pwd.getpwnam(USER)
        for at in range(0, count, TOGETHER):
            running.append(subprocess.Popen(
                [sys.executable, "-Sc", IDLER, str(port), str(min(TOGETHER, count - at))], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, user=user.pw_uid, group=user.pw_gid, extra_groups=[]))
        for process in running:
            assert process.stdout.readline() == b"held\n"

    yield start
    for process in running:
        process.kill()
        process.communicate()


def scrape(port, token):
    """Seconds that a scrape took, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4 * ANSWER_S)
    begun = time.monotonic()
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.status == 200 and b"jobmeter_agent_build_info" in answer.read()
    finally:
        connection.close()
    return time.monotonic() - begun


@pytest.mark.parametrize("count", [100, 2000])  # fewer than the agent keeps, which are 256, and far more
def test_idle_connections_keep_no_scrape_waiting(start_agent, bench, idle, count):
    token = bench.folder / "scrape.token"
    agent = start_agent(insecure=False, token_file=str(token))
    idle(agent.port, count)
    took = [scrape(agent.port, token.read_text().strip()) for _ in range(SCRAPES)]
    print(f"{count} idle: {sorted(round(s, 3) for s in took)}")
    assert max(took) < ANSWER_S
