/* SPDX-License-Identifier: MIT */
#include "ids.h"

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

bool ids_contain(const uint64_t *ids, size_t count, uint64_t id)
{
	return count && bsearch(&id, ids, count, sizeof(id), ids_compare);
}
