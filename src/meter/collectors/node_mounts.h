/* SPDX-License-Identifier: MIT */
/* node_mounts - how full the node's file systems are.  Within node only. */
#pragma once

#include <stdbool.h>

#include "sample.h"

/* Of those with a device or memory of their own; each once, by the mount point that names it. */
int node_mounts_read(int root_fd, bool has_remote, struct samples *to);
