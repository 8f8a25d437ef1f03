/* SPDX-License-Identifier: MIT */
#include "model/sections/load_balance.h"

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

struct balance load_balance_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	unsigned __int128 most = (unsigned __int128)count * greatest_ns;

	if (!most || !sum_ns)
		return (struct balance){};
	return (struct balance){
		.count = { count, true },
		.balance = { MIN((uint64_t)((unsigned __int128)sum_ns * LOAD_BALANCE_ONE / most),
				 (uint64_t)LOAD_BALANCE_ONE),
			     true },
	};
}

struct threads threads_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	const struct balance e = load_balance_of_sum(count, sum_ns, greatest_ns);

	return (struct threads){ e.count,
				 e.balance,
				 { e.count.is_known ? sum_ns : 0, e.count.is_known } };
}

struct balance load_balance_of(const uint64_t *times_ns, size_t count)
{
	uint64_t sum = 0, greatest = 0;

	for (size_t i = 0; i < count; i++) {
		sum += times_ns[i];
		greatest = MAX(greatest, times_ns[i]);
	}
	return load_balance_of_sum(count, sum, greatest);
}

/* ---- sections: fields of the record ---- */

static bool is_known(const void *section)
{
	return ((const struct balance *)section)->count.is_known;
}

static bool threads_are_known(const void *section)
{
	return ((const struct threads *)section)->count.is_known;
}

/* The process that did most of all is one of those that did most of each. */
static int threads_keep_busier(void *sum, const void *part)
{
	const struct threads *from = part;
	struct threads *to = sum;

	if (!to->cpu_ns.is_known || !from->cpu_ns.is_known)
		*to = (struct threads){};
	else if (from->cpu_ns.number > to->cpu_ns.number)
		*to = *from;
	return 0;
}

const struct section cores_section = {
	.name = "cores",
	.size = sizeof(struct balance),
	.offset = offsetof(struct record, cores),
	.is_known = is_known,
};

const struct section ranks_section = {
	.name = "ranks",
	.size = sizeof(struct balance),
	.offset = offsetof(struct record, ranks),
	.is_known = is_known,
};

const struct section threads_section = {
	.name = "threads",
	.size = sizeof(struct threads),
	.offset = offsetof(struct record, threads),
	.is_known = threads_are_known,
	.add = threads_keep_busier,
};
