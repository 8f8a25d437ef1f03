/* SPDX-License-Identifier: MIT */
/*
 * node values - what the node as a whole does, for who looks at its jobs: CPU time, memory, load,
 * swap, pressure.  Counters since boot, and gauges.
 *
 * Which numbers these are stands in one table; each may be missing, and none of them is zero then.
 */
#pragma once

#include <jansson.h>

#include "model/reading.h"

/* How a node is, in a line of JSON that goes with its records. */
#define NODE_HEADER "Jobmeter-Node"
#define NODE_SCHEMA "jobmeter.node/1"
#define NODE_LINE_MAX 3072 /* bytes; of what is not measured as much is named as there is room */

struct document;
struct place;
struct samples;

enum node_value {
	NODE_CPUS, /* online */
	NODE_CPU_USER, /* from here on as /proc/stat has them, in ns */
	NODE_CPU_NICE,
	NODE_CPU_SYSTEM,
	NODE_CPU_IDLE,
	NODE_CPU_IOWAIT,
	NODE_CPU_IRQ,
	NODE_CPU_SOFTIRQ,
	NODE_CPU_STEAL,
	NODE_LOAD_1, /* in hundredths */
	NODE_LOAD_5,
	NODE_LOAD_15,
	NODE_MEMORY_TOTAL, /* bytes */
	NODE_MEMORY_AVAILABLE,
	NODE_SWAP_TOTAL,
	NODE_SWAP_FREE,
	NODE_PRESSURE_CPU, /* ns in which some task waited for it */
	NODE_PRESSURE_IO,
	NODE_PRESSURE_MEMORY,
	NODE_GPUS, /* all cards together, from here on */
	NODE_GPU_BUSY, /* in hundredths of a card */
	NODE_GPU_MEMORY_TOTAL, /* bytes */
	NODE_GPU_MEMORY_USED,
	NODE_GPU_POWER, /* in uW */
	NODE_VALUE_COUNT,
};

struct node_values { /* begins as {}: nothing is known */
	uint64_t boot_ns; /* when they were read, by CLOCK_BOOTTIME; 0: nothing is known */
	struct value values[NODE_VALUE_COUNT];
};

/* Those that are among @samples, which were taken at that moment; of several things: the sum. */
void node_values_add(struct node_values *v, const struct samples *samples, uint64_t boot_ns);

/* Write them as the member "node"; nothing where nothing is known. */
void node_values_format(const struct node_values *v, struct document *d);
/* The same back; @map holds the member, or not.  -EINVAL: the place's error says why. */
int node_values_parse(const struct place *place, const json_t *map, struct node_values *ret);
