/* SPDX-License-Identifier: MIT */
/*
 * costs - what each tier costs on this machine, measured: a process in a group of its own reads 4
 * KiB of a cached file and calls getppid, without the meter and with more and more of it.
 *
 * The settings take turns within each round, so that what else the machine does falls on all alike.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup/hierarchy.h"

struct error;

/* ns of one call over rounds; added ones may be below zero: noise. */
struct cost_spread {
	int64_t min_ns, median_ns, max_ns;
};

struct cost {
	const char *name; /* "files: counts" */
	bool is_known; /* all hooks of the setting were on */
	struct cost_spread read, call; /* of a 4 KiB read, and of any other call: bare in the first
					  row, added in the others */
};

#define COSTS_COUNT 5

struct costs {
	struct cost rows[COSTS_COUNT]; /* the first is without the meter */
	unsigned int rounds;
	unsigned int calls; /* of each kind a round and setting */
};

/* Takes some 1.5 s.  Fails where the process or its group cannot be made. */
int costs_measure(int root_fd, const struct hierarchy *h, struct costs *ret, struct error *err);
