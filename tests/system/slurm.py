# SPDX-License-Identifier: MIT
"""A real Slurm of one node: munge, slurmctld and slurmd, in a folder of their own, and users for it.

Everything is undone by a keeper, so that nothing stays when the tests are killed."""

import fcntl
import os
import pathlib
import pwd
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from keeper import Keeper
from ports import free_ports

HERE = pathlib.Path(__file__).resolve().parent
SHARE = HERE.parents[1] / "share/slurm"
PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scancel", "squeue", "sinfo"]
USERS = [f"ja{os.getpid():x}", f"jb{os.getpid():x}"]  # at most eight letters, which columns have room for

MADE_JOBS = int(os.environ.get("JOBMETER_MADE_JOBS", "68"))  # of the cases of many; make test-all has 200

USERS_LOCK = os.path.join(tempfile.gettempdir(), "jobmeter-test-users.lock")

SLURM_CONF = """\
ClusterName=jobmeter
SlurmctldHost={host}({address})
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
PrologFlags=Contain
Prolog={prolog}
Epilog={epilog}
FirstJobId={first_job}
MaxArraySize=1001
SchedulerParameters=batch_sched_delay=0,sched_interval=1
KillWait=2
ReturnToService=2
MpiDefault=none
DefMemPerCPU=64
NodeName={node} NodeHostname={host} NodeAddr={address} CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=debug Nodes={node} Default=YES MaxTime=INFINITE OverSubscribe=FORCE:8 State=UP
{more}
"""

CGROUP_CONF = """\
CgroupPlugin=cgroup/{version}
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=yes
{more}
"""


def missing_program():
    return next((name for name in PROGRAMS if not shutil.which(name)), None)


def make_users(keeper, names=USERS):
    """Users without a home, made where they are missing; those we make go again.  Tests take turns: useradd waits
    15 s for another one, and then fails."""
    with open(USERS_LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in names:
            try:
                pwd.getpwnam(name)
            except KeyError:
                keeper.run("useradd", "--system", "--user-group", "--no-create-home", "--shell", "/bin/sh", name,
                           undo=["flock", USERS_LOCK, "userdel", "--force", name])


class Slurm:
    """@folder: where all may look, else one is made.  @version of the cgroups; @jobscripts: our own prolog and
    epilog, which leave their files in .facts; @memory in MiB; @more, @cgroup_more: lines for slurm.conf (with
    {folder} for ours) and cgroup.conf."""

    def __init__(self, folder=None, version="v1", address="127.0.0.1", jobscripts=False, memory=1024, more="",
                 cgroup_more=""):
        self.keeper = Keeper()
        self.given, self.folder = folder, folder
        self.version, self.address = version, address
        self.memory, self.jobscripts, self.more, self.cgroup_more = memory, jobscripts, more, cgroup_more
        self.host = socket.gethostname().split(".")[0]
        self.node = f"jm{os.getpid()}"
        self.processes = []

    def start(self):
        self.keeper.__enter__()
        try:
            self.prepare()
            self.start_daemons()
        except BaseException:
            self.stop()
            raise
        return self

    __enter__ = start

    def __exit__(self, *_):
        self.stop()

    def prepare(self):
        if not self.given:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jobmeter-slurm-"))
            self.keeper.undo("rm", "-rf", "--one-file-system", self.folder)
        self.folder.chmod(0o755)
        # Nothing of ours reaches the jobs, which get the environment of what submits them.
        self.environment = {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LANG": "C.UTF-8",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}
        for name in ("state", "spool", "run", "scripts"):
            (self.folder / name).mkdir()
        self.out.mkdir()
        self.out.chmod(0o1777)
        make_users(self.keeper)
        self.keeper.undo(sys.executable, HERE / "slurm_groups.py", self.node)
        self.write_scripts()
        controller_port, node_port = free_ports(2)
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(
            folder=self.folder, host=self.host, node=self.node, address=self.address, cpus=os.cpu_count(),
            controller_port=controller_port, node_port=node_port, first_job=random.randrange(10**5, 6 * 10**7),
            memory=self.memory, prolog=self.folder / "prolog.sh", epilog=self.folder / "epilog.sh",
            more=self.more.replace("{folder}", str(self.folder))))
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF.format(version=self.version, more=self.cgroup_more))

    @property
    def out(self):
        """A folder where jobs of all users may write."""
        return self.folder / "out"

    @property
    def facts(self):
        """Where our prolog leaves its files: not in /run, since that is the machine's."""
        return self.folder / "run/jobs"

    def write_scripts(self):
        for name in ("prolog", "epilog"):
            run = f"export JOBMETER_JOBS={self.facts}\nexec sh {SHARE}/{name}-jobmeter.sh\n" if self.jobscripts else ""
            script = self.folder / f"{name}.sh"
            script.write_text(f"#!/bin/sh\nenv -0 >{self.folder}/scripts/{name}.$SLURM_JOB_ID\n{run}")
            script.chmod(0o755)

    def start_daemons(self):
        if "JOBMETER_LANE" in os.environ:  # its network has loopback addresses alone, with which slurmd resolves no name
            subprocess.run(["ip", "address", "replace", "192.0.2.1/32", "dev", "lo"], check=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.sock",
                    f"--key-file={key}", f"--pid-file={self.folder}/munged.pid",
                    f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed")
        self.wait_for(lambda: (self.folder / "munge.sock").exists())
        self.start_accounting()
        self.daemon("slurmctld", "-D", "-c", "-f", self.folder / "slurm.conf")
        self.daemon("slurmd", "-D", "-N", self.node, "-f", self.folder / "slurm.conf")
        self.wait_for(lambda: "idle" in self.run("sinfo", "-h", "-o", "%t", check=False).stdout)

    def start_accounting(self):
        """Nothing: see accounting.py."""

    def daemon(self, *argv, **options):
        log = open(self.folder / f"{argv[0]}.out", "wb")
        process = subprocess.Popen([str(a) for a in argv], env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, start_new_session=True, **options)
        self.processes.append(process)
        self.keeper.undo("/bin/sh", "-c", f"""
            kill {process.pid} && for i in $(seq 100); do
                grep -qs '^State:.[^Z]' /proc/{process.pid}/status || exit
                sleep 0.1
            done
            kill -KILL {process.pid}""")

    def wait_for(self, condition, seconds=300):  # a guest on a busy machine is some ten times slower
        end = time.monotonic() + seconds
        while not condition():
            dead = [p.args[0] for p in self.processes if p.poll() is not None]
            if dead or time.monotonic() > end:
                raise RuntimeError(f"{dead[0] if dead else 'Slurm'}: waited in vain\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
                         for path in sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
                         if path.is_file())

    def popen(self, *argv, user=None, **options):
        """As @user, in the folder of all, with nothing of our own rights."""
        if user:
            entry = pwd.getpwnam(user)
            options |= {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        return subprocess.Popen([str(a) for a in argv], env=self.environment, cwd=self.out, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run(self, *argv, check=True, user=None, timeout=120):
        process = self.popen(*argv, user=user)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        finally:
            process.kill()
        if check and process.returncode:
            raise RuntimeError(f"{argv}: {process.returncode}: {stderr}\n{self.logs()}")
        return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)

    def submit(self, script, *options, user=None, name="job"):
        """A batch job of this text; its id."""
        done = self.run("sbatch", "--parsable", "-n1", "-J", name, "-o", self.out / "%A_%a.log", *options,
                        "--wrap", script, user=user)
        return int(re.match(r"\d+", done.stdout).group())

    def wait_until_over(self, seconds=300):
        """No job waits, runs or is being cleaned up."""
        self.wait_for(lambda: not self.run("squeue", "-h").stdout.strip(), seconds)

    def jobs_of(self, job):
        """The ids of an array's tasks, which are jobs of their own, or of the job."""
        return re.findall(r"^JobId=(\d+)", self.run("scontrol", "show", "job", job).stdout, re.M)

    def states(self, job):
        """Of each task of an array, or of the job: {"COMPLETED"}"""
        shown = self.run("scontrol", "show", "job", job).stdout
        return set(re.findall(r"JobState=(\w+)", shown))

    def facts_of(self, job):
        """Account, partition, start and end, these in seconds since the epoch."""
        shown = self.run("scontrol", "show", "job", job).stdout
        account, partition, start, end = (re.search(rf"^\s*(?:.*\s)?{name}=(.*?)(?: [\w:]+=|$)", shown, re.M)[1]
                                          for name in ("Account", "Partition", "StartTime", "EndTime"))
        return account, partition, *(time.mktime(time.strptime(at, "%Y-%m-%dT%H:%M:%S")) for at in (start, end))

    def stop(self):
        """Daemons, groups, users and the folder go; ours to reap are the daemons."""
        self.keeper.process.stdin.close()
        for process in self.processes:
            process.wait()
        self.keeper.process.wait()
