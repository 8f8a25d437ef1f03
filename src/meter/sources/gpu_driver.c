/* SPDX-License-Identifier: MIT */
#include "sources/gpu_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "basic/macro.h"

enum metric_id gpu_job_metric(size_t field)
{
	static const enum metric_id of_job[GPU_FIELDS] = {
		/* 0: none */
		[GPU_FIELD(UTILIZATION)] = METRIC_GPU_BUSY,
		[GPU_FIELD(MEMORY_UTILIZATION)] = METRIC_GPU_MEMORY_BUSY,
		[GPU_FIELD(ENCODER)] = METRIC_GPU_ENCODER,
		[GPU_FIELD(DECODER)] = METRIC_GPU_DECODER,
		[GPU_FIELD(TEMPERATURE)] = METRIC_GPU_TEMPERATURE_PEAK,
		[GPU_FIELD(ENERGY)] = METRIC_GPU_ENERGY,
		[GPU_FIELD(THROTTLED)] = METRIC_GPU_THROTTLED,
		[GPU_FIELD(ECC_UNCORRECTED)] = METRIC_GPU_ECC_ERRORS,
		[GPU_FIELD(XID_ERRORS)] = METRIC_GPU_XID_ERRORS,
		[GPU_FIELD(PCIE_SENT)] = METRIC_GPU_PCIE_SENT,
		[GPU_FIELD(PCIE_RECEIVED)] = METRIC_GPU_PCIE_RECEIVED,
		[GPU_FIELD(NVLINK_SENT)] = METRIC_GPU_NVLINK_SENT,
		[GPU_FIELD(NVLINK_RECEIVED)] = METRIC_GPU_NVLINK_RECEIVED,
	};

	return of_job[field] ? of_job[field] : METRIC_COUNT;
}

void gpu_reading_clear(struct gpu_reading *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		free(r->processes[i].path);
	free(r->processes);
	*r = (struct gpu_reading){};
}

int gpu_library_load(const struct gpu_driver *driver, const char *file, struct gpu_library **ret)
{
	void *handle = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; !file && !handle && i < ARRAY_SIZE(driver->files) && driver->files[i];
	     i++)
		handle = dlopen(driver->files[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return -ENODEV;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret) {
		dlclose(handle);
		return -ENOMEM;
	}
	(*ret)->driver = driver;
	(*ret)->handle = handle;
	(*ret)->refs = 1;
	return 0;
}

struct gpu_library *gpu_library_ref(struct gpu_library *l)
{
	l->refs++;
	return l;
}

struct gpu_library *gpu_library_unref(struct gpu_library *l)
{
	if (l && --l->refs == 0)
		free(l);
	return NULL;
}
