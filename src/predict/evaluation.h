/* SPDX-License-Identifier: MIT */
/*
 * evaluation - which model is the best, by time: it learns of jobs that had ended, and is asked
 * about jobs that were submitted later.
 *
 * The jobs from 30 % on are cut into five windows.  For each, a model is fitted to all jobs that
 * had ended before its first job was submitted (so none that ran then: the embargo), the newest
 * fifth of which is kept for its intervals.  The best in the first four is chosen; the last one
 * tells whether it is better than M0, without which M0 is served.
 */
#pragma once

#include "predict/feature.h"

#define EVALUATION_LEARNERS 4
#define EVALUATION_WINDOWS 5

struct evaluation_sums {
	size_t jobs, within_two; /* of a factor */
	size_t with_interval, within;
	double error; /* |log|, added up */
	double squared_error, width;
};

struct evaluation {
	size_t jobs; /* that ended and say something of the target, and had like jobs before */
	size_t lower_bounds; /* of these that are not scored */
	size_t learner_count;
	const struct learner *learners[EVALUATION_LEARNERS];
	struct evaluation_sums m0_all; /* of the last 70 %, as the windows */
	struct evaluation_sums m0[EVALUATION_WINDOWS];
	struct evaluation_sums of[EVALUATION_LEARNERS][EVALUATION_WINDOWS];
	size_t chosen; /* of the learners; SIZE_MAX: M0 */
};

/* A model that has learned. */
struct fitted { /* begins as {} */
	const struct learner *learner;
	void *model; /* owned */
	double factor; /* times the width of M0's interval: that of the model's; 0: it has none */
	uint64_t jobs; /* that it learned from */
};
void fitted_clear(struct fitted *f);

/* @jobs in any order; @learners ends with NULL.  @ret_fitted (NULL: not wanted): the chosen one's
 * model of all jobs that ended, of which the newest fifth makes its interval; {} for M0.  -ENOMEM;
 * -ENODATA: there are too few. */
int evaluation_run(const struct past_job *jobs, size_t count, enum target target,
		   const struct learner *const *learners, struct evaluation *ret,
		   struct fitted *ret_fitted);
