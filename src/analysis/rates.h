/* SPDX-License-Identifier: MIT */
/*
 * rates - a record's timeline as numbers to compute with: per second of the time in which the job
 * ran.
 *
 * NAN is unknown, and never zero.  The first and the last bucket are left out where the job ran in
 * less than half of them.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/timeline.h"

struct record;

enum rate {
	RATE_ON_CPU, /* cores: CPU time */
	RATE_READ, /* bytes per second */
	RATE_WRITE,
	RATE_MEMORY, /* a gauge: bytes */
	RATE_POWER, /* watts, its share of idle power included */
	RATE_INSTRUCTIONS, /* per second */
	RATE_FREQUENCY, /* a gauge: hertz, of the CPUs that it may use */
	RATE_TEMPERATURE, /* a gauge: degrees Celsius, of the same */
	RATE_THROTTLES, /* per second, of the same */
	RATE_COUNT,
};

struct rates {
	size_t count; /* 0: there is no timeline */
	uint64_t start_ns, interval_ns;
	double interval; /* in seconds */
	double elapsed; /* of the job; the timeline may cover a part of it */
	double cores; /* allocated; where that is not known, the greatest that were used */
	bool is_known[RATE_COUNT]; /* anywhere */
	double width[TIMELINE_BUCKETS_MAX]; /* seconds in which the job ran */
	double of[RATE_COUNT][TIMELINE_BUCKETS_MAX];
};

void rates_take(const struct record *record, struct rates *ret);

/* When a bucket begins, since the epoch; @bucket may be the count, for the end. */
uint64_t rates_time(const struct rates *r, size_t bucket);

/* Read and written. */
double rates_io(const struct rates *r, size_t bucket);

/* Seconds of the buckets from @first to before @end. */
double rates_seconds(const struct rates *r, size_t first, size_t end);

/* The mean over buckets that are known, by their seconds.  NAN: none is. */
double rates_mean(const struct rates *r, enum rate rate, size_t first, size_t end);
