/* SPDX-License-Identifier: MIT */
/*
 * names - what numbers among a call's values stand for: a file's handle its path, a GPU's function
 * the kernel's name, as probes with `names` have told it; and what a set's [words] say.
 *
 * A number is known in one process, to captures of one name in sets of one group.  What is named a
 * second time has the new name.
 */
#pragma once

#include <stdint.h>

#include "basic/idmap.h"

struct probe_set;
struct trace_call;
struct trace_process;

struct names { /* begins as {} */
	struct idmap entries;
};

/* Of a call whose probe names something, and that has not failed; others are left aside.  Sets
 * outlive the names.  -ENOMEM. */
int names_add(struct names *n, const struct trace_call *call);
/* NULL: it has none.  @n NULL: only the set's words are known. */
const char *names_find(const struct names *n, const struct probe_set *set, const char *capture,
		       const struct trace_process *process, int64_t value);
void names_clear(struct names *n);
