/* SPDX-License-Identifier: MIT */
/* installed_sets - the probe sets that came with the program: as it is installed, or as it was
 * built. */
#pragma once

#include "trace/probe.h"

/* What is traced where nobody says what.  cuda-runtime sees what cuda-driver sees, too; hdf5's
 * bytes are those of MPI-IO again. */
#define INSTALLED_SETS_DEFAULT "mpi,mpi-io,cuda-driver,nccl,hip,rccl,torch,python"

/* Where they are: PATH_MAX bytes. */
int installed_sets_find_dir(char *ret, struct error *err);

/* The set @name, which is a file if there is a '/' in it. */
int installed_sets_read(const char *name, struct probe_set **ret, struct error *err);

/* The same for somebody with fewer rights: only what came with the program, lies in a file that
 * nobody but root may change, and is of libraries and programs alone.  -EPERM: it is not. */
int installed_sets_read_for_user(const char *name, struct probe_set **ret, struct error *err);
