/* SPDX-License-Identifier: MIT */
/* node - bounds of what is read of the node as a whole. */
#pragma once

#include <stdbool.h>

#define NODE_FILES_SOURCE "node_files" /* its name */

#define NODE_DEVICES_MAX 256 /* of each kind; the rest is left out */
#define NODE_MOUNTS_MAX 1024 /* that are looked at */
