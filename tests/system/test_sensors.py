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
import time
from functools import partial

import pytest

import redfish_double
from agent_pages import ask as ask_agent
from agent_pages import PATIENCE_S, await_page
from layouts import COUNTED, LAYOUTS, add_uj
from redfish_double import LARGE, POWER, ROOT, SUPPLIES, USER, WRONG, Redfish

SENSED = pathlib.Path(os.environ.get("JOBMETER_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"),
                      "tests/system/sensed").resolve()
SECONDS = 120  # at most
MORE = 3  # samples after what was waited for


def sensed(is_enough, *arguments):
    """A sample a second, until they are enough and some more."""
    samples, left = [], MORE
    with subprocess.Popen([SENSED, str(SECONDS), *arguments], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            samples.append(json.loads(line))
            left -= is_enough(samples)
            if left < 0:
                process.kill()
                return samples
    assert process.returncode == 0
    return samples


# ---- Redfish ----

@pytest.fixture
def ask(tmp_path):
    """Samples of the node's own numbers and of Redfish at that URL."""
    def ask(url, ca, name, credentials=USER, mode=0o600, chassis=""):
        path = tmp_path / f"{name}.credentials"
        path.write_text(f"{credentials}\n")
        path.chmod(mode)
        return sensed(partial(has_answer, name), "--settings", url, path, ca, chassis, "redfish", "node_files")
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


# Why there is no power; the first question, which looks for its place, may take longer than an answer.
REASONS = {
    "wrong": "PowerControl\\[0\\].PowerConsumedWatts is a string", "large": "cannot ask 'https://localhost:",
    "empty": "there is no /redfish/v1/", "untrusted": "certificate", "gone": "cannot ask",
    "refused": "refuses the user or the password of redfish_credentials \\(status 401\\)", "readable": "\\(chmod 0600\\)",
    "chassis": "no chassis '2' says a power",
    "late": "more than 6000 ms|has not answered in time", "none": "more than 6000 ms|has not answered in time"}


def has_answer(name, samples):
    """The reason that is due, or answers to two questions."""
    if name in REASONS:
        return bool(re.search(REASONS[name], reason(samples)))
    return len({reading["at"] for sample in samples for reading in sample["energy"]}) > 1


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
    for name, words in REASONS.items():
        assert re.search(words, reason(answers[name])), (name, reason(answers[name]))
        assert powers(answers[name]) == set(), name
    for name, samples in answers.items():
        assert len({sample["samples"] for sample in samples}) == 1, name
        assert redfish_double.USER not in json.dumps(samples)


# ---- layouts, through an agent ----

WAITS = 0.01  # joules


def energies(page):
    return {(labels["source"], labels["sensor"]): labels["level"] for labels, _ in page.of("jobmeter_node_energy_joules_total")
            if labels["quality"] == "measured"}


def owned(page):
    """What all owners have together."""
    return sum(value for _, value in page.of("jobmeter_node_energy_owner_joules_total"))


def levels_of(agent, name):
    """Page and root of an agent on that layout, once all of its sensors are there, and no others."""
    page = await_page(agent, lambda page: LAYOUTS[name][1].items() <= energies(page).items())
    found = {key: level for key, level in energies(page).items() if key[0] in ("pm_counters", "hwmon", "rapl")}
    assert found == LAYOUTS[name][1]
    return page


def said_by(page, source):
    return {labels["sensor"]: value for labels, value in page.of("jobmeter_node_energy_joules_total") if labels["source"] == source}


def await_owned(agent, joules):
    """All of it is somebody's, and is in there once: but for what waits for the next interval (two microjoules an owner, and the
    machine may have many others), or is to be taken off it where that of components came after the node's."""
    await_page(agent, lambda page: owned(page) > joules - WAITS)
    end = time.monotonic() + PATIENCE_S
    while (balance := ask_agent(agent, "/v1/energy")["balance"])["came_joules"] != joules and time.monotonic() < end:
        time.sleep(0.1)
    assert balance["came_joules"] == joules and balance["unbalanced_microjoules"] == 0
    assert abs(joules - sum(balance[f"{owner}_joules"] for owner in ("jobs", "system", "idle", "unattributed"))) < WAITS, balance


def counted_sensors(agent):
    return {sensor["name"] for sensor in ask_agent(agent, "/v1/energy")["sensors"] if sensor["counted"]}


def test_a_cray_has_its_levels_and_adds_nothing_twice(start_below):
    agent, root = start_below("cray-ex", LAYOUTS["cray-ex"][0])
    levels_of(agent, "cray-ex")
    counters = root / "sys/cray/pm_counters"
    (counters / "energy").write_text(f"{100003 + 1013} J {COUNTED}\n")
    (counters / "cpu_energy").write_text(f"{20011 + 307} J {COUNTED}\n")  # in those
    (counters / "freshness").write_text("42\n")
    page = await_page(agent, lambda page: any(said_by(page, "pm_counters").values()))
    sums = said_by(page, "pm_counters")
    assert (sums["energy"], sums["cpu_energy"], sum(sums.values())) == (1013, 307, 1013 + 307)
    await_owned(agent, 1013)


# Which of their sensors are counted; of a power, nothing but whose it would be can be said.
METERS = {"grace": {"Grace Power Socket 0"}, "amdgpu": {"amdgpu 0000:c1:00.0 power1", "amdgpu 0000:c5:00.0 power1"},
          "acpi-meter": {"power_meter hwmon0 power1"}}


@pytest.mark.parametrize("name", METERS)
def test_a_power_meter_has_its_level_and_is_counted_once(start_below, name):
    agent, _ = start_below(name, LAYOUTS[name][0])
    page = levels_of(agent, name)
    assert counted_sensors(agent) & {sensor for _, sensor in LAYOUTS[name][1]} == METERS[name]
    if name == "amdgpu":
        assert sorted(value for _, value in page.of("jobmeter_node_fan_rpm")) == [1013, 1013]


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name.startswith(("intel", "amd-"))])
def test_rapl_has_its_levels_and_adds_nothing_twice(start_below, name):
    """Each zone counts another prime number of joules; what is part of another, or a second time the same, is nobody's."""
    files, levels = LAYOUTS[name]
    agent, root = start_below(name, files)
    levels_of(agent, name)
    names = {file.split("/")[-2]: text for file, text in files.items() if file.endswith("/name")}
    added = dict(zip(names, (101, 103, 107, 109, 113, 127, 131, 137)))
    if "intel-rapl:1" in names and names["intel-rapl:1"] == "psys":
        added["intel-rapl:1"] = 1009  # more than all in it
    for zone, joules in added.items():
        add_uj(root, zone, joules * 10**6)
    tops = {zone for zone in names if zone.startswith("intel-rapl:")}
    full = {zone: f"{names[zone.rpartition(':')[0]]} {names[zone]}" if zone.count(":") == 2 else names[zone] for zone in tops}
    expected = {full[zone]: added[zone] for zone in tops}
    page = await_page(agent, lambda page: said_by(page, "rapl") == expected)
    assert said_by(page, "rapl") == expected
    node = [sensor for (_, sensor), level in levels.items() if level == "node"]
    components = [sensor for (_, sensor), level in levels.items() if level == "component"]
    assert counted_sensors(agent) == set(node + components)  # components within a node's are told apart, not added
    await_owned(agent, sum(expected[sensor] for sensor in node or components))


def test_the_agent_asks_a_redfish_service_with_the_rights_that_it_keeps(start_below, certificate, tmp_path):
    cert, key = certificate
    tmp_path.chmod(0o755)
    credentials = tmp_path / "credentials"
    credentials.write_text(f"{USER}\n")
    credentials.chmod(0o600)
    with Redfish(SUPPLIES, cert, key) as service:
        agent, _ = start_below("redfish", {}, redfish=True, redfish_url=service.url, redfish_credentials=str(credentials),
                               redfish_ca=str(cert))

        def power(page):  # it is there in the reading that asked, and stale in those up to the next question
            return {labels["sensor"]: value for labels, value in page.of("jobmeter_node_power_watts")}.get("Redfish power")

        page = await_page(agent, power)
        assert energies(page)["redfish", "Redfish power"] == "node"
        assert power(page) == 410.5
