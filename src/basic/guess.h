/* SPDX-License-Identifier: MIT */
/* guess - finds the known word that is nearest to a misspelt one. */
#pragma once

#include <stddef.h>

/* The nearest of @count names, the first of which is at @names and the next @stride bytes further;
 * NULL: none is near. */
const char *guess_nearest(const char *text, const void *names, size_t count, size_t stride);
