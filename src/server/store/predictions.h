/* SPDX-License-Identifier: MIT */
/* predictions - what was said of a job when it was submitted, until its outcome is known and after.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct store;
struct store_who;

struct store_prediction { /* of one target */
	const char *job_id, *target, *model; /* held until the call-back returns */
	uint32_t uid;
	uint64_t made_ns;
	double value, low, high; /* NAN: not known */
};

/* In a transaction of the caller's: store_begin(), store_commit(). */
void store_put_prediction(struct store *s, const struct store_prediction *prediction);
/* The newest of those that @who sees. */
int store_list_predictions(struct store *s, const struct store_who *who, size_t limit,
			   int (*take)(void *context, const struct store_prediction *prediction),
			   void *context, struct error *err);
