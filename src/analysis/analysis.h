/* SPDX-License-Identifier: MIT */
/* analysis - the conclusions from one record: its classes, efficiency, findings of rules, and
 * patterns over time. */
#pragma once

#include <stdio.h>

#include "analysis/classes.h"
#include "analysis/efficiency.h"
#include "analysis/insights.h"
#include "analysis/patterns.h"

struct analysis { /* must not outlive the rules and the record */
	struct classes classes;
	struct efficiency efficiency;
	struct insights insights;
	struct patterns *patterns;
};

/* -ENOMEM. */
int analysis_make(const struct rules *rules, const struct record *record, struct analysis *ret);
void analysis_clear(struct analysis *analysis);

/* Write the record as one map, with the sections of the analysis behind its own. */
int analysis_format_record(const struct rules *rules, const struct record *record,
			   struct document *d);

/* The sections, each with its key. */
void analysis_format(const struct analysis *analysis, struct document *d);
