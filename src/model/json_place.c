/* SPDX-License-Identifier: MIT */
#include "model/json_place.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"

#define PATH_SIZE ((size_t)160)

/* "io[3].read", in @path, which is cut where it has no room. */
static size_t format_path(const struct place *place, char path[PATH_SIZE])
{
	size_t used = place->above ? format_path(place->above, path) : 0;

	if (place->key && *place->key)
		used += (size_t)snprintf(path + used, PATH_SIZE - used, "%s%s", used ? "." : "",
					 place->key);
	used = MIN(used, PATH_SIZE - 1);
	if (place->is_item)
		used += (size_t)snprintf(path + used, PATH_SIZE - used, "[%zu]", place->index);
	return MIN(used, PATH_SIZE - 1);
}

int place_refuse(const struct place *place, const char *key, const char *format, ...)
{
	char reason[128], path[PATH_SIZE] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	format_path(place, path);
	return error_set(place->err, -EINVAL, "%s%s%s %s", path, *path && *key ? "." : "", key,
			 reason);
}

int place_parse_map(const char *text, size_t length, json_t **ret, struct error *err)
{
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	int r;

	if (!root)
		return error_set(err, -EINVAL, "it is no JSON: %s", error.text);
	if (!json_is_object(root)) {
		r = error_set(err, -EINVAL, "it is %s and should be a map", place_type_name(root));
		json_decref(root);
		return r;
	}
	*ret = root;
	return 0;
}

struct place place_below(const struct place *above, const char *key)
{
	return (struct place){ .above = above, .key = key, .err = above->err };
}

struct place place_item(const struct place *above, const char *key, size_t index)
{
	return (struct place){ above, key, index, true, above->err };
}

const char *place_type_name(const json_t *json)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "a map",     [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	     [JSON_NULL] = "null",
	};

	return names[json_typeof(json)];
}

const json_t *place_member(const json_t *map, const char *key)
{
	const json_t *json = json_object_get(map, key);

	return json && !json_is_null(json) ? json : NULL;
}

int place_each(const struct place *place, const json_t *list, size_t max,
	       int (*take)(const struct place *item, const json_t *map, void *ret), void *ret)
{
	int r = 0;

	if (json_array_size(list) > max)
		return place_refuse(place, "", "has more than %zu entries", max);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const struct place item = place_item(place, "", i);
		const json_t *map = json_array_get(list, i);

		r = json_is_object(map) ? take(&item, map, ret)
					: place_refuse(&item, "", "is %s and should be a map",
						       place_type_name(map));
	}
	return r;
}

int place_get(const struct place *place, const json_t *map, const char *key, json_type type,
	      const json_t **ret)
{
	const json_t *json = place_member(map, key);

	if (json && json_typeof(json) != type)
		return place_refuse(place, key, "is %s and should be %s", place_type_name(json),
				    type == JSON_OBJECT	 ? "a map"
				    : type == JSON_ARRAY ? "a list"
							 : "a string");
	*ret = json;
	return 0;
}

int place_copy_string(const struct place *place, const char *key, const json_t *json, char **ret)
{
	char *copy;

	if (!json_is_string(json))
		return place_refuse(place, key, "is %s and should be a string",
				    place_type_name(json));
	if (json_string_length(json) > PLACE_STRING_MAX)
		return place_refuse(place, key, "is longer than %d bytes", PLACE_STRING_MAX);
	copy = strdup(json_string_value(json));
	if (!copy)
		return -ENOMEM;
	free(*ret);
	*ret = copy;
	return 0;
}

int place_take_string(const struct place *place, const json_t *map, const char *key, char **ret)
{
	const json_t *json = place_member(map, key);

	return json ? place_copy_string(place, key, json, ret) : 0;
}

static int read_signed(const struct place *place, const char *key, const json_t *json, int64_t min,
		       int64_t max, int64_t *ret)
{
	int64_t number;

	if (!json_is_integer(json))
		return place_refuse(place, key, "is %s and should be a whole number",
				    json_is_real(json) ? "a fraction" : place_type_name(json));
	number = json_integer_value(json);
	if (number < min || number > max)
		return place_refuse(place, key, "is out of range");
	*ret = number;
	return 0;
}

int place_take_signed(const struct place *place, const json_t *map, const char *key, int64_t min,
		      int64_t max, int64_t *ret)
{
	const json_t *json = place_member(map, key);

	return json ? read_signed(place, key, json, min, max, ret) : 0;
}

int place_read_number(const struct place *place, const char *key, const json_t *json,
		      unsigned int places, uint64_t *ret)
{
	int64_t whole = 0;
	int r;

	if (places > 0 && json_is_number(json)) {
		if (decimal_from_double(json_number_value(json), places, ret) < 0)
			return place_refuse(place, key, "is out of range");
		return 0;
	}
	r = read_signed(place, key, json, 0, INT64_MAX, &whole);
	if (r == 0)
		*ret = (uint64_t)whole;
	return r;
}

int place_take_number(const struct place *place, const json_t *map, const char *key,
		      unsigned int places, uint64_t *ret, bool *ret_is_known)
{
	const json_t *json = place_member(map, key);

	*ret_is_known = json != NULL;
	return json ? place_read_number(place, key, json, places, ret) : 0;
}

int place_take_boolean(const struct place *place, const json_t *map, const char *key, bool *ret)
{
	const json_t *json = place_member(map, key);

	if (!json)
		return 0;
	if (!json_is_boolean(json))
		return place_refuse(place, key, "is %s and should be true or false",
				    place_type_name(json));
	*ret = json_is_true(json);
	return 0;
}

int place_take_time(const struct place *place, const json_t *map, const char *key, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = place_take_string(place, map, key, &text);

	if (r == 0 && text && timestamp_parse(text, ret) < 0)
		return place_refuse(place, key, "is not a time such as 2026-02-03T04:05:06Z");
	return r;
}

bool place_number_of(const json_t *map, const char *key, unsigned int places, uint64_t *ret)
{
	const struct place place = {};
	bool is_known = false;

	return place_take_number(&place, map, key, places, ret, &is_known) == 0 && is_known;
}

const char *place_text_of(const json_t *map, const char *key)
{
	const char *text = json_string_value(json_object_get(map, key));

	return text ? text : "-";
}
