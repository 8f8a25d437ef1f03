/* SPDX-License-Identifier: MIT */
/* evaluate - says how well jobs of the past would have been predicted, each from those before it.
 */
#pragma once

#include <stdio.h>

struct error;
struct store;

/* Jobs of a file in the Standard Workload Format (@swf) or of `sacct -P` (@sacct), or without both
 * of the store. */
int evaluate_jobs(struct store *s, const char *swf, const char *sacct, FILE *out,
		  struct error *err);
