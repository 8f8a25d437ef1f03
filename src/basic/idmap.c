/* SPDX-License-Identifier: MIT */
#include "basic/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define SIZE_MIN 16

/* Ids come one after the other, so that their low bits alone would do for most; the upper bits of a
 * product with the golden ratio do for all. */
static size_t baseline_of(const struct idmap *map, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (map->size - 1);
}

/* The slot of the key, or the empty slot for it; the map has one. */
static struct idmap_entry *find(const struct idmap *map, uint64_t key)
{
	size_t i = baseline_of(map, key);

	while (map->entries[i].value && map->entries[i].key != key)
		i = (i + 1) & (map->size - 1);
	return &map->entries[i];
}

void *idmap_get(const struct idmap *map, uint64_t key)
{
	return map->size ? find(map, key)->value : NULL;
}

static int grow(struct idmap *map)
{
	struct idmap larger = { .size = map->size ? map->size * 2 : SIZE_MIN, .count = map->count };

	larger.entries = calloc(larger.size, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->size; i++) {
		if (map->entries[i].value)
			*find(&larger, map->entries[i].key) = map->entries[i];
	}
	free(map->entries);
	*map = larger;
	return 0;
}

int idmap_put(struct idmap *map, uint64_t key, void *value)
{
	struct idmap_entry *entry;

	if (map->count * 4 >= map->size * 3) { /* at most three quarters full */
		int r = grow(map);

		if (r < 0)
			return r;
	}
	entry = find(map, key);
	map->count += !entry->value;
	*entry = (struct idmap_entry){ key, value };
	return 0;
}

void *idmap_remove(struct idmap *map, uint64_t key)
{
	struct idmap_entry *entry;
	void *value;
	size_t hole;

	if (!map->size)
		return NULL;
	entry = find(map, key);
	value = entry->value;
	if (!value)
		return NULL;
	entry->value = NULL;
	map->count--;
	/* Those behind it may have been looking for this place. */
	hole = (size_t)(entry - map->entries);
	for (size_t i = (hole + 1) & (map->size - 1); map->entries[i].value;
	     i = (i + 1) & (map->size - 1)) {
		size_t baseline = baseline_of(map, map->entries[i].key);

		if (((i - baseline) & (map->size - 1)) < ((i - hole) & (map->size - 1)))
			continue;
		map->entries[hole] = map->entries[i];
		map->entries[i].value = NULL;
		hole = i;
	}
	return value;
}

void *idmap_next(const struct idmap *map, size_t *at)
{
	while (*at < map->size) {
		void *value = map->entries[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}

void idmap_clear(struct idmap *map)
{
	free(map->entries);
	*map = (struct idmap){};
}
