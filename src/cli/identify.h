/* SPDX-License-Identifier: MIT */
/* identify - what a record says of where it was made. */
#pragma once

struct record;

/* Node, boot and version of who measures, from proc below @root_fd.  What cannot be read is absent.
 */
void identify_node(int root_fd, struct record *record);
