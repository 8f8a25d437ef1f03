/* SPDX-License-Identifier: MIT */
/*
 * nvml - what NVIDIA's driver says of its cards, through libnvidia-ml, which is loaded with
 * dlopen() and declared here alone.
 *
 * Each number is asked for by a call of its own: what a card does not support, or an older library
 * does not know, is absent, and all else stays.  Calls block for as long as the driver does: they
 * are for threads that nobody waits for.
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

/* Numbers of a card; the order of nvml_fields[]. */
enum gpu_field {
	GPU_UTILIZATION,
	GPU_MEMORY_UTILIZATION,
	GPU_ENCODER,
	GPU_DECODER,
	GPU_MEMORY_BYTES,
	GPU_MEMORY_USED,
	GPU_TEMPERATURE,
	GPU_FAN,
	GPU_SM_CLOCK,
	GPU_MEMORY_CLOCK,
	GPU_POWER,
	GPU_POWER_LIMIT,
	GPU_ENERGY, /* the card's own counter */
	GPU_THROTTLED,
	GPU_ECC_CORRECTED,
	GPU_ECC_UNCORRECTED,
	GPU_PCIE_SENT,
	GPU_PCIE_RECEIVED,
	GPU_NVLINK_SENT,
	GPU_NVLINK_RECEIVED,
	GPU_SM_ACTIVE, /* from here on of GPM, between two samples */
	GPU_SM_OCCUPANCY,
	GPU_TENSOR_ACTIVE,
	GPU_DRAM_ACTIVE,
	GPU_FIELD_COUNT,
};

struct gpu_field_info {
	const char *key; /* in jobmeter.gpus/1 */
	enum metric_id metric; /* of the node, whose unit the number has */
	/* What it adds to who holds the card: a ratio times the time, or what a counter grew by; a
	 * peak is raised.  METRIC_COUNT: nothing. */
	enum metric_id of_job;
};
const struct gpu_field_info *gpu_field_info(enum gpu_field field);

#define GPU_CARDS_MAX 64
#define GPU_INSTANCES_MAX 16 /* of one card */
#define GPU_PROCESSES_MAX 256 /* of one card: the rest is left out */
#define GPU_WHOLE UINT32_MAX /* no instance */

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
	/* By who reads it, of proc: */
	char *path; /* of its cgroup in the key hierarchy; owned; NULL: it is gone */
	int64_t uid; /* -1: it is gone */
	char command[32];
};

struct gpu_reading { /* of a card at a moment; begins as {} */
	uint64_t boot_ns; /* 0: there is none */
	bool is_lost; /* the driver says so */
	struct value fields[GPU_FIELD_COUNT];
	struct value xid_errors; /* since the card was opened */
	bool has_instances; /* MIG is on: processes are those of instances */
	struct gpu_instance instances[GPU_INSTANCES_MAX];
	size_t instance_count;
	struct gpu_process *processes; /* owned */
	size_t process_count;
};
void gpu_reading_clear(struct gpu_reading *r);

/* @file: a path, or a name for the dynamic linker.  -ENODEV: it is not installed. */
int nvml_load(const char *file, struct nvml **ret, struct error *err);
struct nvml *nvml_ref(struct nvml *n);
struct nvml *nvml_unref(struct nvml *n); /* NULL is fine; returns NULL */

/* Begin with the driver where that is not done, and list the cards that it has.  -ENODEV: it is not
 * there (any more), and *err says why; then the next call begins anew. */
int nvml_list(struct nvml *n, struct gpu_identity ret[GPU_CARDS_MAX], size_t *ret_count,
	      struct error *err);
/* "550.54.15"; "": not known. */
void nvml_driver_version(struct nvml *n, char *ret, size_t size);

struct nvml_card; /* one that is read; for one thread */
int nvml_card_open(struct nvml *n, const struct gpu_identity *identity, struct nvml_card **ret);
struct nvml_card *nvml_card_free(struct nvml_card *c); /* NULL is fine; returns NULL */
/* All but what proc says of processes.  -ENOMEM. */
int nvml_card_read(struct nvml_card *c, uint64_t boot_ns, struct gpu_reading *ret);
