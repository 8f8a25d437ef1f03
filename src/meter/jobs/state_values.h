/* SPDX-License-Identifier: MIT */
/* state_values - typed values out of the text of a state, in which nothing odd is taken: -EINVAL,
 * and the place's error says what. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place;
struct value;

/* It is a map of no other keys than @keys, ended by NULL, and those of which @is_also (may be NULL)
 * says so; none is null. */
int state_check_keys(const struct place *place, const json_t *map, const char *const *keys,
		     bool (*is_also)(const char *key));

/* Of a map.  What is only taken may be missing. */
int state_take_string(const struct place *place, const json_t *map, const char *key, char **ret);
int state_need_string(const struct place *place, const json_t *map, const char *key, char **ret);
int state_take_number(const struct place *place, const json_t *map, const char *key, uint64_t max,
		      uint64_t *ret, bool *ret_is_known);
int state_take_value(const struct place *place, const json_t *map, const char *key, uint64_t max,
		     struct value *ret);
int state_need_list(const struct place *place, const json_t *map, const char *key, size_t max,
		    const json_t **ret);

/* A group's, which is a text since it uses all 64 bits. */
int state_parse_id(const struct place *place, const char *key, const json_t *json, uint64_t *ret);

/* Of a list: of so many entries; a whole number at that place; a text there, "" if it is none. */
int state_check_length(const struct place *place, const json_t *list, size_t length);
int state_number_at(const struct place *place, const json_t *list, size_t i, uint64_t max,
		    uint64_t *ret);
const char *state_word_at(const json_t *list, size_t i);
