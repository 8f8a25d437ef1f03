/* SPDX-License-Identifier: MIT */
/* text - comparing strings of which any may be absent. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Two absent ones are equal. */
static inline bool text_is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same for NULL-ended lists such as an argv. */
static inline bool text_lists_are_equal(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++) {
		if (strcmp(*a, *b) != 0)
			return false;
	}
	return *a == *b;
}
