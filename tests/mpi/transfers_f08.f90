! SPDX-License-Identifier: MIT
! transfers FILE - the calls of transfers.c, in the same order, by `use mpi_f08`.
program transfers_f08
  use mpi_f08
  use iso_fortran_env, only: real64
  implicit none
  integer, parameter :: mib = 1048576, blocks = 5, barriers = 23, reduced = 101, message = 997, strided = 5
  real(real64), allocatable :: data(:)
  real(real64) :: sums(reduced)
  character :: bytes(2 * message)
  character(len=1000) :: path
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Datatype) :: vector
  type(MPI_Request) :: request
  integer(MPI_OFFSET_KIND) :: base, size
  integer :: rank, i

  allocate(data(2 * mib))
  data = 0
  bytes = 'x'
  call get_command_argument(1, path)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  base = 0
  do i = 0, blocks - 1
    size = int(mib, MPI_OFFSET_KIND) * 2**i
    call MPI_File_write_at_all(file, base + rank * size, data, int(size / 8), MPI_DOUBLE_PRECISION, status)
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_read_at(file, base + (1 - rank) * size, data, int(size / 8), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
    base = base + 2 * size
  end do

  call MPI_Type_vector(10, 3, 7, MPI_DOUBLE_PRECISION, vector)
  call MPI_Type_commit(vector)
  call MPI_File_write_at(file, base + rank * strided * 240, data, strided, vector, status)
  call MPI_File_iwrite_at(file, base + 2 * strided * 240 + rank * message, bytes, message, MPI_BYTE, request)
  call MPI_Wait(request, status)
  call MPI_File_close(file)

  do i = blocks + 1, barriers
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Allreduce(data, sums, reduced, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Bcast(data, reduced, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    call MPI_Send(bytes, message, MPI_BYTE, 1, 7, MPI_COMM_WORLD)
    call MPI_Send(data, strided, vector, 1, 8, MPI_COMM_WORLD)
  else
    call MPI_Recv(bytes, 2 * message, MPI_BYTE, 0, 7, MPI_COMM_WORLD, status)
    call MPI_Recv(data, strided, vector, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end if
  call MPI_Type_free(vector)
  call MPI_Finalize()
end program
