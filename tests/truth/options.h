/* SPDX-License-Identifier: MIT */
/* options - what the truth program is asked to do, as its command line says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ledger.h"

#define PROCESSES_MAX 256
#define THREADS_MAX 64

struct target { /* a folder or a device to work on */
	const char *path;
	int place;
	enum { TARGET_FOLDER, TARGET_DEVICE, TARGET_MAPPED } kind;
};

struct options {
	const char *output;
	struct target targets[PLACES_MAX];
	size_t target_count;
	size_t processes, threads, blocked, repeat;
	size_t storm_opens, storm_stats;
	unsigned int ways; /* bits: 1 << WAY_... */
	bool with_ring_splice, with_meta, with_newest, with_dup2, with_signals, with_exec;
	bool only_end;
};

extern const char options_usage[];

/* false: they are not understood.  Places are not yet given to the targets. */
bool options_parse(int argc, char **argv, struct options *ret);
