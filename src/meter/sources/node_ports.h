/* SPDX-License-Identifier: MIT */
/* node_ports - traffic of the node's InfiniBand and Omni-Path ports. */
#pragma once

#include <stdbool.h>

#include "model/sections/ports.h"
#include "model/sample.h"

/* Its source: each port of each device below sys/class/infiniband; missing counters and those at
 * their end are left out. */
#define NODE_PORTS_SOURCE "ports"
/* Of its samples those that only grow, in an empty @ret. */
void node_ports_take(const struct samples *from, struct ports *ret);
/* Has the node any such device? */
bool node_ports_exist(int root_fd);
/* The text of a record without a share in them: a port does not show the owner of packets. */
#define NODE_PORTS_LABEL "InfiniBand, Omni-Path: "
#define NODE_PORTS_MISSING NODE_PORTS_LABEL "known of the node's ports, not by job"
