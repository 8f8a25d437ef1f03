/* SPDX-License-Identifier: MIT */
#include "record_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "block_json.h"
#include "cleanup.h"
#include "error.h"
#include "histogram_json.h"
#include "hot_files_json.h"
#include "json_place.h"
#include "metric_json.h"
#include "network_json.h"
#include "record.h"
#include "record_field.h"
#include "timeline_json.h"

static int take_strings(const struct place *place, const json_t *map, const char *key,
			struct strings *ret)
{
	const json_t *list;
	int r = place_get(place, map, key, JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i++) {
		_cleanup_free_ char *text = NULL;

		r = place_copy_string(place, key, json_array_get(list, i), &text);
		if (r == 0)
			r = strings_add(ret, "%s", text);
	}
	return r == -ENOSPC ? place_refuse(place, key, "has more than %d entries", STRINGS_MAX) : r;
}

static int take_command(const struct place *place, const json_t *map, const char *key,
			struct record *record)
{
	_cleanup_free_ char **argv = NULL;
	const json_t *list;
	int r = place_get(place, map, key, JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	if (json_array_size(list) > COMMAND_ARGUMENTS_MAX)
		return place_refuse(place, key, "has more than %d entries", COMMAND_ARGUMENTS_MAX);
	argv = calloc(json_array_size(list) + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);

		if (!json_is_string(json))
			return place_refuse(place, key, "holds %s where a string should be",
					    place_type_name(json));
		argv[i] = (char *)json_string_value(json); /* copied below */
	}
	return record_set_command(record, argv);
}

static int take_field(const struct place *place, const json_t *map,
		      const struct record_field *field, struct record *record)
{
	void *at = record_field_ref(field, record);
	int64_t number = field->absent;
	bool is_known;
	int r;

	switch (field->type) {
	case FIELD_STRING:
		return place_take_string(place, map, field->key, at);
	case FIELD_COMMAND:
		return take_command(place, map, field->key, record);
	case FIELD_STRINGS:
		return take_strings(place, map, field->key, at);
	case FIELD_BOOL:
		return place_take_boolean(place, map, field->key, at);
	case FIELD_TIME:
		return place_take_time(place, map, field->key, at);
	case FIELD_U64:
		return place_take_number(place, map, field->key, 0, at, &is_known);
	case FIELD_SECONDS:
		return place_take_number(place, map, field->key, metric_unit_places(UNIT_SECONDS),
					 at, &is_known);
	case FIELD_COUNT:
	case FIELD_DURATION:
	case FIELD_CELSIUS:
	case FIELD_SHARE:
		return value_take(place, map, field->key, record_field_places(field), at);
	case FIELD_INT:
		r = place_take_signed(place, map, field->key, 0, INT32_MAX, &number);
		*(int *)at = (int)number;
		return r;
	case FIELD_INT64:
		return place_take_signed(place, map, field->key, 0, INT64_MAX, at);
	}
	return 0;
}

/* The metrics and fields that are plain members of @section. */
static int take_members(const struct place *place, const json_t *map, const char *section,
			struct record *record)
{
	int r = values_take(place, map, section, record->reading.values);

	for (size_t i = 0; r == 0 && i < record_field_count; i++) {
		if (strcmp(record_fields[i].section, section) == 0)
			r = take_field(place, map, &record_fields[i], record);
	}
	return r;
}

/* One metric of a mount's "read", "write" or "mapped"; clears what isn't known without it. */
static int take_mount_metric(const struct place *place, const json_t *map, enum metric_id id,
			     struct mount_row *row)
{
	const struct metric *metric = metric_get(id);
	bool is_known;
	int r;

	if (metric->kind == KIND_HISTOGRAM) {
		r = histogram_take(place, map, metric, mount_row_histogram(row, id), &is_known);
		if (metric->unit != UNIT_SECONDS)
			row->has_histograms &= is_known;
		return r;
	}
	if (metric->unit != UNIT_SECONDS)
		return place_need_number(place, map, metric->key, mount_row_number_ref(row, id));
	r = place_take_number(place, map, metric->key, metric_unit_places(UNIT_SECONDS),
			      mount_row_number_ref(row, id), &is_known);
	row->has_seconds &= is_known;
	return r;
}

/* The metrics of SCOPE_MOUNT that stand in one section of a row. */
static int take_mount_metrics(const struct place *place, const json_t *section, const char *name,
			      struct mount_row *row)
{
	struct place here = place_below(place, ".%s", name);
	int r = 0;

	for (size_t id = METRIC_JOB_COUNT; r == 0 && id < METRIC_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (metric->scope == SCOPE_MOUNT && strcmp(metric->section, name) == 0)
			r = take_mount_metric(&here, section, (enum metric_id)id, row);
	}
	return r;
}

static int take_data(const struct place *place, const json_t *map, struct mount_row *row)
{
	const json_t *section;
	int r = 0;

	for (size_t op = 0; r == 0 && op < OP_DATA_COUNT; op++) {
		const char *name = file_op_name((enum file_op)op);

		r = place_get(place, map, name, JSON_OBJECT, &section);
		if (r == 0)
			r = take_mount_metrics(place, section, name, row);
	}
	return r;
}

static int take_mapped(const struct place *place, const json_t *map, struct mount_row *row)
{
	const json_t *section;
	int r = place_get(place, map, "mapped", JSON_OBJECT, &section);

	return r < 0 || !section ? r : take_mount_metrics(place, section, "mapped", row);
}

static int take_way(const struct place *place, const json_t *map, enum file_way way,
		    struct mount_row *row)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);
		const json_t *section;
		struct place here;
		int r;

		if (metric->scope != SCOPE_MOUNT_WAY)
			continue;
		here = place_below(place, ".%s", metric_part(metric));
		r = place_get(place, map, metric_part(metric), JSON_OBJECT, &section);
		if (r == 0 && section)
			r = place_need_number(&here, section, metric->key,
					      mount_row_way_number_ref(row, id, way));
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_ways(const struct place *place, const struct mount_row *row)
{
	for (size_t id = METRIC_JOB_COUNT; id < METRIC_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);
		struct place here;

		if (metric->scope != SCOPE_MOUNT_WAY || mount_row_ways_fit(row, (enum metric_id)id))
			continue;
		here = place_below(place, ".%s", metric_part(metric));
		return place_refuse(&here, metric->key, "is less than its ways together");
	}
	return 0;
}

static int take_ways(const struct place *place, const json_t *map, struct mount_row *row)
{
	struct place above = place_below(place, ".ways");
	const json_t *ways, *section;
	int r = place_get(place, map, "ways", JSON_OBJECT, &ways);

	for (size_t way = WAY_CALL + 1; r == 0 && way < WAY_MAPPING; way++) {
		const char *name = file_way_name((enum file_way)way);
		struct place here = place_below(&above, ".%s", name);

		r = place_get(&above, ways, name, JSON_OBJECT, &section);
		if (r == 0 && section)
			r = take_way(&here, section, (enum file_way)way, row);
	}
	return r < 0 ? r : check_ways(place, row);
}

static int take_op(const struct place *place, const json_t *map, enum file_op op,
		   struct mount_row *row)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);
		bool is_known;
		int r;

		if (metric->scope != SCOPE_MOUNT_OP)
			continue;
		r = place_take_number(place, map, metric->key, metric_unit_places(metric->unit),
				      mount_row_op_number_ref(row, id, op), &is_known);
		if (r < 0)
			return r;
		if (id == METRIC_META_NOT_FOUND && !is_known)
			row->lacks_not_found = true;
	}
	if (row->ops[op].not_found > row->ops[op].errors)
		return place_refuse(place, "errors", "is less than its not_found");
	return 0;
}

static int take_meta(const struct place *place, const json_t *map, struct mount_row *row)
{
	struct place above = place_below(place, ".meta");
	const json_t *meta, *section;
	int r = place_get(place, map, "meta", JSON_OBJECT, &meta);

	for (size_t op = OP_DATA_COUNT; r == 0 && op < OP_COUNT; op++) {
		const char *name = file_op_name((enum file_op)op);
		struct place here = place_below(&above, ".%s", name);

		r = place_get(&above, meta, name, JSON_OBJECT, &section);
		if (r == 0 && section)
			r = take_op(&here, section, (enum file_op)op, row);
	}
	return r;
}

static int take_aliases(const struct place *place, const json_t *map, struct mount_row *row)
{
	struct strings aliases = {};
	int r = take_strings(place, map, "aliases", &aliases);

	for (size_t i = 0; r == 0 && i < aliases.count; i++)
		r = mount_row_add_alias(row, aliases.items[i]);
	strings_clear(&aliases);
	return r;
}

/* The row that @map names, which must not be there yet. */
static int add_row(const struct place *place, const json_t *map, struct reading *reading,
		   struct mount_row **ret)
{
	_cleanup_free_ char *mount = NULL, *fstype = NULL;
	int r = place_take_string(place, map, "mount", &mount);

	if (r == 0)
		r = place_take_string(place, map, "fstype", &fstype);
	if (r < 0)
		return r;
	if (!mount)
		return place_refuse(place, "mount", "is missing");
	if (reading_find_mount(reading, row_kind_of(mount), mount, fstype))
		return place_refuse(place, "mount", "stands there twice");
	*ret = reading_get_mount(reading, row_kind_of(mount), mount, fstype);
	return *ret ? 0 : -ENOMEM;
}

static int take_mount(const struct place *place, const json_t *map, struct reading *reading)
{
	struct mount_row *row = NULL;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = add_row(place, map, reading, &row);
	if (r < 0 || !row)
		return r;
	row->has_seconds = row->has_histograms = true; /* until something is missing */
	r = place_take_string(place, map, "source", &row->source);
	if (r == 0)
		r = take_aliases(place, map, row);
	if (r == 0)
		r = take_data(place, map, row);
	if (r == 0)
		r = take_ways(place, map, row);
	if (r == 0)
		r = take_mapped(place, map, row);
	return r < 0 ? r : take_meta(place, map, row);
}

static int take_io(const struct place *place, const json_t *root, struct record *record)
{
	const json_t *list;
	int r = place_get(place, root, "io", JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	if (json_array_size(list) > MOUNT_ROWS_MAX)
		return place_refuse(place, "io", "has more than %d entries", MOUNT_ROWS_MAX);
	record->reading.has_mounts = true;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_below(place, "io[%zu]", i);

		r = take_mount(&here, json_array_get(list, i), &record->reading);
	}
	return r;
}

static int take_files(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "files");
	const json_t *files;
	int r = place_get(place, root, "files", JSON_OBJECT, &files);

	return r < 0 || !files ? r : hot_files_parse(&here, files, &record->files);
}

static int take_syscalls(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "syscalls");
	const json_t *syscalls;
	int r = place_get(place, root, "syscalls", JSON_ARRAY, &syscalls);

	return r < 0 || !syscalls ? r : syscalls_parse(&here, syscalls, &record->syscalls);
}

static int take_victims(const struct place *place, const json_t *root, struct record *record)
{
	struct place above = place_below(place, "memory"), here = place_below(&above, ".oom");
	const json_t *memory = place_member(root, "memory"), *list;
	int r = place_get(&above, memory, "oom", JSON_ARRAY, &list);

	return r < 0 || !list ? r : victims_parse(&here, list, &record->victims);
}

static int take_steps(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "steps");
	const json_t *steps;
	int r = place_get(place, root, "steps", JSON_ARRAY, &steps);

	return r < 0 || !steps ? r : steps_parse(&here, steps, &record->steps);
}

static int take_survivor(const struct place *place, const json_t *map, struct record *record)
{
	_cleanup_free_ char *command = NULL;
	int64_t pid = 0;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = place_take_signed(place, map, "pid", 0, INT32_MAX, &pid);
	if (r == 0)
		r = place_take_string(place, map, "command", &command);
	return r < 0 ? r : record_add_survivor(record, (int)pid, command);
}

static int take_survivors(const struct place *place, const json_t *root, struct record *record)
{
	const json_t *list;
	int r = place_get(place, root, "survivors", JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i++) {
		struct place here = place_below(place, "survivors[%zu]", i);

		r = take_survivor(&here, json_array_get(list, i), record);
	}
	return r == -ENOSPC
		       ? place_refuse(place, "survivors", "has more than %d entries", SURVIVORS_MAX)
		       : r;
}

static int take_book(const struct place *place, const json_t *books, const char *key,
		     struct books *ret)
{
	struct place here = place_below(place, ".%s", key);
	const json_t *book;
	bool is_known;
	int r = place_get(place, books, key, JSON_OBJECT, &book);

	if (r < 0 || !book)
		return r;
	r = place_need_number(&here, book, "tasks_bytes", &ret->tasks_bytes);
	if (r == 0)
		r = place_need_number(&here, book, "rows_bytes", &ret->rows_bytes);
	if (r == 0)
		r = place_take_number(&here, book, "twice_bytes", 0, &ret->twice_bytes, &is_known);
	ret->is_known = r == 0;
	return r;
}

static int take_books(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "coverage.books");
	const json_t *coverage = place_member(root, "coverage"), *books;
	int r = place_get(place, coverage, "books", JSON_OBJECT, &books);

	if (r == 0)
		r = take_book(&here, books, "read", &record->coverage.read_books);
	return r < 0 ? r : take_book(&here, books, "write", &record->coverage.write_books);
}

static int take_timeline(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "timeline");
	const json_t *timeline;
	int r = place_get(place, root, "timeline", JSON_OBJECT, &timeline);

	return r < 0 || !timeline ? r : timeline_parse(&here, timeline, &record->timeline);
}

static int take_network(const struct place *place, const json_t *root, struct record *record)
{
	return network_take(place, root, &record->reading.network);
}

static int take_ports(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "ports");
	const json_t *list;
	int r = place_get(place, root, "ports", JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	record->ports = calloc(1, sizeof(*record->ports));
	return record->ports ? ports_parse(&here, list, record->ports) : -ENOMEM;
}

static int take_block(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "block");
	const json_t *list;
	int r = place_get(place, root, "block", JSON_ARRAY, &list);

	return r < 0 || !list ? r : block_parse(&here, list, &record->reading.block);
}

static int take_merged(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "merged");
	int64_t records = 1, nodes = 1;
	const json_t *merged;
	int r = place_get(place, root, "merged", JSON_OBJECT, &merged);

	if (r == 0)
		r = place_take_signed(&here, merged, "records", 1, INT32_MAX, &records);
	if (r == 0)
		r = place_take_signed(&here, merged, "nodes", 1, INT32_MAX, &nodes);
	record->merged_records = (unsigned int)records;
	record->merged_nodes = (unsigned int)nodes;
	return r;
}

static int take_sections(const struct place *place, const json_t *root, struct record *record)
{
	static int (*const specials[])(const struct place *, const json_t *, struct record *) = {
		take_io,
		take_network,
		take_syscalls,
		take_ports,
		take_block,
		take_files,
		take_victims,
		take_steps,
		take_survivors,
		take_books,
		take_timeline,
		take_merged,
	};
	int r = take_members(place, root, "", record);

	for (size_t i = 0; r == 0 && i < record_section_count; i++) {
		const char *name = record_sections[i];
		struct place here = place_below(place, "%s", name);
		const json_t *section;

		if (!record_section_is_plain(name))
			continue;
		r = place_get(place, root, name, JSON_OBJECT, &section);
		if (r == 0)
			r = take_members(&here, section, name, record);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(specials); i++)
		r = specials[i](place, root, record);
	return r;
}

static int check_schema(const json_t *root, struct error *err)
{
	const json_t *schema;

	if (!json_is_object(root))
		return error_set(err, -EINVAL, "this is %s and no record of jobmeter",
				 place_type_name(root));
	schema = place_member(root, "schema");
	if (!json_is_string(schema))
		return error_set(err, -EINVAL, "there is no 'schema': no record of jobmeter");
	if (strcmp(json_string_value(schema), RECORD_SCHEMA) != 0)
		return error_set(err, -EINVAL,
				 "the schema is '%.60s', and this jobmeter reads '%s'",
				 json_string_value(schema), RECORD_SCHEMA);
	return 0;
}

int record_parse(const json_t *root, struct record **ret, struct error *err)
{
	_cleanup_(record_freep) struct record *record = record_new();
	struct place place = { .err = err };
	int r = check_schema(root, err);

	if (!record)
		return -ENOMEM;
	if (r == 0)
		r = take_sections(&place, root, record);
	if (r == 0)
		*ret = TAKE_PTR(record);
	return r;
}
