/* SPDX-License-Identifier: MIT */
#include "tui/top_node.h"

#include <math.h>

#include "made_top.h"
#include "model/node_values.h"
#include "test.h"

#define S UINT64_C(1000000000)

static struct node_values at(uint64_t seconds)
{
	struct node_values v = { .boot_ns = (1000 + seconds) * S };

	for (size_t i = NODE_CPU_USER; i <= NODE_CPU_STEAL; i++)
		v.values[i] = (struct value){ 100 * S, true };
	v.values[NODE_CPU_USER].number += seconds * S;
	v.values[NODE_CPU_IDLE].number += 3 * seconds * S;
	v.values[NODE_PRESSURE_CPU] = (struct value){ seconds * S / 2, true };
	return v;
}

TEST(shares_are_of_the_time_between_both_readings)
{
	const struct node_values before = at(0), now = at(2);
	const struct node_now n = node_now_of(&now, &before);

	ASSERT(test_is_near(n.busy, 0.25));
	ASSERT(test_is_near(n.user, 0.25));
	ASSERT(test_is_near(n.kernel, 0));
	ASSERT(test_is_near(n.pressure_cpu, 0.5));
	ASSERT(isnan(n.pressure_io) && isnan(n.memory) && isnan(n.swap) && isnan(n.load[0]));
}

TEST(time_that_waits_for_disks_may_fall_and_nothing_else)
{
	const struct node_values before = at(0);
	struct node_values now = at(2);

	now.values[NODE_CPU_IOWAIT].number -= S;
	ASSERT(test_is_near(node_now_of(&now, &before).busy, 0.25));
	now.values[NODE_CPU_USER].number = 0;
	ASSERT(isnan(node_now_of(&now, &before).busy));
}

TEST(without_a_reading_before_there_are_no_rates)
{
	const struct node_values none = {}, now = at(2), later = at(3);

	ASSERT(isnan(node_now_of(&now, &none).busy));
	ASSERT(isnan(node_now_of(&now, &none).pressure_cpu));
	ASSERT(isnan(node_now_of(&now, &later).busy)); /* of another boot */
	ASSERT(isnan(node_now_of(&none, &now).busy));
}

TEST(no_swap_is_no_share_of_it)
{
	struct node_values v = at(1);

	v.values[NODE_SWAP_TOTAL] = v.values[NODE_SWAP_FREE] = (struct value){ 0, true };
	ASSERT(isnan(node_now_of(&v, &v).swap));
	ASSERT(node_now_of(&v, &v).swap_total == 0);
}
