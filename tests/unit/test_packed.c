/* SPDX-License-Identifier: MIT */
#include "basic/packed.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "test.h"

TEST(an_empty_list_has_nothing)
{
	struct packed p = {};
	struct packed_run run;
	size_t at = 0;

	ASSERT(!packed_next(&p, &at, &run));
	ASSERT_OK(packed_append(&p, 7, 0));
	ASSERT_EQ(p.count, 0);
	packed_clear(&p);
}

TEST(any_number_comes_back)
{
	static const uint64_t numbers[] = {
		0,	     1,		 PACKED_NONE, 127,   128, 0,	  125,
		126,	     PACKED_MAX, 16383,	      16384, 1,	  0xffff, PACKED_MAX - 1,
		PACKED_NONE, UINT32_MAX, 2,	      0
	};
	_cleanup_(packed_clear) struct packed p = {};
	uint64_t back[18];

	for (size_t i = 0; i < 18; i++)
		ASSERT_OK(packed_append(&p, numbers[i], 1));
	ASSERT_EQ(p.count, 18);
	packed_unpack(&p, back);
	for (size_t i = 0; i < 18; i++)
		ASSERT_EQ(back[i], numbers[i]);
}

TEST(equal_numbers_are_one_run_and_take_no_more)
{
	_cleanup_(packed_clear) struct packed p = {};
	struct packed_run run = {};
	size_t at = 0;

	ASSERT_OK(packed_append(&p, 5, 3));
	ASSERT_OK(packed_append(&p, 5, 1));
	ASSERT_OK(packed_append(&p, 0, 400));
	ASSERT_OK(packed_append(&p, PACKED_NONE, 2));
	ASSERT_EQ(p.count, 406);
	ASSERT(p.used <= 8);
	ASSERT(packed_next(&p, &at, &run) && run.number == 5 && run.times == 4);
	ASSERT(packed_next(&p, &at, &run) && run.number == 0 && run.times == 400);
	ASSERT(packed_next(&p, &at, &run) && run.number == PACKED_NONE && run.times == 2);
	ASSERT(!packed_next(&p, &at, &run));
}

TEST(a_list_has_a_bound_even_of_the_largest_numbers)
{
	_cleanup_(packed_clear) struct packed p = {};
	uint64_t back[PACKED_COUNT_MAX];

	for (uint64_t i = 0; i < PACKED_COUNT_MAX; i++)
		ASSERT_OK(packed_append(&p, PACKED_MAX - i, 1));
	ASSERT_ERR(packed_append(&p, PACKED_MAX - PACKED_COUNT_MAX + 1, 1), -ENOSPC);
	packed_unpack(&p, back);
	ASSERT_EQ(back[PACKED_COUNT_MAX - 1], PACKED_MAX - PACKED_COUNT_MAX + 1);
}

TEST(a_copy_goes_its_own_way)
{
	_cleanup_(packed_clear) struct packed p = {}, copy = {};
	uint64_t back[4] = {};

	for (uint64_t i = 0; i < 3; i++)
		ASSERT_OK(packed_append(&p, i * 1000, 1));
	ASSERT_OK(packed_copy(&copy, &p));
	ASSERT_OK(packed_append(&p, 1, 1));
	ASSERT_OK(packed_append(&copy, 9, 1));
	packed_unpack(&copy, back);
	ASSERT_EQ(back[2], UINT64_C(2000));
	ASSERT_EQ(back[3], UINT64_C(9));
	packed_unpack(&p, back);
	ASSERT_EQ(back[3], UINT64_C(1));
}

/* Against a plain array. */
TEST(whatever_is_put_in_comes_out)
{
	static const uint64_t kinds[] = { 0, 1, 130, PACKED_NONE, UINT64_C(1) << 40 };
	_cleanup_(packed_clear) struct packed p = {};
	uint64_t expected[4096], back[4096];
	uint32_t random = 1;
	size_t count = 0;

	while (count < 4000) {
		uint64_t number;
		uint32_t times;

		random = random * 1103515245 + 12345;
		number = kinds[(random >> 8) % 5];
		times = random >> 28 > 12 ? 1 + (random >> 16 & 63) : 1;
		ASSERT_OK(packed_append(&p, number, times));
		while (times--)
			expected[count++] = number;
	}
	ASSERT_EQ(p.count, (int)count);
	packed_unpack(&p, back);
	for (size_t i = 0; i < count; i++)
		ASSERT_EQ(back[i], expected[i]);
}
