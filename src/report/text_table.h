/* SPDX-License-Identifier: MIT */
/*
 * text_table - a table of rows that fits a page.
 *
 * Numbers stand to the right.  Where the page is too narrow the first column is shortened, a path
 * in its beginning and other words in their middle, and then columns go, those with the highest
 * rank first.
 */
#pragma once

#include <stddef.h>

struct page;
struct rows_table;

/* With @label before its head; it must have rows. */
void text_table(const struct rows_table *t, const char *label, struct page *page);

/* What of @path fits: its end tells more than its beginning.  The caller frees. */
char *text_path(const char *path, size_t columns);
