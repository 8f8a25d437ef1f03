/* SPDX-License-Identifier: MIT */
#include "model/metric_json.h"

#include <string.h>

#include "model/document.h"
#include "model/json_place.h"

void metric_format(const struct metric *metric, bool is_known, uint64_t number, struct document *d)
{
	document_put_known(d, metric->key, is_known, number, metric_unit_places(metric->unit));
}

void histogram_format(const struct metric *metric, const struct histogram *h, struct document *d)
{
	size_t count = HISTOGRAM_BUCKETS;

	document_key(d, metric->key);
	if (!h) {
		document_null(d);
		return;
	}
	while (count > 0 && h->counts[count - 1] == 0)
		count--;
	document_begin_flat_list(d);
	for (size_t i = 0; i < count; i++)
		document_unsigned(d, h->counts[i]);
	document_end_list(d);
}

int histogram_take(const struct place *place, const json_t *map, const struct metric *metric,
		   struct histogram *ret, bool *ret_is_known)
{
	const json_t *list;
	int r = place_get(place, map, metric->key, JSON_ARRAY, &list);

	*ret_is_known = r == 0 && list;
	if (r < 0 || !list)
		return r;
	if (json_array_size(list) > HISTOGRAM_BUCKETS)
		return place_refuse(place, metric->key, "has more than %d entries",
				    HISTOGRAM_BUCKETS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);

		if (!json_is_integer(json) || json_integer_value(json) < 0)
			return place_refuse(place, metric->key, "holds something else than counts");
		ret->counts[i] = (uint64_t)json_integer_value(json);
	}
	return 0;
}

int value_take(const struct place *place, const json_t *map, const char *key, unsigned int places,
	       struct value *ret)
{
	uint64_t number = 0;
	bool is_known;
	int r = place_take_number(place, map, key, places, &number, &is_known);

	if (r == 0 && number > VALUE_MAX)
		return place_refuse(place, key, "is out of range");
	if (r == 0)
		*ret = (struct value){ number, is_known };
	return r;
}

static const char *section_of(size_t id)
{
	return metric_get((enum metric_id)id)->section;
}

/* A section's rows stand together. */
static bool is_first_of_section(size_t id)
{
	return id == 0 || strcmp(section_of(id - 1), section_of(id)) != 0;
}

/* The name of @id's section within @section, right below which it is; NULL: it is not. */
static const char *name_below(size_t id, const char *section)
{
	const char *name = section_of(id);
	size_t length = strlen(section);

	if (!length || strncmp(name, section, length) != 0 || name[length] != '.')
		return NULL;
	name += length + 1;
	return strchr(name, '.') ? NULL : name;
}

void values_format(const struct value *values, const char *section, struct document *d)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		const char *name = name_below(id, section);

		if (strcmp(section_of(id), section) == 0)
			metric_format(metric_get((enum metric_id)id), values[id].is_known,
				      values[id].number, d);
		if (!name || !is_first_of_section(id))
			continue;
		document_begin_map_of(d, name);
		values_format(values, section_of(id), d);
		document_end_map(d);
	}
}

static int take_section(const struct place *place, const json_t *map, size_t id, const char *name,
			struct value *values)
{
	struct place here = place_below(place, name);
	const json_t *section;
	int r = place_get(place, map, name, JSON_OBJECT, &section);

	return r < 0 ? r : values_take(&here, section, section_of(id), values);
}

int values_take(const struct place *place, const json_t *map, const char *section,
		struct value *values)
{
	int r = 0;

	for (size_t id = 0; r == 0 && id < METRIC_JOB_COUNT; id++) {
		const char *name = name_below(id, section);

		if (strcmp(section_of(id), section) == 0)
			r = value_take(place, map, metric_get((enum metric_id)id)->key,
				       metric_unit_places(metric_get((enum metric_id)id)->unit),
				       &values[id]);
		else if (name && is_first_of_section(id))
			r = take_section(place, map, id, name, values);
	}
	return r;
}

/* Of those that stand in no other. */
static bool begins_section(size_t id)
{
	return !strchr(section_of(id), '.') && is_first_of_section(id);
}

bool values_know(const struct value *values, const char *section)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (values[id].is_known && strcmp(section_of(id), section) == 0)
			return true;
	}
	return false;
}

bool metric_section_is_optional(const char *section)
{
	return strcmp(section, "pressure") == 0 || strcmp(section, "energy") == 0;
}

void values_format_all(const struct value *values, struct document *d)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (!begins_section(id) || (metric_section_is_optional(section_of(id)) &&
					    !values_know(values, section_of(id))))
			continue;
		document_begin_map_of(d, section_of(id));
		values_format(values, section_of(id), d);
		document_end_map(d);
	}
}

int values_take_all(const struct place *place, const json_t *map, struct value *values)
{
	int r = 0;

	for (size_t id = 0; r == 0 && id < METRIC_JOB_COUNT; id++) {
		if (begins_section(id))
			r = take_section(place, map, id, section_of(id), values);
	}
	return r;
}
