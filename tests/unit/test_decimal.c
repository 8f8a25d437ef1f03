/* SPDX-License-Identifier: MIT */
#include "basic/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "test.h"

static const char *format(uint64_t value, unsigned int places)
{
	static char buffer[DECIMAL_SIZE];

	return decimal_format(buffer, value, places);
}

TEST(nanoseconds_are_exact_and_trailing_zeros_are_cut)
{
	ASSERT_STREQ(format(12345678901, 9), "12.345678901");
	ASSERT_STREQ(format(12500000000, 9), "12.5");
	ASSERT_STREQ(format(12000000000, 9), "12");
	ASSERT_STREQ(format(1, 9), "0.000000001");
	ASSERT_STREQ(format(0, 9), "0");
	ASSERT_STREQ(format(3500, 3), "3.5");
	ASSERT_STREQ(format(UINT64_MAX, 0), "18446744073709551615");
	ASSERT_STREQ(format(999999999999999, 9), "999999.999999999");
}

TEST(all_digits_are_there_where_they_are_wanted)
{
	char buffer[DECIMAL_SIZE];

	ASSERT_STREQ(decimal_format_exact(buffer, 12345678901, 9), "12.345678901");
	ASSERT_STREQ(decimal_format_exact(buffer, UINT64_MAX, 9), "18446744073.709551615");
	ASSERT_STREQ(decimal_format_exact(buffer, 12000000000, 9), "12");
	ASSERT_STREQ(decimal_format_exact(buffer, 0, 9), "0");
}

TEST(beyond_15_digits_it_is_rounded)
{
	ASSERT_STREQ(format(1234567890123456789, 9), "1234567890.12346");
	ASSERT_STREQ(format(9999999999999999, 9), "10000000");
}

TEST(what_was_printed_comes_back_as_it_was_printed)
{
	/* a walk through all magnitudes with steps that are no powers of anything */
	for (uint64_t value = 1; value < UINT64_MAX / 3; value += value / 7 * 2 + 1) {
		char first[DECIMAL_SIZE], second[DECIMAL_SIZE];
		uint64_t back;

		decimal_format(first, value, 9);
		ASSERT_OK(decimal_from_double(strtod(first, NULL), 9, &back));
		if (value < 1000000000000000)
			ASSERT_EQ(back, value);
		ASSERT_STREQ(decimal_format(second, back, 9), first);
	}
}

TEST(what_no_counter_can_hold_is_refused)
{
	uint64_t value = 42;

	ASSERT_ERR(decimal_from_double(-0.5, 9, &value), -ERANGE);
	ASSERT_ERR(decimal_from_double(1e11, 9, &value), -ERANGE);
	ASSERT_ERR(decimal_from_double(1.8446744073709552e19, 0, &value), -ERANGE);
	ASSERT_ERR(decimal_from_double(NAN, 0, &value), -ERANGE);
	ASSERT_ERR(decimal_from_double(INFINITY, 3, &value), -ERANGE);
	ASSERT_EQ(value, 42);
}
