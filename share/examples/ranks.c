// SPDX-License-Identifier: MIT
/* ranks - ranks that compute and wait for each other, of which the last has twice as much to do.
 *
 *	mpicc -O2 ranks.c -o ranks; mpirun -n 2 jobmeter run -- ./ranks ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sum;

int main(int argc, char *argv[])
{
	int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 100;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int round = 0; round < rounds; round++) {
		long work = rank == ranks - 1 ? 40000000 : 20000000;

		for (long i = 1; i < work; i++)
			sum = sum + 1.0 / (double)i;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("%d rounds of %d ranks\n", rounds, ranks);
	MPI_Finalize();
	return 0;
}
