/* SPDX-License-Identifier: MIT */
/*
 * job_gpus - the GPUs, and instances of GPUs, that a job held, and its part of what they did: the
 * numbers of SCOPE_GPU.
 *
 * Each is known by its UUID, so that records of several nodes add up.  A number that a card does
 * not tell is not known.  The first JOB_GPUS_MAX have rows of their own; what comes then is one
 * row, "(other)".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/reading.h"

struct parts;
struct record;

#define JOB_GPUS_MAX 256
#define GPU_UUID_SIZE 96 /* as NVML has them, with the 0 */
#define GPU_NAME_SIZE 16
#define GPU_MODEL_SIZE 64
#define GPU_NUMBERS (METRIC_GPU_END - METRIC_GPU_FIRST)

struct job_gpu {
	char uuid[GPU_UUID_SIZE]; /* never empty */
	char name[GPU_NAME_SIZE]; /* its index on its node: "0"; of an instance "0/2" */
	char model[GPU_MODEL_SIZE];
	struct value numbers[GPU_NUMBERS]; /* by metric, from METRIC_GPU_FIRST on */
};

struct job_gpus {
	bool is_known;
	struct job_gpu *items; /* owned */
	size_t count;
};

const struct job_gpus *job_gpus_of(const struct record *r);
const struct job_gpus *job_gpus_of_parts(const struct parts *p); /* never NULL */

struct value *job_gpu_number(struct job_gpu *g, enum metric_id id);
struct value job_gpu_get(const struct job_gpu *g, enum metric_id id);
/* Over all of them: sums of counters, the greatest of peaks; not known where none of them is. */
struct value job_gpus_total(const struct job_gpus *g, enum metric_id id);
/* "0" of "0/2", and "2", which is @g's; "": it is no instance. */
void job_gpu_card(const struct job_gpu *g, char ret[GPU_NAME_SIZE]);
const char *job_gpu_instance(const struct job_gpu *g);

/* The row of that UUID, which is added if there is none, or that of all others; the list's until
 * its next call.  NULL: no memory. */
struct job_gpu *job_gpus_get(struct job_gpus *g, const char *uuid, const char *name,
			     const char *model);
/* Add to a counter, or raise a peak. */
void job_gpu_add(struct job_gpu *g, enum metric_id id, uint64_t number);

void job_gpus_clear(void *section); /* struct job_gpus */
