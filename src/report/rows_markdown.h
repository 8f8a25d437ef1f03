/* SPDX-License-Identifier: MIT */
/* rows_markdown - rows as Markdown, for a mail or a ticket. */
#pragma once

#include <stdio.h>

struct rows;

void rows_markdown(const struct rows *rows, FILE *out);

#define MARKDOWN_TEXT_MAX 400 /* characters */

/* Each sign of Markdown is escaped, also those of tables. */
void markdown_put(const char *text, FILE *out);

/* The same as code, which must not stand in a table. */
void markdown_put_code(const char *text, FILE *out);
