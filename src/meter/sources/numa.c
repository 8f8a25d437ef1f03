/* SPDX-License-Identifier: MIT */
#include "sources/numa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/cpulist.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "model/record.h"

#define LIST_SIZE 16384 /* all of CPULIST_MAX, one by one, would not fit: it is no machine's */

static int read_list(int root_fd, const char *path, struct cpulist *ret)
{
	char text[LIST_SIZE];
	int r = file_read_small(root_fd, path, text, sizeof(text));

	return r < 0 ? r : cpulist_parse(text, ret);
}

/* Those of @nodes that have one of the CPUs. */
static int find_nodes(int root_fd, const struct cpulist *nodes, const char *cpus, char **ret)
{
	struct cpulist wanted, found = {};

	if (!cpus || cpulist_parse(cpus, &wanted) < 0)
		return 0;
	for (unsigned int i = 0; i < NUMA_NODES_MAX; i++) {
		struct cpulist of_node;
		char path[64];

		if (!cpulist_contains(nodes, i))
			continue;
		snprintf(path, sizeof(path), "sys/devices/system/node/node%u/cpulist", i);
		if (read_list(root_fd, path, &of_node) < 0)
			return 0;
		for (size_t k = 0; k < ARRAY_SIZE(wanted.bits); k++) {
			if (wanted.bits[k] & of_node.bits[k])
				cpulist_set(&found, i);
		}
	}
	if (!cpulist_count(&found))
		return 0;
	free(*ret);
	*ret = cpulist_format(&found);
	return *ret ? 0 : -ENOMEM;
}

int numa_describe(int root_fd, struct record *record)
{
	struct cpulist nodes;
	int r;

	if (read_list(root_fd, "sys/devices/system/node/online", &nodes) < 0)
		return 0;
	r = find_nodes(root_fd, &nodes, record->job.cpus_allowed, &record->job.numa_allowed);
	return r < 0 ? r
		     : find_nodes(root_fd, &nodes, record->job.cpus_used, &record->job.numa_used);
}
