/* SPDX-License-Identifier: MIT */
/* top_node - the node as a whole, above the list: CPU, memory, swap, load, pressure, GPUs.  In four
 * lines (three without GPUs), in one on a small screen, in none on a very small one or without
 * numbers.
 */
#pragma once

struct grid;
struct node_values;
struct top;

#define TOP_NODE_ROWS_MAX 4

struct node_now { /* shares of 1, but where it is said; NAN: not known */
	double busy, user, kernel, io_wait, stolen; /* of the time of all CPUs, between both
						       readings */
	double cpus; /* how many */
	double memory, memory_total, swap, swap_total; /* in use; totals in bytes */
	double gpus, gpus_busy; /* how many cards */
	double gpu_memory, gpu_memory_total, gpu_watts; /* of all cards */
	double load[3]; /* over 1, 5 and 15 minutes: tasks */
	double pressure_cpu, pressure_io, pressure_memory; /* of the time: some task waited for it
							    */
};

/* @before: of the tick before; rates are unknown if it is empty, or from another boot. */
struct node_now node_now_of(const struct node_values *now, const struct node_values *before);

/* How many rows it takes, of a screen of @columns and @rows (0: of as many as it takes). */
unsigned int top_node_rows(const struct top *t, unsigned int columns, unsigned int rows);
/* Draw @rows rows (at most TOP_NODE_ROWS_MAX), from @row on. */
void top_node_draw(const struct top *t, struct grid *g, unsigned int row, unsigned int rows);
