/* SPDX-License-Identifier: MIT */
/*
 * runs - what a resource manager says of the runs of its jobs, beside the records of the nodes.
 *
 * A run is one stay of a job in the manager's queue and on its nodes; a requeued job has several.
 * It is known by (cluster, manager, job's id, moment of submission).  Each run belongs to one job;
 * a record belongs to the run with its SLUID, else to the run of its id that it overlaps most, and
 * so to that run's job.  What the manager says wins over what the records say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h" /* struct value */

struct error;
struct store;

struct store_run { /* texts: the caller's; NULL: absent */
	const char *cluster, *manager, *id; /* never NULL */
	const char *sluid, *array_id, *array_tasks, *state, *wait_reason, *user, *account,
		*partition, *qos, *reservation, *name, *node_list, *workdir, *comment;
	/* moments: ns since the epoch; durations: ns; memory: bytes */
	struct value submit, eligible, start, end; /* end: of one that has ended */
	struct value elapsed, suspended, time_limit; /* elapsed: without suspended time */
	struct value uid, array_index, het_offset, exit_code, signal, derived_exit_code, restarts;
	struct value nodes, cores, gpus, allocated_memory;
	struct value requested_nodes, requested_cores, requested_gpus, requested_memory; /* in this
											    order */
};

enum run_kind { RUN_TEXT, RUN_COUNT, RUN_BYTES, RUN_MOMENT, RUN_SECONDS };

struct run_field {
	const char *key; /* in JSON, and of -o */
	const char *column; /* of runs; and of jobs, unless... */
	enum run_kind kind;
	size_t offset; /* in struct store_run: of a text or a value */
	bool is_in_run_alone; /* ...jobs have it in another column, or not at all */
};
extern const struct run_field run_fields[];
extern const size_t run_field_count;
#define RUN_FIELDS_MAX 40

/* What else is known of the same run, which goes before what was. */
void store_run_add(struct store_run *run, const struct store_run *more);

/* Put what a manager says, between store_begin() and store_commit().  *ret_is_news: it said
 * something else before, or nothing.  Without a moment of submission it is added to what is known
 * of the last run of that id, unless that has ended. */
int store_put_run(struct store *s, const struct store_run *run, bool *ret_is_news,
		  struct error *err);
/* Whether the sync is ours: of several servers on one database one does it. */
bool store_may_sync(struct store *s, uint64_t now_ns);
/* A number or moment that outlives the server, by name; 0: there is none. */
uint64_t store_read_mark(struct store *s, const char *name);
void store_set_mark(struct store *s, const char *name, uint64_t number); /* as store_put_run() */
/* Who coordinates which account, as the manager says it; within a transaction, too. */
void store_clear_coordinators(struct store *s, const char *manager);
void store_add_coordinator(struct store *s, const char *manager, const char *account,
			   const char *user);
/* Jobs that began since then and are known to the manager, and those of them that no node measured.
 */
void store_count_unmeasured(struct store *s, uint64_t since_ns, uint64_t *ret_jobs,
			    uint64_t *ret_unmeasured);
