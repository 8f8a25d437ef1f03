/* SPDX-License-Identifier: MIT */
/* startup - what starting and ending a meter around one short command costs. */
#pragma once

#include "samples.h"

struct startup {
	const char *name;
	const char *argv[8];
	struct samples wall_ms, cpu_ms;
};

/* Run each of @items @times times, in turn.  One that fails has no samples. */
void startup_measure(struct startup *items, int count, int times);
