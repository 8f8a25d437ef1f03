/* SPDX-License-Identifier: MIT */
/* plain - the reader that does no more than to open, read and close files of groups, and makes no
 * numbers of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroup/hierarchy.h"
#include "model/metric_set.h"

struct groups;
struct plain;

/* Of the metrics @wanted (see group_files.h) of the first @count groups.  NULL: no memory. */
struct plain *plain_new(const struct hierarchy *h, struct groups *groups, size_t count,
			struct metric_set wanted);
struct plain *plain_free(struct plain *p); /* NULL is fine; returns NULL */

size_t plain_files(const struct plain *p); /* of one group */
int plain_read(struct plain *p, size_t group);
