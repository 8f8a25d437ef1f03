/* SPDX-License-Identifier: MIT */
/* evaluate - how well each model would have predicted past jobs from the jobs before them, and the
 * training of those that are served. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "predict/feature.h"
#include "predict/models.h"

struct error;
struct store;

/* Jobs of a file in the Standard Workload Format (@swf) or of `sacct -P` (@sacct), or without both
 * of the store.  @model_file (NULL: none) is replaced by the models that are better than M0. */
int evaluate_jobs(struct store *s, const char *swf, const char *sacct, bool takes_estimates,
		  const char *model_file, FILE *out, struct error *err);

struct served { /* of a thread; begins as {} */
	struct models models;
	uint64_t inode, modified_ns; /* of the file that was read, or refused */
};

/* The site's models, read again when @path has changed.  A file that is missing gives none, and one
 * that is wrong neither, but a line in the log: then M0 is served. */
const struct models *served_models(struct served *served, const char *path);

/* xgboost - random forests and boosting by libxgboost (Debian's libxgboost0), which is loaded where
 * a model is fitted, and nowhere else: what it made is walked by forest.h.  Without it nothing is
 * fitted. */

extern const struct learner forest_learner, boosting_learner;
