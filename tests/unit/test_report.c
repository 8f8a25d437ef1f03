/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "made.h"
#include "page.h"
#include "records.h"
#include "report_compare.h"
#include "report_text.h"
#include "test.h"
#include "utf8.h"

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

static char *report(const struct record *now, const struct record *last, unsigned int width)
{
	struct page page = { .width = width, .is_utf8 = true };
	char *text = NULL;
	size_t size;

	page.out = open_memstream(&text, &size);
	report_text(now, last, &page);
	fclose(page.out);
	page.out = NULL;
	return text;
}

static void check_width(const char *text, unsigned int width)
{
	_cleanup_free_ char *copy = strdup(text);
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (utf8_columns(line) > width)
			ASSERT_STREQ(line, "a line that fits");
	}
}

TEST(the_whole_page_reads_as_it_is_kept)
{
	_cleanup_record_ struct record *now = load("made-train.json"),
				       *last = load("made-train-before.json");
	_cleanup_free_ char *text = report(now, last, 80), *wanted = test_data("made-train.txt");

	ASSERT_STREQ(text, wanted);
}

TEST(every_page_fits_its_width_and_steers_no_terminal)
{
	static const char *const names[] = { "made-train.json", "made-short.json", "made-long.json",
					     "made-nasty.json" };
	static const unsigned int widths[] = { 60, 80, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(widths); i++) {
		_cleanup_record_ struct record *r = load(names[i / ARRAY_SIZE(widths)]);
		unsigned int width = widths[i % ARRAY_SIZE(widths)];
		_cleanup_free_ char *text = report(r, NULL, width);
		const char *p = text;
		uint32_t c;

		if (r->reading.mount_count <
		    10) /* a path in a sentence may be longer than a line */
			check_width(text, width);
		while ((c = utf8_next(&p)) != 0)
			ASSERT(c == '\n' || utf8_is_printable(c));
	}
}

TEST(what_is_not_known_is_a_dash)
{
	_cleanup_record_ struct record *r = load("made-short.json"), *nothing = record_new();
	_cleanup_free_ char *text = report(r, NULL, 80), *empty = report(nothing, NULL, 80);

	ASSERT_CONTAINS(text, "true  killed by SIGSEGV  5 ms on made-node17, 1 core allowed\n");
	ASSERT_CONTAINS(text, "waiting to run -\n");
	ASSERT_CONTAINS(text, "\nmemory      1.6 MiB peak of one process ");
	ASSERT_CONTAINS(text, "\nfiles       -\n");
	ASSERT_LACKS(text, "books");
	ASSERT_CONTAINS(empty, "(no name)  still running  0 s\n");
	ASSERT_CONTAINS(empty,
			"\ncores       - used\n            user -   system -   waiting to run -\n");
	ASSERT_CONTAINS(empty,
			"\nmemory      -                             faults - minor, - major\n");
}

TEST(what_went_wrong_stands_out)
{
	_cleanup_record_ struct record *r = load("made-long.json");
	_cleanup_free_ char *text = report(r, NULL, 80);

	ASSERT_CONTAINS(text, "climate simulation  exit 3  10 d 00 h on ");
	ASSERT_CONTAINS(text, "2 processes were killed because memory ran out\n");
	ASSERT_CONTAINS(text, "held back by a quota 10 h 00 m\n");
	ASSERT_CONTAINS(text, "and 7 more mounts (6 MiB read, 24 KiB written)\n");
	ASSERT_CONTAINS(text, "left alone  1000 daemon0, ");
	ASSERT_CONTAINS(text, "daemon7 and 4 more\n");
	ASSERT_CONTAINS(
		text,
		"books       3 TiB of the 1 PiB read are in no row; the rows hold 512 TiB more\n");
	ASSERT_CONTAINS(text,
			"cores       ≥64.9 of 128 used"); /* a note says that it is a lower bound */
	ASSERT_CONTAINS(text, "≥1 PiB");
	ASSERT_CONTAINS(text, "123,456 events could not be kept.");
}

TEST(a_job_without_files_says_so)
{
	_cleanup_record_ struct record *r = made_record(0);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < r->reading.mount_count; i++) {
		r->reading.mounts[i].ops[OP_READ] = (struct op_counts){ .calls = 3 };
		r->reading.mounts[i].ops[OP_OPEN] = (struct op_counts){};
	}
	text = report(r, NULL, 80);
	ASSERT_CONTAINS(text, "\nfiles       nothing was read or written\n");
	ASSERT_LACKS(text, "open/close");
	ASSERT_LACKS(text, "/scratch");
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
	ASSERT_CONTAINS(text, "train.sh  exit 0  2 m 14 s on 3 nodes, 10 cores allowed\n"
			      "merged from 5 records on 3 nodes\n");
	ASSERT_CONTAINS(text, "3.1 GiB peak of any one record");
	merged->job.exit_code = -1;
	free(text);
	text = report(merged, NULL, 80);
	ASSERT_CONTAINS(text, "train.sh  ended differently  2 m 14 s");
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
		      "2.4 times as long, nothing read on /scratch any more, 0.3 cores used "
		      "instead of 2.1");
}

TEST(a_failure_before_or_now_is_told_first)
{
	_cleanup_record_ struct record *last = made_record(0), *now = made_record(0);

	last->job.exit_code = 1;
	expect_change(last, now, "the last one failed");
	expect_change(now, last, "the last one ended well");
	now->job.exit_code = -1;
	now->job.signal = 9;
	expect_change(last, now, "about the same");
}
