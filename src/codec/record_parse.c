/* SPDX-License-Identifier: MIT */
#include "codec/record_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/record_field.h"
#include "model/section.h"
#include "model/shape.h"

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

	switch (field->type) {
	case FIELD_COMMAND:
		return take_command(place, map, field->key, record);
	case FIELD_STRINGS:
		return take_strings(place, map, field->key, at);
	case FIELD_SHARE:
		return value_take(place, map, field->key, LOAD_BALANCE_PLACES, at);
	default:
		return record_field_parse(field, place, map, record);
	}
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

static int take_io(const struct place *place, const json_t *root, struct record *record)
{
	struct place here = place_below(place, "io"), sums = place_below(place, "io_sums");
	const json_t *list = NULL;
	int r = place_get(place, root, "io", JSON_ARRAY, &list);

	record->reading.has_mounts = list != NULL;
	if (r == 0 && list)
		r = shape_parse(&mounts_shape, &here, list, &record->reading);
	if (r == 0)
		r = place_get(place, root, "io_sums", JSON_ARRAY, &list);
	record->reading.has_sums = list != NULL;
	return r < 0 || !list ? r : shape_parse(&mount_sums_shape, &sums, list, &record->reading);
}

static int check_merged(const struct place *place, void *of)
{
	const struct record *record = of;

	if (!record->merged_records)
		return place_refuse(place, "records", "is out of range");
	return record->merged_nodes ? 0 : place_refuse(place, "nodes", "is out of range");
}

#define AT(member) offsetof(struct record, member)
#define ACCOUNT(member) offsetof(struct accounting, member)

/* clang-format off */
static const struct field account_fields[] = {
	{ "tasks_bytes", SHAPE_NUMBER, SHAPE_NEEDED, ACCOUNT(tasks_bytes) },
	{ "rows_bytes", SHAPE_NUMBER, SHAPE_NEEDED, ACCOUNT(rows_bytes) },
	{ "twice_bytes", SHAPE_NUMBER, 0, ACCOUNT(twice_bytes) },
};
static const struct accounting known = { .is_known = true };
static const struct shape account_shape = { SHAPE_OF(struct accounting, account_fields), .blank = &known };
static const struct field accounting_fields[] = {
	{ "read", SHAPE_MAP, 0, AT(coverage.read_accounting), .rows = &account_shape },
	{ "write", SHAPE_MAP, 0, AT(coverage.write_accounting), .rows = &account_shape },
};
static const struct shape accounting_shape = { SHAPE_OF(struct record, accounting_fields) };
static const struct field coverage_fields[] = {
	{ "accounting", SHAPE_MAP, 0, 0, .rows = &accounting_shape },
};
static const struct shape coverage_shape = { SHAPE_OF(struct record, coverage_fields) };
static const struct field count_fields[] = {
	{ "records", SHAPE_UINT, 0, AT(merged_records), sizeof(unsigned int), .most = INT32_MAX },
	{ "nodes", SHAPE_UINT, 0, AT(merged_nodes), sizeof(unsigned int), .most = INT32_MAX },
};
static const struct shape counts_shape = { SHAPE_OF(struct record, count_fields), .check = check_merged };
static const struct field merged_fields[] = {
	{ "merged", SHAPE_MAP, SHAPE_FLAT | SHAPE_ALWAYS, 0, .rows = &counts_shape },
};
const struct shape record_merged_shape = { SHAPE_OF(struct record, merged_fields) };
static const struct field survivor_fields[] = {
	{ "pid", SHAPE_SIGNED, 0, offsetof(struct survivor, pid), sizeof(int), .most = INT32_MAX },
	{ "command", SHAPE_STRING, 0, offsetof(struct survivor, command) },
};
static const struct shape survivor_shape = { SHAPE_OF(struct survivor, survivor_fields), .is_flat = true,
	.max = SURVIVORS_MAX };
static const struct field survivors_fields[] = {
	{ "survivors", SHAPE_LIST, 0, AT(survivors), .rows = &survivor_shape },
};
const struct shape record_survivors_shape = { SHAPE_OF(struct record, survivors_fields) };
/* What is neither metric, field nor section. */
static const struct field other_fields[] = {
	{ NULL, SHAPE_MAP, 0, 0, .rows = &record_survivors_shape },
	{ "coverage", SHAPE_MAP, 0, 0, .rows = &coverage_shape },
	{ NULL, SHAPE_MAP, 0, 0, .rows = &record_merged_shape },
};
static const struct shape others_shape = { SHAPE_OF(struct record, other_fields) };
/* clang-format on */

/* Of one that stands in a map the place is that map's. */
static int take_section(const struct place *place, const json_t *root,
			const struct section *section, struct record *record)
{
	const char *dot = strchr(section->name, '.');
	size_t length = dot ? (size_t)(dot - section->name) : 0;
	char map[64] = "";
	struct place here = place_below(place, map);

	if (!section->parse && !section->shape)
		return 0;
	if (!dot)
		return section_take(section, place, root, section_of(record, section));
	snprintf(map, sizeof(map), "%.*s", (int)length, section->name);
	return section_take(section, &here, place_member(root, map), section_of(record, section));
}

static int take_maps(const struct place *place, const json_t *root, struct record *record)
{
	int r = take_members(place, root, "", record);

	for (size_t i = 0; r == 0 && i < record_section_count; i++) {
		const char *name = record_sections[i];
		struct place here = place_below(place, name);
		const json_t *section;

		if (!record_section_is_plain(name))
			continue;
		r = place_get(place, root, name, JSON_OBJECT, &section);
		if (r == 0)
			r = take_members(&here, section, name, record);
	}
	return r;
}

static int take_all(const struct place *place, const json_t *root, struct record *record)
{
	int r = take_maps(place, root, record);

	if (r == 0)
		r = take_io(place, root, record);
	for (size_t i = 0; r == 0 && i < section_count; i++)
		r = take_section(place, root, sections[i], record);
	return r < 0 ? r : shape_parse(&others_shape, place, root, record);
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
		r = take_all(&place, root, record);
	if (r == 0)
		*ret = TAKE_PTR(record);
	return r;
}
