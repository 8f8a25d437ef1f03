/* SPDX-License-Identifier: MIT */
/* hang - rank 0 waits for a message that nobody sends, and all others in a barrier for rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, word = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("begun %d\n", rank);
	fflush(stdout);
	if (rank == 0)
		MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
