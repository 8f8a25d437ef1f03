/* SPDX-License-Identifier: MIT */
/* steps - the parts of a job, as its manager numbers them, each with the job's own metrics and what
 * it sent and received. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

#define STEPS_MAX 4096

struct step {
	char *id; /* "0", "batch"; never NULL */
	uint64_t start_ns, end_ns; /* since the epoch; 0: not known, or not yet */
	struct value values[METRIC_JOB_COUNT];
	struct network network;
};

struct steps {
	struct step *items;
	size_t count;
};

/* A new step, all of it unknown; @id is copied.  The pointer holds until the next call.  NULL: no
 * memory, or there are STEPS_MAX. */
struct step *steps_add(struct steps *s, const char *id);
struct step *steps_find(const struct steps *s, const char *id); /* NULL: none */
void steps_clear(void *section); /* struct steps */

/* Does the manager start tasks in steps of that name, which are ranks then?  "0" and "7+1" are
 * such, "batch" is not. */
bool step_has_ranks(const char *id);

/* What a rank did: user and system time; @is_spun_known: without what it spun, waiting for others.
 * False: not known. */
bool rank_work(const struct value values[METRIC_JOB_COUNT], bool is_spun_known, uint64_t *ret_ns);
