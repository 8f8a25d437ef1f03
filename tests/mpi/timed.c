/* SPDX-License-Identifier: MIT */
/*
 * timed - goes into an MPI program, and tells how much of each rank's processor time was in
 * barriers.
 *
 * Each rank prints a line: in MPI_Barrier(), before the end of MPI_Init() and behind the beginning
 * of MPI_Finalize(), and all, in seconds, as steps.c.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double inside, around;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int MPI_Init(int *argc, char ***argv)
{
	int r = PMPI_Init(argc, argv);

	around = used();
	return r;
}

int MPI_Barrier(MPI_Comm comm)
{
	double from = used();
	int r = PMPI_Barrier(comm);

	inside += used() - from;
	return r;
}

int MPI_Finalize(void)
{
	double from = used();
	int rank, r;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	r = PMPI_Finalize();
	around += used() - from;
	printf("rank %d: %.6f %.6f %.6f\n", rank, inside, around, used());
	return r;
}
