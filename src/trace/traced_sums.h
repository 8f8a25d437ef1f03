/* SPDX-License-Identifier: MIT */
/* traced_sums - what a tracer has counted, as the section of a record has it. */
#pragma once

#include <stdint.h>

struct sites;
struct traced_calls;
struct tracer;

struct trace_numbers;
struct traced_function;

void traced_sums_add(struct traced_function *to, const struct trace_numbers *more);

/* The sums so far, after @traced_ns.  @ret begins as {} or is the result of the last call: numbers
 * never fall, and functions keep their rows.  A function is named by its probe, whatever its
 * symbols.  -ENOMEM, or the error of reading the maps. */
int traced_sums_read(const struct tracer *t, const struct sites *sites, uint64_t traced_ns,
		     struct traced_calls *ret);
