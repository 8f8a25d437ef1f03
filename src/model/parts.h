/* SPDX-License-Identifier: MIT */
/*
 * parts - what a job or a step has of the sections that cgroups add up to, or that a source adds
 * to, until they are those of a record.
 *
 * A node has thousands of these, and in most there is nothing: such are shared by all, and take no
 * memory.  What is put is never changed, only replaced.
 */
#pragma once

#include "model/section.h"
#include "model/sections.h"

struct parts { /* begins as {} */
	const void *items[PARTS_MAX]; /* in the order of sections[]; NULL: it was never put */
};

/* NULL: it was never put. */
const void *parts_get(const struct parts *p, const struct section *s);
/* Take over *@value, which is empty from then on, also on failure.  -ENOMEM: what was there stays.
 */
int parts_put(struct parts *p, const struct section *s, void *value);
void parts_clear(struct parts *p);

/* Add what sources counted; the rest of @more is left out.  -ENOMEM. */
int parts_add(struct parts *to, const struct parts *more);
/* Of one section: it is known from then on; but one on demand is not known any more where a part of
 * it was not counted.  -ENOMEM. */
int parts_add_one(struct parts *to, const struct section *s, const void *part);

/* What is in @from replaces what is in @to; @from is empty then. */
void parts_move(struct parts *to, struct parts *from);

/* Members of a map: each section by its key; of what was never put, all is known and nothing is in
 * it, but if a source adds to it, or if it is on demand and not @counted.  @is_of_step: but of
 * those that no step keeps. */
void parts_format(const struct parts *p, bool is_of_step, unsigned int counted, struct document *d);
/* And back, into an empty one: one that is not there is not known.  -EINVAL: the place's error says
 * why; -ENOMEM. */
int parts_parse(const struct place *place, const json_t *map, bool is_of_step, struct parts *ret);

/* Nothing differs, as far as the sections can tell, but what sources add later: energy goes on
 * whatever a job does.  GPUs are held or used, also by a job that does nothing else. */
bool parts_are_same(const struct parts *a, const struct parts *b);

/* Copy what was put into the record's sections.  -ENOMEM. */
int parts_copy_to(const struct parts *p, struct record *to);
