/* SPDX-License-Identifier: MIT */
/* samples - numbers of which the median and the quartiles are asked. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define SAMPLES_MAX 512

struct samples {
	double items[SAMPLES_MAX];
	size_t count;
};

/* Over SAMPLES_MAX are dropped. */
void samples_add(struct samples *s, double value);

/* @share 0.5: the median, between two neighbours linearly.  Sorts.  NAN: there are none. */
double samples_quantile(struct samples *s, double share);

/* "456 (440..470)": median and quartiles; "-": there are none. */
void samples_print(struct samples *s, int places, FILE *out);
