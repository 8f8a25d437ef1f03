// SPDX-License-Identifier: MIT
/* matrix - the product of two matrices, again and again, on all cores: what a job should look like.
 *
 *	cc -O2 -fopenmp matrix.c -o matrix; jobmeter run -- ./matrix SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N 384

static double a[N][N], b[N][N], c[N][N];

static void multiply(void)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < N; k++) {
			for (int j = 0; j < N; j++)
				c[i][j] += a[i][k] * b[k][j];
		}
	}
}

int main(int argc, char *argv[])
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	unsigned long times = 0;

	for (int i = 0; i < N * N; i++) {
		a[i / N][i % N] = i % 7;
		b[i / N][i % N] = i % 11;
	}
	for (; time(NULL) < end; times++)
		multiply();
	printf("%lu products of %d x %d, the last corner is %g\n", times, N, N, c[N - 1][N - 1]);
	return 0;
}
