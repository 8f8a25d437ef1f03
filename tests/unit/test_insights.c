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

/* ---- what makes each rule speak, and what does not yet: is_over tells which ---- */

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

static void cpu_low(struct record *r, bool is_over)
{
	use_cpu(r, is_over ? 259 : 261);
}

static void serial(struct record *r, bool is_over)
{
	use_cpu(r, 50);
	r->cores.count.number = is_over ? 1 : 2;
}

/* Two threads on one core are not serial. */
static void serial_without_a_second(struct record *r, bool is_over)
{
	use_cpu(r, 90);
	r->cores.count.number = 1;
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 9.9 : 10.1);
}

static void like_serial(struct record *r, bool is_over)
{
	use_cpu(r, is_over ? 86 : 84);
}

/* Who waits for a core a fifth of the time may be more than one thread. */
static void like_serial_without_waiting(struct record *r, bool is_over)
{
	use_cpu(r, 80);
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 19.9 : 20.1);
}

static void cores_never_used(struct record *r, bool is_over)
{
	r->cores.count.number = is_over ? 3 : 4;
}

static void cores_taken(struct record *r, bool is_over)
{
	use_cpu(r, 200);
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 51 : 49);
}

/* One that stopped it would look the same. */
static void cores_taken_without_a_quota(struct record *r, bool is_over)
{
	cores_taken(r, true);
	set(r, METRIC_CPU_THROTTLED, is_over ? 2 : 2.1);
}

static void cores_pinned(struct record *r, bool is_over)
{
	use_cpu(r, 90);
	r->cores.count.number = 1;
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 11 : 9);
}

/* Two busy threads on one of 16 cores and one on each of the others but one: too few wait for a
 * share of 10 %. */
static void made_pair(struct record *r, double waiting)
{
	set(r, METRIC_CPU_ALLOCATED, 16);
	use_cpu(r, 1500);
	r->cores.count.number = 15;
	set(r, METRIC_CPU_RUN_QUEUE, waiting);
}

static void cores_pinned_by_two(struct record *r, bool is_over)
{
	made_pair(r, is_over ? 51 : 49);
}

static void cores_never_used_with_others(struct record *r, bool is_over)
{
	made_pair(r, is_over ? 49 : 51);
}

/* On 4 cores: one is full, and two threads want it; two are full, and one is next to idle. */
static void cores_crowded(struct record *r, bool is_over)
{
	use_cpu(r, 320);
	r->cores.balance.number = is_over ? 8100 : 9100; /* 80 of 100 s, by the busiest's 98.8
							    or 87.9 */
	set(r, METRIC_CPU_RUN_QUEUE, 90);
}

static void cores_crowded_by_half_a_thread(struct record *r, bool is_over)
{
	cores_crowded(r, true);
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 51 : 49);
}

/* What waits for cores of which one is full need not wait for others' work. */
static void cores_taken_where_none_is_full(struct record *r, bool is_over)
{
	use_cpu(r, 200);
	r->cores.balance.number = is_over ? 5400 : 5200; /* 50 of 100 s, by the busiest's 92.6
							    or 96.2 */
	set(r, METRIC_CPU_RUN_QUEUE, 60);
}

static void cache_misses(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_INSTRUCTIONS, 0.61e12);
	set(r, METRIC_CPU_LLC_MISSES, 0.61e9 * (is_over ? 10.1 : 9.9));
}

static void cache_misses_of_few_instructions(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_INSTRUCTIONS, is_over ? 0.99e12 : 1.01e12);
	set(r, METRIC_CPU_LLC_MISSES, 1.5e10);
}

/* What less than half of the CPU time says is nobody's. */
static void cache_misses_of_half(struct record *r, bool is_over)
{
	cache_misses(r, true);
	set(r, METRIC_CPU_COUNTERS_ENABLED, is_over ? 181 : 179);
}

static void few_instructions(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_INSTRUCTIONS, is_over ? 0.99e12 : 1.01e12);
}

/* Nothing is lost where the cores were busy. */
static void cores_full(struct record *r, bool is_over)
{
	use_cpu(r, is_over ? 380 : 379);
	set(r, METRIC_CPU_RUN_QUEUE, 300);
}

static void cpu_contended_on_free_cores(struct record *r, bool is_over)
{
	cores_full(r, !is_over);
}

static void cpu_contended(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_RUN_QUEUE, is_over ? 241 : 239);
}

static void throttled(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_THROTTLED, is_over ? 19 : 18.9);
}

/* Beside 360 s of CPU time. */
static void stolen(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_STOLEN, is_over ? 19 : 18);
}

static void system_time(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_USER, 200);
	set(r, METRIC_CPU_SYSTEM, is_over ? 134 : 133);
	set(r, METRIC_MEMORY_MINOR_FAULTS, 2e7);
}

static void spin_wait(struct record *r, bool is_over)
{
	use_cpu(r, 300);
	set(r, METRIC_CPU_YIELDS, 5);
	set(r, METRIC_CPU_POLLING, is_over ? 60 : 59);
}

static void ranks_uneven(struct record *r, bool is_over)
{
	r->ranks.balance.number = is_over ? 7999 : 8000;
}

static void threads_uneven(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_USER, 300);
	r->threads = threads_of_sum(4, 300000000000, is_over ? 93800000000 : 93700000000);
}

/* Without times inside calls no mount is known to be it. */
static void lost_to_reads(struct record *r, bool is_over)
{
	row_of(r)->has_seconds = false;
	lose(r, METRIC_BLOCKED_FILE_READ, is_over ? 0.21 : 0.19);
}

static void lost_to_writes(struct record *r, bool is_over)
{
	row_of(r)->has_seconds = false;
	lose(r, METRIC_BLOCKED_FILE_WRITE, is_over ? 0.21 : 0.19);
}

static void lost_to_metadata(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_FILE_META, is_over ? 0.21 : 0.19);
}

static void lost_to_sync(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_SYNC, is_over ? 0.21 : 0.19);
}

static void lost_to_locks(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_LOCK, is_over ? 0.21 : 0.19);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, 10000);
}

/* Requests of 64 KiB by io_uring. */
static void read_async(struct mount_row *row, uint64_t calls)
{
	struct op_counts counts = { .calls = calls, .bytes = calls << 16 };

	op_counts_add(&row->interfaces[INTERFACE_IO_URING][OP_READ], &counts);
	op_counts_add(&row->ops[OP_READ], &counts);
}

static void lost_to_async(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_FILE_ASYNC, is_over ? 0.21 : 0.19);
	read_async(row_of(r), 1600);
}

static void async_elsewhere(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_FILE_ASYNC, is_over ? 0.21 : 0.19);
}

static void set_network(struct record *r, enum metric_id id, uint64_t number)
{
	*network_number_ref(&r->reading.network, SOCKET_TCP, id) = number;
}

static void lost_to_network(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_NETWORK, is_over ? 0.41 : 0.39);
	set_network(r, METRIC_NETWORK_RECEIVED_CALLS, 7);
}

static void tcp_retransmits(struct record *r, bool is_over)
{
	set_network(r, METRIC_NETWORK_SEGMENTS, 20000);
	set_network(r, METRIC_NETWORK_RETRANSMITS, is_over ? 201 : 199);
}

static void short_connections(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_NETWORK, 0.11);
	set_network(r, METRIC_NETWORK_OPENED, is_over ? 1000 : 999);
	set_network(r, METRIC_NETWORK_SENT_BYTES, 1048576);
	set_network(r, METRIC_NETWORK_RECEIVED_BYTES, 60 * 1048576);
}

static void small_messages(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_NETWORK, 0.21);
	set_network(r, METRIC_NETWORK_SENT_CALLS, 200000);
	set_network(r, METRIC_NETWORK_SENT_BYTES, UINT64_C(200000) * (is_over ? 1023 : 1024));
}

static void long_round_trips(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_NETWORK, 0.21);
	set_network(r, METRIC_NETWORK_ROUND_TRIPS, 1000);
	set_network(r, METRIC_NETWORK_ROUND_TRIP_SECONDS,
		    is_over ? UINT64_C(11000000000) : UINT64_C(10000000000));
}

static void lost_to_page_faults(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_PAGE_FAULT, is_over ? 0.11 : 0.09);
	set(r, METRIC_MEMORY_MAJOR_FAULTS, 1001);
}

static void memory_low(struct record *r, bool is_over)
{
	set(r, METRIC_MEMORY_PEAK, (is_over ? 11.1 : 11.3) * GIB);
}

static void memory_near_limit(struct record *r, bool is_over)
{
	set(r, METRIC_MEMORY_PROCESS_PEAK, (is_over ? 14.5 : 14.3) * GIB);
}

static void memory_stalled(struct record *r, bool is_over)
{
	set(r, METRIC_PRESSURE_MEMORY_STALLED, is_over ? 10 : 9.9);
}

static void storage_stalled(struct record *r, bool is_over)
{
	set(r, METRIC_PRESSURE_IO_STALLED, is_over ? 20 : 19.9);
}

static void out_of_memory(struct record *r, bool is_over)
{
	set(r, METRIC_MEMORY_OOM_KILLS, is_over ? 1 : 0);
}

/* The limit is 16 GiB. */
static void out_of_memory_together(struct record *r, bool is_over)
{
	set(r, METRIC_MEMORY_OOM_KILLS, 1);
	r->oom_list.items[0] = (struct oom_kill){
		.pid = 7, .rss = { UINT64_C(1073741824) * (is_over ? 7 : 9), true }
	};
	r->oom_list.count = 1;
}

static void out_of_memory_on_node(struct record *r, bool is_over)
{
	set(r, METRIC_MEMORY_OOM_KILLS, 1);
	r->reading.values[METRIC_MEMORY_LIMIT].is_known = !is_over;
}

static void crashed_command(struct record *r, bool is_over)
{
	set(r, METRIC_TASKS_CRASHED, 1);
	r->job.exit_code = -1;
	r->job.signal = is_over ? 11 : 9;
}

static void crashed_inside(struct record *r, bool is_over)
{
	set(r, METRIC_TASKS_CRASHED, 1);
	r->job.exit_code = is_over ? 139 : 1;
}

static void many_processes(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_USER, 280);
	set(r, METRIC_CPU_SYSTEM, 80);
	set(r, METRIC_TASKS_ENDED, is_over ? 20000 : 17000);
}

/* Nearly all of 100 s. */
static void wait_idly(struct record *r, enum metric_id cause, double seconds)
{
	set(r, METRIC_CPU_USER, 3);
	set(r, METRIC_CPU_SYSTEM, 2);
	set(r, cause, seconds);
}

static void slept(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_SLEEP, is_over ? 51 : 49);
}

static void waited_for_events(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_POLL, is_over ? 51 : 49);
}

/* 49 s of work beside 60 s asleep, or 51. */
static void slept_and_worked(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_SLEEP, 60);
	set(r, METRIC_CPU_USER, is_over ? 47 : 49);
}

static void waited_for_messages(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_POLL, 90);
	set_network(r, METRIC_NETWORK_RECEIVED_BYTES, is_over ? 1048576 : 1048575);
}

static void waited_for_input(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_PIPE, is_over ? 51 : 49);
}

static void waited_for_threads(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_THREADS, is_over ? 51 : 49);
}

static void lock_held(struct record *r, bool is_over)
{
	wait_idly(r, METRIC_BLOCKED_LOCK, is_over ? 81 : 79);
}

static void lock_storm(struct record *r, bool is_over)
{
	set(r, METRIC_CPU_USER, 180);
	set(r, METRIC_CPU_SYSTEM, 180);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, is_over ? 3600001 : 3599999);
	set(r, METRIC_BLOCKED_THREADS, 11);
	set(r, METRIC_CPU_RUN_QUEUE, 300); /* and is no matter of too many threads */
}

static void pipeline(struct record *r, bool is_over)
{
	use_cpu(r, 150);
	set(r, METRIC_BLOCKED_PIPE, is_over ? 51 : 49);
}

static void crashed(struct record *r, bool is_over)
{
	r->job.exit_code = 1;
	set(r, METRIC_TASKS_CRASHED, is_over ? 1 : 0);
}

static void crashed_unnoticed(struct record *r, bool is_over)
{
	set(r, METRIC_TASKS_CRASHED, 3);
	r->job.exit_code = is_over ? 0 : 139;
}

static void killed(struct record *r, bool is_over)
{
	r->job.exit_code = -1;
	r->job.signal = 9;
	set(r, METRIC_MEMORY_OOM_KILLS, is_over ? 0 : 1);
}

static void killed_inside(struct record *r, bool is_over)
{
	r->job.exit_code = is_over ? 137 : 136;
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

/* The rest of 100 s went by on a mount that did nothing else. */
static void share_with_another(struct record *r, enum file_op op)
{
	uint64_t ns = row_of(r)->ops[op].ns;
	struct mount_row *other = reading_get_mount(&r->reading, ROW_MOUNT, "/made-home", "ext4");

	other->has_seconds = other->has_histograms = true;
	other->ops[op].ns = 100000000000 - ns;
}

static void slow_reads(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_FILE_READ, 0.25);
	row_of(r)->ops[OP_READ].ns = is_over ? 81000000000 : 79000000000;
	share_with_another(r, OP_READ);
}

static void slow_writes(struct record *r, bool is_over)
{
	lose(r, METRIC_BLOCKED_FILE_WRITE, 0.25);
	row_of(r)->ops[OP_WRITE].ns = is_over ? 81000000000 : 79000000000;
	share_with_another(r, OP_WRITE);
}

static void metadata_heavy(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_STAT] = (struct op_counts){ .calls = 5000,
						      .ns = is_over ? 73000000000 : 71000000000 };
}

static void fsync_storm(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_FSYNC] = (struct op_counts){ .calls = is_over ? 100 : 99,
						       .ns = 40000000000 };
}

static void failed_opens(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_OPEN] = (struct op_counts){ .calls = 2000,
						      .errors = is_over ? 1001 : 999,
						      .ns = 40000000000 };
}

static void not_found_storm(struct record *r, bool is_over)
{
	uint64_t missing = is_over ? 1010 : 1004;

	row_of(r)->ops[OP_STAT] = (struct op_counts){
		.calls = 2000, .errors = missing, .not_found = missing, .ns = 40000000000
	};
}

static void open_close_storm(struct record *r, bool is_over)
{
	struct mount_row *row = row_of(r);

	row->ops[OP_OPEN] = (struct op_counts){ .calls = is_over ? 10000 : 9999,
						.ns = 40000000000 };
	row->ops[OP_READ].bytes = 500 << 20;
}

/* To read them takes longer than to open them. */
static void open_close_by_reads(struct record *r, bool is_over)
{
	struct mount_row *row = row_of(r);

	row->ops[OP_OPEN] = (struct op_counts){ .calls = 10000 };
	row->ops[OP_READ] = (struct op_counts){ .calls = 10000,
						.bytes = 500 << 20,
						.ns = is_over ? 37000000000 : 35000000000 };
}

/* Beside 0.1 s of writes. */
static void open_close_mostly_by_reads(struct record *r, bool is_over)
{
	struct mount_row *row = row_of(r);

	open_close_by_reads(r, true);
	row->ops[OP_OPEN].ns = is_over ? 18000000000 : 19000000000;
}

static void open_close_as_much_as_reads(struct record *r, bool is_over)
{
	open_close_mostly_by_reads(r, !is_over);
}

static void set_file(struct record *r, enum metric_id id, double number)
{
	*hot_file_number(&r->files.total, id) = (uint64_t)number;
}

static void read_after_write(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_READ].ns = 40000000000;
	set_file(r, METRIC_FILE_READ_BYTES, 200 * MIB);
	set_file(r, METRIC_FILE_READ_CALLS, 200);
	set_file(r, METRIC_FILE_READ_AFTER_WRITE, (is_over ? 101 : 99) * MIB);
}

static void read_again(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_READ].ns = 40000000000;
	set_file(r, METRIC_FILE_READ_BYTES, 4 * GIB);
	set_file(r, METRIC_FILE_READ_CALLS, 4096);
	set_file(r, METRIC_FILE_REREAD, (is_over ? 2.1 : 1.9) * GIB);
}

static void random_reads(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_READ].ns = 40000000000;
	set_file(r, METRIC_FILE_READ_BYTES, 100 * MIB);
	set_file(r, METRIC_FILE_READ_CALLS, 5000);
	set_file(r, METRIC_FILE_READ_RANDOM, (is_over ? 21 : 19) * MIB);
	set_file(r, METRIC_FILE_READ_SEQUENTIAL, (is_over ? 79 : 81) * MIB);
}

static void many_small_files(struct record *r, bool is_over)
{
	row_of(r)->ops[OP_STAT] = (struct op_counts){ .calls = 100, .ns = 40000000000 };
	r->files.small.files = is_over ? 10000 : 9999;
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

static const struct {
	const char *id;
	void (*make)(struct record *r, bool is_over);
	const char *text, *directive; /* part of what is said then; NULL: any */
} cases[] = {
	{ "cpu-low", cpu_low, "2.6 of 4 cores were busy on average: 65 % of the core time.", NULL },
	{ "serial", serial, "Looks single-threaded: 0.5 of 4 cores were busy on average.",
	  "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "serial", serial_without_a_second, "single-threaded: 0.9 of 4 cores",
	  "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "like-serial", like_serial, "single-threaded: 0.9 of 4 cores",
	  "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "like-serial", like_serial_without_waiting, "single-threaded: 0.8 of 4 cores",
	  "#SBATCH --ntasks=1 --cpus-per-task=1" },
	{ "cores-never-used", cores_never_used, "1 of 4 cores did next to nothing.", NULL },
	{ "cores-pinned", cores_pinned,
	  "1 of 4 cores; waiting there took 11 % of the working time (11 s)", NULL },
	{ "cores-pinned", cores_pinned_by_two,
	  "15 of 16 cores; waiting there took 3 % of the working time (51 s)", NULL },
	{ "cores-never-used", cores_never_used_with_others, "1 of 16 cores did next to nothing.",
	  NULL },
	{ "cores-crowded", cores_crowded,
	  "Waiting for a core took 22 % of the working time (1 m 30 s), while only 3.2 of 4 "
	  "cores were busy and one of them was full (99 %)",
	  NULL },
	{ "cores-crowded", cores_crowded_by_half_a_thread,
	  "Waiting for a core took 14 % of the working time (51 s)", NULL },
	{ "cores-taken", cores_taken, "kept only 2 of 4 busy", NULL },
	{ "cores-taken", cores_taken_where_none_is_full,
	  "other programs ran there, or a hypervisor or a quota above the job took them.", NULL },
	{ "cores-taken", cores_taken_without_a_quota, "other programs ran there", NULL },
	{ "cores-full", cores_full,
	  "6.8 wanted to run at a time, on 4 cores, which were busy all the time (95 %)", NULL },
	{ "cpu-contended", cpu_contended_on_free_cores, "6.8 wanted to run at a time", NULL },
	{ "cpu-contended", cpu_contended,
	  "6 wanted to run at a time, on 4 cores; waiting for one took 40 %", NULL },
	{ "throttled", throttled, "stopped the job for 19 s: 5 %", NULL },
	{ "stolen", stolen, "took 19 s from threads that were on a core: 5 % of the working time",
	  NULL },
	{ "system-time", system_time,
	  "40 % of the CPU time was spent in the kernel (2 m 14 s): 210 calls on files, 20 M page faults",
	  NULL },
	{ "cache-misses", cache_misses,
	  "completed 61 instructions in 100 cycles, and 10.1 of 1,000", NULL },
	{ "cache-misses", cache_misses_of_few_instructions,
	  "completed 99 instructions in 100 cycles, and 15.2 of 1,000", NULL },
	{ "cache-misses", cache_misses_of_half, "waited for memory", NULL },
	{ "few-instructions", few_instructions,
	  "completed 99 instructions in 100 cycles: they were busy", NULL },
	{ "spin-wait", spin_wait,
	  "spun for 20 % of the CPU time until there was something to do (1 m 00 s)", NULL },
	{ "threads-uneven", threads_uneven,
	  "The 4 threads of the busiest process had uneven work: the mean was 80 %", NULL },
	{ "ranks-uneven", ranks_uneven,
	  "4 ranks had uneven work: without the time that they spun while they waited, the mean was 80 %",
	  NULL },
	{ "lost-to-reads", lost_to_reads,
	  "Reads of files took 21 % of the working time, and waited 1 m 24 s for storage.", NULL },
	{ "lost-to-writes", lost_to_writes, "Writes to files took 21 % of the working time", NULL },
	{ "lost-to-metadata", lost_to_metadata, "took 21 % of the working time", NULL },
	{ "lost-to-sync", lost_to_sync,
	  "Sync (fsync and the like) took 21 % of the working time, and waited 1 m 24 s for storage; 100 MiB were "
	  "written.",
	  NULL },
	{ "lost-to-async", lost_to_async,
	  "Waiting for io_uring or libaio took 21 % of the working time (1 m 24 s); 1,600 requests of 64 KiB on "
	  "/made-scratch, 1 MiB/s.",
	  NULL },
	{ "async-elsewhere", async_elsewhere,
	  "Threads waited 1 m 24 s for io_uring or libaio, of whose requests 0 on files were counted.",
	  NULL },
	{ "lost-to-locks", lost_to_locks, "at locks or barriers: 21 % of the working time", NULL },
	{ "lock-storm", lock_storm,
	  "waited for each other 3.6 M times, with 100 µs of CPU time in between, and 50 % of the CPU",
	  NULL },
	{ "lock-held", lock_held, "It waited 1 m 21 s for locks, and computed for 5 s in 1 m 40 s.",
	  NULL },
	{ "lost-to-network", lost_to_network, "41 % of the working time", NULL },
	{ "tcp-retransmits", tcp_retransmits, "TCP sent 201 of 20,000 segments again: 1 %.", NULL },
	{ "short-connections", short_connections,
	  "1,000 connections were opened, to send 1 MiB and receive 60 MiB; waiting for the network took 11 %",
	  NULL },
	{ "small-messages", small_messages,
	  "200,000 messages of 1023 B were sent, and waiting for the network took 21 %", NULL },
	{ "long-round-trips", long_round_trips,
	  "Round trips took 11 ms on average, and waiting for the network took 21 %", NULL },
	{ "lost-to-page-faults", lost_to_page_faults,
	  "1,001 page faults that read from storage took 11 %", NULL },
	{ "memory-low", memory_low, "11.1 GiB of 16 GiB of memory were used.",
	  "#SBATCH --mem=14G" },
	{ "memory-near-limit", memory_near_limit, "14.5 GiB of 16 GiB", "#SBATCH --mem=18G" },
	{ "memory-stalled", memory_stalled, "Nothing ran for 10 s (10 % of the time)", NULL },
	{ "storage-stalled", storage_stalled, "Nothing ran for 20 s (20 % of the time)", NULL },
	{ "out-of-memory", out_of_memory,
	  "A process was killed: out of memory (limit 16 GiB, 1 killed).",
	  "#SBATCH --mem=24G  # at least" },
	{ "out-of-memory-together", out_of_memory_together,
	  "A process was killed: out of memory. It had 7 GiB of 16 GiB; several processes filled the memory together.",
	  "#SBATCH --mem=24G  # at least" },
	{ "out-of-memory-on-node", out_of_memory_on_node,
	  "A process was killed: out of memory (1 killed).", NULL },
	{ "crashed-command", crashed_command, "The command died of SIGSEGV.", NULL },
	{ "crashed-unnoticed", crashed_unnoticed,
	  "Crashed processes: 3 (SIGSEGV, SIGABRT or the like), although the command ended with exit code 0.",
	  NULL },
	{ "crashed-inside", crashed_inside, "A process that it had started died of SIGSEGV.",
	  NULL },
	{ "crashed", crashed, "Crashed processes: 1 (SIGSEGV, SIGABRT or the like).", NULL },
	{ "killed", killed,
	  "The command was killed by SIGKILL, but not because its memory ran out.", NULL },
	{ "killed-inside", killed_inside,
	  "A process that it had started was killed by SIGKILL, but not", NULL },
	{ "many-processes", many_processes,
	  "20,000 processes and threads ran, for 18 ms of CPU time each", NULL },
	{ "small-reads", small_reads,
	  "1,000 reads of 4 KiB on /made-scratch took 11 % of the working time.", NULL },
	{ "small-writes", small_writes,
	  "1,000 writes of 4 KiB on /made-scratch took 11 % of the working time.", NULL },
	{ "slow-reads", slow_reads,
	  "Reads on /made-scratch took 20 % of the working time: 100 MiB at 1 MiB/s.", NULL },
	{ "slow-writes", slow_writes,
	  "Writes on /made-scratch took 20 % of the working time: 100 MiB at 1 MiB/s.", NULL },
	{ "metadata-heavy", metadata_heavy,
	  "5,010 metadata calls on /made-scratch (open, stat, unlink and the like) took 20 %",
	  NULL },
	{ "fsync-storm", fsync_storm,
	  "100 calls of fsync on /made-scratch, for 100 writes, took 11 % of the working time.",
	  NULL },
	{ "failed-opens", failed_opens,
	  "1,001 of 2,000 opens on /made-scratch failed (50 %); opens took 11 % of the working time.",
	  NULL },
	{ "not-found-storm", not_found_storm,
	  "1,010 of 2,010 metadata calls on /made-scratch asked for files that do not exist; such calls took 11 %",
	  NULL },
	{ "small-files-read", open_close_by_reads,
	  "for 61.4 KiB of data each; reads and writes took 10 % of the working time, metadata calls 0 %",
	  NULL },
	{ "small-files-read", open_close_mostly_by_reads, "10,000 opens of files on /made-scratch",
	  NULL },
	{ "open-close-storm", open_close_as_much_as_reads, "10,000 opens of files on /made-scratch",
	  NULL },
	{ "open-close-storm", open_close_storm,
	  "10,000 opens of files on /made-scratch, for 61.4 KiB of data each", NULL },
	{ "read-after-write", read_after_write, "101 MiB of 200 MiB", NULL },
	{ "read-again", read_again, "2.1 GiB of 4 GiB", NULL },
	{ "random-reads", random_reads, "21 % of the bytes", NULL },
	{ "many-small-files", many_small_files, "10,000 files", NULL },
	{ "slept", slept, "In 1 m 40 s, its threads worked for 5 s and slept for 51 s.", NULL },
	{ "slept", slept_and_worked, "its threads worked for 49 s and slept for 1 m 00 s.", NULL },
	{ "waited-for-messages", waited_for_messages,
	  "worked for 5 s and waited for the network (poll, select, epoll) for 1 m 30 s; 1 MiB were received, 0 B sent.",
	  NULL },
	{ "waited-for-events", waited_for_events,
	  "and waited for events (poll, select, epoll) for 51 s.", NULL },
	{ "waited-for-input", waited_for_input,
	  "and waited for input (a pipe, a terminal) for 51 s.", NULL },
	{ "waited-for-threads", waited_for_threads,
	  "its threads worked for 5 s and waited for each other for 51 s.", NULL },
	{ "pipeline", pipeline,
	  "Its processes waited 51 s for each other in pipes, and kept 1.5 of 4", NULL },
	{ "hang", hang, "Nothing was done for 12 m 00 s, after 4 cores had been busy.", NULL },
	{ "idle-tail", idle_tail, "Nothing was done in the last 10 m 00 s: 38 % of the time.",
	  NULL },
	{ "leak", leak, "Memory grew steadily by 83.6 KiB/s: 65.3 MiB in the second half.", NULL },
	{ "checkpoint-cost", checkpoint_cost,
	  "8 bursts of writes, one each 50 s, of 500 MiB on average, cost 12 % of the time.",
	  NULL },
};

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
	/* of files one by one there is nothing to divide by */
	for (size_t i = 0; i < insights.unknown_count; i++)
		ASSERT_CONTAINS(insights.unknown[i].names, "files_");
}

static void check_case(const struct rules *rules, size_t i, bool is_over)
{
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *insight;

	cases[i].make(r, is_over);
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

TEST(that_threads_share_cores_is_told_before_that_others_were_not_used)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *first[INSIGHTS_FIRST];

	cores_crowded(r, true);
	use_cpu(r, 250); /* of 400: less than 65 % */
	r->cores.balance.number = 6400;
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(!find(&insights, "cpu-low") && !find(&insights, "cores-taken"));
	ASSERT(insights_first(&insights, first) >= 1);
	ASSERT_STREQ(first[0]->rule->id, "cores-crowded");
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

	memory_low(r, true);
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

TEST(a_short_job_is_not_blamed_for_its_start)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	r->time.elapsed_ns = 4900000000;
	set(r, METRIC_CPU_USER, 0);
	set(r, METRIC_CPU_SYSTEM, 1);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(!find(&insights, "cpu-low"));
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

/* Part of a pipeline waits for storage: to make it faster is no advice. */
TEST(what_storage_explains_is_no_matter_of_a_pipeline)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {}, slow = {};

	pipeline(r, true);
	fsync_storm(r, true);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(find(&insights, "fsync-storm") && !find(&insights, "pipeline"));
	row_of(r)->ops[OP_FSYNC].calls = 0;
	use_cpu(r, 49);
	ASSERT_OK(ask(rules, r, &slow));
	ASSERT(!find(&slow, "pipeline")); /* nobody computes half of the time */
}

/* More threads would help nobody. */
TEST(who_waits_for_cores_that_others_take_is_not_told_to_use_more)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	use_cpu(r, 150);
	set(r, METRIC_CPU_RUN_QUEUE, 200);
	r->cores.balance.number = 9000;
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(find(&insights, "cores-taken") && !find(&insights, "cpu-low"));
}

TEST(the_severest_stands_first)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	memory_low(r, true);
	throttled(r, true);
	crashed_unnoticed(r, true);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, (uint64_t)3);
	ASSERT_STREQ(insights.items[0].rule->id, "crashed-unnoticed");
	ASSERT_STREQ(insights.items[1].rule->id, "throttled");
	ASSERT_STREQ(insights.items[2].rule->id, "memory-low");
}

TEST(within_a_severity_the_order_is_the_files)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	throttled(r, true);
	lost_to_locks(r, true);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_STREQ(insights.items[0].rule->id, "lost-to-locks");
	ASSERT_STREQ(insights.items[1].rule->id, "throttled");
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

TEST(a_document_has_the_evidence)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct document *d = document_new_json(out, DOCUMENT_INDENTED);

	throttled(r, true);
	ASSERT_OK(ask(rules, r, &insights));
	insights_format(&insights, d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	ASSERT_CONTAINS(text, "\"id\": \"throttled\"");
	ASSERT_CONTAINS(text, "\"lost_seconds\": 19");
	ASSERT_CONTAINS(text,
			"\"evidence\": {\"cpu_throttled_seconds\": 19, \"throttled_share\": 0.05");
	ASSERT_CONTAINS(text, "\"condition\": \"cpu_throttled_seconds > 0\"");
}

TEST(of_one_group_only_the_most_exact_speaks)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *first[INSIGHTS_FIRST];

	serial(r, true);
	ASSERT_OK(insights_find(rules, r, NULL, &insights));
	ASSERT(!find(&insights, "cpu-low") && !find(&insights, "cores-never-used"));
	ASSERT_EQ(insights_first(&insights, first), (size_t)1);
	ASSERT_STREQ(first[0]->rule->id, "serial");
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
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct document *d = document_new_json(out, DOCUMENT_INDENTED);

	search_nowhere(r, 1400, 1600);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_STREQ(find(&insights, "failed-opens")->text,
		     "1,600 of 3,000 opens failed (53 %); opens took 14 % of the working time.");
	ASSERT(!find(&insights, "not-found-storm")); /* the same, said before */
	insights_format(&insights, d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
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

	failed_opens(r, true);
	ASSERT_OK(ask(rules, r, &placed));
	ASSERT_STREQ(find(&placed, "shares")->text, "/made-scratch: 50 %");
	search_nowhere(r, 1400, 1600);
	ASSERT_OK(ask(rules, r, &unplaced));
	ASSERT_EQ((uint64_t)unplaced.count, (uint64_t)0);
	ASSERT_STREQ(find_unknown(&unplaced, "shares"), "mount_open_fail_share");
}

TEST(failures_without_a_mount_are_no_share_of_their_own)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	search_nowhere(r, 2000, 1600); /* 44 % */
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(!find(&insights, "failed-opens") && !find(&insights, "not-found-storm"));
}

TEST(with_their_mounts_failures_are_told_of_each)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	struct mount_row *baseline = reading_get_mount(&r->reading, ROW_MOUNT, "/made-home", "nfs");

	failed_opens(r, true);
	baseline->has_seconds = baseline->has_histograms = true;
	baseline->ops[OP_OPEN] = (struct op_counts){ .calls = 900000, .ns = 1000000000 };
	/* an address that cannot be read is nobody's, on any kernel */
	unresolved_of(r)->ops[OP_OPEN] =
		(struct op_counts){ .calls = 2000, .errors = 2000, .ns = 20000000000 };
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_CONTAINS(find(&insights, "failed-opens")->text,
			"1,001 of 2,000 opens on /made-scratch failed");
	for (size_t i = 0; i < insights.count; i++)
		ASSERT_LACKS(insights.items[i].text, "(unresolved)");
}

TEST(metadata_without_its_mounts_is_told_whole)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	row_of(r)->ops[OP_CLOSE] = (struct op_counts){ .calls = 3000, .ns = 40000000000 };
	unresolved_of(r)->ops[OP_UNLINK] = (struct op_counts){ .calls = 3000, .ns = 40000000000 };
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_CONTAINS(find(&insights, "metadata-heavy")->text,
			"6,010 metadata calls (open, stat, unlink and the like) took 22 %");
	/* what there is of mounts is on lustre */
	ASSERT_CONTAINS(find(&insights, "metadata-heavy")->advice, "node's own disk");
}

/* ---- what costs nothing is not told ---- */

static void expect_silence(const char *id, void (*make)(struct record *r))
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	make(r);
	ASSERT_OK(ask(rules, r, &insights));
	test_true(!find(&insights, id), id, __FILE__, __LINE__);
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

TEST(searches_that_cost_little_are_not_told)
{
	expect_silence("failed-opens", start_program);
	expect_silence("not-found-storm", start_program);
	expect_silence("failed-opens", search_along);
	expect_silence("not-found-storm", search_along);
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

TEST(what_larger_requests_would_not_cure_is_not_blamed_on_small_ones)
{
	expect_silence("small-reads", read_small_files);
	expect_silence("small-reads", read_device);
	expect_silence("slow-reads", read_device);
	/* the time is that of other calls than the bytes */
	expect_silence("small-reads", read_small_async);
	expect_silence("slow-reads", read_small_async);
}

/* ---- waiting explains cores that were not used ---- */

static void starve(struct record *r)
{
	use_cpu(r, 35);
	set(r, METRIC_CPU_RUN_QUEUE, 65);
}

TEST(who_is_starved_is_not_like_a_serial_program)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	starve(r);
	expect_silence("like-serial", starve);
	ASSERT_OK(insights_find(rules, r, NULL, &insights));
	ASSERT(find(&insights, "cores-taken") && !find(&insights, "cpu-low"));
}

static void like_serial_for_a_lock(struct record *r)
{
	like_serial(r, true);
	set(r, METRIC_BLOCKED_LOCK, 90);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, 10000);
}

TEST(who_waits_for_a_lock_is_not_like_a_serial_program)
{
	expect_silence("like-serial", like_serial_for_a_lock);
}

TEST(what_was_waited_for_explains_how_little_was_used)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	const struct insight *first[INSIGHTS_FIRST];

	lose(r, METRIC_BLOCKED_FILE_ASYNC, 0.4);
	read_async(row_of(r), 1600);
	ASSERT_OK(insights_find(rules, r, NULL, &insights));
	ASSERT_EQ(insights_first(&insights, first), (size_t)1);
	ASSERT_STREQ(first[0]->rule->id, "lost-to-async");
}

TEST(without_causes_little_use_is_told_all_the_same)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	use_cpu(r, 200);
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		r->reading.values[cause_metric((enum cause)cause)].is_known = false;
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(find(&insights, "cpu-low"));
}

/* io_uring takes requests on sockets, too. */
TEST(waiting_for_messages_is_not_said_to_be_lost)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};
	struct mount_row *row = reading_get_mount(&r->reading, ROW_SOCKET, "(socket)", NULL);

	row->has_seconds = row->has_histograms = true;
	lose(r, METRIC_BLOCKED_FILE_ASYNC, 0.4);
	read_async(row, 9000);
	read_async(row_of(r), 1000);
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT(!find(&insights, "lost-to-async"));
	ASSERT_CONTAINS(find(&insights, "async-elsewhere")->text, "1,000 on files were counted");
}

TEST(of_syncs_only_the_mounts_is_told)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	lose(r, METRIC_BLOCKED_SYNC, 0.3);
	fsync_storm(r, true);
	ASSERT_OK(insights_find(rules, r, NULL, &insights));
	ASSERT(find(&insights, "fsync-storm") && !find(&insights, "lost-to-sync"));
}

/* ---- what each rule needs at least ---- */

static bool is_end(const struct rule *rule)
{
	return rule->group &&
	       (strcmp(rule->group, "out of memory") == 0 || strcmp(rule->group, "crashes") == 0 ||
		strcmp(rule->group, "kills") == 0);
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

		cases[i].make(r, true);
		r->time.elapsed_ns = 999999999;
		ASSERT_OK(ask(rules, r, &insights));
		for (size_t k = 0; k < insights.count; k++)
			test_true(is_end(insights.items[k].rule), insights.items[k].rule->id,
				  "is told of less than a second", 0);
	}
}

TEST(one_oom_kill_gives_one_directive)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights insights = {};

	out_of_memory(r, true);
	memory_near_limit(r, true);
	r->job.exit_code = 137;
	ASSERT_OK(ask(rules, r, &insights));
	ASSERT_EQ((uint64_t)insights.count, (uint64_t)1);
	ASSERT_STREQ(insights.items[0].directive, "#SBATCH --mem=24G  # at least");
}

/* Each is opened, listed by two calls, and closed. */
static void list_directories(struct record *r)
{
	open_close_storm(r, true);
	row_of(r)->ops[OP_READDIR] = (struct op_counts){ .calls = 9000 };
}

static void wait_in_a_pool(struct record *r)
{
	use_cpu(r, 100);
	set(r, METRIC_BLOCKED_LOCK, 300);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, 150);
}

static void join_a_thread(struct record *r)
{
	use_cpu(r, 100);
	set(r, METRIC_BLOCKED_THREADS, 100);
	set(r, METRIC_CPU_VOLUNTARY_SWITCHES, 5000);
}

static void copy_much(struct record *r)
{
	set(r, METRIC_CPU_USER, 10);
	set(r, METRIC_CPU_SYSTEM, 350);
}

TEST(what_only_seems_so_is_not_told)
{
	expect_silence("open-close-storm", list_directories);
	expect_silence("lost-to-locks", wait_in_a_pool);
	expect_silence("lost-to-locks", join_a_thread);
	expect_silence("waited-for-threads", join_a_thread);
	expect_silence("system-time", copy_much);
}

TEST(the_kind_of_storage_decides_the_advice)
{
	_cleanup_(rules_freep) struct rules *rules = rules_of(NULL);
	_cleanup_(record_freep) struct record *r = made_calm();
	_cleanup_(insights_clear) struct insights network = {}, disk = {};
	struct mount_row *row;

	metadata_heavy(r, true);
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
