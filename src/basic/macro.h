/* SPDX-License-Identifier: MIT */
/* macro - the few macros that the language lacks. */
#pragma once

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define UNUSED __attribute__((unused))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first), nonnull(text)))
