/* SPDX-License-Identifier: MIT */
/* headline - what a report begins with: what it was, how it ended, how long it took, and where. */
#pragma once

#include <stdbool.h>

struct record;

/* What it is called: the job's name, its program or its id. */
const char *headline_name(const struct record *r);

/* "OK", "exit 3", "killed by SIGKILL", "still running"...; the caller frees.  NULL: no memory. */
char *headline_outcome(const struct record *r);
bool headline_is_failure(const struct record *r);
bool headline_is_failed_state(const char *state); /* NULL: no */

/* "node17, 4 cores"; the caller frees.  NULL: neither is known, or no memory. */
char *headline_place(const struct record *r);
