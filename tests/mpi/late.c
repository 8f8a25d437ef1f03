/* SPDX-License-Identifier: MIT */
/* late - two ranks meet 13 times; rank 1 comes 30 ms late each time. */
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 13; i++) {
		if (rank == 1)
			nanosleep(&pause, NULL);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
