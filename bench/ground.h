/* SPDX-License-Identifier: MIT */
/* ground - where an agent is measured: mounts that nobody else sees, a directory of its own, its
 * configuration. */
#pragma once

#include <stdbool.h>

struct error;
struct ground;

#define GROUND_MOUNTS 8

/* From now on this process has mounts of its own, and a new tmpfs on each of ground_mounts(). */
int ground_make(struct ground **ret, struct error *err);
/* The directory goes; the mounts go with the process.  NULL is fine; returns NULL. */
struct ground *ground_remove(struct ground *g);

const char *const *ground_mounts(const struct ground *g); /* GROUND_MOUNTS of them */

/* Write a configuration with that interval, which an agent starts with, and which holds until the
 * next one.  NULL: cannot be written. */
const char *ground_configure(struct ground *g, int interval_s, bool has_bpf);
int ground_port(void); /* where it is scraped; another for each process */
