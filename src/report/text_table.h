/* SPDX-License-Identifier: MIT */
/*
 * text_table - a table of rows that fits a page.
 *
 * Numbers stand to the right.  Where the page is too narrow columns that may be are shortened, then
 * the first one, a path in its beginning and other words in their middle, and then columns go,
 * those with the highest rank first.  Without any head there is no line of heads.
 */
#pragma once

#include <stddef.h>

struct page;
struct rows_table;

/* With @label before its head; it must have rows. */
void text_table(const struct rows_table *t, const char *label, struct page *page);

/* What of @path fits: its end tells more than its beginning.  The caller frees. */
char *text_path(const char *path, size_t columns);
