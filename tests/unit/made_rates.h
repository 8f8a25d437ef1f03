/* SPDX-License-Identifier: MIT */
/* made_rates - records whose timelines are computed and not measured, for tests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/timeline.h"

struct record;

#define MADE_START_NS (UINT64_C(1790000000) * 1000000000)
#define MADE_CORES 4.0

/* One second a bucket; NAN is unknown. */
struct made_rates {
	size_t count;
	double on_cpu[TIMELINE_BUCKETS_MAX]; /* cores */
	double read[TIMELINE_BUCKETS_MAX], write[TIMELINE_BUCKETS_MAX]; /* bytes */
	double memory[TIMELINE_BUCKETS_MAX];
};

/* All of them busy, without I/O, with a GiB of memory. */
struct made_rates made_rates(size_t count);

/* Becomes the record's timeline, of buckets of 1 s << @shift, and the time in which it ran. */
void made_rates_put(const struct made_rates *rates, unsigned int shift, struct record *r);

/* A final record of MADE_CORES cores that ran for so many buckets of 1 s << @shift.  Never NULL. */
struct record *made_rates_record(const struct made_rates *rates, unsigned int shift);

/* Numbers as if by chance, the same for each seed. */
struct chance {
	uint64_t state;
};
struct chance chance_of(unsigned int seed);
double chance_even(struct chance *c); /* 0 to 1 */
double chance_normal(struct chance *c); /* standard deviation 1 */
double chance_exponential(struct chance *c); /* mean 1 */
