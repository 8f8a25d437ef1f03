/* SPDX-License-Identifier: MIT */
#include "node/governor.h"

#include "basic/cleanup.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define CPUS 2
#define BUDGET 5000 /* 0.5 % */
#define CALL_NS 100
#define RUN_NS 20

static void governor_freep(struct governor **g)
{
	governor_free(*g);
}

/* A node of two CPUs, of which the second has @calls system calls a second, half of them looked at.
 */
struct life {
	struct own_costs costs[CPUS];
	uint64_t second;
};

static uint64_t live(struct governor *g, struct life *life, uint64_t calls, unsigned int seconds)
{
	uint64_t unclocked_ns = 0;

	for (; seconds; seconds--) {
		struct own_cost *programs = life->costs[1].programs;
		const struct governor_feed feed = { .costs = life->costs,
						    .cpus = CPUS,
						    .bases = { CALL_NS, RUN_NS },
						    .boot_ns = life->second * SECOND,
						    .budget = BUDGET };

		ASSERT_OK(governor_feed(g, &feed, &unclocked_ns));
		life->second++;
		programs[OWN_ENTER].runs += calls;
		programs[OWN_ENTER].timed += calls / 1000;
		programs[OWN_ENTER].timed_ns += calls / 1000 * (RUN_NS + 30);
		programs[OWN_LEAVE].runs += calls / 2;
		programs[OWN_LEAVE].timed += calls / 2000;
		programs[OWN_LEAVE].timed_ns += calls / 2000 * (RUN_NS + 140);
	}
	return unclocked_ns;
}

TEST(what_it_cost_is_what_calls_take_longer_and_what_runs_take_without_the_clock)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct life life = { .second = 100 };
	struct governor_state s;

	ASSERT_EQ(live(g, &life, 20000, 3), 0u);
	s = governor_state(g, life.second * SECOND);
	ASSERT_EQ(s.calls, 40000u);
	ASSERT_EQ(s.cost_ns, 40000u * (CALL_NS + 30 + 70));
	ASSERT_EQ(s.worst, 4000u); /* 4 ms a second */
	ASSERT_EQ(s.unclocked_total_ns, 0u);
}

TEST(twenty_seconds_over_the_budget_are_too_many)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct life life = { .second = 100 };

	ASSERT_EQ(live(g, &life, 30000, 21), 0u); /* 20 differences, 19 s apart */
	ASSERT_EQ(live(g, &life, 20000, 1), 0u + 121 * SECOND);
	ASSERT_EQ(governor_unclocked(g, 0, 123 * SECOND), 2 * SECOND);
	ASSERT_EQ(governor_unclocked(g, 122 * SECOND, 123 * SECOND), SECOND);
	ASSERT_EQ(governor_unclocked(g, 0, 121 * SECOND), 0u);
}

/* 36 jobs within 15 s, and then hardly any. */
TEST(many_short_jobs_at_once_cost_no_times)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct life life = { .second = 100 };

	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(live(g, &life, 30000, 15), 0u);
		ASSERT_EQ(live(g, &life, 10000, 45), 0u);
	}
}

TEST(a_busy_moment_is_none)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct life life = { .second = 100 };

	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(live(g, &life, 30000, 2), 0u);
		ASSERT_EQ(live(g, &life, 20000, 1), 0u);
	}
}

TEST(times_come_back_after_a_calm_while)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(50 * SECOND); /* as somebody
										     left it */
	struct life life = { .second = 100 };
	uint64_t calm_from;

	ASSERT_EQ(live(g, &life, 20000, 400), 50 * SECOND); /* not over it, and not calm */
	calm_from = life.second + 1;
	ASSERT_EQ(live(g, &life, 10000, 301), 50 * SECOND);
	ASSERT_EQ(live(g, &life, 10000, 1), 0u);
	ASSERT_EQ(governor_unclocked(g, 0, UINT64_MAX), (calm_from + 300 - 50) * SECOND);
	ASSERT_EQ(live(g, &life, 10000, 400), 0u);
}

TEST(readings_that_are_close_together_tell_nothing)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct own_costs costs[CPUS] = {};
	uint64_t unclocked_ns;

	for (uint64_t i = 0; i < 20; i++) {
		const struct governor_feed feed = { .costs = costs,
						    .cpus = CPUS,
						    .bases = { CALL_NS, RUN_NS },
						    .boot_ns = SECOND + i * SECOND / 100,
						    .budget = BUDGET };

		ASSERT_OK(governor_feed(g, &feed, &unclocked_ns));
		ASSERT_EQ(unclocked_ns, 0u);
		costs[0].programs[OWN_ENTER].runs += 1000000;
	}
}

TEST(of_many_spans_none_is_forgotten)
{
	_cleanup_(governor_freep) struct governor *g = governor_new(0);
	struct life life = { .second = 100 };
	uint64_t sum = 0;

	for (int i = 0; i < 300; i++) {
		uint64_t from = live(g, &life, 30000, 25) / SECOND, to;

		ASSERT(from > 0);
		while (live(g, &life, 10000, 1))
			;
		to = life.second - 1;
		sum += to - from;
	}
	ASSERT(governor_unclocked(g, 0, UINT64_MAX) >= sum * SECOND);
	ASSERT(governor_unclocked(g, 0, UINT64_MAX) <= (life.second - 100) * SECOND);
}
