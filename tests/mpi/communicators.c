/* SPDX-License-Identifier: MIT */
/* communicators - two ranks meet 7 times on a copy of MPI_COMM_WORLD and 5 times on one of two
 * colours, to which rank 1 comes late; each gives 1000 numbers to each, by equal and by unequal
 * parts; and they test for a barrier's end. */
#include <mpi.h>
#include <time.h>

#define NUMBERS 1000

static void meet(MPI_Comm on, int rank, int times)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int word = 0;

	for (int i = 0; i < times; i++) {
		if (rank == 0) {
			MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		} else {
			MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			nanosleep(&pause, NULL);
		}
		MPI_Barrier(on);
	}
}

int main(int argc, char **argv)
{
	static double from[2 * NUMBERS], to[2 * NUMBERS];
	const int counts[] = { NUMBERS, NUMBERS }, places[] = { 0, NUMBERS };
	MPI_Comm copy, half;
	MPI_Request request;
	MPI_Status status;
	int rank, size, is_done = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	meet(copy, rank, 7);
	MPI_Comm_split(copy, 3, rank, &half);
	meet(half, rank, 5);
	MPI_Comm_split(copy, rank, rank, &half); /* each alone */
	MPI_Barrier(half);
	MPI_Alltoall(from, NUMBERS, MPI_DOUBLE, to, NUMBERS, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Alltoallv(from, counts, places, MPI_DOUBLE, to, counts, places, MPI_DOUBLE,
		      MPI_COMM_WORLD);
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	while (!is_done)
		MPI_Testall(1, &request, &is_done, &status);
	MPI_Finalize();
	return 0;
}
