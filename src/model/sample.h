/* SPDX-License-Identifier: MIT */
/* sample - numbers of the node and of the agent, one a metric and thing: what is scraped and in no
 * record; and what the node's energy sensors say. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/energy_sensor.h"
#include "model/metric.h"

#define SAMPLES_MAX 16384
#define SAMPLE_LABELS_MAX 4

struct sample {
	enum metric_id id;
	char *labels[SAMPLE_LABELS_MAX]; /* values, as metric_labels() names them; NULL: none */
	uint64_t number;
};

struct samples { /* begins as {} */
	struct sample *items;
	size_t count, room;
	struct energy_readings energy; /* of its sensors, if it has any */
};

/* What the thing is called; the rest NULL.  Copied.  -ENOSPC: over SAMPLES_MAX. */
int samples_add(struct samples *s, enum metric_id id, const char *const labels[SAMPLE_LABELS_MAX],
		uint64_t number);
int samples_add_all(struct samples *s, const struct samples *from); /* but energy */
/* Of a scope without labels. */
int samples_add_plain(struct samples *s, enum metric_id id, uint64_t number);

/* NULL: there is none.  @label: the first one's value; NULL: any. */
const struct sample *samples_find(const struct samples *s, enum metric_id id, const char *label);

/* One sensor's reading.  -ENOMEM; -ENOSPC: over ENERGY_SENSORS_MAX. */
int samples_add_energy(struct samples *s, const struct energy_reading *one);

void samples_clear(struct samples *s);
