/* SPDX-License-Identifier: MIT */
/* entries - all entries of a hash map of the kernel's, some hundreds a system call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A negative return ends the visit, and is its result. */
typedef int (*entries_visitor)(void *context, const void *key, const void *value);

/*
 * Call @visit with each entry of the map @fd, whose keys and values have these sizes.  Each that is
 * there all the time is visited once; one that comes or goes meanwhile perhaps.  On a kernel
 * without batches one that goes may have others visited twice; no more are visited than the map can
 * hold.
 */
int entries_visit(int fd, size_t key_size, size_t value_size, entries_visitor visit, void *context);
