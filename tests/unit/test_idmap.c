/* SPDX-License-Identifier: MIT */
#include "basic/idmap.h"

#include <stdlib.h>

#include "basic/cleanup.h"
#include "test.h"

static char values[4096];

TEST(an_empty_map_has_nothing)
{
	struct idmap map = {};
	size_t at = 0;

	ASSERT(!idmap_get(&map, 0));
	ASSERT(!idmap_remove(&map, 7));
	ASSERT(!idmap_next(&map, &at));
	idmap_clear(&map);
}

TEST(any_number_is_a_key)
{
	_cleanup_(idmap_clear) struct idmap map = {};

	ASSERT_OK(idmap_put(&map, 0, &values[1]));
	ASSERT_OK(idmap_put(&map, UINT64_MAX, &values[2]));
	ASSERT(idmap_get(&map, 0) == &values[1]);
	ASSERT(idmap_get(&map, UINT64_MAX) == &values[2]);
	ASSERT(!idmap_get(&map, 1));
	ASSERT_OK(idmap_put(&map, 0, &values[3]));
	ASSERT(idmap_get(&map, 0) == &values[3]);
	ASSERT_EQ(map.count, (size_t)2);
}

/* Against a plain array, with keys that collide. */
TEST(what_was_put_is_found_until_it_is_removed)
{
	_cleanup_(idmap_clear) struct idmap map = {};
	bool is_there[512] = {};
	size_t count = 0;
	unsigned int random = 1;

	for (int step = 0; step < 20000; step++) {
		size_t i;
		uint64_t key;

		random = random * 1103515245 + 12345;
		i = random >> 8 & 511;
		key = i << 40; /* low bits tell nothing */
		if (random & 1 << 30) {
			ASSERT_OK(idmap_put(&map, key, &values[i]));
			count += !is_there[i];
			is_there[i] = true;
		} else {
			ASSERT((idmap_remove(&map, key) == &values[i]) == is_there[i]);
			count -= is_there[i];
			is_there[i] = false;
		}
		ASSERT_EQ(map.count, count);
	}
	for (size_t i = 0; i < 512; i++)
		ASSERT(idmap_get(&map, (uint64_t)i << 40) == (is_there[i] ? &values[i] : NULL));
}

TEST(a_walk_shows_each_value_once)
{
	_cleanup_(idmap_clear) struct idmap map = {};
	size_t seen = 0, at = 0;

	for (size_t i = 0; i < 1000; i++)
		ASSERT_OK(idmap_put(&map, i * i, &values[i]));
	for (char *value; (value = idmap_next(&map, &at));) {
		ASSERT_EQ(*value, 0);
		*value = 1;
		seen++;
	}
	ASSERT_EQ(seen, (size_t)1000);
}
