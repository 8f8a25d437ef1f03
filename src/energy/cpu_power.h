/* SPDX-License-Identifier: MIT */
/*
 * cpu power - estimates the idle and full-load power of a server with that processor, for machines
 * without a sensor: from the results of SPECpower_ssj2008 for the model, else for its family, else
 * from a TDP. A virtual machine gets the share of its CPUs.
 *
 * Between both it is taken to be proportional to the CPU time that is used.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_power {
	const char *source; /* "specpower", "specpower-family", "tdp" */
	char name[64]; /* the entry found: "epyc 9654", "epyc" */
	uint64_t idle_uw, max_uw; /* of all CPUs together */
	unsigned int uncertainty_permille; /* the mean error on machines that the table does not
					      know: see docs/internals/energy.md */
};

/* "epyc 9654" of "AMD EPYC 9654 96-Core Processor". */
void cpu_power_name(const char *model, char *ret, size_t size);

/* @model: from /proc/cpuinfo, or the site's setting; @cpus: logical ones; @tdp_watts: of all
 * sockets, the site's setting; 0: unknown. False: no estimate. */
bool cpu_power_find(const char *model, unsigned int cpus, uint64_t tdp_watts,
		    struct cpu_power *ret);
