/* SPDX-License-Identifier: MIT */
/* tiers - the parts of the kernel side that are switched on and off by themselves, as one table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum meter_tier {
	METER_T0 = 1 << 0,
	METER_T1 = 1 << 1,
	METER_T2 = 1 << 2,
	METER_ALL = METER_T0 | METER_T1 | METER_T2, /* T3 is on demand */
};

struct tier {
	enum meter_tier tier;
	const char *name; /* "T0", as hooks and records name it */
	const char *word; /* "totals", as options and settings name it */
	const char *gives; /* "totals of tasks" */
	const char *missing; /* what is missing without it */
	unsigned int objects; /* bit by enum object_id */
	bool is_needed; /* it works on each kernel that we know; else it is had where it can be */
};

extern const struct tier meter_tiers[];
extern const size_t meter_tier_count;

/* @tier is one of them. */
const struct tier *tier_get(enum meter_tier tier);

/* "wait times": how people call the tier @name, or the part of one ("T2+", "T3 (files)"); one that
 * is not known is called as it is. */
const char *tier_words(const char *name);

/* "totals,files" or "none"; the names of records, "T0,T2", do too.  -EINVAL: with a reason in
 * words. */
int tiers_parse(const char *text, unsigned int *ret, struct error *err);
