/* SPDX-License-Identifier: MIT */
/* headline - what a report begins with: what it was, how it ended, how long it took, and where. */
#pragma once

#include <stdbool.h>

struct record;

/* What it is called: the job's name, its program or its id. */
const char *headline_name(const struct record *r);

/* "exit 0", "killed by SIGKILL", "still running"...; the caller frees.  NULL: no memory. */
char *headline_outcome(const struct record *r);
bool headline_is_failure(const struct record *r);

/* "2 m 14 s on node17, 4 cores allowed"; the caller frees.  NULL: no memory. */
char *headline_extent(const struct record *r);
