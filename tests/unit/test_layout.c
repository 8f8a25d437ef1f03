/* SPDX-License-Identifier: MIT */
#include "load/pins.h"

#include <errno.h>

#include "test.h"

static uint64_t hash_of(const char *a, const char *b, uint64_t number)
{
	struct layout l;

	layout_begin(&l);
	layout_add_text(&l, a);
	layout_add_text(&l, b);
	layout_add_number(&l, number);
	return l.hash;
}

TEST(the_same_things_have_the_same_number)
{
	ASSERT_EQ(hash_of("code", "map", 8192), hash_of("code", "map", 8192));
}

TEST(one_bit_makes_another)
{
	ASSERT(hash_of("code", "map", 8192) != hash_of("code", "map", 8193));
	ASSERT(hash_of("code", "map", 1) != hash_of("code", "map", UINT64_C(1) << 63));
	ASSERT(hash_of("code", "map", 1) != hash_of("codf", "map", 1));
}

TEST(where_a_thing_ends_and_their_order_count)
{
	ASSERT(hash_of("ab", "c", 1) != hash_of("a", "bc", 1));
	ASSERT(hash_of("", "a", 1) != hash_of("a", "", 1));
	ASSERT(hash_of("a", "b", 1) != hash_of("b", "a", 1));
}

TEST(its_name_is_16_digits_whatever_it_is)
{
	char name[LAYOUT_NAME_SIZE];

	layout_format(&(struct layout){ 0 }, name);
	ASSERT_STREQ(name, "0000000000000000");
	ASSERT_OK(layout_check_name(name));
	layout_format(&(struct layout){ UINT64_C(0xfedcba9876543210) }, name);
	ASSERT_STREQ(name, "fedcba9876543210");
	ASSERT_OK(layout_check_name(name));
}

TEST(other_names_are_no_layouts)
{
	static const char *const names[] = { "",
					     "maps",
					     "fedcba987654321",
					     "fedcba98765432100",
					     "FEDCBA9876543210",
					     "fedcba987654321/",
					     "0x23456789abcdef" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ASSERT_ERR(layout_check_name(names[i]), -EINVAL);
}
