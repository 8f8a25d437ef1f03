/* SPDX-License-Identifier: MIT */
#include "codec/record_format.h"

#include <string.h>

#include "codec/record_parse.h"
#include "model/document.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/record_field.h"
#include "model/section.h"
#include "model/shape.h"
#include "model/sections/energy.h"

static void format_argv(char *const *argv, struct document *d)
{
	if (!argv) {
		document_null(d);
		return;
	}
	document_begin_flat_list(d);
	for (; *argv; argv++)
		document_string(d, *argv);
	document_end_list(d);
}

static void format_field(const struct record_field *field, const struct record *record,
			 struct document *d)
{
	const void *at = record_field_get(field, record);
	const struct value *value = at;

	switch (field->type) {
	case FIELD_COMMAND:
		document_key(d, field->key);
		format_argv(*(char *const *const *)at, d);
		break;
	case FIELD_STRINGS:
		document_put_strings(d, field->key, at);
		break;
	case FIELD_SHARE:
		document_put_known(d, field->key, value->is_known, value->number,
				   LOAD_BALANCE_PLACES);
		break;
	default:
		record_field_format(field, field->offset, record, d);
	}
}

static void format_io(const struct record *record, struct document *d)
{
	if (record->reading.has_mounts)
		shape_format(&mounts_shape, &record->reading, d);
	else
		document_null(d);
	if (!record->reading.has_sums)
		return;
	document_key(d, "io_sums");
	shape_format(&mount_sums_shape, &record->reading, d);
}

static void format_cpu_sums(const struct record *record, struct document *d)
{
	uint64_t number = 0;
	bool is_known = record_utilization(record, &number);

	document_put_known(d, "utilization", is_known, number, RECORD_UTILIZATION_PLACES);
	is_known = record_blocked_time(record, &number);
	document_put_known(d, "blocked_seconds", is_known, number,
			   metric_unit_places(UNIT_SECONDS));
}

static void format_account(const char *key, const struct accounting *accounting, struct document *d)
{
	document_key(d, key);
	if (!accounting->is_known) {
		document_null(d);
		return;
	}
	document_begin_flat_map(d);
	document_put_unsigned(d, "tasks_bytes", accounting->tasks_bytes);
	document_put_unsigned(d, "rows_bytes", accounting->rows_bytes);
	document_put_unsigned(d, "twice_bytes", accounting->twice_bytes);
	document_put_signed(d, "difference_bytes", accounting_difference(accounting));
	document_end_map(d);
}

static void format_accounting(const struct record *record, struct document *d)
{
	document_begin_map_of(d, "accounting");
	format_account("read", &record->coverage.read_accounting, d);
	format_account("write", &record->coverage.write_accounting, d);
	document_end_map(d);
}

/* Of all of its sensors together. */
static void format_energy_quality(const struct record *record, struct document *d)
{
	const struct energy *e = energy_of(record);
	const struct value uncertainty = energy_uncertainty(e);

	document_put_string(d, "level", e->count ? energy_level_name(energy_level(e)) : NULL);
	document_put_string(d, "quality", e->count ? energy_quality_name(energy_quality(e)) : NULL);
	document_put_known(d, "uncertainty", uncertainty.is_known, uncertainty.number, 3);
}

/* The section's metrics, then its fields. */
static void format_members(const struct record *record, const char *section, struct document *d)
{
	values_format(record->reading.values, section, d);
	for (size_t i = 0; i < record_field_count; i++) {
		if (strcmp(record_fields[i].section, section) == 0)
			format_field(&record_fields[i], record, d);
	}
}

/* What of a map is neither plain member nor section: written instead of it, or behind its members.
 */
static const struct special {
	const char *name;
	const struct shape *shape; /* with the key */
	void (*format_whole)(const struct record *record, struct document *d);
	void (*format_more)(const struct record *record, struct document *d);
} specials[] = {
	{ "cpu", .format_more = format_cpu_sums },
	{ "io", .format_whole = format_io },
	{ "survivors", &record_survivors_shape },
	{ "coverage", .format_more = format_accounting },
	{ "merged", &record_merged_shape },
	{ "energy", .format_more = format_energy_quality },
};

static const struct special *find_special(const char *name)
{
	static const struct special none;

	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		if (strcmp(specials[i].name, name) == 0)
			return &specials[i];
	}
	return &none;
}

/* Whose key is one of the map of that name. */
static bool is_within(const struct section *section, const char *name)
{
	size_t length = strlen(name);

	return strncmp(section->name, name, length) == 0 && section->name[length] == '.';
}

static void format_known(const struct record *record, const struct section *section,
			 struct document *d)
{
	const void *at = section_get(record, section);

	if (!section_is_known(section, at))
		return;
	document_key(d, section_key(section));
	if (section->format || section->shape) {
		section_format(section, at, d);
		return;
	}
	document_begin_map(d);
	format_members(record, section->name, d);
	document_end_map(d);
}

static void format_map(const struct record *record, const char *name, struct document *d)
{
	const struct special *special = find_special(name);

	if (special->shape) {
		shape_format(special->shape, record, d);
		return;
	}
	document_key(d, name);
	if (special->format_whole) {
		special->format_whole(record, d);
		return;
	}
	document_begin_map(d);
	format_members(record, name, d);
	if (special->format_more)
		special->format_more(record, d);
	for (size_t i = 0; i < section_count; i++) {
		if (is_within(sections[i], name))
			format_known(record, sections[i], d);
	}
	document_end_map(d);
}

static bool has_map(const struct record *record, const char *name)
{
	if (strcmp(name, "merged") == 0)
		return record->merged_records > 1;
	return !metric_section_is_optional(name) || values_know(record->reading.values, name);
}

static void format_rest(const struct record *record, struct document *d)
{
	for (size_t i = 0; i < section_count; i++) {
		if (!record_section_is_placed(sections[i]))
			format_known(record, sections[i], d);
	}
}

void record_format_with(const struct record *record,
			void (*format_more)(const void *context, struct document *d),
			const void *context, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", RECORD_SCHEMA);
	for (size_t i = 0; i < record_section_count; i++) {
		const char *name = record_sections[i];
		const struct section *section = section_find(name);

		if (*name == '\0')
			format_members(record, name, d);
		else if (strcmp(name, RECORD_SECTIONS_REST) == 0)
			format_rest(record, d);
		else if (section)
			format_known(record, section, d);
		else if (has_map(record, name))
			format_map(record, name, d);
	}
	if (format_more)
		format_more(context, d);
	document_end_map(d);
}

void record_format(const struct record *record, struct document *d)
{
	record_format_with(record, NULL, NULL, d);
}
