# SPDX-License-Identifier: MIT
"""Twelve commands whose cause of trouble, if they have any, is known by construction.

Who wrote them knew no rule, threshold, page or other case of this project, and named the cause of each by a list of plain words
("lock contention", "fsync storm").  Which rules mean that cause was added by somebody who knows the rules, after the first run;
commands, causes and rules were not changed.
"""

from cases import Case

METADATA = ("metadata-heavy", "lost-to-metadata", "open-close-storm")
LOCKS = ("lost-to-locks", "lock-storm")
UNUSED = ("serial", "like-serial", "cpu-low", "cores-never-used")

CASES = [
    # Each rotation makes and removes tens of thousands of directory entries one at a time (link/unlink/stat) and moves almost
    # no data: file metadata operations are the whole job.
    Case("hardlink-snapshots", "snapshots of hard links are made and removed", r'''
python3 - <<'EOF'
import os
for d in range(250):
    p = 'live/dept%02d/user%03d' % (d % 20, d)
    os.makedirs(p)
    for i in range(80):
        with open('%s/doc%03d.txt' % (p, i), 'w') as f:
            f.write('x')
EOF
cat > rotate.sh <<'EOF'
#!/bin/bash
# hourly hard-link snapshots, keep the last two
set -e
for n in $(seq 1 12); do
    cp -al live snap.$n
    old=$((n - 2))
    if [ $old -ge 1 ]; then rm -rf snap.$old; fi
done
EOF
--
bash rotate.sh''', METADATA),
    # Four threads do all their work, digest included, while holding one global mutex, so they run one after the other and
    # wait for the lock.
    Case("catalog-one-mutex", "four threads work with one mutex held", r'''
cat > catalog.c <<'EOF'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NTHR 4
#define NREC 75000
#define BUCKETS 65536
static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[BUCKETS];
static unsigned char rec[NTHR][4096];
static uint64_t digest(const unsigned char *p, size_t n, uint64_t h) {
    for (size_t i = 0; i < n; i++) { h ^= p[i]; h *= 1099511628211ull; }
    return h;
}
static void *worker(void *arg) {
    int id = (int)(intptr_t)arg;
    unsigned char *r = rec[id];
    for (int i = 0; i < NREC; i++) {
        memcpy(r, &i, sizeof i);
        r[5] = (unsigned char)id;
        pthread_mutex_lock(&big);          /* protects everything */
        uint64_t h = 1469598103934665603ull;
        for (int k = 0; k < 4; k++) h = digest(r, sizeof rec[id], h);
        table[h % BUCKETS] += h | 1;
        pthread_mutex_unlock(&big);
    }
    return NULL;
}
int main(void) {
    pthread_t t[NTHR];
    for (int i = 0; i < NTHR; i++) pthread_create(&t[i], NULL, worker, (void *)(intptr_t)i);
    for (int i = 0; i < NTHR; i++) pthread_join(t[i], NULL);
    uint64_t s = 0;
    for (int i = 0; i < BUCKETS; i++) s ^= table[i];
    printf("%016llx\n", (unsigned long long)s);
    return 0;
}
EOF
gcc -O2 -pthread -o catalog catalog.c
--
./catalog''', LOCKS),
    # Every journal line of about 100 bytes is forced to disk with its own fsync instead of grouping commits, so the time goes
    # to waiting for the disk to flush.
    Case("perl-journal", "each line of a journal is synced", r'''
cat > ingest.pl <<'EOF'
use strict; use warnings;
use IO::Handle;
use Time::HiRes qw(time);
use Digest::MD5 qw(md5_hex);
open(my $j, '>>', 'orders.journal') or die $!;
$j->autoflush(1);
my $end = time + 6;
my $n = 0;
while (time < $end) {
    my $line = sprintf("%d|%.6f|order|%d|%s", ++$n, time, $n * 17 % 997, 'item' x 8);
    print $j $line, '|', md5_hex($line), "\n" or die $!;
    $j->sync or die $!;
}
close $j;
print "$n orders committed\n";
EOF
--
perl ingest.pl''', ("fsync-storm",), needs=("perl",)),
    # Thousands of one-line recipes each start a shell, cut, tr and sed for a few bytes of work, so the time goes to fork/exec
    # and exit.
    Case("make-tiny-recipes", "make starts thousands of tiny programs", r'''
mkdir -p msg out
for i in $(seq 1 2500); do echo "greeting.$i = Hello, visitor number $i" > msg/m$i.txt; done
cat > Makefile <<'EOF'
SRC := $(wildcard msg/*.txt)
OUT := $(patsubst msg/%.txt,out/%.po,$(SRC))
all: $(OUT)
out/%.po: msg/%.txt
	@key=$$(cut -d= -f1 $<); printf 'msgid "%s"\n' "$$key" | tr -d ' ' > $@; sed 's/.*= *//' $< >> $@
EOF
--
make -j2 all''', ("many-processes",), needs=("make",)),
    # One feeding process does nearly all the work (making and tokenising documents) on one core while six pool workers sit on
    # an empty queue.
    Case("pool-slow-feeder", "one process feeds six workers that wait", r'''
cat > score.py <<'EOF'
import multiprocessing as mp, random, re

WORD = re.compile(r'[a-z]+')

def consume(q, out):
    total = 0
    while True:
        doc = q.get()
        if doc is None:
            break
        total += sum(doc.values())
    out.put(total)

def documents(n):
    rnd = random.Random(7)
    vocab = [''.join(rnd.choice('abcdefghij') for _ in range(rnd.randint(3, 9)))
             for _ in range(3000)]
    for _ in range(n):
        text = ' '.join(rnd.choice(vocab) for _ in range(20000))
        counts = {}
        for m in WORD.finditer(text):
            w = m.group()
            counts[w] = counts.get(w, 0) + 1
        yield {k: v for k, v in sorted(counts.items())[:50]}

if __name__ == '__main__':
    q, out = mp.Queue(16), mp.Queue()
    ws = [mp.Process(target=consume, args=(q, out)) for _ in range(6)]
    for w in ws: w.start()
    for d in documents(400):
        q.put(d)
    for w in ws: q.put(None)
    print(sum(out.get() for _ in ws))
    for w in ws: w.join()
EOF
--
python3 score.py''', UNUSED),
    # Cells are split evenly by number but not by cost, so in every time step one thread has about eight times the work and
    # the other waits for it at the barrier.
    Case("stencil-uneven-split", "one of two threads has eight times as much work before each barrier", r'''
cat > front.c <<'EOF'
/* time-stepped cell update; cells behind the front need many sub-iterations */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#define NTHR 2
#define CELLS 8000
#define STEPS 250
static double u[CELLS], v[CELLS];
static pthread_barrier_t bar;
static double relax(double x, int it) {
    for (int k = 0; k < it; k++) x = 0.5 * (x + 2.0 / (x + 0.1)) + 1e-9 * sqrt(x + k);
    return x;
}
static void *part(void *arg) {
    int id = (int)(intptr_t)arg;
    int lo = id * (CELLS / NTHR), hi = lo + CELLS / NTHR;
    for (int s = 0; s < STEPS; s++) {
        for (int i = lo; i < hi; i++) {
            int it = i < CELLS / 2 ? 60 : 500;
            v[i] = relax(u[(i + CELLS - 1) % CELLS] * 0.5 + u[(i + 1) % CELLS] * 0.5, it);
        }
        pthread_barrier_wait(&bar);
        for (int i = lo; i < hi; i++) u[i] = v[i];
        pthread_barrier_wait(&bar);
    }
    return NULL;
}
int main(void) {
    pthread_t t[NTHR];
    for (int i = 0; i < CELLS; i++) u[i] = 1.0 + i % 13;
    pthread_barrier_init(&bar, NULL, NTHR);
    for (int i = 0; i < NTHR; i++) pthread_create(&t[i], NULL, part, (void *)(intptr_t)i);
    for (int i = 0; i < NTHR; i++) pthread_join(t[i], NULL);
    printf("%.6f\n", u[CELLS / 3]);
    return 0;
}
EOF
gcc -O2 -pthread -o front front.c -lm
--
./front''', ("threads-uneven",) + LOCKS),
    # The script flushes after every line, so a file of about 40 MB is written in 3.5 million write calls of about a dozen
    # bytes.
    Case("awk-flush-each-line", "awk flushes each line", r'''
seq 1 3500000 | awk '{print $1 "," ($1*7)%1000 "," ($1*13)%77}' > readings.csv
cat > convert.awk <<'EOF'
BEGIN { FS = "," }
{ printf "%s;%d\n", $1, $2 + $3; fflush() }
EOF
--
awk -f convert.awk readings.csv > converted.csv''', ("small-writes",)),
    # The client opens and closes a new TCP connection for each tiny price lookup instead of keeping one connection per
    # backend: tens of thousands of connections for a few bytes each.
    Case("lookup-reconnect", "each look-up opens a connection", r'''
cat > lookup.py <<'EOF'
import os, signal, socket

def serve(ls):
    prices = {b'sku%d' % i: b'%d\n' % (i * 31 % 1009) for i in range(500)}
    while True:
        c, _ = ls.accept()
        c.sendall(prices.get(c.recv(64).strip(), b'-1\n'))
        c.close()

def price(addr, sku):
    s = socket.create_connection(addr)
    s.sendall(b'sku%d\n' % sku)
    r = b''
    while True:
        d = s.recv(64)
        if not d:
            break
        r += d
    s.close()
    return int(r)

backends = []
for _ in range(3):
    ls = socket.socket()
    ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ls.bind(('127.0.0.1', 0))
    ls.listen(128)
    pid = os.fork()
    if pid == 0:
        serve(ls)
    backends.append((pid, ls.getsockname()))
    ls.close()
total = 0
for n in range(42000):
    total += price(backends[n % 3][1], n % 500)
for pid, _ in backends:
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
print(total)
EOF
--
python3 lookup.py''', ("short-connections",)),
    # The writer thread polls an almost always empty ring with sched_yield, burning a whole core without doing work while the
    # decoder is the only thread that makes progress.
    Case("ring-yield-poll", "a thread polls an empty ring with sched_yield", r'''
cat > ring.c <<'EOF'
/* decoder thread -> writer thread through a lock-free ring */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#define SLOTS 256
#define FRAMES 12000
static uint64_t ring[SLOTS];
static atomic_ulong head, tail;
static void *decode(void *a) {
    (void)a;
    uint64_t x = 88172645463325252ull;
    for (unsigned long f = 0; f < FRAMES; f++) {
        for (int k = 0; k < 250000; k++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
        while (atomic_load(&head) - atomic_load(&tail) >= SLOTS) sched_yield();
        ring[f % SLOTS] = x;
        atomic_fetch_add(&head, 1);
    }
    return NULL;
}
static void *emit(void *a) {
    uint64_t *sum = a;
    for (unsigned long f = 0; f < FRAMES; f++) {
        while (atomic_load(&tail) == atomic_load(&head)) sched_yield();
        *sum += ring[f % SLOTS];
        atomic_fetch_add(&tail, 1);
    }
    return NULL;
}
int main(void) {
    pthread_t d, e;
    uint64_t sum = 0;
    pthread_create(&e, NULL, emit, &sum);
    pthread_create(&d, NULL, decode, NULL);
    pthread_join(d, NULL);
    pthread_join(e, NULL);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
EOF
gcc -O2 -pthread -o ring ring.c
--
./ring''', ("spin-wait",)),
    # Both cores compute.
    Case("nbody-openmp", "both cores compute", r'''
cat > nbody.c <<'EOF'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define N 6000
#define STEPS 60
static double x[N], y[N], z[N], vx[N], vy[N], vz[N];
int main(void) {
    srand(3);
    for (int i = 0; i < N; i++) {
        x[i] = rand() / (double)RAND_MAX; y[i] = rand() / (double)RAND_MAX;
        z[i] = rand() / (double)RAND_MAX;
    }
    for (int s = 0; s < STEPS; s++) {
#pragma omp parallel for schedule(dynamic, 50)
        for (int i = 0; i < N; i++) {
            double ax = 0, ay = 0, az = 0;
            for (int j = 0; j < N; j++) {
                double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
                double r2 = dx * dx + dy * dy + dz * dz + 1e-4;
                double w = 1.0 / (r2 * sqrt(r2));
                ax += w * dx; ay += w * dy; az += w * dz;
            }
            vx[i] += 1e-9 * ax; vy[i] += 1e-9 * ay; vz[i] += 1e-9 * az;
        }
        for (int i = 0; i < N; i++) { x[i] += vx[i]; y[i] += vy[i]; z[i] += vz[i]; }
    }
    printf("%.9f %.9f %.9f\n", x[0], y[1], z[2]);
    return 0;
}
EOF
gcc -O2 -fopenmp -o nbody nbody.c -lm
--
./nbody > final.txt''', ()),
    # Both cores compute, and files are read and written in large pieces.
    Case("block-compress-threads", "both cores compress", r'''
openssl rand 165000000 | openssl base64 -A > dump.b64
cat > pack.py <<'EOF'
import os, zlib
from concurrent.futures import ThreadPoolExecutor

BLOCK = 4 << 20
fd = os.open('dump.b64', os.O_RDONLY)
size = os.fstat(fd).st_size

def pack(off):
    return zlib.compress(os.pread(fd, BLOCK, off), 6)   # releases the GIL

with ThreadPoolExecutor(2) as pool, open('dump.z', 'wb', buffering=0) as out:
    index = []
    for blob in pool.map(pack, range(0, size, BLOCK)):
        index.append(len(blob))
        out.write(blob)
print(len(index), sum(index), size)
EOF
--
python3 pack.py''', (), needs=("openssl",)),
    # It is over in a moment.
    Case("quick-site-bundle", "a moment", r'''
mkdir -p site/pages
for i in $(seq 1 40); do seq 1 $((i * 20)) > site/pages/p$i.html; done
--
tar -czf site.tgz site && tar -tzf site.tgz | wc -l''', ()),
]
