/* SPDX-License-Identifier: MIT */
/*
 * gpu_driver - makers' drivers of GPUs, each through its own library, which is loaded with dlopen()
 * and declared in the driver's file alone.
 *
 * Each number has a call of its own: what a card does not support, or an older library lacks, is
 * absent, and the rest is there. Calls block as long as the driver does: they are for threads of
 * their own.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/reading.h"
#include "model/sections/job_gpus.h"

struct error;
struct gpu_card; /* one that is read, for one thread; each driver has its own */

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
	bool is_graphics, is_mps; /* is_mps: its work is done by the server of MPS */
	struct value memory_bytes;
	struct value sm, memory, encoder, decoder; /* percent, of the last moment */
	/* From proc, set by the reader: */
	char *path; /* of its cgroup in the key hierarchy; owned; NULL: it is gone */
	int64_t uid; /* -1: it is gone */
	struct value cpu_ns, elapsed_ns; /* since it started */
	struct value cpu; /* hundredths of a core, since the reading before */
	char command[32];
};

enum gpu_reason { /* why a card is slowed down; bits */
		  GPU_HEAT = 1 << 0,
		  GPU_POWER_BRAKE = 1 << 1,
		  GPU_HARDWARE = 1 << 2,
		  GPU_POWER_LIMIT = 1 << 3, /* as each is under full load: it does not count as
					       THROTTLED */
};

struct gpu_reading { /* of a card at a moment; begins as {} */
	uint64_t boot_ns; /* 0: none */
	struct value fields[GPU_FIELDS]; /* LOST: as the driver reports it */
	unsigned int reasons; /* enum gpu_reason */
	bool has_instances; /* MIG is on: processes are those of instances */
	struct gpu_instance instances[GPU_INSTANCES_MAX];
	size_t instance_count;
	struct gpu_process *processes; /* owned */
	size_t process_count;
};
void gpu_reading_clear(struct gpu_reading *r);

/* The holder's metric of a field: a ratio times the time, the growth of a counter, or a peak.
 * METRIC_COUNT: none. */
enum metric_id gpu_job_metric(size_t field);

struct gpu_library { /* stays loaded; shared by count between threads, any of which may hang in it
		      */
	const struct gpu_driver *driver;
	void *handle; /* of dlopen() */
	atomic_uint refs;
	bool has_begun; /* on the listing thread */
	atomic_uint open, lost; /* cards, and those of them that were when last read */
};

struct gpu_driver {
	const char *files[4]; /* names for the dynamic linker: the first that is there */
	const char *counter, *power; /* what its readings of energy are called: "nvml"... */
	/* Initialise the driver if necessary, and list its cards; from one thread. -ENODEV: the
	 * driver is gone, with the reason in *err; the next call initialises it again. */
	int (*list)(struct gpu_library *l, struct gpu_identity ret[GPU_CARDS_MAX],
		    size_t *ret_count, struct error *err);
	size_t card_size;
	/* A card begins as zeros; the library outlives it. */
	void (*open)(struct gpu_card *c, struct gpu_library *l, void *handle);
	/* All but the data of processes from proc, into one that has room for GPU_PROCESSES_MAX of
	 * them, and its time. */
	void (*read)(struct gpu_card *c, struct gpu_reading *to);
	void (*close)(struct gpu_card *c); /* NULL: it holds nothing */
};

extern const struct gpu_driver nvml_driver, amd_smi_driver;

/* @file: instead of the driver's own; a path, or a name for the dynamic linker.  -ENODEV: it is not
 * installed. */
int gpu_library_load(const struct gpu_driver *driver, const char *file, struct gpu_library **ret);
struct gpu_library *gpu_library_ref(struct gpu_library *l);
struct gpu_library *gpu_library_unref(struct gpu_library *l); /* NULL is fine; returns NULL */

/* The result of a function of these types; of one that an older library lacks, the driver's own
 * NO_FUNCTION. */
#define GPU_CALL(l, name, types, ...)                       \
	({                                                  \
		int(*called) types;                         \
		void *symbol = dlsym((l)->handle, name);    \
		memcpy(&called, &symbol, sizeof(called));   \
		called ? called(__VA_ARGS__) : NO_FUNCTION; \
	})
