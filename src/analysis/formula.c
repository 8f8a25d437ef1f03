/* SPDX-License-Identifier: MIT */
#include "analysis/formula_internal.h"

#include <assert.h>
#include <math.h>

#include "analysis/core_time.h"
#include "analysis/working_time.h"
#include "basic/macro.h"
#include "model/record.h"
#include "analysis/variables.h"

/* ---- of the job ---- */

static struct amount value(const struct subject *s, enum metric_id id)
{
	const struct value *v = &s->record->reading.values[id];

	return v->is_known ? amount_of_metric(id, v->number) : (struct amount){};
}

struct amount formula_elapsed(const struct subject *s)
{
	return s->record->time.elapsed_ns ? amount_of((double)s->record->time.elapsed_ns / 1e9)
					  : (struct amount){};
}

static struct amount cpu_time(const struct subject *s)
{
	return amount_add(value(s, METRIC_CPU_USER), value(s, METRIC_CPU_SYSTEM));
}

struct amount formula_core_time(const struct subject *s)
{
	return amount_multiply(value(s, METRIC_CPU_ALLOCATED), formula_elapsed(s));
}

/* As far as it is known: what spins in its own code is taken for work anyway. */
static struct amount working_share(const struct subject *s)
{
	struct amount polling = value(s, METRIC_CPU_POLLING);

	return amount_divide(polling.is_known ? amount_left(cpu_time(s), polling) : cpu_time(s),
			     formula_core_time(s));
}

static struct amount blocked_time(const struct record *r)
{
	uint64_t ns;

	return record_blocked_time(r, &ns) ? amount_of((double)ns / 1e9) : (struct amount){};
}

/* CPU time, what was stolen of it (records of before do not know it), and waiting for a CPU. */
static struct amount wanted_time(const struct subject *s)
{
	struct amount stolen = value(s, METRIC_CPU_STOLEN);
	struct amount on = stolen.is_known ? amount_add(cpu_time(s), stolen) : cpu_time(s);

	return amount_add(on, value(s, METRIC_CPU_RUN_QUEUE));
}

struct amount thread_time(const struct record *r)
{
	struct subject s = { .record = r };

	return amount_add(wanted_time(&s), blocked_time(r));
}

struct core_time formula_core(const struct subject *s)
{
	return s->times ? s->times->core : core_time_of(s->record);
}

struct working_time formula_working(const struct subject *s)
{
	return s->times ? s->times->working : working_time_of(s->record);
}

static struct amount working_time(const struct subject *s)
{
	struct working_time t = formula_working(s);

	return t.is_known ? amount_of(t.seconds) : (struct amount){};
}

/* What threads ran or wanted to, over elapsed time. */
static struct amount cores_wanted(const struct subject *s)
{
	return amount_divide(wanted_time(s), formula_elapsed(s));
}

static struct amount thread_seconds(const struct subject *s)
{
	return thread_time(s->record);
}

static struct amount blocked_seconds(const struct subject *s)
{
	return blocked_time(s->record);
}

static struct amount idle_seconds(const struct subject *s)
{
	struct core_time t = formula_core(s);

	return t.has_causes ? amount_of(t.idle) : (struct amount){};
}

/* What was lost to files, whatever was done with them. */
static struct amount lost_files(const struct subject *s)
{
	struct core_time t = formula_core(s);

	return t.has_causes ? amount_of(t.lost[CAUSE_FILE_READ] + t.lost[CAUSE_FILE_WRITE] +
					t.lost[CAUSE_FILE_META] + t.lost[CAUSE_FILE_ASYNC] +
					t.lost[CAUSE_SYNC])
			    : (struct amount){};
}

static struct amount knows_causes(const struct subject *s)
{
	return amount_of(formula_core(s).has_causes);
}

/* What was lost, whatever the cause. */
static struct amount lost_core(const struct subject *s)
{
	struct core_time t = formula_core(s);
	double sum = 0;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t.lost[c];
	return t.has_causes ? amount_of(sum) : (struct amount){};
}

/* What core time goes into, beside idling: work, spinning, and each thing that it may be lost to,
 * files as one.  False: not all of it is known. */
#define PARTS_MAX (LOST_COUNT + 2)
static bool take_parts(const struct subject *s, double ret[PARTS_MAX])
{
	struct core_time t = formula_core(s);
	struct amount polling = value(s, METRIC_CPU_POLLING), files = lost_files(s);

	if (!t.has_causes || t.core <= 0 || !polling.is_known)
		return false;
	for (size_t c = 0; c < LOST_COUNT; c++)
		ret[c] = t.lost[c];
	ret[CAUSE_FILE_WRITE] = ret[CAUSE_FILE_META] = ret[CAUSE_FILE_ASYNC] = ret[CAUSE_SYNC] = 0;
	ret[CAUSE_FILE_READ] = files.number;
	ret[LOST_COUNT] = fmax(0, t.on_cpu - polling.number);
	ret[LOST_COUNT + 1] = polling.number;
	for (size_t i = 0; i < PARTS_MAX; i++)
		ret[i] /= t.core;
	return true;
}

/* The greatest of the parts, without the first @skipped ones. */
static struct amount part_share(const struct subject *s, size_t skipped)
{
	double parts[PARTS_MAX];
	size_t greatest = 0;

	if (!take_parts(s, parts))
		return (struct amount){};
	for (;; skipped--) {
		for (size_t i = 0; i < PARTS_MAX; i++)
			greatest = parts[i] > parts[greatest] ? i : greatest;
		if (!skipped)
			return amount_of(parts[greatest]);
		parts[greatest] = 0;
	}
}

static struct amount greatest_part_share(const struct subject *s)
{
	return part_share(s, 0);
}

static struct amount second_part_share(const struct subject *s)
{
	return part_share(s, 1);
}

static struct amount oom_kill_entry(const struct subject *s)
{
	const struct oom_kill *largest = oom_list_largest(&s->record->oom_list);

	return largest ? amount_of((double)largest->rss.number) : (struct amount){};
}

static struct amount threads_share(const struct subject *s)
{
	const struct value *v = &s->record->threads.cpu_ns;
	struct amount on_cpu = v->is_known ? amount_of((double)v->number / 1e9) : (struct amount){};

	return amount_divide(on_cpu, cpu_time(s));
}

/* Over elapsed time, of several records over that of each. */
static struct amount share_of_time(const struct subject *s, enum metric_id id)
{
	unsigned int records = s->record->merged_records;

	return amount_divide(value(s, id),
			     amount_multiply(formula_elapsed(s), amount_of(records ? records : 1)));
}

static struct amount cpu_waiting_share(const struct subject *s)
{
	return share_of_time(s, METRIC_PRESSURE_CPU_WAITING);
}

static struct amount io_stalled_share(const struct subject *s)
{
	return share_of_time(s, METRIC_PRESSURE_IO_STALLED);
}

static struct amount memory_stalled_share(const struct subject *s)
{
	return share_of_time(s, METRIC_PRESSURE_MEMORY_STALLED);
}

/* Of several records the greatest peak stands against the sum of the limits, which says nothing. */
static bool is_one(const struct subject *s)
{
	return s->record->merged_records <= 1;
}

static struct amount memory_usage(const struct subject *s)
{
	return is_one(s)
		       ? amount_divide(value(s, METRIC_MEMORY_PEAK), value(s, METRIC_MEMORY_LIMIT))
		       : (struct amount){};
}

static struct amount memory_unused(const struct subject *s)
{
	return is_one(s) ? amount_left(value(s, METRIC_MEMORY_LIMIT), value(s, METRIC_MEMORY_PEAK))
			 : (struct amount){};
}

static struct amount exit_code(const struct subject *s)
{
	return s->record->job.exit_code >= 0 ? amount_of(s->record->job.exit_code)
					     : (struct amount){};
}

static struct amount end_signal(const struct subject *s)
{
	return s->record->is_final && s->record->merged_records <= 1
		       ? amount_of(s->record->job.signal)
		       : (struct amount){};
}

static struct amount nodes(const struct subject *s)
{
	return amount_of(s->record->merged_nodes);
}

/* ---- of files one by one ---- */

static struct amount small_files(const struct subject *s)
{
	return s->record->files.is_known ? amount_of((double)s->record->files.small.files)
					 : (struct amount){};
}

static struct amount small_file_bytes(const struct subject *s)
{
	return s->record->files.is_known ? amount_of((double)s->record->files.small.bytes)
					 : (struct amount){};
}

/* clang-format off */
static const struct formula of_job[] = {
	{ "elapsed_seconds", DIMENSION_SECONDS, false, formula_elapsed, "Time between start and end." },
	{ "cpu_seconds", DIMENSION_SECONDS, false, cpu_time, "User and system time." },
	{ "working_seconds", DIMENSION_SECONDS, false, working_time, "Working time of all threads: on a CPU, stolen by a hypervisor or interrupts, waiting for a CPU, and blocked in files, sync, locks, the network and page faults." },
	{ "core_seconds", DIMENSION_SECONDS, false, formula_core_time, "Core time: allocated cores times elapsed time." },
	{ "unused_core_seconds", DIMENSION_SECONDS, .expression = "max(0, core_seconds - cpu_seconds)",
	  .help = "Core time less CPU time." },
	{ "cores_busy", DIMENSION_NUMBER, .expression = "cpu_seconds / elapsed_seconds",
	  .help = "Cores that were busy on average: CPU time over elapsed time." },
	{ "cores_wanted", DIMENSION_NUMBER, false, cores_wanted, "Cores that the job could have used on average: CPU time, stolen time and waiting for a CPU, over elapsed time." },
	{ "cpu_efficiency", DIMENSION_SHARE, .expression = "cpu_seconds / core_seconds",
	  .help = "CPU time over core time." },
	{ "system_share", DIMENSION_SHARE, .expression = "cpu_system_seconds / cpu_seconds",
	  .help = "System time over CPU time." },
	{ "instructions_per_cycle", DIMENSION_NUMBER, .expression = "cpu_instructions / cpu_cycles",
	  .help = "Instructions completed for each CPU cycle, from hardware counters." },
	{ "llc_misses_per_1000_instructions", DIMENSION_NUMBER, .expression = "cpu_llc_misses * 1000 / cpu_instructions",
	  .help = "Misses of the last-level cache per 1,000 instructions, from hardware counters." },
	{ "run_queue_share", DIMENSION_SHARE, .expression = "cpu_run_queue_seconds / (cpu_run_queue_seconds + cpu_seconds)",
	  .help = "Share of the time that threads ran or were ready to run in which they waited for a CPU." },
	{ "stolen_share", DIMENSION_SHARE, .expression = "cpu_stolen_seconds / (cpu_stolen_seconds + cpu_seconds)",
	  .help = "Share of the time that threads were on a CPU that a hypervisor or interrupts took." },
	{ "throttled_share", DIMENSION_SHARE, .expression = "cpu_throttled_seconds / (cpu_throttled_seconds + cpu_seconds)",
	  .help = "Time in which the CPU quota throttled the job, over that time and CPU time together." },
	{ "polling_share", DIMENSION_SHARE, .expression = "cpu_polling_seconds / cpu_seconds",
	  .help = "Share of CPU time that threads spent spinning, in libraries of MPI or OpenMP or in polls that found nothing." },
	{ "polling_core_share", DIMENSION_SHARE, .expression = "cpu_polling_seconds / core_seconds",
	  .help = "Share of core time that threads spent spinning, in libraries of MPI or OpenMP or in polls that found nothing." },
	{ "working_share", DIMENSION_SHARE, false, working_share, "CPU time without spinning, over core time." },
	{ "empty_polls_per_second", DIMENSION_PER_SECOND, .expression = "cpu_empty_polls / elapsed_seconds",
	  .help = "Polls with a timeout of zero that found nothing, per second of elapsed time." },
	{ "yields_per_second", DIMENSION_PER_SECOND, .expression = "cpu_yields / elapsed_seconds",
	  .help = "Calls of sched_yield per second of elapsed time." },
	{ "involuntary_switches_per_cpu_second", DIMENSION_PER_SECOND, .expression = "cpu_involuntary_switches / cpu_seconds",
	  .help = "Involuntary context switches per second of CPU time." },
	{ "migrations_per_cpu_second", DIMENSION_PER_SECOND, .expression = "cpu_migrations / cpu_seconds",
	  .help = "Moves of threads from one CPU to another per second of CPU time." },
	{ "thread_seconds", DIMENSION_SECONDS, false, thread_seconds, "Time of all threads: CPU time, stolen time, waiting for a CPU, and blocked." },
	{ "blocked_seconds", DIMENSION_SECONDS, false, blocked_seconds, "Time in which threads were blocked, whatever the cause." },
	{ "idle_core_seconds", DIMENSION_SECONDS, false, idle_seconds, "Core time that was neither used nor lost to a cause." },
	{ "idle_core_share", DIMENSION_SHARE, .expression = "idle_core_seconds / core_seconds",
	  .help = "Share of core time that was neither used nor lost to a cause." },
	{ "lost_files_seconds", DIMENSION_SECONDS, false, lost_files, "Core time lost to files: reads, writes, metadata, asynchronous requests and sync." },
	{ "lost_files_share", DIMENSION_SHARE, .expression = "lost_files_seconds / core_seconds",
	  .help = "Share of core time lost to files: reads, writes, metadata, asynchronous requests and sync." },
	{ "knows_causes", DIMENSION_NUMBER, false, knows_causes, "1 if wait times were measured, else 0.", .is_of_record = true },
	{ "lost_core_seconds", DIMENSION_SECONDS, false, lost_core, "Core time lost to waiting, for any cause." },
	{ "lost_core_share", DIMENSION_SHARE, .expression = "lost_core_seconds / core_seconds",
	  .help = "Share of core time lost to waiting, for any cause." },
	{ "greatest_part_share", DIMENSION_SHARE, false, greatest_part_share, "Share of core time of its largest part: work, spinning, files, locks, network, page faults, waiting for a CPU, or stolen." },
	{ "second_part_share", DIMENSION_SHARE, false, second_part_share, "Share of core time of its second-largest part." },
	{ "cores_used", DIMENSION_NUMBER, .value = offsetof(struct record, cores.count),
	  .help = "Cores that the job ran on for at least 5 % of the time." },
	{ "cores_unused", DIMENSION_NUMBER, .expression = "max(0, cpu_allocated_cores - cores_used)",
	  .help = "Allocated cores that the job did not use for 5 % of the time." },
	{ "cores_balance", DIMENSION_SHARE, .value = offsetof(struct record, cores.balance), .divisor = LOAD_BALANCE_ONE,
	  .help = "Mean time on the cores used, divided by the largest." },
	{ "busiest_core_share", DIMENSION_SHARE, .expression = "min(1, cores_busy / cores_used / cores_balance)",
	  .help = "Share of the elapsed time in which the job ran on the core that it used most." },
	{ "cpu_seconds_per_task", DIMENSION_SECONDS, .expression = "cpu_seconds / tasks_ended",
	  .help = "CPU time per process or thread that ended." },
	{ "ranks", DIMENSION_NUMBER, .value = offsetof(struct record, ranks.count),
	  .help = "Ranks of the job." },
	{ "ranks_balance", DIMENSION_SHARE, .value = offsetof(struct record, ranks.balance), .divisor = LOAD_BALANCE_ONE,
	  .help = "Mean CPU time of a rank without spinning, divided by the largest." },
	{ "threads", DIMENSION_NUMBER, .value = offsetof(struct record, threads.count),
	  .help = "Threads that worked, in the process that did most." },
	{ "threads_balance", DIMENSION_SHARE, .value = offsetof(struct record, threads.balance), .divisor = LOAD_BALANCE_ONE,
	  .help = "Mean CPU time of the threads that worked, in the process that did most, divided by the largest." },
	{ "threads_share", DIMENSION_SHARE, false, threads_share, "CPU time of the threads that worked, in the process that did most, over all CPU time of the job." },
	{ "cpu_waiting_share", DIMENSION_SHARE, false, cpu_waiting_share, "Share of the time in which some thread waited for a CPU (pressure; cgroup v2)." },
	{ "io_stalled_share", DIMENSION_SHARE, false, io_stalled_share, "Share of the time in which all threads that were not idle waited for storage (pressure; cgroup v2)." },
	{ "memory_stalled_share", DIMENSION_SHARE, false, memory_stalled_share, "Share of the time in which all threads that were not idle waited for memory (pressure; cgroup v2)." },
	{ "memory_usage", DIMENSION_SHARE, false, memory_usage, "Peak memory over the limit; for a single record only." },
	{ "memory_unused_bytes", DIMENSION_BYTES, false, memory_unused, "Memory limit less peak memory; for a single record only." },
	{ "oom_kill_bytes", DIMENSION_BYTES, false, oom_kill_entry, "Memory of the largest process that the kernel killed because memory ran out." },
	{ "major_faults_per_second", DIMENSION_PER_SECOND, .expression = "memory_major_faults / elapsed_seconds",
	  .help = "Page faults that read from storage, per second." },
	{ "exit_code", DIMENSION_NUMBER, false, exit_code, "Exit status of the command; unknown if a signal ended it." },
	{ "exit_signal", DIMENSION_NUMBER, false, end_signal, "Signal that ended the command; 0: none." },
	{ "network_retransmits_share", DIMENSION_SHARE, .expression = "network_connections_retransmits / network_connections_segments",
	  .help = "Share of TCP segments that were sent again." },
	{ "network_mean_sent_bytes", DIMENSION_BYTES, .expression = "network_sent_bytes / network_sent_calls",
	  .help = "Mean bytes of a call that sends through a socket." },
	{ "network_mean_rtt_seconds", DIMENSION_SECONDS, .expression = "network_connections_rtt_seconds / network_connections_rtt_samples",
	  .help = "Mean of TCP's smoothed round-trip time over all samples." },
	{ "nodes", DIMENSION_NUMBER, false, nodes, "Nodes of the merged record." },
	{ "files_reread_share", DIMENSION_SHARE, .expression = "files_reread_bytes / files_read_bytes",
	  .help = "Share of the bytes read that must have been read before (with --files)." },
	{ "files_read_after_write_share", DIMENSION_SHARE, .expression = "files_read_after_write_bytes / files_read_bytes",
	  .help = "Share of the bytes read that the job itself had written (with --files)." },
	{ "files_random_reads_share", DIMENSION_SHARE, .expression = "files_read_random_bytes / (files_read_random_bytes + files_read_sequential_bytes)",
	  .help = "Share of the bytes read at known positions that did not follow the read before (with --files)." },
	{ "small_files", DIMENSION_NUMBER, false, small_files, "Files below 64 KiB that were read or written (with --files)." },
	{ "small_files_bytes", DIMENSION_BYTES, false, small_file_bytes, "Bytes read from and written to files below 64 KiB (with --files)." },
};
/* clang-format on */

size_t formula_count(void)
{
	return ARRAY_SIZE(of_job) + formula_rows_count;
}

const struct formula *formula_get(size_t i)
{
	assert(i < formula_count());
	return i < ARRAY_SIZE(of_job) ? &of_job[i] : &formula_rows[i - ARRAY_SIZE(of_job)];
}
