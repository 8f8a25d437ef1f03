/* SPDX-License-Identifier: MIT */
/* tracing - a trace from its beginning to its end: whose calls, how long, and what is done with
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/tracer.h"

struct error;
struct watch_target;

struct tracing_options {
	/* One of these says who is traced. */
	const struct watch_target *job;
	pid_t pid;
	char **command; /* NULL-ended */
	struct traced_files *files; /* of the command, begun; NULL: the kernel is not asked */
	uint64_t duration_ns; /* 0: until they end, or we are asked to */
	unsigned int budget; /* what a probe may cost, in percent of a core for each process that is
				traced; 0: whatever it costs */
	tracer_reader read; /* gets events */
	void (*drop)(void *context, const struct site_row *row, uint64_t cost_ns); /* over its
										      budget */
	void *context;
};

struct traced { /* what came of it */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: when it was on */
	uint64_t start_real_ns;
	int exit_code; /* of the command */
	size_t processes; /* that were seen */
};

/* @sites are begun.  The tracer is detached, and the caller's to close. */
int tracing_run(const struct tracing_options *options, struct sites *sites, struct tracer **ret,
		struct traced *ret_traced, struct error *err);

/* Look for probes where they would go, and attach nothing. */
int tracing_look(const struct tracing_options *options, struct sites *sites, struct error *err);
