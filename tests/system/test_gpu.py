# SPDX-License-Identifier: MIT
"""GPUs under a real agent, with processes and cgroups that are real and drivers' libraries that are not: fake_nvml.c and
fake_amd_smi.c, which say what a scenario says."""

import json
import os
import shutil
import subprocess

import pytest

from agent_pages import ask, await_page, final_record, page_of
from gpu_driver import AMD_FIELDS, FIELDS, GIB, AmdDriver, Driver
from job_groups import MANAGER, OWN_ONLY

CARDS = 8
HUNG, BROKEN, MIG = 5, 6, (3, 4)

# What is scraped of it then; counters apart.
GAUGES = {
    "utilization_ratio": 0.6, "memory_utilization_ratio": 0.2, "memory_total_bytes": 80 * GIB, "memory_used_bytes": 20 * GIB,
    "encoder_ratio": 0.07, "decoder_ratio": 0.11, "temperature_celsius": 63, "fan_ratio": 0.45, "sm_clock_hertz": 1.98e9,
    "memory_clock_hertz": 2.619e9, "power_watts": 412, "power_limit_watts": 700, "throttled": 1, "ecc_corrected_errors_total": 3,
    "ecc_uncorrected_errors_total": 0, "sm_active_ratio": 0.51, "sm_occupancy_ratio": 0.23, "tensor_active_ratio": 0.31,
    "dram_active_ratio": 0.17, "lost": 0}
GROWING = ("energy_joules_total", "pcie_sent_bytes_total", "pcie_received_bytes_total", "nvlink_sent_bytes_total",
           "nvlink_received_bytes_total")


@pytest.fixture
def driver(bench):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    return Driver(bench.folder / "driver")


@pytest.fixture
def amd(bench):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    return AmdDriver(bench.folder / "amd")


@pytest.fixture
def start(driver, start_agent):
    def start(**settings):
        return start_agent(nvml_library=str(driver.library), rules=OWN_ONLY, **settings)
    return start


def of_card(page, name, card, label="gpu"):
    found = [value for labels, value in page.of(f"jobmeter_gpu_{name}") if labels[label] == str(card)]
    return found[0] if found else None


def of_jobs(page, name, card=None):
    """{job: value}, of that card and its instances."""
    found = {}
    for labels, value in page.of(f"jobmeter_job_gpu_{name}"):
        if labels["manager"] == MANAGER and card in (None, labels["gpu"].split("/")[0]):
            found[labels["jobid"]] = found.get(labels["jobid"], 0) + value
    return found


@pytest.fixture
def sleeper(groups):
    """sleeper(job): a process of that job, which tells lies about its GPUs."""
    started = []
    lies = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7", "SLURM_JOB_GPUS": "0,1,2,3,4,5,6,7", "GPU_DEVICE_ORDINAL": "7"}

    def start(job):
        started.append(groups.start(groups.name(job), "sleep", "600", env=lies))
        return started[-1]
    yield start
    for process in started:
        process.kill()
        process.wait()


def allocate(agent, job, gpus):
    """As the site's prolog does."""
    folder = agent.folder / "run/jobs"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{MANAGER}-{job}.json"
    file.write_text(json.dumps({"gpus": gpus}))
    file.chmod(0o644)


def test_each_number_of_a_card_and_each_that_it_does_not_tell(driver, start):
    fails = [name for name in FIELDS if not name.startswith("nvmlGpm")]
    # a card a function, that fails there, and tells all else: also where a name stands for several numbers
    driver.says(*(f"{card + 1} {name} !{3 if card % 2 else 13}" for card, name in enumerate(fails)), "0 xid", "0 xid",
                cards=1 + len(fails))
    agent = start()
    page = await_page(agent, lambda page: of_card(page, "sm_active_ratio", len(fails)) is not None
                      and of_card(page, "energy_joules_total", 1))
    assert {name: of_card(page, name, 0) for name in GAUGES} == pytest.approx(GAUGES)
    assert all(of_card(page, name, 0) > 0 for name in GROWING)
    assert of_card(page, "xid_errors_total", 0) == 2
    info, = [labels for labels, _ in page.of("jobmeter_gpu_info") if labels["gpu"] == "0"]
    assert info == {"gpu": "0", "uuid": "GPU-fake-0", "model": "Fake H100", "pci": "00000000:10:00.0"}
    for card, name in enumerate(fails, 1):
        missing = {field for field in (*GAUGES, *GROWING) if of_card(page, field, card) is None}
        assert len(missing) == (2 if name in ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo") else
                                0 if name == "nvmlDeviceGetTotalEnergyConsumption" else 1), (name, missing)
    # without a counter the power is integrated, which the source's name says
    assert {labels["source"] for labels, _ in page.of("jobmeter_node_energy_joules_total") if labels["sensor"].startswith("gpu")} \
        == {"nvml", "nvml-power"}


def test_jobs_have_what_their_processes_have_and_no_more(driver, start, sleeper, programs):
    driver.says(cards=CARDS)
    agent = start()
    pids = {job: sleeper(job).pid for job in ("101", "103", "107")}
    other = os.getpid()  # of no job
    lines = [f"{BROKEN} nvmlDeviceGetUtilizationRates !15"]
    lines += [f"{card} nvmlDeviceGetMigMode 1 1" for card in MIG]
    lines += [f"{card} nvmlDeviceGetUtilizationRates !3" for card in MIG]
    lines += [f"{card} instance {gi} 0 {slices} {slices * 10240}" for card in MIG for gi, slices in ((1, 4), (5, 2))]
    lines += [f"{MIG[0]} nvmlGpmMetricsGet.gi1.1 90", f"{HUNG} nvmlDeviceGetPowerUsage ~30"]
    lines += [f"0 process {pids['101']} {12 * GIB} 0 0 40 10 0 0", f"1 process {pids['101']} {7 * GIB} 0 0 10 5 0 0",
              f"1 process {pids['103']} {5 * GIB} 0 0 30 5 0 0", f"1 process {pids['107']} {3 * GIB} 0 0 0 0 0 0",
              f"2 process {other} {GIB} 0 0 50 5 0 0", f"{MIG[0]} process {pids['107']} {2 * GIB} 1 0 0 0 0 0",
              f"2 process {other} {GIB} 0 0 50 5 0 0 2", "0 nvmlDeviceGetCurrentClocksThrottleReasons 36",
              f"{MIG[0]} process {pids['103']} {GIB} 5 0 0 0 0 0", f"{MIG[1]} process {pids['101']} - 1 0 0 0 0 0"]
    driver.says(*lines, cards=CARDS)
    page = await_page(agent, lambda page: set(of_jobs(page, "held_seconds_total", str(MIG[0]))) == {"103", "107"}
                      and set(of_jobs(page, "held_seconds_total", "1")) == {"101", "103", "107"}
                      and of_card(page, "lost", HUNG) == 1 and of_card(page, "lost", BROKEN) == 1)
    first = page
    page = await_page(agent, lambda page: all(of_jobs(page, "held_seconds_total")[job] > of_jobs(first, "held_seconds_total")[job] + 5
                                              for job in pids))

    def grew(name, card):
        before = of_jobs(first, name, card)
        return {job: value - before.get(job, 0) for job, value in of_jobs(page, name, card).items()}
    # what a user's variables say changes nothing: nobody has a card on which none of theirs is
    assert {card: set(of_jobs(page, "held_seconds_total", str(card))) for card in range(CARDS)} == {
        0: {"101"}, 1: set(pids), 2: set(), MIG[0]: {"103", "107"}, MIG[1]: {"101"}, HUNG: set(), BROKEN: set(), 7: set()}
    # a card that three share: by how busy each keeps it, who does nothing counts as 1 %
    held = grew("held_seconds_total", "1")
    assert held["103"] / held["101"] == pytest.approx(3) and held["101"] / held["107"] == pytest.approx(10)
    assert grew("busy_seconds_total", "0")["101"] == pytest.approx(0.6 * grew("held_seconds_total", "0")["101"])
    # instances have their slices' part, whoever has the others
    mig = grew("held_seconds_total", str(MIG[0]))
    assert mig["107"] / mig["103"] == pytest.approx(4 / 2)
    assert grew("busy_seconds_total", str(MIG[0])) == pytest.approx({"107": 0.9 * mig["107"]})  # the other does not tell
    peaks = {(labels["jobid"], labels["gpu"]): value for labels, value in page.of("jobmeter_job_gpu_memory_peak_bytes")}
    assert peaks == {("101", "0"): 12 * GIB, ("101", "1"): 7 * GIB, ("103", "1"): 5 * GIB, ("107", "1"): 3 * GIB,
                     ("107", f"{MIG[0]}/1"): 2 * GIB, ("103", f"{MIG[0]}/5"): GIB, ("101", f"{MIG[1]}/1"): 20 * GIB}
    info = {(labels["jobid"], labels["gpu"], labels["mig"], labels["uuid"]) for labels, _ in page.of("jobmeter_job_gpu_info")}
    assert ("107", str(MIG[0]), "1", f"MIG-fake-{MIG[0]}-0") in info and ("101", "0", "", "GPU-fake-0") in info

    # to the microjoule: what the jobs and nobody have of a card is the card's, and the node's ledger says the same of jobs
    for card in (0, 1, *MIG, 7):
        came = of_card(page, "energy_joules_total", card) - of_card(first, "energy_joules_total", card)
        unheld = of_card(page, "unheld_joules_total", card) - of_card(first, "unheld_joules_total", card)
        assert sum(grew("energy_joules_total", str(card)).values()) + unheld == pytest.approx(came, abs=3e-6), card
        assert (unheld > 0) == (card in (*MIG, 7))
    for job in pids:
        before, now = (sum(value for labels, value in page.of("jobmeter_job_energy_component_joules_total")
                           if (labels["jobid"], labels["component"]) == (job, "gpu")) for page in (first, page))
        assert now - before == pytest.approx(grew("energy_joules_total", None)[job], abs=1e-4)
    assert page.of("jobmeter_node_energy_unbalanced_joules")[0][1] == 0
    told = ask(agent, "/v1/gpus")
    by_card = {gpu["index"]: gpu for gpu in told["gpus"]}
    assert {p["job"] for p in by_card[1]["processes"]} == set(pids) and by_card[2]["processes"][0]["manager"] != MANAGER
    first_of, = [p for p in by_card[0]["processes"]]
    assert first_of["cpu_ratio"] == 0 and first_of["elapsed_seconds"] > 0 and first_of["cpu_seconds"] >= 0
    assert first_of["memory_bytes"] == 12 * GIB and first_of["sm_ratio"] == 0.4 and first_of["type"] == "compute"
    assert [p["type"] for p in by_card[2]["processes"]] == ["mps"]
    assert by_card[0]["throttle_reasons"] == ["heat", "power limit"] and by_card[HUNG]["throttle_reasons"] == []
    assert by_card[HUNG]["lost"] == 1 and by_card[HUNG]["utilization_ratio"] is None
    shown = subprocess.run([programs / "jobmeter", "gpu"], env={**os.environ, "JOBMETER_SOCKET": agent.settings["socket"]["path"]},
                           check=True, capture_output=True, text=True).stdout
    assert f"{MANAGER} 103" in shown and "Fake H100" in shown and "lost" in shown, shown
    missing = [text for text in ask(agent, "/v1/agent")["missing"] if text.startswith("GPUs: ")]
    assert missing == [f"GPUs: card {HUNG} (GPU-fake-{HUNG}) does not answer", f"GPUs: card {BROKEN} (GPU-fake-{BROKEN}) is lost, says the driver"]


def test_what_the_prolog_allocated_comes_first(driver, start, sleeper):
    driver.says(cards=3)
    agent = start()
    allocate(agent, "211", [0, 1])
    allocate(agent, "223", [2])
    pids = {job: sleeper(job).pid for job in ("211", "223", "227")}
    # one of its cards it uses, where another that was given none is too; and one it does not
    driver.says(f"0 process {pids['211']} {GIB} 0 0 40 10 0 0", f"0 process {pids['227']} {GIB} 0 0 40 10 0 0", cards=3)
    await_page(agent, lambda page: of_jobs(page, "without_process_seconds_total", "1").get("211", 0) > 3
               and of_jobs(page, "without_process_seconds_total", "2").get("223", 0) > 3)
    first = page_of(agent)
    page = await_page(agent, lambda page: of_jobs(page, "held_seconds_total", "0")["211"] >
                      of_jobs(first, "held_seconds_total", "0")["211"] + 3)
    # since their files are known all is theirs
    assert of_jobs(page, "held_seconds_total", "0").get("227", 0) == of_jobs(first, "held_seconds_total", "0").get("227", 0)
    assert set(of_jobs(page, "held_seconds_total", "1")) == {"211"} and set(of_jobs(page, "held_seconds_total", "2")) == {"223"}
    assert of_jobs(page, "energy_joules_total", "2")["223"] > 0
    held = {(h["gpu"], h["job"]) for gpu in ask(agent, "/v1/gpus")["gpus"] for h in gpu["held_without_process"]}
    assert held == {("1", "211"), ("2", "223")}


def test_a_driver_that_goes_and_comes_back(driver, start, sleeper, groups):
    pid = sleeper("301").pid
    process = f"0 process {pid} {GIB} 0 0 40 10 0 0"
    driver.says(process, cards=1)
    agent = start()
    before = await_page(agent, lambda page: of_jobs(page, "held_seconds_total").get("301"))
    driver.says("1 nvmlInit_v2 !9", "0 nvmlInit_v2 !9", cards="!1")
    await_page(agent, lambda page: of_card(page, "lost", 0) == 1)
    assert any(text.startswith("GPUs: the driver does not answer (error ") for text in ask(agent, "/v1/agent")["missing"])
    driver.says(process, cards=2)
    after = await_page(agent, lambda page: of_card(page, "lost", 1) == 0 and of_jobs(page, "held_seconds_total").get("301", 0) >
                       of_jobs(before, "held_seconds_total")["301"] + 2)
    assert of_card(after, "energy_joules_total", 0) >= of_card(before, "energy_joules_total", 0)


def test_a_record_has_its_gpus(driver, start, sleeper, groups, programs, tmp_path):
    agent = start()
    process = sleeper("401")
    driver.says(f"0 process {process.pid} {9 * GIB} 0 0 40 10 0 0")
    before = await_page(agent, lambda page: of_jobs(page, "held_seconds_total").get("401", 0) > 2)
    agent.stop()
    agent.start()
    # the next agent goes on from there
    after = await_page(agent, lambda page: of_jobs(page, "held_seconds_total").get("401", 0) > of_jobs(before, "held_seconds_total")["401"] + 2)
    assert of_jobs(after, "energy_joules_total")["401"] > of_jobs(before, "energy_joules_total")["401"]
    assert after.of("jobmeter_node_energy_unbalanced_joules")[0][1] == 0
    process.kill()
    process.wait()
    groups.remove(groups.name("401"))
    record = final_record(agent, "401")
    gpu, = record["gpu"]
    assert (gpu["gpu"], gpu["uuid"], gpu["model"], gpu["memory_peak_bytes"]) == ("0", "GPU-fake-0", "Fake H100", 9 * GIB)
    assert gpu["busy_seconds"] == pytest.approx(0.6 * gpu["held_seconds"]) and gpu["joules"] > 0
    file = tmp_path / "record.json"
    file.write_text(json.dumps(record))
    report = subprocess.run([programs / "jobmeter", "report", "--full", file], check=True, capture_output=True, text=True).stdout
    assert "1 x Fake H100" in report and "GPUs" in report, report
    rows = subprocess.run([programs / "jobmeter", "report", "--format", "csv", "--by", "gpu", file], check=True, capture_output=True,
                          text=True).stdout
    assert "GPU-fake-0" in rows


ABSENT_OF_AMD = {"encoder_ratio", "decoder_ratio", "sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_active_ratio",
                 "pcie_sent_bytes_total", "pcie_received_bytes_total"}


@pytest.mark.parametrize("version", [24, 26])
def test_the_same_of_amd(amd, start_agent, sleeper, version):
    # a card a function, that fails there; the last has no counter, no current power and no reasons, as the oldest and the newest have it
    fails = [name for name in AMD_FIELDS if not name.startswith("metrics.") and name != "amdsmi_get_gpu_metrics_info"]
    last, lost = 1 + len(fails), 2 + len(fails)
    lines = [f"version {version}", *(f"{card} {name} !2" for card, name in enumerate(fails, 1)),
             f"{last} amdsmi_get_energy_count !2", f"{last} metrics.power 65535", f"{last} metrics.power_mean 412",
             f"{last} metrics.reasons {2**64 - 1}", f"{last} amdsmi_get_violation_status 1", f"{last} amdsmi_get_temp_metric.0 !2",
             f"{last} amdsmi_get_temp_metric.1 63", f"{lost} amdsmi_get_gpu_activity !31", f"{lost} amdsmi_get_gpu_memory_total.0 !31"]
    agent = start_agent(nvml_library="none.so", amd_smi_library=str(amd.library), rules=OWN_ONLY)
    pids = [sleeper(job).pid for job in ("503", "509")]
    lines += [f"0 process {pids[0]} {9 * GIB} 30 0", f"0 process {pids[1]} {5 * GIB} 10 0", f"2 process {pids[0]} {GIB} 0 0"]
    amd.says(*lines, cards=1 + lost)
    page = await_page(agent, lambda page: of_card(page, "energy_joules_total", last) and of_card(page, "lost", lost) == 1
                      and set(of_jobs(page, "held_seconds_total", "0")) == {"503", "509"} and of_jobs(page, "held_seconds_total", "2"))
    for card in (0, last):
        wanted = {name: value for name, value in GAUGES.items() if name not in ABSENT_OF_AMD}
        assert {name: of_card(page, name, card) for name in wanted} == pytest.approx(wanted), card
        assert all(of_card(page, name, card) is None for name in ABSENT_OF_AMD)
        assert all(of_card(page, name, card) > 0 for name in GROWING if name not in ABSENT_OF_AMD)
    info, = [labels for labels, _ in page.of("jobmeter_gpu_info") if labels["gpu"] == "0"]
    assert info == {"gpu": "0", "uuid": "amd-fake-0", "model": "Fake MI300X", "pci": "00000000:20:00.0"}
    for card, name in enumerate(fails, 1):
        missing = {field for field in (*GAUGES, *GROWING) if of_card(page, field, card) is None} - ABSENT_OF_AMD
        assert len(missing) == {"amdsmi_get_gpu_activity": 2, "amdsmi_get_gpu_total_ecc_count": 2, "amdsmi_get_energy_count": 0}.get(name, 1), \
            (name, missing)
    assert {labels["source"] for labels, _ in page.of("jobmeter_node_energy_joules_total") if labels["sensor"].startswith("gpu")} \
        == {"amd-smi", "amd-smi-power"}
    first = page
    page = await_page(agent, lambda page: of_jobs(page, "held_seconds_total", "2")["503"] > of_jobs(first, "held_seconds_total", "2")["503"] + 5)
    held = {job: value - of_jobs(first, "held_seconds_total", "0")[job] for job, value in of_jobs(page, "held_seconds_total", "0").items()}
    assert held["503"] / held["509"] == pytest.approx(3, rel=0.2)  # percent of an interval, rounded
    peaks = {(labels["jobid"], labels["gpu"]): value for labels, value in page.of("jobmeter_job_gpu_memory_peak_bytes")}
    assert peaks == {("503", "0"): 9 * GIB, ("509", "0"): 5 * GIB, ("503", "2"): GIB}
    came = of_card(page, "energy_joules_total", 0) - of_card(first, "energy_joules_total", 0)
    assert sum(of_jobs(page, "energy_joules_total", "0").values()) - sum(of_jobs(first, "energy_joules_total", "0").values()) \
        == pytest.approx(came, abs=3e-6)
    # all lost: it was unloaded; and loaded again
    amd.says("* amdsmi_get_gpu_activity !34", "* amdsmi_get_gpu_memory_total.0 !34", cards=1)
    await_page(agent, lambda page: of_card(page, "lost", 0) == 1)
    amd.says(*lines, cards=1 + lost)
    again = await_page(agent, lambda page: of_card(page, "lost", 0) == 0 and of_card(page, "utilization_ratio", last) == 0.6)
    assert of_card(again, "energy_joules_total", 0) >= of_card(page, "energy_joules_total", 0)


def test_cards_of_both_makers_are_numbered_on(driver, amd, start):
    driver.says("0 nvmlDeviceGetPowerUsage ~30", cards=2)
    amd.says(cards=2)
    agent = start(amd_smi_library=str(amd.library))
    page = await_page(agent, lambda page: of_card(page, "power_watts", 1) and of_card(page, "power_watts", 3) and of_card(page, "lost", 0))
    assert [(labels["gpu"], labels["uuid"]) for labels, _ in page.of("jobmeter_gpu_info")] \
        == [("0", "GPU-fake-0"), ("1", "GPU-fake-1"), ("2", "amd-fake-0"), ("3", "amd-fake-1")]


def test_without_a_driver_one_line_says_so(start_agent, bench):
    agent = start_agent(nvml_library=str(bench.folder / "none.so"), amd_smi_library="none.so")
    said = [text for text in ask(agent, "/v1/agent")["missing"] if "GPU" in text]
    assert said == [f"GPUs: no driver ({bench.folder}/none.so and none.so are not installed)"]
    assert not page_of(agent).of("jobmeter_gpu_info")
