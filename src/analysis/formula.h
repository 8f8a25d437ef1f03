/* SPDX-License-Identifier: MIT */
/* formula - the table of numbers that follow from a record's metrics. */
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
	/* Over the subject's row, or over all rows of files if it has none; of the others only the
	 * record is looked at. */
	bool is_of_rows;
	/* One of the three: a function; an expression in the language of rules, of names of the
	 * record and of other formulas; or where the record has it as a struct value, and what that
	 * is divided by (0: nothing). */
	struct amount (*compute)(const struct subject *subject);
	const char *help;
	const char *expression;
	size_t value;
	double divisor;
	bool is_of_record; /* it says what the record knows, and nothing of the job: two records
			      are not compared by it */
};

size_t formula_count(void);
const struct formula *formula_get(size_t i);

/* Are files what it tells of?  Mounts, and rows whose mount is not known. */
bool row_is_of_files(const struct mount_row *row);
/* And are these devices (devtmpfs, devpts, /dev)? */
bool row_holds_devices(const struct mount_row *row);

/* What a metric of files sums to over the rows of file systems that hold data: no pipes and
 * sockets, no /proc, no /dev.  False: not known. */
bool formula_data_total(const struct record *r, enum metric_id id, uint64_t *ret);

#define SMALL_REQUEST_BYTES 65536 /* below it a request is small */

/* What threads did all their time: on a CPU, waiting for one, blocked. */
struct amount thread_time(const struct record *r);

/* Of the subject's record, from its times where they were taken. */
struct core_time formula_core(const struct subject *s);
struct working_time formula_working(const struct subject *s);
