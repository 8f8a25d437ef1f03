/* SPDX-License-Identifier: MIT */
/* report_rows - cells of tables of rows of files. */
#pragma once

#include "rows.h"

struct table;

/* A cell with its bound; a zero is a zero, and its bound says no more than the note. */
void cell_bytes(struct table *table, const char *bound, uint64_t bytes);
void cell_count(struct table *table, const char *bound, uint64_t count);
