/* SPDX-License-Identifier: MIT */
/* machine - facts of this node for measuring. Each may be unknown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "energy/node_energy.h"
#include "sources/machine.h"

struct machine {
	char node[128], kernel[128], arch[32]; /* "": unknown */
	bool has_btf; /* the kernel describes its types */
	/* When the kernel takes the CPU from a task within the kernel: "none", "voluntary", "lazy",
	 * "full", "rt"; "": unknown.  Under "full" programs on BPF trampolines skip calls. */
	char preemption[16];
	const char *preemption_source; /* the file with it, or where it was expected */
	unsigned int cpus_online, cpus_possible; /* 0: unknown */
	uint64_t memory_bytes; /* 0: unknown */
	bool is_virtual;
	char product[128]; /* maker, or hypervisor; "": unknown */
};

/* Never fails: facts that cannot be read below @root_fd are unknown. */
void machine_read(int root_fd, struct machine *ret);
/* The same of cpus_online alone. */
unsigned int machine_cpus_online(int root_fd);

/* CPU time of all CPUs since boot that was not idle, iowait or stolen, in ns; -ENOENT, -EINVAL. */
int machine_read_busy(int root_fd, uint64_t *ret_ns);

/* For node_energy_new(); @root_fd outlives that. */
struct energy_machine machine_for_energy(int root_fd);

/* A "flags" line of cpuinfo has "hypervisor". */
bool machine_parse_hypervisor(const char *cpuinfo);

#define NUMA_NODES_MAX 1024

/* Set the record's NUMA nodes of the CPUs that it may use, and of those that it used, if they
 * are known; unknown on a machine without NUMA files. -ENOMEM. */
struct record;
int machine_describe_numa(int root_fd, struct record *record);
