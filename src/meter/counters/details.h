/* SPDX-License-Identifier: MIT */
/* details - T3, counted on demand: single files, and system calls by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/ids.h"

struct error;
struct hot_files;
struct meter;
struct place_names;
struct syscalls;

/* The cgroups to read. */
struct details_of {
	const uint64_t *cgroups; /* sorted */
	size_t count;
	bool is_all; /* instead: of all that there are, in one */
	bool is_apart; /* one of each cgroup is read, in their order; else one of all together */
};

static inline size_t details_count(const struct details_of *of)
{
	return of->is_apart ? of->count : 1;
}

/* The index of that cgroup's; SIZE_MAX: none. */
static inline size_t details_index(const struct details_of *of, uint64_t cgroup)
{
	size_t at = of->is_all ? 0 : ids_find(of->cgroups, of->count, cgroup);

	if (!of->is_all && at == of->count)
		return SIZE_MAX;
	return of->is_apart ? at : 0;
}

/* The files that were followed, none if they were not, into @ret, of which there are
 * details_count(), empty ones; on failure they are so again.  @names are refreshed. */
int hot_files_read(const struct meter *m, struct place_names *names, const struct details_of *of,
		   struct hot_files *ret, struct error *err);

/* The same of system calls, if they were asked for. */
int syscalls_read(const struct meter *m, const struct details_of *of, struct syscalls *ret,
		  struct error *err);

/* How many threads of these cgroups sleep in an uncounted call. */
uint64_t syscalls_count_open(const struct meter *m, const struct details_of *of);
