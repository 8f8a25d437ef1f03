/* SPDX-License-Identifier: MIT */
/*
 * lived - the time that T1 found in the worker, against what the worker itself knows of its
 * threads' lives: all of it together to 1 %, and of the time on a CPU no less than the clock of
 * processes has.
 */
#pragma once

#include <stdint.h>

struct deeds;
struct error;
struct meter;
struct worker;

/* T1's sums of all cgroups at one moment, which lies between two. */
struct look {
	uint64_t earliest_ns, latest_ns;
	uint64_t all_ns, on_ns;
};

/* All 0 where there is no T1. */
int look_take(const struct meter *m, struct look *ret, struct error *err);

/* -ERANGE: it is not so since @then, at which the worker had done @before.  The worker has nothing
 * to do. */
int lived_check(const struct meter *m, const struct look *then, const struct deeds *before,
		const struct worker *w, struct error *err);
