# SPDX-License-Identifier: MIT
"""What an agent says: of the jobs of job_groups.py, held against the ledger of what they did."""

import inspect
import json
import shutil
import subprocess
import time

from exposition import parse
from job_groups import MANAGER
from jobtruth import differences, measured
from waiting import PATIENCE_S, until


def seldom():
    """An interval with which an agent that starts now takes no reading by itself for five minutes: it takes them at the multiples of
    its interval, by the clock of day."""
    now = time.time()
    return next(f"{seconds}s" for seconds in range(600, 3600) if seconds - now % seconds > 300)


def page_of(agent):
    answer = agent.get("/metrics")
    assert answer.status == 200, answer.text
    return parse(answer.text)


def await_page(agent, is_enough, seconds=PATIENCE_S):
    """The page once it is as it should be; a reading is up to a second old."""
    end = time.monotonic() + seconds
    while not is_enough(page := page_of(agent)):
        assert time.monotonic() < end, f"not so within {seconds} s: {inspect.getsource(is_enough).strip()}\n{page.samples}"
        time.sleep(0.1)
    return page


def wrong_totals(agent, bench, truth=None, manager=MANAGER):
    """Differences that stay, in words."""
    truth = bench.truth() if truth is None else truth
    found = {}

    def is_right(page):
        nonlocal found
        found = measured(page, bench.mounts, manager)
        return not differences(truth, found)

    end = time.monotonic() + PATIENCE_S
    while not is_right(page_of(agent)) and time.monotonic() < end:
        time.sleep(0.1)
    return differences(truth, found)


def those_of(bench, *jobs):
    return {key: count for key, count in bench.truth().items() if key[0] in jobs}


def known_jobs(page, manager=MANAGER):
    return {labels["jobid"] for labels, _ in page.of("jobmeter_job_info") if labels["manager"] == manager}


def state_files(agent):
    """Of the jobs that we made: the machine may have others."""
    return sorted(path.name for path in (agent.folder / "state/jobs").glob(f"{MANAGER}-*"))


def text_of(agent, path):
    """What its socket answers."""
    done = subprocess.run(["curl", "--silent", "--unix-socket", agent.settings["socket"]["path"], f"http://agent{path}"],
                          check=True, capture_output=True, text=True)
    return done.stdout


def ask(agent, path):
    return json.loads(text_of(agent, path))


def final_record(agent, job):
    end = time.monotonic() + PATIENCE_S
    while not (record := ask(agent, f"/v1/jobs/{MANAGER}/{job}"))["final"] and time.monotonic() < end:
        time.sleep(0.1)
    assert record["final"] is True
    return record


def await_log(agent, words):
    until(lambda: words in agent.log(), why=lambda: f"its log never said '{words}':\n{agent.log()}")
    return agent.log()


def entries(agent, name, ids):
    """How many a pinned map holds of these groups; the machine may have others.  A key begins with the group."""
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    path, = agent.pins.glob(f"*/maps/*-{name}")
    listed = subprocess.run([bpftool, "-j", "map", "dump", "pinned", path], check=True, capture_output=True, text=True)
    keys = (entry["key"][:8] for entry in json.loads(listed.stdout))
    return sum(int.from_bytes(bytes(int(byte, 16) for byte in key), "little") in ids for key in keys)
