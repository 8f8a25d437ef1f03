/* SPDX-License-Identifier: MIT */
/* killed - processes of a cgroup that the OOM killer ended. */
#pragma once

#include <stdint.h>

#include "bpf/tasks.h"
#include "model/sections/oom_list.h"

struct objects;

/* A negative return ends the visit, and is its result. */
typedef int (*killed_visitor)(void *context, uint64_t cgroup, const struct oom_kill *oom_kill);

/* All kills that the kernel side stored, in no order; none if it does not watch for them. */
int killed_visit(const struct objects *o, killed_visitor visit, void *context);

/* The number of kills, including those that are not stored. */
int killed_count(const struct objects *o, uint64_t *ret);

/* @boot_ns and @real_ns: one time by CLOCK_BOOTTIME and since the epoch; @page_bytes: of this
 * machine. */
struct oom_kill killed_describe(const struct oom_kill_entry *from, uint64_t boot_ns,
				uint64_t real_ns, uint64_t page_bytes);
