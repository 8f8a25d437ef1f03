/* SPDX-License-Identifier: MIT */
#include "tui/top_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "tui/columns.h"
#include "basic/macro.h"
#include "made_top.h"
#include "made.h"
#include "test.h"
#include "basic/utf8.h"

static void check_screen(struct top *t, unsigned int columns, unsigned int rows, bool is_ascii,
			 const char *name)
{
	_cleanup_free_ char *text = made_screen(t, columns, rows, is_ascii);

	ASSERT_GOLDEN(text, name);
	top_free(t);
}

TEST(a_screen_of_80x24)
{
	check_screen(made_top(), 80, 24, false, "made-top-80x24.txt");
}

TEST(a_screen_of_40x10)
{
	check_screen(made_top(), 40, 10, false, "made-top-40x10.txt");
}

TEST(a_wide_screen_with_a_tree_and_details)
{
	struct top *t = made_top();

	made_processes(t);
	top_press(t, 't');
	top_press(t, 'd');
	check_screen(t, 160, 50, false, "made-top-160x50.txt");
}

TEST(a_job_from_close_by)
{
	struct top *t = made_top();

	made_processes(t);
	top_select(t, 3);
	top_press(t, TOP_KEY_ENTER);
	check_screen(t, 80, 24, true, "made-top-zoom.txt");
}

TEST(help_and_the_menu_fit_on_a_screen)
{
	struct top *t = made_top(), *menu = made_top();
	_cleanup_free_ char *text = NULL;

	top_press(t, '?');
	text = made_screen(t, 100, 50, false);
	ASSERT_CONTAINS(text, "F5 t      tree: job, step, task, process");
	ASSERT_CONTAINS(text, "M         MEMORY: memory in use");
	free(made_screen(t, 100, 10, false));
	for (int i = 0; i < 100; i++)
		top_press(t, TOP_KEY_DOWN);
	free(text);
	text = made_screen(t, 100, 10, false);
	ASSERT_CONTAINS(text, "MANAGER: resource manager of the job");
	ASSERT_CONTAINS(text, "\n           METADATA BY MOUNT: where these were");
	top_free(t);
	top_press(menu, '>');
	check_screen(menu, 80, 24, false, "made-top-sort.txt");
}

/* Before: all of it unlike what it did between the readings, in which 8 s of CPU time were counted.
 */
static void count_hardware(struct tick *tick, bool later)
{
	struct record *r = NULL;

	for (size_t i = 0; i < tick->jobs.count; i++) {
		if (strcmp(tick->jobs.items[i]->job.id, "123") == 0)
			r = tick->jobs.items[i];
	}
	ASSERT(r);
	reading_set(&r->reading, METRIC_CPU_CYCLES, 310000000007 + later * UINT64_C(23200000000));
	reading_set(&r->reading, METRIC_CPU_INSTRUCTIONS,
		    93000000001 + later * UINT64_C(34800000000));
	reading_set(&r->reading, METRIC_CPU_LLC_MISSES, 7000000001 + later * UINT64_C(87000000));
	reading_set(&r->reading, METRIC_CPU_COUNTERS_ENABLED,
		    (300 + later * 8) * UINT64_C(1000000000));
	reading_set(&r->reading, METRIC_CPU_COUNTERS_RUNNING,
		    (300 + later * 8) * UINT64_C(1000000000));
	r->thermal = (struct thermal_samples){ .samples = { 31, true },
					       .frequency_hz = { 2836000007, true },
					       .temperature_max = { 93007, true } };
}

TEST(details_tell_counters_and_sensors_where_somebody_counts)
{
	struct top *t = top_new(NULL), *blind = made_top();
	struct tick tick;

	for (int later = 0; later < 2; later++) {
		made_wire_snapshot(later, &tick);
		count_hardware(&tick, later);
		ASSERT_OK(top_feed(t, &tick));
	}
	top_press(t, 'd');
	ASSERT_TOLD(
		made_screen(t, 100, 40, false),
		" now       2.90 GHz while on CPU, 1.50 instructions a cycle, 2.50 LLC misses per 1,000 instructions\n",
		" so far    2.84 GHz on average, 93 °C at most (31 samples of its CPUs)\n");
	top_free(t);
	top_press(blind, 'd');
	ASSERT_UNTOLD(made_screen(blind, 100, 40, false), "GHz");
	top_free(blind);
}

TEST(ascii_is_nothing_but_ascii)
{
	_cleanup_top_ struct top *t = made_top();
	_cleanup_free_ char *text = NULL;

	made_processes(t);
	top_press(t, 't');
	top_press(t, 'd');
	text = made_screen(t, 160, 50, true);
	for (const char *p = text; *p; p++)
		ASSERT((unsigned char)*p < 0x80);
}

TEST(no_line_is_wider_than_the_screen_and_there_are_as_many_as_it_has)
{
	static const char keys[] = "td>?\\";

	for (unsigned int columns = 1; columns < 200; columns += 7) {
		struct top *t = made_top();

		made_processes(t);
		for (const char *key = keys; *key; key++) {
			_cleanup_free_ char *text = NULL;
			unsigned int rows = 1 + columns % 40, lines = 0;

			top_press(t, (unsigned char)*key);
			text = made_screen(t, columns, rows, false);
			for (char *rest = text, *line; (line = strsep(&rest, "\n")) && rest;
			     lines++)
				ASSERT(utf8_columns(line) <= columns);
			ASSERT_EQ(lines, rows);
		}
		top_free(t);
	}
}

TEST(the_selected_row_is_always_on_the_screen)
{
	_cleanup_top_ struct top *t = made_top();

	for (int i = 0; i < 6; i++) {
		_cleanup_free_ char *text = made_screen(t, 40, 5, false);

		ASSERT_CONTAINS(text, "\n>");
		top_press(t, TOP_KEY_DOWN);
	}
	top_press(t, TOP_KEY_HOME);
	free(made_screen(t, 40, 5, false));
	ASSERT_EQ((uint64_t)t->first, (uint64_t)0);
}

TEST(the_mouse_finds_rows_and_heads)
{
	_cleanup_(grid_freep) struct grid *g = grid_new(80, 24, false);
	_cleanup_top_ struct top *t = made_top();
	size_t found = 99;

	top_draw(t, g);
	ASSERT(top_find_row(t, g, 5, &found) && found == 0);
	ASSERT(top_find_row(t, g, 10, &found) && found == 5);
	ASSERT(!top_find_row(t, g, 11, &found) && !top_find_row(t, g, 4, &found));
	ASSERT(top_find_column(t, g, 4, 1, &found) && found == 0);
	ASSERT(!top_find_column(t, g, 0, 1, &found) && !top_find_column(t, g, 1, 1, &found));
	for (unsigned int column = 0; column < 80; column++) {
		if (top_find_column(t, g, 4, column, &found))
			ASSERT(found < column_count);
	}
}

TEST(text_has_the_columns_that_are_wanted_and_no_legend_where_nobody_wants_one)
{
	_cleanup_top_ struct top *t = made_top();
	_cleanup_free_ char *text = NULL;
	struct made_text written = {};
	struct grid *g;

	ASSERT_OK(columns_parse("cores,id,time", &t->wanted, NULL));
	t->has_no_legend = true;
	ASSERT_OK(top_arrange(t));
	g = grid_new(top_text_columns(t, 20), top_text_rows(t, 20), false);
	ASSERT_EQ(g->columns, 24u);
	top_draw_text(t, g);
	grid_print_text(g, made_text_stream(&written));
	text = made_text_end(&written);
	grid_free(g);
	ASSERT_STREQ(text, "   3.6/4 123        2:16\n"
			   "   2.0/4 1000       0:00\n"
			   "   0.5/1 77         0:11\n"
			   "   0.1/8 124       2h00m\n"
			   "   0.0/2 125        1:02\n"
			   "       - 99            -\n");
}

/* Of another agent, or of a site that does not want them. */
TEST(without_numbers_of_the_node_there_are_no_lines_of_it)
{
	_cleanup_top_ struct top *t = made_top();

	t->before.node = (struct node_values){};
	ASSERT_TOLD(made_screen(t, 80, 24, false),
		    "\n CPU      ····················     - of 16 CPUs\n", "\n memory   █████████");
	t->last.node = (struct node_values){};
	ASSERT_TOLD(made_screen(t, 80, 24, false), "04:05:02\n ID ");
}

TEST(cards_have_a_line_and_a_column_where_there_are_any)
{
	_cleanup_top_ struct top *t = made_top();
	_cleanup_free_ char *none = made_screen(t, 100, 24, false);
	static const uint64_t numbers[] = { 8, 240, UINT64_C(640) << 30, UINT64_C(160) << 30,
					    2403000000 };

	ASSERT_LACKS(none, "GPU");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		t->last.node.values[NODE_GPUS + i].number = numbers[i];
	for (size_t i = 0; i < t->job_count; i++) {
		if (strcmp(t->jobs[i].now->job.id, "123") == 0) {
			t->jobs[i].numbers.gpus = 1.2;
			t->jobs[i].numbers.gpus_held = 2;
		}
	}
	ASSERT_OK(top_arrange(t));
	ASSERT_TOLD(
		made_screen(t, 100, 24, false),
		"\n GPU      ██████··············  30 % of 8 GPUs  memory 160 GiB of 640 GiB  2403 W\n",
		"  GPUS ", " 1.2/2.0 ");
	ASSERT_TOLD(made_screen(t, 60, 10, false), "load 10.21  swap 12 %  GPU 30 %\n");
}

TEST(lines_of_the_node_fold_away_where_the_screen_is_small)
{
	static const struct row {
		unsigned int columns, rows;
		const char *has, *lacks;
	} rows[] = {
		{ 80, 20, "\n load ", NULL },
		{ 80, 19, "\n CPU 38 %  memory 45 %  load 10.21", "\n load " },
		{ 59, 50, "\n CPU 38 %", "\n load " },
		{ 40, 8, "\n CPU 38 %  memory 45 %  load 10.21\n ID ", NULL },
		{ 20, 8, "\n CPU 38 %\n ID ", NULL },
		{ 40, 7, "04:05:02\n ID ", "CPU 38 %" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top *t = made_top();
		_cleanup_free_ char *text = made_screen(t, rows[i].columns, rows[i].rows, false);

		ASSERT_CONTAINS(text, rows[i].has);
		if (rows[i].lacks)
			ASSERT_LACKS(text, rows[i].lacks);
		top_free(t);
	}
}

TEST(the_time_that_rates_are_over_is_told_where_it_is_not_that_between_looks)
{
	static const struct row {
		uint64_t interval_ns;
		const char *words;
	} rows[] = { { 2000000000, NULL },
		     { 2500000000, NULL },
		     { 1700000000, NULL },
		     { 10000000000, "by CORES ▼  over 2 s  " },
		     { 500000000, "by CORES ▼  over 2 s  " } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top *t = made_top();
		_cleanup_free_ char *text = NULL;

		t->interval_ns = rows[i].interval_ns;
		text = made_screen(t, 80, 24, false);
		if (rows[i].words)
			ASSERT_CONTAINS(text, rows[i].words);
		else
			ASSERT_LACKS(text, "over");
		top_free(t);
	}
}

TEST(where_no_rate_is_known_no_time_is_told)
{
	_cleanup_top_ struct top *t = top_new(NULL);
	struct tick tick;

	t->interval_ns = 500000000;
	for (int is_back = 0; is_back < 2; is_back++) { /* the first tick; then one that is before
							   it, of another boot */
		_cleanup_free_ char *text = NULL;

		made_wire_snapshot(!is_back, &tick);
		ASSERT_OK(top_feed(t, &tick));
		text = made_screen(t, 80, 24, false);
		ASSERT_LACKS(text, "over");
	}
}

TEST(without_jobs_it_says_so)
{
	_cleanup_top_ struct top *t = top_new(NULL);

	ASSERT_TOLD(made_screen(t, 80, 24, false), "no job runs here that you may see");
}

TEST(help_says_that_there_is_more_of_it)
{
	_cleanup_top_ struct top *t = made_top();

	top_press(t, '?');
	ASSERT_TOLD(made_screen(t, 80, 24, false), "q goes back  1-23 of ");
	ASSERT_UNTOLD(made_screen(t, 80, 60, false), "PgDn\n");
	top_press(t, TOP_KEY_DOWN);
	ASSERT_TOLD(made_screen(t, 80, 24, false), "q goes back  2-24 of ");
	ASSERT_TOLD(made_screen(t, 40, 10, false), "q goes back");
}

TEST(parts_of_core_time_are_told_whole)
{
	for (unsigned int columns = 40; columns < 100; columns += 7) {
		struct top *t = made_top();
		_cleanup_free_ char *text = NULL;
		const char *line;

		top_press(t, 'd');
		ASSERT_OK(top_arrange(t));
		text = made_screen(t, columns, 30, false);
		ASSERT_CONTAINS(text, "█ on CPU ");
		line = strstr(text, "· idle ");
		ASSERT(line && strstr(line, " %") &&
		       strstr(line, " %") < line + strcspn(line, "\n"));
		top_free(t);
	}
}

TEST(users_are_offered_while_one_is_typed)
{
	_cleanup_top_ struct top *t = made_top();

	top_press(t, 'u');
	ASSERT_TOLD(made_screen(t, 80, 24, false), "user: _  alice  bob");
	top_press(t, 'b');
	ASSERT_TOLD(made_screen(t, 80, 24, false), "user: b_  bob\n");
}

TEST(before_the_first_reading_it_says_what_it_waits_for)
{
	_cleanup_top_ struct top *t = top_new(NULL);
	_cleanup_free_ char *text = NULL;

	t->starting = "waiting for somebody";
	text = made_screen(t, 80, 24, false);
	ASSERT_CONTAINS(text, "\n waiting for somebody\n");
	ASSERT_LACKS(text, "no job");
}

TEST(a_folded_job_has_a_sign_before_it)
{
	_cleanup_top_ struct top *t = made_top();

	made_processes(t);
	top_press(t, 't');
	ASSERT_OK(top_arrange(t));
	top_press(t, '-');
	ASSERT_OK(top_arrange(t));
	ASSERT_TOLD(made_screen(t, 80, 24, false), "\n+123 ", "\n 124 ");
}
