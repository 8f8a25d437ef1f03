/* SPDX-License-Identifier: MIT */
/* html_table - tables with heads that are heads, in boxes of their own that scroll where a page is
 * narrow. */
#pragma once

#include <stddef.h>

#include "html.h"

struct html_column {
	const char *head;
	const char *group; /* a head above those of neighbours that have the same; NULL: none */
	bool is_text;	   /* else a number, which stands to the right; the first always is text */
};

/* @label says what it is to those who do not see it. */
void html_table_begin(struct html *h, const char *label, const struct html_column *columns,
		      size_t count);
void html_table_end(struct html *h);

/* The first cell of a row, which names it.  What html_* put between the two is in it, too. */
void html_table_begin_row(struct html *h, const char *format, ...) PRINTF_LIKE(2, 3);
void html_table_end_name(struct html *h);
/* Further ones, in the columns' order. */
void html_table_cell(struct html *h, const char *format, ...) PRINTF_LIKE(2, 3);
void html_table_text(struct html *h, const char *format, ...) PRINTF_LIKE(2, 3);
void html_table_end_row(struct html *h);
