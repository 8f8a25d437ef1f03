/* SPDX-License-Identifier: MIT */
/* own_costs - what our programs cost on each CPU: see the kernel side's own.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/own.h" /* the kernel side's */

struct objects;

/* Of one CPU, since the programs were loaded. */
struct own_costs {
	struct own_cost programs[OWN_COUNT];
};

/* One a CPU that this machine may have; the caller frees.  0 where there are no such programs.
 * -ENOMEM, -errno. */
int own_costs_read(const struct objects *o, struct own_costs **ret, size_t *ret_count);

/* Measured once, when the hooks are attached, and kept with them. */
struct own_bases {
	uint64_t call_ns; /* that a system call takes longer where they do nothing */
	uint64_t run_ns; /* that a run is said to take which does nothing: the clock's own time */
};

/* How long a system call takes that does nothing, in ns: the fastest of some batches, some ms in
 * all. */
uint64_t own_costs_time_call(void);

/* Our hooks are there, and such a call took @bare_ns before. */
void own_costs_calibrate(const struct objects *o, uint64_t bare_ns);
struct own_bases own_costs_bases(const struct objects *o);

/* From now on, by CLOCK_BOOTTIME, no times of calls are taken; 0: they are again. */
void own_costs_set_unclocked(const struct objects *o, uint64_t since_ns);
uint64_t own_costs_unclocked(const struct objects *o);
