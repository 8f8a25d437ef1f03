/* SPDX-License-Identifier: MIT */
/* on_demand - options of `run` and `watch` for what is counted only where it is asked for (T3). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cli.h"

struct client;

struct on_demand {
	bool follows_files, names_syscalls;
	unsigned int files_max;
};

#define ON_DEMAND_NONE ((struct on_demand){ .files_max = 16384 })

extern const struct cli_option on_demand_options[]; /* their target is a struct on_demand */
extern const size_t on_demand_option_count;

/* Does the agent count all that is asked for?  Else root measures himself, and others are told what
 * is missing. */
bool on_demand_is_counted(const struct on_demand *d, struct client *client);

/* How many files to follow one by one; 0: none. */
unsigned int on_demand_files(const struct on_demand *d);
