/* SPDX-License-Identifier: MIT */
/* installed_sets - the probe sets that came with the program: as it is installed, or as it was
 * built. */
#pragma once

#include "trace/probe.h"

/* The set @name, which is a file if there is a '/' in it. */
int installed_sets_read(const char *name, struct probe_set **ret, struct error *err);

/* The same for somebody with fewer rights: only what came with the program, lies in a file that
 * nobody but root may change, and is of libraries and programs alone.  -EPERM: it is not. */
int installed_sets_read_for_user(const char *name, struct probe_set **ret, struct error *err);
