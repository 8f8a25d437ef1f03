/* SPDX-License-Identifier: MIT */
/* callers - who the traced processes are: their names and ranks, which are read while they live.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/call.h"

#define CALLERS_ENVIRON_MAX (1 << 20)

struct callers { /* begins as {} */
	struct trace_process **items;
	size_t count, room;
};
void callers_clear(struct callers *p);

/* The one of that number; it lives as long as the table.  Read when it is asked for first: of one
 * that has gone by then only the number is known.  NULL: no memory. */
const struct trace_process *callers_get(struct callers *p, uint32_t pid);

/* A process was found, before its calls: its rank, if it has one by now, is kept for them. */
void callers_see(struct callers *p, uint32_t pid);

/* The rank that an environment names, as proc/PID/environ has it; -1: none. */
int callers_parse_rank(const char *text, size_t size);
