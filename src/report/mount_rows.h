/* SPDX-License-Identifier: MIT */
/*
 * mount_rows - the job's own rows of files, in the order in which they are told: mounts, then what
 * is none.  Those of kernel threads are not the job's, and never among them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/record.h"
#include "model/rows.h"

struct mount_rows {
	const struct mount_row **items; /* owned; what they point to is the record's */
	size_t count;
};

/* What a row is chosen and ranked by; @what is the caller's. */
typedef uint64_t mount_number(const struct mount_row *row, const void *what);

/* The rows of which @number is more than zero, the greatest first. */
struct mount_rows mount_rows_select(const struct record *r, mount_number *number, const void *what);
void mount_rows_clear(struct mount_rows *rows);

/* How long calls took on files and in directories, in nanoseconds; what is not known may be long.
 */
struct file_times {
	uint64_t read_ns, write_ns;
	uint64_t other_ns; /* metadata and sync, on whatever */
};

struct file_times file_times_of(const struct record *r);
/* Of io_uring and libaio the time is not known: are there next to none of those? */
bool mount_row_is_timed(const struct mount_row *row, enum file_op op);

/* The mounts beyond the first @shown are left out; what is no mount is always told. */
bool mount_rows_leave_out(const struct mount_rows *rows, size_t i, size_t shown);

/* How many operations on metadata failed on the row: 0, "≥3", or "-" where it is not known. */
struct rows_cell cell_failed(const struct record *r, const struct mount_row *row);

/* Time of so many calls: "1.2 s", "≥1.2 s" where it was not taken of all of them, "-" where it is
 * not known. */
struct rows_cell cell_time(const struct record *r, bool is_known, uint64_t calls, uint64_t ns);

/* Over all mounts, or "-". */
struct rows_cell cell_total(const struct record *r, enum metric_id id);

/* The mean of the calls that did not fail. */
struct rows_cell cell_mean(const struct op_counts *counts);

/* The rest of the note that begins so; NULL: there is none. */
const char *record_note(const struct record *r, const char *beginning);

/* A note of the record calls its figures a lower bound. */
bool record_is_bound(const struct record *r);
