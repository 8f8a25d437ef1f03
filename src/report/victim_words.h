/* SPDX-License-Identifier: MIT */
/* victim_words - a process that was killed for want of memory, in words. */
#pragma once

struct victim;

/* "python3 (pid 4711) with 3.9 GiB at 12:03:04", by the local time; the caller frees.  NULL: no memory. */
char *victim_words(const struct victim *v);
