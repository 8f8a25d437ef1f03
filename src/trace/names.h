/* SPDX-License-Identifier: MIT */
/*
 * names - names for numbers among a call's values: a path for a file handle, a kernel's name for a
 * GPU function, as probes with `names` report them; and the words of a set's [words].
 *
 * A name is valid in one process, for captures of one name in sets of one group; a later name
 * replaces an earlier one.
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

/* Take the name from a call whose probe has `names`, unless it failed; other calls are skipped.
 * Sets outlive the names.  -ENOMEM. */
int names_add(struct names *n, const struct trace_call *call);
/* NULL: it has none.  @n NULL: only the set's words are known. */
const char *names_find(const struct names *n, const struct probe_set *set, const char *capture,
		       const struct trace_process *process, int64_t value);
void names_clear(struct names *n);
