# SPDX-License-Identifier: MIT
"""A guest that runs real Slurm on cgroup v2: Debian's kernel, a disk that make-slurm-root made, and our
programs and tests copied onto it.  What it writes to the disk is lost.

    files = SlurmGuest(kernel, image).run(agent=PROGRAM or None, jobwork=PROGRAM)    {name: bytes}
"""

import io
import shutil
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path

from guest import HERE, QEMU, REPO, Archive, GuestError, Run, add_modules, libraries_of
from modules import Modules

IMAGE = REPO / ".cache/slurm-root.ext4"
MODULES = ["virtio_pci", "virtio_blk", "loop"]
TESTS = ["agent.py", "exposition.py", "jobtruth.py", "keeper.py", "slurm.py", "slurm_groups.py"]
GUESTS_OWN = ("ld-linux", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so")  # its loader's, one version
MEMORY = "2G"
PATIENCE_S = 600  # without a byte of results, which come at the end of each scenario

INIT = """\
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs devtmpfs /dev
for module in virtio_pci virtio_blk loop; do modprobe $module; done
mount -t ext4 -o rw,noatime /dev/vda /root || exec poweroff -f
mkdir -p /root/jobmeter
cp -a /payload/. /root/jobmeter/
umount /proc
exec switch_root /root /jobmeter/tests/kernel/slurm-init
"""


class SlurmGuest:
    def __init__(self, kernel, image=IMAGE):
        self.kernel, self.image = Path(kernel), Path(image)

    def initramfs(self, arguments, programs):
        archive = Archive()
        for folder in ("bin", "dev", "proc", "root"):
            archive.add_folder(folder)
        archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        archive.add_file("init", INIT.encode(), 0o755)
        add_modules(archive, self.kernel, Modules(self.kernel, MODULES))
        busybox = shutil.which("busybox")
        archive.add_file("bin/busybox", Path(busybox).read_bytes(), 0o755)
        for applet in ("sh", "mount", "umount", "mkdir", "cp", "modprobe", "switch_root", "poweroff"):
            archive.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")

        for name in TESTS:
            archive.add_file(f"payload/tests/system/{name}", (REPO / "tests/system" / name).read_bytes())
        archive.add_file("payload/tests/kernel/slurm-init", (HERE / "slurm-init").read_bytes(), 0o755)
        for path in (REPO / "share/slurm").iterdir():
            archive.add_file(f"payload/share/slurm/{path.name}", path.read_bytes(), 0o755)
        archive.add_file("payload/arguments", " ".join(arguments).encode())
        libraries = set()
        for name, path in programs.items():
            archive.add_file(f"payload/bin/{name}", Path(path).read_bytes(), 0o755)
            libraries.update(libraries_of(path))
        for path in sorted(libraries):
            if Path(path).name.startswith(GUESTS_OWN):
                continue
            archive.add_file(f"payload/lib/{Path(path).name}", Path(path).read_bytes(), 0o755)
        return archive.finish()

    def run(self, jobwork, agent=None, scenarios=(), cmdline_extra=""):
        """What the guest left: the report of jobtruth.py, and logs."""
        programs = {"jobwork": jobwork} | ({"jobmeter-agent": agent} if agent else {})
        # A guest is much slower than its host, and so has one job of each kind, and scrapes that leave it some time.
        arguments = ["--jobs", "6", "--interval", "0.5"]
        arguments += ["--agent", "/jobmeter/bin/jobmeter-agent", *scenarios] if agent else []
        with tempfile.TemporaryDirectory(prefix="jobmeter-guest-") as folder:
            run = Run(Path(folder), self.kernel, self.initramfs(arguments, programs), cmdline_extra)
            run.command = QEMU + ["-m", MEMORY, *run.command[len(QEMU):],
                                  "-drive", f"file={self.image},if=virtio,format=raw,snapshot=on"]
            end = run.boot(PATIENCE_S)
            console = (run.folder / "console").read_text(errors="replace")
            files = self.files((run.folder / "results").read_bytes())
        if "report.json" not in files:
            tail = "\n".join(console.splitlines()[-60:])
            raise GuestError(f"guest with Slurm: {end} without a report; the end of its console:\n{tail}")
        return files | {"console": console.encode()}

    @staticmethod
    def files(stream):
        """The last whole state of each file: one tar after each scenario."""
        found = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(stream), ignore_zeros=True) as tar:
                for member in tar:
                    if member.isfile():
                        found[member.name.removeprefix("./")] = tar.extractfile(member).read()
        except tarfile.TarError:
            pass
        return found


def make_image():
    """None, or why there is none."""
    made = subprocess.run([HERE / "make-slurm-root"], capture_output=True, text=True)
    return made.stderr.strip() if made.returncode else None
