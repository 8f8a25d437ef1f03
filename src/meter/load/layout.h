/* SPDX-License-Identifier: MIT */
/*
 * layout - a number for all that decides how the kernel side's maps are laid out and what they
 * mean: while it is the same, one process can go on with what another has pinned.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hooks;
struct loading;

struct layout {
	uint64_t hash;
};

#define LAYOUT_NAME_SIZE 17 /* 16 hexadecimal digits */

void layout_begin(struct layout *ret);

/* One thing after the other; where one ends counts too. */
void layout_add(struct layout *l, const void *bytes, size_t size);
void layout_add_text(struct layout *l, const char *text);
void layout_add_number(struct layout *l, uint64_t number);

/* @ret has room for LAYOUT_NAME_SIZE. */
void layout_format(const struct layout *l, char *ret);

/* Is it what layout_format() writes? */
int layout_check_name(const char *name);

/* Of objects that are open and not yet loaded, and the hooks that they are to have: their code for
 * this kernel and for older ones, settings, tables, the sizes of maps, and what is not to be
 * loaded. */
void layout_of(const struct loading *loading, struct layout *ret);
