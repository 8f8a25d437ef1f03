/* SPDX-License-Identifier: MIT */
/*
 * counter weight - weighs hardware counters by their share of a pool's dynamic energy, so that
 * memory-bound work is not charged like computing.
 *
 * Only ratios matter: the sensor gives the energy. tools/energy-evaluate.c fits the weights to one
 * server with RAPL (kepler-model-db's nx12, Apache-2.0):
 * of package power 9.5 % off where CPU time is 28.1 %, of DRAM 9.0 % where it is 15.6 %.  How good
 * they are for another processor is not known.  Pure.
 */
#pragma once

#include <stdint.h>

#include "energy/attribution.h"

struct energy_counts {
	uint64_t cycles, instructions, llc_misses;
};

/* Of POOL_MEMORY, or of any other. */
unsigned __int128 energy_counter_weight(const struct energy_counts *c, enum energy_pool pool);
