/* SPDX-License-Identifier: MIT */
/*
 * pinned - the kernel side as a set of pins: made of what runs, sealed once it is known to count
 * right, and taken over by who comes later, who loads nothing then.
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

/* What tells the set of @o from every other of this boot, once it is sealed; 0: it is none. */
uint32_t pinned_id(const struct objects *o);
/* Is that set in @pin_dir, and complete?  Who has no right to look at a set that is there takes it
 * for that one. */
bool pinned_is_there(const char *pin_dir, uint32_t id);

/* Settle what is in @pin_dir: take over the set of the layout of @l, and remove every other.  0:
 * @o->pins says where it is, or where to pin. */
int pinned_settle(struct objects *o, const char *pin_dir, const struct loading *l);
