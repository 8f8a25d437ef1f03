/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "made.h"
#include "test.h"
#include "analysis/variables.h"

static struct variables *table(void)
{
	struct variables *v = variables_new();

	if (!v)
		abort();
	return v;
}

static const struct variable *find(const struct variables *v, const char *name)
{
	return variables_find(v, name, strlen(name));
}

static struct amount get(const struct record *r, const struct mount_row *row, const char *name)
{
	_cleanup_(variables_freep) struct variables *v = table();
	const struct variable *variable = find(v, name);
	struct subject subject = { .record = r, .row = row };

	test_true(variable, name, __FILE__, __LINE__);
	return variable_get(variable, &subject);
}

static bool is_unknown(const struct record *r, const char *name)
{
	return !get(r, NULL, name).is_known;
}

static double number(const struct record *r, const char *name)
{
	struct amount a = get(r, NULL, name);

	test_true(a.is_known, name, __FILE__, __LINE__);
	return a.number;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The reading of made_record(0): 4 GiB limit and so on are set by each test that wants them. */
static struct mount_row *scratch(struct record *r)
{
	return reading_find_mount(&r->reading, ROW_MOUNT, "/scratch", "lustre");
}

TEST(each_name_stands_there_once)
{
	_cleanup_(variables_freep) struct variables *v = table();

	ASSERT(v->count > 200);
	for (size_t i = 0; i < v->count; i++) {
		ASSERT(find(v, v->items[i].name) == &v->items[i]);
		ASSERT(v->items[i].help && *v->items[i].help);
	}
}

TEST(every_scalar_metric_of_a_job_has_a_name)
{
	_cleanup_(variables_freep) struct variables *v = table();

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);
		_cleanup_free_ char *name = NULL;

		ASSERT(asprintf(&name, "%s_%s",
				strcmp(metric->section, "cpu.causes") == 0 ? "blocked"
									   : metric->section,
				metric->key) > 0);
		ASSERT(find(v, name));
	}
	ASSERT(find(v, "mount_read_bytes") && find(v, "open_errors") &&
	       find(v, "mount_open_not_found"));
	ASSERT(find(v, "io_uring_read_calls") && find(v, "files_read_after_write_bytes"));
}

TEST(the_unit_at_the_end_may_be_left_out_where_one_is_meant)
{
	_cleanup_(variables_freep) struct variables *v = table();

	ASSERT_STREQ(find(v, "elapsed")->name, "elapsed_seconds");
	ASSERT_STREQ(find(v, "memory_peak")->name, "memory_peak_bytes");
	ASSERT_STREQ(find(v, "memory_usage")->name, "memory_usage"); /* and not memory_usage_bytes
								      */
	ASSERT(!find(v, "read")); /* bytes or seconds */
	ASSERT(!find(v, ""));
	ASSERT(!find(v, "elaps"));
}

TEST(metrics_come_in_base_units)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	ASSERT(is_near(number(r, "cpu_user_seconds"), 190.000000001));
	ASSERT(is_near(number(r, "cpu_allocated_cores"), 2));
	ASSERT(is_near(number(r, "memory_peak_bytes"), 3328599654.0));
	ASSERT(is_near(number(r, "elapsed_seconds"), 134));
}

TEST(what_is_not_known_is_not_zero)
{
	_cleanup_(record_freep) struct record *r = record_new();
	static const char *const names[] = {
		"cpu_user_seconds",    "cores_busy",	      "cpu_efficiency", "memory_usage",
		"memory_unused_bytes", "read_bytes",	      "open_calls",	"small_reads_share",
		"run_queue_share",     "files_read_bytes",    "small_files",	"elapsed_seconds",
		"exit_code",	       "io_uring_read_bytes", "throttled_share"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		test_true(is_unknown(r, names[i]), names[i], __FILE__, __LINE__);
}

TEST(efficiency_is_cpu_time_over_core_time)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	ASSERT(is_near(number(r, "cores_busy"), 281.000000001 / 134));
	ASSERT(is_near(number(r, "cpu_efficiency"), 281.000000001 / 268));
	ASSERT(is_near(number(r, "core_seconds"), 268));
	ASSERT(number(r, "unused_core_seconds") == 0); /* never below */
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	ASSERT(is_unknown(r, "cpu_efficiency"));
	ASSERT(is_near(number(r, "cores_busy"), 281.000000001 / 134));
}

TEST(memory_usage_wants_a_limit_and_one_record)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	ASSERT(is_near(number(r, "memory_usage"), 3328599654.0 / 17179869184.0));
	r->merged_records = 2; /* the greatest peak against the sum of limits */
	ASSERT(is_unknown(r, "memory_usage"));
	r->merged_records = 1;
	r->reading.values[METRIC_MEMORY_LIMIT].is_known = false;
	ASSERT(is_unknown(r, "memory_usage"));
	ASSERT(is_unknown(r, "memory_unused_bytes"));
}

TEST(rows_are_summed_without_the_kernels)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct mount_row *row = reading_get_mount(&r->reading, ROW_KERNEL, "(kernel)", NULL);

	row->ops[OP_READ].bytes = 1009;
	ASSERT(number(r, "read_bytes") == 8160437862.0 + 2048 + 4096);
	ASSERT(number(r, "open_calls") == 3 * 17);
	ASSERT(number(r, "open_not_found") == 3);
	ASSERT(number(r, "sendfile_read_bytes") == 4095);
	ASSERT(get(r, scratch(r), "mount_read_bytes").number == 8160437862.0);
	ASSERT(!get(r, NULL, "mount_read_bytes").is_known);
}

/* Of the working time all is known. */
static void know_causes(struct record *r)
{
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 0);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
}

TEST(one_row_that_does_not_know_makes_the_sum_unknown)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	know_causes(r);
	ASSERT(number(r, "read_seconds") > 0 && number(r, "meta_working_share") > 0);
	scratch(r)->has_seconds = false;
	ASSERT(is_unknown(r, "read_seconds"));
	ASSERT(is_unknown(r, "meta_working_share"));
	scratch(r)->lacks_not_found = true;
	ASSERT(is_unknown(r, "open_not_found"));
	ASSERT(number(r, "open_errors") == 6);
}

TEST(small_requests_are_counted_without_those_that_return_nothing)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct mount_row *row = scratch(r);

	row->sizes[OP_READ] =
		(struct histogram){ .counts = { [0] = 1000, [1] = 7, [16] = 4, [17] = 22 } };
	ASSERT(get(r, row, "mount_small_reads").number == 11);
	ASSERT(is_near(get(r, row, "mount_small_reads_share").number, 11.0 / 33));
	ASSERT(!get(r, row, "mount_small_writes_share").is_known); /* of none */
	row->has_histograms = false;
	ASSERT(!get(r, row, "mount_small_reads_share").is_known);
}

TEST(formulas_over_rows_look_at_files_only)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct mount_row *row;

	/* those that went well count wherever they were, since those that failed may have no mount
	 */
	ASSERT(number(r, "opens") == 3 * 17);
	row = reading_get_mount(&r->reading, ROW_UNRESOLVED, "(unresolved)", NULL);
	row->has_seconds = true;
	row->ops[OP_OPEN].calls = 3;
	ASSERT(number(r, "opens") == 3 * 17 + 3);
	row->ops[OP_OPEN].calls = 0;
	ASSERT(is_near(number(r, "open_fail_share"), 2.0 / 17));
	ASSERT(is_near(number(r, "not_found_share"), 1.0 / 17));
	/* /scratch and /, and not the pipe */
	know_causes(r);
	ASSERT(is_near(number(r, "read_working_share"),
		       2 * get(r, scratch(r), "mount_read_working_share").number));
	ASSERT(is_near(get(r, scratch(r), "mount_mean_read_bytes").number, 8160437862.0 / 1900006));
}

TEST(files_one_by_one_are_known_where_they_were_followed)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	r->files.is_known = true;
	*hot_file_number(&r->files.total, METRIC_FILE_READ_BYTES) = 4000;
	*hot_file_number(&r->files.total, METRIC_FILE_READ_AFTER_WRITE) = 1000;
	r->files.small.files = 17;
	ASSERT(is_near(number(r, "files_read_after_write_share"), 0.25));
	ASSERT(number(r, "small_files") == 17);
	ASSERT(is_unknown(r, "files_read_seconds")); /* the clock was off */
	r->files.total.lacks_order = true;
	ASSERT(is_unknown(r, "files_read_after_write_share"));
	ASSERT(is_unknown(r, "files_read_after_write_bytes"));
	ASSERT(number(r, "files_read_bytes") == 4000);
}

TEST(blocked_shares_are_of_the_threads_time)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 19000000000 - 1);
	reading_set(&r->reading, METRIC_BLOCKED_LOCK, 100000000000);
	ASSERT(is_near(number(r, "thread_seconds"), 400));
	ASSERT(is_near(number(r, "blocked_lock_share"), 0.25));
	ASSERT(is_near(number(r, "blocked_lock_seconds"), 100));
	ASSERT(number(r, "blocked_sleep_share") == 0);
	ASSERT(is_unknown(r, "stolen_share") && is_unknown(r, "lost_stolen_seconds"));
	reading_set(&r->reading, METRIC_CPU_STOLEN, 100000000000);
	ASSERT(is_near(number(r, "thread_seconds"), 500));
	ASSERT(is_near(number(r, "blocked_lock_share"), 0.2));
	r->reading.values[METRIC_CPU_STOLEN].is_known = false;
	ASSERT(number(r, "lost_lock_share") == 0); /* every core was busy */
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 4000);
	ASSERT(is_near(number(r, "lost_lock_seconds"), 100));
	ASSERT(is_near(number(r, "lost_lock_share"), 100.0 / 536));
	r->reading.values[METRIC_BLOCKED_PIPE].is_known = false;
	ASSERT(is_unknown(r, "blocked_lock_share"));
	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	ASSERT(is_unknown(r, "lost_lock_seconds"));
	ASSERT(is_unknown(r, "idle_core_share"));
}

TEST(cores_that_were_never_used_want_to_be_known)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	r->cores.count = (struct value){};
	ASSERT(is_unknown(r, "cores_unused"));
	r->cores.count = (struct value){ 1, true };
	ASSERT(number(r, "cores_unused") == 1);
	r->cores.balance = (struct value){ 7500, true };
	ASSERT(is_near(number(r, "cores_balance"), 0.75));
}

TEST(a_launcher_is_found_behind_programs_that_run_the_rest_of_their_line)
{
	static const struct {
		double is_launcher;
		const char *line;
	} lines[] = {
		{ 1, "mpirun -n 4 ./made" },
		{ 1, "/opt/made/bin/mpiexec.hydra ./made" },
		{ 1, "env -u B --chdir /tmp A=1 srun ./made" },
		{ 1, "timeout --signal TERM 60 mpirun ./made" },
		{ 1, "timeout --signal=TERM -k5 60 mpirun ./made" },
		{ 1, "timeout -k 5 --foreground 60 mpirun ./made" },
		{ 1, "nice -n 5 nice --adjustment 5 mpirun ./made" },
		{ 1, "taskset -c 0-3 mpirun ./made" },
		{ 1, "taskset --cpu-list 0-3 mpirun ./made" },
		{ 1, "numactl --membind 0 -N 1 --localalloc mpirun ./made" },
		{ 1, "chrt --fifo 10 mpirun ./made" },
		{ 1, "sudo -E --user made A=1 -- mpirun ./made" },
		{ 1, "strace -f -o file --trace open mpirun ./made" },
		{ 1, "perf stat -e cycles --output file -- mpirun ./made" },
		{ 1, "perf record --call-graph dwarf -g mpirun ./made" },
		{ 1, "time -f %e stdbuf --output L nohup setsid ionice -c 3 prun ./made" },
		{ 0, "./made mpirun" },
		{ 0, "timeout --signal mpirun 60 ./made" },
		{ 0, "perf stat -o mpirun ./made" },
		{ 0, "timeout 60" },
		{ 0, "timeout --signal" },
		{ 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_(record_freep) struct record *r = made_record(0);
		char text[96], *rest = text, *word, *words[16] = {}, **command = r->job.command;
		size_t count = 0;

		snprintf(text, sizeof(text), "%s", lines[i].line);
		while (count + 1 < ARRAY_SIZE(words) && (word = parse_next_word(&rest)))
			words[count++] = word;
		r->job.command = words;
		test_true(number(r, "is_launcher") == lines[i].is_launcher, lines[i].line, __FILE__,
			  __LINE__);
		r->job.command = command;
	}
}
