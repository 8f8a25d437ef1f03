/* SPDX-License-Identifier: MIT */
#include "energy/counter_weight.h"

/* pJ by nx12's fit. */
#define PACKAGE_CYCLE 1961
#define PACKAGE_INSTRUCTION 122
#define PACKAGE_LLC_MISS 329879
#define MEMORY_CYCLE 221
#define MEMORY_LLC_MISS 297690

unsigned __int128 energy_counter_weight(const struct energy_counts *c, enum energy_pool pool)
{
	if (pool == POOL_MEMORY)
		return (unsigned __int128)c->cycles * MEMORY_CYCLE +
		       (unsigned __int128)c->llc_misses * MEMORY_LLC_MISS;
	return (unsigned __int128)c->cycles * PACKAGE_CYCLE +
	       (unsigned __int128)c->instructions * PACKAGE_INSTRUCTION +
	       (unsigned __int128)c->llc_misses * PACKAGE_LLC_MISS;
}
