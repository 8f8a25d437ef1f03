# SPDX-License-Identifier: MIT
"""A driver's library that has no card, and says what a scenario says: fake_nvml.c."""

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


class Driver:
    """The library, and the file that it reads beside it."""

    def __init__(self, folder):
        self.library, self.scenario = folder / "libnvidia-ml.so.1", folder / "scenario"
        folder.mkdir()
        folder.chmod(0o755)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self.library, SYSTEM / "fake_nvml.c"], check=True)

    def says(self, *lines, cards=1, fields=FIELDS):
        """@lines come first, and so hold for their cards."""
        text = "\n".join([f"cards {cards}", *lines, *(f"* {name} {value}" for name, value in fields.items())])
        new = self.scenario.with_suffix(".new")
        new.write_text(text + "\n")
        new.rename(self.scenario)  # no call reads a half of it
