/* SPDX-License-Identifier: MIT */
/*
 * json_place - typed values out of the maps of a parsed JSON text.
 *
 * A member that is missing is the same as one that is null: the result is left alone.  One of
 * another type is -EINVAL, with the way to it in the error: "io[3].read.bytes is a string and
 * should be...".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/macro.h"

#define PLACE_STRING_MAX (128 * 1024) /* the kernel's own bound of one argument */

struct error;

static inline void json_freep(json_t **json)
{
	json_decref(*json);
}

struct place { /* which map is being read; put in words only where it is refused */
	const struct place *above; /* NULL: this is the top */
	const char *key; /* in the map above; may be NULL or "" */
	size_t index; /* in the list of that key... */
	bool is_item; /* ...if it stands in one */
	struct error *err;
};

/* Parse a text that is one map, in which no key comes twice; the caller owns *ret.  -EINVAL, and
 * *err says why: it is none. */
int place_parse_map(const char *text, size_t length, json_t **ret, struct error *err);

/* The place of a map below, and of an item of a list below; @above and @key outlive it. */
struct place place_below(const struct place *above, const char *key);
struct place place_item(const struct place *above, const char *key, size_t index);

/* Take each map of @list into @ret.  -EINVAL: it has more than @max, or something else in it. */
int place_each(const struct place *place, const json_t *list, size_t max,
	       int (*take)(const struct place *item, const json_t *map, void *ret), void *ret);

/* Say what is wrong with member @key ("": with the map itself).  Returns -EINVAL. */
int place_refuse(const struct place *place, const char *key, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* "a map", "a number"... */
const char *place_type_name(const json_t *json);

/* The member of @map (may be NULL), of any type; NULL: it is missing or null. */
const json_t *place_member(const json_t *map, const char *key);

/* The same, of one type; *ret becomes NULL where it is absent. */
int place_get(const struct place *place, const json_t *map, const char *key, json_type type,
	      const json_t **ret);

/* *ret is freed and replaced.  @json is a value found below @key. */
int place_copy_string(const struct place *place, const char *key, const json_t *json, char **ret);
int place_take_string(const struct place *place, const json_t *map, const char *key, char **ret);

int place_take_boolean(const struct place *place, const json_t *map, const char *key, bool *ret);
int place_take_time(const struct place *place, const json_t *map, const char *key, uint64_t *ret);

/* A whole number within [@min, @max]. */
int place_take_signed(const struct place *place, const json_t *map, const char *key, int64_t min,
		      int64_t max, int64_t *ret);

/* A number that is not negative, times 10^@places.  @json is a value found below @key. */
int place_read_number(const struct place *place, const char *key, const json_t *json,
		      unsigned int places, uint64_t *ret);
/* A member of @map that is such a number.  *ret_is_known: it is there. */
int place_take_number(const struct place *place, const json_t *map, const char *key,
		      unsigned int places, uint64_t *ret, bool *ret_is_known);

/* For who prints an answer as it is: its number, if it is there; its text, or "-". */
bool place_number_of(const json_t *map, const char *key, unsigned int places, uint64_t *ret);
const char *place_text_of(const json_t *map, const char *key);
