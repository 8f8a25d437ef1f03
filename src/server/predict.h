/* SPDX-License-Identifier: MIT */
/* predict - what the store knows of jobs as the predictor wants it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/predictor.h"

struct error;
struct job_filter;
struct store;
struct store_job;
struct store_who;

#define PREDICT_HISTORY 400 /* of a user's newest jobs, that are read */
#define PREDICT_ONE_USER 1 /* hash of whoever it is */
/* That a job needs more than is advised, where there are jobs enough to show so little. */
#define PREDICT_ADVICE_RISK 0.05

struct past_jobs { /* begins as {} */
	struct past_job *items; /* owned */
	size_t count, room;
	bool has_estimates; /* the energy of some was estimated, and counts */
};
void past_jobs_clear(struct past_jobs *jobs);

/* Add the jobs that match, have ended, and say something: not those that were cancelled.
 * @is_of_one: they are of one user, whoever that is.  @takes_estimates: energy that no sensor
 * measured counts, too.  At most @most of the newest. */
int predict_read_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		      bool is_of_one, bool takes_estimates, size_t most, struct past_jobs *to,
		      struct error *err);
/* What a run that ended in this state had too little of; TARGETS: of nothing that is known. */
enum target predict_lacked(const char *state);
/* A predictor that knows the newest of them, which are of one user, and how many.  @estimates: in:
 * whether estimated energies count; out: whether some do.  NULL: they do not. */
int predict_read_history(struct store *s, const struct job_filter *filter,
			 const struct store_who *who, bool *estimates, struct predictor **ret,
			 size_t *ret_count, struct error *err);
/* What such a job asked for. */
struct job_request predict_request_of(const struct store_job *job);
