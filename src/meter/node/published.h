/* SPDX-License-Identifier: MIT */
/*
 * published - what was shown of each job last, in memory that outlives an agent that is killed.
 *
 * How CPU time splits into user and system, and what files said of a group that is gone, is not
 * what it was when the next agent asks; so the least that may be shown is kept, as a file that is
 * mapped. It costs stores to memory at each reading, and no write.  An end in good order leaves
 * none: then the states say it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/snapshot.h"

struct published;

/* @path: of a file that is nobody else's, in a directory where only we may write; made if it is not
 * there, and emptied if it is of another boot or version, or none.  @slots: of how many jobs at
 * most; it takes room for a thousand at once, as they come. */
int published_open(const char *path, const char *boot_id, size_t slots, struct published **ret);
struct published *published_close(struct published *p); /* NULL is fine; returns NULL */
void published_closep(struct published **p);

/* Forget all. */
void published_clear(struct published *p);

/* What was shown of counters and peaks; false: nothing. */
bool published_get(const struct published *p, const struct job *job,
		   struct value ret[METRIC_JOB_COUNT]);

/* From now on that is what is shown. */
void published_put(struct published *p, const struct snapshot *s);
