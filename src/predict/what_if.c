/* SPDX-License-Identifier: MIT */
#include "predict/what_if.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "predict/feature.h"
#include "predict/ridge.h"

#define CALIBRATION_SHARE 0.2

static bool use_of(const struct past_job *job, float ret[FEATURES])
{
	const double *values = job->outcome.values, seconds = values[TARGET_RUNTIME];
	const double use[USES] = { job->request.cores, values[TARGET_CORES],
				   job->outcome.read_bytes / seconds,
				   job->outcome.write_bytes / seconds };

	memset(ret, 0, FEATURES * sizeof(*ret));
	for (size_t i = 0; i < USES; i++) {
		if (!isfinite(use[i]))
			return false;
		ret[i] = (float)use[i];
	}
	return seconds > 0 && isfinite(values[TARGET_ENERGY]);
}

int what_if_ask(const struct past_job *jobs, size_t count, const double use[USES],
		struct what_if *ret)
{
	_cleanup_free_ float *rows = calloc(count + 1, FEATURES * sizeof(*rows));
	_cleanup_free_ float *watts = calloc(count + 1, sizeof(*watts));
	float asked[FEATURES] = {};
	size_t known = 0, newest, rank;
	void *model;

	*ret = (struct what_if){ .low = NAN, .high = NAN };
	if (!rows || !watts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const double *values = jobs[i].outcome.values;

		if (!use_of(&jobs[i], rows + known * FEATURES))
			continue;
		watts[known++] = (float)(values[TARGET_ENERGY] / values[TARGET_RUNTIME]);
	}
	newest = (size_t)((double)known * CALIBRATION_SHARE);
	ret->jobs = known - newest;
	model = ridge_learner.fit(rows + newest * FEATURES, watts + newest, ret->jobs);
	if (!model)
		return -ENODATA;
	for (size_t i = 0; i < USES; i++) {
		for (size_t row = newest; row < known && isnan(use[i]); row++)
			asked[i] += rows[row * FEATURES + i] / (float)ret->jobs;
		asked[i] += isnan(use[i]) ? 0 : (float)use[i];
	}
	ret->watts = ridge_learner.predict(model, asked);
	for (size_t i = 0; i < newest; i++)
		watts[i] =
			fabsf(watts[i] - (float)ridge_learner.predict(model, rows + i * FEATURES));
	ridge_learner.free(model);
	qsort(watts, newest, sizeof(*watts), array_compare_floats);
	rank = (size_t)ceil((double)(newest + 1) * PREDICTOR_NOMINAL);
	if (rank <= newest && rank) {
		ret->low = fmax(0, ret->watts - (double)watts[rank - 1]);
		ret->high = ret->watts + (double)watts[rank - 1];
	}
	return 0;
}
