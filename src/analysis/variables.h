/* SPDX-License-Identifier: MIT */
/*
 * variables - the names that rules may use, and their values in a record.
 *
 * Every scalar metric of the model's table has one (cpu_user_seconds, memory_peak_bytes,
 * read_calls, open_errors), and so have formulas (cpu_efficiency, memory_usage). Sums over rows of
 * files leave out the row of kernel threads. The prefix "mount_" means one mount, for rules that
 * are evaluated for each mount.
 *
 * Unknown values are never zero.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/amount.h"
#include "model/file_op.h"

#define MOUNT_PREFIX "mount_"

struct expression;
struct mount_row;
struct patterns;
struct record;

/* What a value is taken from. */
struct subject {
	const struct record *record;
	const struct mount_row *row; /* of a rule for each mount; else NULL */
	bool lacks_places; /* the record does not know where operations by path were: a row's
			    * failures are not all of its mount */
	const struct record_times *times; /* of the record; NULL: taken at each question */
	const struct patterns *patterns; /* patterns of its timeline, or NULL */
	const struct subject *baseline; /* for multiples such as "1.1x"; else NULL */
};

enum variable_source {
	VARIABLE_VALUE, /* a metric of the job */
	VARIABLE_ROWS, /* a metric of a mount, or of all operations on metadata */
	VARIABLE_OP, /* of one operation on metadata */
	VARIABLE_INTERFACE, /* of one way of data */
	VARIABLE_FILES, /* of the files that were followed one by one */
	VARIABLE_NETWORK, /* of all kinds of sockets together */
	VARIABLE_BLOCK, /* of all block devices together */
	VARIABLE_GPU, /* of all GPUs that it held together */
	VARIABLE_BLOCKED_SHARE, /* time blocked on one cause, as a share of the threads' time */
	VARIABLE_LOST, /* core time that was lost to one cause */
	VARIABLE_LOST_SHARE,
	VARIABLE_WORKING_SHARE, /* time in one cause, as a share of the working time */
	VARIABLE_FORMULA,
	VARIABLE_PATTERN, /* a pattern of the timeline */
	VARIABLE_OWN, /* a site's, made of others */
};

struct variable {
	char *name; /* owned by the table */
	enum variable_source source;
	enum metric_id id; /* of those that are a metric */
	enum file_op op; /* of VARIABLE_OP */
	enum file_interface interface; /* of VARIABLE_INTERFACE */
	size_t cause; /* of those by cause, LOST_RUN_QUEUE and LOST_STOLEN among them */
	size_t formula; /* of VARIABLE_FORMULA */
	size_t pattern; /* of VARIABLE_PATTERN: a pattern_name() */
	bool is_mount; /* "mount_...": of the subject's row */
	struct dimension dimension;
	const char *help;
	struct expression *expression; /* of VARIABLE_OWN, and of a formula that is one; owned by
					  the table */
	char *text; /* and as it was written: its help */
};

#define VARIABLES_OWN_MAX 64

struct variables { /* sorted as the model has them, formulas behind, then a site's own */
	struct variable *items;
	size_t count;
	size_t own_begin; /* where a site's own begin */
};

struct variables *variables_new(void); /* NULL: no memory */
struct variables *variables_free(struct variables *v); /* NULL is fine; returns NULL */
void variables_freep(struct variables **v);

/* Add or change a site's own. @e uses other names of the table only, and is taken over on
 * success. -ENOSPC: there are VARIABLES_OWN_MAX already. */
int variables_set_own(struct variables *v, const char *name, const char *text,
		      struct expression *e);

bool variable_is_own(const struct variable *variable);

/* By its name, without "_seconds" or "_bytes" at its end where that is unambiguous (not of a
 * site's own). @length: of the name, which need not end there. NULL: unknown. */
const struct variable *variables_find(const struct variables *v, const char *name, size_t length);

/* The value for @subject; unknown if it is of a mount and the subject has no row. */
struct amount variable_get(const struct variable *variable, const struct subject *subject);
