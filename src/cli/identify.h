/* SPDX-License-Identifier: MIT */
/* identify - what a record says of where it was made. */
#pragma once

#include <stddef.h>

struct record;

/* Node, boot and version of who measures, from proc below @root_fd.  What cannot be read is absent.
 */
void identify_node(int root_fd, struct record *record);

/* The rank that the environment says we are; -1: none.  It is a label: it never decides whose the
 * job is. */
int identify_rank(void);

/* The id of the batch job that the environment says we are in, as a part of a file's name: cut
 * where it is long, and "_" for what a name should not hold; "": none. */
void identify_batch_job(char *ret, size_t size);
