/* SPDX-License-Identifier: MIT */
/*
 * counter weight - how much of a pool's dynamic energy the processor's own counters stand for, so
 * that work that waits for memory is not charged as work that computes.
 *
 * Only ratios matter: the energy that is divided is what the sensor says.  The weights are those
 * that tools/energy-evaluate.c fits to one server with RAPL (kepler-model-db's nx12, Apache-2.0):
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
