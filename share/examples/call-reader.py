#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Print calls of one's own processes as they end: call-reader.py PID [SETS [RANK]], with the agent's setting trace.users."""
import http.client
import json
import os
import socket
import sys

pid, sets, rank = (sys.argv[1:] + ["mpi,mpi-io", None][len(sys.argv) - 2:])[:3]
agent = http.client.HTTPConnection("localhost")
agent.sock = socket.socket(socket.AF_UNIX)
agent.sock.connect(os.environ.get("JOBMETER_SOCKET", "/run/jobmeter/agent.sock"))
agent.request("GET", f"/v1/trace?pid={pid}&sets={sets}")
answer = agent.getresponse()
if answer.status != 200:
    sys.exit(json.load(answer)["error"])
for line in answer:
    call = json.loads(line)
    if "missing" in call:
        print(f"{call['missing']} calls of {call['probe']} came too fast", file=sys.stderr)
    elif rank in (None, str(call["rank"])):
        print(call["pid"], call["probe"], call["arguments"], call["bytes"], call["duration_ns"], flush=True)
