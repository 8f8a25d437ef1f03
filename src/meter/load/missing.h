/* SPDX-License-Identifier: MIT */
/* missing - in words, what hooks that are off would give: told together where they are off for one
 * reason. */
#pragma once

#include <stddef.h>

struct hook;
struct strings;

/* Add to @ret, for each reason: "this, that: the reason".  Where other hooks that give the same are
 * on, those that are off stand in brackets.  Hooks of other tiers than @tier are not looked at. */
int missing_list(const struct hook *hooks, size_t count, const char *tier, struct strings *ret);
