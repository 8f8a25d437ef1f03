/* SPDX-License-Identifier: MIT */
/*
 * what_if - the power of a job by its use, from past jobs whose energy was measured: ridge
 * regression, which says nothing beyond the powers that were measured.
 *
 * It answers "what if", and predicts no job: nobody knows a job's use when it is submitted.
 */
#pragma once

#include "predict/predictor.h"

enum use { USE_CORES, USE_BUSY, USE_READ, USE_WRITE, USES };

struct what_if {
	double watts, low, high; /* low and high: of 9 of 10 jobs; NAN: not known */
	size_t jobs; /* that it learned from */
};

/* @jobs: the newest first; @use: cores, busy cores, and bytes a second; NAN: as the mean of the
 * jobs.  -ENODATA: too few say it; ret->jobs: how many.  -ENOMEM. */
int what_if_ask(const struct past_job *jobs, size_t count, const double use[USES],
		struct what_if *ret);
