/* SPDX-License-Identifier: MIT */
/* rows_markdown - rows as Markdown, for a mail or a ticket. */
#pragma once

#include <stdio.h>

struct classes;
struct insight;
struct rows;

void rows_markdown(const struct rows *rows, FILE *out);

/* What it says, advises and directs, to the end of the line. */
void markdown_insight(const struct insight *insight, FILE *out);
