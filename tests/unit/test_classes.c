/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "analysis/classes.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

/* 100 s on 4 cores with that CPU time; nothing was waited for. */
static struct record *made(uint64_t cpu_seconds)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 100 * SECOND;
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 4000);
	reading_set(&r->reading, METRIC_CPU_USER, cpu_seconds * SECOND);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 0);
	reading_set(&r->reading, METRIC_CPU_EMPTY_POLLS, 0);
	reading_set(&r->reading, METRIC_CPU_YIELDS, 0);
	reading_set(&r->reading, METRIC_CPU_POLLING, 0);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
	r->reading.has_mounts = true;
	return r;
}

static struct rules *built_in(void)
{
	struct rules *rules = NULL;
	struct error err = {};

	if (rules_load_built_in(&rules, &err) < 0)
		abort();
	return rules;
}

static const struct class *find(const struct classes *classes, const char *id)
{
	for (size_t i = 0; i < classes->count; i++) {
		if (strcmp(classes->items[i].rule->id, id) == 0)
			return &classes->items[i];
	}
	return NULL;
}

TEST(each_class_holds_from_its_threshold_on)
{
	static const struct {
		const char *id;
		uint64_t cpu;
		enum metric_id waited;
		uint64_t over, below;
	} cases[] = {
		{ "io-bound", 200, METRIC_BLOCKED_FILE_WRITE, 81, 79 },
		{ "metadata-bound", 200, METRIC_BLOCKED_FILE_META, 41, 39 },
		{ "lock-bound", 200, METRIC_BLOCKED_LOCK, 81, 79 },
		{ "network-bound", 200, METRIC_BLOCKED_NETWORK, 161, 159 },
		{ "cpu-contended", 200, METRIC_CPU_RUN_QUEUE, 23, 22 },
		{ "spin-wait", 200, METRIC_CPU_POLLING, 81, 79 },
		{ "memory-pressured", 200, METRIC_BLOCKED_PAGE_FAULT, 21, 19 },
	};
	_cleanup_(rules_freep) struct rules *rules = built_in();

	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		_cleanup_(record_freep) struct record *r = made(cases[i / 2].cpu);
		_cleanup_(classes_clear) struct classes classes = {};

		reading_set(&r->reading, cases[i / 2].waited,
			    (i % 2 ? cases[i / 2].over : cases[i / 2].below) * SECOND);
		ASSERT_OK(classes_find(rules, r, NULL, &classes));
		test_true(!find(&classes, cases[i / 2].id) == !(i % 2), cases[i / 2].id, __FILE__,
			  __LINE__);
	}
}

TEST(a_busy_job_is_bound_by_cores_and_an_idle_one_is_idle)
{
	_cleanup_(rules_freep) struct rules *rules = built_in();
	_cleanup_(record_freep) struct record *busy = made(280), *less = made(279),
					      *idle = made(39), *more = made(40);
	_cleanup_(classes_clear) struct classes of_busy = {}, of_less = {}, of_idle = {},
						of_more = {};

	ASSERT_OK(classes_find(rules, busy, NULL, &of_busy));
	ASSERT_OK(classes_find(rules, less, NULL, &of_less));
	ASSERT_OK(classes_find(rules, idle, NULL, &of_idle));
	ASSERT_OK(classes_find(rules, more, NULL, &of_more));
	ASSERT(find(&of_busy, "cpu-bound") && !find(&of_less, "cpu-bound"));
	ASSERT(find(&of_idle, "idle-heavy") && !find(&of_more, "idle-heavy"));
	ASSERT_STREQ(find(&of_busy, "cpu-bound")->text, "2.8 of 4 cores were busy.");
}

TEST(who_waits_for_cores_is_not_idle)
{
	_cleanup_(rules_freep) struct rules *rules = built_in();
	_cleanup_(record_freep) struct record *r = made(39);
	_cleanup_(classes_clear) struct classes starved = {}, unknown = {};

	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 200 * SECOND);
	ASSERT_OK(classes_find(rules, r, NULL, &starved));
	ASSERT(!find(&starved, "idle-heavy"));
	r->reading.values[METRIC_CPU_RUN_QUEUE].is_known = false;
	ASSERT_OK(classes_find(rules, r, NULL, &unknown));
	ASSERT(!find(&unknown, "idle-heavy"));
}

TEST(what_was_spun_away_is_no_work)
{
	_cleanup_(rules_freep) struct rules *rules = built_in();
	_cleanup_(record_freep) struct record *r = made(400);
	_cleanup_(classes_clear) struct classes before = {}, after = {};

	reading_set(&r->reading, METRIC_CPU_POLLING, 119 * SECOND);
	reading_set(&r->reading, METRIC_CPU_EMPTY_POLLS, 12345);
	ASSERT_OK(classes_find(rules, r, NULL, &before));
	ASSERT(fabs(find(&before, "cpu-bound")->share.number - 281.0 / 400) < 1e-9);
	ASSERT_CONTAINS(find(&before, "spin-wait")->text, "Threads spun for 1 m 59 s");
	ASSERT_CONTAINS(find(&before, "spin-wait")->text,
			"polled without a pause (12,345 polls that found nothing).");
	reading_set(&r->reading, METRIC_CPU_POLLING, 121 * SECOND);
	ASSERT_OK(classes_find(rules, r, NULL, &after));
	ASSERT(!find(&after, "cpu-bound"));
}

TEST(mixed_is_two_things_of_which_none_is_nearly_all)
{
	static const struct {
		uint64_t cpu, files, locks, polling;
		bool is_mixed;
		double share;
	} cases[] = {
		{ 279, 81, 0, 0, true, 360.0 / 400 },
		{ 279, 79, 0, 0, false, 0 }, /* the second is small */
		{ 281, 100, 0, 0, false, 0 }, /* the first is nearly all */
		{ 281, 0, 81, 0, false, 0 },
		{ 281, 0, 81, 2, true, 360.0 / 400 },
		{ 200, 60, 60, 0, false, 0 },
		{ 300, 0, 0, 100, true, 300.0 / 400 }, /* spun away, it is no work */
	};
	_cleanup_(rules_freep) struct rules *rules = built_in();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(record_freep) struct record *r = made(cases[i].cpu);
		_cleanup_(classes_clear) struct classes classes = {};
		const struct class *mixed;

		reading_set(&r->reading, METRIC_BLOCKED_FILE_READ, cases[i].files * SECOND / 2);
		reading_set(&r->reading, METRIC_BLOCKED_SYNC, cases[i].files * SECOND / 2);
		reading_set(&r->reading, METRIC_BLOCKED_LOCK, cases[i].locks * SECOND);
		reading_set(&r->reading, METRIC_CPU_POLLING, cases[i].polling * SECOND);
		ASSERT_OK(classes_find(rules, r, NULL, &classes));
		mixed = find(&classes, "mixed");
		ASSERT_EQ(mixed != NULL, cases[i].is_mixed);
		ASSERT(!mixed || fabs(mixed->share.number - cases[i].share) < 0.006);
	}
}

TEST(balanced_is_even_work_that_nothing_holds_up)
{
	static const struct {
		uint64_t cpu, cores, balance;
		enum metric_id waited;
		uint64_t seconds;
		bool is_balanced;
	} cases[] = {
		{ 300, 4, 8000, METRIC_BLOCKED_LOCK, 39, true },
		{ 300, 4, 7999, METRIC_BLOCKED_LOCK, 39, false },
		{ 300, 3, 9999, METRIC_BLOCKED_LOCK, 39, false }, /* a core was left out */
		{ 199, 4, 9999, METRIC_BLOCKED_LOCK, 0, false },
		{ 300, 4, 8000, METRIC_BLOCKED_LOCK, 41, false },
		{ 300, 4, 8000, METRIC_BLOCKED_SYNC, 41, false },
		{ 300, 4, 8000, METRIC_BLOCKED_NETWORK, 41, false },
		{ 300, 4, 8000, METRIC_BLOCKED_PAGE_FAULT, 41, false },
		{ 300, 4, 8000, METRIC_CPU_RUN_QUEUE, 41, false },
		{ 300, 4, 8000, METRIC_CPU_POLLING, 41, false },
	};
	_cleanup_(rules_freep) struct rules *rules = built_in();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(record_freep) struct record *r = made(cases[i].cpu);
		_cleanup_(classes_clear) struct classes classes = {};
		const struct class *balanced;

		r->cores.count = (struct value){ cases[i].cores, true };
		r->cores.balance = (struct value){ cases[i].balance, true };
		reading_set(&r->reading, cases[i].waited, cases[i].seconds * SECOND);
		ASSERT_OK(classes_find(rules, r, NULL, &classes));
		balanced = find(&classes, "balanced");
		test_true((balanced != NULL) == cases[i].is_balanced,
			  metric_get(cases[i].waited)->key, __FILE__, __LINE__);
		ASSERT(!balanced || fabs(balanced->share.number - 0.75 * 0.8) < 1e-9);
	}
}

TEST(a_site_changes_what_is_mixed)
{
	static const char text[] =
		"classes: [{id: mixed, thresholds: {most: 70 %, least: 10 %}, source: ours, "
		"when: greatest_part_share < most and second_part_share >= least, "
		"share: second_part_share, text: '{second_part_share}'}]";
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(record_freep) struct record *r = made(200);
	_cleanup_(classes_clear) struct classes classes = {};
	struct error err = {};

	ASSERT_OK(rules_parse(text, strlen(text), "site.yaml", &rules, &err));
	reading_set(&r->reading, METRIC_BLOCKED_NETWORK, 50 * SECOND);
	ASSERT_OK(classes_find(rules, r, NULL, &classes));
	ASSERT_EQ((uint64_t)classes.count, (uint64_t)1);
	ASSERT_CONTAINS(classes.items[0].text, "12 %");
}

TEST(a_job_is_of_several_classes_the_greatest_first)
{
	_cleanup_(rules_freep) struct rules *rules = built_in();
	_cleanup_(record_freep) struct record *r = made(100);
	_cleanup_(classes_clear) struct classes classes = {};

	reading_set(&r->reading, METRIC_BLOCKED_FILE_READ, 100 * SECOND);
	reading_set(&r->reading, METRIC_BLOCKED_LOCK, 200 * SECOND);
	ASSERT_OK(classes_find(rules, r, NULL, &classes));
	ASSERT_EQ((uint64_t)classes.count, (uint64_t)3);
	ASSERT_STREQ(classes.items[0].rule->id, "mixed");
	ASSERT(fabs(classes.items[0].share.number - 0.75) < 1e-9);
	ASSERT_STREQ(classes.items[1].rule->id, "lock-bound");
	ASSERT(fabs(classes.items[1].share.number - 0.5) < 1e-9);
	ASSERT_STREQ(classes.items[2].rule->id, "io-bound");
	ASSERT(fabs(classes.items[2].share.number - 0.25) < 1e-9);
}

TEST(without_causes_their_classes_are_unknown)
{
	_cleanup_(rules_freep) struct rules *rules = built_in();
	_cleanup_(record_freep) struct record *r = made(300);
	_cleanup_(classes_clear) struct classes classes = {};
	struct made_text t = {};

	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	ASSERT_OK(classes_find(rules, r, NULL, &classes));
	ASSERT_EQ((uint64_t)classes.count, (uint64_t)1);
	classes_format(&classes, made_text_document(&t, DOCUMENT_ONE_LINE));
	ASSERT_TOLD(
		made_text_end(&t), "\"primary\":\"cpu-bound\"", "\"share\":0.75",
		"\"unknown\":[\"io-bound\",\"metadata-bound\",\"lock-bound\","
		"\"network-bound\",\"memory-pressured\",\"memory-stalled\",\"mixed\",\"balanced\"]");
}

TEST(a_class_of_a_site_may_need_more_of_files_than_sums)
{
	static const struct {
		const char *when;
		bool needs_rows;
	} cases[] = {
		{ "read_bytes > 1G and meta_calls > 3", false },
		{ "cpu_efficiency < 10 %", false },
		{ "read_calls > 3", true },
		{ "open_calls > 3", true },
		{ "io_uring_read_bytes > 1G", true },
		{ "bytes_per_open < 1M", true },
		{ "own > 3", true },
	};
	_cleanup_(rules_freep) struct rules *built_in_ones = built_in();

	ASSERT(!classes_need_rows(built_in_ones));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(rules_freep) struct rules *rules = NULL;
		_cleanup_free_ char *text = NULL;
		struct error err = {};

		ASSERT(asprintf(
			       &text,
			       "variables:\n  own: write_calls / elapsed_seconds\n"
			       "classes:\n  - id: mine\n    source: a test\n"
			       "    when: %s\n    share: cpu_efficiency\n    text: \"{cpu_efficiency}\"\n",
			       cases[i].when) > 0);
		if (rules_parse(text, strlen(text), "mine", &rules, &err) < 0)
			ASSERT_STREQ(err.text, "");
		ASSERT_EQ(classes_need_rows(rules), cases[i].needs_rows);
	}
}
