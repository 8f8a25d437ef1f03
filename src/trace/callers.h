/* SPDX-License-Identifier: MIT */
/* callers - names and ranks of the traced processes, read while they live. */
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

/* The process with that pid, valid as long as the table; read at the first call: of a process that
 * has ended by then only the pid is known.  NULL: no memory. */
const struct trace_process *callers_get(struct callers *p, uint32_t pid);

/* Keep the rank of a process that was found before it calls anything, if it has one by now. */
void callers_see(struct callers *p, uint32_t pid);

/* The rank that an environment names, as proc/PID/environ has it; -1: none. */
int callers_parse_rank(const char *text, size_t size);
