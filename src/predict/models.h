/* SPDX-License-Identifier: MIT */
/*
 * models - the trained models that are served beside M0, and their file.
 *
 * The file holds numbers alone, with a version and a checksum; it is read by the machine that wrote
 * it, or by one of the same byte order.
 */
#pragma once

#include "predict/evaluation.h"

#define MODELS_SIZE_MAX (256u << 20) /* bytes of a file */

struct model_score { /* in the newest window, which no choice saw */
	double within_two; /* share of jobs within a factor of 2 */
	double within; /* share within the interval, of those that have one */
	double error; /* mean of |log(outcome / predicted)| */
};

struct models { /* begins as {} */
	uint64_t made_ns; /* since the epoch; 0: there is no file */
	struct model {
		struct fitted fitted; /* no learner: M0 is served */
		struct model_score own, m0;
		uint64_t scored; /* jobs of the newest window */
	} of[TARGETS];
};

struct error;

/* -EIO and the like.  The caller checks the stream's end. */
int models_write(const struct models *models, FILE *out);
/* @learners ends with NULL.  -EBADMSG: the bytes are no such file, or another version's. */
int models_read(const char *bytes, size_t size, const struct learner *const *learners,
		struct models *ret, struct error *err);
void models_clear(struct models *models);

/* Puts the models' values and intervals in the place of M0's, which are in @made. */
void models_apply(const struct models *models, const struct job_request *request,
		  struct estimate made[TARGETS]);
