/* SPDX-License-Identifier: MIT */
/*
 * rows - the job's own rows of files, in the order in which they are told: mounts, then what is
 * none.  Those of kernel threads are not the job's, and never among them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "humanize.h"
#include "record.h"

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

/* How many operations on metadata failed on the row: "0", "≥3", or "-" where it is not known. */
struct rows_count {
	char text[sizeof(struct human) + sizeof("≥")];
};
struct rows_count rows_failed(const struct record *r, const struct mount_row *row);

/* Time of so many calls: "1.2 s", "≥1.2 s" where it was not taken of all of them, "-" where it is not known. */
struct rows_count rows_time(const struct record *r, bool is_known, uint64_t calls, uint64_t ns);

/* "≥" before figures that a note of the record calls a lower bound; else "". */
const char *rows_bound(const struct record *r);
