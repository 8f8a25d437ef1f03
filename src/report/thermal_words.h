/* SPDX-License-Identifier: MIT */
/* thermal_words - frequency and temperature of the CPUs that a job may use, in words. */
#pragma once

struct record;

/* "2.90 GHz on average, 1.30 GHz at least, 61 °C on average, 73 °C at most, cores throttled 3 times (134 samples of the
 * CPUs that it may use)", as far as it is known; the caller frees.  NULL: nothing is, or no memory. */
char *thermal_words(const struct record *r);
