/* SPDX-License-Identifier: MIT */
/*
 * nvml - NVIDIA's driver through libnvidia-ml, which is loaded with dlopen() and declared here
 * alone.
 *
 * Each number has a call of its own: what a card does not support, or an older library lacks, is
 * absent, and the rest is there. Calls block as long as the driver does: they are for threads of
 * their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/reading.h"
#include "model/sections/job_gpus.h"

struct error;
struct nvml; /* a loaded library, which stays loaded; shared by count between threads, any of which
		may hang in it */

#define NVML_LIBRARY "libnvidia-ml.so.1"

#define GPU_CARDS_MAX 64
#define GPU_INSTANCES_MAX 8 /* of one card */
#define GPU_PROCESSES_MAX 256 /* of one card: the rest is left out */
#define GPU_WHOLE UINT32_MAX /* no instance */

/* The place of a number of SCOPE_NODE_GPU in a reading: GPU_FIELD(POWER). */
#define GPU_FIELD(name) (METRIC_NODE_GPU_##name - METRIC_NODE_GPU_FIRST)
#define GPU_FIELDS GPU_FIELD(INFO)

struct gpu_identity { /* of a card */
	void *handle;
	uint32_t index, minor; /* minor: UINT32_MAX: not known */
	char uuid[GPU_UUID_SIZE], model[GPU_MODEL_SIZE], pci[32];
};

struct gpu_instance { /* of MIG: a compute instance */
	uint32_t gpu_instance, compute_instance;
	uint32_t slices; /* of the card's compute slices */
	char uuid[GPU_UUID_SIZE];
	struct value memory_total, memory_used;
	struct value busy; /* hundredths, by GPM */
};

struct gpu_process {
	uint32_t pid;
	uint32_t gpu_instance, compute_instance; /* GPU_WHOLE: none */
	bool is_graphics;
	struct value memory_bytes;
	struct value sm, memory, encoder, decoder; /* percent, of the last moment */
	/* From proc, set by the reader: */
	char *path; /* of its cgroup in the key hierarchy; owned; NULL: it is gone */
	int64_t uid; /* -1: it is gone */
	char command[32];
};

struct gpu_reading { /* of a card at a moment; begins as {} */
	uint64_t boot_ns; /* 0: none */
	struct value fields[GPU_FIELDS]; /* LOST: as the driver reports it */
	bool has_instances; /* MIG is on: processes are those of instances */
	struct gpu_instance instances[GPU_INSTANCES_MAX];
	size_t instance_count;
	struct gpu_process *processes; /* owned */
	size_t process_count;
};
void gpu_reading_clear(struct gpu_reading *r);

/* The holder's metric of a field: a ratio times the time, the growth of a counter, or a peak.
 * METRIC_COUNT: none. */
enum metric_id nvml_job_metric(size_t field);

/* @file: a path, or a name for the dynamic linker.  -ENODEV: it is not installed. */
int nvml_load(const char *file, struct nvml **ret, struct error *err);
struct nvml *nvml_ref(struct nvml *n);
struct nvml *nvml_unref(struct nvml *n); /* NULL is fine; returns NULL */

/* Initialise the driver if necessary, and list its cards; from one thread. -ENODEV: the driver
 * is gone, with the reason in *err; the next call initialises it again. */
int nvml_list(struct nvml *n, struct gpu_identity ret[GPU_CARDS_MAX], size_t *ret_count,
	      struct error *err);

struct nvml_card; /* one that is read; for one thread */
int nvml_card_open(struct nvml *n, void *handle, struct nvml_card **ret);
struct nvml_card *nvml_card_free(struct nvml_card *c); /* NULL is fine; returns NULL */
/* All but the data of processes from proc. -ENOMEM. */
int nvml_card_read(struct nvml_card *c, uint64_t boot_ns, struct gpu_reading *ret);
