/* SPDX-License-Identifier: MIT */
/* exposition_parts - what the files of the exposition share: one sample or heading as text, with
 * what others wrote made harmless, and the order of rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/exposition.h"
#include "model/metric.h"

#define LABEL_MAX_BYTES 192 /* of a value, before it is escaped */
#define LINE_SIZE 8192 /* a heading and twice the six labels of a sample, all escaped: 6.5 KiB */

struct line {
	enum exposition_format format;
	char prefix[METRIC_PREFIX_SIZE]; /* of names, instead of METRIC_PREFIX */
	size_t length, given; /* of @text: all, and what has been handed out */
	bool has_label;
	size_t labels; /* of the sample: where in @text they begin */
	uint64_t created_ns; /* when the sample's counter began; 0: it is not said */
	char text[LINE_SIZE];
};

/* HELP, TYPE and UNIT of a family. */
void line_put_family(struct line *line, const struct metric *metric);

/* One sample is: begin, labels, end. */
void line_begin(struct line *line, const struct metric *metric);
/* A value of NULL is an empty one.  One that is too long or no valid UTF-8 is made so and gets a
 * mark, so that two different ones stay different. */
void line_put_label(struct line *line, const char *name, const char *value);
void line_end(struct line *line, const struct metric *metric, uint64_t number);

void line_put(struct line *line, const char *text);

/*
 * exposition_rows - the rows of one job in the order in which their series stand: those that are
 * shown by one name (two superblocks of a job with one name and type, or mounts for which the site
 * gave one name) together.  Within exposition only.
 */

/* How the mounts of a snapshot are shown. */
struct shown_mounts {
	const struct snapshot *snapshot;
	const struct exposition_name *names;
	uint32_t *first; /* by mount: the first one that is shown the same way; NULL: each by itself
			  */
};

int shown_mounts_init(struct shown_mounts *m, const struct snapshot *snapshot,
		      const struct exposition_name *names);
void shown_mounts_clear(struct shown_mounts *m);
/* The label's value. */
const char *shown_mounts_name(const struct shown_mounts *m, uint32_t mount);

struct row_order { /* begins as {} */
	const struct snapshot_job *job; /* that is ordered */
	uint32_t *rows; /* NULL: in their own order */
	size_t room;
};

/* Order the rows of @job; nothing to do if they are. */
int row_order_set(struct row_order *o, const struct shown_mounts *m,
		  const struct snapshot_job *job);
void row_order_clear(struct row_order *o);

/*
 * The next series of @id, from the row in place *@place on, which moves behind the last row of the
 * series; rows of the same mount (and operation, or way, as @id's scope is) are summed.  False: no
 * more.
 */
bool row_order_next(const struct row_order *o, const struct shown_mounts *m, enum metric_id id,
		    size_t *place, const struct snapshot_row **ret_row, uint64_t *ret_number);
