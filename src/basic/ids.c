/* SPDX-License-Identifier: MIT */
#include "basic/ids.h"
#include "basic/array.h"

#include <errno.h>
#include <stdlib.h>

int ids_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void ids_sort(uint64_t *ids, size_t count)
{
	if (count > 1)
		qsort(ids, count, sizeof(*ids), ids_compare);
}

size_t ids_find(const uint64_t *ids, size_t count, uint64_t id)
{
	const uint64_t *found = count ? bsearch(&id, ids, count, sizeof(id), ids_compare) : NULL;

	return found ? (size_t)(found - ids) : count;
}

bool ids_contain(const uint64_t *ids, size_t count, uint64_t id)
{
	return ids_find(ids, count, id) < count;
}

size_t ids_unique(uint64_t *ids, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!kept || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	}
	return kept;
}

int id_list_add(struct id_list *l, uint64_t id)
{
	if (array_reserve(&l->items, &l->room, l->count, sizeof(*l->items)) < 0)
		return -ENOMEM;
	l->items[l->count++] = id;
	return 0;
}

void id_list_clear(struct id_list *l)
{
	free(l->items);
	*l = (struct id_list){};
}
