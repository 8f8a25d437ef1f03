/* SPDX-License-Identifier: MIT */
/* installed_sets - the probe sets that came with the program: as it is installed, or as it was
 * built; and a list of those that a trace is to have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/probe.h"
#include "trace/sites.h"

/* The default sets.  cuda-runtime would repeat cuda-driver; hdf5's bytes are those of MPI-IO. */
#define INSTALLED_SETS_DEFAULT "mpi,mpi-io,cuda-driver,nccl,hip,rccl,torch,python"

struct wanted_sets { /* begins as {} */
	struct probe_set *items[SITES_SETS_MAX]; /* owned */
	size_t count;
};

/* @set is taken over in any case.  -E2BIG: there are too many. */
int wanted_sets_add(struct wanted_sets *s, struct probe_set *set, struct error *err);
/* All that are installed. */
int wanted_sets_add_all(struct wanted_sets *s, struct error *err);
/* "NAME,NAME", each as by installed_sets_read(), or @is_for_user by the function below it. */
int wanted_sets_add_list(struct wanted_sets *s, const char *names, bool is_for_user,
			 struct error *err);
/* Those that @sites look for, before sites_begin(); @s outlives them. */
void wanted_sets_put(const struct wanted_sets *s, struct sites *sites);
void wanted_sets_clear(struct wanted_sets *s);

/* The set @name, which is a file if there is a '/' in it. */
int installed_sets_read(const char *name, struct probe_set **ret, struct error *err);

/* The same for a user without rights: only installed sets, in files that only root may change, of
 * libraries and programs.  -EPERM: it is not one. */
int installed_sets_read_for_user(const char *name, struct probe_set **ret, struct error *err);
