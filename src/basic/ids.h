/* SPDX-License-Identifier: MIT */
/* ids - lists of 64-bit numbers that grow, or are sorted for look-ups. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int ids_compare(const void *a, const void *b); /* for qsort(3), of uint64_t */
void ids_sort(uint64_t *ids, size_t count);
size_t ids_find(const uint64_t *ids, size_t count, uint64_t id); /* of sorted ones; @count: not
								  * there
								  */
bool ids_contain(const uint64_t *ids, size_t count, uint64_t id); /* of sorted ones */
size_t ids_unique(uint64_t *ids, size_t count); /* each of sorted ones once; returns how many those
						   are */

struct id_list { /* begins as {} */
	uint64_t *items;
	size_t count, room;
};
int id_list_add(struct id_list *l, uint64_t id); /* at its end; -ENOMEM: nothing has changed */
void id_list_clear(struct id_list *l);
