/* SPDX-License-Identifier: MIT */
/* times - T1 as the kernel side has it: time by cause, of each cgroup and CPU. */
#pragma once

#include <stdint.h>

#include "bpf/task_times.h"

struct objects;

/* Let the kernel side count the waits that go on, as far as they have gone, and begin with tasks
 * that it does not know yet.  0 where there is no T1. */
int times_charge_open(const struct objects *o);

/* @cpu: TIME_ALL_CPUS: it is not told apart.  A negative return ends the visit, and is its result.
 */
typedef int (*times_visitor)(void *context, uint64_t cgroup, uint32_t cpu,
			     const struct task_times *times);

/* All of each cgroup and CPU; 0 where there is no T1. */
int times_visit(const struct objects *o, times_visitor visit, void *context);
