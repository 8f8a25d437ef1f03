/* SPDX-License-Identifier: MIT */
#include "model/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static const char *name_of(size_t series, char ret[METRIC_PATH_SIZE])
{
	return metric_path(metric_get(timeline_metric(series)), ret);
}

static unsigned int places_of(size_t series)
{
	return metric_unit_places(metric_get(timeline_metric(series))->unit);
}

/* ---- writing ---- */

static void format_values(const struct timeline *t, size_t series, struct document *d)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];
	size_t count = timeline_get(t, series, buckets);

	if (!timeline_knows(t, series)) {
		document_null(d);
		return;
	}
	document_begin_flat_list(d);
	for (size_t i = 0; i < count; i++) {
		if (buckets[i] == TIMELINE_UNKNOWN)
			document_null(d);
		else
			document_decimal(d, buckets[i], places_of(series));
	}
	document_end_list(d);
}

static void format_series(const struct timeline *t, size_t series, struct document *d)
{
	const char *unit = metric_unit_name(metric_get(timeline_metric(series))->unit);
	char name[METRIC_PATH_SIZE];

	document_begin_map_of(d, name_of(series, name));
	document_put_string(d, "unit", unit ? unit : "count");
	if (timeline_before(t, series)) {
		document_key(d, "before");
		document_decimal(d, timeline_before(t, series), places_of(series));
	}
	document_key(d, "values");
	format_values(t, series, d);
	document_end_map(d);
}

static void format_shape(const struct timeline *t, struct document *d)
{
	document_put_unsigned(d, "interval_seconds", UINT64_C(1) << t->shift);
}

static void timeline_format(const void *section, struct document *d)
{
	const struct timeline *t = section;

	document_begin_map(d);
	document_put_time(d, "start", t->start_ns);
	format_shape(t, d);
	document_begin_map_of(d, "series");
	for (size_t i = 0; i < TIMELINE_SERIES; i++)
		format_series(t, i, d);
	document_end_map(d);
	document_end_map(d);
}

static void save_runs(const struct packed *buckets, struct document *d)
{
	struct packed_run run;
	size_t at = 0;

	document_begin_flat_list(d);
	while (packed_next(buckets, &at, &run)) {
		if (run.number == TIMELINE_UNKNOWN)
			document_null(d);
		else
			document_unsigned(d, run.number);
		if (run.times > 1)
			document_signed(d, 1 - (int64_t)run.times);
	}
	document_end_list(d);
}

static int save_series(const struct timeline *t, size_t series, struct document *d)
{
	_cleanup_(packed_clear) struct packed packed = {};
	uint64_t buckets[TIMELINE_BUCKETS_MAX];
	size_t count = timeline_get(t, series, buckets);
	char name[METRIC_PATH_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = packed_append(&packed, buckets[i], 1);
	if (r < 0)
		return r;
	document_begin_map_of(d, name_of(series, name));
	document_put_unsigned(d, "before", timeline_before(t, series));
	document_key(d, "runs");
	save_runs(&packed, d);
	document_end_map(d);
	return 0;
}

/* clang-format off */
static const struct field head_fields[] = {
	{ "start_ns", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct timeline, start_ns) },
	{ "last_ns", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct timeline, last_ns) },
	{ "last_boot_ns", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct timeline, last_boot_ns) },
	{ "from_start", SHAPE_BOOL, 0, offsetof(struct timeline, is_from_start) },
};
/* clang-format on */
static const struct shape head_shape = { SHAPE_OF(struct timeline, head_fields) };

int timeline_save(const struct timeline *t, struct document *d)
{
	int r = 0;

	document_begin_map(d);
	shape_format(&head_shape, t, d);
	format_shape(t, d);
	document_begin_map_of(d, "series");
	for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++) {
		if (timeline_knows(t, i))
			r = save_series(t, i, d);
	}
	document_end_map(d);
	document_end_map(d);
	return r;
}

/* ---- reading ---- */

static int take_interval(const struct place *place, const json_t *map, struct timeline *t)
{
	int64_t seconds = 0;
	int r = place_take_signed(place, map, "interval_seconds", 1,
				  INT64_C(1) << TIMELINE_SHIFT_MAX, &seconds);

	if (r == 0 && (!seconds || (seconds & (seconds - 1))))
		return place_refuse(place, "interval_seconds", "is no power of two");
	while (INT64_C(1) << t->shift < seconds)
		t->shift++;
	return r;
}

/* The times are set: is that a timeline? */
static int check_times(const struct place *place, const struct timeline *t)
{
	uint64_t interval_ns = timeline_interval_ns(t);

	if (t->start_ns % interval_ns)
		return place_refuse(place, "start", "is no multiple of the interval");
	if (t->last_ns < t->start_ns || t->last_ns > PACKED_MAX ||
	    t->last_ns - t->start_ns > TIMELINE_BUCKETS_MAX * interval_ns)
		return place_refuse(place, "", "ends where it cannot");
	return 0;
}

/* How many buckets its series have, which are as many in each; 0: none. */
static size_t count_values(const json_t *series)
{
	const char *name;
	json_t *one;

	json_object_foreach((json_t *)series, name, one)
	{
		size_t count = json_array_size(place_member(one, "values"));

		if (count)
			return count;
	}
	return 0;
}

static int take_bucket(const struct place *place, const json_t *json, unsigned int places,
		       uint64_t *ret)
{
	int r;

	*ret = TIMELINE_UNKNOWN;
	if (json_is_null(json))
		return 0;
	r = place_read_number(place, "values", json, places, ret);
	return r == 0 && *ret > PACKED_MAX ? place_refuse(place, "values", "is out of range") : r;
}

static int take_values(const struct place *place, const json_t *map, size_t series,
		       struct timeline *t)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];
	size_t count = timeline_count(t);
	const json_t *list;
	int r = place_get(place, map, "values", JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	if (json_array_size(list) != count)
		return place_refuse(place, "values", "has %zu entries and another series %zu",
				    json_array_size(list), count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_bucket(place, json_array_get(list, i), places_of(series), &buckets[i]);
	return r < 0 ? r : timeline_put(t, series, buckets, count);
}

static int take_before(const struct place *place, const json_t *map, size_t series,
		       unsigned int places, struct timeline *t)
{
	uint64_t before = 0;
	bool is_known;
	int r = place_take_number(place, map, "before", places, &before, &is_known);

	if (r == 0 && before > PACKED_MAX)
		return place_refuse(place, "before", "is out of range");
	t->series[series].before = before;
	return r;
}

static int take_series(const struct place *place, const json_t *all, size_t series,
		       struct timeline *t)
{
	struct place here;
	char name[METRIC_PATH_SIZE];
	const json_t *map;
	int r = place_get(place, all, name_of(series, name), JSON_OBJECT, &map);

	if (r < 0 || !map)
		return r;
	here = place_below(place, name);
	r = take_before(&here, map, series, places_of(series), t);
	return r < 0 ? r : take_values(&here, map, series, t);
}

static int take_all(const struct place *place, const json_t *map, struct timeline *t)
{
	struct place here = place_below(place, "series");
	const json_t *series = NULL;
	size_t count;
	int r = place_take_time(place, map, "start", &t->start_ns);

	if (r == 0)
		r = take_interval(place, map, t);
	if (r == 0)
		r = place_get(place, map, "series", JSON_OBJECT, &series);
	if (r < 0)
		return r;
	count = count_values(series);
	if (!count || count > TIMELINE_BUCKETS_MAX)
		return place_refuse(&here, "", "has no buckets, or more than %d",
				    TIMELINE_BUCKETS_MAX);
	t->last_ns = t->start_ns + count * timeline_interval_ns(t);
	r = check_times(place, t);
	if (r == 0)
		r = timeline_allocate(t);
	for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++)
		r = take_series(&here, series, i, t);
	return r;
}

static int timeline_parse(const struct place *place, const json_t *map, void *ret)
{
	struct timeline t = {};
	int r = take_all(place, map, &t);

	if (r < 0)
		timeline_clear(&t);
	else
		*(struct timeline *)ret = t;
	return r;
}

/* Puts the number, or more of the one before it, behind the @count that there are. */
static int restore_run(const struct place *place, const json_t *json, uint64_t *buckets,
		       size_t *count, size_t room)
{
	json_int_t number = json_integer_value(json); /* 0: it is none */
	size_t times = 1;

	if (!json_is_null(json) && !json_is_integer(json))
		return place_refuse(place, "runs", "holds something else than numbers");
	if (number < 0)
		times = number < -TIMELINE_BUCKETS_MAX ? room + 1 : (size_t)-number;
	if (times > room - *count || (number < 0 && !*count))
		return place_refuse(place, "runs", "is longer than the timeline");
	for (; times; times--, (*count)++)
		buckets[*count] = number < 0	       ? buckets[*count - 1]
				  : json_is_null(json) ? TIMELINE_UNKNOWN
						       : (uint64_t)number;
	return 0;
}

static int restore_series(const struct place *place, const json_t *map, size_t series,
			  struct timeline *t)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];
	size_t count = 0;
	const json_t *list = NULL;
	int r = json_is_object(map) ? place_get(place, map, "runs", JSON_ARRAY, &list)
				    : place_refuse(place, "", "is %s and should be a map",
						   place_type_name(map));

	if (r == 0)
		r = take_before(place, map, series, 0, t);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = restore_run(place, json_array_get(list, i), buckets, &count, timeline_count(t));
	if (r == 0 && count != timeline_count(t))
		r = place_refuse(place, "runs", "is shorter than the timeline");
	return r < 0 ? r : timeline_put(t, series, buckets, count);
}

/* The series of that name; TIMELINE_SERIES: none. */
static size_t find_series(const char *name)
{
	char other[METRIC_PATH_SIZE];
	size_t i = 0;

	while (i < TIMELINE_SERIES && strcmp(name, name_of(i, other)) != 0)
		i++;
	return i;
}

static int restore_all(const struct place *place, const json_t *map, struct timeline *t)
{
	const struct place all = place_below(place, "series");
	const json_t *series = NULL;
	const char *name;
	json_t *one;
	int r = shape_parse(&head_shape, place, map, t);

	if (r == 0)
		r = take_interval(place, map, t);
	if (r == 0)
		r = check_times(place, t);
	if (r == 0)
		r = place_get(place, map, "series", JSON_OBJECT, &series);
	if (r == 0)
		r = timeline_allocate(t);
	if (r < 0)
		return r;
	json_object_foreach((json_t *)series, name, one)
	{
		struct place here = place_below(&all, name);
		size_t i = find_series(name);

		if (i == TIMELINE_SERIES)
			return place_refuse(&all, "", "has something else: '%.40s'", name);
		r = restore_series(&here, one, i, t);
		if (r < 0)
			return r;
	}
	return 0;
}

int timeline_restore(const struct place *place, const json_t *map, struct timeline *ret)
{
	struct timeline t = {};
	int r = restore_all(place, map, &t);

	if (r < 0)
		timeline_clear(&t);
	else
		*ret = t;
	return r;
}

/* ---- the section ---- */

static bool is_known(const void *section)
{
	return timeline_is_known(section);
}

static void clear_section(void *section)
{
	timeline_clear(section);
}

static int subtract(void *later, const void *earlier, struct strings *notes UNUSED)
{
	return timeline_subtract(later, earlier);
}

const struct section timeline_section = {
	.name = "timeline",
	.size = sizeof(struct timeline),
	.offset = offsetof(struct record, timeline),
	.is_known = is_known,
	.clear = clear_section,
	.subtract = subtract,
	.format = timeline_format,
	.type = JSON_OBJECT,
	.parse = timeline_parse,
};
