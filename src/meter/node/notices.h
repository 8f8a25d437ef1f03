/* SPDX-License-Identifier: MIT */
/*
 * notices - lines to be logged once, about things that may happen thousands of times: the first of
 * an hour are kept, and the rest counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/error.h"

#define NOTICES_MAX 16 /* lines an hour */
#define NOTICES_PERIOD_NS UINT64_C(3600000000000)

struct notices { /* begins as {} */
	struct error lines[NOTICES_MAX];
	size_t count, told;
	uint64_t left_out, since_ns;
};

/* @now_ns: by any clock that never goes back. */
void notices_add(struct notices *n, uint64_t now_ns, const struct error *line);

/* The next line; after the hour, the number of lines left out. False: none. UINT64_MAX: the hour
 * is over now. */
bool notices_get(struct notices *n, uint64_t now_ns, struct error *ret);
