/* SPDX-License-Identifier: MIT */
#include "ids.h"

#include "test.h"

TEST(sorted_ids_are_found_and_others_are_not)
{
	uint64_t ids[] = { 17, UINT64_MAX, 0, UINT64_C(1) << 63, 3 };

	ids_sort(ids, 5);
	for (size_t i = 1; i < 5; i++)
		ASSERT(ids[i - 1] < ids[i]);
	ASSERT(ids_contain(ids, 5, UINT64_MAX) && ids_contain(ids, 5, 0));
	ASSERT(!ids_contain(ids, 5, 4));
	ASSERT(!ids_contain(ids, 4, UINT64_MAX));
}

TEST(an_empty_list_needs_no_memory)
{
	ids_sort(NULL, 0);
	ASSERT(!ids_contain(NULL, 0, 0));
}
