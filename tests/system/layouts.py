# SPDX-License-Identifier: MIT
"""Machines with sensors that nobody here has, for an agent's --root: files as somebody else's description or listing has them, with
numbers of ours.  None was captured.

LAYOUTS: {name: (files, {(source, sensor): level})}"""

COUNTED = "1700000000000000 us"
CRAY = {"freshness": "41", "startup": "1699000000", "power": f"983 W {COUNTED}", "energy": f"100003 J {COUNTED}",
        "cpu_energy": f"20011 J {COUNTED}", "memory_energy": f"3001 J {COUNTED}", "accel0_energy": f"30011 J {COUNTED}",
        "accel1_energy": f"29989 J {COUNTED}", "accel_energy": f"60000 J {COUNTED}"}
POWERCAP = "sys/class/powercap"
INTEL_UJ, DRAM_UJ = 262143328850, 65712999613  # where a counter begins anew: 2^32 units of 61 and of 15.3 µJ
RAPL_UJ = 10**9 + 7  # what each counter says first


def meter(number, watts, oem_info=""):
    at = f"sys/class/hwmon/hwmon{number}"
    return {f"{at}/name": "power_meter", f"{at}/device/power1_average": f"{watts}000000", f"{at}/device/power1_average_interval": "50",
            f"{at}/device/power1_oem_info": oem_info}


def gpu(number, address, watts):
    at = f"sys/class/hwmon/hwmon{number}"
    return {f"{at}/name": "amdgpu", f"{at}/device": f"-> ../../../{address}", f"{at}/power1_average": f"{watts}000000",
            f"{at}/power1_input": "1", f"{at}/temp1_input": "47000", f"{at}/fan1_input": "1013"}


def rapl(**zones):
    """@zones: _0="package-0", _0_1="dram", mmio_0="package-0"..."""
    files = {}
    for zone, name in zones.items():
        control, _, number = zone.partition("_")
        at = f"{POWERCAP}/intel-rapl{'-' if control else ''}{control}:{number.replace('_', ':')}"
        files |= {f"{at}/name": name, f"{at}/energy_uj": f"{RAPL_UJ:012d}",
                  f"{at}/max_energy_range_uj": str(DRAM_UJ if name == "dram" else INTEL_UJ)}
    return files


def zones(levels):
    return {("rapl", name): level for name, level in levels.items()}


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
    # Core i7-4770S: github.com/intel/thermal_daemon, issue 45
    "intel-desktop": (rapl(_0="package-0", _0_0="core", _0_1="uncore", _0_2="dram"),
                      zones({"package-0": "component", "package-0 core": "part", "package-0 uncore": "part",
                             "package-0 dram": "component"})),
    # Core i7-8550U and i5-8250U: github.com/powercap/powercap, issue 3 (the package a second time by MMIO, too)
    "intel-psys": (rapl(_0="package-0", _0_0="core", _0_1="uncore", _0_2="dram", _1="psys", mmio_0="package-0"),
                   zones({"package-0": "component", "package-0 core": "part", "package-0 uncore": "part",
                          "package-0 dram": "component", "psys": "node"})),
    # Xeon with two sockets: github.com/hubblo-org/scaphandre, issue 85
    "intel-2-sockets": (rapl(_0="package-0", _0_0="dram", _1="package-1", _1_0="dram"),
                        zones({"package-0": "component", "package-0 dram": "component", "package-1": "component",
                               "package-1 dram": "component"})),
    # Xeon with four: github.com/level1techs/siomon, issue 70
    "intel-4-sockets": (rapl(_0="package-0", _0_0="dram", _1="package-1", _1_0="dram", _2="package-2", _2_0="dram", _3="package-3",
                             _3_0="dram"),
                        zones({f"package-{i}{inner}": "component" for i in range(4) for inner in ("", " dram")})),
    # Xeon with two dies a package: Linux, drivers/powercap/intel_rapl_common.c ("package-%d-die-%d")
    "intel-dies": (rapl(_0="package-0-die-0", _0_0="dram", _1="package-0-die-1", _1_0="dram"),
                   zones({f"package-0-die-{i}{inner}": "component" for i in range(2) for inner in ("", " dram")})),
    # EPYC with two sockets: Linux, drivers/powercap/intel_rapl_msr.c (AMD's has packages and cores, and no DRAM)
    "amd-2-sockets": (rapl(_0="package-0", _0_0="core", _1="package-1", _1_0="core"),
                      zones({"package-0": "component", "package-0 core": "part", "package-1": "component",
                             "package-1 core": "part"})),
}


def coretemp(number, package, millicelsius):
    """Linux, Documentation/hwmon/coretemp.rst"""
    at = f"sys/class/hwmon/hwmon{number}"
    return {f"{at}/name": "coretemp", f"{at}/temp1_label": f"Package id {package}", f"{at}/temp1_input": str(millicelsius)}


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


def change(root, file, text):
    """As the kernel does: whoever has it open reads the old or the new, of the same length."""
    with open(root / file, "r+", encoding="ascii") as opened:
        opened.write(text)


def add_uj(root, zone, more_uj):
    """To a counter of RAPL: "intel-rapl:0:1"."""
    file = f"{POWERCAP}/{zone}/energy_uj"
    change(root, file, f"{int((root / file).read_text()) + more_uj:012d}")
