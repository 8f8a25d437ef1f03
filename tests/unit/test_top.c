/* SPDX-License-Identifier: MIT */
#include "tui/top.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "tui/columns.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "made_top.h"
#include "model/record.h"
#include "test.h"

/* "123 124": the ids of jobs, "+" and a name of parts, in their order. */
static const char *order_of(struct top *t)
{
	static char text[1024];
	size_t used = 0;

	*text = '\0';
	ASSERT_OK(top_arrange(t));
	for (size_t i = 0; i < t->row_count && used < sizeof(text) - 300; i++) {
		const struct top_row *row = &t->rows[i];
		char part[300];

		if (row->part == TOP_JOB)
			snprintf(part, sizeof(part), "%s", row->job->now->job.id);
		else if (row->part == TOP_STEP)
			snprintf(part, sizeof(part), "+step%s", row->step->id);
		else if (row->part == TOP_TASK)
			snprintf(part, sizeof(part), "+task%s", row->task);
		else
			snprintf(part, sizeof(part), "+%d", row->process->pid);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
					 part);
	}
	return text;
}

static void press(struct top *t, const char *keys)
{
	for (; *keys; keys++)
		top_press(t, (unsigned char)*keys);
	ASSERT_OK(top_arrange(t));
}

TEST(the_busiest_stands_first_and_what_is_not_known_last)
{
	_cleanup_top_ struct top *t = made_top();

	ASSERT_STREQ(order_of(t), "123 1000 77 124 125 99");
}

TEST(keys_sort_as_htops_do)
{
	static const struct row {
		const char *keys, *order;
	} rows[] = {
		{ "P", "123 1000 77 124 125 99" },  { "M", "123 125 124 77 99 1000" },
		{ "T", "124 123 125 77 1000 99" },  { "R", "77 124 123 1000 99 125" },
		{ "W", "123 1000 77 124 99 125" },  { "B", "124 77 123 125 1000 99" },
		{ "N", "77 99 123 124 125 1000" },  { "NI", "1000 125 124 123 99 77" },
		{ "PI", "99 125 124 77 1000 123" }, { "PIP", "123 1000 77 124 125 99" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top *t = made_top();

		press(t, rows[i].keys);
		ASSERT_STREQ(order_of(t), rows[i].order);
		top_free(t);
	}
}

TEST(the_menu_sorts_by_columns_that_have_no_key)
{
	_cleanup_top_ struct top *t = made_top();

	press(t, ">");
	ASSERT_EQ(t->mode, TOP_SORT);
	for (size_t i = COLUMN_DEFAULT; i > 1; i--)
		top_press(t, TOP_KEY_UP);
	top_press(t, TOP_KEY_ENTER);
	ASSERT_EQ(t->mode, TOP_LIST);
	ASSERT_STREQ(top_columns[t->column].title, "USER");
	ASSERT_STREQ(order_of(t), "123 1000 124 125 77 99");
	press(t, ">");
	top_press(t, TOP_KEY_DOWN);
	top_press(t, TOP_KEY_ESCAPE);
	ASSERT_STREQ(top_columns[t->column].title, "USER");
}

TEST(a_filter_holds_while_it_is_typed_and_escape_takes_it_back)
{
	_cleanup_top_ struct top *t = made_top();

	press(t, "\\ALI");
	ASSERT_STREQ(order_of(t), "123 1000");
	top_press(t, TOP_KEY_BACKSPACE);
	press(t, "\xc3"); /* no character: not taken */
	top_press(t, TOP_KEY_ENTER);
	ASSERT_STREQ(t->filter, "AL\xc3\x83"); /* U+00C3 is one */
	top_press(t, 'P');
	press(t, "\\");
	top_press(t, TOP_KEY_ESCAPE);
	ASSERT_STREQ(order_of(t), "123 1000 77 124 125 99");
}

TEST(a_text_that_is_typed_has_a_bound)
{
	_cleanup_top_ struct top *t = made_top();

	top_press(t, '/');
	for (int i = 0; i < 1000; i++)
		top_press(t, i % 3 ? 0x6f22 : 'a');
	ASSERT(strlen(t->typed) < TOP_TEXT_MAX);
	for (int i = 0; i < 1000; i++)
		top_press(t, TOP_KEY_BACKSPACE);
	ASSERT_STREQ(t->typed, "");
}

TEST(a_user_is_one_by_name_or_number)
{
	static const struct row {
		const char *user, *order;
	} rows[] = { { "bob", "124 125" }, { "1001", "124 125" }, { "b", "124 125" },
		     { "bobby", "" },	   { "o", "" },		  { "", "123 1000 77 124 125 99" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top *t = made_top();

		press(t, "u");
		press(t, rows[i].user);
		top_press(t, TOP_KEY_ENTER);
		ASSERT_STREQ(order_of(t), rows[i].order);
		top_free(t);
	}
}

TEST(users_are_offered_by_their_beginnings_and_none_of_two_is_taken)
{
	_cleanup_top_ struct top *t = made_top();
	const char *first = top_next_user(t, "", NULL), *second = top_next_user(t, "", first);

	ASSERT_STREQ(first, "alice");
	ASSERT_STREQ(second, "bob");
	ASSERT(!top_next_user(t, "b", second) && !top_next_user(t, "alice ", NULL));
	for (size_t i = 0; i < t->job_count; i++) {
		if (strcmp(t->jobs[i].now->job.id, "125") == 0)
			t->jobs[i].now->job.user[2] = '\0'; /* "bo" */
	}
	press(t, "ub");
	top_press(t, TOP_KEY_ENTER);
	ASSERT_STREQ(order_of(t), "");
	press(t, "uo"); /* behind what was typed before */
	top_press(t, TOP_KEY_ENTER);
	ASSERT_STREQ(order_of(t), "125");
}

TEST(digits_go_to_the_id_that_begins_with_them)
{
	static const struct row {
		const char *keys;
		size_t selected;
	} rows[] = { { "7", 2 },   { "1", 0 },	 { "10", 1 },  { "12", 0 },
		     { "124", 3 }, { "9F7", 2 }, { "1248", 3 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top *t = made_top(); /* 123 1000 77 124 125 99 */

		press(t, "");
		press(t, rows[i].keys);
		ASSERT_EQ((uint64_t)t->selected, (uint64_t)rows[i].selected);
		if (strlen(rows[i].keys) == 4)
			ASSERT_STREQ(t->message, "no id begins with 1248");
		top_free(t);
	}
}

/* "**`F3`**" in the page, "\fBF3\fR" in the manual. */
static void check_key(const char *page, const char *manual, const char *key)
{
	_cleanup_free_ char *shown = NULL, *printed = NULL;

	ASSERT(asprintf(&shown, "`%s`", key) > 0);
	if (strcmp(key, "\\") == 0)
		printed = strdup("\\fB\\e\\fR");
	else if (strcmp(key, "-") == 0)
		printed = strdup("\\fB\\-\\fR");
	else if (strcmp(key, "0-9") == 0)
		printed = strdup("\\fB0\\-9\\fR");
	else
		ASSERT(asprintf(&printed, "\\fB%s\\fR", key) > 0);
	ASSERT_CONTAINS(page, shown);
	ASSERT_CONTAINS(manual, printed);
}

TEST(the_help_the_page_and_the_manual_have_the_same_keys)
{
	_cleanup_free_ char *page = NULL, *manual = NULL;
	const char *keys, *help;
	size_t i;

	ASSERT_OK(file_read(AT_FDCWD, TEST_DATA "/../../docs/internals/top.md", 1 << 20, &page,
			    NULL));
	ASSERT_OK(file_read(AT_FDCWD, TEST_DATA "/../../share/man/jobmeter-top.1.in", 1 << 20,
			    &manual, NULL));
	for (i = 0; top_binding(i, &keys, &help); i++) {
		_cleanup_free_ char *copy = strdup(keys);

		for (char *rest = copy, *key; (key = strsep(&rest, " "));)
			check_key(page, manual, key);
	}
	ASSERT(i > 15);
	for (i = 0; i < column_count; i++) {
		if (top_columns[i].key)
			check_key(page, manual, (char[]){ top_columns[i].key, '\0' });
	}
}

TEST(targets_are_jobs_by_id_and_manager)
{
	_cleanup_top_ struct top *t = made_top();

	t->targets[0] = (struct top_target){ NULL, "124" };
	t->targets[1] = (struct top_target){ "run", "123" };
	t->target_count = 2;
	ASSERT_STREQ(order_of(t), "124");
	t->targets[1].manager = "slurm";
	ASSERT_STREQ(order_of(t), "123 124");
}

TEST(a_search_selects_and_goes_on)
{
	_cleanup_top_ struct top *t = made_top();

	press(t, "/bob");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "124");
	top_press(t, TOP_KEY_ENTER);
	press(t, "n");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "125");
	press(t, "n");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "124");
	press(t, "/nobody");
	ASSERT_CONTAINS(t->message, "nothing has 'nobody' in it");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "124");
}

TEST(tags_stay_with_their_jobs_and_can_be_all_that_is_shown)
{
	_cleanup_top_ struct top *t = made_top();
	struct tick tick;

	press(t, "  ");
	made_wire_snapshot(true, &tick);
	tick.boot_ns += 1000000000;
	ASSERT_OK(top_feed(t, &tick));
	press(t, "o");
	ASSERT_STREQ(order_of(t), "123 1000");
	press(t, "U");
	ASSERT(!t->is_tagged_only);
}

TEST(jobs_that_do_nothing_can_be_hidden_and_those_of_which_nobody_knows_are_not)
{
	_cleanup_top_ struct top *t = made_top();

	ASSERT_STREQ(order_of(t), "123 1000 77 124 125 99");
	top_press(t, 'i');
	ASSERT_STREQ(order_of(t), "123 1000 77 124 99");
	top_press(t, 'i');
	ASSERT_STREQ(order_of(t), "123 1000 77 124 125 99");
	top_select(t, 4);
	top_press(t, TOP_KEY_ENTER); /* whoever looks into one wants to see it */
	top_press(t, 'i');
	ASSERT_STREQ(order_of(t), "125");
}

TEST(the_selection_stays_where_it_is_or_follows_its_job)
{
	_cleanup_top_ struct top *t = made_top();

	top_select(t, 1);
	press(t, "M");
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)1);
	press(t, "F");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "125");
	press(t, "P");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "125");
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)4);
	press(t, "\\alice");
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)1); /* it is gone: the last one */
}

TEST(a_followed_job_that_ends_is_told_and_not_taken_for_another)
{
	_cleanup_top_ struct top *t = made_top();
	struct tick tick;

	press(t, "F");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "123");
	ASSERT_STREQ(t->message, "");
	made_wire_snapshot(true, &tick);
	tick.boot_ns++;
	for (size_t i = 0; i < tick.jobs.count; i++) {
		if (strcmp(tick.jobs.items[i]->job.id, "123") != 0)
			continue;
		record_free(tick.jobs.items[i]);
		tick.jobs.items[i] = tick.jobs.items[--tick.jobs.count];
	}
	ASSERT_OK(top_feed(t, &tick));
	ASSERT_STREQ(t->message, "slurm/123 has ended");
	ASSERT(strcmp(top_selected(t)->job->now->job.id, "123") != 0);
	top_press(t, TOP_KEY_DOWN);
	ASSERT_STREQ(t->message, "");
}

TEST(what_htop_does_to_processes_is_refused_in_a_line)
{
	static const int keys[] = { 2, 7, 8, 9 };
	_cleanup_top_ struct top *t = made_top();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		*t->message = '\0';
		top_press(t, TOP_KEY_F + (uint32_t)keys[i]);
		ASSERT_CONTAINS(t->message, "top only shows");
	}
}

TEST(a_unit_that_is_too_long_loses_its_kind_first)
{
	static const struct row {
		const char *id, *text;
	} rows[] = { { "a.service", "a.service" },
		     { "postgres.service", "postgres" },
		     { "session-1234.scope", "session-1234" },
		     { "a-very-long-one.service", "a-very…g-one" } };
	_cleanup_top_ struct top *t = made_top();
	struct record *r = (struct record *)top_selected(t)->job->now;
	char text[COLUMN_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		free(r->job.id);
		r->job.id = strdup(rows[i].id);
		ASSERT(column_format(t, 0, top_selected(t), 12, text, sizeof(text)));
		ASSERT_STREQ(text, rows[i].text);
	}
}

TEST(a_tree_has_steps_tasks_and_processes)
{
	_cleanup_top_ struct top *t = made_top();

	press(t, "t");
	ASSERT(top_wants_processes(t) && t->wants_reading);
	ASSERT_STREQ(order_of(t), "123 +stepbatch +step0 1000 77 124 125 99");
	made_processes(t);
	ASSERT_STREQ(
		order_of(t),
		"123 +stepbatch +4005 +step0 +task0 +4001 +task1 +4002 1000 77 124 +4100 125 99");
	for (size_t i = 0; i < t->row_count; i++) {
		const struct top_row *row = &t->rows[i];

		if (row->process && row->process->pid == 4002)
			ASSERT(fabs(row->numbers.cores - 2) < 1e-9);
		if (row->process && row->process->pid == 4100)
			ASSERT(fabs(row->numbers.read - 1.5 * 1048576) < 1e-3 &&
			       isnan(row->numbers.waiting));
		if (row->step && row->part == TOP_STEP && strcmp(row->step->id, "0") == 0)
			ASSERT(fabs(row->numbers.cores - 3.6) < 1e-9);
	}
}

TEST(a_job_that_is_folded_shows_no_parts_until_somebody_looks_into_it)
{
	_cleanup_top_ struct top *t = made_top();
	struct tick tick;

	made_processes(t);
	press(t, "t");
	top_select(t, 4); /* task0 */
	press(t, "-");
	ASSERT_STREQ(order_of(t), "123 1000 77 124 +4100 125 99");
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)0); /* the part's job */
	made_wire_snapshot(true, &tick);
	tick.boot_ns += 1000000000;
	ASSERT_OK(top_feed(t, &tick));
	ASSERT_CONTAINS(order_of(t), "123 124");
	top_press(t, TOP_KEY_ENTER);
	ASSERT_CONTAINS(order_of(t), "123 +stepbatch +4005");
	top_press(t, TOP_KEY_ESCAPE);
	ASSERT_CONTAINS(order_of(t), "123 124");
	press(t, "+");
	ASSERT_CONTAINS(order_of(t), "123 +stepbatch +4005");
	press(t, "t-t"); /* a list has nothing to be folded */
	ASSERT_CONTAINS(order_of(t), "123 +stepbatch +4005");
}

TEST(zoom_shows_one_job_and_back_leads_to_it_again)
{
	_cleanup_top_ struct top *t = made_top();

	made_processes(t);
	top_select(t, 3);
	top_press(t, TOP_KEY_ENTER);
	ASSERT_STREQ(order_of(t), "124 +4100");
	ASSERT(top_wants_processes(t) && t->has_detail);
	ASSERT_STREQ(top_wants_detail(t)->now->job.id, "124");
	top_press(t, TOP_KEY_DOWN);
	top_press(t, TOP_KEY_ESCAPE);
	ASSERT_STREQ(order_of(t), "123 1000 77 124 125 99");
	ASSERT_STREQ(top_selected(t)->job->now->job.id, "124");
	ASSERT(!top_wants_detail(t));
}

TEST(the_same_reading_twice_changes_nothing)
{
	_cleanup_top_ struct top *t = made_top();
	double cores = t->rows[0].numbers.cores;
	struct tick tick;

	made_wire_snapshot(true, &tick);
	ASSERT_OK(top_feed(t, &tick));
	ASSERT(fabs(t->rows[0].numbers.cores - cores) < 1e-9);
}

TEST(a_first_wire_snapshot_has_gauges_and_no_rates_and_no_ended_jobs)
{
	_cleanup_top_ struct top *t = top_new(NULL);
	struct tick tick;

	made_wire_snapshot(true, &tick);
	ASSERT_OK(top_feed(t, &tick));
	ASSERT_EQ((uint64_t)t->job_count, (uint64_t)5);
	for (size_t i = 0; i < t->row_count; i++)
		ASSERT(isnan(t->rows[i].numbers.cores));
}

TEST(a_job_that_is_seen_late_has_no_rates_yet)
{
	_cleanup_top_ struct top *t = top_new(NULL);
	struct tick tick;

	made_wire_snapshot(false, &tick);
	record_free(tick.jobs.items[2]); /* slurm/123 was not ours to see */
	memmove(&tick.jobs.items[2], &tick.jobs.items[3],
		(tick.jobs.count - 3) * sizeof(*tick.jobs.items));
	tick.jobs.count--;
	ASSERT_OK(top_feed(t, &tick));
	made_wire_snapshot(true, &tick);
	ASSERT_OK(top_feed(t, &tick));
	for (size_t i = 0; i < t->job_count; i++)
		ASSERT(isnan(t->jobs[i].numbers.cores) ==
		       (strcmp(t->jobs[i].now->job.id, "123") == 0 ||
			strcmp(t->jobs[i].now->job.id, "99") == 0));
}

TEST(another_job_with_the_same_number_is_not_compared)
{
	_cleanup_top_ struct top *t = top_new(NULL);
	struct tick tick;

	made_wire_snapshot(false, &tick);
	ASSERT_OK(top_feed(t, &tick));
	made_wire_snapshot(true, &tick);
	tick.jobs.items[2]->time.start_ns += 7;
	ASSERT_OK(top_feed(t, &tick));
	for (size_t i = 0; i < t->job_count; i++) {
		if (strcmp(t->jobs[i].now->job.id, "123") == 0)
			ASSERT(!t->jobs[i].before && isnan(t->jobs[i].numbers.cores));
	}
}

TEST(help_knows_every_key_and_q_leaves_it_and_not_top)
{
	_cleanup_top_ struct top *t = made_top();
	const char *keys, *help;
	size_t count = 0;

	while (top_binding(count, &keys, &help))
		count++;
	ASSERT(count > 15);
	press(t, "?");
	ASSERT_EQ(t->mode, TOP_HELP);
	top_press(t, TOP_KEY_DOWN);
	ASSERT_EQ(t->mode, TOP_HELP);
	press(t, "q");
	ASSERT_EQ(t->mode, TOP_LIST);
	ASSERT(!t->is_over);
	press(t, "q");
	ASSERT(t->is_over);
}

TEST(a_click_on_a_head_sorts_and_once_more_turns_it_around)
{
	_cleanup_top_ struct top *t = made_top();

	top_click_column(t, column_find('M'));
	ASSERT_STREQ(order_of(t), "123 125 124 77 99 1000");
	top_click_column(t, column_find('M'));
	ASSERT(t->is_inverted);
	top_click_row(t, 2);
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)2);
	top_click_row(t, 200);
	ASSERT_EQ((uint64_t)t->selected, (uint64_t)2);
}

/* Whatever is pressed, the model holds together. */
TEST(no_row_of_keys_breaks_it)
{
	_cleanup_top_ struct top *t = made_top();
	uint32_t random = 1009;

	made_processes(t);
	for (int i = 0; i < 20000; i++) {
		_cleanup_free_ char *text = NULL;
		struct tick tick;

		random = random * 1103515245 + 12345;
		top_press(t, random >> 16 & 1 ? random >> 20 & 0x7f
					      : TOP_KEY_UP + (random >> 20) % 22);
		ASSERT_OK(top_arrange(t));
		ASSERT(t->row_count == 0 || t->selected < t->row_count);
		if (i % 64)
			continue;
		text = made_screen(t, 20 + (random >> 8) % 180, 4 + (random >> 4) % 60, i % 128);
		ASSERT(*text);
		made_wire_snapshot(i % 128, &tick);
		tick.boot_ns += (uint64_t)i * 1000000000;
		ASSERT_OK(top_feed(t, &tick));
	}
}
