/* SPDX-License-Identifier: MIT */
#include "agent/ticker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timex.h>
#include <time.h>

#include "basic/error.h"
#include "test.h"

#define MS UINT64_C(1000000)
#define HOUR (UINT64_C(3600) * 1000 * MS)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void wait_for(const struct ticker *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	ASSERT_EQ(poll(&p, 1, 60000), 1);
}

TEST(ticks_are_multiples_of_the_interval)
{
	ASSERT_EQ(ticker_next(0, 10), UINT64_C(10));
	ASSERT_EQ(ticker_next(9, 10), UINT64_C(10));
	ASSERT_EQ(ticker_next(10, 10), UINT64_C(20));
	ASSERT_EQ(ticker_next(UINT64_C(1767225600123456789), 10000 * MS),
		  UINT64_C(1767225610000000000));
}

TEST(the_end_of_time_does_not_wrap_around)
{
	ASSERT_EQ(ticker_next(UINT64_MAX, 10), UINT64_MAX);
	ASSERT_EQ(ticker_next(UINT64_MAX - 1, UINT64_MAX), UINT64_MAX);
	ASSERT_EQ(ticker_next(UINT64_MAX, 1), UINT64_MAX);
}

TEST(it_ticks_when_it_is_due_and_then_waits_for_the_next)
{
	struct ticker t = TICKER_NONE;
	struct error err;

	ASSERT_OK(ticker_open(20 * MS, &t, &err));
	for (int i = 0; i < 3; i++) {
		uint64_t due_ns = t.due_ns;
		bool is_due = false;

		wait_for(&t);
		ASSERT_OK(ticker_read(&t, &is_due, &err));
		ASSERT(is_due);
		ASSERT(now_ns() >= due_ns && t.due_ns > due_ns);
		ASSERT_EQ(t.due_ns % (20 * MS), UINT64_C(0));
	}
	ticker_close(&t);
	ticker_close(&t);
}

TEST(nothing_is_due_before_its_time)
{
	struct ticker t = TICKER_NONE;
	struct error err;
	bool is_due = true;

	ASSERT_OK(ticker_open(1000 * HOUR, &t, &err));
	ASSERT_OK(ticker_read(&t, &is_due, &err));
	ASSERT(!is_due);
	ASSERT_OK(ticker_set(&t, 1 * MS, &err));
	wait_for(&t);
	ASSERT_OK(ticker_read(&t, &is_due, &err));
	ASSERT(is_due);
	ticker_close(&t);
}

/* By one ns: so this disturbs nobody. */
TEST(a_clock_that_is_set_is_no_tick_and_aims_anew)
{
	struct timex set = { .modes = ADJ_SETOFFSET | ADJ_NANO, .time.tv_usec = 1 };
	struct ticker t = TICKER_NONE;
	struct error err;
	bool is_due = true;

	ASSERT_OK(ticker_open(1000 * HOUR, &t, &err));
	if (adjtimex(&set) < 0) {
		printf("  (no right to set the clock: not tried)\n");
		ticker_close(&t);
		return;
	}
	wait_for(&t);
	t.due_ns = 0;
	ASSERT_OK(ticker_read(&t, &is_due, &err));
	ASSERT(!is_due);
	ASSERT(t.due_ns > now_ns());
	ASSERT_EQ(t.due_ns % (1000 * HOUR), UINT64_C(0));
	ticker_close(&t);
}
