# SPDX-License-Identifier: MIT
"""Commands whose cause of trouble is known, and what may be said first of each."""

from dataclasses import dataclass, field

SERIAL = ("serial", "like-serial")
UNUSED = SERIAL + ("cpu-low", "cores-never-used")  # where a runtime's own threads work, too
SILENCE = ()


@dataclass
class Case:
    """A command of a shell, in a directory of its own on a disk: $work is the program beside this file, $shm a directory in memory,
    $python Python's, $data a file of 1 GiB on the disk."""

    name: str
    cause: str
    command: str
    right: tuple
    memory_mib: int = 0     # the limit of its cgroup
    cores: float = 0        # its CPU quota
    cpus: int = 2           # that it may use
    is_cold: bool = False   # nothing is in the page cache
    ranks: list = field(default_factory=list)  # for each rank what stands for $rank; each is a `jobmeter run` of its own
    needs: tuple = ()       # programs


POOL_OF_PYTHON = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda _: sum(i * i for i in range(6_000_000)), range(50)))
"""
IDLE_POOL_OF_PYTHON = """
import queue, threading
jobs = queue.Queue()
for _ in range(6):
    threading.Thread(target=jobs.get).start()
sum(i * i for i in range(250_000_000))
for _ in range(6):
    jobs.put(None)
"""
POOL_OF_JAVA = """
import java.util.concurrent.*;
public class Pool {
    public static void main(String[] a) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(6);
        for (int i = 0; i < 6; i++) pool.submit(() -> {}).get();
        long x = 1, end = System.nanoTime() + 8_000_000_000L;
        while (System.nanoTime() < end) for (int i = 0; i < 10000; i++) x = x * 6364136223846793005L + 1;
        System.out.println(x);
        pool.shutdown();
    }
}
"""
PHASES_OF_OPENMP = """
#include <time.h>
static void burn(double s) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b); while (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < s); }
int main(void) { for (int i = 0; i < STEPS; i++) { _Pragma("omp parallel") burn(TOGETHER); burn(ALONE); } return 0; }
"""
INSERTS = """
import sqlite3, time
db = sqlite3.connect("table.db", isolation_level=None)
db.execute("create table t (i integer)")
end = time.time() + 4
while time.time() < end:
    db.execute("insert into t values (1)")
"""
CONNECTIONS = """
import os, socket, threading, time
server = socket.create_server(("127.0.0.1", 0), backlog=64)
def serve():
    while True:
        client, _ = server.accept()
        client.recv(100); time.sleep(0.002); client.send(b"x" * 100); client.close()
for _ in range(2):
    threading.Thread(target=serve, daemon=True).start()
end = time.time() + 5
while time.time() < end:
    c = socket.create_connection(server.getsockname()); c.send(b"?"); c.recv(100); c.close()
"""
SLOW_READER = """
import sys
for line in sys.stdin: sum(i for i in range(300))
"""


def write(name, text):
    return f"cat >{name} <<'END'{text}END\n"


def openmp(steps, together, alone):
    return (write("phases.c", PHASES_OF_OPENMP) +
            f"gcc -O1 -fopenmp -DSTEPS={steps} -DTOGETHER={together} -DALONE={alone} -o phases phases.c\n")


# What comes before a line of "--" is prepared, and not measured.
CASES = [
    # ---- cores ----
    Case("burn-1", "one thread computes", "$work burn 6 1", SERIAL),
    Case("python-loop", "one thread computes", "exec $python -c 'sum(i * i for i in range(250_000_000))'", SERIAL),
    Case("awk-loop", "one thread computes", "exec awk 'BEGIN { while (i < 200000000) s += i++ }'", SERIAL),
    Case("pool-idle", "one thread computes beside an idle pool", "$work pool 6 6", SERIAL),
    Case("pool-python", "one thread computes beside an idle pool", f"exec $python -c '{IDLE_POOL_OF_PYTHON}'", SERIAL),
    Case("pool-java", "one thread computes beside an idle pool", write("Pool.java", POOL_OF_JAVA) +
         "javac Pool.java\n--\nexec java Pool", UNUSED, needs=("javac",)),
    Case("pool-openmp", "one thread computes beside an idle pool", openmp(3, 0.05, 2) +
         "--\nOMP_WAIT_POLICY=passive exec ./phases", UNUSED),
    Case("gil", "threads of Python compute one after the other", f"exec $python -c '{POOL_OF_PYTHON}'", UNUSED + ("threads-in-turn",)),
    Case("two-threads", "both cores compute", "$work burn 6 2", SILENCE),
    Case("two-processes", "both cores compute", "$work forks 6 2", SILENCE),
    Case("openmp-even", "both cores compute", openmp(20, 0.3, 0.005) + "--\nexec ./phases", SILENCE),
    Case("one-of-one", "one core computes, and there is one", "$work burn 6 1", SILENCE, cpus=1),
    Case("too-many-threads", "more threads than cores", "$work burn 6 8", ("cores-full", "cpu-contended")),
    Case("too-many-processes", "more processes than cores", "$work forks 6 6", ("cores-full", "cpu-contended")),
    Case("bound", "four threads bound to one core of two", "$work onecpu 6 4", ("cores-pinned",)),
    # of a cgroup above the job's own the kernel does not say that it held threads back: they wait for a CPU
    Case("quota", "two threads with a quota of half a core", "$work burn 6 2",
         ("throttled", "cores-full", "cpu-contended"), cores=0.5),
    Case("uneven", "one of two threads has most of the work", "$work parts 2", ("threads-uneven",)),
    Case("spin", "a thread spins until another one is done", "$work yield 6", ("spin-wait",)),
    Case("ranks-even", "two ranks with as much work", "$work rank $rank 300", SILENCE, ranks=[20, 20], cpus=2),
    Case("ranks-uneven", "one of two ranks has half as much work", "$work rank $rank 300", ("ranks-uneven",),
         ranks=[22, 9], cpus=2),
    # ---- locks ----
    Case("one-lock", "threads fight for one lock", "$work fight 5 4", ("lost-to-locks",)),
    Case("file-lock", "processes fight for a lock of a file", "$work flock lock 5 4", ("lost-to-locks",)),
    Case("lock-held", "a process waits for a lock that a sleeper holds", "$work held lock 4", ("lock-held", "slept")),
    Case("slow-thread", "threads wait for a slow one at a barrier", "$work march 2", ("threads-uneven", "lost-to-locks")),
    Case("turns", "threads take turns at a barrier", "$work turns", ("lost-to-locks",)),
    # ---- files ----
    Case("read-64", "tiny reads of a cached file", "$work read $data 64 4", ("small-reads",)),
    Case("read-4k-cold", "reads of 4 KiB at random, not cached", "$work read $data 4096 4 random", ("small-reads",), is_cold=True),
    Case("dd-512", "tiny reads and writes", "exec dd if=$data of=copy bs=512 count=1500000 status=none",
         ("small-reads", "small-writes")),
    Case("write-17", "tiny writes", "$work write log 17 4", ("small-writes",)),
    Case("fsync", "an fsync for every write", "$work write log 100 4 sync 1", ("fsync-storm",)),
    Case("commits", "a transaction for every row", f"exec $python -c '{INSERTS}'", ("fsync-storm",), needs=("sqlite3",)),
    Case("create", "files are made and removed in a row", "mkdir d\n--\n$work touch d 4", ("metadata-heavy", "open-close-storm")),
    Case("create-memory", "the same in a tmpfs", "mkdir $shm/d\n--\n$work touch $shm/d 4",
         ("metadata-heavy", "open-close-storm")),
    Case("small-files", "small files are read over and over", "mkdir d\n--\n$work small d 4",
         ("open-close-storm", "metadata-heavy")),
    Case("find", "a tree is walked over and over", "exec find $(for i in $(seq 30); do echo /usr/lib /usr/include; done) -size +9999999M",
         ("metadata-heavy", "lost-to-metadata")),
    Case("search", "opens of what is not there", "$work search 4", ("failed-opens", "not-found-storm")),
    Case("read-direct", "a disk sets the pace of reads",
         "for i in 1 2 3 4 5 6; do dd if=$data of=/dev/null bs=256K iflag=direct status=none; done",
         ("slow-reads", "lost-to-reads"), cpus=1),
    Case("write-direct", "a disk sets the pace of writes", "$work write big 1048576 4 direct", ("slow-writes", "lost-to-writes")),
    Case("write-dsync", "a disk sets the pace of synchronous writes",
         "for i in 1 2 3 4; do dd if=/dev/zero of=big bs=4M count=400 oflag=dsync status=none; done",
         ("slow-writes", "lost-to-writes", "lost-to-sync")),
    Case("read-1m", "large reads of a cached file", "$work read $data 1048576 4", SILENCE, cpus=1),
    Case("copy", "a file is copied in a tmpfs", "dd if=$data of=$shm/a bs=1M count=512 status=none\n--\n"
         "for i in 1 2 3 4 5 6; do cp $shm/a $shm/b; done", SILENCE, cpus=1),
    # ---- memory ----
    Case("oom", "a process outgrows its limit", "$work hog 400 3", ("out-of-memory",), memory_mib=150),
    Case("oom-together", "processes outgrow their limit together", "$work hogs 70 4", ("out-of-memory-together",), memory_mib=150),
    Case("near-limit", "a process stays just below its limit", "$work hog 940 6", ("memory-near-limit",), memory_mib=1000, cpus=1),
    Case("much-memory", "a fortieth of the memory is used", "$work hog 100 6", ("memory-low",), memory_mib=4096, cpus=1),
    Case("thrash", "a mapped file is larger than the memory", "$work map $data 5", ("lost-to-page-faults",), memory_mib=100,
         is_cold=True),
    # ---- processes ----
    Case("loop-of-true", "thousands of short processes", "i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i + 1)); done",
         ("many-processes",)),
    Case("xargs-1", "thousands of short processes", "seq 3000 | xargs -n 1 /bin/echo >/dev/null", ("many-processes",)),
    Case("segv", "a crash", "exec $work segv", ("crashed-command",)),
    Case("abort-inside", "a crash below a shell", "sleep 1; $work abort", ("crashed-inside", "crashed", "crashed-command")),
    Case("crash-unnoticed", "a crash that the shell passes over", "$work segv; true", ("crashed-unnoticed",)),
    Case("killed", "a kill from outside", "sleep 2; kill -KILL $$", ("killed",)),
    Case("pipeline", "a pipeline with one slow part", f"seq 1 2000000 | $python -c '{SLOW_READER}' | cat", ("pipeline",) + SERIAL),
    # ---- waits ----
    Case("sleep", "asleep", "exec sleep 4", ("slept",)),
    Case("sleepers", "asleep, all of many", "for i in 1 2 3 4 5 6; do sleep 4 & done; wait", ("slept",)),
    Case("server", "a server to which nobody comes", "$work events 4", ("waited-for-events",)),
    Case("fifo", "reads a pipe into which nobody writes", "mkfifo f\n--\nsleep 4 >f & exec cat f", ("waited-for-input", "slept")),
    Case("slow-server", "a client waits for a slow server", "$work ask 5 20", ("lost-to-network", "small-messages")),
    Case("connections", "a connection for every request", f"exec $python -c '{CONNECTIONS}'", ("short-connections", "lost-to-network")),
    # ---- nothing to be said ----
    Case("true", "nothing", "exec /bin/true", SILENCE),
    Case("factor", "a moment", "exec factor 1234567", SILENCE),
    Case("ls", "a moment", "ls -lR /usr/include >/dev/null", SILENCE),
    Case("tar", "a moment", "tar cf t.tar /usr/include/linux 2>/dev/null", SILENCE, is_cold=True),
    Case("import", "an interpreter starts", "$python -c 'import json, subprocess, decimal, asyncio'", SILENCE, is_cold=True),
    Case("compile", "a compiler, as many as there are cores",
         write("a.c", '\n#include <stdio.h>\n#define A(n) int f##n(int x) { for (int i = 0; i < x; i++) x += i * n; return x; }\n'
               '#define B(n) A(n##0) A(n##1) A(n##2) A(n##3) A(n##4) A(n##5) A(n##6) A(n##7) A(n##8) A(n##9)\n'
               '#define C(n) B(n##0) B(n##1) B(n##2) B(n##3) B(n##4) B(n##5) B(n##6) B(n##7) B(n##8) B(n##9)\n'
               'C(1) C(2) C(3) C(4) C(5)\n') +
         "--\nseq 8 | xargs -P 2 -I N gcc -O3 -c -o N.o a.c", SILENCE),
    Case("checksums", "both cores read and compute", "sha256sum $data $data & sha256sum $data $data; wait", SILENCE),
    Case("gzip", "one core compresses, and there is one", "dd if=$data bs=1M count=150 status=none | gzip -6 >z", SILENCE, cpus=1),
]
