/* SPDX-License-Identifier: MIT */
#include "basic/ids.h"

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

TEST(of_sorted_ones_each_is_kept_once)
{
	uint64_t ids[] = { 1, 1, 2, 5, 5, 5, UINT64_MAX };

	ASSERT_EQ(ids_unique(ids, 7), (size_t)4);
	ASSERT_EQ(ids[1], (uint64_t)2);
	ASSERT_EQ(ids[2], (uint64_t)5);
	ASSERT_EQ(ids[3], UINT64_MAX);
	ASSERT_EQ(ids_unique(ids, 0), (size_t)0);
}

TEST(a_list_grows_and_is_empty_when_it_is_cleared)
{
	struct id_list list = {};

	for (uint64_t id = 0; id < 1009; id++)
		ASSERT_OK(id_list_add(&list, id * id));
	ASSERT_EQ(list.count, (size_t)1009);
	ASSERT_EQ(list.items[1008], (uint64_t)1008 * 1008);
	id_list_clear(&list);
	ASSERT(!list.items && !list.count);
	ASSERT_OK(id_list_add(&list, 7));
	id_list_clear(&list);
}
