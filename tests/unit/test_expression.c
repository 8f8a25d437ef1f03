/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/expression.h"
#include "made.h"
#include "test.h"
#include "analysis/variables.h"

/* What all of it is asked of: 4 of 16 GiB used; no read is known. */
static struct record *made(void)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 100 * UINT64_C(1000000000);
	reading_set(&r->reading, METRIC_MEMORY_PEAK, UINT64_C(4) << 30);
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, UINT64_C(16) << 30);
	reading_set(&r->reading, METRIC_CPU_USER, 80 * UINT64_C(1000000000));
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 2000);
	return r;
}

struct frame {
	struct variables *variables;
	struct constant constants[1];
	struct names names;
	struct record *record;
	struct error err;
};

static void frame_init(struct frame *f)
{
	*f = (struct frame){ .variables = variables_new(), .record = made() };
	f->constants[0] = (struct constant){ .name = (char *)(uintptr_t) "limit",
					     .amount = amount_of(30),
					     .is_bare = true };
	f->names = (struct names){ .variables = f->variables,
				   .constants = f->constants,
				   .constant_count = 1 };
}

static void frame_clear(struct frame *f)
{
	variables_free(f->variables);
	record_free(f->record);
}

static const char *refuse(const char *text, enum expression_kind kind)
{
	_cleanup_(frame_clear) struct frame f;
	_cleanup_(expression_freep) struct expression *e = NULL;
	static struct error err;

	frame_init(&f);
	err.text[0] = '\0';
	test_int(expression_parse(text, kind, &f.names, &e, &err), -EINVAL, text, "-EINVAL",
		 __FILE__, __LINE__);
	return err.text;
}

static struct amount number(const char *text)
{
	_cleanup_(frame_clear) struct frame f;
	_cleanup_(expression_freep) struct expression *e = NULL;
	int r;

	frame_init(&f);
	r = expression_parse(text, EXPRESSION_NUMBER, &f.names, &e, &f.err);
	test_string(r < 0 ? f.err.text : "", "", text, __FILE__, __LINE__);
	return expression_number(e, &(struct subject){ .record = f.record });
}

static enum truth truth(const char *text)
{
	_cleanup_(frame_clear) struct frame f;
	_cleanup_(expression_freep) struct expression *e = NULL;
	int r;

	frame_init(&f);
	r = expression_parse(text, EXPRESSION_CONDITION, &f.names, &e, &f.err);
	test_string(r < 0 ? f.err.text : "", "", text, __FILE__, __LINE__);
	return expression_truth(e, &(struct subject){ .record = f.record });
}

#define ASSERT_NUMBER(text, wanted)                                                          \
	test_true(number(text).is_known &&fabs(number(text).number - (wanted)) < 1e-9, text, \
		  __FILE__, __LINE__)
#define ASSERT_TRUTH(text, wanted) \
	test_int(truth(text), (wanted), text, #wanted, __FILE__, __LINE__)
#define ASSERT_REFUSED(text, words) ASSERT_CONTAINS(refuse(text, EXPRESSION_CONDITION), words)

TEST(products_bind_closer_than_sums)
{
	ASSERT_NUMBER("2 + 3 * 4", 14);
	ASSERT_NUMBER("(2 + 3) * 4", 20);
	ASSERT_NUMBER("2 - 3 - 4", -5);
	ASSERT_NUMBER("24 / 4 / 2", 3);
	ASSERT_NUMBER("-2 * -3", 6);
	ASSERT_NUMBER("min(3, 2) + max(3, 2)", 5);
	ASSERT_NUMBER("limit / 3", 10);
}

TEST(units_are_part_of_the_number)
{
	ASSERT_NUMBER("4G", 4.0 * (1 << 30));
	ASSERT_NUMBER("1.5 KiB", 1536);
	ASSERT_NUMBER("30s + 2 min", 150);
	ASSERT_NUMBER("10 %", 0.1);
	ASSERT_NUMBER("25 % * memory_limit", 4.0 * (1 << 30));
	ASSERT_NUMBER("memory_peak / elapsed * 1s", (double)(1 << 30) * 4 / 100);
}

TEST(a_bare_number_takes_the_other_sides_unit)
{
	ASSERT_TRUTH("memory_usage > 20", TRUTH_YES);
	ASSERT_TRUTH("memory_usage > 30", TRUTH_NO);
	ASSERT_TRUTH("memory_usage > 20 %", TRUTH_YES);
	ASSERT_TRUTH("memory_usage > limit", TRUTH_NO);
	ASSERT_TRUTH("memory_usage == 2 * 10 + 5", TRUTH_YES);
	ASSERT_TRUTH("memory_peak >= 4294967296", TRUTH_YES);
	ASSERT_TRUTH("100 <= elapsed", TRUTH_YES);
	ASSERT_TRUTH("elapsed != 100 s", TRUTH_NO);
	ASSERT_TRUTH("2 * cpu_efficiency > 79", TRUTH_YES);
	ASSERT_TRUTH("100 - cpu_efficiency == 60", TRUTH_YES);
}

TEST(a_share_below_one_might_be_meant_in_two_ways)
{
	ASSERT_REFUSED("memory_usage > 0.8", "0.8 may mean 0.8 % or 80 %");
	ASSERT_REFUSED("memory_usage > 1", "1 may mean 1 % or 100 %");
	ASSERT_TRUTH("memory_usage > 1 %", TRUTH_YES);
	ASSERT_TRUTH("memory_usage > 0", TRUTH_YES);
}

TEST(conditions_are_joined)
{
	ASSERT_TRUTH("elapsed > 5 and elapsed < 200", TRUTH_YES);
	ASSERT_TRUTH("elapsed > 500 or elapsed < 200 and elapsed > 300", TRUTH_NO);
	ASSERT_TRUTH("not elapsed > 500", TRUTH_YES);
	ASSERT_TRUTH("not (elapsed > 5 or elapsed < 3)", TRUTH_NO);
}

TEST(what_follows_from_the_unknown_is_unknown)
{
	ASSERT(!number("read_bytes + 1").is_known);
	ASSERT(!number("min(read_bytes, 1)").is_known);
	ASSERT(!number("-read_bytes").is_known);
	ASSERT(!number("elapsed / (elapsed - elapsed)").is_known);
	ASSERT_TRUTH("read_bytes > 5", TRUTH_UNKNOWN);
	ASSERT_TRUTH("read_bytes == read_bytes", TRUTH_UNKNOWN);
	ASSERT_TRUTH("not read_bytes > 5", TRUTH_UNKNOWN);
	ASSERT_TRUTH("read_bytes > 5 and elapsed > 5", TRUTH_UNKNOWN);
	ASSERT_TRUTH("read_bytes > 5 or elapsed < 5", TRUTH_UNKNOWN);
}

TEST(what_does_not_depend_on_the_unknown_is_known)
{
	ASSERT_TRUTH("read_bytes > 5 and elapsed < 5", TRUTH_NO);
	ASSERT_TRUTH("elapsed < 5 and read_bytes > 5", TRUTH_NO);
	ASSERT_TRUTH("read_bytes > 5 or elapsed > 5", TRUTH_YES);
}

TEST(errors_say_the_column)
{
	ASSERT_STREQ(refuse("memory_usag > 5", EXPRESSION_CONDITION),
		     "column 1: there is no name 'memory_usag'; did you mean 'memory_usage'?");
	ASSERT_STREQ(refuse("elapsed > 5 parsecs", EXPRESSION_CONDITION),
		     "column 13: there is no unit 'parsecs'; there are % B K M G T (KiB...) ns us "
		     "ms s min h d");
	ASSERT_STREQ(refuse("(elapsed > 5", EXPRESSION_CONDITION),
		     "column 13: ')' must stand here, and not the end");
	ASSERT_STREQ(refuse("elapsed > 5)", EXPRESSION_CONDITION),
		     "column 12: the end must stand here, and not ')'");
	ASSERT_STREQ(refuse("", EXPRESSION_CONDITION),
		     "column 1: a number or a name must stand here, and not the end");
	ASSERT_REFUSED("elapsed > \x01",
		       "column 11: a number or a name must stand here, and not byte 0x01");
	ASSERT_REFUSED("elapsed > 1.2.3", "column 11: '1.2.3' is no number");
	ASSERT_REFUSED("elapsed > 1.", "is no number");
	ASSERT_REFUSED("read > 5", "there is no name 'read'");
	ASSERT_REFUSED("and > 5", "must stand here, and not 'and'");
}

TEST(kinds_are_kept_apart)
{
	ASSERT_REFUSED("elapsed > memory_peak", "seconds and bytes stand together here");
	ASSERT_REFUSED("elapsed + 4G > 5", "seconds and bytes");
	ASSERT_REFUSED("elapsed", "a condition must stand here");
	ASSERT_REFUSED("elapsed > 5 and 3", "a condition must stand here");
	ASSERT_REFUSED("not elapsed", "a condition must stand here");
	ASSERT_REFUSED("(elapsed > 5) + 1 > 2", "a number must stand here, and not a condition");
	ASSERT_REFUSED("1 < elapsed < 5", "joined by 'and'");
	ASSERT_REFUSED("elapsed*elapsed*elapsed*elapsed > 1", "this has no meaning");
	ASSERT_CONTAINS(refuse("elapsed > 5", EXPRESSION_NUMBER), "a number must stand here");
	ASSERT_CONTAINS(refuse("1 / 0", EXPRESSION_NUMBER), "this is no number");
}

TEST(names_of_a_mount_want_a_mount)
{
	ASSERT_REFUSED("mount_read_bytes > 5", "wants 'each: mount'");
}

TEST(length_and_depth_are_bounded)
{
	_cleanup_free_ char *deep = calloc(1, 200), *wide = calloc(1, 2000),
			    *many = calloc(1, 2000);

	memset(deep, '(', 40);
	ASSERT_REFUSED(deep, "nested too deep");
	memset(wide, ' ', EXPRESSION_BYTES_MAX + 1);
	ASSERT_REFUSED(wide, "too long");
	for (size_t i = 0; i < 300; i++)
		strcat(many, i ? "+nodes" : "nodes");
	many[EXPRESSION_BYTES_MAX - 1] = '\0';
	ASSERT_REFUSED(many, "column"); /* cut within a name, or over the parts */
}

TEST(multiples_compare_with_another_record)
{
	_cleanup_(frame_clear) struct frame f;
	_cleanup_(record_freep) struct record *slow = made();
	_cleanup_(expression_freep) struct expression *e = NULL;
	struct subject a, b;

	frame_init(&f);
	a = (struct subject){ .record = f.record };
	b = (struct subject){ .record = slow, .baseline = &a };
	f.names.has_baseline = true;
	ASSERT_OK(expression_parse("elapsed > 1.1x", EXPRESSION_CONDITION, &f.names, &e, &f.err));
	ASSERT_EQ(expression_truth(e, &b), TRUTH_NO);
	slow->time.elapsed_ns = 111 * UINT64_C(1000000000);
	ASSERT_EQ(expression_truth(e, &b), TRUTH_YES);
	f.record->time.elapsed_ns = 0;
	ASSERT_EQ(expression_truth(e, &b), TRUTH_UNKNOWN);
	ASSERT_EQ(expression_truth(e, &a), TRUTH_UNKNOWN);
	ASSERT_REFUSED("elapsed > 1.1x", "column 11: 'x' compares with another record");
}

TEST(multiples_stand_alone)
{
	_cleanup_(frame_clear) struct frame f;
	struct expression *e = NULL;

	frame_init(&f);
	f.names.has_baseline = true;
	ASSERT_ERR(expression_parse("elapsed > 1.1x + 5", EXPRESSION_CONDITION, &f.names, &e,
				    &f.err),
		   -EINVAL);
	ASSERT_CONTAINS(f.err.text, "'x' stands alone");
	ASSERT_ERR(expression_parse("2x > 1.1x", EXPRESSION_CONDITION, &f.names, &e, &f.err),
		   -EINVAL);
	ASSERT_ERR(expression_parse("2x", EXPRESSION_NUMBER, &f.names, &e, &f.err), -EINVAL);
	ASSERT_ERR(expression_parse("-2x > elapsed", EXPRESSION_CONDITION, &f.names, &e, &f.err),
		   -EINVAL);
	ASSERT(!e);
}

TEST(the_variables_of_an_expression_are_listed_once)
{
	_cleanup_(frame_clear) struct frame f;
	_cleanup_(expression_freep) struct expression *e = NULL;

	frame_init(&f);
	ASSERT_OK(expression_parse("elapsed > 5 and (memory_peak > 4G or elapsed < limit)",
				   EXPRESSION_CONDITION, &f.names, &e, &f.err));
	ASSERT_STREQ(expression_variable(e, 0)->name, "elapsed_seconds");
	ASSERT_STREQ(expression_variable(e, 1)->name, "memory_peak_bytes");
	ASSERT(!expression_variable(e, 2));
}
