/* SPDX-License-Identifier: MIT */
/* teams - how evenly the threads of a process worked: see the kernel side's tasks.h and teams.bpf.h. */
#pragma once

#include <stdint.h>

#include "bpf/tasks.h" /* the kernel side's */

/* Another thread, that was on a CPU for so long. */
void thread_levels_join(struct thread_levels *levels, uint64_t on_ns);

/* Those that worked. */
struct thread_team thread_levels_team(const struct thread_levels *levels);

/* Make it the one that did more. */
void thread_team_raise(struct thread_team *to, const struct thread_team *from);
