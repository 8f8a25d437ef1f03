/* SPDX-License-Identifier: MIT */
/*
 * table - rows and columns that fit a page.
 *
 * Numbers stand to the right.  Where the page is too narrow the first column is shortened in its
 * middle, and then columns go, those with the highest rank first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "page.h"

struct table; /* opaque */

struct table_column {
	const char *head;
	bool is_left;	   /* the first always is */
	unsigned int rank; /* 0: never goes */
};

#define TABLE_COLUMNS_MAX 16
#define TABLE_FIRST_MIN 12 /* the first column is not shortened below this while others can go */

/* @columns must outlive the table.  NULL: no memory. */
struct table *table_new(const struct table_column *columns, size_t count);
struct table *table_free(struct table *t); /* NULL is fine; returns NULL */
void table_freep(struct table **t);

/* The next cell, row by row.  What does not fit in memory is missed at the end. */
void table_cell(struct table *t, const char *format, ...) PRINTF_LIKE(2, 3);

/* The columns that all of it takes if the first column is shortened to @first_max. */
size_t table_width(const struct table *t, size_t first_max);

/* Print it with @label before its head; nothing if it has no rows. */
void table_print(const struct table *t, const char *label, struct page *page);
