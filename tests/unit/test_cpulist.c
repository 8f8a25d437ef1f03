/* SPDX-License-Identifier: MIT */
#include "basic/cpulist.h"

#include <errno.h>

#include "test.h"

TEST(ranges_and_single_cpus_are_counted)
{
	struct cpulist list;

	ASSERT_OK(cpulist_parse("0-3,8\n", &list));
	ASSERT_EQ(cpulist_count(&list), 5U);
	ASSERT_OK(cpulist_parse("", &list));
	ASSERT_EQ(cpulist_count(&list), 0U);
	ASSERT_OK(cpulist_parse("8191", &list));
	ASSERT_EQ(cpulist_count(&list), 1U);
}

TEST(what_is_no_list_is_refused_and_leaves_the_result_alone)
{
	struct cpulist list = { .bits = { 5 } };
	static const char *const broken[] = { "a", "1-", "-1", "3-1", "1,,2", "1;2", "0x3", " 1" };

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ASSERT_ERR(cpulist_parse(broken[i], &list), -EINVAL);
	ASSERT_ERR(cpulist_parse("8192", &list), -ERANGE);
	ASSERT_ERR(cpulist_parse("0-99999999999999999999", &list), -ERANGE);
	ASSERT_EQ(cpulist_count(&list), 2U);
}

TEST(a_union_is_written_in_the_kernels_own_form)
{
	struct cpulist a, b;

	ASSERT_OK(cpulist_parse("0-1,63", &a));
	ASSERT_OK(cpulist_parse("2,64,100-101", &b));
	cpulist_add(&a, &b);
	ASSERT_TEXT(cpulist_format(&a), "0-2,63-64,100-101");
}

TEST(the_last_cpu_can_be_written)
{
	struct cpulist list = {};

	cpulist_set(&list, CPULIST_MAX - 1);
	ASSERT_TEXT(cpulist_format(&list), "8191");
}
