/* SPDX-License-Identifier: MIT */
/*
 * threads - two threads of OpenMP, of which one has six times as much to do, meet again and again;
 * and tell, by their own clocks, how much of their processor time they waited.
 *
 *	threads barrier|lock SECONDS
 *
 * They wait in OpenMP's barrier, or for a lock of the program's own, which spins.  Prints the
 * seconds of waiting, 0, and all, as steps.c.
 */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int arrived;

static double used(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(double seconds)
{
	double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds;
	volatile unsigned long sink = 1;

	while (used(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 20000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
}

/* Until both are there the @round-th time. */
static void spin(int round)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < 2 * round)
		;
}

int main(int argc, char *argv[])
{
	double waited = 0;
	int rounds;

	if (argc != 3)
		return 2;
	rounds = (int)(atof(argv[2]) / 0.06);
#pragma omp parallel num_threads(2) reduction(+ : waited)
	for (int i = 1; i <= rounds; i++) {
		double from;

		work(omp_get_thread_num() ? 0.01 : 0.06);
		from = used(CLOCK_THREAD_CPUTIME_ID);
		if (strcmp(argv[1], "lock") == 0) {
			spin(i);
		} else {
#pragma omp barrier
		}
		waited += used(CLOCK_THREAD_CPUTIME_ID) - from;
	}
	printf("rank 0: %.6f 0 %.6f\n", waited, used(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
