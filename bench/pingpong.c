/* SPDX-License-Identifier: MIT */
/* pingpong SECONDS - two MPI ranks hand 8 bytes to and fro; prints how many times a second. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define BATCH 1000

static void bounce(int rank, uint64_t *ball)
{
	for (int i = 0; i < BATCH; i++) {
		if (rank == 0)
			MPI_Send(ball, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(ball, 1, MPI_UINT64_T, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(ball, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, begin, now;
	uint64_t ball = 0, times = 0;
	int rank, is_over = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	bounce(rank, &ball);
	begin = now = MPI_Wtime();
	while (!is_over) {
		bounce(rank, &ball);
		times += BATCH;
		now = MPI_Wtime();
		is_over = now - begin >= seconds;
		MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("%.1f\n", (double)times / (now - begin));
	MPI_Finalize();
	return 0;
}
