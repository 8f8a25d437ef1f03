# SPDX-License-Identifier: MIT
"""A real Slurm of one node: munge, slurmctld and slurmd, in a folder of their own."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo"]

SLURM_CONF = """\
ClusterName=jobmeter
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MpiDefault=none
DefMemPerCPU=256
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1024 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=yes
"""


def missing_program():
    return next((name for name in PROGRAMS if not shutil.which(name)), None)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.processes = []

    def start(self):
        host = socket.gethostname().split(".")[0]
        controller_port, node_port = free_ports(2)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(
            folder=self.folder, host=host, cpus=os.cpu_count(),
            controller_port=controller_port, node_port=node_port))
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.sock",
                    f"--key-file={key}", f"--pid-file={self.folder}/munged.pid",
                    f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed")
        self.wait_for(lambda: (self.folder / "munge.sock").exists())
        self.daemon("slurmctld", "-D", "-c", "-f", self.folder / "slurm.conf")
        self.daemon("slurmd", "-D", "-f", self.folder / "slurm.conf")
        self.wait_for(lambda: "idle" in self.run("sinfo", "-h", "-o", "%t", check=False).stdout)

    def daemon(self, *argv):
        log = open(self.folder / f"{argv[0]}.out", "wb")
        self.processes.append(subprocess.Popen([str(a) for a in argv], env=self.environment,
                                               stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            dead = [p.args[0] for p in self.processes if p.poll() is not None]
            if dead or time.monotonic() > end:
                raise RuntimeError(f"{dead[0] if dead else 'Slurm'} did not start:\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
                         for path in sorted(self.folder.glob("*.log")))

    def run(self, *argv, check=True):
        return subprocess.run([str(a) for a in argv], env=self.environment, capture_output=True,
                              text=True, check=check, timeout=120)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
