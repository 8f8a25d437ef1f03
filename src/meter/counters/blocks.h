/* SPDX-License-Identifier: MIT */
/* blocks - the kernel side's counts of block devices, by cgroup. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/block.h"

struct objects;

struct cgroup_block { /* of one cgroup, device and operation; of one CPU */
	uint64_t cgroup;
	struct block_row row;
};

/* All rows; none where nothing is counted.  The caller frees *@ret. */
int blocks_read(const struct objects *o, struct cgroup_block **ret, size_t *ret_count);
