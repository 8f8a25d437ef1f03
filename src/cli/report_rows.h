/* SPDX-License-Identifier: MIT */
/*
 * report_rows - the job's own rows of files, in the order in which they are told: mounts, then what
 * is none.  Those of kernel threads are not the job's, and never among them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record.h"

struct table;

struct rows {
	const struct mount_row **items; /* owned; what they point to is the record's */
	size_t count;
};

/* What a row is chosen and ranked by; @what is the caller's. */
typedef uint64_t row_number(const struct mount_row *row, const void *what);

/* The rows of which @number is more than zero, the greatest first. */
struct rows rows_select(const struct record *r, row_number *number, const void *what);
void rows_clear(struct rows *rows);

/* The mounts beyond the first @shown are left out; what is no mount is always told. */
bool rows_leave_out(const struct rows *rows, size_t i, size_t shown);

/* Whether it is the job's own. */
bool row_is_own(const struct mount_row *row);

/* "≥" before figures that a note of the record calls a lower bound; else "". */
const char *report_bound(const struct record *r);

/* A cell with its bound; a zero is a zero, and its bound says no more than the note. */
void cell_bytes(struct table *table, const char *bound, uint64_t bytes);
void cell_count(struct table *table, const char *bound, uint64_t count);
