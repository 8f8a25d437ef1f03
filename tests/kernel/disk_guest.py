# SPDX-License-Identifier: MIT
"""A guest with a disk: Debian's kernel, a Debian on a disk that make-guest-root made, and what a test copies onto it.
What it writes to the disk is lost."""

import io
import shutil
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path

from guest import HERE, QEMU, REPO, Archive, Run, add_modules, libraries_of
from modules import Modules

IMAGE = REPO / ".cache/guest-root.ext4"
MODULES = ["virtio_pci", "virtio_blk", "loop"]
GUESTS_OWN = ("ld-linux", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so")  # its loader's, one version
MEMORY = "2G"

INIT = """\
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs devtmpfs /dev
for module in virtio_pci virtio_blk loop; do modprobe $module; done
mount -t ext4 -o rw,noatime /dev/vda /root || exec poweroff -f
cp -a /payload/. /root/
umount /proc
exec switch_root /root FIRST
"""


def make_image():
    """None, or why there is none."""
    made = subprocess.run([HERE / "make-guest-root"], capture_output=True, text=True)
    return made.stderr.strip() if made.returncode else None


def libraries(programs):
    """Paths of the libraries that the programs need and the guest's Debian has not: {name: path}."""
    found = {path for program in programs for path in libraries_of(program)}
    return {Path(path).name: path for path in sorted(found) if not Path(path).name.startswith(GUESTS_OWN)}


class DiskGuest:
    """@payload: {path on the disk: (content, mode)}; @first: the program on the disk that becomes its process 1."""

    def __init__(self, kernel, payload, first, image=IMAGE):
        self.kernel, self.payload, self.first, self.image = Path(kernel), payload, first, image

    def initramfs(self):
        archive = Archive()
        for folder in ("bin", "dev", "proc", "root"):
            archive.add_folder(folder)
        archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        archive.add_file("init", INIT.replace("FIRST", self.first).encode(), 0o755)
        add_modules(archive, self.kernel, Modules(self.kernel, MODULES))
        busybox = shutil.which("busybox")
        archive.add_file("bin/busybox", Path(busybox).read_bytes(), 0o755)
        for applet in ("sh", "mount", "umount", "mkdir", "cp", "modprobe", "switch_root", "poweroff"):
            archive.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")
        for path, (content, mode) in self.payload.items():
            archive.add_file(f"payload/{path}", content, mode)
        return archive.finish()

    def run(self, patience_s, cmdline_extra=""):
        """What the guest left: {name: content}, its console among it; and in words how it ended.  @patience_s:
        without a byte of results."""
        with tempfile.TemporaryDirectory(prefix="jobmeter-guest-") as folder:
            run = Run(Path(folder), self.kernel, self.initramfs(), cmdline_extra)
            run.command = QEMU + ["-m", MEMORY, *run.command[len(QEMU):],
                                  "-drive", f"file={self.image},if=virtio,format=raw,snapshot=on"]
            end = run.boot(patience_s)
            console = (run.folder / "console").read_bytes()
            return self.files((run.folder / "results").read_bytes()) | {"console": console}, end

    @staticmethod
    def files(stream):
        """The last whole state of each file: one tar a sending."""
        found = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(stream), ignore_zeros=True) as tar:
                for member in tar:
                    if member.isfile():
                        found[member.name.removeprefix("./")] = tar.extractfile(member).read()
        except tarfile.TarError:
            pass
        return found
