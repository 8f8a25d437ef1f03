# SPDX-License-Identifier: MIT
"""Sensors of energy that nobody here has: a Redfish service, by a double that answers rightly, wrongly, late and not at all; and
layouts of real machines."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

import redfish_double
from redfish_double import LARGE, POWER, ROOT, SUPPLIES, USER, WRONG, Redfish

SENSED = pathlib.Path(os.environ.get("JOBMETER_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"),
                      "tests/system/sensed").resolve()
SECONDS = 17  # two or more questions, and what the first one's answer takes at most


def sensed(seconds, *arguments):
    """A sample a second."""
    done = subprocess.run([SENSED, str(seconds), *arguments], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- Redfish ----

@pytest.fixture
def ask(tmp_path):
    """Samples of the node's own numbers and of Redfish at that URL."""
    def ask(url, ca, name, credentials=USER, mode=0o600, chassis=""):
        path = tmp_path / f"{name}.credentials"
        path.write_text(f"{credentials}\n")
        path.chmod(mode)
        return sensed(SECONDS, "--settings", url, path, ca, chassis, "redfish", "node_files")
    return ask


@contextlib.contextmanager
def silent_port():
    """One that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"https://localhost:{listener.getsockname()[1]}"


def reason(samples):
    """What it last said."""
    said = [text for sample in samples for text in sample["missing"] if text.startswith("energy by Redfish: ")]
    return said[-1].removeprefix("energy by Redfish: ") if said else ""


def powers(samples):
    return {reading["power_uw"] for sample in samples for reading in sample["energy"]}


@pytest.fixture
def answers(certificate, ask, tmp_path):
    """{name: samples}, all at once, since most of it is waiting."""
    cert, key = certificate
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    tmp_path / "other.key", "-out", other, "-days", "1", "-subj", "/CN=localhost"], check=True, capture_output=True)
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(16) as pool:
        def serve(answers, **options):
            return stack.enter_context(Redfish(answers, cert, key, **options)).url

        jobs = {
            "supplies": (serve(SUPPLIES), cert), "power": (serve(POWER), cert), "wrong": (serve(WRONG), cert),
            "large": (serve(LARGE), cert), "empty": (serve({}), cert), "none": (stack.enter_context(silent_port()), cert),
            "late": (serve(POWER, hangs=f"{ROOT}Chassis/1/Power"), cert), "untrusted": (serve(POWER), other),
            "refused": (serve(POWER, user="somebody:else"), cert), "gone": ("https://localhost:1", cert)}
        futures = {name: pool.submit(ask, url, ca, name) for name, (url, ca) in jobs.items()}
        futures["readable"] = pool.submit(ask, jobs["power"][0], cert, "readable", mode=0o640)
        futures["chassis"] = pool.submit(ask, jobs["power"][0], cert, "chassis", chassis="2")
        yield {name: future.result() for name, future in futures.items()}


def test_what_a_redfish_service_says_and_what_it_does_not(answers):
    assert powers(answers["supplies"]) == {410500000}  # both, and not Power's own
    assert powers(answers["power"]) == {344000000}  # and not its mean over 30 minutes
    last = answers["power"][-1]["energy"][0]
    assert (last["source"], last["level"], last["socket"]) == ("redfish", "node", -1)
    first = next(reading for sample in answers["power"] for reading in sample["energy"])
    assert abs(last["total_uj"] - 344000000 * (last["at"] - first["at"])) <= 2
    assert last["at"] > first["at"]
    expected = {
        "wrong": "PowerControl\\[0\\].PowerConsumedWatts is a string", "large": "cannot ask 'https://localhost:",
        "empty": "there is no /redfish/v1/", "untrusted": "certificate", "gone": "cannot ask",
        "refused": "refuses the user or the password of redfish_credentials \\(status 401\\)", "readable": "\\(chmod 0600\\)",
        "chassis": "no chassis '2' says a power",
        # the first question, which looks for the place of the power, may take longer than all this
        "late": "more than 6000 ms|has not answered in time", "none": "more than 6000 ms|has not answered in time"}
    for name, words in expected.items():
        assert re.search(words, reason(answers[name])), (name, reason(answers[name]))
        assert powers(answers[name]) == set(), name
    for name, samples in answers.items():
        assert len(samples) == SECONDS + 1 and len({sample["samples"] for sample in samples}) == 1, name
        assert redfish_double.USER not in json.dumps(samples)
