/* SPDX-License-Identifier: MIT */
/* made_top - jobs that no machine ran, as top sees them at two moments. */
#pragma once

#include "basic/cleanup.h"
#include "tui/grid.h"
#include "tui/processes.h"
#include "tui/top.h"

#define MADE_SECONDS 2 /* between both */

/* The tick of the first moment (@later false) or the second: slurm/123 of alice works and writes to
 * /scratch, slurm/124 of bob is blocked on reads, slurm/1000 of alice began half a second before
 * the second tick, run/77 ended in between, slurm/99 tells nothing but that it is there, and
 * slurm/125 runs out of memory. */
void made_wire_snapshot(bool later, struct tick *ret);

/* A top that has seen both. */
struct top *made_top(void);
void made_top_freep(struct top **t);
#define _cleanup_top_ _cleanup_(made_top_freep)

/* Processes of slurm/123 (two tasks of step 0, one that is in no task) and slurm/124, at both
 * moments. */
void made_processes(struct top *t);

/* As text; the caller frees. */
char *made_screen(struct top *t, unsigned int columns, unsigned int rows, bool is_ascii);
