/* SPDX-License-Identifier: MIT */
#include "node/notices.h"

#include <stdio.h>

#include "test.h"

static void add(struct notices *n, uint64_t now_ns, unsigned int number)
{
	struct error line;

	error_set(&line, 0, "file %u is odd", number);
	notices_add(n, now_ns, &line);
}

/* How many lines there are; the last of them is in @ret. */
static unsigned int get_all(struct notices *n, uint64_t now_ns, struct error *ret)
{
	unsigned int count = 0;

	while (notices_get(n, now_ns, ret))
		count++;
	return count;
}

TEST(each_line_is_said_once_and_in_order)
{
	struct notices n = {};
	struct error line = {};

	ASSERT(!notices_get(&n, 1, &line));
	add(&n, 1, 3);
	add(&n, 2, 5);
	ASSERT(notices_get(&n, 3, &line));
	ASSERT_STREQ(line.text, "file 3 is odd");
	add(&n, 4, 7);
	ASSERT_EQ(get_all(&n, 5, &line), 2U);
	ASSERT_STREQ(line.text, "file 7 is odd");
	ASSERT(!notices_get(&n, 6 + NOTICES_PERIOD_NS, &line));
}

TEST(of_many_an_hours_are_few_and_the_others_are_one_line)
{
	struct notices n = {};
	struct error line = {};
	unsigned int said = 0;

	for (unsigned int i = 0; i < 1009; i++) { /* as one comes each second */
		add(&n, 100 + i, i);
		said += get_all(&n, 100 + i, &line);
	}
	ASSERT_EQ(said, (unsigned int)NOTICES_MAX);
	ASSERT(!notices_get(&n, 99 + NOTICES_PERIOD_NS, &line));
	ASSERT_EQ(get_all(&n, 100 + NOTICES_PERIOD_NS, &line), 1U);
	ASSERT_STREQ(line.text, "993 more were like 'file 15 is odd'");
}

TEST(after_an_hour_lines_are_said_again)
{
	struct notices n = {};
	struct error line = {};

	for (unsigned int hour = 0; hour < 3; hour++) {
		uint64_t now_ns = 1 + hour * NOTICES_PERIOD_NS;

		for (unsigned int i = 0; i < NOTICES_MAX; i++)
			add(&n, now_ns, i);
		ASSERT_EQ(get_all(&n, now_ns, &line), (unsigned int)NOTICES_MAX);
	}
	add(&n, 2 + 2 * NOTICES_PERIOD_NS, 16); /* one more in the same hour */
	ASSERT(!notices_get(&n, 3 + 2 * NOTICES_PERIOD_NS, &line));
	ASSERT_EQ(get_all(&n, 1 + 3 * NOTICES_PERIOD_NS, &line), 1U);
	add(&n, 2 + 3 * NOTICES_PERIOD_NS, 17);
	ASSERT_EQ(get_all(&n, 3 + 3 * NOTICES_PERIOD_NS, &line), 1U);
	ASSERT_STREQ(line.text, "file 17 is odd");
}

TEST(who_waits_for_nothing_hears_of_the_others_at_once)
{
	struct notices n = {};
	struct error line = {};

	for (unsigned int i = 0; i < NOTICES_MAX + 2; i++)
		add(&n, 1, i);
	ASSERT_EQ(get_all(&n, UINT64_MAX, &line), NOTICES_MAX + 1U);
	ASSERT_STREQ(line.text, "2 more were like 'file 15 is odd'");
}
