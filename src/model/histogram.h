/* SPDX-License-Identifier: MIT */
/*
 * histogram - counts in powers of two, as the kernel side keeps them.
 *
 * Sizes:     bucket 0 holds 0 bytes, bucket i holds [2^(i-1), 2^i) bytes, the last all from 2^26
 * on. Latencies: bucket 0 holds under 2^8 ns, bucket i holds [2^(i+7), 2^(i+8)) ns, the last all
 * from 2^34 on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 28

enum histogram_kind { HISTOGRAM_SIZE, HISTOGRAM_LATENCY };

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
};

/* The smallest value of bucket @i, in bytes or ns. */
uint64_t histogram_lower_bound(enum histogram_kind kind, size_t i);

uint64_t histogram_total(const struct histogram *h);

void histogram_add(struct histogram *to, const struct histogram *from);

/* The value below which @share (0 to 1) of the counts lie, placed linearly inside its bucket: exact
 * to a factor of two.  -ENODATA: the histogram is empty. */
int histogram_quantile(enum histogram_kind kind, const struct histogram *h, double share,
		       double *ret);
