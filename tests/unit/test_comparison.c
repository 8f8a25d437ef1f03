/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "basic/cleanup.h"
#include "analysis/comparison.h"
#include "model/document.h"
#include "made.h"
#include "test.h"

struct pair {
	struct variables *variables;
	struct record *before, *after;
	struct comparison comparison;
};

static struct pair made_pair(void)
{
	return (struct pair){ variables_new(), made_record(0), made_record(0), {} };
}

static void pair_clear(struct pair *p)
{
	comparison_clear(&p->comparison);
	variables_free(p->variables);
	record_free(p->before);
	record_free(p->after);
}

static const struct change *find(const struct pair *p, const char *name, const char *mount)
{
	for (size_t i = 0; i < p->comparison.count; i++) {
		const struct change *c = &p->comparison.items[i];

		if (strcmp(c->variable->name, name) == 0 && !c->mount == !mount &&
		    (!mount || strcmp(c->mount, mount) == 0))
			return c;
	}
	return NULL;
}

TEST(of_equal_records_nothing_is_large)
{
	_cleanup_(pair_clear) struct pair p = made_pair();

	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	ASSERT(p.comparison.count > 20);
	ASSERT(!p.comparison.items[0].is_large);
	ASSERT(find(&p, "elapsed_seconds", NULL));
	ASSERT(!find(&p, "rename_calls", NULL)); /* 0 in both */
}

TEST(the_greatest_change_stands_behind_what_everybody_asks)
{
	_cleanup_(pair_clear) struct pair p = made_pair();
	const struct change *first;

	p.after->time.elapsed_ns = p.before->time.elapsed_ns * 12 / 10;
	p.after->reading.values[METRIC_MEMORY_PEAK].number *= 3;
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	for (size_t i = 0; i < 4; i++)
		ASSERT_STREQ(p.comparison.items[i].variable->name, first_numbers[i].variable);
	ASSERT(fabs(change_ratio(&p.comparison.items[3]).number - 3) < 1e-9); /* memory */
	first = p.comparison.items;
	while (first->place)
		first++;
	/* it rises from nothing: 2 cores were busy all the time before */
	ASSERT_STREQ(first->variable->name, "unused_core_seconds");
	ASSERT(!change_ratio(first).is_known);
	ASSERT(fabs(change_difference(find(&p, "elapsed_seconds", NULL)).number - 26.8) < 1e-6);
	ASSERT(find(&p, "elapsed_seconds", NULL)->is_large);
}

TEST(noise_is_not_large)
{
	_cleanup_(pair_clear) struct pair p = made_pair();

	p.after->time.elapsed_ns += p.after->time.elapsed_ns / 25;
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	ASSERT(!find(&p, "elapsed_seconds", NULL)->is_large);
}

TEST(what_one_does_not_know_is_not_compared)
{
	_cleanup_(pair_clear) struct pair p = made_pair();

	p.before->reading.values[METRIC_MEMORY_PEAK].is_known = false;
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	ASSERT(!find(&p, "memory_peak_bytes", NULL));
	ASSERT(!find(&p, "memory_usage", NULL));
}

TEST(mounts_are_compared_by_name_and_one_that_is_new_was_not_touched_before)
{
	_cleanup_(pair_clear) struct pair p = made_pair();
	struct mount_row *row = reading_get_mount(&p.after->reading, ROW_MOUNT, "/new", "ext4");

	row->ops[OP_WRITE] = (struct op_counts){ .calls = 1009, .bytes = 64 << 20 };
	reading_find_mount(&p.after->reading, ROW_MOUNT, "/scratch", "lustre")->ops[OP_READ].bytes *=
		2;
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	ASSERT(find(&p, "mount_write_bytes", "/new")->before.number == 0);
	ASSERT(find(&p, "mount_write_bytes", "/new")->is_large);
	ASSERT(fabs(change_ratio(find(&p, "mount_read_bytes", "/scratch")).number - 2) < 1e-9);
	ASSERT(!find(&p, "mount_read_bytes", "(pipe)"));
	p.after->reading.has_mounts = false;
	comparison_clear(&p.comparison);
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	ASSERT(!find(&p, "mount_read_bytes", "/scratch"));
}

TEST(a_document_tells_what_fell)
{
	_cleanup_(pair_clear) struct pair p = made_pair();
	struct made_text t = {};

	p.after->time.elapsed_ns = p.before->time.elapsed_ns = 100000000000;
	p.after->time.elapsed_ns -= 50500000000;
	ASSERT_OK(comparison_make(p.variables, p.before, p.after, &p.comparison));
	comparison_format(&p.comparison, made_text_document(&t, DOCUMENT_INDENTED));
	ASSERT_TOLD(made_text_end(&t),
		    "{\"name\": \"elapsed_seconds\", \"before\": 100, \"after\": 49.5, "
		    "\"difference\": -50.5, "
		    "\"ratio\": 0.495, \"is_large\": true}");
}
