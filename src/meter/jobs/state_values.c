/* SPDX-License-Identifier: MIT */
#include "jobs/state_values.h"

#include <string.h>

#include "model/json_place.h"
#include "basic/parse.h"
#include "jobs/registry_state.h"

static bool is_listed(const char *const *keys, const char *key)
{
	for (; *keys; keys++) {
		if (strcmp(*keys, key) == 0)
			return true;
	}
	return false;
}

int state_check_keys(const struct place *place, const json_t *map, const char *const *keys,
		     bool (*is_also)(const char *key))
{
	const char *key;
	json_t *value;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	json_object_foreach((json_t *)map, key, value)
	{
		if (!is_listed(keys, key) && !(is_also && is_also(key)))
			return place_refuse(place, "", "has something else: '%.40s'", key);
		if (json_is_null(value))
			return place_refuse(place, "", "has a null in it: '%.40s'", key);
	}
	return 0;
}

int state_take_string(const struct place *place, const json_t *map, const char *key, char **ret)
{
	int r = place_take_string(place, map, key, ret);

	if (r == 0 && *ret && strlen(*ret) > STATE_STRING_MAX)
		return place_refuse(place, key, "is longer than %d bytes", STATE_STRING_MAX);
	if (r == 0 && *ret && strlen(*ret) != json_string_length(place_member(map, key)))
		return place_refuse(place, key, "has a NUL in it");
	return r;
}

int state_need_string(const struct place *place, const json_t *map, const char *key, char **ret)
{
	int r = state_take_string(place, map, key, ret);

	return r == 0 && (!*ret || !**ret) ? place_refuse(place, key, "is missing") : r;
}

int state_take_number(const struct place *place, const json_t *map, const char *key, uint64_t max,
		      uint64_t *ret, bool *ret_is_known)
{
	int r = place_take_number(place, map, key, 0, ret, ret_is_known);

	return r == 0 && *ret_is_known && *ret > max ? place_refuse(place, key, "is out of range")
						     : r;
}

int state_take_value(const struct place *place, const json_t *map, const char *key, uint64_t max,
		     struct value *ret)
{
	uint64_t number = 0;
	bool is_known;
	int r = state_take_number(place, map, key, max, &number, &is_known);

	if (r == 0)
		*ret = (struct value){ number, is_known };
	return r;
}

int state_need_list(const struct place *place, const json_t *map, const char *key, size_t max,
		    const json_t **ret)
{
	int r = place_get(place, map, key, JSON_ARRAY, ret);

	if (r < 0)
		return r;
	if (!*ret)
		return place_refuse(place, key, "is missing");
	return json_array_size(*ret) > max
		       ? place_refuse(place, key, "has more than %zu entries", max)
		       : 0;
}

int state_parse_id(const struct place *place, const char *key, const json_t *json, uint64_t *ret)
{
	if (!json_is_string(json) || parse_u64(json_string_value(json), ret) < 0 || *ret == 0)
		return place_refuse(place, key, "is no group's number");
	return 0;
}

int state_number_at(const struct place *place, const json_t *list, size_t i, uint64_t max,
		    uint64_t *ret)
{
	const json_t *json = json_array_get(list, i);

	if (!json_is_integer(json) || json_integer_value(json) < 0 ||
	    (uint64_t)json_integer_value(json) > max)
		return place_refuse(place, "", "has something else where a number should be");
	*ret = (uint64_t)json_integer_value(json);
	return 0;
}

const char *state_word_at(const json_t *list, size_t i)
{
	const json_t *json = json_array_get(list, i);

	return json_is_string(json) ? json_string_value(json) : "";
}

int state_check_length(const struct place *place, const json_t *list, size_t length)
{
	return json_is_array(list) && json_array_size(list) == length
		       ? 0
		       : place_refuse(place, "", "should be a list of %zu", length);
}
