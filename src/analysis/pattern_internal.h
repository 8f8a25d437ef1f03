/* SPDX-License-Identifier: MIT */
/* pattern_internal - finders of single patterns. */
#pragma once

#include "analysis/patterns.h"
#include "analysis/rates.h"

/* Each sets the count of its kind, if it is known, and adds its patterns. */
void find_phases(const struct phase_settings *settings, const struct rates *r,
		 struct patterns *patterns);
void find_checkpoints(const struct checkpoint_settings *settings, const struct rates *r,
		      struct patterns *patterns);
void find_idle_tail(const struct idle_settings *settings, const struct rates *r,
		    struct patterns *patterns);
void find_hang(const struct idle_settings *settings, const struct rates *r, bool has_ended_well,
	       struct patterns *patterns);
/* @limit: bytes; NAN: not known. */
void find_leak(const struct leak_settings *settings, const struct rates *r, double limit,
	       struct patterns *patterns);
void find_death(const struct death_settings *settings, const struct rates *r,
		struct patterns *patterns);

/* The count before the search: 0 for a job shorter than @seconds, else not known. */
void pattern_begin(struct patterns *patterns, enum pattern_kind kind, const struct rates *r,
		   double seconds);

/* One more, from the beginning of a bucket to that of another.  There must be room. */
struct pattern *pattern_add(struct patterns *patterns, enum pattern_kind kind,
			    const struct rates *r, size_t first, size_t end);
