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
from agent import PROGRAM, Agent
from agent_pages import await_page
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


# ---- layouts, through an agent ----

COUNTED = "1700000000000000 us"
CRAY = {"freshness": "41", "startup": "1699000000", "power": f"983 W {COUNTED}", "energy": f"100003 J {COUNTED}",
        "cpu_energy": f"20011 J {COUNTED}", "memory_energy": f"3001 J {COUNTED}", "accel0_energy": f"30011 J {COUNTED}",
        "accel1_energy": f"29989 J {COUNTED}", "accel_energy": f"60000 J {COUNTED}"}


def meter(number, watts, oem_info=""):
    at = f"sys/class/hwmon/hwmon{number}"
    return {f"{at}/name": "power_meter", f"{at}/device/power1_average": f"{watts}000000", f"{at}/device/power1_average_interval": "50",
            f"{at}/device/power1_oem_info": oem_info}


def gpu(number, address, watts):
    at = f"sys/class/hwmon/hwmon{number}"
    return {f"{at}/name": "amdgpu", f"{at}/device": f"-> ../../../{address}", f"{at}/power1_average": f"{watts}000000",
            f"{at}/power1_input": "1", f"{at}/temp1_input": "47000", f"{at}/fan1_input": "1013"}


# name: (files, {(source, sensor): level}); all are layouts, none was captured.
LAYOUTS = {
    # HPE, "User Access to Compute Node Power Data" (Cray EX)
    "cray-ex": ({f"sys/cray/pm_counters/{name}": text for name, text in CRAY.items()},
                {("pm_counters", "energy"): "node", ("pm_counters", "cpu_energy"): "component",
                 ("pm_counters", "memory_energy"): "component", ("pm_counters", "accel0_energy"): "component",
                 ("pm_counters", "accel1_energy"): "component"}),
    # NVIDIA, "Grace Performance Tuning Guide", Power Telemetry; Linux, acpi_power_meter
    "grace": (meter(1, 307, "Module Power Socket 0") | meter(2, 211, "Grace Power Socket 0") | meter(3, 151, "CPU Power Socket 0")
              | meter(4, 37, "SysIO Power Socket 0"),
              {("hwmon", "Module Power Socket 0"): "component", ("hwmon", "Grace Power Socket 0"): "component",
               ("hwmon", "CPU Power Socket 0"): "part", ("hwmon", "SysIO Power Socket 0"): "part"}),
    # Linux, Documentation/gpu/amdgpu/thermal.rst
    "amdgpu": (gpu(3, "0000:c1:00.0", 89) | gpu(4, "0000:c5:00.0", 97),
               {("hwmon", "amdgpu 0000:c1:00.0 power1"): "component", ("hwmon", "amdgpu 0000:c5:00.0 power1"): "component"}),
    # Linux, Documentation/hwmon/acpi_power_meter.rst
    "acpi-meter": (meter(0, 263), {("hwmon", "power_meter hwmon0 power1"): "node"}),
}


def make_root(root, files):
    """A machine with these sensors, and all else as it is here."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(f"{text}\n")
    for name in ("proc", "sys/fs", "sys/devices", "sys/kernel"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"/{name}")
    return root


@pytest.fixture
def start_below(tmp_path_factory, keeper, agent_user):
    """An agent that reads proc and sys below a directory."""
    with contextlib.ExitStack() as stack:
        def start(name, files, **settings):
            folder = tmp_path_factory.mktemp(name)
            program = folder / "agent-below"
            root = make_root(folder / "root", files)
            program.write_text(f'#!/bin/sh\nexec "{PROGRAM}" --root "{root}" "$@"\n')
            program.chmod(0o755)
            return stack.enter_context(Agent(folder / "agent", keeper, program=program, bpf=False, helper=False, **settings)), root
        yield start


def energies(page):
    return {(labels["source"], labels["sensor"]): labels["level"] for labels, _ in page.of("jobmeter_node_energy_joules_total")
            if labels["quality"] == "measured"}


def owned(page):
    """What all owners have together."""
    return sum(value for _, value in page.of("jobmeter_node_energy_owner_joules_total"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_has_its_levels(start_below, name):
    files, expected = LAYOUTS[name]
    agent, root = start_below(name, files)
    page = await_page(agent, lambda page: expected.items() <= energies(page).items())
    found = {key: level for key, level in energies(page).items() if key[0] in ("pm_counters", "hwmon")}
    assert found == expected
    if name == "cray-ex":
        counters = root / "sys/cray/pm_counters"
        (counters / "energy").write_text(f"{100003 + 1013} J {COUNTED}\n")
        (counters / "cpu_energy").write_text(f"{20011 + 307} J {COUNTED}\n")  # in those
        (counters / "freshness").write_text("42\n")
        page = await_page(agent, lambda page: any(value for _, value in page.of("jobmeter_node_energy_joules_total")))
        sums = {labels["sensor"]: value for labels, value in page.of("jobmeter_node_energy_joules_total")
                if labels["source"] == "pm_counters"}
        assert (sums["energy"], sums["cpu_energy"], sum(sums.values())) == (1013, 307, 1013 + 307)
        page = await_page(agent, lambda page: owned(page) > 1012.9)
        # shares are rounded down to microjoules, and what is left goes on to the next interval
        assert abs(1013 - owned(page)) < 5e-6, page.of("jobmeter_node_energy_owner_joules_total")
    if name == "amdgpu":
        assert sorted(value for _, value in page.of("jobmeter_node_fan_rpm")) == [1013, 1013]


def test_the_agent_asks_a_redfish_service_with_the_rights_that_it_keeps(start_below, certificate, tmp_path):
    cert, key = certificate
    tmp_path.chmod(0o755)
    credentials = tmp_path / "credentials"
    credentials.write_text(f"{USER}\n")
    credentials.chmod(0o600)
    with Redfish(SUPPLIES, cert, key) as service:
        agent, _ = start_below("redfish", {}, redfish=True, redfish_url=service.url, redfish_credentials=str(credentials),
                               redfish_ca=str(cert))
        page = await_page(agent, lambda page: ("redfish", "Redfish power") in energies(page))
        assert energies(page)["redfish", "Redfish power"] == "node"
        powers = {labels["sensor"]: value for labels, value in page.of("jobmeter_node_power_watts")}
        assert powers["Redfish power"] == 410.5
