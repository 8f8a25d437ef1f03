/* SPDX-License-Identifier: MIT */
/* Each rule of share/insights.yaml on a record that is just over its threshold, and on one just
 * below. */
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "analysis/insights.h"
#include "basic/macro.h"
#include "made_rates.h"
#include "analysis/patterns.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/job_gpus.h"
#include "made.h"
#include "test.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)

/* ---- a record of which everything is known, and nothing worth a word ---- */

static void set(struct record *r, enum metric_id id, double number)
{
	unsigned int places = metric_unit_places(metric_get(id)->unit);

	for (; places; places--)
		number *= 10;
	reading_set(&r->reading, id, (uint64_t)(number + 0.5));
}

static struct mount_row *row_of(struct record *r)
{
	return reading_get_mount(&r->reading, ROW_MOUNT, "/made-scratch", "lustre");
}

/* 100 s on 4 cores, of which 360 s of CPU time. */
static struct record *made_calm(void)
{
	struct made_rates rates = made_rates(100);
	struct record *r = made_rates_record(&rates, 0);
	struct mount_row *row;

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		reading_set(&r->reading, (enum metric_id)id, 0);
	set(r, METRIC_CPU_ALLOCATED, 4);
	set(r, METRIC_CPU_USER, 350);
	set(r, METRIC_CPU_SYSTEM, 10);
	set(r, METRIC_CPU_CYCLES, 1e12);
	set(r, METRIC_CPU_INSTRUCTIONS, 2e12);
	set(r, METRIC_CPU_COUNTERS_ENABLED, 360);
	set(r, METRIC_CPU_COUNTERS_RUNNING, 360);
	set(r, METRIC_MEMORY_LIMIT, 16 * GIB);
	set(r, METRIC_MEMORY_PEAK, 12 * GIB);
	set(r, METRIC_MEMORY_PROCESS_PEAK, 6 * GIB);
	r->cores.count = (struct value){ 4, true };
	r->cores.balance = (struct value){ 9900, true };
	r->ranks.count = (struct value){ 4, true };
	r->ranks.balance = (struct value){ 9900, true };
	r->threads = threads_of_sum(4, 396000000000, 100000000000);
	r->reading.has_mounts = true;
	row = row_of(r);
	row->has_seconds = row->has_histograms = true;
	row->ops[OP_READ] = (struct op_counts){ .calls = 100, .bytes = 100 << 20, .ns = 100000000 };
	row->sizes[OP_READ].counts[21] = 100;
	row->ops[OP_WRITE] =
		(struct op_counts){ .calls = 100, .bytes = 100 << 20, .ns = 100000000 };
	row->sizes[OP_WRITE].counts[21] = 100;
	row->ops[OP_OPEN] = (struct op_counts){ .calls = 10 };
	r->files.is_known = r->files.has_seconds = true;
	r->reading.network.is_known = r->reading.network.has_connections =
		r->reading.network.has_details = true;
	return r;
}

/* ---- what makes each rule speak, and what does not yet ---- */

/* What a row sets beside metrics. */
enum {
	CPU = METRIC_COUNT, /* seconds of CPU time, 10 of them in the kernel */
	CORES, /* that were used */
	CORE_BALANCE,
	RANK_BALANCE,
	EXIT_CODE,
	SIGNAL,
	SMALL_FILES,
	FILE_OPS, /* a field of struct op_counts of /made-scratch */
};
#define FIELDS (sizeof(struct op_counts) / sizeof(uint64_t))
#define OPS(op, field) (int)(FILE_OPS + (op)*FIELDS + offsetof(struct op_counts, field) / 8)

static void use_cpu(struct record *r, double seconds)
{
	set(r, METRIC_CPU_USER, seconds - 10);
}

/* All cores busy but for what is said to be lost, of which threads waited that long. */
static void lose(struct record *r, enum metric_id cause, double share)
{
	use_cpu(r, 400 - share * 400);
	set(r, cause, share * 400);
}

static struct job_gpu *gpu_of(struct record *r)
{
	struct job_gpus *g = section_of(r, &gpu_section);

	g->is_known = true;
	return job_gpus_get(g, "GPU-1", "0", "H100");
}

static void set_any(struct record *r, int id, double number)
{
	if (id < METRIC_JOB_COUNT)
		set(r, (enum metric_id)id, number);
	else if (id >= METRIC_NETWORK_FIRST && id < METRIC_NETWORK_END)
		*network_number_ref(&r->reading.network, SOCKET_TCP,
				    (enum metric_id)id) = (uint64_t)number;
	else if (id >= METRIC_GPU_FIRST && id < METRIC_GPU_END)
		*job_gpu_number(gpu_of(r), (enum metric_id)id) = (struct value){ (uint64_t)number,
										 true };
	else if (id < METRIC_COUNT)
		*hot_file_number(&r->files.total, (enum metric_id)id) = (uint64_t)number;
	else if (id == CPU)
		use_cpu(r, number);
	else if (id == CORES)
		r->cores.count.number = (uint64_t)number;
	else if (id == CORE_BALANCE)
		r->cores.balance.number = (uint64_t)number;
	else if (id == RANK_BALANCE)
		r->ranks.balance.number = (uint64_t)number;
	else if (id == EXIT_CODE)
		r->job.exit_code = (int)number;
	else if (id == SIGNAL)
		r->job.signal = (int)number;
	else if (id == SMALL_FILES)
		r->files.small.files = (uint64_t)number;
	else
		((uint64_t *)row_of(r)->ops)[id - FILE_OPS] = (uint64_t)number;
}

static void threads_uneven(struct record *r, bool is_over)
{
	r->threads = threads_of_sum(4, 300000000000, is_over ? 93800000000 : 93700000000);
}

static void threads_even(struct record *r, bool is_over)
{
	(void)is_over;
	r->threads = threads_of_sum(4, 90000000000, 25000000000);
}

/* 6 on 4 cores, or 5. */
static void many_threads(struct record *r, bool is_over)
{
	r->threads = is_over ? threads_of_sum(6, 300000000000, 51000000000)
			     : threads_of_sum(5, 300000000000, 61000000000);
}

static void slow_rank(struct record *r, bool is_over)
{
	struct rank_times *times = section_of(r, &rank_work_section);

	for (uint64_t rank = 0; rank < 9; rank++)
		ASSERT_OK(rank_times_add(times, "made-n1", "", rank,
					 rank != 3 ? 10000000000
					 : is_over ? 13000000000
						   : 12000000000));
}

/* Without times inside calls no mount is known to be it. */
static void forget_times(struct record *r, bool is_over)
{
	(void)is_over;
	row_of(r)->has_seconds = false;
}

/* Requests of 64 KiB by io_uring. */
static void read_async(struct mount_row *row, uint64_t calls)
{
	struct op_counts counts = { .calls = calls, .bytes = calls << 16 };

	op_counts_add(&row->interfaces[INTERFACE_IO_URING][OP_READ], &counts);
	op_counts_add(&row->ops[OP_READ], &counts);
}

static void read_scratch_async(struct record *r, bool is_over)
{
	(void)is_over;
	read_async(row_of(r), 1600);
}

/* The limit is 16 GiB. */
static void killed_process(struct record *r, bool is_over)
{
	r->oom_list.items[0] = (struct oom_kill){
		.pid = 7, .rss = { UINT64_C(1073741824) * (is_over ? 7 : 9), true }
	};
	r->oom_list.count = 1;
}

static void no_limit(struct record *r, bool is_over)
{
	r->reading.values[METRIC_MEMORY_LIMIT].is_known = !is_over;
}

static void small(struct mount_row *row, enum file_op op, bool is_over)
{
	uint64_t calls = is_over ? 1000 : 999;

	row->ops[op] =
		(struct op_counts){ .calls = calls, .bytes = calls * 4096, .ns = 40000000000 };
	row->sizes[op] = (struct histogram){ .counts = { [13] = calls } };
}

static void small_reads(struct record *r, bool is_over)
{
	small(row_of(r), OP_READ, is_over);
}

static void small_writes(struct record *r, bool is_over)
{
	small(row_of(r), OP_WRITE, is_over);
}

/* 81 or 79 of 100 s, and the rest on a mount that did nothing else. */
static void share_with_another(struct record *r, enum file_op op, bool is_over)
{
	struct mount_row *other = reading_get_mount(&r->reading, ROW_MOUNT, "/made-home", "ext4");

	other->has_seconds = other->has_histograms = true;
	other->ops[op].ns = is_over ? 19000000000 : 21000000000;
	row_of(r)->ops[op].ns = 100000000000 - other->ops[op].ns;
}

static void slow_reads(struct record *r, bool is_over)
{
	share_with_another(r, OP_READ, is_over);
}

static void slow_writes(struct record *r, bool is_over)
{
	share_with_another(r, OP_WRITE, is_over);
}

/* 400 buckets of 4 s, of which the last ones are idle. */
static void leave_idle(struct record *r, size_t from)
{
	struct made_rates rates = made_rates(400);

	for (size_t i = from; i < 400; i++)
		rates.on_cpu[i] = 0;
	made_rates_put(&rates, 2, r);
}

static void idle_tail(struct record *r, bool is_over)
{
	leave_idle(r, is_over ? 250 : 251);
}

static void be_long(struct record *r, bool is_over UNUSED)
{
	r->time.elapsed_ns = UINT64_C(3000000000000);
}

static void hang(struct record *r, bool is_over)
{
	struct made_rates rates = made_rates(400);

	for (size_t i = 220; i < 400; i++)
		rates.on_cpu[i] = 0;
	rates.on_cpu[399] = is_over ? 0 : 0.2; /* it went on */
	made_rates_put(&rates, 2, r);
	r->is_final = false;
}

/* 65 MiB or 63 MiB in the second half. */
static void leak(struct record *r, bool is_over)
{
	struct made_rates rates = made_rates(400);

	for (size_t i = 0; i < 400; i++)
		rates.memory[i] = 500 * MIB + (is_over ? 65 : 63) * MIB * (double)i / 199;
	made_rates_put(&rates, 2, r);
}

/* 8 times 6 s or 4 s of 400 s without CPU time. */
static void checkpoint_cost(struct record *r, bool is_over)
{
	struct made_rates rates = made_rates(400);

	for (size_t i = 0; i < 400; i++) {
		rates.write[i] = i % 50 < 5 ? 100 * MIB : 0;
		rates.on_cpu[i] = i % 50 < (is_over ? 6 : 4) ? 0 : MADE_CORES;
	}
	made_rates_put(&rates, 0, r);
}

struct number {
	int id;
	double over, below; /* both 0: no more */
};

/* clang-format off */
#define ALWAYS(id, number) { id, number, number }
/* As lose(). */
#define LOST(cause, over, below) \
	{ CPU, 400 - 400 * (over), 400 - 400 * (below) }, { cause, 400 * (over), 400 * (below) }
/* Nearly all of 100 s. */
#define IDLE(cause, over, below) \
	ALWAYS(METRIC_CPU_USER, 3), ALWAYS(METRIC_CPU_SYSTEM, 2), { cause, over, below }
/* Two busy threads on one of 16 cores and one on each of the others but one: too few wait for a
 * share of 10 %. */
#define PAIR ALWAYS(METRIC_CPU_ALLOCATED, 16), ALWAYS(CPU, 1500), ALWAYS(CORES, 15)
#define SMALL_FILES_READ \
	ALWAYS(OPS(OP_OPEN, calls), 10000), ALWAYS(OPS(OP_READ, calls), 10000), \
	ALWAYS(OPS(OP_READ, bytes), 500 * MIB)
#define FILES_READ(bytes_read, calls_made) \
	ALWAYS(OPS(OP_READ, ns), 40e9), ALWAYS(METRIC_FILE_READ_BYTES, bytes_read), \
	ALWAYS(METRIC_FILE_READ_CALLS, calls_made)

static const struct rule_case {
	const char *id, *text; /* part of what is said */
	struct number numbers[5];
	void (*make)(struct record *r, bool is_over); /* what no number can say; before the numbers */
	const char *directive;
} cases[] = {
	{ "cpu-low", "2.6 of 4 cores were busy on average: 65 % of the core time.",
	  { { CPU, 259, 261 } } },
	{ "serial", "Looks single-threaded: 0.5 of 4 cores were busy on average.",
	  { ALWAYS(CPU, 50), { CORES, 1, 2 } },
	  .directive = "#SBATCH --ntasks=1 --cpus-per-task=1" },
	/* two threads on one core are not serial */
	{ "serial", "single-threaded: 0.9 of 4 cores",
	  { ALWAYS(CPU, 90), ALWAYS(CORES, 1), { METRIC_CPU_RUN_QUEUE, 9.9, 10.1 } },
	  .directive = "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "like-serial", "single-threaded: 0.9 of 4 cores", { { CPU, 86, 84 } },
	  .directive = "#SBATCH --ntasks=1 --cpus-per-task=1" },
	/* who waits for a core a fifth of the time may be more than one thread */
	{ "like-serial", "single-threaded: 0.8 of 4 cores",
	  { ALWAYS(CPU, 80), { METRIC_CPU_RUN_QUEUE, 19.9, 20.1 } },
	  .directive = "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "cores-never-used", "1 of 4 cores did next to nothing.", { { CORES, 3, 4 } } },
	{ "cores-pinned", "1 of 4 cores; waiting there took 20 % of the working time (23 s)",
	  { ALWAYS(CPU, 90), ALWAYS(CORES, 1), { METRIC_CPU_RUN_QUEUE, 23, 22 } } },
	{ "cores-pinned", "15 of 16 cores; waiting there took 3 % of the working time (51 s)",
	  { PAIR, { METRIC_CPU_RUN_QUEUE, 51, 49 } } },
	{ "cores-never-used", "1 of 16 cores did next to nothing.",
	  { PAIR, { METRIC_CPU_RUN_QUEUE, 49, 51 } } },
	/* one is full, and two threads want it; two are full, and one is next to idle: 80 of
	 * 100 s, by the busiest's 98.8 or 87.9 */
	{ "cores-crowded",
	  "Waiting for a core took 22 % of the working time (1 m 30 s), while only 3.2 of 4 cores were busy and one of them was full (99 %)",
	  { ALWAYS(CPU, 320), ALWAYS(METRIC_CPU_RUN_QUEUE, 90), { CORE_BALANCE, 8100, 9100 } } },
	{ "cores-crowded", "Waiting for a core took 14 % of the working time (51 s)",
	  { ALWAYS(CPU, 320), ALWAYS(CORE_BALANCE, 8100), { METRIC_CPU_RUN_QUEUE, 51, 49 } } },
	{ "cores-taken", "The job used only 2 of 4 cores",
	  { ALWAYS(CPU, 200), { METRIC_CPU_RUN_QUEUE, 51, 49 } } },
	/* what waits for cores of which one is full need not wait for others' work: 50 of 100 s,
	 * by the busiest's 92.6 or 96.2 */
	{ "cores-taken",
	  "other programs, the hypervisor or a quota had the rest.",
	  { ALWAYS(CPU, 200), ALWAYS(METRIC_CPU_RUN_QUEUE, 60), { CORE_BALANCE, 5400, 5200 } } },
	/* one that stopped it would look the same */
	{ "cores-taken", "other programs, the hypervisor",
	  { ALWAYS(CPU, 200), ALWAYS(METRIC_CPU_RUN_QUEUE, 51),
	  { METRIC_CPU_THROTTLED, 2, 2.1 } } },
	/* nothing is lost where the cores were busy */
	{ "cores-full",
	  "6.8 wanted to run at a time, on 4 cores, which were busy all the time (95 %)",
	  { { CPU, 380, 379 }, ALWAYS(METRIC_CPU_RUN_QUEUE, 300) } },
	{ "cpu-contended", "6.8 wanted to run at a time",
	  { { CPU, 379, 380 }, ALWAYS(METRIC_CPU_RUN_QUEUE, 300) } },
	{ "cpu-contended", "6 wanted to run at a time, on 4 cores; waiting for one took 40 %",
	  { { METRIC_CPU_RUN_QUEUE, 241, 239 } } },
	{ "throttled", "stopped the job for 19 s: 5 %", { { METRIC_CPU_THROTTLED, 19, 18.9 } } },
	/* beside 360 s of CPU time */
	{ "stolen", "took 19 s from threads that were on a core: 5 % of the working time",
	  { { METRIC_CPU_STOLEN, 19, 18 } } },
	{ "page-faults",
	  "40 % of the CPU time was spent in the kernel (2 m 14 s), with 20 M page faults",
	  { ALWAYS(METRIC_CPU_USER, 200), { METRIC_CPU_SYSTEM, 134, 133 },
	  ALWAYS(METRIC_MEMORY_MINOR_FAULTS, 2e7) } },
	{ "page-faults", "with 20 M page faults",
	  { ALWAYS(METRIC_CPU_USER, 200), ALWAYS(METRIC_CPU_SYSTEM, 134),
	  { METRIC_MEMORY_MINOR_FAULTS, 2e7, 6.6e6 } } },
	{ "system-time",
	  "(2 m 14 s): 20 M reads and writes of files, 10 calls on metadata (open, stat, unlink and the like), 1,000 page faults.",
	  { ALWAYS(METRIC_CPU_USER, 200), { METRIC_CPU_SYSTEM, 134, 133 },
	  ALWAYS(METRIC_MEMORY_MINOR_FAULTS, 1000), ALWAYS(OPS(OP_READ, calls), 2e7) } },
	{ "threads-crowded", "More threads than cores (6 on 4): they waited for each other at barriers or locks, 25 % of the working time",
	  { ALWAYS(CPU, 300), ALWAYS(METRIC_BLOCKED_LOCK, 100), ALWAYS(METRIC_CPU_POLLING, 1) },
	  .make = many_threads },
	{ "cache-misses", "completed 61 instructions in 100 cycles, and 10.1 of 1,000",
	  { ALWAYS(METRIC_CPU_INSTRUCTIONS, 0.61e12),
	  { METRIC_CPU_LLC_MISSES, 0.61e9 * 10.1, 0.61e9 * 9.9 } } },
	{ "cache-misses", "completed 99 instructions in 100 cycles, and 15.2 of 1,000",
	  { ALWAYS(METRIC_CPU_LLC_MISSES, 1.5e10),
	  { METRIC_CPU_INSTRUCTIONS, 0.99e12, 1.01e12 } } },
	/* what less than half of the CPU time says is nobody's */
	{ "cache-misses", "waited for memory",
	  { ALWAYS(METRIC_CPU_INSTRUCTIONS, 0.61e12), ALWAYS(METRIC_CPU_LLC_MISSES, 0.61e9 * 10.1),
	  { METRIC_CPU_COUNTERS_ENABLED, 181, 179 } } },
	{ "few-instructions", "completed 99 instructions in 100 cycles: they were busy",
	  { { METRIC_CPU_INSTRUCTIONS, 0.99e12, 1.01e12 } } },
	{ "spin-wait", "spun for 25 % of the CPU time (1 m 15 s): they waited or communicated in libraries of MPI or OpenMP",
	  { ALWAYS(CPU, 300), ALWAYS(METRIC_CPU_EMPTY_POLLS, 0), ALWAYS(METRIC_CPU_YIELDS, 5),
	    { METRIC_CPU_POLLING, 75, 74 } } },
	{ "threads-uneven",
	  "The 4 threads of the busiest process had uneven work: the mean was 80 %",
	  { ALWAYS(METRIC_CPU_USER, 300) }, .make = threads_uneven },
	{ "threads-in-turn",
	  "The 4 threads of the busiest process worked one after the other: 0.9 of 4 cores were busy, while they waited 4 m 11 s",
	  { ALWAYS(CPU, 90), { METRIC_BLOCKED_THREADS, 251, 249 } }, .make = threads_even },
	{ "lock-storm", "and 25 % of the CPU time was spent in the kernel",
	  { { METRIC_CPU_USER, 299, 301 }, ALWAYS(METRIC_CPU_SYSTEM, 100),
	  ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 5000000), ALWAYS(METRIC_BLOCKED_THREADS, 11) } },
	{ "rank-differs",
	  "Rank 3 on made-n1 computed for 13 s, each of the 8 others for about 10 s (scatter 0 s).",
	  .make = slow_rank },
	{ "ranks-uneven",
	  "4 ranks had uneven work: without the time that they spun while they waited, the mean was 80 %",
	  { { RANK_BALANCE, 7999, 8000 } } },
	{ "lost-to-reads",
	  "Reads of files took 21 % of the working time, and waited 1 m 24 s for storage.",
	  { LOST(METRIC_BLOCKED_FILE_READ, 0.21, 0.19) }, .make = forget_times },
	{ "lost-to-writes", "Writes to files took 21 % of the working time",
	  { LOST(METRIC_BLOCKED_FILE_WRITE, 0.21, 0.19) }, .make = forget_times },
	{ "lost-to-metadata", "took 21 % of the working time",
	  { LOST(METRIC_BLOCKED_FILE_META, 0.21, 0.19) } },
	{ "lost-to-sync",
	  "Sync (fsync and the like) took 21 % of the working time, and waited 1 m 24 s for storage; 100 MiB were written.",
	  { LOST(METRIC_BLOCKED_SYNC, 0.21, 0.19) } },
	{ "lost-to-async",
	  "Waiting for io_uring or libaio took 21 % of the working time (1 m 24 s); 1,600 requests of 64 KiB on /made-scratch, 1 MiB/s.",
	  { LOST(METRIC_BLOCKED_FILE_ASYNC, 0.21, 0.19) }, .make = read_scratch_async },
	{ "async-elsewhere",
	  "Threads waited 1 m 24 s for io_uring or libaio, of whose requests 0 on files were counted.",
	  { LOST(METRIC_BLOCKED_FILE_ASYNC, 0.21, 0.19) } },
	{ "lost-to-locks", "at locks or barriers: 21 % of the working time",
	  { LOST(METRIC_BLOCKED_LOCK, 0.21, 0.19), ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 10000) } },
	/* and is no matter of too many threads */
	{ "lock-storm",
	  "waited for each other 3.6 M times, with 100 µs of CPU time in between, and 50 % of the CPU",
	  { ALWAYS(METRIC_CPU_USER, 180), ALWAYS(METRIC_CPU_SYSTEM, 180),
	  { METRIC_CPU_VOLUNTARY_SWITCHES, 3600001, 3599999 }, ALWAYS(METRIC_BLOCKED_THREADS, 11),
	  ALWAYS(METRIC_CPU_RUN_QUEUE, 300) } },
	{ "lock-held", "It waited 1 m 21 s for locks, and computed for 5 s in 1 m 40 s.",
	  { IDLE(METRIC_BLOCKED_LOCK, 81, 79) } },
	{ "lost-to-network", "41 % of the working time",
	  { LOST(METRIC_BLOCKED_NETWORK, 0.41, 0.39), ALWAYS(METRIC_NETWORK_RECEIVED_CALLS, 7) } },
	{ "tcp-retransmits", "TCP sent 201 of 20,000 segments again: 1 %.",
	  { ALWAYS(METRIC_NETWORK_SEGMENTS, 20000), { METRIC_NETWORK_RETRANSMITS, 201, 199 } } },
	{ "short-connections",
	  "1,000 connections were opened, to send 1 MiB and receive 60 MiB; waiting for the network took 11 %",
	  { LOST(METRIC_BLOCKED_NETWORK, 0.11, 0.11), { METRIC_NETWORK_OPENED, 1000, 999 },
	  ALWAYS(METRIC_NETWORK_SENT_BYTES, MIB),
	  ALWAYS(METRIC_NETWORK_RECEIVED_BYTES, 60 * MIB) } },
	{ "small-messages",
	  "200,000 messages of 1023 B were sent, and waiting for the network took 21 %",
	  { LOST(METRIC_BLOCKED_NETWORK, 0.21, 0.21), ALWAYS(METRIC_NETWORK_SENT_CALLS, 200000),
	  { METRIC_NETWORK_SENT_BYTES, 2e5 * 1023, 2e5 * 1024 } } },
	{ "long-round-trips",
	  "Round trips took 11 ms on average, and waiting for the network took 21 %",
	  { LOST(METRIC_BLOCKED_NETWORK, 0.21, 0.21), ALWAYS(METRIC_NETWORK_ROUND_TRIPS, 1000),
	  { METRIC_NETWORK_ROUND_TRIP_SECONDS, 11e9, 10e9 } } },
	{ "lost-to-page-faults", "1,001 page faults that read from storage took 11 %",
	  { LOST(METRIC_BLOCKED_PAGE_FAULT, 0.11, 0.09),
	  ALWAYS(METRIC_MEMORY_MAJOR_FAULTS, 1001) } },
	{ "memory-low", "11.1 GiB of 16 GiB of memory were used.",
	  { { METRIC_MEMORY_PEAK, 11.1 * GIB, 11.3 * GIB } }, .directive = "#SBATCH --mem=14G" },
	{ "memory-near-limit", "14.5 GiB of 16 GiB",
	  { { METRIC_MEMORY_PROCESS_PEAK, 14.5 * GIB, 14.3 * GIB } },
	  .directive = "#SBATCH --mem=18G" },
	{ "memory-stalled", "Nothing ran for 10 s (10 % of the time)",
	  { { METRIC_PRESSURE_MEMORY_STALLED, 10, 9.9 } } },
	{ "storage-stalled", "Nothing ran for 20 s (20 % of the time)",
	  { { METRIC_PRESSURE_IO_STALLED, 20, 19.9 } } },
	{ "out-of-memory", "A process was killed: out of memory (limit 16 GiB, 1 killed).",
	  { { METRIC_MEMORY_OOM_KILLS, 1, 0 } }, .directive = "#SBATCH --mem=24G  # at least" },
	{ "out-of-memory-together",
	  "A process was killed: out of memory. It had 7 GiB of 16 GiB; several processes filled the memory together.",
	  { ALWAYS(METRIC_MEMORY_OOM_KILLS, 1) }, .make = killed_process,
	  .directive = "#SBATCH --mem=24G  # at least" },
	{ "out-of-memory-on-node", "A process was killed: out of memory (1 killed).",
	  { ALWAYS(METRIC_MEMORY_OOM_KILLS, 1) }, .make = no_limit },
	{ "crashed-command", "The command died of SIGSEGV.",
	  { ALWAYS(METRIC_TASKS_CRASHED, 1), ALWAYS(EXIT_CODE, -1), { SIGNAL, 11, 9 } } },
	{ "crashed-unnoticed",
	  "Crashed processes: 3 (SIGSEGV, SIGABRT or the like), although the command ended with exit code 0.",
	  { ALWAYS(METRIC_TASKS_CRASHED, 3), { EXIT_CODE, 0, 139 } } },
	{ "crashed-inside", "A process that it had started died of SIGSEGV.",
	  { ALWAYS(METRIC_TASKS_CRASHED, 1), { EXIT_CODE, 139, 1 } } },
	{ "crashed", "Crashed processes: 1 (SIGSEGV, SIGABRT or the like).",
	  { ALWAYS(EXIT_CODE, 1), { METRIC_TASKS_CRASHED, 1, 0 } } },
	{ "timed-out", "exit code 124, as timeout(1) does", { { EXIT_CODE, 124, 123 } } },
	{ "failed", "The command failed: exit code 3.", { { EXIT_CODE, 3, 0 } } },
	{ "ended-by-signal", "The command was ended by SIGTERM.",
	  { ALWAYS(EXIT_CODE, -1), { SIGNAL, 15, 0 } } },
	{ "stopped", "It was stopped for 31 s", { { METRIC_BLOCKED_STOPPED, 31, 29 } } },
	{ "killed", "The command was killed by SIGKILL, but not because its memory ran out.",
	  { ALWAYS(EXIT_CODE, -1), ALWAYS(SIGNAL, 9), { METRIC_MEMORY_OOM_KILLS, 0, 1 } } },
	{ "killed-inside", "A process that it had started was killed by SIGKILL, but not",
	  { { EXIT_CODE, 137, 136 } } },
	{ "many-processes", "20,000 processes and threads ran, for 18 ms of CPU time each",
	  { ALWAYS(METRIC_CPU_USER, 280), ALWAYS(METRIC_CPU_SYSTEM, 80),
	  { METRIC_TASKS_ENDED, 20000, 17000 } } },
	{ "small-reads", "1,000 reads of 4 KiB on /made-scratch took 11 % of the working time.",
	  .make = small_reads },
	{ "small-writes", "1,000 writes of 4 KiB on /made-scratch took 11 % of the working time.",
	  .make = small_writes },
	{ "slow-reads", "Reads on /made-scratch took 20 % of the working time: 100 MiB at 1 MiB/s.",
	  { LOST(METRIC_BLOCKED_FILE_READ, 0.25, 0.25) }, .make = slow_reads },
	{ "slow-writes",
	  "Writes on /made-scratch took 20 % of the working time: 100 MiB at 1 MiB/s.",
	  { LOST(METRIC_BLOCKED_FILE_WRITE, 0.25, 0.25) }, .make = slow_writes },
	{ "metadata-heavy",
	  "5,010 metadata calls on /made-scratch (open, stat, unlink and the like) took 20 %",
	  { ALWAYS(OPS(OP_STAT, calls), 5000), { OPS(OP_STAT, ns), 73e9, 71e9 } } },
	{ "fsync-storm",
	  "100 calls of fsync on /made-scratch, for 100 writes, took 11 % of the working time.",
	  { { OPS(OP_FSYNC, calls), 100, 99 }, ALWAYS(OPS(OP_FSYNC, ns), 40e9) } },
	{ "failed-opens",
	  "1,001 of 2,000 opens on /made-scratch failed (50 %); opens took 11 % of the working time.",
	  { ALWAYS(OPS(OP_OPEN, calls), 2000), { OPS(OP_OPEN, errors), 1001, 999 },
	  ALWAYS(OPS(OP_OPEN, ns), 40e9) } },
	{ "not-found-storm",
	  "1,010 of 2,010 metadata calls on /made-scratch asked for files that do not exist; such calls took 11 %",
	  { ALWAYS(OPS(OP_STAT, calls), 2000), { OPS(OP_STAT, errors), 1010, 1004 },
	  { OPS(OP_STAT, not_found), 1010, 1004 }, ALWAYS(OPS(OP_STAT, ns), 40e9) } },
	/* who packs them has nothing to pack */
	{ "small-files-copied", "at most 10,000 on /made-scratch, 30.7 KiB read of each",
	  { ALWAYS(OPS(OP_OPEN, calls), 70000), ALWAYS(OPS(OP_READ, calls), 10000), ALWAYS(OPS(OP_READ, bytes), 300 * MIB),
	  ALWAYS(OPS(OP_READ, ns), 40e9), { OPS(OP_WRITE, bytes), 151 * MIB, 149 * MIB } } },
	/* to read them takes longer than to open them */
	{ "small-files-read",
	  "for 51.2 KiB each; reads and writes took 10 % of the working time, metadata calls 0 %",
	  { SMALL_FILES_READ, { OPS(OP_READ, ns), 37e9, 35e9 } } },
	/* beside 0.1 s of writes */
	{ "small-files-read", "10,000 opens of files on /made-scratch",
	  { SMALL_FILES_READ, ALWAYS(OPS(OP_READ, ns), 37e9), { OPS(OP_OPEN, ns), 18e9, 19e9 } } },
	{ "open-close-storm", "10,000 opens on /made-scratch",
	  { SMALL_FILES_READ, ALWAYS(OPS(OP_READ, ns), 37e9), { OPS(OP_OPEN, ns), 19e9, 18e9 } } },
	{ "open-close-storm", "10,000 opens on /made-scratch, for 51.2 KiB each",
	  { { OPS(OP_OPEN, calls), 10000, 9999 }, ALWAYS(OPS(OP_OPEN, ns), 40e9),
	  ALWAYS(OPS(OP_READ, bytes), 500 * MIB) } },
	{ "read-after-write", "101 MiB of 200 MiB",
	  { FILES_READ(200 * MIB, 200), { METRIC_FILE_READ_AFTER_WRITE, 101 * MIB, 99 * MIB } } },
	{ "read-again", "2.1 GiB of 4 GiB",
	  { FILES_READ(4 * GIB, 4096), { METRIC_FILE_REREAD, 2.1 * GIB, 1.9 * GIB } } },
	{ "random-reads", "21 % of the bytes",
	  { FILES_READ(100 * MIB, 5000), { METRIC_FILE_READ_RANDOM, 21 * MIB, 19 * MIB },
	  { METRIC_FILE_READ_SEQUENTIAL, 79 * MIB, 81 * MIB } } },
	{ "many-small-files", "10,000 files",
	  { ALWAYS(OPS(OP_STAT, calls), 100), ALWAYS(OPS(OP_STAT, ns), 40e9),
	  { SMALL_FILES, 10000, 9999 } } },
	{ "slept", "Its threads slept for 51 s in all and worked for 5 s, in 1 m 40 s.",
	  { IDLE(METRIC_BLOCKED_SLEEP, 51, 49) } },
	/* 49 s of work beside 60 s asleep, or 51 */
	{ "slept", "Its threads slept for 1 m 00 s in all and worked for 49 s, in 1 m 40 s.",
	  { IDLE(METRIC_BLOCKED_SLEEP, 60, 60), { METRIC_CPU_USER, 47, 49 } } },
	{ "waited-for-messages",
	  "worked for 5 s and waited for the network (poll, select, epoll) for 1 m 30 s; 1 MiB were received, 0 B sent.",
	  { IDLE(METRIC_BLOCKED_POLL, 90, 90), { METRIC_NETWORK_RECEIVED_BYTES, MIB, MIB - 1 } } },
	{ "waited-for-events", "and waited for events (poll, select, epoll) for 51 s, added up over all of them.",
	  { IDLE(METRIC_BLOCKED_POLL, 51, 49) } },
	{ "waited-for-input", "and waited for input (a pipe, a terminal) for 51 s.",
	  { IDLE(METRIC_BLOCKED_PIPE, 51, 49) } },
	{ "waited-for-threads", "its threads worked for 5 s and waited for each other for 51 s.",
	  { IDLE(METRIC_BLOCKED_THREADS, 51, 49) } },
	{ "pipeline", "Its processes waited 51 s for each other in pipes, and kept 1.5 of 4",
	  { ALWAYS(CPU, 150), { METRIC_BLOCKED_PIPE, 51, 49 } } },
	{ "hang", "Nothing was done for 12 m 00 s, after 4 cores had been busy.", .make = hang },
	{ "idle-tail", "Nothing was done in the last 10 m 00 s: 38 % of the time.",
	  .make = idle_tail },
	{ "gpu-without-process", "For 1 m 01 s of the 1 m 40 s of its GPUs",
	  { ALWAYS(METRIC_GPU_HELD, 100e9), { METRIC_GPU_UNUSED, 61e9, 59e9 } } },
	{ "gpu-idle-tail", "The GPUs that the job held (2 on average) did nothing in the last 11 m 00 s: 22 % of the time.",
	  .make = be_long,
	  .numbers = { ALWAYS(METRIC_GPU_HELD, 6000e9), ALWAYS(METRIC_GPU_BUSY, 4000e9),
	    ALWAYS(METRIC_GPU_LAST_HELD, 1789000000e9), { METRIC_GPU_LAST_BUSY, 1788999340e9, 1788999460e9 } } },
	{ "gpu-unused", "The GPUs were busy for 500 ms of the 1 m 40 s",
	  { ALWAYS(METRIC_GPU_HELD, 100e9), { METRIC_GPU_BUSY, 0.5e9, 1.5e9 } } },
	{ "gpu-starved", "busy for 49 s of 1 m 40 s, while all cores were",
	  { ALWAYS(CPU, 380), ALWAYS(METRIC_GPU_HELD, 100e9), { METRIC_GPU_BUSY, 49e9, 51e9 } } },
	{ "gpu-throttled", "slowed its GPUs down for 11 s of 3 m 20 s.",
	  { ALWAYS(METRIC_GPU_HELD, 200e9), { METRIC_GPU_THROTTLED, 11e9, 9e9 } } },
	{ "gpu-memory-low", "At most 19 GiB of a GPU's 80 GiB were used.",
	  { ALWAYS(METRIC_GPU_BUSY, 50e9), ALWAYS(METRIC_GPU_MEMORY_TOTAL, 80 * GIB), { METRIC_GPU_MEMORY_PEAK, 19 * GIB, 21 * GIB } } },
	{ "leak", "Memory grew steadily by 83.6 KiB/s: 65.3 MiB in the second half.",
	  .make = leak },
	{ "checkpoint-cost",
	  "8 bursts of writes, one each 50 s, of 500 MiB on average, cost 12 % of the time.",
	  .make = checkpoint_cost },
};
/* clang-format on */

static void set_numbers(struct record *r, const struct number *numbers, size_t count, bool is_over)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers[i].over != 0 || numbers[i].below != 0)
			set_any(r, numbers[i].id, is_over ? numbers[i].over : numbers[i].below);
	}
}

static void make(struct record *r, const struct rule_case *c, bool is_over)
{
	if (c->make)
		c->make(r, is_over);
	set_numbers(r, c->numbers, ARRAY_SIZE(c->numbers), is_over);
}

/* The first case of this rule, over its threshold. */
static void make_over(struct record *r, const char *id)
{
	size_t i = 0;

	while (strcmp(cases[i].id, id) != 0)
		i++;
	make(r, &cases[i], true);
}

/* ---- asking ---- */

static struct rules *rules_of(const char *text)
{
	struct rules *rules = NULL;
	struct error err = {};
	int r = text ? rules_parse(text, strlen(text), "made.yaml", &rules, &err)
		     : rules_load_built_in(&rules, &err);

	test_string(r < 0 ? err.text : "", "", "rules", __FILE__, __LINE__);
	return rules;
}

/* With what is found in the record's timeline, until the next call. */
static int ask(const struct rules *rules, const struct record *r, struct insights *ret)
{
	static struct patterns patterns;

	ASSERT_OK(patterns_find(&rules->pattern_settings, r, &patterns));
	return insights_find(rules, r, &patterns, ret);
}

static const struct insight *find(const struct insights *insights, const char *id)
{
	for (size_t i = 0; i < insights->count; i++) {
		if (strcmp(insights->items[i].rule->id, id) == 0)
			return &insights->items[i];
	}
	return NULL;
}

static const char *find_unknown(const struct insights *insights, const char *id)
{
	for (size_t i = 0; i < insights->unknown_count; i++) {
		if (strcmp(insights->unknown[i].rule->id, id) == 0)
			return insights->unknown[i].names;
	}
	return NULL;
}

TEST(a_calm_job_is_not_worth_a_word)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	ASSERT_OK(ask(rules, r, &insights));
	test_string(insights.count ? insights.items[0].text : "", "", "insights", __FILE__,
		    __LINE__);
	/* of files one by one there is nothing to divide by, it held no GPU, and no rank is known
	 */
	for (size_t i = 0; i < insights.unknown_count; i++) {
		if (!strstr(insights.unknown[i].names, "gpu_") &&
		    !strstr(insights.unknown[i].names, "other_ranks"))
			ASSERT_CONTAINS(insights.unknown[i].names, "files_");
	}
}

static void check_case(const struct rules *rules, size_t i, bool is_over)
{
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *insight;

	make(r, &cases[i], is_over);
	ASSERT_OK(ask(rules, r, &insights));
	insight = find(&insights, cases[i].id);
	test_true(!insight == !is_over, cases[i].id,
		  is_over ? "it should be said" : "it should not be said", 0);
	if (!is_over)
		return;
	ASSERT_CONTAINS(insight->text, cases[i].text);
	test_string(insight->directive ? insight->directive : "",
		    cases[i].directive ? cases[i].directive : "", cases[i].id, __FILE__, __LINE__);
	ASSERT(!insight->rule->advice || insight->advice);
	ASSERT(!insight->rule->lost || insight->lost.is_known);
}

TEST(each_rule_speaks_over_its_threshold_and_not_below)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case(rules, i, true);
		check_case(rules, i, false);
	}
}

TEST(each_rule_has_a_case)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);

	for (size_t i = 0; i < rules->insights.count; i++) {
		size_t at = 0;

		while (at < ARRAY_SIZE(cases) &&
		       strcmp(cases[at].id, rules->insights.items[i].id) != 0)
			at++;
		test_true(at < ARRAY_SIZE(cases), rules->insights.items[i].id, __FILE__, __LINE__);
	}
}

TEST(of_an_empty_record_nothing_is_said_and_all_is_unknown)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_(insights_clear) struct insights insights = {};

	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, (uint64_t)0);
	ASSERT_EQ((uint64_t)insights.unknown_count, (uint64_t)rules->insights.count);
	ASSERT_STREQ(find_unknown(&insights, "small-reads"), "io");
	ASSERT_CONTAINS(find_unknown(&insights, "throttled"), "throttled_share");
}

TEST(without_a_limit_no_memory_is_advised)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	make_over(r, "memory-low");
	r->reading.values[METRIC_MEMORY_LIMIT].is_known = false;
	set(r, METRIC_MEMORY_OOM_KILLS, 2);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(!find(&insights, "memory-low"));
	ASSERT_CONTAINS(find_unknown(&insights, "memory-low"), "memory_limit_bytes");
	/* that it ran out is known all the same */
	ASSERT(!find(&insights, "out-of-memory"));
	ASSERT(find(&insights, "out-of-memory-on-node") &&
	       !find(&insights, "out-of-memory-on-node")->directive);
}

static bool is_too_short(const struct rules *rules, const struct record *r)
{
	_cleanup_(insights_clear) struct insights insights = {};

	ASSERT_OK(ask(rules, r, &insights));
	return insights.is_too_short;
}

TEST(what_would_stand_out_in_a_longer_job_makes_it_too_short_to_judge)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();

	ASSERT(!is_too_short(rules, r));
	r->time.elapsed_ns = 4900000000;
	set(r, METRIC_CPU_USER, 14);
	set(r, METRIC_CPU_SYSTEM, 1);
	ASSERT(!is_too_short(rules, r)); /* three quarters of four cores are well used */
	set(r, METRIC_CPU_USER, 8);
	ASSERT(is_too_short(rules, r));
	r->time.elapsed_ns = 5000000000;
	ASSERT(!is_too_short(rules, r)); /* then it is said */
	r->time.elapsed_ns = 999999999;
	set(r, METRIC_CPU_USER, 2.5);
	ASSERT(is_too_short(rules, r)); /* whatever it did */
}

#define PER_MOUNT                                                                            \
	"rules:\n  - id: reads\n    each: mount\n    severity: info\n    source: the site\n" \
	"    when: mount_read_seconds > 1\n    text: \"{mount}: {mount_read_seconds}\"\n"

TEST(each_mount_is_asked_and_rows_that_are_none_are_not)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(PER_MOUNT);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	struct mount_row *row;

	row_of(r)->ops[OP_READ].ns = 2000000000;
	row = reading_get_mount(&r->reading, ROW_PIPE, "(pipe)", NULL);
	row->has_seconds = true;
	row->ops[OP_READ].ns = 9000000000;
	(void)reading_get_mount(&r->reading, ROW_MOUNT, "/", "ext4"); /* its clock was off */
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, (uint64_t)1);
	ASSERT_STREQ(insights.items[0].text, "/made-scratch: 2 s");
	ASSERT_STREQ(find_unknown(&insights, "reads"), "mount_read_seconds");
}

/* As far as a call waited for a core, it was not slow. */
TEST(what_calls_lost_is_a_part_of_the_working_time)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *small;

	make_over(r, "small-reads");
	row_of(r)->ops[OP_READ].ns = UINT64_C(60000000000);
	set_any(r, METRIC_CPU_USER, 10);
	set_any(r, METRIC_CPU_SYSTEM, 10);
	set_any(r, METRIC_CPU_RUN_QUEUE, 60);
	ASSERT_OK(ask(rules, r, &insights));
	small = find(&insights, "small-reads");
	ASSERT(small && small->lost.is_known);
	ASSERT(small->lost.number < (double)row_of(r)->ops[OP_READ].ns / 1e9);
}

TEST(a_rule_names_so_many_mounts_at_most)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(PER_MOUNT);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	for (int i = 0; i < 20; i++) {
		char name[16];
		struct mount_row *row;

		snprintf(name, sizeof(name), "/%d", i);
		row = reading_get_mount(&r->reading, ROW_MOUNT, name, "ext4");
		row->has_seconds = true;
		row->ops[OP_READ].ns = 2000000000;
	}
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, (uint64_t)INSIGHTS_PER_RULE_MAX);
}

TEST(rules_look_at_the_mounts_that_took_most_time)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(PER_MOUNT);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	for (int i = 0; i < 300; i++) {
		char name[16];
		struct mount_row *row;

		snprintf(name, sizeof(name), "/%d", i);
		row = reading_get_mount(&r->reading, ROW_MOUNT, name, "ext4");
		row->has_seconds = true;
		row->ops[OP_READ].ns = i == 293 ? 2000000000 : 1000;
	}
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, UINT64_C(1));
	ASSERT_STREQ(insights.items[0].subject.row->mount, "/293");
}

TEST(a_document_has_the_evidence)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	struct made_text t = {};

	make_over(r, "throttled");
	ASSERT_OK(ask(rules, r, &insights));
	insights_format(&insights, made_text_document(&t, DOCUMENT_INDENTED));
	ASSERT_TOLD(made_text_end(&t), "\"id\": \"throttled\"", "\"lost_seconds\": 19",
		    "\"evidence\": {\"cpu_throttled_seconds\": 19, \"throttled_share\": 0.05",
		    "\"condition\": \"cpu_throttled_seconds > 0\"");
}

TEST(of_one_group_only_the_most_exact_speaks)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	make_over(r, "serial");
	ASSERT_OK(insights_find(rules, r, NULL, &insights));
	ASSERT(!find(&insights, "cpu-low") && !find(&insights, "cores-never-used"));
	ASSERT_EQ(insights.count, (size_t)1);
	ASSERT_STREQ(insights.items[0].rule->id, "serial");
}

/* ---- where it is not known on which mounts operations by path were ---- */

static struct mount_row *unresolved_of(struct record *r)
{
	struct mount_row *row = reading_get_mount(&r->reading, ROW_UNRESOLVED, "(unresolved)",
						  NULL);

	row->has_seconds = row->has_histograms = true;
	return row;
}

/* What failed has no mount, and what went well has. */
static void search_nowhere(struct record *r, uint64_t found, uint64_t failed)
{
	row_of(r)->ops[OP_OPEN] = (struct op_counts){ .calls = found, .ns = 1000000000 };
	unresolved_of(r)->ops[OP_OPEN] = (struct op_counts){
		.calls = failed, .errors = failed, .not_found = failed, .ns = 49000000000
	};
}

TEST(without_their_mounts_failures_are_told_of_all_together)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	_cleanup_free_ char *text = NULL;
	struct made_text t = {};

	search_nowhere(r, 1400, 1600);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_STREQ(find(&insights, "failed-opens")->text,
		     "1,600 of 3,000 opens failed (53 %); opens took 14 % of the working time.");
	ASSERT(!find(&insights, "not-found-storm")); /* the same, said before */
	insights_format(&insights, made_text_document(&t, DOCUMENT_INDENTED));
	text = made_text_end(&t);
	ASSERT_CONTAINS(text, "\"mount\": null");
	ASSERT_LACKS(text, "(unresolved)");
}

#define SHARES                                                                                \
	"rules:\n  - id: shares\n    each: mount\n    severity: info\n    source: the site\n" \
	"    when: mount_open_fail_share > 1 %\n    text: \"{mount}: {mount_open_fail_share}\"\n"

TEST(a_sites_own_rule_knows_no_share_of_a_mount_either)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(SHARES);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights unplaced = {}, placed = {};

	make_over(r, "failed-opens");
	ASSERT_OK(ask(rules, r, &placed));
	ASSERT_STREQ(find(&placed, "shares")->text, "/made-scratch: 50 %");
	search_nowhere(r, 1400, 1600);
	ASSERT_OK(ask(rules, r, &unplaced));
	ASSERT_EQ((uint64_t)unplaced.count, (uint64_t)0);
	ASSERT_STREQ(find_unknown(&unplaced, "shares"), "mount_open_fail_share");
}

/* ---- what is said of a record, and what is not ---- */

static void end_early(struct record *r)
{
	r->time.elapsed_ns = 4900000000;
	set(r, METRIC_CPU_USER, 0);
	set(r, METRIC_CPU_SYSTEM, 1);
}

static void compute_little_in_a_pipeline(struct record *r)
{
	make_over(r, "pipeline");
	make_over(r, "fsync-storm");
	row_of(r)->ops[OP_FSYNC].calls = 0;
	use_cpu(r, 49);
}

static void search_and_find(struct record *r)
{
	search_nowhere(r, 2000, 1600); /* 44 % */
}

static void fail_on_a_mount(struct record *r)
{
	struct mount_row *baseline = reading_get_mount(&r->reading, ROW_MOUNT, "/made-home", "nfs");

	make_over(r, "failed-opens");
	baseline->has_seconds = baseline->has_histograms = true;
	baseline->ops[OP_OPEN] = (struct op_counts){ .calls = 900000, .ns = 1000000000 };
	/* an address that cannot be read is nobody's, on any kernel */
	unresolved_of(r)->ops[OP_OPEN] =
		(struct op_counts){ .calls = 2000, .errors = 2000, .ns = 20000000000 };
}

static void unlink_somewhere(struct record *r)
{
	row_of(r)->ops[OP_CLOSE] = (struct op_counts){ .calls = 3000, .ns = 40000000000 };
	unresolved_of(r)->ops[OP_UNLINK] = (struct op_counts){ .calls = 3000, .ns = 40000000000 };
}

/* A short run whose interpreter looks for its modules: most of the time, but next to none. */
static void start_program(struct record *r)
{
	search_nowhere(r, 1000, 2000);
	unresolved_of(r)->ops[OP_OPEN].ns = 900000000;
	row_of(r)->ops[OP_OPEN].ns = 50000000;
	r->time.elapsed_ns = 1000000000;
	set(r, METRIC_CPU_USER, 0.05);
	set(r, METRIC_CPU_SYSTEM, 0.9);
}

/* Twenty minutes of compiling, in which a second in a hundred goes by on searches. */
static void search_along(struct record *r)
{
	search_nowhere(r, 400000, 800000);
	unresolved_of(r)->ops[OP_OPEN].ns = 16000000000;
}

static void read_small_files(struct record *r)
{
	small_reads(r, true);
	row_of(r)->ops[OP_WRITE] = (struct op_counts){};
	row_of(r)->ops[OP_OPEN].calls = 500; /* 8 KiB of each */
}

static void read_device(struct record *r)
{
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, "/dev", "tmpfs");

	row->has_seconds = row->has_histograms = true;
	small(row, OP_READ, true);
	row->ops[OP_READ].ns = 90000000000;
}

static void read_small_async(struct record *r)
{
	small_reads(r, true);
	row_of(r)->interfaces[INTERFACE_LIBAIO][OP_READ] =
		(struct op_counts){ .calls = 500, .bytes = 500 * 4096 };
	row_of(r)->ops[OP_READ].ns = 90000000000;
}

static void wait_for_messages(struct record *r)
{
	struct mount_row *row = reading_get_mount(&r->reading, ROW_SOCKET, "(socket)", NULL);

	row->has_seconds = row->has_histograms = true;
	lose(r, METRIC_BLOCKED_FILE_ASYNC, 0.4);
	read_async(row, 9000);
	read_async(row_of(r), 1000);
}

static void forget_causes(struct record *r)
{
	use_cpu(r, 200);
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		r->reading.values[cause_metric((enum cause)cause)].is_known = false;
}

/* As of root's command on cgroup v1, while others compute. */
static void starve_without_a_quota_known(struct record *r)
{
	use_cpu(r, 100);
	set(r, METRIC_CPU_RUN_QUEUE, 300);
	r->reading.values[METRIC_CPU_THROTTLED].is_known = false;
}

static void fight_for_a_lock_among_others(struct record *r)
{
	use_cpu(r, 100);
	set(r, METRIC_CPU_RUN_QUEUE, 150);
	set(r, METRIC_BLOCKED_LOCK, 200);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, 100000);
}

static void starve_threads(struct record *r)
{
	threads_uneven(r, true);
	use_cpu(r, 300);
	set(r, METRIC_CPU_RUN_QUEUE, 70);
}

/* Its ranks sleep. */
static void launch(struct record *r)
{
	static const char *const command[] = { "env",	  "-u",	 "B",  "A=1",
					       "timeout", "-k5", "60", "/opt/made/bin/mpirun",
					       "./made" };

	r->job.command = calloc(ARRAY_SIZE(command) + 1, sizeof(*r->job.command));
	for (size_t i = 0; i < ARRAY_SIZE(command); i++)
		r->job.command[i] = strdup(command[i]);
	set(r, METRIC_CPU_SYSTEM, 1);
	set(r, METRIC_CPU_USER, 1);
	set(r, METRIC_BLOCKED_POLL, 400);
}

/* The word is its own option. */
static void name_a_launcher(struct record *r)
{
	launch(r);
	free(r->job.command[0]);
	r->job.command[0] = strdup("./analyse");
}

/* As Python's, on a busy machine. */
static void take_turns_among_others(struct record *r)
{
	threads_even(r, true);
	use_cpu(r, 90);
	set(r, METRIC_CPU_RUN_QUEUE, 50);
	set(r, METRIC_BLOCKED_THREADS, 350);
}

/* clang-format off */
static const struct told {
	const char *name;
	const char *ids; /* of all that is said */
	const char *text; /* part of what the first one says; NULL: any */
	const char *over[3]; /* the rules whose cases are put together */
	struct number numbers[3]; /* and these beside them */
	void (*make)(struct record *r); /* what no number can say */
} told[] = {
	{ "that threads share cores comes before that others were not used", "cores-crowded", NULL,
	  { "cores-crowded" }, { ALWAYS(CPU, 250), ALWAYS(CORE_BALANCE, 6400) } },
	{ "a short job is not blamed for its start", "", .make = end_early },
	/* part of a pipeline waits for storage: to make it faster is no advice */
	{ "what storage explains is no matter of a pipeline", "fsync-storm", NULL,
	  { "pipeline", "fsync-storm" } },
	{ "what computes less than half of the time is no pipeline", "waited-for-input",
	  .make = compute_little_in_a_pipeline },
	/* more threads would not help */
	{ "a job whose cores others take is not told to use more", "cores-taken", NULL, {},
	  { ALWAYS(CPU, 150), ALWAYS(METRIC_CPU_RUN_QUEUE, 200), ALWAYS(CORE_BALANCE, 9000) } },
	{ "a starved job is told so where no quota is known", "cores-taken", "or a quota had the rest",
	  .make = starve_without_a_quota_known },
	{ "taken cores do not hide a fight for a lock", "lost-to-locks",
	  .make = fight_for_a_lock_among_others },
	{ "threads that waited for cores of others are not uneven", "", .make = starve_threads },
	{ "cores of their own are no help to threads that take turns", "threads-in-turn",
	  .make = take_turns_among_others },
	{ "the most severe comes first", "crashed-unnoticed throttled memory-low", NULL,
	  { "memory-low", "throttled", "crashed-unnoticed" } },
	{ "within a severity the order is the file's", "lost-to-locks throttled", NULL,
	  { "throttled", "lost-to-locks" } },
	{ "but for what lost much more", "throttled lost-to-locks", NULL,
	  { "throttled", "lost-to-locks" }, { ALWAYS(METRIC_CPU_THROTTLED, 500) } },
	{ "threads that waited for a lock are not told to be too many", "lost-to-locks", NULL,
	  {}, { ALWAYS(METRIC_BLOCKED_LOCK, 200), ALWAYS(METRIC_CPU_RUN_QUEUE, 300),
	    ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 10000) } },
	{ "unless it was less than would be told", "cpu-contended", NULL,
	  {}, { ALWAYS(METRIC_BLOCKED_LOCK, 120), ALWAYS(METRIC_CPU_RUN_QUEUE, 300),
	    ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 10000) } },
	{ "a command that a SIGTERM made fail was ended by it", "ended-by-signal",
	  "was ended by SIGTERM.", {}, { ALWAYS(EXIT_CODE, 1), ALWAYS(SIGNAL, 15) } },
	{ "spinning is told without polls that were not", "spin-wait",
	  "or polled without a pause.", {},
	  { ALWAYS(METRIC_CPU_POLLING, 200), ALWAYS(METRIC_CPU_YIELDS, 0) } },
	{ "and with those that were", "spin-wait", "a pause (5 yields of the CPU).", {},
	  { ALWAYS(METRIC_CPU_POLLING, 200), ALWAYS(METRIC_CPU_YIELDS, 5) } },
	{ "a launcher's own threads wait for no event", "cpu-low", .make = launch },
	{ "a program that is told of a launcher is none", "waited-for-events", .make = name_a_launcher },
	{ "nor do they hide that the ranks slept", "slept", NULL, {},
	  { ALWAYS(METRIC_BLOCKED_SLEEP, 60) }, .make = launch },
	{ "failures without a mount are no share of their own", "", .make = search_and_find },
	{ "with their mounts failures are told of each", "failed-opens",
	  "1,001 of 2,000 opens on /made-scratch failed", .make = fail_on_a_mount },
	{ "metadata without its mounts is told whole", "metadata-heavy",
	  "6,010 metadata calls (open, stat, unlink and the like) took 22 %",
	  .make = unlink_somewhere },
	{ "what there is of mounts is on lustre", "metadata-heavy", "node's own disk",
	  .make = unlink_somewhere },
	{ "the searches of a short run cost little", "", .make = start_program },
	{ "searches in a long run cost little", "", .make = search_along },
	{ "larger requests do not cure small files", "", .make = read_small_files },
	{ "larger requests do not cure a device, and it is not slow", "", .make = read_device },
	{ "the time is that of other calls than the bytes", "", .make = read_small_async },
	{ "a starved job is not like a serial program", "cores-taken", NULL, {},
	  { ALWAYS(CPU, 35), ALWAYS(METRIC_CPU_RUN_QUEUE, 65) } },
	{ "a job that waits for a lock is not like a serial program", "lost-to-locks", NULL,
	  { "like-serial" },
	  { ALWAYS(METRIC_BLOCKED_LOCK, 90), ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 10000) } },
	{ "what was waited for explains how little was used", "lost-to-async", NULL,
	  { "lost-to-async" }, { LOST(METRIC_BLOCKED_FILE_ASYNC, 0.4, 0.4) } },
	{ "without causes little use is told all the same", "cpu-low", .make = forget_causes },
	/* io_uring takes requests on sockets, too */
	{ "waiting for messages is not said to be lost", "async-elsewhere cpu-low",
	  "1,000 on files were counted", .make = wait_for_messages },
	{ "of syncs only the mount's are told", "fsync-storm", NULL, { "fsync-storm" },
	  { LOST(METRIC_BLOCKED_SYNC, 0.3, 0.3) } },
	{ "one OOM kill gives one directive", "out-of-memory", "#SBATCH --mem=24G  # at least",
	  { "out-of-memory", "memory-near-limit" }, { ALWAYS(EXIT_CODE, 137) } },
	/* each is opened, listed by two calls, and closed */
	{ "a listed directory is no file that is opened and closed", "", NULL,
	  { "open-close-storm" }, { ALWAYS(OPS(OP_READDIR, calls), 9000) } },
	{ "a pool of threads is not lost to locks", "like-serial", NULL, {},
	  { ALWAYS(CPU, 100), ALWAYS(METRIC_BLOCKED_LOCK, 300),
	    ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 150) } },
	{ "a thread that joins another neither waits idly nor for a lock", "like-serial", NULL, {},
	  { ALWAYS(CPU, 100), ALWAYS(METRIC_BLOCKED_THREADS, 100),
	    ALWAYS(METRIC_CPU_VOLUNTARY_SWITCHES, 5000) } },
	{ "much copying is no system time", "", NULL, {},
	  { ALWAYS(METRIC_CPU_USER, 10), ALWAYS(METRIC_CPU_SYSTEM, 350) } },
};
/* clang-format on */

static void check_told(const struct rules *rules, const struct told *t)
{
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	char ids[512] = "", all[2048];
	const struct insight *first;

	for (size_t i = 0; i < ARRAY_SIZE(t->over) && t->over[i]; i++)
		make_over(r, t->over[i]);
	set_numbers(r, t->numbers, ARRAY_SIZE(t->numbers), true);
	if (t->make)
		t->make(r);
	ASSERT_OK(ask(rules, r, &insights));
	for (size_t i = 0; i < insights.count; i++) {
		strcat(ids, i ? " " : "");
		strcat(ids, insights.items[i].rule->id);
		ASSERT_LACKS(insights.items[i].text, "(unresolved)");
	}
	test_string(ids, t->ids, t->name, __FILE__, __LINE__);
	if (!t->text)
		return;
	first = &insights.items[0];
	snprintf(all, sizeof(all), "%s\n%s\n%s", first->text, first->advice,
		 first->directive ? first->directive : "");
	ASSERT_CONTAINS(all, t->text);
}

TEST(this_is_told_and_no_more)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		check_told(rules, &told[i]);
}

/* ---- what each rule needs at least ---- */

static bool is_end(const struct rule *rule)
{
	return rule->group &&
	       (strcmp(rule->group, "out of memory") == 0 || strcmp(rule->group, "crashes") == 0 ||
		strcmp(rule->group, "kills") == 0 || strcmp(rule->group, "failures") == 0);
}

struct floors {
	bool has_time, has_share, has_count;
};

static void note_floor(struct dimension d, struct floors *floors)
{
	floors->has_share |= d.is_share;
	floors->has_count |= !d.is_share;
}

TEST(every_rule_has_a_least_time_share_and_count)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);

	for (size_t i = 0; i < rules->insights.count; i++) {
		const struct rule *rule = &rules->insights.items[i];
		struct floors floors = {};
		bool is_pattern = false;

		for (size_t k = 0; k < rule->least_count; k++) {
			if (strcmp(rule->least[k].variable->name, "elapsed_seconds") == 0)
				floors.has_time = true;
			else if (strncmp(rule->least[k].variable->name, "pattern_", 8) == 0)
				is_pattern = true; /* which has thresholds of its own */
			else
				note_floor(rule->least[k].variable->dimension, &floors);
		}
		for (size_t k = 0; k < rule->threshold_count; k++)
			note_floor(rule->thresholds[k].dimension, &floors);
		test_true(floors.has_time, rule->id, "has no least time", 0);
		if (is_end(rule) || is_pattern)
			continue;
		test_true(floors.has_share || rule->threshold_count, rule->id, "has no least share",
			  0);
		test_true(floors.has_count || rule->threshold_count, rule->id, "has no least count",
			  0);
	}
}

TEST(below_a_second_only_crashes_and_oom_kills_are_told)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(record_freep) struct record *r = made_calm();
		_cleanup_(insights_clear) struct insights insights = {};

		make(r, &cases[i], true);
		r->time.elapsed_ns = 999999999;
		ASSERT_OK(ask(rules, r, &insights));
		for (size_t k = 0; k < insights.count; k++)
			test_true(is_end(insights.items[k].rule), insights.items[k].rule->id,
				  "is told of less than a second", 0);
	}
}

TEST(the_kind_of_storage_decides_the_advice)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights network = {}, disk = {};
	struct mount_row *row;

	make_over(r, "metadata-heavy");
	ASSERT_OK(ask(rules, r, &network));
	ASSERT_CONTAINS(find(&network, "metadata-heavy")->advice, "node's own disk");
	row = row_of(r);
	free(row->fstype);
	row->fstype = strdup("ext4");
	ASSERT_OK(ask(rules, r, &disk));
	ASSERT_LACKS(find(&disk, "metadata-heavy")->advice, "node's own disk");
}

#define LEAST                                                                                        \
	"rules:\n  - id: one\n    severity: info\n    source: the site\n    least: {%s}\n    when: " \
	"read_calls > 0\n    text: \"{read_calls}\"\n"

TEST(a_sites_rule_is_silent_below_a_second_unless_it_says_otherwise)
{
	_cleanup_(record_freep) struct record *r = made_calm();
	static const struct {
		const char *least;
		size_t count;
	} sites[] = { { "read_calls: 1", 0 },
		      { "elapsed: 0 s", 1 },
		      { "elapsed: 0 s, read_calls: 101", 0 } };

	r->time.elapsed_ns = 900000000;
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++) {
		_cleanup_(rules_freep) struct rules *rules = NULL;
		_cleanup_(insights_clear) struct insights insights = {};
		char text[512];

		snprintf(text, sizeof(text), LEAST, sites[i].least);
		rules = rules_of(text);
		ASSERT_OK(ask(rules, r, &insights));
		ASSERT_EQ((uint64_t)insights.count, (uint64_t)sites[i].count);
	}
}
