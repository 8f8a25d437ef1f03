/* SPDX-License-Identifier: MIT */
/* late - two ranks meet 13 times; rank 1 comes 30 ms after it has heard that rank 0 comes. */
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	int rank, word = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 13; i++) {
		if (rank == 0) {
			MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		} else {
			MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			nanosleep(&pause, NULL);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
