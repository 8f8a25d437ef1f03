/* SPDX-License-Identifier: MIT */
#include "basic/clock.h"

#include <stdlib.h>

#include "test.h"

#define MOST_NS 1000000 /* far more than a clock is corrected by within the test */

TEST(both_clocks_are_read_at_one_moment)
{
	const struct clock_moment first = clock_now();

	for (int i = 0; i < 1009; i++) {
		const uint64_t before_ns = clock_now_ns(CLOCK_BOOTTIME);
		const struct clock_moment now = clock_now();

		ASSERT_EQ(before_ns <= now.boot_ns && now.boot_ns <= clock_now_ns(CLOCK_BOOTTIME),
			  1);
		ASSERT_EQ(llabs((long long)(now.real_ns - first.real_ns) -
				(long long)(now.boot_ns - first.boot_ns)) < MOST_NS,
			  1);
	}
}
