/* SPDX-License-Identifier: MIT */
#include "analysis/formula.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "analysis/anomalies.h"
#include "analysis/core_time.h"
#include "analysis/variables.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/file_system.h"
#include "model/record.h"

#define UNKNOWN ((struct amount){})

/* ---- of the job ---- */

static struct amount value(const struct subject *s, enum metric_id id)
{
	return amount_of_value(id, &s->record->reading.values[id]);
}

static struct amount elapsed(const struct subject *s, const struct formula *f UNUSED)
{
	return s->record->time.elapsed_ns ? amount_of((double)s->record->time.elapsed_ns / 1e9)
					  : UNKNOWN;
}

static struct amount cpu_time(const struct subject *s, const struct formula *f UNUSED)
{
	return amount_add(value(s, METRIC_CPU_USER), value(s, METRIC_CPU_SYSTEM));
}

static struct amount core_seconds(const struct subject *s, const struct formula *f)
{
	return amount_multiply(value(s, METRIC_CPU_ALLOCATED), elapsed(s, f));
}

/* Without known polling time, all CPU time counts as work. */
static struct amount working_share(const struct subject *s, const struct formula *f)
{
	struct amount polling = value(s, METRIC_CPU_POLLING);

	return amount_divide(polling.is_known ? amount_left(cpu_time(s, f), polling)
					      : cpu_time(s, f),
			     core_seconds(s, f));
}

static struct amount blocked_time(const struct record *r)
{
	uint64_t ns;

	return record_blocked_time(r, &ns) ? amount_of((double)ns / 1e9) : UNKNOWN;
}

/* CPU time, stolen time (absent in old records), and waiting for a CPU. */
static struct amount wanted_time(const struct subject *s)
{
	struct amount stolen = value(s, METRIC_CPU_STOLEN), on = cpu_time(s, NULL);

	return amount_add(stolen.is_known ? amount_add(on, stolen) : on,
			  value(s, METRIC_CPU_RUN_QUEUE));
}

struct amount thread_time(const struct record *r)
{
	return amount_add(wanted_time(&(struct subject){ .record = r }), blocked_time(r));
}

struct core_time formula_core(const struct subject *s)
{
	return s->times ? s->times->core : core_time_of(s->record);
}

struct working_time formula_working(const struct subject *s)
{
	return s->times ? s->times->working : working_time_of(s->record);
}

const struct rank_time *formula_odd_rank(const struct subject *s, struct deviation *ret)
{
	if (!s->times)
		return rank_deviation(rank_times_of(s->record), ret);
	*ret = s->times->odd;
	return s->times->odd_rank;
}

static struct amount working_time(const struct subject *s, const struct formula *f UNUSED)
{
	struct working_time t = formula_working(s);

	return t.is_known ? amount_of(t.seconds) : UNKNOWN;
}

static struct amount cores_wanted(const struct subject *s, const struct formula *f)
{
	return amount_divide(wanted_time(s), elapsed(s, f));
}

static struct amount thread_seconds(const struct subject *s, const struct formula *f UNUSED)
{
	return thread_time(s->record);
}

static struct amount blocked_seconds(const struct subject *s, const struct formula *f UNUSED)
{
	return blocked_time(s->record);
}

static struct amount idle_seconds(const struct subject *s, const struct formula *f UNUSED)
{
	struct core_time t = formula_core(s);

	return t.has_causes ? amount_of(t.idle) : UNKNOWN;
}

/* Root's command on cgroup v1 may have made a group with a quota, which is not known. */
static struct amount known_throttled_share(const struct subject *s, const struct formula *f UNUSED)
{
	struct amount throttled = value(s, METRIC_CPU_THROTTLED);

	return throttled.is_known ? amount_divide(throttled, amount_add(throttled, cpu_time(s, f)))
				  : amount_of(0);
}

static struct amount lost_files(const struct subject *s, const struct formula *f UNUSED)
{
	struct core_time t = formula_core(s);

	return t.has_causes ? amount_of(t.lost[CAUSE_FILE_READ] + t.lost[CAUSE_FILE_WRITE] +
					t.lost[CAUSE_FILE_META] + t.lost[CAUSE_FILE_ASYNC] +
					t.lost[CAUSE_SYNC])
			    : UNKNOWN;
}

static struct amount knows_causes(const struct subject *s, const struct formula *f UNUSED)
{
	return amount_of(formula_core(s).has_causes);
}

static struct amount lost_core(const struct subject *s, const struct formula *f UNUSED)
{
	struct core_time t = formula_core(s);
	double sum = 0;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t.lost[c];
	return t.has_causes ? amount_of(sum) : UNKNOWN;
}

/* The parts of core time other than idle, as shares: work, spinning, and each cause of loss; causes
 * of files are one.  False: not all of it is known. */
#define PARTS_MAX (LOST_COUNT + 2)
static bool take_parts(const struct subject *s, double ret[PARTS_MAX])
{
	struct core_time t = formula_core(s);
	struct amount polling = value(s, METRIC_CPU_POLLING), files = lost_files(s, NULL);

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

/* The largest of the parts, without the first f->argument ones. */
static struct amount part_share(const struct subject *s, const struct formula *f)
{
	double parts[PARTS_MAX];
	size_t greatest = 0;

	if (!take_parts(s, parts))
		return UNKNOWN;
	for (uint32_t skipped = f->argument;; skipped--) {
		for (size_t i = 0; i < PARTS_MAX; i++)
			greatest = parts[i] > parts[greatest] ? i : greatest;
		if (!skipped)
			return amount_of(parts[greatest]);
		parts[greatest] = 0;
	}
}

static struct amount oom_kill_entry(const struct subject *s, const struct formula *f UNUSED)
{
	const struct oom_kill *largest = oom_list_largest(&s->record->oom_list);

	return largest ? amount_of((double)largest->rss.number) : UNKNOWN;
}

/* What f->argument says of the rank that differs from the others; 0: none does. */
static struct amount odd_rank(const struct subject *s, const struct formula *f)
{
	const struct rank_times *ranks = rank_times_of(s->record);
	struct deviation d = {};
	const struct rank_time *odd = formula_odd_rank(s, &d);
	const double numbers[] = { odd ? (double)odd->rank : 0, d.value, d.median, d.scatter,
				   (double)ranks->count - 1 };

	return ranks->is_known ? amount_of(numbers[f->argument]) : UNKNOWN;
}

static struct amount threads_share(const struct subject *s, const struct formula *f)
{
	const struct value *v = &s->record->threads.cpu_ns;

	return amount_divide(v->is_known ? amount_of((double)v->number / 1e9) : UNKNOWN,
			     cpu_time(s, f));
}

/* Over elapsed time; of a merged record, over that of each of its records. */
static struct amount share_of_time(const struct subject *s, const struct formula *f)
{
	unsigned int records = s->record->merged_records;

	return amount_divide(value(s, f->id),
			     amount_multiply(elapsed(s, f), amount_of(records ? records : 1)));
}

/* A merged record has the largest peak and the sum of the limits: they do not compare. */
static bool is_one(const struct subject *s)
{
	return s->record->merged_records <= 1;
}

static struct amount memory_usage(const struct subject *s, const struct formula *f UNUSED)
{
	return is_one(s)
		       ? amount_divide(value(s, METRIC_MEMORY_PEAK), value(s, METRIC_MEMORY_LIMIT))
		       : UNKNOWN;
}

static struct amount memory_unused(const struct subject *s, const struct formula *f UNUSED)
{
	return is_one(s) ? amount_left(value(s, METRIC_MEMORY_LIMIT), value(s, METRIC_MEMORY_PEAK))
			 : UNKNOWN;
}

/* clang-format off */
/* A program that runs the rest of its line. */
static const struct wrapper {
	const char *name;
	unsigned int operands; /* before the rest */
	const char *letters, *words; /* options whose value may be a word of its own */
} wrappers[] = {
	{ "chrt", 1, "TPD", "sched-runtime sched-period sched-deadline" },
	{ "env", 0, "uC", "unset chdir" },
	{ "ionice", 0, "cn", "class classdata" },
	{ "nice", 0, "n", "adjustment" },
	{ "nohup", 0, "", "" },
	{ "numactl", 0, "NmCipPw", "interleave preferred preferred-many weighted-interleave physcpubind cpunodebind membind" },
	{ "perf", 1, "eorxIGCDFcmM", "event output repeat field-separator interval-print cgroup cpu delay freq count call-graph" },
	{ "setsid", 0, "", "" },
	{ "stdbuf", 0, "ioe", "input output error" },
	{ "strace", 0, "abeEIoOPsSuUX", "columns trace env interruptible output trace-path string-limit user" },
	{ "sudo", 0, "CDghpRrtTUu", "close-from chdir group host prompt chroot role type command-timeout other-user user" },
	{ "taskset", 1, "", "" },
	{ "time", 0, "fo", "format output" },
	{ "timeout", 1, "ks", "kill-after signal" },
};
/* clang-format on */

static const struct wrapper *find_wrapper(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		if (strcmp(name, wrappers[i].name) == 0)
			return &wrappers[i];
	}
	return NULL;
}

/* Is the value of "-@option" the next word? */
static bool takes_next(const struct wrapper *w, const char *option)
{
	if (*option == '-')
		return parse_has_word(w->words, option + 1);
	option += strcspn(option, w->letters);
	return *option && !option[1];
}

/* The rest of the line of @w, whose options are at @word. */
static char *const *skip_options(const struct wrapper *w, char *const *word)
{
	unsigned int operands = w->operands;

	for (; *word; word++) {
		if (**word == '-') {
			if (takes_next(w, *word + 1) && word[1])
				word++;
		} else if (operands) {
			operands--;
		} else if (!strchr(*word, '=')) { /* NAME=value, of env */
			break;
		}
	}
	return word;
}

/* Of ranks; its own threads only wait. */
static struct amount is_launcher(const struct subject *s, const struct formula *f UNUSED)
{
	static const char *const launchers[] = { "mpirun",  "mpiexec", "mpiexec.hydra", "orterun",
						 "prterun", "prun",    "srun",		"aprun" };
	char *const *word = s->record->job.command;

	while (word && *word) {
		const char *slash = strrchr(*word, '/'), *name = slash ? slash + 1 : *word;
		const struct wrapper *w = find_wrapper(name);

		for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
			if (strcmp(name, launchers[i]) == 0)
				return amount_of(1);
		}
		if (!w)
			break;
		word = skip_options(w, word + 1);
	}
	return amount_of(0);
}

static struct amount exit_code(const struct subject *s, const struct formula *f UNUSED)
{
	return s->record->job.exit_code >= 0 ? amount_of(s->record->job.exit_code) : UNKNOWN;
}

static struct amount end_signal(const struct subject *s, const struct formula *f UNUSED)
{
	return s->record->is_final && is_one(s) ? amount_of(s->record->job.signal) : UNKNOWN;
}

static struct amount nodes(const struct subject *s, const struct formula *f UNUSED)
{
	return amount_of(s->record->merged_nodes);
}

static struct amount small_files(const struct subject *s, const struct formula *f UNUSED)
{
	return s->record->files.is_known ? amount_of((double)s->record->files.small.files)
					 : UNKNOWN;
}

static struct amount small_file_bytes(const struct subject *s, const struct formula *f UNUSED)
{
	return s->record->files.is_known ? amount_of((double)s->record->files.small.bytes)
					 : UNKNOWN;
}

/* ---- of rows of files: of the subject's row, else of all of them ---- */

#define OP(name) (UINT32_C(1) << OP_##name)
#define OPENS (OP(OPEN) | OP(CREATE))
#define FLUSHES (OP(FSYNC) | OP(FDATASYNC))
#define SYNCS (FLUSHES | OP(SYNC)) /* all that waits until data are on storage */

bool row_is_of_files(const struct mount_row *row)
{
	return row->kind == ROW_MOUNT || row->kind == ROW_UNRESOLVED || row->kind == ROW_OTHER;
}

bool row_holds_devices(const struct mount_row *row)
{
	if (row->fstype &&
	    (strcmp(row->fstype, "devtmpfs") == 0 || strcmp(row->fstype, "devpts") == 0))
		return true;
	return strcmp(row->mount, "/dev") == 0; /* a container's is a tmpfs */
}

bool formula_data_total(const struct record *r, enum metric_id id, uint64_t *ret)
{
	uint64_t total = 0;

	if (!r->reading.has_mounts)
		return false;
	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (!row_is_of_files(row) || row_holds_devices(row) ||
		    file_system_of(row->fstype)->holds_no_data)
			continue;
		if (!mount_row_knows(row, id))
			return false;
		total += mount_row_number(row, id);
	}
	*ret = total;
	return true;
}

/* Of one row: @ops is a set of operations. */
typedef uint64_t row_count(const struct mount_row *row, enum metric_id id, uint32_t ops);

static struct amount sum_rows(const struct subject *s, bool (*is_meant)(const struct mount_row *),
			      enum metric_id id, uint32_t ops, row_count *count)
{
	const struct reading *reading = &s->record->reading;
	uint64_t sum = 0;

	if (s->row)
		return mount_row_knows(s->row, id) ? amount_of_metric(id, count(s->row, id, ops))
						   : UNKNOWN;
	if (!reading->has_mounts)
		return UNKNOWN;
	for (size_t i = 0; i < reading->mount_count; i++) {
		const struct mount_row *row = &reading->mounts[i];

		if (!is_meant(row))
			continue;
		if (!mount_row_knows(row, id))
			return UNKNOWN;
		sum += count(row, id, ops);
	}
	return amount_of_metric(id, sum);
}

/* No operations: all that the metric has. */
static uint64_t count_ops(const struct mount_row *row, enum metric_id id, uint32_t ops)
{
	uint64_t sum = ops ? 0 : mount_row_number(row, id);

	for (size_t op = 0; op < OP_COUNT; op++) {
		if (ops >> op & 1)
			sum += op_counts_number(&row->ops[op], id);
	}
	return sum;
}

/* Of operations of which more than half did not find the file. */
static uint64_t count_searches(const struct mount_row *row, enum metric_id id, uint32_t ops UNUSED)
{
	uint64_t sum = 0;

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (row->ops[op].not_found > row->ops[op].calls / 2)
			sum += op_counts_number(&row->ops[op], id);
	}
	return sum;
}

/* Of io_uring and libaio, whose operations have no time. */
static uint64_t count_untimed(const struct mount_row *row, enum metric_id id, uint32_t ops)
{
	uint64_t sum = 0;

	for (size_t i = INTERFACE_CALL + 1; i < INTERFACE_MAPPING; i++) {
		for (size_t op = 0; op < OP_DATA_COUNT; op++) {
			if (ops >> op & 1 && !file_interface_has_time((enum file_interface)i))
				sum += op_counts_number(&row->interfaces[i][op], id);
		}
	}
	return sum;
}

/* Calls that moved data: the last read of a file returns nothing, and is no request. */
static uint64_t count_sizes(const struct mount_row *row, uint32_t ops, uint64_t below)
{
	const struct histogram *h = &row->sizes[ops == OP(READ) ? OP_READ : OP_WRITE];
	uint64_t sum = 0;

	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram_lower_bound(HISTOGRAM_SIZE, i) < below)
			sum += h->counts[i];
	}
	return sum;
}

static uint64_t count_small(const struct mount_row *row, enum metric_id id UNUSED, uint32_t ops)
{
	return count_sizes(row, ops, SMALL_REQUEST_BYTES);
}

static uint64_t count_sized(const struct mount_row *row, enum metric_id id UNUSED, uint32_t ops)
{
	return count_sizes(row, ops, UINT64_MAX);
}

static struct amount of_files(const struct subject *s, enum metric_id id, uint32_t ops)
{
	return sum_rows(s, row_is_of_files, id, ops, count_ops);
}

/* Failures may be in a row without a mount: so successes count wherever they were, too. */
static struct amount of_own(const struct subject *s, enum metric_id id, uint32_t ops)
{
	return sum_rows(s, row_is_own, id, ops, count_ops);
}

static struct amount file_sum(const struct subject *s, const struct formula *f)
{
	return of_files(s, f->id, f->argument);
}

static struct amount own_sum(const struct subject *s, const struct formula *f)
{
	return of_own(s, f->id, f->argument);
}

static struct amount untimed(const struct subject *s, const struct formula *f)
{
	return sum_rows(s, row_is_of_files, f->id, f->argument, count_untimed);
}

/* The metric's unit is bytes and these are calls: neither has decimal places. */
static struct amount small(const struct subject *s, const struct formula *f)
{
	return sum_rows(s, row_is_of_files, f->id, f->argument, count_small);
}

static struct amount small_share(const struct subject *s, const struct formula *f)
{
	return amount_divide(small(s, f),
			     sum_rows(s, row_is_of_files, f->id, f->argument, count_sized));
}

/* The metrics of calls and errors follow that of bytes. */
static struct amount mean_bytes(const struct subject *s, const struct formula *f)
{
	return amount_divide(of_files(s, f->id, 0),
			     amount_left(of_files(s, f->id + 1, 0), of_files(s, f->id + 2, 0)));
}

static struct amount per_second(const struct subject *s, const struct formula *f)
{
	return amount_divide(of_files(s, f->id, 0), elapsed(s, f));
}

/* Successful opens are at their mount on every kernel. */
static struct amount opened(const struct subject *s, const struct formula *f UNUSED)
{
	return amount_left(of_files(s, METRIC_META_CALLS, OPENS),
			   of_files(s, METRIC_META_ERRORS, OPENS));
}

/* Where failures have no mount, those of one mount are not known. */
static struct amount if_placed(const struct subject *s, struct amount amount)
{
	return !s->row || !s->lacks_places || s->row->kind == ROW_OTHER ? amount : UNKNOWN;
}

static struct amount failed_opens(const struct subject *s, const struct formula *f UNUSED)
{
	return if_placed(s, of_own(s, METRIC_META_ERRORS, OPENS));
}

static struct amount open_fail_share(const struct subject *s, const struct formula *f)
{
	return amount_divide(failed_opens(s, f), of_own(s, METRIC_META_CALLS, OPENS));
}

static struct amount not_found_share(const struct subject *s, const struct formula *f UNUSED)
{
	return if_placed(s, amount_divide(of_own(s, METRIC_META_NOT_FOUND, 0),
					  of_own(s, METRIC_META_CALLS, 0)));
}

/* Without directories: to list one takes an open and at least two reads of it. */
static struct amount files_opened(const struct subject *s, const struct formula *f)
{
	return amount_left(opened(s, f), amount_divide(of_files(s, METRIC_META_CALLS, OP(READDIR)),
						       amount_of(2)));
}

static struct amount bytes_per_open(const struct subject *s, const struct formula *f)
{
	return amount_divide(amount_add(of_files(s, METRIC_READ_BYTES, 0),
					of_files(s, METRIC_WRITE_BYTES, 0)),
			     files_opened(s, f));
}

static struct amount search_seconds(const struct subject *s, const struct formula *f UNUSED)
{
	return of_files(s, METRIC_META_NOT_FOUND, 0).is_known
		       ? sum_rows(s, row_is_of_files, METRIC_META_SECONDS, 0, count_searches)
		       : UNKNOWN;
}

static struct amount holds_devices(const struct subject *s, const struct formula *f UNUSED)
{
	bool is_known = s->row && s->row->mount; /* a row that is compared with none has no name */

	return is_known ? amount_of(row_holds_devices(s->row)) : UNKNOWN;
}

static struct amount writes_per_flush(const struct subject *s, const struct formula *f UNUSED)
{
	return amount_divide(of_files(s, METRIC_WRITE_CALLS, 0),
			     of_files(s, METRIC_META_CALLS, FLUSHES));
}

static struct amount share_inside(const struct subject *s, enum cause cause, struct amount inside)
{
	struct working_time t = formula_working(s);

	return working_time_share(&t, cause, inside);
}

static struct amount read_working_share(const struct subject *s, const struct formula *f UNUSED)
{
	return share_inside(s, CAUSE_FILE_READ, of_files(s, METRIC_READ_SECONDS, 0));
}

static struct amount write_working_share(const struct subject *s, const struct formula *f UNUSED)
{
	return share_inside(s, CAUSE_FILE_WRITE, of_files(s, METRIC_WRITE_SECONDS, 0));
}

static struct amount meta_working_share(const struct subject *s, const struct formula *f UNUSED)
{
	return share_inside(s, CAUSE_FILE_META,
			    amount_left(of_files(s, METRIC_META_SECONDS, 0),
					of_files(s, METRIC_META_SECONDS, SYNCS)));
}

static struct amount file_working_share(const struct subject *s, const struct formula *f)
{
	return amount_add(meta_working_share(s, f),
			  amount_add(read_working_share(s, f), write_working_share(s, f)));
}

static struct amount flush_working_share(const struct subject *s, const struct formula *f UNUSED)
{
	return share_inside(s, CAUSE_SYNC, of_files(s, METRIC_META_SECONDS, FLUSHES));
}

static struct amount open_working_share(const struct subject *s, const struct formula *f UNUSED)
{
	return share_inside(s, CAUSE_FILE_META, of_own(s, METRIC_META_SECONDS, OPENS));
}

static struct amount search_working_share(const struct subject *s, const struct formula *f)
{
	return share_inside(s, CAUSE_FILE_META, search_seconds(s, f));
}

/* clang-format off */
static const struct formula formulas[] = {
	{ "elapsed_seconds", DIMENSION_SECONDS, false, elapsed, "Time between start and end." },
	{ "cpu_seconds", DIMENSION_SECONDS, false, cpu_time, "User and system time." },
	{ "working_seconds", DIMENSION_SECONDS, false, working_time, "Working time of all threads: on a CPU, stolen by a hypervisor or interrupts, waiting for a CPU, and blocked in files, sync, locks, the network and page faults." },
	{ "core_seconds", DIMENSION_SECONDS, false, core_seconds, "Core time: allocated cores times elapsed time." },
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
	{ "known_throttled_share", DIMENSION_SHARE, false, known_throttled_share, "The same; 0 where it is not known." },
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
	{ "greatest_part_share", DIMENSION_SHARE, false, part_share, "Share of core time of its largest part: work, spinning, files, locks, network, page faults, waiting for a CPU, or stolen." },
	{ "second_part_share", DIMENSION_SHARE, false, part_share, "Share of core time of its second-largest part.", .argument = 1 },
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
	{ "odd_rank", DIMENSION_NUMBER, false, odd_rank, "Number of the rank whose work differs most from that of the others.", .is_of_record = true },
	{ "odd_rank_seconds", DIMENSION_SECONDS, false, odd_rank, "Its CPU time without spinning; 0 if no rank differs.", .argument = 1, .is_of_record = true },
	{ "usual_rank_seconds", DIMENSION_SECONDS, false, odd_rank, "Median of that of the others; 0 if none differs.", .argument = 2, .is_of_record = true },
	{ "rank_scatter_seconds", DIMENSION_SECONDS, false, odd_rank, "Scatter of that of the others: 1.4826 times the median distance from the median.", .argument = 3, .is_of_record = true },
	{ "other_ranks", DIMENSION_NUMBER, false, odd_rank, "How many others there are.", .argument = 4, .is_of_record = true },
	{ "threads", DIMENSION_NUMBER, .value = offsetof(struct record, threads.count),
	  .help = "Threads that worked, in the process that did most." },
	{ "threads_balance", DIMENSION_SHARE, .value = offsetof(struct record, threads.balance), .divisor = LOAD_BALANCE_ONE,
	  .help = "Mean CPU time of the threads that worked, in the process that did most, divided by the largest." },
	{ "threads_share", DIMENSION_SHARE, false, threads_share, "CPU time of the threads that worked, in the process that did most, over all CPU time of the job." },
	{ "cpu_waiting_share", DIMENSION_SHARE, false, share_of_time, "Share of the time in which some thread waited for a CPU (pressure; cgroup v2).", .id = METRIC_PRESSURE_CPU_WAITING },
	{ "io_stalled_share", DIMENSION_SHARE, false, share_of_time, "Share of the time in which all threads that were not idle waited for storage (pressure; cgroup v2).", .id = METRIC_PRESSURE_IO_STALLED },
	{ "memory_stalled_share", DIMENSION_SHARE, false, share_of_time, "Share of the time in which all threads that were not idle waited for memory (pressure; cgroup v2).", .id = METRIC_PRESSURE_MEMORY_STALLED },
	{ "memory_usage", DIMENSION_SHARE, false, memory_usage, "Peak memory over the limit; for a single record only." },
	{ "memory_unused_bytes", DIMENSION_BYTES, false, memory_unused, "Memory limit less peak memory; for a single record only." },
	{ "oom_kill_bytes", DIMENSION_BYTES, false, oom_kill_entry, "Memory of the largest process that the kernel killed because memory ran out." },
	{ "major_faults_per_second", DIMENSION_PER_SECOND, .expression = "memory_major_faults / elapsed_seconds",
	  .help = "Page faults that read from storage, per second." },
	{ "gpu_idle_tail_seconds", DIMENSION_SECONDS, .expression = "gpu_last_held_time_seconds - gpu_last_busy_time_seconds",
	  .help = "Time at the end in which the job held GPUs and none of them was busy; unknown if none ever was." },
	{ "gpu_idle_tail_share", DIMENSION_SHARE, .expression = "gpu_idle_tail_seconds / elapsed_seconds",
	  .help = "Share of the elapsed time in that idle tail of the GPUs." },
	{ "gpus_held", DIMENSION_NUMBER, .expression = "gpu_held_seconds / elapsed_seconds",
	  .help = "GPUs that the job held, on average." },
	{ "exit_code", DIMENSION_NUMBER, false, exit_code, "Exit status of the command; unknown if a signal ended it." },
	{ "is_launcher", DIMENSION_NUMBER, false, is_launcher, "1 if the command starts ranks (mpirun, mpiexec, srun and the like), else 0.", .is_of_record = true },
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
	{ "small_reads", DIMENSION_NUMBER, true, small, "Read calls that returned something, but less than 64 KiB.", .id = METRIC_READ_SIZES, .argument = OP(READ) },
	{ "small_writes", DIMENSION_NUMBER, true, small, "Write calls that wrote something, but less than 64 KiB.", .id = METRIC_WRITE_SIZES, .argument = OP(WRITE) },
	{ "small_reads_share", DIMENSION_SHARE, true, small_share, "Share of the reads that returned something that returned less than 64 KiB.", .id = METRIC_READ_SIZES, .argument = OP(READ) },
	{ "small_writes_share", DIMENSION_SHARE, true, small_share, "Share of the writes that wrote something that wrote less than 64 KiB.", .id = METRIC_WRITE_SIZES, .argument = OP(WRITE) },
	{ "mean_read_bytes", DIMENSION_BYTES, true, mean_bytes, "Bytes read over read calls that succeeded.", .id = METRIC_READ_BYTES },
	{ "mean_write_bytes", DIMENSION_BYTES, true, mean_bytes, "Bytes written over write calls that succeeded.", .id = METRIC_WRITE_BYTES },
	{ "read_rate", DIMENSION_RATE, true, per_second, "Bytes read over elapsed time.", .id = METRIC_READ_BYTES },
	{ "write_rate", DIMENSION_RATE, true, per_second, "Bytes written over elapsed time.", .id = METRIC_WRITE_BYTES },
	{ "opens", DIMENSION_NUMBER, true, own_sum, "Opens, failed ones and those that created the file included.", .id = METRIC_META_CALLS, .argument = OPENS },
	{ "opened", DIMENSION_NUMBER, true, opened, "Opens of files that went well." },
	{ "files_opened", DIMENSION_NUMBER, true, files_opened, "Opens that succeeded, without those of directories that were listed." },
	{ "failed_opens", DIMENSION_NUMBER, true, failed_opens, "Opens that failed; not of one mount where the kernel does not tell on which they did." },
	{ "open_fail_share", DIMENSION_SHARE, true, open_fail_share, "Opens that failed over all." },
	{ "not_found_share", DIMENSION_SHARE, true, not_found_share, "Calls on metadata for files that do not exist over all on metadata." },
	{ "search_seconds", DIMENSION_SECONDS, true, search_seconds, "Time in metadata operations of which more than half asked for files that do not exist." },
	{ "async_calls", DIMENSION_NUMBER, true, untimed, "Reads and writes of files by io_uring and libaio.", .id = METRIC_READ_CALLS, .argument = OP(READ) | OP(WRITE) },
	{ "async_bytes", DIMENSION_BYTES, true, untimed, "Bytes that io_uring and libaio moved.", .id = METRIC_READ_BYTES, .argument = OP(READ) | OP(WRITE) },
	{ "untimed_reads", DIMENSION_NUMBER, true, untimed, "Read operations without a known time: those of io_uring and libaio.", .id = METRIC_READ_CALLS, .argument = OP(READ) },
	{ "untimed_writes", DIMENSION_NUMBER, true, untimed, "Write operations without a known time: those of io_uring and libaio.", .id = METRIC_READ_CALLS, .argument = OP(WRITE) },
	{ "holds_devices", DIMENSION_NUMBER, true, holds_devices, "1 where files of it are devices (devtmpfs, devpts, /dev), else 0; of a mount only." },
	{ "bytes_per_open", DIMENSION_BYTES, true, bytes_per_open, "Bytes read and written per file opened." },
	{ "meta_calls_per_second", DIMENSION_PER_SECOND, true, per_second, "Calls on metadata over elapsed time.", .id = METRIC_META_CALLS },
	{ "flushes", DIMENSION_NUMBER, true, file_sum, "Calls of fsync and fdatasync.", .id = METRIC_META_CALLS, .argument = FLUSHES },
	{ "flush_seconds", DIMENSION_SECONDS, true, file_sum, "Time inside fsync and fdatasync.", .id = METRIC_META_SECONDS, .argument = FLUSHES },
	{ "writes_per_flush", DIMENSION_NUMBER, true, writes_per_flush, "Write calls per call of fsync or fdatasync." },
	{ "read_working_share", DIMENSION_SHARE, true, read_working_share, "Share of working time inside reads, on a CPU or blocked." },
	{ "write_working_share", DIMENSION_SHARE, true, write_working_share, "Share of working time inside writes, on a CPU or blocked." },
	{ "meta_working_share", DIMENSION_SHARE, true, meta_working_share, "Share of working time inside calls on metadata, without fsync and the like, on a CPU or blocked." },
	{ "file_working_share", DIMENSION_SHARE, true, file_working_share, "Share of working time inside reads, writes and calls on metadata, on a CPU or blocked." },
	{ "flush_working_share", DIMENSION_SHARE, true, flush_working_share, "Share of working time inside fsync and fdatasync, on a CPU or blocked." },
	{ "opening_seconds", DIMENSION_SECONDS, true, own_sum, "Time inside opens, failed ones and those that created the file included.", .id = METRIC_META_SECONDS, .argument = OPENS },
	{ "open_working_share", DIMENSION_SHARE, true, open_working_share, "Share of working time inside opens, on a CPU or blocked." },
	{ "search_working_share", DIMENSION_SHARE, true, search_working_share, "Share of working time inside operations of which more than half asked for files that do not exist, on a CPU or blocked." },
};
/* clang-format on */

size_t formula_count(void)
{
	return ARRAY_SIZE(formulas);
}

const struct formula *formula_get(size_t i)
{
	assert(i < ARRAY_SIZE(formulas));
	return &formulas[i];
}
