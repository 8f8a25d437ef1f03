/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made_rates.h"
#include "analysis/patterns.h"
#include "analysis/rules.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "reported.h"
#include "model/rows.h"
#include "test.h"
#include "basic/utf8.h"

#define SECOND UINT64_C(1000000000)
#define MORNING (UINT64_C(1790000000) * SECOND)

static char *report(const struct record *r, unsigned int width)
{
	struct rows *rows = rows_new();

	timeline_rows(r, NULL, rows);
	return reported_rows(rows, ROWS_TEXT, width);
}

static char *first_screen(const struct record *r)
{
	struct rows *rows = rows_new();

	timeline_rows(r, NULL, rows);
	return reported_rows(rows, ROWS_SCREEN, 80);
}

static struct record *begin(void)
{
	struct record *r = record_new();

	ASSERT_OK(timeline_begin(&r->timeline, MORNING, 0));
	r->time.start_ns = r->time.measured_from_ns = MORNING;
	return r;
}

/* What there is until @second. */
static void go_on(struct record *r, double second, uint64_t user_ns, uint64_t bytes,
		  uint64_t memory)
{
	struct value values[TIMELINE_SERIES] = {};
	uint64_t ns = (uint64_t)(second * 1e9);

	values[timeline_find("cpu", "user_seconds")] = (struct value){ user_ns, true };
	values[timeline_find("cpu", "system_seconds")] = (struct value){ 0, true };
	values[timeline_find("read", "bytes")] = (struct value){ bytes, true };
	values[timeline_find("write", "bytes")] = (struct value){ 0, true };
	values[timeline_find("memory", "usage_bytes")] = (struct value){ memory, memory > 0 };
	ASSERT_OK(timeline_feed(&r->timeline, 0, ns, values));
	r->time.elapsed_ns = ns;
	r->time.end_ns = MORNING + ns;
}

TEST(each_second_of_a_short_job_is_some_columns_wide)
{
	_cleanup_(record_freep) struct record *r = begin();

	go_on(r, 1, 2 * SECOND, 0, 0);
	go_on(r, 2, 3 * SECOND, 8 << 20, 4096);
	go_on(r, 10, 3 * SECOND, 8 << 20, 4096);
	ASSERT_TEXT(report(r, 80),
		    "  cores   ████▄▄▄▄································ peak 2\n"
		    "  read    ····████································ peak 8 MiB/s\n"
		    "  memory      ████████████████████████████████████ peak 4 KiB\n"
		    "          0 s                                 10 s\n");
}

/* On a first screen. */
TEST(the_curve_is_of_reads_or_writes_whichever_took_longer)
{
	_cleanup_(record_freep) struct record *r = begin();
	_cleanup_free_ char *written = NULL;
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, "/scratch", NULL);

	go_on(r, 1, SECOND, 0, 0);
	go_on(r, 10, SECOND, 80 << 20, 0);
	row->has_seconds = true;
	row->ops[OP_READ] = (struct op_counts){ .calls = 7, .ns = 13 };
	ASSERT_TOLD(first_screen(r), "  read    ");
	row->ops[OP_WRITE] = (struct op_counts){ .calls = 7, .ns = 17 };
	written = first_screen(r);
	ASSERT_LACKS(written, "  read    "); /* nor of writes, since there were no bytes */
	ASSERT_CONTAINS(written, "  cores   ");
}

TEST(a_second_in_which_it_ran_in_part_is_no_slow_one)
{
	_cleanup_(record_freep) struct record *r = begin();

	go_on(r, 9.25, 9250 * SECOND / 1000, 0, 0);
	ASSERT_TEXT(report(r, 80), "  cores   ████████████████████████████████████████ peak 1\n"
				   "          0 s                                9.3 s\n");
}

TEST(many_buckets_share_a_column)
{
	_cleanup_(record_freep) struct record *r = begin();
	_cleanup_free_ char *narrow = NULL;

	for (unsigned int second = 1; second <= 4000; second++)
		go_on(r, second, second * SECOND, second < 2000 ? 0 : (second - 2000) << 20,
		      1 << 20);
	ASSERT_TOLD(report(r, 80), " 1\n", " 1 MiB/s\n", "1 h 06 m\n");
	narrow = report(r, 60);
	for (const char *line = narrow; *line; line = strchr(line, '\n') + 1) {
		_cleanup_free_ char *one = strndup(line, strcspn(line, "\n"));

		ASSERT(utf8_columns(one) <= 60);
	}
}

TEST(what_is_too_short_or_not_known_is_not_drawn)
{
	_cleanup_(record_freep) struct record *r = begin(), *none = record_new(), *idle = begin();
	struct value values[TIMELINE_SERIES] = {};

	go_on(r, 7, SECOND, 0, 0);
	ASSERT_TEXT(report(r, 80), "");
	ASSERT_TEXT(report(none, 80), "");
	ASSERT_OK(timeline_feed(&idle->timeline, 0, 100 * SECOND, values));
	ASSERT_TEXT(report(idle, 80), "");
}

static char *report_patterns_of(const struct made_rates *rates, unsigned int shift)
{
	_cleanup_(record_freep) struct record *r = made_rates_record(rates, shift);
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct rows *rows = rows_new();
	struct patterns patterns = {};

	ASSERT_OK(rules_load_built_in(&rules, NULL));
	ASSERT_OK(patterns_find(&rules->pattern_settings, r, &patterns));
	timeline_rows(r, &patterns, rows);
	return reported_rows(rows, ROWS_TEXT, 80);
}

TEST(patterns_are_marked_below_the_curves)
{
	struct made_rates tail = made_rates(480), steps = made_rates(480), calm = made_rates(480);

	for (size_t i = 0; i < 480; i++) {
		tail.on_cpu[i] = i < 100 ? 1 : i < 240 ? 4 : 0;
		steps.write[i] = i % 60 < 3 ? 100 << 20 : 0;
	}
	ASSERT_TOLD(report_patterns_of(&tail, 2),
		    "  marks             |             |iiiiiiiiiiiiiiiiiiiiiii\n"
		    "          0 s ",
		    "          | phase   i idle   x died inside\n");
	ASSERT_TOLD(report_patterns_of(&steps, 0),
		    "  marks   c     c     c     c     c     c     c     c\n",
		    "          c checkpoint\n");
	ASSERT_UNTOLD(report_patterns_of(&calm, 0), "marks");
}
