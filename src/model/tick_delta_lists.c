/* SPDX-License-Identifier: MIT */
#include "tick_delta_lists.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "record_field.h"
#include "snapshot.h"
#include "tick_delta.h"

#define NONE SIZE_MAX /* of a name that we do not know */
#define ROW_NUMBERS 8

/* ---- names ---- */

static size_t find_metric(const char *name, size_t first, size_t end)
{
	char own[TICK_DELTA_NAME_MAX];

	for (size_t id = first; id < end; id++) {
		if (strcmp(tick_delta_metric_name((enum metric_id)id, own), name) == 0)
			return id - first;
	}
	return NONE;
}

static size_t find_value(const char *name)
{
	return find_metric(name, 0, METRIC_JOB_COUNT);
}

static size_t find_network(const char *name)
{
	return find_metric(name, METRIC_NETWORK_FIRST, METRIC_NETWORK_ROUND_TRIP_TIMES + 1);
}

static size_t find_field(const char *name)
{
	char own[TICK_DELTA_NAME_MAX];

	for (size_t i = 0; i < record_field_count; i++) {
		snprintf(own, sizeof(own), "%s.%s", record_fields[i].section, record_fields[i].key);
		if (record_field_is_value(&record_fields[i]) && strcmp(own, name) == 0)
			return i;
	}
	return NONE;
}

static size_t find_op(const char *name)
{
	enum file_op op = file_op_find(name);

	return op < OP_COUNT ? (size_t)op : NONE;
}

static size_t find_way(const char *name)
{
	enum file_way way = file_way_find(name);

	return way < WAY_COUNT ? (size_t)way : NONE;
}

static size_t find_socket(const char *name)
{
	enum socket_kind kind = socket_kind_find(name);

	return kind < SOCKET_KIND_COUNT ? (size_t)kind : NONE;
}

static int take_names(const struct place *place, const json_t *root, const char *key,
		      size_t (*find)(const char *name), struct delta_names *ret)
{
	const json_t *list;
	int r = place_get(place, root, key, JSON_ARRAY, &list);

	if (r < 0)
		return r;
	if (!list || json_array_size(list) > DELTA_NAMES_MAX)
		return place_refuse(place, key, list ? "has more than %d names" : "is missing", DELTA_NAMES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (!name)
			return place_refuse(place, key, "holds something else than names");
		ret->of[ret->count++] = find(name);
	}
	return 0;
}

/* Of a value that is no place of the list: DELTA_NAMES_MAX. */
static size_t place_of(const json_t *json)
{
	json_int_t place = json_is_integer(json) ? json_integer_value(json) : -1;

	return place >= 0 && place < DELTA_NAMES_MAX ? (size_t)place : DELTA_NAMES_MAX;
}

/* ---- numbers ---- */

static int take_number(const struct place *place, const char *key, const json_t *json, uint64_t most, uint64_t *ret)
{
	json_int_t number = json_is_integer(json) ? json_integer_value(json) : -1;

	if (number < 0 || (uint64_t)number > most)
		return place_refuse(place, key, "holds something else than counts");
	*ret = (uint64_t)number;
	return 0;
}

/* Place and number, place and number...; null: not known any more.  @at gives where the value of a place stands, NULL:
 * nowhere. */
static int take_pairs(const struct place *place, const json_t *map, const char *key, const struct delta_names *names,
		      struct value *(*at)(struct record *record, struct value *values, size_t i), struct record *record,
		      struct value *values)
{
	const json_t *list;
	int r = place_get(place, map, key, JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i += 2) {
		const json_t *number = json_array_get(list, i + 1);
		size_t where = place_of(json_array_get(list, i));
		struct value value = { .is_known = !json_is_null(number) };
		uint64_t n = 0;

		if (!number || where >= names->count)
			return place_refuse(place, key, "is no list of places and numbers");
		if (value.is_known)
			r = take_number(place, key, number, VALUE_MAX, &n);
		value.number = n;
		if (r == 0 && names->of[where] != NONE)
			*at(record, values, names->of[where]) = value;
	}
	return r;
}

static struct value *value_at(struct record *record, struct value *values, size_t i)
{
	(void)record;
	return &values[i];
}

static struct value *field_at(struct record *record, struct value *values, size_t i)
{
	(void)values;
	return record_field_ref(&record_fields[i], record);
}

int delta_take_values(const struct delta_lists *lists, const struct place *place, const json_t *map,
		       struct value to[METRIC_JOB_COUNT])
{
	return take_pairs(place, map, "values", &lists->values, value_at, NULL, to);
}

int delta_take_fields(const struct delta_lists *lists, const struct place *place, const json_t *map, struct record *to)
{
	if (!place_member(map, "fields"))
		return 0;
	to->cores = to->ranks = (struct evenness){};
	to->threads = (struct threads){};
	to->thermal = (struct thermal_samples){};
	return take_pairs(place, map, "fields", &lists->fields, field_at, to, NULL);
}

/* One number, by metric, of a kind of socket; of round-trip times of a bucket.  False: there is no such. */
static bool take_of_network(const struct delta_lists *lists, size_t part, size_t metric, uint64_t number, struct network *to)
{
	size_t place = metric < lists->network.count ? lists->network.of[metric] : NONE;
	enum metric_id id = (enum metric_id)(METRIC_NETWORK_FIRST + place);
	size_t kind = part < lists->sockets.count ? lists->sockets.of[part] : NONE;

	if (metric >= lists->network.count)
		return false;
	if (place != NONE && id == METRIC_NETWORK_ROUND_TRIP_TIMES) {
		if (part < HISTOGRAM_BUCKETS)
			to->round_trip_times.counts[part] = number;
		return part < HISTOGRAM_BUCKETS;
	}
	if (part >= lists->sockets.count)
		return false;
	if (place == NONE || kind == NONE || !network_takes((enum socket_kind)kind, id))
		return true; /* of a later build */
	to->has_details |= id == METRIC_NETWORK_SEGMENTS;
	*network_number_ref(to, (enum socket_kind)kind, id) = number;
	return true;
}

/* Whether there are numbers of connections; then kind, metric and number, again and again.  False: nothing is known. */
int delta_take_network(const struct delta_lists *lists, const struct place *place, const json_t *map, struct network *to)
{
	const json_t *list = place_member(map, "network");
	int r = 0;

	if (!list)
		return 0;
	*to = (struct network){};
	if (json_is_false(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) % 3 != 1 || !json_is_boolean(json_array_get(list, 0)))
		return place_refuse(place, "network", "is no list of kinds, metrics and numbers");
	to->is_known = true;
	to->has_connections = json_is_true(json_array_get(list, 0));
	for (size_t i = 1; r == 0 && i < json_array_size(list); i += 3) {
		size_t kind = place_of(json_array_get(list, i)), metric = place_of(json_array_get(list, i + 1));
		uint64_t number = 0;

		r = take_number(place, "network", json_array_get(list, i + 2), INT64_MAX, &number);
		if (r == 0 && !take_of_network(lists, kind, metric, number, to))
			return place_refuse(place, "network", "is no list of kinds, metrics and numbers");
	}
	return r;
}

/* ---- rows ---- */

/* The record's row of the mount that stands at @index in the list. */
static int get_mount(const struct delta_lists *lists, const struct place *place, size_t index, struct reading *to, struct mount_row **ret)
{
	struct place here = place_below(place, ".mounts[%zu]", index);
	const json_t *map = json_array_get(lists->mounts, index), *aliases = NULL;
	const char *name = json_string_value(place_member(map, "mount")),
		   *fstype = json_string_value(place_member(map, "fstype"));
	struct mount_row *row;
	int r = map ? place_get(&here, map, "aliases", JSON_ARRAY, &aliases)
		    : place_refuse(&here, "", "is missing");

	if (r < 0)
		return r;
	if (!name || strlen(name) > PLACE_STRING_MAX || (fstype && strlen(fstype) > PLACE_STRING_MAX))
		return place_refuse(&here, "mount", name ? "is too long" : "is missing");
	row = reading_get_mount(to, row_kind_of(name), name, fstype);
	if (!row)
		return to->mount_count >= MOUNT_ROWS_MAX ? place_refuse(&here, "", "is one too many") : -ENOMEM;
	row->has_seconds = lists->has_seconds;
	if (!row->source)
		r = place_take_string(&here, map, "source", &row->source);
	for (size_t i = 0; r == 0 && aliases && i < json_array_size(aliases); i++) {
		_cleanup_free_ char *alias = NULL;

		r = place_copy_string(&here, "aliases", json_array_get(aliases, i), &alias);
		if (r == 0)
			r = mount_row_add_alias(row, alias);
	}
	*ret = row;
	return r;
}

static int take_row(const struct delta_lists *lists, const struct place *place, const json_t *list, size_t at,
		    struct snapshot_row *ret)
{
	uint64_t numbers[ROW_NUMBERS] = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROW_NUMBERS; i++)
		r = take_number(place, "rows", json_array_get(list, at + i), TICK_DELTA_NUMBER_MAX, &numbers[i]);
	if (r == 0 && (numbers[0] >= json_array_size(lists->mounts) || numbers[1] >= lists->ops.count ||
		       numbers[2] >= lists->ways.count || numbers[7] > numbers[5]))
		r = place_refuse(place, "rows", "is no list of rows");
	*ret = (struct snapshot_row){
		.mount = (uint32_t)numbers[0],
		.op = (uint8_t)numbers[1],
		.way = (uint8_t)numbers[2],
		.counts = { .calls = numbers[3], .bytes = numbers[4], .errors = numbers[5], .ns = numbers[6],
			    .not_found = numbers[7] },
	};
	return r;
}

/* They are in order, so that none is there twice. */
static bool is_behind(const struct snapshot_row *row, const struct snapshot_row *last)
{
	if (row->mount != last->mount)
		return row->mount > last->mount;
	return row->op != last->op ? row->op > last->op : row->way > last->way;
}

static int add_rows(const struct delta_lists *lists, const struct place *place, const json_t *list, struct reading *to)
{
	struct snapshot_row row, last = {};
	struct mount_row *mount = NULL;

	for (size_t i = 0; i < json_array_size(list); i += ROW_NUMBERS) {
		size_t op, way;
		int r = take_row(lists, place, list, i, &row);

		if (r == 0 && i && !is_behind(&row, &last))
			r = place_refuse(place, "rows", "is not in order");
		if (r == 0 && (!mount || row.mount != last.mount))
			r = get_mount(lists, place, row.mount, to, &mount);
		if (r < 0)
			return r;
		last = row;
		op = lists->ops.of[row.op];
		way = lists->ways.of[row.way];
		if (op == NONE || way == NONE)
			continue;
		row.op = (uint8_t)op;
		row.way = (uint8_t)way;
		snapshot_row_add(mount, &row);
	}
	reading_sort_mounts(to);
	return 0;
}

int delta_take_rows(const struct delta_lists *lists, const struct place *place, const json_t *map,
		     const struct reading *before, struct reading *to)
{
	const json_t *list;
	int r = place_get(place, map, "rows", JSON_ARRAY, &list);

	if (r < 0 || !lists->mounts)
		return r;
	to->has_mounts = true;
	if (list)
		return json_array_size(list) % ROW_NUMBERS ? place_refuse(place, "rows", "is no list of rows")
							   : add_rows(lists, place, list, to);
	if (!before)
		return place_refuse(place, "rows", "is missing");
	reading_share_mounts(to, before);
	return 0;
}

/* ---- all lists of names ---- */

int delta_lists_take(const struct place *place, const json_t *root, struct delta_lists *ret)
{
	struct delta_lists lists = {};
	const struct {
		const char *key;
		size_t (*find)(const char *name);
		struct delta_names *to;
	} rows[] = {
		{ "values", find_value, &lists.values },    { "fields", find_field, &lists.fields },
		{ "ops", find_op, &lists.ops },		    { "ways", find_way, &lists.ways },
		{ "sockets", find_socket, &lists.sockets }, { "network", find_network, &lists.network },
	};
	int r = place_take_boolean(place, root, "has_seconds", &lists.has_seconds);

	if (r == 0)
		r = place_get(place, root, "mounts", JSON_ARRAY, &lists.mounts);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = take_names(place, root, rows[i].key, rows[i].find, rows[i].to);
	if (r == 0)
		*ret = lists;
	return r;
}
