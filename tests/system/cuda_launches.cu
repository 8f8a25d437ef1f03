/* SPDX-License-Identifier: MIT */
/* cuda_launches - calls CUDA's run-time library as often as its numbers say, with or without a GPU; ends with the number of
 * calls that failed, or 99 for more. */
#include <cuda_runtime.h>

__global__ void axpy(float *x, int n)
{
	if (n < 0)
		x[0] = 1;
}

template <typename T> __global__ void scale(T *x)
{
	if (gridDim.x == 1)
		*x = 2;
}

static int failed;

static void count(cudaError_t result)
{
	failed += result != cudaSuccess;
}

int main()
{
	static char from[8192], to[8192];
	cudaLaunchConfig_t config = {};
	float *memory = nullptr;
	char *other = nullptr;

	count(cudaMalloc(&memory, 8191));
	for (int i = 0; i < 1000; i++) {
		axpy<<<dim3(3, 5, 7), dim3(32, 2, 1), 16>>>(memory, i);
		count(cudaPeekAtLastError());
	}
	for (int i = 0; i < 13; i++)
		scale<double><<<dim3(70001, 2, 1), 64>>>((double *)memory);
	config.gridDim = dim3(100003, 3, 2);
	config.blockDim = dim3(17, 3, 2);
	config.dynamicSmemBytes = 48;
	for (int i = 0; i < 7; i++)
		count(cudaLaunchKernelEx(&config, axpy, memory, i));
	for (int i = 0; i < 11; i++) {
		count(cudaMemcpy(memory, from, 4099, cudaMemcpyHostToDevice));
		count(cudaMemcpyAsync(to, memory, 4093, cudaMemcpyDeviceToHost, 0));
		count(cudaMemset(memory, 0, 97));
		count(cudaStreamSynchronize(0));
	}
	for (int i = 0; i < 5; i++) {
		count(cudaMalloc(&other, 4801));
		count(cudaMemcpy(other, memory, 4091, cudaMemcpyDeviceToDevice));
		count(cudaDeviceSynchronize());
		count(cudaFree(other));
	}
	count(cudaFree(memory));
	return failed < 99 ? failed : 99;
}
