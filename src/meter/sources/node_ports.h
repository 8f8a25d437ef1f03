/* SPDX-License-Identifier: MIT */
/* node_ports - what went through the node's InfiniBand and Omni-Path ports. */
#pragma once

#include <stdbool.h>

#include "model/sections/ports.h"
#include "model/sample.h"

/* Its source: each port of each device below sys/class/infiniband; what a port does not count, or
 * no more, since the counter stands at its end, is left out. */
#define NODE_PORTS_SOURCE "ports"
/* Of its samples those that only grow, in an empty @ret. */
void node_ports_take(const struct samples *from, struct ports *ret);
/* Has the node any such device? */
bool node_ports_exist(int root_fd);
/* What a record says of them then, if it does not know what was the job's: a port does not tell
 * whose its packets are. */
#define NODE_PORTS_LABEL "InfiniBand, Omni-Path: "
#define NODE_PORTS_MISSING NODE_PORTS_LABEL "known of the node's ports, not by job"
