/* SPDX-License-Identifier: MIT */
/* rows_markdown - rows as Markdown, for a mail or a ticket. */
#pragma once

#include <stdio.h>

struct rows;

void rows_markdown(const struct rows *rows, FILE *out);
