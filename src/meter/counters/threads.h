/* SPDX-License-Identifier: MIT */
/* groups of threads - how evenly the threads of a process worked: see the kernel side's tasks.h and
 * groups of threads.bpf.h. */
#pragma once

#include <stdint.h>

#include "bpf/tasks.h" /* the kernel side's */

/* Another thread, that was on a CPU for so long. */
void thread_levels_join(struct thread_levels *levels, uint64_t on_ns);

/* Those that worked. */
struct busiest_threads thread_levels_busiest(const struct thread_levels *levels);

/* Make it the one that did more. */
void busiest_threads_raise(struct busiest_threads *to, const struct busiest_threads *from);
