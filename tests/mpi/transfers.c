/* SPDX-License-Identifier: MIT */
/*
 * transfers FILE - what transfers_mpi.f90 and transfers_f08.f90 do too: known calls of MPI and
 * MPI-IO, on two ranks.  tests/system/mpi_programs.py has the counts that a trace must show.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB (1024 * 1024)
#define BLOCKS 5 /* 1, 2, 4, 8 and 16 MiB */
#define BARRIERS 23
#define REDUCED 101
#define MESSAGE 997
#define STRIDED 5

static int rank;

/* Each rank writes its block of each size with the others, and reads the other's by itself. */
static MPI_Offset blocks(MPI_File file, double *data)
{
	MPI_Offset base = 0;
	MPI_Status status;

	for (int i = 0; i < BLOCKS; i++) {
		MPI_Offset bytes = (MPI_Offset)MIB << i;

		MPI_File_write_at_all(file, base + rank * bytes, data, (int)(bytes / 8), MPI_DOUBLE,
				      &status);
		MPI_File_sync(file);
		MPI_Barrier(MPI_COMM_WORLD); /* the other's block is there */
		MPI_File_read_at(file, base + (1 - rank) * bytes, data, (int)(bytes / 8),
				 MPI_DOUBLE, MPI_STATUS_IGNORE);
		base += 2 * bytes;
	}
	return base;
}

int main(int argc, char **argv)
{
	double *data = calloc(16, MIB), sums[REDUCED];
	MPI_Datatype strided;
	MPI_Request request;
	MPI_Status status;
	MPI_Offset base;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &file) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	base = blocks(file, data);

	MPI_Type_vector(10, 3, 7, MPI_DOUBLE, &strided);
	MPI_Type_commit(&strided);
	MPI_File_write_at(file, base + rank * STRIDED * 240, data, STRIDED, strided, &status);
	MPI_File_iwrite_at(file, base + 2 * STRIDED * 240 + rank * MESSAGE, data, MESSAGE, MPI_BYTE,
			   &request);
	MPI_Wait(&request, &status);
	MPI_File_close(&file);

	for (int i = BLOCKS; i < BARRIERS; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(data, sums, REDUCED, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Bcast(data, REDUCED, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Send(data, MESSAGE, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
		MPI_Send(data, STRIDED, strided, 1, 8, MPI_COMM_WORLD);
	} else {
		MPI_Recv(data, 2 * MESSAGE, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &status);
		MPI_Recv(data, STRIDED, strided, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Type_free(&strided);
	MPI_Finalize();
	free(data);
	return 0;
}
