/* SPDX-License-Identifier: MIT */
/*
 * exposition_rows - the rows of one job in the order in which their series stand: those that are
 * shown by one name (two superblocks of a job with one name and type, or mounts for which the site
 * gave one name) together.  Within exposition only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/exposition.h"

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
	const struct snapshot_job *job; /* whose order it is */
	uint32_t *rows; /* NULL: as they stand */
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
