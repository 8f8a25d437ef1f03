/* SPDX-License-Identifier: MIT */
/* cpulist - a set of CPUs, as the kernel writes it: "0-3,8". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPULIST_MAX 8192 /* the kernel's own bound (NR_CPUS) */

struct cpulist {
	uint64_t bits[CPULIST_MAX / 64];
};

/* An empty @text is an empty set.  -EINVAL: not a list; -ERANGE: a CPU over the bound. */
int cpulist_parse(const char *text, struct cpulist *ret);

unsigned int cpulist_count(const struct cpulist *list);
bool cpulist_contains(const struct cpulist *list, unsigned int cpu);
void cpulist_set(struct cpulist *list, unsigned int cpu);

/* Make @to the union of both. */
void cpulist_add(struct cpulist *to, const struct cpulist *from);

/* A new string, that the caller frees.  NULL: no memory. */
char *cpulist_format(const struct cpulist *list);
