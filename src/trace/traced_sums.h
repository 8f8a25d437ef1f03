/* SPDX-License-Identifier: MIT */
/* traced_sums - what a tracer has counted, as the section of a record has it. */
#pragma once

#include <stdint.h>

struct sites;
struct traced_calls;
struct tracer;

struct trace_sums;
struct traced_function;

void traced_sums_add(struct traced_function *to, const struct trace_sums *more);

/* So far, after @traced_ns.  @ret begins as {} or is what the same call gave before: no number
 * falls, and no function changes its row.  A function's name is its probe's, whatever symbols that
 * stands for.  -ENOMEM, or what reading the kernel side's says. */
int traced_sums_read(const struct tracer *t, const struct sites *sites, uint64_t traced_ns,
		     struct traced_calls *ret);
