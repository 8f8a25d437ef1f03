/* SPDX-License-Identifier: MIT */
#include "load/tiers.h"

#include <errno.h>

#include "basic/error.h"
#include "test.h"

TEST(each_tier_is_named_once_and_has_objects_of_its_own)
{
	unsigned int tiers = 0, objects = 0;

	for (size_t i = 0; i < meter_tier_count; i++) {
		const struct tier *tier = &meter_tiers[i];

		ASSERT(tier_get(tier->tier) == tier);
		ASSERT(!(tiers & tier->tier) && !(objects & tier->objects));
		ASSERT(tier->objects && tier->gives && tier->missing);
		tiers |= tier->tier;
		objects |= tier->objects;
	}
	ASSERT_EQ(tiers, METER_ALL);
}

TEST(a_list_of_tiers_is_taken_in_any_order)
{
	struct error err = {};
	unsigned int tiers = 7;

	ASSERT_OK(tiers_parse("none", &tiers, &err));
	ASSERT_EQ(tiers, 0u);
	ASSERT_OK(tiers_parse("files,totals", &tiers, &err));
	ASSERT_EQ(tiers, (unsigned int)(METER_T0 | METER_T2));
	ASSERT_OK(tiers_parse("wait_times", &tiers, &err));
	ASSERT_EQ(tiers, (unsigned int)METER_T1);
	ASSERT_OK(tiers_parse("T2,T0", &tiers, &err)); /* as records have them */
	ASSERT_EQ(tiers, (unsigned int)(METER_T0 | METER_T2));
	ASSERT_OK(tiers_parse("T1", &tiers, &err));
	ASSERT_EQ(tiers, (unsigned int)METER_T1);
}

TEST(anything_else_is_refused_and_changes_nothing)
{
	static const char *const wrong[] = { "",       "T",	  "T3",	     "T0,", ",T0",
					     "T0,,T1", "T0 T1",	  "none,T0", "t0",  "T01",
					     "file",   "totals,", "wait" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error err = {};
		unsigned int tiers = 42;

		ASSERT_ERR(tiers_parse(wrong[i], &tiers, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "totals,wait_times,files");
		ASSERT_EQ(tiers, 42u);
	}
}
