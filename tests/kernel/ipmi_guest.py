# SPDX-License-Identifier: MIT
"""A guest with a BMC: the sources of the node's numbers, once a second, while the BMC answers well, badly, late and not at
all."""

import json
import tempfile
from pathlib import Path

from bmc import Bmc
from guest import BUILD, Case, Guest

# One a question, and these are 5 s apart.  An answer that is late, or QEMU's own after 4 s without one, is there at the next
# question, which is not asked then.
SCRIPT = ["271", "283", "refuse", "short", "off", "zero", "late", "307", "none", "311", "313"]
SECONDS = 65
CASE = Case(f"""
modprobe ipmi_si && modprobe ipmi_devintf || exit 1
for i in 1 2 3 4 5 6 7 8 9 10; do test -e /dev/ipmi0 && break; sleep 1; done
sensed {SECONDS} dcmi node_files >/out/lines
""")


def run(kernel):
    """([a sample], [a word of SCRIPT for each question])"""
    with tempfile.TemporaryDirectory(prefix="jobmeter-bmc-") as folder, Bmc(Path(folder, "bmc"), SCRIPT) as bmc:
        guest = Guest(kernel, {"sensed": BUILD / "tests/system/sensed"}, ["ipmi_si", "ipmi_devintf"])
        result = guest.run([CASE], devices=bmc.devices)[CASE]
        assert result.status == 0, f"{result.stderr}\n{result.kernel_log}"
        assert not result.complaint(), result.complaint()
        return [json.loads(line) for line in result.files["lines"].splitlines()], bmc.asked
