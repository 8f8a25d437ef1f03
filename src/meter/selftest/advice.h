/* SPDX-License-Identifier: MIT */
/* advice - what would improve measuring here: one row per condition, shown only if it holds. */
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
