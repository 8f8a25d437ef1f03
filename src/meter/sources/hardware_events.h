/* SPDX-License-Identifier: MIT */
/*
 * hardware_events - the processor's events for each of our metrics.
 *
 * Only events that the maker documents for that very family; without one, the metric is unknown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"

#define HARDWARE_EVENTS_MAX 8

struct hardware_event {
	enum metric_id metric;
	uint32_t type; /* as in struct perf_event_attr */
	uint64_t config;
	uint64_t weight; /* how much one count adds to the metric */
};

/* A metric that several events make is their sum, each with its weight. */
struct hardware_events {
	struct hardware_event items[HARDWARE_EVENTS_MAX];
	size_t count;
};

struct processor {
	char vendor[16]; /* "GenuineIntel"; "": not known */
	unsigned int family, model;
};

/* @cpuinfo: the text of proc/cpuinfo, of which the first processor counts. */
void processor_parse(const char *cpuinfo, struct processor *ret);
/* The events for such a processor. */
void hardware_events_of(const struct processor *processor, struct hardware_events *ret);
/* For the machine below @root_fd. */
void hardware_events_read(int root_fd, struct hardware_events *ret);
