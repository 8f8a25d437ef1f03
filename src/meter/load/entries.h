/* SPDX-License-Identifier: MIT */
/*
 * entries - goes over all entries of a hash map of the kernel, some hundreds a system call.
 *
 *     _cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_FILES, "file_rows");
 *
 *     while ((r = entries_next(&e)) > 0)
 *             ...
 *
 * An entry that exists all the time is met once, one that comes or goes meanwhile perhaps.  On a
 * kernel without batches others may be met twice where one goes; never more than the map can hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entries {
	int fd; /* the caller's; negative: the reason why there is no map */
	size_t key_size, value_size;
	const void *key, *value; /* of the current entry, until the next call */

	char *keys, *values;
	uint32_t room, count, at; /* of the batch; one by one: count is the map's room */
	uint32_t place; /* where the next batch begins */
	bool has_begun, is_last, is_one_by_one;
};

struct entries entries_begin(int fd, size_t key_size, size_t value_size);
/* 1: the next entry is there; 0: that was all; -Exxx. */
int entries_next(struct entries *e);
void entries_end(struct entries *e);
