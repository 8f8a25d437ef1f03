/* SPDX-License-Identifier: MIT */
/*
 * pattern_settings - the thresholds of each pattern, from the section `patterns` of the file of
 * rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct rule;

enum pattern_kind {
	PATTERN_PHASE,
	PATTERN_CHECKPOINTS,
	PATTERN_IDLE_TAIL,
	PATTERN_HANG,
	PATTERN_LEAK,
	PATTERN_DIED_INSIDE,
	PATTERN_KINDS,
};

struct phase_settings {
	double buckets; /* known ones, at least */
	double length; /* buckets that a phase has at least, and */
	double part; /* the part of the timeline */
	double penalty; /* of each edge, times the logarithm of how many buckets there are */
	double change; /* at an edge, of the greatest rate */
	double rate; /* and for bytes at least that */
	double apart; /* how many standard deviations of the wilder side the means are apart */
	double jump; /* and the jump, in usual scatters over as few buckets */
};

struct checkpoint_settings {
	double count; /* of bursts, at least */
	double bytes; /* of one, at least */
	double above; /* how many times the usual rate a burst is */
	double height; /* where it begins, of the way from the usual rate to its peak */
	double tolerance; /* of the period */
	double regular; /* the share of bursts that keep the period, and the size */
	double buckets; /* in a period, at least */
	double span; /* the share of the time that they are spread over */
};

struct idle_settings {
	double share; /* below it of the cores, and */
	double cores; /* below that many, and */
	double rate; /* below that many bytes per second nothing is done */
	double time; /* for so long */
	double part; /* of a tail: and for that part of the job */
	double work; /* of a tail: after so long a time in which something was done */
	double busy; /* of a hang: after as long a time with that many cores on average */
};

struct leak_settings {
	double time; /* in which it grew, at least */
	double buckets; /* known ones, at least */
	double growth; /* of the memory used */
	double bytes;
	double scatter; /* growth over the scatter around the line */
	double steady; /* growth over that of a walk at random */
	double cache; /* and over the possible page cache: all bytes read and written */
};

struct death_settings {
	double least; /* below that homogeneity */
	double time; /* of the timeline, at least */
	double buckets; /* known ones, at least */
	double part; /* of the timeline that must lie before and behind */
	double busy; /* after that many cores on average */
};

struct pattern_settings { /* {}: no pattern is wanted */
	bool is_asked[PATTERN_KINDS];
	struct phase_settings phases;
	struct checkpoint_settings checkpoints;
	struct idle_settings idle_tail, hang;
	struct leak_settings leak;
	struct death_settings death;
};

/* "phase"... */
const char *pattern_id(enum pattern_kind kind);

/* Take the thresholds of @rule, whose id names the pattern: all of its thresholds must be there,
 * of the right kind and within bounds, and no others. -EINVAL, with a reason. */
int pattern_settings_add(struct pattern_settings *settings, const struct rule *rule,
			 struct error *err);
