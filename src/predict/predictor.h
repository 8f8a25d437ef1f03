/* SPDX-License-Identifier: MIT */
/*
 * predictor - what a job will take, from what its user's last like jobs took, known at submit only.
 *
 * The value is the median of the last 8 jobs that are most alike (M0).  Its interval is by split
 * conformal: how far the newest predictions were from what came, so that 90 % of them lie within.
 * A job that was killed for its memory or its time is a lower bound: it counts as larger than all
 * that ended by themselves, and is not scored.  Jobs are known by when they end: nothing is
 * learned of one that ran when another was submitted.
 *
 * Neither reads nor writes anything; not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/idmap.h"

enum target { TARGET_RUNTIME, TARGET_MEMORY, TARGET_POWER, TARGET_CORES, TARGET_ENERGY, TARGETS };

extern const struct target_row {
	const char *name, *unit, *help;
	double least; /* what lies below counts as this: the scale is a logarithm */
} target_rows[TARGETS];

struct job_request { /* at submit; texts by request_hash(), 0: not known; numbers: 0 not known */
	uint64_t user, account, partition, qos, name, script;
	double nodes, tasks, cores, memory_bytes, gpus, limit_s, array_tasks;
	uint64_t submit_ns;
};

struct job_outcome {
	bool is_lower_bound; /* it was killed for its memory or its time */
	uint64_t end_ns;
	double values[TARGETS]; /* NAN: not known; TARGET_POWER: of a node, the mean */
	double read_bytes, write_bytes; /* for what_if alone; NAN: not known */
};

struct past_job {
	uint64_t id; /* request_hash() of the job's; 0: nobody asks */
	struct job_request request;
	struct job_outcome outcome;
};

/* Of a text that others chose: numbers in it mean nothing, so that "run-17" is "run-18". */
uint64_t request_hash_name(const char *text);
uint64_t request_hash(const char *text); /* NULL and "": 0 */

#define PREDICTOR_LIKE 8 /* of the last like jobs, and... */
#define PREDICTOR_LIKE_LEAST 3 /* ...so many at least: fewer say nothing */
#define PREDICTOR_NOMINAL 0.9 /* share of outcomes within the intervals */
#define PREDICTOR_JOBS 128 /* of a user are kept, the newest */
#define PREDICTOR_SCORES 200

struct estimate {
	bool is_known, has_interval;
	bool is_lower_bound; /* most of the like jobs were killed: it takes more than this */
	double value, low, high;
	unsigned int like_jobs, scored; /* scored: predictions that made the interval */
	unsigned int level; /* of predictor_level() */
	const char *model; /* "m0", or the trained model in its place */
	/* For models: of the user's jobs that ended by themselves, whatever they are like; 0: none
	 */
	double last, last_two, user_median;
};

/* How jobs are alike, the most first: in words; NULL behind the last. */
const char *predictor_level(unsigned int level);

struct predictor; /* opaque */
struct predictor *predictor_new(void); /* NULL: no memory */
struct predictor *predictor_free(struct predictor *p); /* NULL is fine; returns NULL */
void predictor_freep(struct predictor **p);

void predictor_estimate(const struct predictor *p, const struct job_request *request,
			struct estimate ret[TARGETS]);
/* What came of it; @made: what was said at its submit.  -ENOMEM. */
int predictor_learn(struct predictor *p, const struct past_job *job,
		    const struct estimate made[TARGETS]);

/* Jobs in any order, as time went: each is estimated at its submit, from those that had ended, and
 * learned at its end.  @take (may be NULL) sees each estimate.  -ENOMEM. */
int predictor_replay(struct predictor *p, const struct past_job *jobs, size_t count,
		     void (*take)(void *context, const struct predictor *p, size_t job,
				  const struct estimate made[TARGETS]),
		     void *context);

/* Of the user's jobs of the same name that are most alike the chance that one needs more than
 * @limit: (those that did, and one more) of (all, and one more).  @ret_count: of how many; 0:
 * nothing is known. */
double predictor_chance_above(const struct predictor *p, const struct job_request *request,
			      enum target target, double limit, unsigned int *ret_count);
/* The least value that no more than @risk of them exceed, and the chance that one does;
 * negative: none is known. */
double predictor_within(const struct predictor *p, const struct job_request *request,
			enum target target, double risk, double *ret_chance,
			unsigned int *ret_count);
