/* SPDX-License-Identifier: MIT */
/* start - when a run emits the least, by the forecasts in a table of emission factors. */
#pragma once

#include "energy/emission.h"

#define START_SLACK_MAX (UINT64_C(7) * 86400 * 1000000000) /* ns */
#define START_NOMINAL 0.9 /* of past forecasts were as close as start.error says */
#define START_PAIRS_LEAST 9

struct start_question {
	const char *zone;
	enum emission_kind kind; /* of the factors that forecasts are compared with */
	uint64_t now_ns, slack_ns;
	uint64_t length_ns, low_ns, high_ns; /* of the run, and within what it lies */
};

struct start {
	uint64_t at_ns;
	double now, best; /* mean g/kWh of the run if it starts now, and at at_ns */
	/* Of best / now: how wrong such a ratio was in the past, and how far it goes if the run is
	 * as short or long as it may be; negative: not known. */
	double error;
	unsigned int pairs; /* of past forecasts */
};

/* -ENODATA: the forecasts do not cover a run that starts now. */
int start_find(const struct emission_factors *table, const struct start_question *question,
	       struct start *ret);
