/* SPDX-License-Identifier: MIT */
/* node_mounts - how full the node's file systems are.  Within node only. */
#pragma once

#include "sample.h"

struct node_options;

/* Of those with a device or memory of their own; each once, by the mount point that names it. */
int node_mounts_read(int root_fd, const struct node_options *options, struct samples *to);
