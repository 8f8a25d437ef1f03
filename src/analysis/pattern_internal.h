/* SPDX-License-Identifier: MIT */
/* pattern_parts - who looks for which pattern. */
#pragma once

#include "analysis/patterns.h"
#include "analysis/rates.h"

/* Each sets the count of its kind, unless it cannot tell, and adds what it found.  -ENOMEM. */
int find_phases(const struct phase_settings *settings, const struct rates *r,
		struct patterns *patterns);
int find_checkpoints(const struct checkpoint_settings *settings, const struct rates *r,
		     struct patterns *patterns);
void find_idle_tail(const struct idle_settings *settings, const struct rates *r,
		    struct patterns *patterns);
/* @has_ended_well: it came to its end by itself. */
void find_hang(const struct idle_settings *settings, const struct rates *r, bool has_ended_well,
	       struct patterns *patterns);
/* @limit: bytes; NAN: not known. */
int find_leak(const struct leak_settings *settings, const struct rates *r, double limit,
	      struct patterns *patterns);
void find_death(const struct death_settings *settings, const struct rates *r,
		struct patterns *patterns);

/* One more, from the beginning of a bucket to that of another.  There must be room. */
struct pattern *pattern_add(struct patterns *patterns, enum pattern_kind kind,
			    const struct rates *r, size_t first, size_t end);
