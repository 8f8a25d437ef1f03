/* SPDX-License-Identifier: MIT */
/* trace_post - what who traces a job tells the agent: all that its trace counted so far
 * ("jobmeter.trace/1"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/trace.h"

struct error;

struct trace_post {
	uint64_t group_id; /* the job's top group, as the kernel numbers it */
	uint64_t trace_id; /* no other trace on this node has it, and those that begin later have
			      greater ones */
	bool is_last; /* the trace is over */
	struct traced_calls calls;
};
void trace_post_clear(struct trace_post *p);

/* The caller frees *ret.  -ENOMEM. */
int trace_post_format(const struct trace_post *p, char **ret);
/* -EINVAL: it is none, and *err says why; -ENOMEM. */
int trace_post_parse(const char *text, size_t length, struct trace_post *ret, struct error *err);
