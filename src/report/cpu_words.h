/* SPDX-License-Identifier: MIT */
/* cpu_words - what the processor's own counters and sensors say, in words.  The caller frees; NULL:
 * nothing was measured, or no memory. */
#pragma once

struct record;
struct thermal_samples;

/* "2.9 GHz while on CPU, 1.8 instructions a cycle, 4.2 LLC misses per 1,000 instructions, 12
 * GFLOP/s on CPU", as far as it was counted, with "~" where they are estimates. */
char *hardware_words(const struct record *r);

/* "2.84 GHz on average, 1.90 GHz at least, 82 °C on average, ... (62 samples of the CPUs that it
 * may use)" */
char *thermal_words(const struct thermal_samples *t);
