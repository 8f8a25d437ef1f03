/* SPDX-License-Identifier: MIT */
/*
 * steps - computes, and meets the other ranks, again and again; and tells, by its own clock, how
 * much of its processor time was in MPI.
 *
 *	mpirun -n 2 steps MS TIMES SECONDS
 *
 * Rank 0 computes for MS * TIMES of processor time a step, the others for MS.  Each rank prints a
 * line: in MPI between its beginning and its end, in those two, and all, in seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(double seconds)
{
	double end = used() + seconds;
	volatile unsigned long sink = 1;

	while (used() < end)
		for (int i = 0; i < 20000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
}

int main(int argc, char *argv[])
{
	double inside = 0, around, from, seconds, end;
	int rank, is_over = 0;

	if (argc != 4)
		return 2;
	MPI_Init(&argc, &argv);
	around = used();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	seconds = atof(argv[1]) / 1000 * (rank ? 1 : atof(argv[2]));
	end = MPI_Wtime() + atof(argv[3]);
	while (!is_over) {
		int is_mine = MPI_Wtime() >= end;

		work(seconds);
		from = used();
		MPI_Allreduce(&is_mine, &is_over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		inside += used() - from;
	}
	from = used();
	MPI_Finalize();
	around += used() - from;
	printf("rank %d: %.6f %.6f %.6f\n", rank, inside, around, used());
	return 0;
}
