/* SPDX-License-Identifier: MIT */
/* record_difference - what a job did between two of its records. */
#pragma once

#include <stdint.h>

struct error;
struct record;

/*
 * A new record of the time from @earlier to @later.  Counters and histograms are subtracted, rows
 * of files by mount and type; a row that only @later has began in between.  What only one of both
 * knows is unknown, and so is what fell, which a note says.  Peaks and limits are as @later has
 * them: a note says which peak did not rise in between, and so may be older; a step's is unknown
 * then.  A step that had ended before is left out, and so are files one by one. Samples of
 * frequency and temperature are @later's where @earlier had none yet, else unknown.
 *
 * -ESTALE: they are not of one job (manager, id, start) on one node since one boot.
 */
int record_subtract(const struct record *later, const struct record *earlier, struct record **ret,
		    struct error *err);

/* When @r was taken: ns since the epoch; 0: it does not say. */
uint64_t record_task_state(const struct record *r);
