/* SPDX-License-Identifier: MIT */
/* node_ports - what went through the node's InfiniBand and Omni-Path ports. */
#pragma once

#include <stdbool.h>

#include "sample.h"

/* Each port of each device below sys/class/infiniband; what a port does not count is left out. */
int node_ports_read(int root_fd, struct samples *to);
/* Has the node any such device? */
bool node_ports_exist(int root_fd);
/* What a job's record says of them then: a port does not tell whose its packets are. */
#define NODE_PORTS_MISSING "InfiniBand, Omni-Path: known of the node's ports, not by job"
