/* SPDX-License-Identifier: MIT */
/*
 * power model - a power as a sum of counters, each by a weight that is not negative, and an idle
 * part: fitted to samples by the least squares of relative errors.  Pure.
 */
#pragma once

#include <stddef.h>

#define POWER_TERMS_MAX 5 /* with the idle part, which is the first */

struct power_model { /* begins as {}, with its number of terms set */
	size_t terms;
	double weights[POWER_TERMS_MAX]; /* once it is fitted */

	/* private: sums over the samples */
	double products[POWER_TERMS_MAX][POWER_TERMS_MAX], targets[POWER_TERMS_MAX];
};

/* A sample; the first of @counters is 1.  A power that is not above 0 is left out. */
void power_model_add(struct power_model *m, const double counters[POWER_TERMS_MAX], double power);
void power_model_fit(struct power_model *m);
double power_model_predict(const struct power_model *m, const double counters[POWER_TERMS_MAX]);
