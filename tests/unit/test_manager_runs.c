/* SPDX-License-Identifier: MIT */
/*
 * What PBS, LSF and Flux say becomes runs.
 *
 * documented/: layouts as documented (PBS Professional's accounting log and Torque's, bjobs -o,
 * flux-jobs(1)), with jobs that are made up.  Nothing of it comes from such a manager: none runs
 * here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "place.h"
#include "server/store/pg.h"
#include "server/sync/manager.h"
#include "test.h"

#define NS UINT64_C(1000000000)

static void open_answer(const struct manager *manager, const char *text, size_t length,
			struct store_run *next, struct manager_answer *ret)
{
	struct error err = {};

	*ret = (struct manager_answer){
		.text = strndup(text, length), .length = length, .cluster = "made", .next = next
	};
	if (manager->open(ret, &err) < 0)
		printf("  %s\n", err.text);
}

static void close_answer(struct manager_answer *a)
{
	free(a->text);
	free(a->lines);
	json_decref(a->root);
}

/* Moments and durations in seconds, the former behind 2026-11-28 00:00. */
static void print_field(const struct store_run *run, const struct run_field *field, FILE *out)
{
	const void *at = (const char *)run + field->offset;
	const struct value *value = at;
	uint64_t number;

	if (field->kind == RUN_TEXT) {
		if (*(const char *const *)at)
			fprintf(out, " %s=%s", field->key, *(const char *const *)at);
		return;
	}
	if (!value->is_known)
		return;
	number = field->kind == RUN_MOMENT    ? value->number / NS - 1795824000
		 : field->kind == RUN_SECONDS ? value->number / NS
					      : value->number;
	fprintf(out, " %s=%" PRIu64, field->key, number);
}

static char *list(const struct manager *manager, const char *path)
{
	_cleanup_free_ char *text = test_data(path);
	struct store_run run, next = {};
	struct manager_answer a;
	struct error err = {};
	char *lines = NULL;
	size_t size;
	FILE *out = open_memstream(&lines, &size);
	int r;

	open_answer(manager, text, strlen(text), &next, &a);
	while ((r = manager->next(&a, &run, &err)) != 0) {
		fprintf(out, "%s %s:", r > 0 ? run.id : "refused", r > 0 ? run.manager : err.text);
		for (size_t i = 0; r > 0 && i < run_field_count; i++)
			print_field(&run, &run_fields[i], out);
		fputc('\n', out);
	}
	fclose(out);
	close_answer(&a);
	return lines;
}

static const struct {
	const struct manager *manager;
	const char *answer, *runs;
} documented[] = {
	{ &manager_pbs, "documented/pbs-accounting.txt", "documented/pbs-accounting.runs" },
	{ &manager_lsf, "documented/lsf-bjobs.txt", "documented/lsf-bjobs.runs" },
	{ &manager_flux, "documented/flux-jobs.json", "documented/flux-jobs.runs" },
};

TEST(each_answer_becomes_runs)
{
	setenv("TZ", "UTC0", 1); /* D and A of PBS have a moment of the local clock alone */
	for (size_t i = 0; i < ARRAY_SIZE(documented); i++) {
		_cleanup_free_ char *runs = list(documented[i].manager, documented[i].answer);

		ASSERT_GOLDEN(runs, documented[i].runs);
	}
}

/* How many said something new. */
static int put(struct store *s, const struct manager *manager, const char *text, size_t length)
{
	struct store_run run, next = {};
	struct manager_answer a;
	struct error err = {};
	int news = 0, r;

	open_answer(manager, text, length, &next, &a);
	ASSERT_OK(store_begin(s, &err));
	while ((r = manager->next(&a, &run, &err)) != 0) {
		bool is_news = false;

		if (r > 0)
			ASSERT_OK(store_put_run(s, &run, &is_news, &err));
		news += is_news;
	}
	ASSERT_OK(store_commit(s, &err));
	close_answer(&a);
	return news;
}

TEST(the_same_answer_again_says_nothing_new)
{
	static const int news[] = { 8, 8, 6 };
	struct store *s = NULL;
	struct error err = {};

	ASSERT_OK(store_open_any(place_of("documented"), STORE_WRITE, &s, &err));
	for (size_t i = 0; i < ARRAY_SIZE(documented); i++) {
		_cleanup_free_ char *text = test_data(documented[i].answer);

		ASSERT_EQ(put(s, documented[i].manager, text, strlen(text)), news[i]);
		ASSERT_EQ(put(s, documented[i].manager, text, strlen(text)), 0);
	}
	store_close(s);
}

/* The record of a deletion has the id alone, and comes in another answer than that of the job. */
TEST(what_ends_later_is_known_by_its_id)
{
	static const char *const lines[] = {
		"11/28/2026 10:00:20;Q;7.pbs1;user=bob queue=batch ctime=1795860020\n",
		"11/28/2026 10:00:30;D;8.pbs1;requestor=bob@login1\n",
		"11/28/2026 10:00:30;D;7.pbs1;requestor=bob@login1\n",
		("11/28/2026 10:00:31;E;7.pbs1;user=bob queue=batch ctime=1795860020 end=1795860031 "
		 "start=1795860025 Exit_status=0\n"),
		"11/28/2026 10:00:30;D;7.pbs1;requestor=bob@login1\n",
	};
	static const char *const states[] = { "PENDING", "PENDING", "CANCELLED", "COMPLETED",
					      "COMPLETED" };
	static const bool is_news[] = { true, false, true, true, false };
	struct store *s = NULL;
	struct error err = {};

	ASSERT_OK(store_open_any(place_of("late"), STORE_WRITE, &s, &err));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_free_ char *state = NULL;

		ASSERT_EQ(put(s, &manager_pbs, lines[i], strlen(lines[i])), (int)is_news[i]);
		state = place_ask("late", "SELECT state FROM jobs");
		ASSERT_CONTAINS(state, states[i]);
	}
	store_close(s);
}

TEST(an_end_that_comes_first_is_added_to_as_any_other)
{
	static const char *const answers[] = {
		/* the deletion, then the end with all the rest */
		("11/28/2026 10:00:30;D;7.pbs1;requestor=bob@login1\n"
		 "11/28/2026 10:00:31;E;7.pbs1;user=bob queue=batch ctime=1795860020 end=1795860031 "
		 "start=1795860025 Exit_status=271\n"),
		/* Torque's Q has no time of submission: it takes no end away */
		("11/28/2026 10:00:30;D;8.torque1;requestor=bob@login1\n"
		 "11/28/2026 10:00:30;Q;8.torque1;queue=batch\n"),
		/* two ends alone */
		("11/28/2026 10:00:30;D;9.pbs1;requestor=bob@login1\n"
		 "11/28/2026 10:00:32;A;9.pbs1;\n"),
	};
	static const uint64_t ends[] = { 1795860031, 1795860030, 1795860032 };

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct store_run run, next = {};
		struct manager_answer a;
		struct error err = {};

		open_answer(&manager_pbs, answers[i], strlen(answers[i]), &next, &a);
		ASSERT_EQ(manager_pbs.next(&a, &run, &err), 1);
		ASSERT_STREQ(run.state, "CANCELLED");
		ASSERT_EQ(run.end.number / NS, ends[i]);
		ASSERT_EQ(run.submit.is_known, i == 0);
		ASSERT_EQ(manager_pbs.next(&a, &run, &err), 0);
		close_answer(&a);
	}
}

/* The first line shows the log's time zone: it is that of the server, in both hours of a night when
 * the clock goes back. */
TEST(a_log_of_another_time_zone_is_refused)
{
	static const struct {
		const char *zone, *stamp, *end;
		const char *told; /* NULL: nothing */
	} logs[] = {
		{ "UTC0", "11/28/2026 10:00:31", "1795860031", NULL },
		{ "UTC0", "11/28/2026 18:00:31", "1795860031", "+8 hours" },
		{ "UTC0", "11/28/2026 06:30:31", "1795860031", "-3.5 hours" },
		{ "EST5", "11/28/2026 05:00:31", "1795860031", NULL },
		{ "EST5", "11/28/2026 10:00:31", "1795860031", "+5 hours" },
		{ "UTC0", "11/28/2026 10:07:12", "1795860031", NULL }, /* logged late */
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "10/25/2026 02:30:00", "1792888200", NULL },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "10/25/2026 02:30:00", "1792891800", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		_cleanup_free_ char *text = NULL;
		struct manager_answer a = { .cluster = "made" };
		struct error err = {};
		int r;

		setenv("TZ", logs[i].zone, 1);
		tzset();
		ASSERT(asprintf(&text, "zone %s;E;7.pbs1;user=bob ctime=1 end=%s Exit_status=0\n",
				logs[i].stamp, logs[i].end) > 0);
		a.text = strdup(text);
		a.length = strlen(text);
		r = manager_pbs.open(&a, &err);
		ASSERT_EQ(r, logs[i].told ? -EBADMSG : 0);
		ASSERT_EQ(a.line_count, 0); /* it is no line of a job */
		if (logs[i].told)
			ASSERT_CONTAINS(err.text, logs[i].told);
		close_answer(&a);
	}
	setenv("TZ", "UTC0", 1);
	tzset();
}

/* Lines of the hours asked for outweigh the first one, and one that agrees all others. */
TEST(an_end_that_is_logged_a_quarter_of_an_hour_late_is_not_of_another_time_zone)
{
#define END_AT(stamp) stamp ";E;7.pbs1;user=bob ctime=1 end=1795860031 Exit_status=0\n"
	static const struct {
		const char *text, *told; /* told: NULL: nothing */
	} logs[] = {
		{ "zone " END_AT("11/28/2026 10:15:31") END_AT("11/28/2026 10:00:31"), NULL },
		{ END_AT("11/28/2026 10:15:31") END_AT("11/28/2026 10:00:32"), NULL },
		{ END_AT("11/28/2026 10:00:30") END_AT("11/28/2026 11:00:31"), NULL },
		{ "zone " END_AT("11/28/2026 10:00:31") END_AT("11/28/2026 18:00:32"), "+8 hours" },
		{ END_AT("11/28/2026 06:30:30") END_AT("11/28/2026 06:37:12"), "-3.5 hours" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		struct manager_answer a = { .cluster = "made",
					    .text = strdup(logs[i].text),
					    .length = strlen(logs[i].text) };
		struct error err = {};

		ASSERT_EQ(manager_pbs.open(&a, &err), logs[i].told ? -EBADMSG : 0);
		if (logs[i].told)
			ASSERT_CONTAINS(err.text, logs[i].told);
		close_answer(&a);
	}
#undef END_AT
}

TEST(an_answer_that_breaks_off_is_none)
{
	for (size_t i = 0; i < ARRAY_SIZE(documented); i++) {
		_cleanup_free_ char *text = test_data(documented[i].answer);

		for (size_t length = 1; length < strlen(text) - 1; length += 37) {
			_cleanup_free_ char *part = strndup(text, length);
			struct manager_answer a = { .text = part, .length = length };
			struct error err = {};

			if (part[length - 1] != '\n' || part[0] == '{')
				ASSERT(documented[i].manager->open(&a, &err) == -EBADMSG &&
				       *err.text);
		}
	}
}
