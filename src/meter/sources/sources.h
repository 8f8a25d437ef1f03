/* SPDX-License-Identifier: MIT */
/*
 * sources - all sources of one meter: opens, samples and describes them.
 *
 * A reading is sources_sample(), then sources_sample_job() for each job, then sources_ask(). Not
 * thread-safe. NULL: none are open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sources/source.h"

struct sources;

#define SOURCES_MAX 16

struct source_list {
	const struct source *const *items;
	size_t count; /* at most SOURCES_MAX */
};

/* All that there are. */
struct source_list sources_all(void);
/* The place of that name among all, which must be there. */
size_t sources_index(const char *name);
/* Want all but those of these names; a NULL ends them. */
void sources_want_others(bool ret[SOURCES_MAX], const char *const names[]);

/* @is_wanted: one for each in @list; NULL: all.  What cannot be opened is described.  -ENOMEM. */
int sources_open(struct source_list list, const bool *is_wanted,
		 const struct source_options *options, struct sources **ret);
struct sources *sources_free(struct sources *s); /* NULL is fine; returns NULL; no job has anything
						    of them any more */
void sources_freep(struct sources **s);

/* Sample those that are for jobs; of slow ones the sample that has ended since the last reading.
 * -ENOMEM, -ENOSPC. */
int sources_sample(struct sources *s, uint64_t boot_ns);
/* Whether any has to be sampled now and then, and not only as a job begins and ends. */
bool sources_are_sampled(const struct sources *s);
/* At the end of a reading: slow ones begin their next sample. */
void sources_ask(struct sources *s);

/* What was sampled at the last reading; NULL: there is no such source, or it is not open. */
const struct samples *sources_find(const struct sources *s, const char *name);
/* Add the last values of all energy sensors, also of those without a new one. -ENOMEM, -ENOSPC. */
int sources_put_energy(const struct sources *s, struct energy_readings *to);
/* Whether any can be read between two readings, and these values. -ENOMEM, -ENOSPC. */
bool sources_can_peek(const struct sources *s);
int sources_peek(const struct sources *s, struct energy_readings *to);
/* Add the numbers of the node for a scrape: as of the last reading, or, where that has none of
 * them, as of now.  -ENOMEM, -ENOSPC. */
int sources_put_node(struct sources *s, uint64_t boot_ns, struct samples *to);
/* The same of one source alone, of those that are sampled at once; nothing where it is not open. */
int sources_put_one(struct sources *s, const char *name, uint64_t boot_ns, struct samples *to);
/* Write one source's own data as members of a map; false: not open, or no data. */
bool sources_format(const struct sources *s, const char *name, int64_t only_uid,
		    struct document *d);
/* How often samples of slow sources were late: the agent's own metric.  -ENOMEM, -ENOSPC. */
int sources_put_late(const struct sources *s, struct samples *to);

/* Report what is missing for all jobs of this node, for whatever reason. -ENOMEM, -ENOSPC. */
int sources_describe(const struct sources *s, struct record *record);
/* Report what is missing in a job's record; not for sources that are switched off. -ENOMEM,
 * -ENOSPC. */
int sources_describe_job(const struct sources *s, struct record *record);

/* ---- a job ---- */

struct source_attachments { /* the sources' data of one job; begins as {} */
	struct sources *sources; /* while there is anything */
	struct source_job_state **own; /* one a source */
	uint32_t refused; /* a bit a source: not tried again at this cgroup */
};

/* Attach the sources to @job, and add their counts to @to. NULL: its cgroup is gone or changes:
 * the last call for it. -ENOMEM. */
int sources_sample_job(struct sources *s, struct source_attachments *a,
		       const struct source_job *job, struct source_job_sample *to);
/* Without a last sample. */
void source_attachments_clear(struct source_attachments *a);
