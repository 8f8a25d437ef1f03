/* SPDX-License-Identifier: MIT */
/*
 * ports - what went through a node's InfiniBand and Omni-Path ports: at one moment, since the node
 * counts; or in a time, which is a record's section `ports`.
 *
 * The numbers are those of SCOPE_NODE_PORT that only grow.  One that is not known was not counted,
 * or not all the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

#define PORTS_MAX 32 /* of a node, and of all nodes of a merged record; the rest is left out */
#define PORT_DEVICE_SIZE 64
#define PORT_NUMBER_SIZE 16
#define PORT_COUNTERS (METRIC_NODE_PORT_LINK_FAILURES - METRIC_NODE_PORT_TRANSMIT_BYTES + 1)

struct shape;

struct port {
	char device[PORT_DEVICE_SIZE], number[PORT_NUMBER_SIZE]; /* "mlx5_0", "1" */
	uint64_t from_ns, to_ns; /* the time that it stands for, since the epoch; 0: not known */
	bool is_shared; /* the whole node's: others' may be among them */
	struct value counters[PORT_COUNTERS]; /* from METRIC_NODE_PORT_TRANSMIT_BYTES on */
};

struct ports { /* begins as {} */
	struct port items[PORTS_MAX];
	size_t count;
};

static inline enum metric_id port_metric(size_t i)
{
	return (enum metric_id)(METRIC_NODE_PORT_TRANSMIT_BYTES + i);
}

/* NULL: none such; there is no room, or a name is too long. */
struct port *ports_find(struct ports *p, const char *device, const char *number);
struct port *ports_add(struct ports *p, const char *device, const char *number);

/* Take off what was counted @earlier, up to which time it stands from then on.  What is not known
 * of both, or fell, is not known; ports that were not there are left out. */
void ports_subtract(struct ports *p, const struct ports *earlier);
/* Add those of another node or time by their names. */
void ports_merge(struct ports *to, const struct ports *from);

extern const struct shape ports_shape; /* a list, as a record has it... */
extern const struct shape port_shape; /* ...of these */
