/* SPDX-License-Identifier: MIT */
#include "energy/attribution.h"

#include <stdlib.h>
#include <string.h>

#include "energy/idle_power.h"
#include "energy/sensor_total.h"
#include "test.h"

#define HISTORIES 20000
#define JOBS 6
#define STEPS 12
#define SECOND UINT64_C(1000000000)
#define RANGE UINT64_C(65532610987) /* of an AMD package */
#define CORES 16

static size_t channel(struct attribution *a, enum energy_pool pool)
{
	const struct energy_channel c = {
		.pool = pool,
		.level = pool == POOL_NODE ? ENERGY_NODE : ENERGY_COMPONENT,
		.quality = ENERGY_ATTRIBUTED,
		.source = "made",
	};

	return (size_t)attribution_channel(a, &c);
}

/* One second of a pool. */
static struct energy_interval second(uint64_t uj, uint64_t idle_uj)
{
	return (struct energy_interval){ .uj = uj, .idle_uj = idle_uj, .capacity = CORES * 1000 };
}

static uint64_t sum_of(const struct attribution *a, const struct energy_owner *jobs, size_t count)
{
	uint64_t sum = energy_owner_total(&a->system) + energy_owner_total(&a->idle) +
		       energy_owner_total(&a->unattributed);

	for (size_t i = 0; i < count; i++)
		sum += jobs[i].is_inside ? 0 : energy_owner_total(&jobs[i]);
	return sum;
}

static void point(struct energy_owner *jobs, struct energy_owner **ret, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = &jobs[i];
}

/* ---- single cases ---- */

TEST(who_works_twice_as_much_has_twice_of_what_moves)
{
	struct attribution a = {};
	struct energy_owner jobs[2] = { { .cpu.work = 200 }, { .cpu.work = 100 } }, *owners[2];
	const struct energy_interval i = second(3000, 0);

	point(jobs, owners, 2);
	attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 2);
	ASSERT_EQ(energy_owner_total(&jobs[0]), UINT64_C(2000));
	ASSERT_EQ(energy_owner_total(&jobs[1]), UINT64_C(1000));
}

TEST(a_job_that_sleeps_has_its_idle_share_only)
{
	struct attribution a = {};
	struct energy_owner jobs[2] = { { .cpu = { 0, 4000 } }, { .cpu = { 977, 4000 } } },
			    *owners[2];
	const struct energy_interval i = second(1000000, 160000);

	point(jobs, owners, 2);
	attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 2);
	ASSERT_EQ(energy_owner_total(&jobs[0]), UINT64_C(40000)); /* 4 of 16 cores */
	ASSERT_EQ(jobs[0].idle_uj, UINT64_C(40000));
	ASSERT_EQ(energy_owner_total(&jobs[1]), UINT64_C(880000));
	ASSERT_EQ(energy_owner_total(&a.idle), UINT64_C(80000));
}

TEST(the_idle_part_does_not_shrink_with_load)
{
	uint64_t before = 0;

	for (uint64_t load = 0; load <= 10; load++) {
		struct attribution a = {};
		struct energy_owner job = { .cpu = { load * 1000, 1000 } }, *owners[] = { &job };
		const struct energy_interval i = second(500000 + load * 100000, 500000);

		attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 1);
		if (load)
			ASSERT_EQ(energy_owner_total(&a.idle) + job.idle_uj, before);
		before = energy_owner_total(&a.idle) + job.idle_uj;
	}
	ASSERT_EQ(before, UINT64_C(500000) - 500000 % 16);
}

TEST(the_policy_says_whose_the_idle_part_is)
{
	for (size_t policy = 0; policy < POLICY_COUNT; policy++) {
		struct attribution a = { .policy = (enum energy_policy)policy };
		struct energy_owner job = { .cpu = { 1, 8000 } }, *owners[] = { &job };
		const struct energy_interval i = second(1600, 1600);

		attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 1);
		ASSERT_EQ(energy_owner_total(&job), policy == POLICY_ALLOCATED ? UINT64_C(800)
						    : policy == POLICY_ACTIVE  ? UINT64_C(1600)
									       : UINT64_C(0));
		ASSERT_EQ(sum_of(&a, &job, 1), UINT64_C(1600));
	}
}

TEST(what_the_node_has_beyond_its_parts_goes_with_these)
{
	struct attribution a = {};
	struct energy_owner jobs[2] = { { .cpu.work = 300 }, { .cpu.work = 100 } }, *owners[2];
	const struct energy_interval parts = second(4000, 0), node = second(6000, 0);

	point(jobs, owners, 2);
	attribution_begin_rest(&a, owners, 2);
	attribution_close(&a, channel(&a, POOL_PACKAGE), &parts, owners, 2);
	attribution_close_rest(&a, channel(&a, POOL_NODE), &node, owners, 2);
	ASSERT_EQ(energy_owner_total(&jobs[0]), UINT64_C(4500));
	ASSERT_EQ(energy_owner_total(&jobs[1]), UINT64_C(1500));
	ASSERT_EQ(a.inconsistent, UINT64_C(0));
}

TEST(parts_that_are_more_than_the_node_are_taken_off_later_and_told)
{
	struct attribution a = {};
	struct energy_owner job = { .cpu.work = 1 }, *owners[] = { &job };
	struct energy_interval parts = second(1100, 0), node = second(1000, 0);
	const size_t of_parts = channel(&a, POOL_PACKAGE), of_node = channel(&a, POOL_NODE);

	attribution_close(&a, of_parts, &parts, owners, 1);
	attribution_close_rest(&a, of_node, &node, owners, 1);
	ASSERT_EQ(a.debt_uj, UINT64_C(100));
	ASSERT_EQ(a.inconsistent, UINT64_C(1));
	job.cpu.work++;
	parts.uj = 500;
	attribution_close(&a, of_parts, &parts, owners, 1);
	attribution_close_rest(&a, of_node, &node, owners, 1);
	ASSERT_EQ(a.debt_uj, UINT64_C(0));
	ASSERT_EQ(energy_owner_total(&job), UINT64_C(2000));
	ASSERT_EQ(attribution_unbalanced(&a, owners, 1, 0), 0);
}

TEST(one_inside_another_is_told_its_share_and_is_in_no_sum)
{
	struct attribution a = {};
	struct energy_owner jobs[2] = { { .cpu.work = 100 },
					{ .cpu.work = 50, .is_inside = true } },
			    *owners[2];
	const struct energy_interval i = second(1000, 0);

	point(jobs, owners, 2);
	attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 2);
	ASSERT_EQ(energy_owner_total(&jobs[0]), UINT64_C(1000));
	ASSERT_EQ(energy_owner_total(&jobs[1]), UINT64_C(500));
	ASSERT_EQ(sum_of(&a, jobs, 2), UINT64_C(1000));
	ASSERT_EQ(attribution_unbalanced(&a, owners, 2, 0), 0);
}

TEST(energy_while_nobody_works_is_nobodys)
{
	struct attribution a = {};
	const struct energy_interval i = second(1000, 0);

	attribution_close(&a, channel(&a, POOL_PACKAGE), &i, NULL, 0);
	ASSERT_EQ(energy_owner_total(&a.unattributed), UINT64_C(1000));
}

TEST(idle_power_is_learned_while_next_to_nothing_runs)
{
	struct idle_power p = {};

	idle_power_learn(&p, 200 * 1000000, SECOND, CORES * SECOND, CORES); /* all busy */
	ASSERT_EQ(idle_power_get(&p), UINT64_C(40000000)); /* a fifth, until it is known */
	for (uint64_t i = 0; i < 100; i++)
		idle_power_learn(&p, (30 + i % 10) * 1000000, SECOND, CORES * SECOND / 100, CORES);
	ASSERT_EQ(idle_power_get(&p), UINT64_C(30000000));
	idle_power_learn(&p, 1, SECOND / 10, 0, CORES); /* too short to tell */
	ASSERT_EQ(idle_power_get(&p), UINT64_C(30000000));
}

/* ---- histories ---- */

struct life {
	struct energy_owner jobs[JOBS];
	bool is_there[JOBS];
	uint64_t totals[JOBS];
};

/* Jobs come and go; whoever is there works, or sleeps. */
static void live(struct life *l, struct attribution *a, uint64_t us)
{
	for (size_t i = 0; i < JOBS; i++) {
		struct energy_owner *o = &l->jobs[i];

		if (test_below(4) == 0) {
			if (!l->is_there[i])
				energy_owner_begin(o);
			l->is_there[i] = !l->is_there[i];
		}
		if (!l->is_there[i])
			continue;
		o->cpu.work += test_below(3) ? test_below(us * 1000) : 0;
		o->memory.work = o->cpu.work;
		o->cpu.allocated += test_below(8000) * us;
		o->memory.allocated += test_below(1 << 20) * us;
	}
	a->system.cpu.work += test_below(us * 100);
	a->system.memory.work = a->system.cpu.work;
}

/* Whatever happens, and after each step: what came in is what owners have and what is carried, and
 * nobody's sum falls.  The sensors' truth is kept apart from the code under test. */
TEST(in_any_history_owners_have_what_came_in)
{
	for (unsigned int history = 0; history < HISTORIES; history++) {
		struct attribution a = { .policy = (enum energy_policy)test_below(POLICY_COUNT) };
		struct energy_counter package = { .range_uj = RANGE, .power_max_uw = 500000000 };
		struct life l = {};
		struct energy_owner *owners[JOBS];
		const bool has_node = test_below(2);
		uint64_t now = SECOND, raw = test_below(RANGE), truth = 0, node_truth = 0,
			 parts = 0;
		uint64_t last_uj = 0, last_gap = 0, system = 0, idle = 0, unattributed = 0;

		point(l.jobs, owners, JOBS);
		energy_counter_take(&package, raw, now);
		for (size_t i = 0; i < JOBS; i++)
			l.jobs[i].is_inside = test_below(5) == 0;
		for (unsigned int step = 0; step < STEPS; step++) {
			/* an edge, a reading, a suspend */
			const uint64_t ns = test_below(10) == 0 ? test_below(900 * SECOND)
								: 1 + test_below(30 * SECOND);
			const uint64_t came = test_below(500 * (ns / 1000) + 1);
			struct energy_interval i = { .capacity = CORES * ns / 1000 * 1000 };
			struct energy_interval of_node = {};

			now += ns;
			raw = (raw + came) % RANGE;
			live(&l, &a, ns / 1000 + 1);
			energy_counter_take(&package, raw, now);
			i.uj = package.total.total_uj - last_uj;
			i.gap_uj = package.total.gap_uj - last_gap;
			i.idle_uj = test_below(i.uj + 1000);
			last_uj = package.total.total_uj;
			last_gap = package.total.gap_uj;
			truth += i.uj + i.gap_uj;
			parts += i.uj + i.gap_uj;
			attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, JOBS);
			if (has_node && test_below(3) == 0) { /* slower than the parts */
				of_node.uj = parts / 10 * (9 + test_below(6));
				of_node.gap_uj = test_below(5) ? 0 : test_below(1000);
				node_truth += of_node.uj + of_node.gap_uj;
				parts = 0;
				attribution_close_rest(&a, channel(&a, POOL_NODE), &of_node, owners,
						       JOBS);
				truth = node_truth; /* from here on, whatever its parts carry */
			}
			ASSERT_EQ(attribution_unbalanced(&a, owners, JOBS, 0), 0);
			ASSERT_EQ(sum_of(&a, l.jobs, JOBS) + a.carry_uj[POOL_PACKAGE] +
					  a.carry_uj[POOL_NODE],
				  truth + a.debt_uj);
			ASSERT(a.carry_uj[POOL_PACKAGE] < 2 * (JOBS + 3) &&
			       a.carry_uj[POOL_NODE] < 2 * (JOBS + 3));
			for (size_t k = 0; k < JOBS; k++) {
				ASSERT(energy_owner_total(&l.jobs[k]) >= l.totals[k]);
				l.totals[k] = energy_owner_total(&l.jobs[k]);
			}
			ASSERT(energy_owner_total(&a.system) >= system &&
			       energy_owner_total(&a.idle) >= idle &&
			       energy_owner_total(&a.unattributed) >= unattributed);
			system = energy_owner_total(&a.system);
			idle = energy_owner_total(&a.idle);
			unattributed = energy_owner_total(&a.unattributed);
		}
	}
}

/* The same with the jobs in another order: not a microjoule goes elsewhere. */
TEST(the_order_of_jobs_changes_nothing)
{
	for (unsigned int history = 0; history < HISTORIES; history++) {
		struct attribution a = { .policy = (enum energy_policy)test_below(POLICY_COUNT) };
		struct attribution b = a;
		struct life l = {}, m;
		struct energy_owner *forward[JOBS], *backward[JOBS];

		for (unsigned int step = 0; step < STEPS; step++) {
			const uint64_t uj = test_below(1000000007);
			const struct energy_interval i = { .uj = uj,
							   .idle_uj = test_below(uj + 1),
							   .capacity = CORES * 1000000 };

			live(&l, &a, 1000);
			if (step == 0)
				m = l;
			for (size_t k = 0; k < JOBS; k++) {
				m.jobs[k].cpu = l.jobs[k].cpu;
				m.jobs[k].memory = l.jobs[k].memory;
				memcpy(m.jobs[k].marks, l.jobs[k].marks, sizeof(m.jobs[k].marks));
				forward[k] = &l.jobs[k];
				backward[k] = &m.jobs[JOBS - 1 - k];
			}
			b.system.cpu = a.system.cpu;
			attribution_close(&a, channel(&a, POOL_PACKAGE), &i, forward, JOBS);
			attribution_close(&b, channel(&b, POOL_PACKAGE), &i, backward, JOBS);
			for (size_t k = 0; k < JOBS; k++)
				ASSERT_EQ(energy_owner_total(&l.jobs[k]),
					  energy_owner_total(&m.jobs[k]));
		}
	}
}

/* Two jobs that are alike have the same; whoever worked more, with as much allocated, has no less.
 */
TEST(alike_jobs_have_alike_energy)
{
	for (unsigned int history = 0; history < HISTORIES; history++) {
		struct attribution a = { .policy = (enum energy_policy)test_below(POLICY_COUNT) };
		struct energy_owner jobs[3] = {}, *owners[3];

		point(jobs, owners, 3);
		for (unsigned int step = 0; step < STEPS; step++) {
			const uint64_t uj = test_below(1000000007), work = test_below(1000000007),
				       allocated = test_below(8000000);
			const struct energy_interval i = { .uj = uj,
							   .idle_uj = test_below(uj + 1),
							   .capacity = CORES * 1000000 };

			jobs[0].cpu.work += work;
			jobs[1].cpu.work += work;
			jobs[2].cpu.work += work + test_below(1000);
			for (size_t k = 0; k < 3; k++)
				jobs[k].cpu.allocated += allocated;
			a.system.cpu.work += test_below(1000000007);
			attribution_close(&a, channel(&a, POOL_PACKAGE), &i, owners, 3);
			ASSERT_EQ(energy_owner_total(&jobs[0]), energy_owner_total(&jobs[1]));
			ASSERT(energy_owner_total(&jobs[2]) >= energy_owner_total(&jobs[0]));
		}
	}
}

TEST(more_channels_than_there_is_room_for_lose_no_energy)
{
	struct attribution a = {};
	struct energy_owner job = { .cpu.work = 1 }, *owners[] = { &job };

	for (uint64_t i = 0; i < 3 * ENERGY_CHANNELS_MAX; i++) {
		const struct energy_channel c = {
			.pool = POOL_PACKAGE,
			.level = ENERGY_COMPONENT,
			.quality = ENERGY_ATTRIBUTED,
			.source = "made",
			.uncertainty_permille = (unsigned int)i,
		};
		const struct energy_interval interval = second(1009, 0);
		int index = attribution_channel(&a, &c);

		ASSERT(index >= 0);
		ASSERT(a.channels[index].uncertainty_permille >= i);
		attribution_close(&a, (size_t)index, &interval, owners, 1);
	}
	ASSERT_EQ(sum_of(&a, &job, 1), 3u * ENERGY_CHANNELS_MAX * 1009);
}
