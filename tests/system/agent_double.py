# SPDX-License-Identifier: MIT
"""Stands in for an agent on its Unix socket: it answers what a test wrote down, and measures nothing."""

import json
import os
import urllib.parse

from http_double import HttpDouble

EMPTY = {"calls": 0, "bytes": 0, "errors": 0, "seconds": 0, "sizes": [], "latencies": []}


def record(job_id, manager="slurm", final=False, elapsed=10, user_seconds=1, read_bytes=0, read_calls=0, **job):
    """A record as the agent gives them, with one mount."""
    return {
        "schema": "jobmeter.record/1", "node": "double", "boot_id": "b", "final": final,
        "job": {"manager": manager, "id": job_id, **job},
        "time": {"start": "2026-02-03T04:05:06Z", "elapsed_seconds": elapsed},
        "cpu": {"user_seconds": user_seconds, "system_seconds": 0, "allocated_cores": 2},
        "memory": {"peak_bytes": 1009 * 1024},
        "io": [{"mount": "/scratch", "fstype": "tmpfs", "source": "x", "aliases": [],
                "read": {**EMPTY, "calls": read_calls, "bytes": read_bytes}, "write": EMPTY, "meta": {}}],
        "coverage": {"tiers": ["T0", "T2"], "missing": [], "notes": []},
    }


class Agent(HttpDouble):
    """jobs: {(manager, id): [record of each look]}; the last one stays.  A job whose last record is final ends."""

    def __init__(self, path, jobs=None, runs=None, groups=None, uid=None):
        self.socket_path, self.jobs, self.runs, self.groups = str(path), jobs or {}, runs, groups or {}
        self.uid = os.getuid() if uid is None else uid
        self.asked, self.looks, self.lists = [], {}, 0
        self.ends = {}  # when, of those that have ended
        self.begin = []  # [(after so many lists, (manager, id))]: jobs that begin later
        self.start()

    def is_live(self, key):
        looks = self.jobs[key]
        return not looks[min(self.looks.get(key, 0), len(looks) - 1)]["final"]

    def listed(self):
        self.lists += 1
        late = {key for after, key in self.begin if self.lists <= after}
        return [{"manager": m, "id": i, "name": None, "user": "u", "uid": self.uid, "live": self.is_live((m, i)),
                 "end": self.ends.get((m, i))}
                for m, i in self.jobs if (m, i) not in late]

    def next_record(self, key):
        looks = self.jobs[key]
        at = self.looks.get(key, 0)
        self.looks[key] = at + 1
        return looks[min(at, len(looks) - 1)]

    def find(self, method, url, body):
        path = urllib.parse.urlsplit(url)
        query = urllib.parse.parse_qs(path.query)
        parts = [urllib.parse.unquote(p) for p in path.path.split("/")]
        if path.path == "/health":
            return 200, {"status": "ok"}
        if path.path == "/v1/jobs":
            return 200, {"schema": "jobmeter.jobs/1", "jobs": self.listed()}
        if parts[1:3] == ["v1", "jobs"] and tuple(parts[3:5]) in self.jobs:
            return 200, self.next_record(tuple(parts[3:5]))
        if path.path == "/v1/group":
            key = self.groups.get((query.get("pid") or query.get("path"))[0])
            return (200, {"manager": key[0], "id": key[1]}) if key else (404, {"error": "part of no job"})
        if (method, path.path) == ("POST", "/v1/runs") and self.runs:
            return self.runs(self, json.loads(body))
        if method == "POST" and parts[1:3] == ["v1", "runs"] and parts[4] == "end":
            return 200, self.next_record(("run", parts[3]))
        return 404, {"error": "there is no such job, or it is not yours"}

    def answer(self, handler):
        method, body = handler.command, handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.asked.append(f"{method} {handler.path}")
        status, answer = self.find(method, handler.path, body)
        self.reply(handler, status, json.dumps(answer).encode(), Content_Type="application/json")
