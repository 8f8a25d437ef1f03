/* SPDX-License-Identifier: MIT */
/*
 * published - the last published values of each job, in memory that outlives a killed agent.
 *
 * The next agent may read less: user and system time are split differently, and files of removed
 * cgroups are gone; so the minimum that may be published is kept in a mapped file. It costs stores
 * to memory at each reading, and no write. A clean end leaves none: then the states have it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/snapshot.h"

struct published;

/* @path: of a file of ours, in a directory where only we may write; made if it is missing, and
 * emptied if it is of another boot or version. @slots: the maximum number of jobs; space is
 * allocated for a thousand at a time. */
int published_open(const char *path, const char *boot_id, size_t slots, struct published **ret);
struct published *published_close(struct published *p); /* NULL is fine; returns NULL */
void published_closep(struct published **p);

/* Forget all. */
void published_clear(struct published *p);

/* What was shown of counters and peaks; false: nothing. */
bool published_get(const struct published *p, const struct job *job,
		   struct value ret[METRIC_JOB_COUNT]);

/* Store the values of a snapshot. */
void published_put(struct published *p, const struct snapshot *s);
