/* SPDX-License-Identifier: MIT */
/*
 * older - objects that run in their code for older kernels, since the kernel refused the code for newer ones: all is
 * counted the same, but what newer code reads at once takes a call of a helper there.
 *
 * On a kernel without what the newer code takes that is as it should be; on a recent one a program of ours is refused
 * that should not be, and nothing but the cost of calls would tell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hooks.h"

struct older {				/* begins as {} */
	char why[OBJECT_COUNT][160];	/* what the kernel said to the newer code; "": it took it, or has neither */
};

/* @why: "" is known to nobody, and said so. */
void older_note(struct older *o, enum object_id id, const char *why);

bool older_is(const struct older *o, enum object_id id);

size_t older_count(const struct older *o);
