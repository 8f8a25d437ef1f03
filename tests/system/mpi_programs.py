# SPDX-License-Identifier: MIT
"""mpi_programs - programs of tests/mpi, built with each MPI that is there, and what their calls are."""

import os
import pathlib
import shutil
import subprocess

from repository import REPOSITORY

SOURCES = REPOSITORY / "tests/mpi"
MPIS = ("openmpi", "mpich")
LANGUAGES = {"c": ("mpicc", "transfers.c"), "mpi": ("mpif90", "transfers_mpi.f90"), "f08": ("mpif90", "transfers_f08.f90")}
RANKS = 2
MIB = 1 << 20
BARRIERS, REDUCED, MESSAGE, STRIDED = 23, 101, 997, 5 * 240


def build(mpi, compiler, source, folder, *options):
    """The program; None: there is no such compiler."""
    path = shutil.which(f"{compiler}.{mpi}")
    if not path:
        return None
    program = folder / f"{source.partition('.')[0]}.{mpi}"
    flags = ["-fallow-argument-mismatch", "-w"] if compiler == "mpif90" else ["-g"]
    subprocess.run([path, *flags, *options, SOURCES / source, "-o", program], check=True, cwd=folder)
    return program


def build_static(folder):
    """transfers.c with MPICH in the program itself; None: there is no such library."""
    archive = pathlib.Path("/usr/lib/x86_64-linux-gnu/libmpich.a")
    if not archive.exists():
        return None
    program = folder / "static"
    shared = subprocess.run(["ldd", archive.with_name("libmpich.so.12")], check=True, capture_output=True, text=True).stdout
    needed = [words[2] for words in map(str.split, shared.splitlines()) if len(words) == 4 and "libc.so" not in words[2]]
    subprocess.run(["gcc", "-I/usr/include/x86_64-linux-gnu/mpich", SOURCES / "transfers.c", "-o",
                    program, archive, *needed, "-lm", "-lpthread"], check=True, cwd=folder)
    return program


def mpirun(mpi, *argv):
    return [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(RANKS), *map(str, argv)]


ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def transfers(rank):
    """[(function, offset, count, size of an item, bytes)] of the calls of a rank that move bytes of the file, in order"""
    calls, base = [], 0
    for i in range(5):
        size = MIB << i
        calls.append(("MPI_File_write_at_all", base + rank * size, size // 8, 8, size))
        calls.append(("MPI_File_read_at", base + (1 - rank) * size, size // 8, 8, size))
        base += 2 * size
    calls.append(("MPI_File_write_at", base + rank * STRIDED, 5, 240, STRIDED))
    calls.append(("MPI_File_iwrite_at", base + 2 * STRIDED + rank * MESSAGE, MESSAGE, 1, MESSAGE))
    return calls


def moved(word):
    """The bytes of all ranks' calls whose names have @word."""
    return sum(call[4] for rank in range(RANKS) for call in transfers(rank) if word in call[0])


def messages(rank):
    """[(function, its arguments, bytes)] of calls on MPI_COMM_WORLD, which is communicator 0"""
    barriers = [("MPI_Barrier", {"comm": 0}, None)] * BARRIERS
    sums = [("MPI_Allreduce", {"comm": 0, "count": REDUCED, "size": 8}, REDUCED * 8),
            ("MPI_Bcast", {"comm": 0, "count": REDUCED, "size": 8, "root": 0}, REDUCED * 8)]
    if rank == 0:
        own = [("MPI_Send", {"peer": 1, "tag": 7, "count": MESSAGE, "size": 1, "comm": 0}, MESSAGE),
               ("MPI_Send", {"peer": 1, "tag": 8, "count": 5, "size": 240, "comm": 0}, STRIDED)]
    else:
        own = [("MPI_Recv", {"peer": 0, "tag": 7, "moved": MESSAGE, "comm": 0}, MESSAGE),
               ("MPI_Recv", {"peer": 0, "tag": 8, "comm": 0}, None)]  # its status is ignored
    return barriers + sums + own
