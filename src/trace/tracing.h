/* SPDX-License-Identifier: MIT */
/* tracing - a trace from its beginning to its end: whose calls, how long, and what is done with
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/tracer.h"

struct error;
struct owner;

#define TRACING_BUDGET 5 /* what users are told, and what others have */

struct tracing_moment {
	struct tracer *tracer;
	uint64_t group_id; /* as the kernel numbers it; 0: no group is traced */
	uint64_t traced_ns; /* since it was on */
	bool is_last; /* all that was counted is there */
};

struct tracing_options {
	/* One of these says who is traced. */
	bool is_of_all; /* all processes of the node, by group; it ends by .wait alone */
	const char *group; /* a group's path in the key hierarchy, with those below it */
	pid_t pid; /* and what it forks */
	/* Has not begun: files that it may load are probed before it does.  NULL: those that are
	 * mapped now are. */
	char *const *command;
	/* For a user: whose calls alone are traced, of files that such processes have mapped, at
	 * what cost for others.  NULL: everybody's. */
	const struct owner *owner;
	uint64_t duration_ns; /* 0: until they end, or we are asked to */
	unsigned int budget; /* what a probe may cost, in percent of a CPU; 0: whatever it costs */
	tracer_reader read; /* gets events */
	/* At the end, and when a thread ends: calls that have not returned, with TRACE_IS_OPEN;
	 * start_ns 0: since before they were probed.  NULL: nobody cares. */
	tracer_reader open;
	/* A process was found that has just begun a program, before it is looked at: events may be
	 * read when it has gone.  NULL: nobody cares. */
	void (*see)(void *context, pid_t pid);
	void (*drop)(void *context, const struct site_row *row, uint64_t cost_ns); /* over its
										      budget */
	/* Once, where they wait for each other, and for cores a third of their time and more.
	 * NULL: nobody cares. */
	void (*crowded)(void *context);
	/* All is on.  NULL: nobody waits for it. */
	int (*begun)(void *context, struct error *err);
	/* 1: it goes on; 0: it ends before all of those that are traced have.  NULL: by signals. */
	int (*wait)(void *context, int timeout_ms, struct error *err);
	/* Every 10 s, soon after the first call of a group, and at the end.  NULL: nobody wants to
	 * know what is counted so far. */
	void (*tell)(void *context, const struct tracing_moment *moment);
	void *context;
};

#define TRACING_OUTSIDE_PART 100 /* of a core's time, that a user's traces may cost others */

struct traced { /* what came of it */
	uint64_t outside_ns; /* what a user's cost others */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC: when it was on */
	size_t files_left_out; /* for whose probes there was no room; not of all processes' */
};

/* @sites are begun.  The tracer is detached, and the caller's to close. */
int tracing_run(const struct tracing_options *options, struct sites *sites, struct tracer **ret,
		struct traced *ret_traced, struct error *err);

/* Look for probes where they would go, and attach nothing. */
int tracing_look(const struct tracing_options *options, struct sites *sites, struct error *err);
