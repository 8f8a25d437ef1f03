/* SPDX-License-Identifier: MIT */
/*
 * snapshot - the readings of all jobs of a node at one moment.
 *
 * It never changes once it is made, and is shared by count: a slow scraper may still read one when
 * the next is made.  Rows are kept small and sparse, since a node has up to 1,024 jobs;
 * snapshot_expand() gives the whole reading of one job.  Nothing here is thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/load_balance.h"
#include "model/job.h"
#include "model/parts.h"
#include "model/reading.h"
#include "model/sections/thermal_samples.h"

/* What rows stand for; shared by all jobs of a snapshot. */
struct snapshot_mount {
	enum row_kind kind;
	char *name; /* as mount_row.mount; NULL: no row stands for it */
	char *fstype, *source; /* NULL for rows that are no mount */
	char *aliases[MOUNT_ALIASES_MAX]; /* NULL-padded */
};

/* Each of its texts, from the name on. */
#define SNAPSHOT_MOUNT_TEXTS (3 + MOUNT_ALIASES_MAX)
static inline char **snapshot_mount_text(struct snapshot_mount *m, size_t i)
{
	return i == 0 ? &m->name : i == 1 ? &m->fstype : i == 2 ? &m->source : &m->aliases[i - 3];
}

/* All strings are copied; -ENOMEM: @to is empty. */
int snapshot_mount_copy(struct snapshot_mount *to, const struct snapshot_mount *from);
void snapshot_mount_clear(struct snapshot_mount *m);
/* The row of @to that stands for it, with all that names it.  NULL: no memory. */
struct mount_row *snapshot_mount_row(const struct snapshot_mount *m, struct reading *to);

/* One operation of one job on one mount, one way; over all of its cgroups, live and ended.  At most
 * one a key. */
struct snapshot_row {
	uint32_t mount; /* index */
	uint8_t op; /* enum file_op */
	uint8_t interface; /* enum file_interface */
	uint16_t pad;
	struct op_counts counts; /* bytes: data; not_found: metadata */
};

struct snapshot_step {
	char *id; /* as the manager names it: "0", "batch" */
	bool is_live;
	uint64_t start_ns, end_ns; /* since the epoch; 0: not known, or not yet */
	struct value values[METRIC_JOB_COUNT];
	struct parts parts;
};

struct snapshot_job {
	struct job *job; /* a reference */
	bool is_live; /* else it has ended, and is shown for a while */
	bool is_settling; /* it has ended, and its last tasks may still come in */
	uint64_t groupless_ns; /* since when one that lives has no group, and so does nothing, by
				  CLOCK_BOOTTIME; 0: it has one, or that is not known */
	struct value values[METRIC_JOB_COUNT];
	struct parts parts;
	struct balance cores, ranks; /* as in a record */
	struct threads threads;
	struct thermal_samples thermal; /* over its life */
	struct thermal_now now; /* at this reading; not of one that has ended */
	struct snapshot_row *rows; /* a reference; sorted by mount, op, way; of all the job's steps
				      together */
	size_t row_count;
	struct snapshot_step *steps;
	size_t step_count;
	uint64_t changed_ns; /* boot_ns of the first snapshot since which it did nothing, as
				snapshot_job_is_same() has it */
};

struct snapshot {
	unsigned int refs;
	uint64_t real_ns, boot_ns; /* when it was taken: since the epoch, and by CLOCK_BOOTTIME */
	uint64_t took_ns; /* how long the reading took */
	bool has_mounts; /* files were looked at */
	bool has_seconds; /* with the clock */
	struct snapshot_mount *mounts;
	size_t mount_count;
	struct snapshot_job *jobs; /* sorted by manager, then id as strverscmp(3) has it; of several
				      of one id, as of a job that was requeued, the one to be
				      shown is the first: the live one, or the last */
	size_t job_count;
};

struct snapshot *snapshot_new(void); /* empty, one reference; NULL: no memory */
struct snapshot *snapshot_ref(struct snapshot *s);
struct snapshot *snapshot_unref(struct snapshot *s); /* NULL is fine; returns NULL */
void snapshot_unrefp(struct snapshot **s);

/* Rows of one job, zeroed, with one reference: snapshots share what did not change between them.
 * NULL: no memory. */
struct snapshot_row *snapshot_rows_new(size_t count);
struct snapshot_row *snapshot_rows_ref(struct snapshot_row *rows);

/* How old a job is, or became, in ns; 0: not known. */
uint64_t snapshot_job_elapsed(const struct snapshot *s, const struct snapshot_job *job);

/* Of several of that id the one to be shown.  NULL: none such. */
const struct snapshot_job *snapshot_find(const struct snapshot *s, const char *manager,
					 const char *id);

/* Do both tell the same of what the job is and did?  How old it is, for how long its tasks slept or
 * waited for each other, and how warm the node was, is not asked.  Mounts have the same indexes
 * in both snapshots. */
bool snapshot_job_is_same(const struct snapshot_job *a, const struct snapshot_job *b);

/* The reading of one of its jobs, into an empty @ret: values, and a row a mount, without sections.
 * -ENOMEM. */
int snapshot_expand(const struct snapshot *s, const struct snapshot_job *job, struct reading *ret);
/* The same with sums in place of the rows. */
int snapshot_sum(const struct snapshot *s, const struct snapshot_job *job, struct reading *ret);
