# SPDX-License-Identifier: MIT
"""More commands whose cause of trouble is known by construction, written without a look at thresholds or rules.

The comment above each case says why its cause is known.
Run times are estimates: where they can be, they are bounded by the clock or calibrated in what is prepared.
"""

from cases import Case

SERIAL = ("serial", "like-serial")
UNUSED = SERIAL + ("cpu-low", "cores-never-used")  # where a runtime's own threads work, too
SILENCE = ()


TABLE = r"""
import random
random.seed(1)
with open("table.csv", "w") as out:
    for i in range(500_000):
        out.write(f"{i},{random.randrange(100)},{random.randrange(1000)},{random.randrange(100)},{i % 7}\n")
"""
CONVERT = r"""
import csv, sys
for run, site, value, error, day in csv.reader(sys.stdin):
    print(run, day, site, value, error)
"""
SQL = r"""
import subprocess, time
def inserts(first, count):
    return "".join(f"insert into results values ({i}, 'site-{i % 40}', {i * 0.37:.3f});\n" for i in range(first, first + count))
def run(sql):
    subprocess.run(["sqlite3", "results.db"], input=sql, text=True, check=True)
run("create table results (run integer primary key, site text, value real);\n")
start = time.time()
run(inserts(0, 100))
rows = int(8 / ((time.time() - start) / 100))
with open("inserts.sql", "w") as out:
    out.write(inserts(100, min(max(rows, 500), 60_000)))
"""
UNIT = r"""
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
std::map<std::string, std::vector<double>> parse_NN(const std::string &text) {
    static const std::regex line("([a-z_]+)\\s*=\\s*([-+0-9.eE, ]+)");
    std::map<std::string, std::vector<double>> table;
    for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
        std::istringstream in((*it)[2].str());
        std::string number;
        while (std::getline(in, number, ',')) table[(*it)[1].str()].push_back(std::stod(number) * NN);
    }
    for (auto &[name, values] : table) std::stable_sort(values.begin(), values.end());
    return table;
}
std::string clean_NN(const std::string &text) {
    return std::regex_replace(std::regex_replace(text, std::regex("#.*"), ""), std::regex("[ \t]+"), " ");
}
"""
MAKEFILE = r"""
OBJECTS := $(patsubst %.cpp,%.o,$(wildcard unit-*.cpp))
libparse.a: $(OBJECTS)
	ar rcs $@ $^
%.o: %.cpp
	g++ -std=c++17 -O2 -c -o $@ $<
"""
POOL = r"""
import random, time
from multiprocessing import Pool
LINE = " ".join(f"{random.random():.8f}" for _ in range(300))
def samples():
    end = time.time() + 10
    while time.time() < end:
        values = []
        for _ in range(1000):  # tens of milliseconds of parsing for each task
            values = [float(word) for word in LINE.split()]
        yield values
def fit(values):               # a fraction of a millisecond
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values)
if __name__ == "__main__":
    with Pool(4) as pool:
        print(sum(pool.imap_unordered(fit, samples())))
"""
SMALL_FILES = r"""
import os, random
random.seed(2)
noise = os.urandom(1 << 20)
for run in range(200):
    os.makedirs(f"runs/run-{run:03}")
for step in range(300):
    for run in range(200):     # as simulations write them that run side by side
        at, size = random.randrange(1 << 19), random.randrange(300, 6000)
        with open(f"runs/run-{run:03}/step-{step:04}.out", "wb", buffering=0) as out:
            out.write(noise[at:at + size])
"""
RESULTS = r"""
import os, random, sys
random.seed(3)
os.mkdir("results")
for number in range(int(sys.argv[1])):
    with open(f"results/{number:02}.csv", "w") as out:
        for i in range(50_000):  # 2 MB
            x = random.gauss(0, 1)
            out.write(f"{i},{i * 0.001:.3f},{x:.6f},{x * x:.6f},{random.random():.6f}\n")
"""
SHARED_SUM = r"""
import time
from multiprocessing import Process, Value
def count(total, end):
    while time.time() < end:
        with total.get_lock():  # all the work is done with the lock held
            total.value += sum(i * i for i in range(300)) * 1e-9
if __name__ == "__main__":
    total, end = Value("d", 0.0), time.time() + 8
    workers = [Process(target=count, args=(total, end)) for _ in range(4)]
    for w in workers: w.start()
    for w in workers: w.join()
    print(total.value)
"""
HALO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static double relax(double seconds, double x) {
    double end = cpu() + seconds;
    do
        for (int i = 0; i < 200000; i++) x = 3.9 * x * (1 - x);
    while (cpu() < end);
    return x;
}
int main(int argc, char **argv) { /* STEPS, and for each rank its seconds of CPU time a step */
    int rank;
    double x = 0.3, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < atoi(argv[1]); step++) {
        x = relax(atof(argv[2 + rank]), x);
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
"""
SERVE = r"""
import http.server, os, signal, time
signal.alarm(110)
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(80 << 17))
        self.end_headers()
        for _ in range(80):    # 1 MiB/s for 10 s
            self.wfile.write(bytes(1 << 17))
            time.sleep(0.125)
server = http.server.HTTPServer(("127.0.0.1", 0), Slow)
with open("port.new", "w") as out:
    out.write(str(server.server_port))
os.rename("port.new", "port")
server.handle_request()
"""
SOLVER = r"""
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
int main(void) {
    time_t end = time(NULL) + 5;
    double x = 0.3, residual = 1;
    while (time(NULL) < end)
        for (int i = 0; i < 100000; i++) {
            double next = 3.9 * x * (1 - x);
            residual = fabs(next - x);
            x = next;
        }
    assert(residual < 1e-12); /* it never converges */
    printf("%g\n", x);
    return 0;
}
"""
DRIVER = r"""
import subprocess
for step in range(3):
    subprocess.run(["./solver", str(step)], check=True)
"""
MPIRUN = ("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
          "exec mpirun --host localhost:2 --bind-to none -n 2 ./halo ")


def write(name, text):
    return f"cat >{name} <<'END'{text}END\n"


# What comes before a line of "--" is prepared, and not measured.
CASES = [
    # "python -u" as batch scripts have it, to see a log at once: print() then hands each of its five fields, each space and each
    # newline to write(2) on its own, 10 writes of 1 to 6 bytes a row, 5 million in all.  A write to a file costs several times
    # what Python takes to format a small field, so that most of the time is the kernel's, in write.
    Case("csv-unbuffered", "a table is converted with unbuffered output", write("table.py", TABLE) + write("convert.py", CONVERT) +
         "$python table.py\n--\nexec $python -u convert.py <table.csv >table.txt", ("small-writes",)),
    # A file of INSERTs without BEGIN: a commit, with its two to three fsyncs, for each row of 30 bytes.  Parsing one takes some
    # 10 us, the fsyncs of one hundreds at least.  As many rows as took 8 s when tried.
    Case("sqlite-inserts", "each INSERT is a transaction", write("sql.py", SQL) +
         "$python sql.py\n--\nexec sqlite3 results.db <inserts.sql", ("fsync-storm", "lost-to-sync"), needs=("sqlite3",)),
    # Eight compilers of some seconds each, all in memory, at two cores: each waits three quarters of its life for a CPU.
    Case("make-j8", "make -j8 with two cores", write("unit.cpp", UNIT) + write("Makefile", MAKEFILE) +
         "for i in $(seq 10 21); do sed s/NN/$i/g unit.cpp >unit-$i.cpp; done\nrm unit.cpp\n--\n"
         "exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j8", ("cores-full", "cpu-contended"), needs=("make", "g++")),
    # The main process parses for tens of milliseconds for each task, in pure Python, and a worker needs less than one: the main
    # process is at 100 % for all of the 10 s, four workers at 1 % together.  One core of two works; a pipeline with a slow head
    # is the same in other words.
    Case("pool-starved", "workers of a pool wait for a main process that feeds them slowly", write("pool.py", POOL) +
         "--\nexec $python pool.py", UNUSED + ("pipeline",)),
    # 60,000 files of 0.3 to 6 kB, cold: an open, a stat, one read and a close for each; the reads cannot be larger than the files
    # are, so "use larger reads" would be wrong, and a slow disk is not the cause either.  That the time goes to waiting for
    # reads is true as well.
    Case("tar-small-files", "small files are archived, nothing is cached", write("files.py", SMALL_FILES) +
         "$python files.py\n--\nexec tar cf runs.tar runs", ("small-files-copied", "small-files-read", "open-close-storm", "metadata-heavy", "lost-to-metadata",
                                                      "lost-to-reads"),
         is_cold=True),
    # xz 5.4 has one thread unless told otherwise, at 2 to 4 MB/s: it computes all the time, tar waits for it, a core is idle.
    Case("tar-xz", "one thread of xz compresses", write("results.py", RESULTS) +
         "$python results.py 12\n--\nexec tar cJf results.tar.xz results", SERIAL + ("pipeline",), needs=("xz",)),
    # Four processes, and whatever they do is done with the lock of a shared value held (a semaphore: a futex in shared memory):
    # one can work at a time, the other three wait for the lock.  No lock, and both cores were busy.
    Case("shared-sum", "processes of Python fight for the lock of a shared value", write("shared.py", SHARED_SUM) +
         "--\nexec $python shared.py", ("lost-to-locks", "lock-storm")),
    # In each step rank 0 computes for 50 ms, rank 1 for 350, and Open MPI polls in MPI_Allreduce until both are there: rank 0
    # waits, at 100 % of a core, for six sevenths of the time.
    Case("mpirun-slow-rank", "one of two ranks of mpirun has seven times as much work", write("halo.c", HALO) +
         "mpicc -O1 -o halo halo.c\n--\n" + MPIRUN + "24 0.05 0.35", ("ranks-uneven", "spin-wait"), needs=("mpicc", "mpirun")),
    # The server, started before and not measured, sends 128 KiB each eighth of a second, for 10 s: curl has nothing to do but to
    # wait for a socket.
    Case("download", "a download from a server that sends 1 MiB/s", write("serve.py", SERVE) +
         "$python serve.py >/dev/null 2>&1 </dev/null &\n"
         "for i in $(seq 100); do [ -s port ] && break; sleep 0.1; done\n[ -s port ]\n--\n"
         "exec curl -sS --noproxy '*' -o dump \"http://127.0.0.1:$(cat port)/dump\"", ("lost-to-network", "waited-for-messages"), needs=("curl",)),
    # An assertion fails after 5 s: SIGABRT.  The driver does notice, and exits with 1 after a traceback: the crash is not its own.
    # That one thread computed until then is of no interest beside it.
    Case("assertion", "a solver below a driver of Python fails an assertion", write("solver.c", SOLVER) + write("driver.py", DRIVER) +
         "gcc -O1 -o solver solver.c -lm\n--\nexec $python driver.py", ("crashed-inside", "crashed")),
    # ---- nothing to be said ----
    # As above, with as much work for both ranks: both cores compute but for mpirun's own start, of about a second of ten.
    Case("mpirun-even", "both ranks of mpirun have as much work", write("halo.c", HALO) +
         "mpicc -O1 -o halo halo.c\n--\n" + MPIRUN + "100 0.1 0.1", SILENCE, needs=("mpicc", "mpirun")),
    # 20 files alike, each of about a second of xz, two at a time: what tar-xz should have been.
    Case("xz-two-at-a-time", "files are compressed, as many at a time as there are cores", write("results.py", RESULTS) +
         "$python results.py 20\n--\nls results/*.csv | xargs -n 1 -P 2 xz -k", SILENCE, needs=("xz",)),
]
