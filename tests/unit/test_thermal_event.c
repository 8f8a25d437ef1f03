/* SPDX-License-Identifier: MIT */
#include "sources/thermal.h"

#include "test.h"

#define S UINT64_C(1000000000)

TEST(an_event_begins_at_the_limit_and_ends_well_below_it)
{
	struct thermal_event e = { .limit = 75000 };

	thermal_event_take(&e, 74999, 1 * S);
	ASSERT_EQ(e.count, UINT64_C(0));
	thermal_event_take(&e, 75000, 3 * S);
	ASSERT_EQ(e.count, UINT64_C(1));
	thermal_event_take(&e, 73000, 8 * S); /* still the same */
	ASSERT_EQ(e.count, UINT64_C(1));
	ASSERT_EQ(e.ns, 5 * S);
	thermal_event_take(&e, 72999, 15 * S);
	ASSERT(!e.is_on);
	ASSERT_EQ(e.ns, 12 * S);
	thermal_event_take(&e, 74000, 26 * S);
	thermal_event_take(&e, 90000, 39 * S);
	ASSERT_EQ(e.count, UINT64_C(2));
	ASSERT_EQ(e.ns, 12 * S);
}
