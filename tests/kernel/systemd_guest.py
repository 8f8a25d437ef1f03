# SPDX-License-Identifier: MIT
"""A guest whose process 1 is systemd, with jobmeter as `meson install` leaves it: systemd_check.py runs there as a
unit, and then the guest switches itself off.

    files = SystemdGuest(kernel).run(BUILD)    {name: bytes}
"""

import json
import subprocess
import tempfile
from pathlib import Path

from disk_guest import DiskGuest, libraries
from guest import HERE, GuestError

PATIENCE_S = 900  # results come after each part
COMMAND_LINE = "systemd.show_status=0 systemd.wants=check.service"

CHECK = """\
[Unit]
Description=uses jobmeter's unit
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
ExecStartPre=/sbin/ldconfig
ExecStartPre=/usr/sbin/useradd --uid 1000 --create-home alice
ExecStart=/usr/local/bin/systemd_check.py
TimeoutStartSec=infinity
"""


class SystemdGuest:
    def __init__(self, kernel):
        self.kernel = Path(kernel)

    @staticmethod
    def payload(build):
        options = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", build]))
        prefix = next(option["value"] for option in options if option["name"] == "prefix").lstrip("/")
        files = {}
        with tempfile.TemporaryDirectory(prefix="jobmeter-installed-") as folder:
            subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder],
                           check=True, capture_output=True)
            for path in Path(folder, prefix).rglob("*"):
                if path.is_file() and "/share/doc/" not in str(path):
                    files[str(path.relative_to(folder))] = (path.read_bytes(), path.stat().st_mode & 0o7777)
        ours = [Path(build, "jobmeter"), Path(build, "jobmeter-agent"), Path(build, "tests/truth/truth")]
        files["usr/local/bin/truth"] = (ours[-1].read_bytes(), 0o755)
        files["usr/local/bin/systemd_check.py"] = ((HERE / "systemd_check.py").read_bytes(), 0o755)
        for name, path in libraries(ours).items():
            files[f"usr/local/lib/{name}"] = (Path(path).read_bytes(), 0o755)
        files["etc/systemd/system/check.service"] = (CHECK.encode(), 0o644)
        files["etc/machine-id"] = (b"0123456789abcdef0123456789abcdef\n", 0o444)
        return files

    def run(self, build):
        guest = DiskGuest(self.kernel, self.payload(build), "/lib/systemd/systemd")
        files, end = guest.run(PATIENCE_S, COMMAND_LINE)
        if "report.json" not in files:
            tail = "\n".join(files["console"].decode(errors="replace").splitlines()[-60:])
            raise GuestError(f"guest with systemd: {end} without a report; the end of its console:\n{tail}")
        return files
