/* SPDX-License-Identifier: MIT */
/* values - texts of a resource manager, taken into members of a run: what is none of the kind
 * leaves the member as it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "server/store/runs.h"

struct value_field { /* what a manager calls something, and where that goes */
	const char *name; /* NULL ends a list */
	void (*take)(char *text, struct store_run *run, size_t offset);
	size_t offset; /* of a text or a value; 0 where @take knows */
};
#define RUN_AT(member) offsetof(struct store_run, member)

/* Whether it has all without which there is none, and no key is longer than an index holds. */
bool value_is_run(const struct store_run *run);

struct value value_known(uint64_t number); /* unless no number of ours is so large */
struct value *value_of_run(struct store_run *run, size_t offset);
void value_set_utc(struct store_run *run, size_t offset, struct tm *tm); /* from 1970 on */

void value_take_text(char *text, struct store_run *run, size_t offset);
void value_take_word(char *text, struct store_run *run, size_t offset);
void value_take_number(char *text, struct store_run *run, size_t offset);
void value_take_minutes(char *text, struct store_run *run, size_t offset);
void value_take_seconds(char *text, struct store_run *run, size_t offset);
void value_take_epoch(char *text, struct store_run *run, size_t offset);
void value_take_duration(char *text, struct store_run *run, size_t offset);
void value_take_size(char *text, struct store_run *run, size_t offset);
void value_take_state(char *text, struct store_run *run, size_t offset);
