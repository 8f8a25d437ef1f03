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

/* Longer than its end. */
static inline bool text_ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* The path @top, or one below it. */
static inline bool text_is_below(const char *path, const char *top)
{
	const size_t length = strlen(top);

	return strncmp(path, top, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* text_is_equal() for NULL-ended lists such as an argv. */
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
