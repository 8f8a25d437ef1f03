/* SPDX-License-Identifier: MIT */
/*
 * cpu power - what a server with a processor of that model takes, with nothing to do and at full
 * load, where no sensor tells: from the results of SPECpower_ssj2008 for the model, else for its
 * family, else from a TDP.  Of a virtual machine it is the share of its CPUs.
 *
 * Between both it is taken to be proportional to the CPU time that is used.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_power {
	const char *source; /* "specpower", "specpower-family", "tdp" */
	char name[64]; /* what was found: "epyc 9654", "epyc" */
	uint64_t idle_uw, max_uw; /* of all CPUs together */
	unsigned int uncertainty_permille; /* the mean error on machines that the table does not
					      know: see docs/internals/energy.md */
};

/* "epyc 9654" of "AMD EPYC 9654 96-Core Processor". */
void cpu_power_name(const char *model, char *ret, size_t size);

/* @model: as /proc/cpuinfo has it, or as the site says; @cpus: logical ones; @tdp_watts: of all
 * sockets, as the site says; 0: not known.  False: nothing can be told. */
bool cpu_power_find(const char *model, unsigned int cpus, uint64_t tdp_watts,
		    struct cpu_power *ret);
