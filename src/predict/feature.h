/* SPDX-License-Identifier: MIT */
/*
 * feature - what a model sees of a job: numbers that are known when it is submitted, and nothing
 * that is measured while it runs.
 *
 * A model says by what factor M0 is wrong: its target is the logarithm of outcome / M0.
 */
#pragma once

#include <stdio.h>

#include "predict/predictor.h"

struct feature {
	const char *name, *help;
	bool is_code; /* of a text: the number means nothing but itself */
};
#define FEATURES 19
#define FEATURE_CODES 1024
extern const struct feature features[FEATURES];

/* @made: of all targets; that of @target is known. */
void features_fill(const struct job_request *request, const struct estimate made[TARGETS],
		   enum target target, float ret[FEATURES]);

/* A way to learn.  Rows are FEATURES long, one behind the other. */
struct learner {
	const char *name;
	void *(*fit)(const float *rows, const float *targets, size_t count); /* NULL: it cannot */
	double (*predict)(const void *model, const float *row);
	void (*free)(void *model);
	/* The model as bytes, and back.  -ENOMEM; -EBADMSG: they are no model. */
	int (*write)(const void *model, FILE *out);
	int (*read)(const void *bytes, size_t size, void **ret);
};
