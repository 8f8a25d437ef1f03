/* SPDX-License-Identifier: MIT */
#include "basic/guess.h"

#include <stdint.h>
#include <string.h>

#include "basic/macro.h"

#define WORD_MAX 64

/* Letters to add, drop or change; words longer than WORD_MAX are as far as can be. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[WORD_MAX + 1], a_length = strlen(a), b_length = strlen(b);

	if (a_length > WORD_MAX || b_length > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = rows[0];

		rows[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t above = rows[j], change = diagonal + (a[i - 1] != b[j - 1]);

			rows[j] = MIN(MIN(above, rows[j - 1]) + 1, change);
			diagonal = above;
		}
	}
	return rows[b_length];
}

const char *guess_nearest(const char *text, const void *names, size_t count, size_t stride)
{
	const char *best = NULL;
	size_t best_distance = MIN(strlen(text) / 3 + 1, (size_t)3) + 1;

	for (size_t i = 0; i < count; i++) {
		const char *name =
			*(const char *const *)(const void *)((const char *)names + i * stride);
		size_t d = distance(text, name);

		if (d < best_distance) {
			best_distance = d;
			best = name;
		}
	}
	return best;
}
