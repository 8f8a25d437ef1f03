/* SPDX-License-Identifier: MIT */
#include "model/histogram.h"

#include <errno.h>

uint64_t histogram_lower_bound(enum histogram_kind kind, size_t i)
{
	if (i == 0)
		return 0;
	return UINT64_C(1) << (kind == HISTOGRAM_SIZE ? i - 1 : i + 7);
}

uint64_t histogram_total(const struct histogram *h)
{
	uint64_t total = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += h->counts[i];
	return total;
}

void histogram_add(struct histogram *to, const struct histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->counts[i] += from->counts[i];
}

int histogram_quantile(enum histogram_kind kind, const struct histogram *h, double share,
		       double *ret)
{
	double wanted = share * (double)histogram_total(h);
	double below = 0;

	if (wanted <= 0)
		return -ENODATA;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double here = (double)h->counts[i];
		double low = (double)histogram_lower_bound(kind, i);
		double high = (double)histogram_lower_bound(kind, i + 1);

		if (here == 0)
			continue;
		if (below + here >= wanted) {
			*ret = low + (high - low) * (wanted - below) / here;
			return 0;
		}
		below += here;
	}
	return -ENODATA;
}
