/* SPDX-License-Identifier: MIT */
/* tracing - runs a trace from beginning to end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/tracer.h"

struct error;
struct owner;

#define TRACING_CROWDED                                                                          \
	"the traced processes wait for cores: where ranks wait for each other, probes can slow " \
	"them down many times more than they take. Give each rank a core of its own"
#define TRACING_BUDGET 5 /* default, in percent */

struct tracing_moment {
	struct tracer *tracer;
	uint64_t group_id; /* as the kernel numbers it; 0: no group is traced */
	uint64_t traced_ns; /* since it was on */
	bool is_last; /* all that was counted is there */
};

struct tracing_options {
	/* One of these selects the processes. */
	bool is_of_all; /* all processes of the node, by group; it ends by .wait alone */
	const char *group; /* a group's path in the key hierarchy, with those below it */
	pid_t pid; /* and what it forks */
	/* Has not begun: files that it may load are probed before it does.  NULL: those that are
	 * mapped now are. */
	char *const *command;
	/* For a user without rights: only calls of this owner's processes, in files that they have
	 * mapped, at a bounded cost for others.  NULL: all. */
	const struct owner *owner;
	uint64_t duration_ns; /* 0: until they end, or we are asked to */
	unsigned int budget; /* what a probe may cost, in percent of a CPU; 0: whatever it costs */
	tracer_reader read; /* gets events */
	/* May be NULL.  At the end, and when a thread ends: calls that have not returned, with
	 * TRACE_IS_OPEN; start_ns 0: since before they were probed. */
	tracer_reader open;
	/* May be NULL.  A process that has just begun a program was found; it may be gone when its
	 * events are read. */
	void (*see)(void *context, pid_t pid);
	void (*drop)(void *context, const struct site_row *row, uint64_t cost_ns); /* over its
										      budget */
	/* May be NULL.  Once, if the processes wait for each other, and for cores a third of their
	 * time or more. */
	void (*crowded)(void *context);
	/* May be NULL.  Tracing has begun. */
	int (*begun)(void *context, struct error *err);
	/* 1: it goes on; 0: it ends before all of those that are traced have.  NULL: by signals. */
	int (*wait)(void *context, int timeout_ms, struct error *err);
	/* May be NULL.  Every 10 s, soon after the first call of a group, and at the end. */
	void (*tell)(void *context, const struct tracing_moment *moment);
	void *context;
};

#define TRACING_OUTSIDE_PART 100 /* of a core's time, that a user's traces may cost others */

struct traced { /* what came of it */
	uint64_t outside_ns; /* what a user's cost others */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: when it was on */
	size_t files_left_out; /* files without room for their probes; not counted with is_of_all */
};

/* @sites are begun.  The tracer is detached, and the caller's to close. */
int tracing_run(const struct tracing_options *options, struct sites *sites, struct tracer **ret,
		struct traced *ret_traced, struct error *err);

/* Look for probes where they would go, and attach nothing. */
int tracing_look(const struct tracing_options *options, struct sites *sites, struct error *err);
