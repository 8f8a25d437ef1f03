# SPDX-License-Identifier: MIT
"""Drivers' libraries that have no card, and say what a scenario says: fake_nvml.c, fake_amd_smi.c."""

import pathlib
import subprocess

SYSTEM = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30

# What a card of ours says, by function and argument.
FIELDS = {
    "nvmlDeviceGetUtilizationRates": "60 20", "nvmlDeviceGetMemoryInfo": f"{80 * GIB} {60 * GIB} {20 * GIB}",
    "nvmlDeviceGetEncoderUtilization": "7 1", "nvmlDeviceGetDecoderUtilization": "11 1", "nvmlDeviceGetTemperature.0": "63",
    "nvmlDeviceGetFanSpeed": "45", "nvmlDeviceGetClockInfo.1": "1980", "nvmlDeviceGetClockInfo.2": "2619",
    "nvmlDeviceGetPowerUsage": "412000", "nvmlDeviceGetEnforcedPowerLimit": "700000",
    "nvmlDeviceGetTotalEnergyConsumption": "+412", "nvmlDeviceGetCurrentClocksThrottleReasons": "32",
    "nvmlDeviceGetTotalEccErrors.0": "3", "nvmlDeviceGetTotalEccErrors.1": "0", "nvmlDeviceGetFieldValues.197": "+1009",
    "nvmlDeviceGetFieldValues.198": "+2003", "nvmlDeviceGetFieldValues.138": "+3", "nvmlDeviceGetFieldValues.139": "+5",
    "nvmlGpmQueryDeviceSupport": "1", "nvmlGpmMetricsGet.2": "51", "nvmlGpmMetricsGet.3": "23", "nvmlGpmMetricsGet.5": "31",
    "nvmlGpmMetricsGet.10": "17"}


# The same of an AMD card, but for what it has no call for: encoder, decoder, PCIe, XID, GPM.
AMD_FIELDS = {
    "amdsmi_get_gpu_activity": "60 20 0", "amdsmi_get_gpu_memory_total.0": str(80 * GIB), "amdsmi_get_gpu_memory_usage.0": str(20 * GIB),
    "amdsmi_get_temp_metric.0": "63", "amdsmi_get_gpu_fan_speed.0": "115", "amdsmi_get_clock_info.0": "1980",
    "amdsmi_get_clock_info.4": "2619", "amdsmi_get_power_cap_info": "700000000", "amdsmi_get_energy_count": "+27",
    "amdsmi_get_gpu_total_ecc_count": "3 0", "amdsmi_get_gpu_metrics_info": "0", "metrics.power": "412", "metrics.power_mean": "65535",
    "metrics.reasons": str(1 << 36), "metrics.xgmi_sent": "+3", "metrics.xgmi_received": "+5"}


class Driver:
    """The library, and the file that it reads beside it."""
    name, double, own_fields = "libnvidia-ml.so.1", "fake_nvml.c", FIELDS

    def __init__(self, folder):
        self.library, self.scenario = folder / self.name, folder / "scenario"
        folder.mkdir()
        folder.chmod(0o755)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self.library, SYSTEM / self.double], check=True)

    def says(self, *lines, cards=1, fields=None):
        """@lines come first, and so hold for their cards."""
        fields = self.own_fields if fields is None else fields
        text = "\n".join([f"cards {cards}", *lines, *(f"* {name} {value}" for name, value in fields.items())])
        new = self.scenario.with_suffix(".new")
        new.write_text(text + "\n")
        new.rename(self.scenario)  # no call reads a half of it


class AmdDriver(Driver):
    name, double, own_fields = "libamd_smi.so", "fake_amd_smi.c", AMD_FIELDS
