/* SPDX-License-Identifier: MIT */
/* classes - the kinds of a job ("cpu-bound"): each class of the rules (share/insights.yaml) that
 * holds, with its share. */
#pragma once

#include <stddef.h>

#include "analysis/insights.h"

struct class
{
	const struct rule *rule;
	struct amount share; /* 0 to 1 */
	char *text;
};

struct classes { /* begins as {}; must not outlive the rules and the record */
	struct subject subject;
	struct class *items; /* the greatest share first */
	size_t count;
	struct unknown_rule *unknown;
	size_t unknown_count;
};

/* @patterns: those of the record's timeline, or NULL; they outlive the classes. -ENOMEM. */
int classes_find(const struct rules *rules, const struct record *record,
		 const struct patterns *patterns, struct classes *ret);
/* Whether any needs more of files than their sums by mount (struct mount_sum). */
bool classes_need_rows(const struct rules *rules);
void classes_clear(struct classes *classes);

/* A map: the first one's id, all that hold, and those that are not known. */
void classes_format(const struct classes *classes, struct document *d);
