/* SPDX-License-Identifier: MIT */
/*
 * row_cache - the kernel side's rows of files by cgroup, so that a sample reads only those of
 * active cgroups: the kernel side reports new and changed rows (see bpf/rows.bpf.h).
 *
 * All rows are read at first, once a minute, and if the changed ones are unknown or slower to read
 * one by one.  A key takes 16 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters/cgroups.h"

struct row_cache;

int row_cache_open(struct meter *m, struct row_cache **ret); /* @m: as cgroups.h has it, and stays
								the caller's */
struct row_cache *row_cache_close(struct row_cache *b); /* NULL is fine; returns NULL */

/* The next reading takes all rows. */
void row_cache_invalidate(struct row_cache *b);

/*
 * Begin a reading: the cgroups that changed since or in the previous one, sorted; owned by the
 * cache until the next. NULL: unknown; then all rows are read, and *@ret_count is 0.
 */
const uint64_t *row_cache_begin(struct row_cache *b, uint64_t boot_ns, size_t *ret_count);

/*
 * The rows of those cgroups as they are now, of each all; or all that there are, then
 * *@ret_is_whole.  @cgroups is sorted, and NULL for all.  The caller frees *@ret.
 */
int row_cache_read(struct row_cache *b, const uint64_t *cgroups, size_t count,
		   struct cgroup_row **ret, size_t *ret_count, bool *ret_is_whole,
		   struct error *err);
