/* SPDX-License-Identifier: MIT */
/*
 * idmap - finds what belongs to a 64-bit number, in constant time; grows as it fills.
 *
 * Open addressing with linear probing.  Any number is a key; values are the caller's, and never
 * NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap { /* begins as {} */
	struct idmap_entry {
		uint64_t key;
		void *value; /* NULL: empty */
	} * entries;
	size_t size, count; /* size: a power of two, or 0 */
};

/* NULL: there is none. */
void *idmap_get(const struct idmap *map, uint64_t key);

/* Add, or replace.  -ENOMEM: nothing has changed. */
int idmap_put(struct idmap *map, uint64_t key, void *value);

/* What was there, or NULL. */
void *idmap_remove(struct idmap *map, uint64_t key);

/* The next value behind *@at, which begins as 0; NULL: that was all.  The map must not change
 * meanwhile. */
void *idmap_next(const struct idmap *map, size_t *at);

/* Frees what the map owns, which is not the values; it is empty then. */
void idmap_clear(struct idmap *map);
