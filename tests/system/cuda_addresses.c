/* SPDX-License-Identifier: MIT */
/* cuda_addresses - whether CUDA's driver gives out, by cuGetProcAddress(), the functions that it
 * exports: a line a function, "cuMemAlloc -> cuMemAlloc_v2+0".  Ends with 77 where there is no
 * driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef int (*init_function)(unsigned int flags);
typedef int (*find_function)(const char *name, void **ret, int version, uint64_t flags,
			     int *status);

static void show(find_function find, const char *name, uint64_t flags)
{
	void *address = NULL;
	Dl_info info;
	int r = find(name, &address, 13000, flags, NULL);

	if (r != 0 || !address)
		printf("%s: none (%d)\n", name, r);
	else if (!dladdr(address, &info))
		printf("%s -> of no file\n", name);
	else
		printf("%s%s -> %s+%ld\n", name, flags == 2 ? " (per thread)" : "",
		       info.dli_sname ? info.dli_sname : info.dli_fname,
		       info.dli_sname ? (long)((char *)address - (char *)info.dli_saddr) : -1L);
}

int main(void)
{
	static const char *const names[] = {
		"cuLaunchKernel",
		"cuLaunchKernelEx",
		"cuGraphLaunch",
		"cuMemAlloc",
		"cuMemAllocAsync",
		"cuMemFree",
		"cuMemcpy",
		"cuMemcpyAsync",
		"cuMemcpyHtoD",
		"cuMemcpyHtoDAsync",
		"cuMemcpyDtoHAsync",
		"cuMemcpyDtoDAsync",
		"cuMemsetD8Async",
		"cuStreamSynchronize",
		"cuCtxSynchronize",
		"cuEventSynchronize",
		"cuModuleGetFunction",
		"cuLibraryGetKernel",
		"cuKernelGetFunction",
	};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	init_function init;
	find_function find;

	if (!driver)
		return fprintf(stderr, "%s\n", dlerror()), 77;
	init = (init_function)dlsym(driver, "cuInit");
	find = (find_function)dlsym(driver, "cuGetProcAddress_v2");
	if (!init || !find || init(0) != 0)
		return fprintf(stderr, "the driver cannot be used\n"), 77;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		show(find, names[i], 1); /* as it is called without --default-stream */
		show(find, names[i], 2); /* with per-thread */
	}
	return 0;
}
