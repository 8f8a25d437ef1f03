/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda - a fake of CUDA's driver, of its run-time library, and of a program that uses both:
 * three files of one source. Nothing is computed.  As in the real ones, the run-time library learns
 * the driver's functions by their addresses, and gives the driver handles of its own.
 */
#include <string.h>
#include <time.h>

struct dim3 {
	unsigned int x, y, z;
};

struct driver_config { /* as CUlaunchConfig */
	unsigned int grid[3], block[3], shared;
	void *stream, *attributes;
	unsigned int count;
};

#define NO_INLINE __attribute__((noinline, visibility("default")))

NO_INLINE int cuModuleGetFunction(void **ret, void *module, const char *name);
NO_INLINE int cuLibraryGetKernel(void **ret, void *library, const char *name);
NO_INLINE int cuKernelGetFunction(void **ret, void *kernel);
NO_INLINE int cuLaunchKernel(void *f, unsigned int gx, unsigned int gy, unsigned int gz,
			     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			     void *stream, void **parameters, void **extra);
NO_INLINE int cuLaunchKernelEx_ptsz(const struct driver_config *config, void *f, void **parameters,
				    void **extra);
NO_INLINE int cuMemcpyHtoD_v2(void *to, const void *from, size_t size);
NO_INLINE int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, void *stream);
NO_INLINE int cuMemsetD32_v2(void *to, unsigned int value, size_t count);
NO_INLINE int cuMemAlloc_v2(void **ret, size_t size);
NO_INLINE int cuMemFree_v2(void *memory);
NO_INLINE int cuStreamSynchronize(void *stream);
NO_INLINE int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **arguments,
			       size_t shared, void *stream);
NO_INLINE int cudaMemcpy(void *to, const void *from, size_t size, int kind);

#ifdef DRIVER
int cuModuleGetFunction(void **ret, void *module, const char *name)
{
	*ret = (char *)module + 0x1000 + strlen(name);
	return name[0] == '?'; /* there is no such kernel */
}

int cuLibraryGetKernel(void **ret, void *library, const char *name)
{
	*ret = (char *)library + 0x2000 + strlen(name);
	return 0;
}

int cuKernelGetFunction(void **ret, void *kernel)
{
	*ret = (char *)kernel + 0x10000;
	return 0;
}

int cuLaunchKernel(void *f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		   unsigned int by, unsigned int bz, unsigned int shared, void *stream,
		   void **parameters, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream,
		(void)parameters, (void)extra;
	return !f;
}

int cuLaunchKernelEx_ptsz(const struct driver_config *config, void *f, void **parameters,
			  void **extra)
{
	(void)parameters, (void)extra;
	return !f || !config;
}

int cuMemcpyHtoD_v2(void *to, const void *from, size_t size)
{
	(void)from, (void)size;
	return !to;
}

int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, void *stream)
{
	(void)from, (void)size, (void)stream;
	return !to;
}

int cuMemsetD32_v2(void *to, unsigned int value, size_t count)
{
	(void)value, (void)count;
	return !to;
}

int cuMemAlloc_v2(void **ret, size_t size)
{
	(void)size;
	*ret = (void *)0x7000;
	return 0;
}

int cuMemFree_v2(void *memory)
{
	return !memory;
}

int cuStreamSynchronize(void *stream)
{
	struct timespec time = { .tv_nsec = 3000000 };

	(void)stream;
	return nanosleep(&time, NULL);
}
#endif

#ifdef RUNTIME
int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **arguments,
		     size_t shared, void *stream)
{
	int (*volatile launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
			       unsigned int, unsigned int, unsigned int, void *, void **,
			       void **) = cuLaunchKernel;

	return launch((char *)f + 0x40000, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		      (unsigned int)shared, stream, arguments, NULL);
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
	return kind == 1 ? cuMemcpyHtoD_v2(to, from, size)
			 : cuMemcpyDtoHAsync_v2(to, from, size, NULL);
}
#endif

#ifdef PROGRAM
int main(void)
{
	struct driver_config config = { { 70001, 3, 2 }, { 64, 2, 1 }, 4093, (void *)0x77, NULL, 0 };
	struct dim3 grid = { 3, 5, 7 }, block = { 32, 2, 1 };
	void *axpy, *kernel, *scale, *none, *memory;
	char buffer[8192];
	int r = 0;

	r |= cuModuleGetFunction(&axpy, (void *)0x100000, "axpy");
	r |= cuLibraryGetKernel(&kernel, (void *)0x200000, "scale_all");
	r |= cuKernelGetFunction(&scale, kernel);
	r |= !cuModuleGetFunction(&none, (void *)0x300000, "?");
	for (int i = 0; i < 17; i++)
		r |= cuLaunchKernel(axpy, 100003, 65537, 11, 1023, 3, 2, 97, (void *)0x55, NULL,
				    NULL);
	for (int i = 0; i < 19; i++)
		r |= cuLaunchKernelEx_ptsz(&config, scale, NULL, NULL);
	for (int i = 0; i < 5; i++)
		r |= cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	for (int i = 0; i < 101; i++)
		r |= cudaLaunchKernel((void *)main, grid, block, NULL, 16, NULL);
	for (int i = 0; i < 7; i++) {
		r |= cuMemAlloc_v2(&memory, 1009);
		r |= cuMemcpyHtoD_v2(memory, buffer, 4099);
		r |= cuMemcpyDtoHAsync_v2(buffer, memory, 4093, NULL);
		r |= cudaMemcpy(memory, buffer, 4091, 1);
		r |= cuMemsetD32_v2(memory, 0, 503);
		r |= cuMemFree_v2(memory);
	}
	for (int i = 0; i < 3; i++)
		r |= cuStreamSynchronize(NULL);
	return r;
}
#endif
