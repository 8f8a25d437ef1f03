/* SPDX-License-Identifier: MIT */
#include "evenness.h"

#include "macro.h"

struct evenness evenness_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	unsigned __int128 most = (unsigned __int128)count * greatest_ns;

	if (!most || !sum_ns)
		return (struct evenness){};
	return (struct evenness){
		.count = { count, true },
		.balance = { MIN((uint64_t)((unsigned __int128)sum_ns * EVENNESS_ONE / most), (uint64_t)EVENNESS_ONE),
			     true },
	};
}

struct threads threads_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	const struct evenness e = evenness_of_sum(count, sum_ns, greatest_ns);

	return (struct threads){ e.count, e.balance, { e.count.is_known ? sum_ns : 0, e.count.is_known } };
}

struct evenness evenness_of(const uint64_t *times_ns, size_t count)
{
	uint64_t sum = 0, greatest = 0;

	for (size_t i = 0; i < count; i++) {
		sum += times_ns[i];
		greatest = MAX(greatest, times_ns[i]);
	}
	return evenness_of_sum(count, sum, greatest);
}
