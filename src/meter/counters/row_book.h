/* SPDX-License-Identifier: MIT */
/*
 * row_book - which rows of files the kernel side has, by leaf, so that a reading takes only those of leaves that did
 * something: the kernel side tells of rows that are new or that change (see bpf/rows.bpf.h).
 *
 * All rows are read at first, once a minute, and whenever it is not known which changed or it would take longer to
 * read those one by one.  A key takes 16 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters/leaves.h"

struct row_book;

int row_book_open(struct meter *m, struct row_book **ret); /* @m: as leaves.h has it, and stays the caller's */
struct row_book *row_book_close(struct row_book *b);	   /* NULL is fine; returns NULL */

/* The next reading takes all rows. */
void row_book_distrust(struct row_book *b);

/*
 * Begin a reading: the leaves that changed since the one before, or had changed in it, sorted; they stay the book's
 * until the next.  NULL: not known which; then so are all rows the answer, and *@ret_count is 0.
 */
const uint64_t *row_book_begin(struct row_book *b, uint64_t boot_ns, size_t *ret_count);

/*
 * The rows of those leaves as they are now, whole leaves, and of LEAF_OTHER; or all, then *@ret_is_whole.  @leaves is
 * sorted, and NULL for all.  The caller frees *@ret.
 */
int row_book_read(struct row_book *b, const uint64_t *leaves, size_t count, struct leaf_row **ret, size_t *ret_count,
		  bool *ret_is_whole, struct error *err);
