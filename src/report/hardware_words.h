/* SPDX-License-Identifier: MIT */
/* hardware_words - what the processor's own counters say, in words. */
#pragma once

struct record;

/* "2.9 GHz while on CPU, 1.8 instructions a cycle, 4.2 LLC misses per 1,000 instructions, 12 GFLOP/s on CPU", as far as
 * it was counted, with "~" where they are estimates; the caller frees.  NULL: nothing was, or no memory. */
char *hardware_words(const struct record *r);
