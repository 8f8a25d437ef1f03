/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "report/headline.h"
#include "report/page.h"
#include "codec/records.h"
#include "report/report_compare.h"
#include "report/reports.h"
#include "analysis/insights.h"
#include "analysis/rules.h"
#include "report/rows_items.h"
#include "test.h"
#include "basic/utf8.h"

#define _cleanup_record_ _cleanup_(record_freep)

static struct record *load(const char *name)
{
	_cleanup_free_ char *text = test_data(name);
	struct records list = {};
	struct record *record;

	ASSERT_OK(records_parse(text, strlen(text), name, &list, NULL));
	record = list.items[0];
	list.count = 0;
	records_clear(&list);
	return record;
}

static char *print(const struct record *now, const struct record *last, unsigned int width,
		   bool is_full)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct page page = { .width = width, .is_utf8 = true, .is_full = is_full };
	struct made_text t = {};

	page.out = made_text_stream(&t);
	ASSERT_OK(rules_load_built_in(&rules, NULL));
	report_text(now, last, rules, &page);
	return made_text_end(&t);
}

/* All there is. */
static char *report(const struct record *now, const struct record *last, unsigned int width)
{
	return print(now, last, width, true);
}

static char *screen(const struct record *now)
{
	return print(now, NULL, 80, false);
}

/* Lines from @begin on fit. */
static void check_width(const char *text, const char *begin, unsigned int width)
{
	const char *from = strstr(text, begin);
	_cleanup_free_ char *copy = strdup(from ? from : "");
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (utf8_columns(line) > width)
			ASSERT_STREQ(line, "a line that fits");
	}
}

TEST(the_whole_page_reads_as_it_is_kept)
{
	static const struct {
		const char *now, *last, *text;
	} rows[] = {
		{ "made-train.json", "made-train-before.json", "made-train.txt" },
		{ "made-storm.json", NULL, "made-storm.txt" },
		{ "made-ways.json", NULL, "made-ways.txt" },
		{ "made-hot.json", NULL, "made-hot.txt" },
		{ "made-hardware.json", NULL, "made-hardware.txt" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_record_ struct record *now = load(rows[i].now),
					       *last = rows[i].last ? load(rows[i].last) : NULL;
		_cleanup_free_ char *first = print(now, last, 80, false),
				    *whole = report(now, last, 80), *text = NULL;

		ASSERT(asprintf(&text, "%s\n---- --full ----\n\n%s", first, whole) > 0);
		ASSERT_GOLDEN(text, rows[i].text);
	}
}

TEST(every_page_fits_its_width_and_steers_no_terminal)
{
	static const char *const names[] = { "made-train.json", "made-short.json", "made-long.json",
					     "made-nasty.json", "made-storm.json", "made-ways.json",
					     "made-hot.json" };
	static const unsigned int widths[] = { 60, 80, 100 };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(names) * ARRAY_SIZE(widths); i++) {
		_cleanup_record_ struct record *r = load(names[i / 2 / ARRAY_SIZE(widths)]);
		unsigned int width = widths[i / 2 % ARRAY_SIZE(widths)];
		_cleanup_free_ char *text = print(r, NULL, width, i % 2);
		const char *p = text;
		uint32_t c;

		if (r->reading.mount_count < 10) /* a path in a sentence may be longer than a line
						  */
			check_width(text, "", width);
		while ((c = utf8_next(&p)) != 0)
			ASSERT(c == '\n' || utf8_is_printable(c));
	}
}

TEST(a_bar_is_never_longer_than_its_line)
{
	_cleanup_record_ struct record *r = load("made-train.json");
	_cleanup_free_ char *page = NULL;

	r->reading.values[METRIC_CPU_USER].number =
		30 * r->reading.values[METRIC_CPU_ALLOCATED].number / 1000 * r->time.elapsed_ns;
	page = report(r, NULL, 80);
	ASSERT_CONTAINS(page, "█ 3017 %");
	ASSERT_CONTAINS(page, "  CPU efficiency    3017 % ██████ ");
	check_width(page, "core time", 80);
}

TEST(the_first_screen_says_what_matters_and_where_more_is)
{
	_cleanup_record_ struct record *r = load("made-train.json"), *idle = record_new();
	_cleanup_free_ char *text = screen(r);
	size_t lines = 0;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	ASSERT(lines <= 24);
	ASSERT_CONTAINS(text, "  -> Read 64 KiB or more at a time.\n");
	ASSERT_LACKS(text, "32 % of the CPU time was spent in the kernel"); /* the third one */
	ASSERT_CONTAINS(text, "  Not measured: GPU, hardware counters.\n");
	ASSERT_CONTAINS(text, "  More: jobmeter report --full | ");
	ASSERT_LACKS(text, "(pseudo)");
	idle->time.elapsed_ns = 900000000;
	reading_set(&idle->reading, METRIC_CPU_ALLOCATED, 2000);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		idle->reading.values[cause_metric((enum cause)c)] = (struct value){ 0, true };
	idle->reading.values[METRIC_CPU_USER] = idle->reading.values[METRIC_CPU_SYSTEM] =
		(struct value){ 100000000, true };
	idle->reading.values[METRIC_CPU_RUN_QUEUE] = (struct value){ 200000000, true };
	idle->reading.values[METRIC_BLOCKED_LOCK] = (struct value){ 4000000, true };
	ASSERT_TOLD(screen(idle), "\n  Nothing stands out yet: some rules need 5 s.\n",
		    "  Working time       404 ms over all threads: on CPU 50 %, CPU wait 50 %\n");
	idle->reading.values[METRIC_BLOCKED_SLEEP] = (struct value){ 800000000, true };
	ASSERT_TOLD(screen(idle), "CPU wait 50 % (800 ms\n                     asleep)\n");
}

/* 99 of 100 calls of one kind took 1 to 2 us. */
static void call(struct mount_row *row, enum file_op op, uint64_t ns)
{
	row->has_seconds = row->has_histograms = true;
	row->ops[op] = (struct op_counts){ .calls = 10000, .bytes = 10000 << 12, .ns = ns };
	row->latencies[op].counts[11] = 10000;
}

TEST(the_last_column_is_of_what_took_longer_and_missing_where_it_is_not_timed)
{
	_cleanup_record_ struct record *r = record_new();
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, "/scratch", NULL);

	r->reading.has_mounts = true;
	r->time.elapsed_ns = 2000000000;
	call(row, OP_READ, 10000000);
	call(row, OP_WRITE, 20000000);
	ASSERT_TOLD(screen(r), "  p99 write\n");
	row->ops[OP_READ].ns = 30000000;
	ASSERT_TOLD(screen(r), "  p99 read\n", " µs\n");
	row->interfaces[INTERFACE_IO_URING][OP_READ].calls = 101;
	row->ops[OP_READ].ns = 10000000; /* of those that are timed */
	ASSERT_TOLD(screen(r), "  metadata\n");
	row->interfaces[INTERFACE_IO_URING][OP_READ].calls = 0;
	row->ops[OP_FSYNC] = (struct op_counts){ .calls = 10000, .ns = 20000000 };
	ASSERT_TOLD(screen(r), "  p99 write\n");
	row->ops[OP_FSYNC].ns++; /* more than reads, and than writes */
	ASSERT_TOLD(screen(r), "  metadata\n");
}

TEST(rows_below_a_hundredth_are_folded)
{
	_cleanup_record_ struct record *r = record_new();
	_cleanup_free_ char *text = NULL;
	char name[] = "/small/0";

	r->reading.has_mounts = true;
	reading_get_mount(&r->reading, ROW_MOUNT, "/scratch", NULL)->ops[OP_READ] =
		(struct op_counts){ .calls = 1000, .bytes = 1000 << 20 };
	reading_get_mount(&r->reading, ROW_EXEC, "(exec)", NULL)->ops[OP_READ] =
		(struct op_counts){ .calls = 1000, .bytes = 1000 };
	for (size_t i = 0; i < 8; i++, name[sizeof(name) - 2]++)
		reading_get_mount(&r->reading, ROW_MOUNT, name, NULL)->ops[OP_READ] =
			(struct op_counts){ .calls = i < 2 ? 1 : 5, .bytes = 1 << 20 };
	text = screen(r);
	ASSERT_CONTAINS(text, "  /scratch  1000 MiB  1,000  ");
	ASSERT_LACKS(text, "/small");
	ASSERT_LACKS(text, "(exec)");
	ASSERT_CONTAINS(text, "  others       8 MiB  1,032  ");
	reading_get_mount(&r->reading, ROW_UNRESOLVED, "(unresolved)", NULL)->ops[OP_STAT] =
		(struct op_counts){ .calls = 7 };
	ASSERT_TOLD(screen(r), "(unresolved)");
}

TEST(hardly_any_work_on_files_is_no_table)
{
	_cleanup_record_ struct record *r = record_new();
	struct op_counts *read;

	r->reading.has_mounts = true;
	r->time.elapsed_ns = 1000000000;
	read = &reading_get_mount(&r->reading, ROW_MOUNT, "/scratch", NULL)->ops[OP_READ];
	*read = (struct op_counts){ .calls = 999, .bytes = 1 << 19, .ns = 9000000 };
	ASSERT_UNTOLD(screen(r), "/scratch");
	read->ns = 10000000;
	ASSERT_TOLD(screen(r), "/scratch");
}

TEST(what_is_not_known_of_files_is_not_said)
{
	_cleanup_record_ struct record *r = load("made-hot.json");
	_cleanup_free_ char *text = NULL;

	r->files.has_seconds = r->files.knows_dropped = false;
	r->files.total.lacks_order = r->files.hot.items[0].lacks_order = true;
	text = report(r, NULL, 80);
	ASSERT_CONTAINS(text, "shard-000017.tar    8 GiB         0  131,113         -     -\n");
	ASSERT_CONTAINS(text, "3,017 files followed; many more did not fit");
	ASSERT_LACKS(text, "read again");
	ASSERT_LACKS(text, "read back");
}

TEST(files_are_told_by_all_three_rankings)
{
	_cleanup_record_ struct record *r = record_new();
	char path[16];

	r->files.is_known = r->files.has_seconds = true;
	for (uint64_t i = 0; i < 30; i++) {
		struct hot_file *file;

		snprintf(path, sizeof(path), "/file-%02u", (unsigned int)i);
		ASSERT_OK(hot_list_add(&r->files.hot, path, "/", &file));
		*hot_file_number(file, METRIC_FILE_READ_BYTES) = (1000 - i) << 20;
		*hot_file_number(file, METRIC_FILE_READ_CALLS) = i == 23 ? 1000 : 1;
		*hot_file_number(file, METRIC_FILE_READ_SECONDS) = i == 29 ? 1000 : 1;
	}
	{
		_cleanup_free_ char *text = report(r, NULL, 80);

		ASSERT_CONTAINS(text, "/file-00");
		ASSERT_CONTAINS(text, "/file-23");
		ASSERT_CONTAINS(text, "/file-29");
		ASSERT_LACKS(text, "/file-22");
	}
}

/* Ten copies of one size, and many files that were only looked at. */
TEST(no_file_that_matters_makes_room_for_one_that_does_not)
{
	_cleanup_record_ struct record *r = record_new();
	_cleanup_free_ char *text = NULL;
	char path[16];

	r->files.is_known = r->files.has_seconds = true;
	r->files.total.files = 300;
	for (unsigned int i = 0; i < 20; i++) {
		struct hot_file *file;

		snprintf(path, sizeof(path), i < 7 ? "/copy.%u" : "/seen.%u", i);
		ASSERT_OK(hot_list_add(&r->files.hot, path, "/", &file));
		*hot_file_number(file, METRIC_FILE_WRITE_BYTES) = i < 7 ? 19 << 20 : 0;
		*hot_file_number(file, METRIC_FILE_WRITE_CALLS) = i < 7 ? 1000 - i : 0;
		*hot_file_number(file, METRIC_FILE_WRITE_SECONDS) = i < 7 ? 1000000 : 0;
		*hot_file_number(file, METRIC_FILE_OPENS) = i < 7 ? 1 : 50 - i;
	}
	text = report(r, NULL, 80);
	for (unsigned int i = 0; i < 7; i++) {
		snprintf(path, sizeof(path), "/copy.%u", i);
		ASSERT_CONTAINS(text, path);
	}
	ASSERT_CONTAINS(text, "and 292 more\n");
}

TEST(what_is_not_known_is_a_dash)
{
	_cleanup_record_ struct record *r = load("made-short.json"), *nothing = record_new();
	_cleanup_free_ char *text = report(r, NULL, 80);

	ASSERT_CONTAINS(text, "true   killed by SIGSEGV, 5 ms   made-node17, 1 core\n");
	ASSERT_CONTAINS(text, "waiting for a CPU -\n");
	ASSERT_CONTAINS(text, "\n  Memory             1.6 MiB in the largest process\n");
	ASSERT_CONTAINS(text, "\nfiles       -\n");
	ASSERT_LACKS(text, "accounting");
	ASSERT_TOLD(report(nothing, NULL, 80), "(no name)   still running, 0 s\n",
		    "\n  CPU efficiency     -\n  Memory             -\n",
		    "\nCPU time    user -, kernel -, waiting for a CPU -\n",
		    "\npage faults - minor, - major\n");
}

TEST(what_went_wrong_stands_out)
{
	_cleanup_record_ struct record *r = load("made-long.json");
	_cleanup_free_ char *text = report(r, NULL, 80);

	ASSERT_CONTAINS(text, "climate simulation   exit 3, 10 d 00 h   ");
	ASSERT_CONTAINS(
		text,
		"  Processes          ≥37 processes and threads, largest ≥2.2 GiB, 2 OOM kills\n");
	ASSERT_CONTAINS(text, "throttled 10 h 00 m\n");
	ASSERT_CONTAINS(text, "and 7 more mounts (6 MiB read, 24 KiB written)\n");
	ASSERT_CONTAINS(text, "  Still running      daemon0 (pid 1000), ");
	ASSERT_CONTAINS(text, "daemon7 (pid 1007) and 4 more\n");
	ASSERT_CONTAINS(
		text,
		"accounting  3 TiB of the 1 PiB read could not be placed; the rows have 512 TiB\n");
	ASSERT_CONTAINS(text, "≥64.9 of 128 cores"); /* a note says that it is a lower bound */
	ASSERT_CONTAINS(text, "≥1 PiB");
	ASSERT_CONTAINS(text, "123,456 events lost.");
}

/* All causes are known, and none was waited for. */
static struct record *made_idle(void)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 12000000000;
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
	reading_set(&r->reading, METRIC_CPU_USER, 5000000);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 0);
	return r;
}

TEST(next_to_no_work_has_no_shares)
{
	_cleanup_record_ struct record *r = made_idle();

	reading_set(&r->reading, METRIC_BLOCKED_SLEEP, 11900000000);
	ASSERT_TOLD(screen(r), "\n  Working time       5 ms in 12 s (11.9 s asleep)\n");
	reading_set(&r->reading, METRIC_CPU_USER, 600000001); /* a twentieth of the run */
	reading_set(&r->reading, METRIC_TASKS_ENDED, 1); /* then all threads are one */
	ASSERT_TOLD(screen(r), "  Processes          1 process\n",
		    "\n  Working time       600 ms: on CPU 100 % (11.9 s asleep)\n");
}

TEST(the_network_stands_on_the_first_screen_where_it_matters)
{
	_cleanup_record_ struct record *r = made_idle();
	struct network *n = &r->reading.network;

	n->is_known = n->has_connections = true;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_OPENED) = 1;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_RECEIVED_BYTES) = (1 << 20) - 1;
	ASSERT_UNTOLD(screen(r), "Network");
	reading_set(&r->reading, METRIC_BLOCKED_NETWORK, 2000000); /* of 7 ms */
	ASSERT_TOLD(screen(r),
		    "  Network            sent 0 B  received 1 MiB  (TCP, 1 connection)\n");
	reading_set(&r->reading, METRIC_BLOCKED_NETWORK, 0);
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_RECEIVED_BYTES) = 300 << 20;
	ASSERT_TOLD(screen(r),
		    "  Network            sent 0 B  received 300 MiB  (TCP, 1 connection)\n");
}

TEST(mapped_files_stand_beside_those_that_were_read)
{
	_cleanup_record_ struct record *r = made_idle();
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, "/", NULL);

	r->reading.has_mounts = true;
	row->interfaces[INTERFACE_MAPPING][OP_READ].bytes = 8192;
	ASSERT_UNTOLD(screen(r), "Mapped");
	row->interfaces[INTERFACE_MAPPING][OP_READ].bytes = 226 << 20;
	row->interfaces[INTERFACE_MAPPING][OP_WRITE].bytes = 4096;
	ASSERT_TOLD(screen(r), "  Mapped files       / 226 MiB paged in, 4 KiB dirtied\n");
}

TEST(mapped_files_that_were_in_memory_before_are_no_reads_and_yet_named)
{
	_cleanup_record_ struct record *r = made_idle();

	reading_set(&r->reading, METRIC_MEMORY_PEAK, 8 << 20);
	reading_set(&r->reading, METRIC_MEMORY_PROCESS_PEAK, 23 << 20);
	ASSERT_UNTOLD(screen(r), "Mapped");
	reading_set(&r->reading, METRIC_MEMORY_PROCESS_PEAK, 183 << 20);
	ASSERT_TOLD(
		screen(r),
		"  Mapped files       ≥175 MiB in memory before, neither read nor charged to it\n");
	r->time.measured_from_ns = r->time.start_ns + 1; /* it may have had them before */
	ASSERT_UNTOLD(screen(r), "Mapped");
}

TEST(a_job_that_waited_for_cores_is_said_to_have)
{
	_cleanup_record_ struct record *r = made_idle();
	_cleanup_free_ char *more = NULL;

	r->time.elapsed_ns = UINT64_C(100000000000);
	reading_set(&r->reading, METRIC_CPU_USER, UINT64_C(20000000000));
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 2000);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, UINT64_C(4900000000));
	ASSERT_UNTOLD(screen(r), "waited");
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, UINT64_C(110000000000));
	ASSERT_TOLD(screen(r), "kernel 0 s), waited\n", " for 1.1 more\n");
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, UINT64_C(900000000000));
	more = screen(r); /* threads, that is, of which two could have run */
	ASSERT_CONTAINS(more, " for 1.8 more\n");
}

TEST(what_the_meter_cost_is_on_the_first_screen_where_it_matters)
{
	_cleanup_record_ struct record *r = made_idle();

	ASSERT_OK(strings_add(&r->coverage.notes, RECORD_NOTE_METERING "less than 3 %% of a core"));
	ASSERT_UNTOLD(screen(r), "Metering");
	ASSERT_OK(strings_add(&r->coverage.notes,
			      RECORD_NOTE_METERING "about 1.1 s of CPU time, 9 %% of a core"));
	ASSERT_TOLD(screen(r), "  Metering           ~1.1 s of CPU time, 9 % of a core\n");
}

TEST(numbers_of_processes_that_were_still_ending_are_the_least)
{
	_cleanup_record_ struct record *r = made_idle();

	reading_set(&r->reading, METRIC_TASKS_ENDED, 2999);
	reading_set(&r->reading, METRIC_MEMORY_PROCESS_PEAK, 3 << 20);
	ASSERT_OK(strings_add(&r->coverage.notes, RECORD_NOTE_ENDING));
	ASSERT_TOLD(screen(r), "≥2,999 processes and threads, largest ≥3 MiB");
}

TEST(a_job_that_began_before_the_meter_took_that_long_at_least)
{
	_cleanup_record_ struct record *r = made_idle();

	r->time.start_ns = r->time.elapsed_ns = 0;
	r->time.measured_from_ns = UINT64_C(1790000000000000000);
	r->time.end_ns = r->time.measured_from_ns + UINT64_C(77000000000);
	ASSERT_TOLD(screen(r), "≥1 m 17 s");
}

/* Who reads it waits for who writes. */
TEST(a_pipe_has_no_slow_reads)
{
	_cleanup_record_ struct record *r = record_new();
	_cleanup_free_ char *text = NULL;

	r->reading.has_mounts = true;
	r->time.elapsed_ns = 2000000000;
	call(reading_get_mount(&r->reading, ROW_MOUNT, "/scratch", NULL), OP_READ, 10000000);
	call(reading_get_mount(&r->reading, ROW_PIPE, "(pipe)", NULL), OP_READ, 1900000000);
	text = screen(r);
	ASSERT_CONTAINS(text, "  p99 read\n");
	ASSERT_CONTAINS(strstr(text, "(pipe)"), " -\n");
	ASSERT_CONTAINS(text, " µs\n");
}

/* The agent has no exit code of a manager's job. */
TEST(a_job_whose_end_is_not_known_has_ended)
{
	_cleanup_record_ struct record *r = made_idle();

	r->is_final = true;
	r->job.exit_code = -1;
	r->job.state = strdup("ENDED");
	ASSERT_TOLD(screen(r), "   ended, 12 s");
}

static char *screen_of_memory(uint64_t process, uint64_t file, uint64_t shared)
{
	_cleanup_record_ struct record *r = made_idle();

	reading_set(&r->reading, METRIC_MEMORY_PEAK, 280 << 20);
	reading_set(&r->reading, METRIC_MEMORY_PROCESS_PEAK, process << 20);
	reading_set(&r->reading, METRIC_MEMORY_FILE_PEAK, file << 20);
	reading_set(&r->reading, METRIC_MEMORY_SHMEM_PEAK, shared << 20);
	return screen(r);
}

TEST(a_peak_that_is_not_that_of_its_processes_says_why)
{
	_cleanup_free_ char *others = screen_of_memory(295, 229, 10);

	ASSERT_TOLD(screen_of_memory(4, 229, 10),
		    "  Memory             280 MiB at its peak (cache 229 MiB)\n",
		    "  Processes          largest 4 MiB\n");
	ASSERT_TOLD(screen_of_memory(4, 229, 200), "280 MiB at its peak (shared memory 200 MiB)\n");
	ASSERT_CONTAINS(others, "280 MiB at its peak (cache 229 MiB)\n");
	ASSERT_LACKS(others, "largest"); /* with pages that others are charged for */
	ASSERT_TOLD(screen_of_memory(211, 69, 0), "largest 211 MiB", "280 MiB at its peak\n");
	ASSERT_UNTOLD(screen_of_memory(212, 69, 0), "largest"); /* 212 of the 211 MiB that are no
								   cache */
}

TEST(a_bound_without_a_peak_is_said_once)
{
	_cleanup_record_ struct record *r = made_idle();
	_cleanup_free_ char *text = NULL;

	reading_set(&r->reading, METRIC_MEMORY_PROCESS_PEAK, 628 << 20);
	ASSERT_OK(record_add_survivor(r, 17, "sleep"));
	text = screen(r);
	ASSERT_CONTAINS(text, "  Memory             ≥628 MiB in the largest process\n");
	ASSERT_LACKS(text, "largest ≥");
	ASSERT_LACKS(text, "  -,");
}

/* Samples missed the peak: the kernel kills at the limit. */
TEST(who_was_killed_for_its_limit_reached_it)
{
	_cleanup_record_ struct record *r = made_idle();
	_cleanup_free_ char *killed = NULL;

	reading_set(&r->reading, METRIC_MEMORY_PEAK, 241 << 20);
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, 256 << 20);
	reading_set(&r->reading, METRIC_MEMORY_OOM_KILLS, 1);
	killed = screen(r);
	ASSERT_CONTAINS(killed, "  Memory efficiency 100 % ██████ reached its limit of 256 MiB\n");
	ASSERT_LACKS(killed, "241");
	reading_set(&r->reading, METRIC_MEMORY_PEAK, 127 << 20);
	ASSERT_TOLD(screen(r), " 127 of 256 MiB at its peak\n");
	reading_set(&r->reading, METRIC_MEMORY_LIMIT_HITS, 1);
	ASSERT_TOLD(screen(r), " reached its limit of 256 MiB\n");
}

TEST(a_job_without_files_says_so)
{
	_cleanup_record_ struct record *r = made_record(0);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < r->reading.mount_count; i++) {
		r->reading.mounts[i].ops[OP_READ] = (struct op_counts){};
		r->reading.mounts[i].ops[OP_OPEN] = (struct op_counts){};
		memset(r->reading.mounts[i].interfaces, 0, sizeof(r->reading.mounts[i].interfaces));
	}
	text = report(r, NULL, 80);
	ASSERT_CONTAINS(text, "\nfiles       nothing was done with files\n");
	ASSERT_LACKS(text, "/scratch");
}

static struct mount_row *clean_row(struct record *r, const char *mount)
{
	struct mount_row *row = reading_get_mount(&r->reading, row_kind_of(mount), mount, NULL);

	ASSERT(row != NULL);
	r->reading.has_mounts = row->has_seconds = true;
	return row;
}

TEST(operations_stand_by_their_time)
{
	_cleanup_record_ struct record *r = load("made-storm.json");
	_cleanup_free_ char *text = report(r, NULL, 80), *narrow = report(r, NULL, 40);
	struct mount_row *row;

	ASSERT_CONTAINS(
		text,
		"\noperations  mount     operation    calls   failed  no file    time     each\n"
		"            /scratch  stat       412,345  389,231  389,228   7.4 s  17.9 µs\n"
		"            /scratch  open       200,031  200,000  200,000   3.1 s  15.5 µs\n");
	check_width(narrow, "\noperations ", 40);
	row = clean_row(r, "/slow");
	row->ops[OP_FSYNC] = (struct op_counts){ .calls = 3, .ns = UINT64_C(9000000000) };
	free(text);
	text = report(r, NULL, 80);
	ASSERT_CONTAINS(text, "            /slow     fsync            3        0        0     9 s  "
			      "    3 s\n            /scratch  stat ");
	row->has_seconds = false;
	row->lacks_not_found = true;
	free(text);
	text = report(r, NULL, 80);
	ASSERT_CONTAINS(text, "            /slow     fsync            3        0        -       -  "
			      "      -\n");
}

TEST(what_failed_without_a_mount_is_no_zero_of_the_mounts)
{
	_cleanup_record_ struct record *r = record_new();

	clean_row(r, "/scratch")->ops[OP_OPEN] = (struct op_counts){ .calls = 20000, .ns = 1000 };
	clean_row(r, "/home")->ops[OP_FSYNC] =
		(struct op_counts){ .calls = 9, .errors = 3, .ns = 1000 };
	ASSERT_TOLD(report(r, NULL, 200), "/scratch  open       20,000       0  ");
	clean_row(r, "(unresolved)")->ops[OP_OPEN] =
		(struct op_counts){ .calls = 700, .errors = 700, .ns = 1000 };
	ASSERT_TOLD(report(r, NULL, 200), "/scratch      open       20,000       -  ",
		    "/home         fsync           9      ≥3  ",
		    "(unresolved)  open          700     700  ");
}

TEST(only_interfaces_that_moved_bytes_are_told)
{
	_cleanup_record_ struct record *r = record_new();
	struct mount_row *row = clean_row(r, "/data");
	_cleanup_free_ char *some = NULL;

	row->ops[OP_READ] = (struct op_counts){ .calls = 9, .bytes = 4096, .errors = 8 };
	row->interfaces[INTERFACE_SPLICE][OP_READ] = (struct op_counts){ .calls = 8, .errors = 8 };
	ASSERT_UNTOLD(report(r, NULL, 80), "of it by", "mapped");
	row->interfaces[INTERFACE_SENDFILE][OP_READ] = (struct op_counts){ .calls = 1,
									   .bytes = 4096 };
	some = report(r, NULL, 80);
	ASSERT_CONTAINS(some, "\nof it by    sendfile 4 KiB read from /data\n");
	ASSERT_LACKS(some, "times are without");
}

TEST(what_kernel_threads_did_is_told_apart_and_in_no_sum)
{
	_cleanup_record_ struct record *r = record_new();
	struct mount_row *row = clean_row(r, "(kernel)");

	ASSERT_UNTOLD(report(r, NULL, 80), "kernel threads");
	r->time.elapsed_ns = 1;
	for (size_t op = 0; op < OP_COUNT; op++)
		row->ops[op] = (struct op_counts){ 5000, 0, 5000, 1000000000, 5000 };
	row->ops[OP_READ].bytes = row->interfaces[INTERFACE_IO_URING][OP_READ].bytes = UINT64_C(5)
										       << 30;
	row->interfaces[INTERFACE_MAPPING][OP_WRITE].bytes = 8192;
	ASSERT_TOLD(
		report(r, NULL, 80),
		"\nfiles       nothing was done with files\n"
		"(kernel)    5 GiB read, 8 KiB dirtied, 120,000 operations on metadata by kernel\n"
		"            threads of the node in that time, for all jobs: in no number above\n");
}

TEST(merged_records_say_so)
{
	struct records list = {};
	_cleanup_record_ struct record *merged = NULL;
	_cleanup_free_ char *text = NULL;

	for (int i = 0; i < 5; i++)
		ASSERT_OK(records_add(&list, made_record(i)));
	ASSERT_OK(record_merge((const struct record *const *)list.items, 5, &merged));
	text = report(merged, NULL, 80);
	ASSERT_CONTAINS(
		text,
		"train.sh   OK, 2 m 14 s   3 nodes, 10 cores\nmerged from 5 records on 3 nodes\n");
	ASSERT_CONTAINS(text, "3.1 GiB at its peak in any one record");
	merged->job.exit_code = -1;
	free(text);
	text = report(merged, NULL, 80);
	ASSERT_CONTAINS(text, "train.sh   ended differently, 2 m 14 s");
	records_clear(&list);
}

static void expect_change(const struct record *last, const struct record *now, const char *wanted)
{
	_cleanup_free_ char *change = report_compare(last, now);

	ASSERT_STREQ(change, wanted);
}

TEST(small_changes_are_about_the_same)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);

	expect_change(last, now, "about the same");
	now->time.elapsed_ns += now->time.elapsed_ns / 25;
	now->reading.mounts[1].ops[OP_READ].bytes *= 10; /* 4 KiB more or less are nothing */
	expect_change(last, now, "about the same");
	last->time.elapsed_ns = 5000000;
	now->time.elapsed_ns = 7000000; /* noise, though 40 % */
	last->reading.values[METRIC_CPU_USER].is_known = false;
	expect_change(last, now, "about the same");
}

TEST(the_greatest_changes_are_told)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);

	now->time.elapsed_ns = last->time.elapsed_ns * 112 / 100;
	now->reading.mounts[0].ops[OP_READ].bytes *= 3;
	expect_change(last, now, "12 % slower, 3 times as much read on /scratch");
	expect_change(now, last, "11 % faster, 67 % less read on /scratch");

	now->reading.values[METRIC_MEMORY_PEAK].number *= 2;
	now->reading.values[METRIC_CPU_USER].number *= 8; /* the second greatest beside the time */
	expect_change(
		last, now,
		"12 % slower, 10.7 cores used instead of 2.1, 3 times as much read on /scratch");

	now->time.elapsed_ns = last->time.elapsed_ns * 24 / 10;
	now->reading.values[METRIC_CPU_USER].number = 1;
	now->reading.mounts[0].ops[OP_READ].bytes = 0;
	expect_change(last, now,
		      "2.4 times as long, nothing read on /scratch any more, 0.28 cores used "
		      "instead of 2.1");
}

TEST(what_took_most_of_the_difference_is_named)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);
	struct mount_row *scratch = &now->reading.mounts[0];

	now->time.elapsed_ns = last->time.elapsed_ns + 20000000000;
	scratch->ops[OP_READ].ns += 7000000000;
	expect_change(last, now, "15 % slower: reads from /scratch took 7 s more");
	expect_change(now, last, "13 % faster: reads from /scratch took 7 s less");
	scratch->ops[OP_STAT].ns += 90000000000;
	expect_change(last, now,
		      "15 % slower: metadata calls on /scratch took 1 m 30 s more over all "
		      "threads");
	scratch->ops[OP_READ].ns -= 7000000000;
	scratch->ops[OP_STAT].ns -= 87000000000; /* less than a fifth of the 20 s */
	expect_change(last, now, "15 % slower");
	scratch->ops[OP_STAT].ns += 90000000000;
	now->job.exit_code = 3; /* one that stopped half-way is not fast */
	expect_change(now, last, "the run before failed");
	expect_change(last, now, "the run before ended well");
	now->job.exit_code = 0;
	now->is_final = false;
	expect_change(last, now, "about the same");
}

TEST(a_job_that_its_manager_ended_is_not_ok)
{
	static const struct {
		const char *state, *outcome;
		bool is_failure;
	} cases[] = { { "COMPLETED", "OK", false },
		      { "TIMEOUT", "TIMEOUT", true },
		      { "OUT_OF_MEMORY", "OUT_OF_MEMORY", true },
		      { "CANCELLED", "CANCELLED", false },
		      { NULL, "OK", false } };
	_cleanup_record_ struct record *r = made_record(0);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *outcome = NULL;

		free(r->job.state);
		r->job.state = cases[i].state ? strdup(cases[i].state) : NULL;
		outcome = headline_outcome(r);
		ASSERT_STREQ(outcome, cases[i].outcome);
		ASSERT_EQ(headline_is_failure(r), cases[i].is_failure);
	}
}

TEST(a_signal_before_an_exit_code_is_not_the_death)
{
	static const struct {
		int exit_code, signal;
		const char *outcome;
	} cases[] = { { 1, 0, "exit 1" },
		      { 1, 15, "exit 1 after SIGTERM" },
		      { -1, 15, "killed by SIGTERM" },
		      { 0, 15, "killed by SIGTERM" }, /* as Slurm has it */
		      { -1, 50, "killed by signal 50" } };
	_cleanup_record_ struct record *r = made_record(0);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *outcome = NULL;

		r->job.exit_code = cases[i].exit_code;
		r->job.signal = cases[i].signal;
		outcome = headline_outcome(r);
		ASSERT_STREQ(outcome, cases[i].outcome);
		ASSERT(headline_is_failure(r));
	}
}

TEST(metadata_and_mappings_are_compared_and_kernel_threads_are_not)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);
	struct op_counts *stat = &now->reading.mounts[0].ops[OP_STAT];

	stat->calls = 9999;
	expect_change(last, now, "about the same");
	stat->calls = 51 * 10000;
	last->reading.mounts[0].ops[OP_STAT].calls = 17 * 10000;
	expect_change(last, now, "3 times as many metadata calls on /scratch");
	expect_change(now, last, "67 % fewer metadata calls on /scratch");
	now->reading.mounts[0].interfaces[INTERFACE_MAPPING][OP_READ].bytes = UINT64_C(2) << 30;
	expect_change(last, now,
		      "2 GiB paged in on /scratch, and nothing before, 3 times as many "
		      "metadata calls on /scratch");
	now->reading.mounts[0].kind = last->reading.mounts[0].kind = ROW_KERNEL;
	expect_change(last, now, "about the same");
}

TEST(a_failure_before_or_now_is_told_first)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);

	last->job.exit_code = 1;
	expect_change(last, now, "the run before failed");
	expect_change(now, last, "the run before ended well");
	now->job.exit_code = -1;
	now->job.signal = 9;
	expect_change(last, now, "about the same");
}

TEST(waits_are_told_by_their_length_and_not_at_all_where_there_are_none)
{
	_cleanup_record_ struct record *r = load("made-train.json");

	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (strcmp(metric_get((enum metric_id)i)->section, "cpu.causes") == 0)
			reading_set(&r->reading, (enum metric_id)i, 0);
	}
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 0);
	ASSERT_UNTOLD(report(r, NULL, 80), "\nwaits ");
	reading_set(&r->reading, METRIC_BLOCKED_SLEEP, UINT64_C(2000000000));
	reading_set(&r->reading, METRIC_BLOCKED_LOCK, UINT64_C(3000000000));
	ASSERT_TOLD(report(r, NULL, 80),
		    "\nwaits       waited for  time  of all threads' time  core time lost\n"
		    "            locks        3 s                   1 %             3 s\n"
		    "            sleep        2 s                 0.7 %            none\n");
}
