/* SPDX-License-Identifier: MIT */
#include "model/sections/trace.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "model/record.h"
#include "model/rows.h"
#include "model/section.h"
#include "model/sections.h"
#include "report/record_rows.h"
#include "reported.h"
#include "test.h"

static struct traced_function *get(struct traced_calls *c, const char *function)
{
	struct traced_function *f = NULL;

	c->is_known = true;
	(void)traced_get(c, "mpi-io", function, &f);
	return f;
}

static void add(struct traced_calls *c, const char *function, uint64_t calls, uint64_t bytes,
		uint64_t ns)
{
	struct traced_function *f = get(c, function);

	*traced_number_ref(f, METRIC_TRACE_CALLS) += calls;
	*traced_number_ref(f, METRIC_TRACE_BYTES) += bytes;
	*traced_number_ref(f, METRIC_TRACE_SECONDS) += ns;
}

static uint64_t number(struct traced_calls *c, const char *function, enum metric_id id)
{
	return traced_number(get(c, function), id);
}

static struct traced_calls *of(struct record *r)
{
	return section_of(r, &trace_section);
}

TEST(names_are_a_sets_and_short)
{
	static const char *const wrong[][2] = {
		{ "", "f" },
		{ "s", "" },
		{ "a/b", "f" },
		{ "s", "f g" },
		{ "s", "f\"" },
		{ "s\\", "f" },
		{ "s", "\x7f" },
		{ "s", "\xc3" },
		{ "s", "\n" },
		{ "s", "0123456789012345678901234567890123456789012345678901234567890123" },
	};
	_cleanup_(traced_calls_clear) struct traced_calls c = {};
	struct traced_function *f = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ASSERT_ERR(traced_get(&c, wrong[i][0], wrong[i][1], &f), -EINVAL);
	ASSERT_EQ(c.count, 0u);
	ASSERT_OK(traced_get(&c, "kernel", "block:block_rq/issue", &f));
	ASSERT_STREQ(f->set, "kernel");
	ASSERT_STREQ(f->function, "block:block_rq/issue");
}

TEST(a_record_comes_back_as_it_was_written)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *text = NULL;

	ASSERT_UNTOLD(made_json(r), "\"trace\"");
	add(of(r), "MPI_File_open", 2, 0, 1000000007);
	add(of(r), "MPI_File_read_at", 13, 1009, 17);
	*traced_number_ref(get(of(r), "MPI_File_open"), METRIC_TRACE_FAILED) = 1;
	of(r)->process_ns = 2500000000;
	text = made_json(r);
	ASSERT_CONTAINS(text, "\"process_seconds\": 2.5");
	ASSERT_CONTAINS(
		text,
		"{\"set\": \"mpi-io\", \"function\": \"MPI_File_open\", \"calls\": 2, \"failed\": 1, "
		"\"lost\": 0, \"bytes\": 0, \"unsized\": 0, \"seconds\": 1.000000007, "
		"\"dropped_probes\": 0}");
	again = made_again(text, NULL);
	ASSERT(again && of(again)->is_known);
	ASSERT_TEXT(made_json(again), text);
}

TEST(records_are_added_and_one_without_a_trace_adds_nothing)
{
	_cleanup_(record_freep) struct record *a = made_record(0), *b = made_record(1),
					      *c = made_record(2), *all = NULL;

	add(of(a), "MPI_File_open", 3, 0, 5);
	add(of(b), "MPI_File_open", 7, 0, 11);
	add(of(b), "MPI_File_sync", 1, 0, 13);
	of(a)->process_ns = 17;
	of(b)->process_ns = 19;
	ASSERT_OK(record_merge((const struct record *const[]){ c, a, b }, 3, &all));
	ASSERT(of(all)->is_known);
	ASSERT_EQ(of(all)->process_ns, 36u);
	ASSERT_EQ(of(all)->count, 2u);
	ASSERT_EQ(number(of(all), "MPI_File_open", METRIC_TRACE_CALLS), 10u);
	ASSERT_EQ(number(of(all), "MPI_File_open", METRIC_TRACE_SECONDS), 16u);
}

TEST(a_difference_is_what_was_added_and_unknown_where_a_number_fell)
{
	_cleanup_(traced_calls_clear) struct traced_calls later = {}, earlier = {}, none = {};
	_cleanup_(strings_clear) struct strings notes = {};

	add(&later, "MPI_File_open", 13, 0, 300);
	add(&later, "MPI_File_sync", 2, 0, 30);
	ASSERT_OK(section_subtract(&trace_section, &later, &none, &notes)); /* nobody traced until
									       then */
	ASSERT_EQ(number(&later, "MPI_File_open", METRIC_TRACE_CALLS), 13u);
	add(&earlier, "MPI_File_open", 10, 0, 100);
	ASSERT_OK(section_subtract(&trace_section, &later, &earlier, &notes));
	ASSERT_EQ(number(&later, "MPI_File_open", METRIC_TRACE_CALLS), 3u);
	ASSERT_EQ(number(&later, "MPI_File_open", METRIC_TRACE_SECONDS), 200u);
	ASSERT_EQ(number(&later, "MPI_File_sync", METRIC_TRACE_CALLS), 2u);
	ASSERT_EQ(notes.count, 0u);
	ASSERT_OK(section_subtract(&trace_section, &later, &earlier, &notes));
	ASSERT(!later.is_known && !later.count);
	ASSERT_CONTAINS(notes.items[0], "trace");
}

TEST(sums_of_a_trace_that_are_told_again_add_nothing)
{
	_cleanup_(traced_calls_clear) struct traced_calls now = {}, before = {}, more = {};

	add(&now, "MPI_File_open", 13, 0, 300);
	ASSERT_OK(section_raise(&trace_section, &before, &now));
	ASSERT_OK(traced_difference(&now, &before, &more));
	ASSERT_EQ(traced_total(&more, METRIC_TRACE_CALLS), 0u);
	traced_calls_clear(&more);
	add(&now, "MPI_File_sync", 5, 0, 7);
	*traced_number_ref(get(&now, "MPI_File_open"), METRIC_TRACE_CALLS) = 11; /* an older one */
	ASSERT_OK(traced_difference(&now, &before, &more));
	ASSERT_EQ(number(&more, "MPI_File_open", METRIC_TRACE_CALLS), 0u);
	ASSERT_EQ(number(&more, "MPI_File_sync", METRIC_TRACE_CALLS), 5u);
	ASSERT_OK(section_raise(&trace_section, &before, &now));
	ASSERT_EQ(number(&before, "MPI_File_open", METRIC_TRACE_CALLS), 13u);
}

TEST(csv_by_function_has_a_row_each)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *none = made_csv(r, ROWS_FUNCTION);

	ASSERT_CONTAINS(none, ",function,calls,failed,lost,bytes,unsized,seconds,dropped_probes\n");
	ASSERT_EQ(strlen(strchr(none, '\n')), 1u);
	add(of(r), "MPI_File_read_at", 13, 1009, 1000000017);
	ASSERT_TOLD(made_csv(r, ROWS_FUNCTION),
		    ",mpi-io/MPI_File_read_at,13,0,0,1009,0,1.000000017,0\n");
}

TEST(a_report_has_the_functions_by_time_and_what_was_lost)
{
	_cleanup_(traced_calls_clear) struct traced_calls c = {};
	struct rows *rows = rows_new();

	trace_rows(&c, rows);
	ASSERT_TEXT(reported_rows(rows, ROWS_TEXT, 100), "");
	add(&c, "MPI_File_open", 2, 0, 500000000);
	add(&c, "MPI_File_read_at", 13, 13 << 20, 1000000000);
	*traced_number_ref(get(&c, "MPI_File_read_at"), METRIC_TRACE_UNSIZED) = 1;
	*traced_number_ref(get(&c, "MPI_File_open"), METRIC_TRACE_LOST) = 7;
	*traced_number_ref(get(&c, "MPI_File_open"), METRIC_TRACE_DROPPED) = 1;
	c.process_ns = 2000000000;
	rows = rows_new();
	trace_rows(&c, rows);
	ASSERT_TEXT(reported_rows(rows, ROWS_TEXT, 100),
		    "  traced function   calls  failed    time  of wall    bytes      rate\n"
		    "  MPI_File_read_at     13       -     1 s     50 %  ≥13 MiB  13 MiB/s\n"
		    "  MPI_File_open         2       -  500 ms     25 %        -         -\n"
		    "  times are of threads on the host; wall is 2 s of traced processes\n"
		    "  7 traced calls are in no number: there was no room, or they never returned\n"
		    "  1 probe cost too much and did not stay until the end\n");
}
