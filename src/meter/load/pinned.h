/* SPDX-License-Identifier: MIT */
/*
 * pinned - keeps the loaded objects as a set of pins, sealed once they are known to count right,
 * and lets a later process take them over instead of loading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hook;
struct loading;
struct objects;
struct pins;

/* One hook as a sealed set has it, in the map "hooks" by their order. */
struct pinned_hook {
	char program[32];
	char why[160];
	char why_older[160]; /* of its object: see struct older */
	uint8_t is_on, is_checked, pad[6];
};
_Static_assert(sizeof(struct pinned_hook) == 360, "shared with other builds");

/* Pin all at @o->pins.  After a failure nothing is left of it. */
int pinned_make(struct objects *o);

/* Note the hooks; from then on the set is complete. */
int pinned_seal(struct objects *o);

/* A hook is other than it was. */
void pinned_note(const struct objects *o, const struct hook *hook);

/* Identifies the sealed set of @o within this boot; 0: none. */
uint32_t pinned_id(const struct objects *o);
/* Is that set in @pin_dir, and complete?  A set that cannot be read counts as that one. */
bool pinned_is_there(const char *pin_dir, uint32_t id);

/* Take over the set in @pin_dir with the layout of @l, and remove the others.  0: @o->pins is where
 * it is, or where to pin. */
int pinned_settle(struct objects *o, const char *pin_dir, const struct loading *l);
