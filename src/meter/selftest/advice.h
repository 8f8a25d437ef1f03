/* SPDX-License-Identifier: MIT */
/* advice - what would make measuring here better: one row a condition, told only where it holds. */
#pragma once

#include <stddef.h>

#include "selftest/checkup.h"

struct advice {
	const char *what; /* to do */
	const char *gives; /* for that */
};

#define ADVICE_MAX 32

/* The pieces that hold, most important first; returns how many. */
size_t advice_of(const struct checkup *c, struct advice ret[ADVICE_MAX]);
