# SPDX-License-Identifier: MIT
"""A real Slurm with its accounting: slurmdbd on a MariaDB of its own."""

import pathlib
import subprocess

from ports import free_ports
from slurm import Slurm

PROGRAMS = ["slurmdbd", "mariadbd", "mariadb-install-db", "mariadb", "sacct", "sacctmgr"]

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdAddr={address}
DbdHost=localhost
DbdPort={port}
SlurmUser=root
DebugLevel=debug2
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass=made
StorageLoc=slurm_acct
"""

MORE = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePort={port}
AccountingStoragePass={{folder}}/munge.sock
"""


class AccountedSlurm(Slurm):
    """@accounts: {name: [users]}, made before the controller starts."""

    def __init__(self, *args, accounts=None, more="", **options):
        super().__init__(*args, **options)
        self.database_port, self.accounting_port = free_ports(2)
        self.accounts = accounts or {}
        self.more = MORE.format(address=self.address, port=self.accounting_port) + more

    def start_accounting(self):
        self.data = pathlib.Path(self.folder) / "mariadb"
        self.data.mkdir()
        subprocess.run(["chown", "mysql:", self.data], check=True)
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={self.data}", "--skip-test-db",
                        "--auth-root-authentication-method=socket"], check=True, capture_output=True)
        self.daemon("mariadbd", "--no-defaults", "--user=mysql", f"--datadir={self.data}", f"--socket={self.data}/sock",
                    f"--pid-file={self.data}/pid", "--bind-address=127.0.0.1", f"--port={self.database_port}",
                    "--innodb-buffer-pool-size=64M")
        self.wait_for(lambda: self.sql("SELECT 1").returncode == 0)
        self.sql("CREATE USER 'slurm'@'%' IDENTIFIED BY 'made'; GRANT ALL ON *.* TO 'slurm'@'%'; "
                 "CREATE USER 'slurm'@'localhost' IDENTIFIED BY 'made'; GRANT ALL ON *.* TO 'slurm'@'localhost'", check=True)
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(SLURMDBD_CONF.format(folder=self.folder, address=self.address, port=self.accounting_port,
                                             database_port=self.database_port))
        conf.chmod(0o600)
        self.start_slurmdbd()
        self.sacctmgr("add", "cluster", "jobmeter")
        for account, users in self.accounts.items():
            self.sacctmgr("add", "account", account, "Description=made", "Organization=made")
            for user in users:
                self.sacctmgr("add", "user", user, f"Account={account}")

    def start_slurmdbd(self):
        self.daemon("slurmdbd", "-D")
        self.wait_for(lambda: self.run("sacctmgr", "-n", "show", "cluster", check=False).returncode == 0)

    def stop_slurmdbd(self):
        process = next(p for p in self.processes if p.args[0] == "slurmdbd")
        self.processes.remove(process)
        process.terminate()
        process.wait()

    def sql(self, text, check=False):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.data}/sock", "-N", "-e", text], check=check,
                              capture_output=True, text=True)

    def sacctmgr(self, *arguments):
        return self.run("sacctmgr", "-i", *arguments).stdout

    def sacct(self, *columns):
        """{column: text} of each run, without steps, of all users; a name may hold a line break, the last column none."""
        done = self.run("sacct", "-aDXPn", "--delimiter=<made>", "--noconvert", "-S", "now-1day", "-o", ",".join((*columns, "Cluster")))
        rest, rows = done.stdout, []
        while rest:
            *fields, rest = rest.split("<made>", len(columns))
            rows.append(dict(zip(columns, fields, strict=True)))
            rest = rest.partition("\n")[2]
        return rows

    def is_known(self, job):
        """slurmdbd has heard of it: slurmctld tells of a job when it comes to it."""
        return str(job) in [row["JobIDRaw"] for row in self.sacct("JobIDRaw")]
