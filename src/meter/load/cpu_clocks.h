/* SPDX-License-Identifier: MIT */
/* cpu_clocks - a clock of each CPU that is online, which runs a BPF program at a fixed interval. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cpu_clocks {
	int *fds; /* of perf events; the program is detached as they are closed */
	size_t count;
};

/* -ENODEV, -EACCES and what else perf_event_open(2) says: then there is none. */
int cpu_clocks_start(int program_fd, uint64_t interval_ns, struct cpu_clocks *ret);
void cpu_clocks_stop(struct cpu_clocks *c);
