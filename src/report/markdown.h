/* SPDX-License-Identifier: MIT */
/* markdown - text of others within Markdown: it means nothing there, no control character comes
 * out, and what is too long is cut. */
#pragma once

#include <stdio.h>

#define MARKDOWN_TEXT_MAX 400 /* characters */

/* Each sign of Markdown is escaped, also those of tables. */
void markdown_put(const char *text, FILE *out);

/* The same as code, which must not stand in a table. */
void markdown_put_code(const char *text, FILE *out);
