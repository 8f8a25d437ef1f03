# SPDX-License-Identifier: MIT
"""A guest: one of Debian's kernels in QEMU, with our programs, that runs cases and brings back what
they left.  Software emulation only, so that it is the same on every machine; a boot takes some
seconds, and so one boot runs many cases."""

import io
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from modules import Modules

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
BUILD = Path(os.environ.get("JOBMETER_BUILD", REPO / "build"))
REQUIRED = ["6.1", "6.12"]
OPTIONAL = ["5.10"]  # while it can be had

LONG_S = 2400  # for a case of many programs
PATIENCE_S = 1200  # without a result from a guest, which may have a twentieth of a processor
CONSOLE_TAIL = 60  # lines of the console that an error shows: a panic with its registers and trace

# One thread for both processors: with one each, QEMU 7.2 now and then runs on from a stale translation
# of code that the other processor has just patched (static keys, trampolines), and takes the same
# breakpoint for ever.
#
# Without what costs emulation a fifth of its time: ERMS, which makes the kernel clear and copy memory byte by byte, and
# a fifth level of page tables.
QEMU = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max,erms=off,la57=off", "-smp", "2", "-m", "1G",
        "-nodefaults", "-display", "none", "-no-reboot"]
# A guest's clock counts its instructions, 2 ns each, and goes on at once where all its processors sleep: its times are the
# same however little of this machine it gets.
OWN_TIME = ["-icount", "shift=1,sleep=off"]
HAVE_OWN_TIME = ["6.12"]  # the older ones hang with QEMU 7.2 as they start the second processor
# On a busy machine the emulated timer may be late for the ten ticks in which the kernel tries whether it works at all.
COMMAND_LINE = "console=ttyS0 loglevel=5 panic=-1 oops=panic nowatchdog tsc=nowatchdog no_timer_check mitigations=off"

PASSWD = b"root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000:Alice:/home/alice:/bin/sh\n" \
         b"jobmeter:x:900:900::/:/bin/false\n"
GROUP = b"root:x:0:\nalice:x:1000:\njobmeter:x:900:\n"
FOLDERS = ["bin", "cases", "dev", "etc", "home", "proc", "results", "root", "run", "sys", "tmp",
           "var/lib/nfs/v4recovery"]  # for the list of clients of the kernel's NFS server
# None is loaded before something asks for it: mount, or a case by modprobe.
MODULES = ["brd", "fuse", "loop", "nfsd", "nfsv4", "null_blk", "overlay", "xfs"]


@dataclass(frozen=True)
class Case:
    """A shell script to run in a guest; what it leaves in /out comes back."""
    script: str
    user: str = "root"  # or alice
    boot: str = ""  # what it wants on the kernel's command line
    limit_s: int = 900
    agent: bool = False  # one agent measures the runs of all cases that want one; else each starts a meter of its own
    is_timed: bool = False  # its times are compared: it has OWN_TIME, and one processor where the kernel hangs with two


@dataclass
class Result:
    status: int  # of the script; 137 when it was killed for its time limit
    stdout: str
    stderr: str
    kernel_log: str
    files: dict = field(default_factory=dict)  # name below /out: bytes

    def complaint(self):
        """What the kernel complained of while the case ran, or None."""
        found = re.search(r"^.*(cut here|BUG:|Oops|blocked for more than).*(\n.*){0,30}", self.kernel_log, re.M)
        return found and found.group()


class GuestError(Exception):
    pass


class Results(dict):
    """Case: Result, of one boot.  Asking for a case that left no result says why it has none."""

    def __init__(self, why_missing):
        super().__init__()
        self.why_missing = why_missing

    def __missing__(self, case):
        raise GuestError(f"{self.why_missing}\nasked for: {case.script}")


class Archive:
    """An initramfs: a cpio in the kernel's "newc" form."""

    def __init__(self):
        self.data = bytearray()
        self.names = set()

    def add(self, name, mode, content=b"", device=(0, 0), owner=0):
        head = [len(self.names) + 1, mode, owner, owner, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0]
        self.data += b"070701" + b"".join(b"%08X" % number for number in head)
        for part in (name.encode() + b"\0", content):
            self.data += part
            self.data += bytes(-len(self.data) % 4)
        self.names.add(name)

    def add_folder(self, name, permissions=0o755, owner=0):
        if name and name not in self.names:
            self.add_folder(name.rpartition("/")[0])
            self.add(name, stat.S_IFDIR | permissions, owner=owner)

    def add_file(self, name, content, permissions=0o644):
        self.add_folder(name.rpartition("/")[0])
        self.add(name, stat.S_IFREG | permissions, content)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return bytes(self.data) + bytes(-len(self.data) % 512)


def libraries_of(program):
    """The shared libraries of a program, its loader included, as ldd finds them."""
    found = subprocess.run(["ldd", program], capture_output=True, text=True)
    if "not found" in found.stdout:
        raise GuestError(f"{program} lacks a library:\n{found.stdout}")
    return re.findall(r"(/\S+) \(0x", found.stdout)  # none for a static program


def base_system(kernel, programs, modules):
    """The initramfs but for the cases."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add_folder(folder)
    archive.add_folder("home/alice", owner=1000)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add_file("init", (HERE / "init").read_bytes(), 0o755)
    archive.add_file("etc/passwd", PASSWD)
    archive.add_file("etc/group", GROUP)
    add_modules(archive, kernel, Modules(kernel, modules))

    libraries = set()
    for name, path in programs.items():
        archive.add_file(f"bin/{name}", Path(path).read_bytes(), 0o755)
        libraries.update(libraries_of(path))
    for path in sorted(libraries):
        archive.add_file(path.lstrip("/"), Path(path).read_bytes(), 0o755)

    busybox = shutil.which("busybox")
    archive.add_file("bin/busybox", Path(busybox).read_bytes(), 0o755)
    for applet in subprocess.check_output([busybox, "--list"], text=True).split():
        if f"bin/{applet}" not in archive.names:
            archive.add(f"bin/{applet}", stat.S_IFLNK | 0o777, b"busybox")
    return archive.finish()


def add_modules(archive, kernel, modules):
    folder = f"lib/modules/{(kernel / 'release').read_text().strip()}"
    archive.add_folder(folder)
    for name, content in modules.items():
        archive.add_file(f"{folder}/{name}.ko", content)
    archive.add_file(f"{folder}/modules.dep", modules.dep().encode())
    archive.add_file(f"{folder}/modules.alias", modules.alias().encode())
    archive.add("sbin", stat.S_IFLNK | 0o777, b"bin")  # the kernel itself calls /sbin/modprobe


def cases_part(cases):
    archive = Archive()
    for number, case in enumerate(cases):
        archive.add_file(f"cases/{number:03}/script", case.script.encode())
        archive.add_file(f"cases/{number:03}/user", case.user.encode())
        archive.add_file(f"cases/{number:03}/limit", str(case.limit_s).encode())
        archive.add_file(f"cases/{number:03}/agent", b"yes" if case.agent else b"no")
    return archive.finish()


def results_by_number(stream):
    """Decode what came over the serial port: one tar a case, the last one perhaps cut short."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(stream), ignore_zeros=True) as tar:
            for member in tar:
                if member.isfile():
                    number, _, name = member.name.partition("/")
                    found.setdefault(int(number), {})[name] = tar.extractfile(member).read()
    except tarfile.TarError:
        pass  # what is whole has been taken
    return {number: result_of(files) for number, files in found.items() if "status" in files}


def result_of(files):
    return Result(status=int(files["status"]),
                  stdout=files["stdout"].decode(errors="replace"),
                  stderr=files["stderr"].decode(errors="replace"),
                  kernel_log=files["dmesg"].decode(errors="replace"),
                  files={name[len("out/"):]: content for name, content in files.items()
                         if name.startswith("out/")})


def time_of(series, is_timed):
    """QEMU's options for it."""
    if series in HAVE_OWN_TIME:
        return OWN_TIME
    return [*OWN_TIME, "-smp", "1"] if is_timed else []


class Guest:
    """@kernel: a folder that fetch-kernels made.  @programs: {name in the guest's /bin: path here};
    the libraries that they need come along.  @modules can be loaded in it."""

    def __init__(self, kernel, programs, modules=MODULES):
        self.kernel = Path(kernel)
        self.base = base_system(self.kernel, programs, modules)

    def run(self, cases, cmdline_extra="", before=(), devices=()):
        """Boot once, run @cases, and return their Results.  @before: what starts QEMU; @devices: more of its options, for
        something outside that answers in this machine's time."""
        cases = sorted(cases, key=lambda case: not case.agent)
        with tempfile.TemporaryDirectory(prefix="jobmeter-guest-") as folder:
            run = Run(Path(folder), self.kernel, self.base + cases_part(cases), cmdline_extra)
            run.command = [*before, *run.command, *(devices or time_of(self.kernel.name, any(case.is_timed for case in cases)))]
            end = run.boot(PATIENCE_S)
            console = (run.folder / "console").read_text(errors="replace")
            found = results_by_number((run.folder / "results").read_bytes())

        tail = "\n".join(console.splitlines()[-CONSOLE_TAIL:])
        results = Results(f"guest with kernel {self.kernel.name} {cmdline_extra}: {end} after {len(found)} of "
                          f"{len(cases)} cases; the end of its console:\n{tail}")
        results.update({cases[number]: result for number, result in found.items()})
        return results


class Run:
    """QEMU, and what it writes in @folder."""

    def __init__(self, folder, kernel, initramfs, cmdline_extra):
        self.folder = folder
        (folder / "initramfs").write_bytes(initramfs)
        self.command = QEMU + ["-kernel", kernel / "vmlinuz", "-initrd", folder / "initramfs",
                               "-append", f"{COMMAND_LINE} {cmdline_extra}",
                               "-serial", f"file:{folder}/console", "-serial", f"file:{folder}/results"]

    def boot(self, patience_s):
        """Run until the guest switches itself off, or brings no result for a time; return in words how
        it ended."""
        for name in ("console", "results"):
            (self.folder / name).touch()
        with open(self.folder / "complaints", "w") as complaints, \
             subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=complaints) as qemu:
            try:
                self.wait(qemu, patience_s)
                status = qemu.poll()
            finally:
                qemu.kill()
        if status is None:
            return f"was silent for {patience_s} s and killed"
        return "ended" if status == 0 else f"QEMU failed: {(self.folder / 'complaints').read_text().strip()}"

    def wait(self, qemu, patience_s):
        seen = -1
        while (size := (self.folder / "results").stat().st_size) > seen:
            seen = size
            try:
                qemu.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            return
