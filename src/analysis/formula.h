/* SPDX-License-Identifier: MIT */
/* formula - the table of numbers derived from a record's metrics. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/amount.h"
#include "analysis/working_time.h"

struct mount_row;
struct record;
struct subject;

struct formula {
	const char *name;
	struct dimension dimension;
	bool is_of_rows; /* of the subject's row, or of all rows of files; else of the record */
	/* One of three: a function; an expression of rules with names of the record and of other
	 * formulas; or the offset of a struct value in the record, and a divisor (0: none). */
	struct amount (*compute)(const struct subject *subject, const struct formula *f);
	const char *help;
	enum metric_id id; /* arguments of compute() */
	uint32_t argument;
	const char *expression;
	size_t value;
	double divisor;
	bool is_of_record; /* about the record, not the job: records are not compared by it */
};

size_t formula_count(void);
const struct formula *formula_get(size_t i);

/* Of a mount, or without a known mount. */
bool row_is_of_files(const struct mount_row *row);
/* Its files are devices (devtmpfs, devpts, /dev). */
bool row_holds_devices(const struct mount_row *row);

/* The sum of a metric over the rows of file systems that hold data: no pipes and sockets, no /proc,
 * no /dev.  False: not known. */
bool formula_data_total(const struct record *r, enum metric_id id, uint64_t *ret);

#define SMALL_REQUEST_BYTES 65536 /* below it a request is small */

/* The time of all threads: on a CPU, waiting for one, blocked. */
struct amount thread_time(const struct record *r);

/* Of the subject's record, from its cached times if there are any. */
struct core_time formula_core(const struct subject *s);
struct working_time formula_working(const struct subject *s);
const struct rank_time *formula_odd_rank(const struct subject *s, struct deviation *ret);
