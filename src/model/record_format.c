/* SPDX-License-Identifier: MIT */
#include "record_format.h"

#include <string.h>

#include "block_json.h"
#include "document.h"
#include "histogram_json.h"
#include "hot_files_json.h"
#include "macro.h"
#include "metric_json.h"
#include "network_json.h"
#include "record.h"
#include "record_field.h"
#include "timeline_json.h"

static void format_strings(const struct strings *list, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < list->count; i++)
		document_string(d, list->items[i]);
	document_end_list(d);
}

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

static void format_number_or_null(const struct record_field *field, const struct record *record,
				  struct document *d)
{
	int64_t number;

	if (record_field_number(field, record, &number))
		document_signed(d, number);
	else
		document_null(d);
}

static void format_value(const struct record_field *field, const struct value *value, struct document *d)
{
	if (value->is_known)
		document_decimal(d, value->number, record_field_places(field));
	else
		document_null(d);
}

static void format_field(const struct record_field *field, const struct record *record,
			 struct document *d)
{
	const void *at = record_field_get(field, record);

	document_key(d, field->key);
	switch (field->type) {
	case FIELD_STRING:
		document_string(d, *(char *const *)at);
		break;
	case FIELD_COMMAND:
		format_argv(*(char *const *const *)at, d);
		break;
	case FIELD_STRINGS:
		format_strings(at, d);
		break;
	case FIELD_BOOL:
		document_boolean(d, *(const bool *)at);
		break;
	case FIELD_U64:
		document_unsigned(d, *(const uint64_t *)at);
		break;
	case FIELD_INT:
	case FIELD_INT64:
		format_number_or_null(field, record, d);
		break;
	case FIELD_TIME:
		document_time(d, *(const uint64_t *)at);
		break;
	case FIELD_SECONDS:
		document_decimal(d, *(const uint64_t *)at, metric_unit_places(UNIT_SECONDS));
		break;
	case FIELD_COUNT:
	case FIELD_DURATION:
	case FIELD_CELSIUS:
	case FIELD_SHARE:
		format_value(field, at, d);
		break;
	}
}

static void format_mount_metric(const struct metric *metric, struct mount_row *row,
				struct document *d)
{
	enum metric_id id = metric_id_of(metric);

	if (metric->kind != KIND_HISTOGRAM) {
		metric_format(metric, mount_row_knows(row, id), mount_row_number(row, id),
				     d);
		return;
	}
	histogram_format(metric, mount_row_knows(row, id) ? mount_row_histogram(row, id) : NULL, d);
}

/* The metrics of SCOPE_MOUNT that stand in one section. */
static void format_mount_metrics(const char *section, struct mount_row *row, struct document *d)
{
	for (size_t id = METRIC_JOB_COUNT; id < METRIC_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (metric->scope == SCOPE_MOUNT && strcmp(metric->section, section) == 0)
			format_mount_metric(metric, row, d);
	}
}

static void format_data(struct mount_row *row, struct document *d)
{
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		const char *name = file_op_name((enum file_op)op);

		document_key(d, name);
		document_begin_map(d);
		format_mount_metrics(name, row, d);
		document_end_map(d);
	}
}

static void format_mapped(struct mount_row *row, struct document *d)
{
	if (row->ways[WAY_MAPPING][OP_READ].bytes == 0 &&
	    row->ways[WAY_MAPPING][OP_WRITE].bytes == 0)
		return;
	document_key(d, "mapped");
	document_begin_flat_map(d);
	format_mount_metrics("mapped", row, d);
	document_end_map(d);
}

static void format_way_op(struct mount_row *row, enum file_way way, enum file_op op,
			  struct document *d)
{
	const char *name = file_op_name(op);

	document_key(d, name);
	document_begin_flat_map(d);
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if (metric->scope == SCOPE_MOUNT_WAY && strcmp(metric_part(metric), name) == 0)
			metric_format(metric, true, *mount_row_way_number_ref(row, id, way),
					     d);
	}
	document_end_map(d);
}

/* Plain calls are what is left, and mappings no part of it. */
static void format_ways(struct mount_row *row, struct document *d)
{
	document_key(d, "ways");
	document_begin_map(d);
	for (size_t way = WAY_CALL + 1; way < WAY_MAPPING; way++) {
		if (!mount_row_has_way(row, (enum file_way)way))
			continue;
		document_key(d, file_way_name((enum file_way)way));
		document_begin_map(d);
		for (size_t op = 0; op < OP_DATA_COUNT; op++)
			format_way_op(row, (enum file_way)way, (enum file_op)op, d);
		document_end_map(d);
	}
	document_end_map(d);
}

static void format_op(struct mount_row *row, enum file_op op, struct document *d)
{
	document_key(d, file_op_name(op));
	document_begin_flat_map(d);
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if (metric->scope == SCOPE_MOUNT_OP)
			metric_format(metric, mount_row_knows(row, id),
					     *mount_row_op_number_ref(row, id, op), d);
	}
	document_end_map(d);
}

static void format_mount(struct mount_row *row, struct document *d)
{
	document_begin_map(d);
	document_key(d, "mount");
	document_string(d, row->mount);
	document_key(d, "aliases");
	document_begin_flat_list(d);
	for (size_t i = 0; i < MOUNT_ALIASES_MAX && row->aliases[i]; i++)
		document_string(d, row->aliases[i]);
	document_end_list(d);
	document_key(d, "fstype");
	document_string(d, row->fstype);
	document_key(d, "source");
	document_string(d, row->source);
	format_data(row, d);
	format_ways(row, d);
	format_mapped(row, d);
	document_key(d, "meta");
	document_begin_map(d);
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (row->ops[op].calls > 0)
			format_op(row, (enum file_op)op, d);
	}
	document_end_map(d);
	document_end_map(d);
}

static void format_io(const struct record *record, struct document *d)
{
	if (!record->reading.has_mounts) {
		document_null(d);
		return;
	}
	document_begin_list(d);
	for (size_t i = 0; i < record->reading.mount_count; i++)
		format_mount(&record->reading.mounts[i], d);
	document_end_list(d);
}

static void format_network(const struct record *record, struct document *d)
{
	network_format(&record->reading.network, d);
}

static void format_ports(const struct record *record, struct document *d)
{
	ports_format(record->ports, d);
}

static void format_block(const struct record *record, struct document *d)
{
	block_format(&record->reading.block, d);
}

static void format_survivors(const struct record *record, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < record->survivor_count; i++) {
		document_begin_flat_map(d);
		document_key(d, "pid");
		document_signed(d, record->survivors[i].pid);
		document_key(d, "command");
		document_string(d, record->survivors[i].command);
		document_end_map(d);
	}
	document_end_list(d);
}

static void format_utilization(const struct record *record, struct document *d)
{
	uint64_t ten_thousandths;

	document_key(d, "utilization");
	if (record_utilization(record, &ten_thousandths))
		document_decimal(d, ten_thousandths, RECORD_UTILIZATION_PLACES);
	else
		document_null(d);
}

static void format_cpu_sums(const struct record *record, struct document *d)
{
	uint64_t blocked_ns;

	format_utilization(record, d);
	document_key(d, "blocked_seconds");
	if (record_blocked_time(record, &blocked_ns))
		document_decimal(d, blocked_ns, metric_unit_places(UNIT_SECONDS));
	else
		document_null(d);
}

static void format_book(const char *key, const struct books *books, struct document *d)
{
	document_key(d, key);
	if (!books->is_known) {
		document_null(d);
		return;
	}
	document_begin_flat_map(d);
	document_key(d, "tasks_bytes");
	document_unsigned(d, books->tasks_bytes);
	document_key(d, "rows_bytes");
	document_unsigned(d, books->rows_bytes);
	document_key(d, "twice_bytes");
	document_unsigned(d, books->twice_bytes);
	document_key(d, "difference_bytes");
	document_signed(d, books_difference(books));
	document_end_map(d);
}

static void format_books(const struct record *record, struct document *d)
{
	document_key(d, "books");
	document_begin_map(d);
	format_book("read", &record->coverage.read_books, d);
	format_book("write", &record->coverage.write_books, d);
	document_end_map(d);
}

static void format_files(const struct record *record, struct document *d)
{
	hot_files_format(&record->files, d);
}

static void format_syscalls(const struct record *record, struct document *d)
{
	syscalls_format(&record->syscalls, d);
}

static void format_steps(const struct record *record, struct document *d)
{
	steps_format(&record->steps, d);
}

static void format_timeline(const struct record *record, struct document *d)
{
	timeline_format(&record->timeline, d);
}

static void format_victims(const struct record *record, struct document *d)
{
	if (!record->victims.count)
		return;
	document_key(d, "oom");
	victims_format(&record->victims, d);
}

static void format_merged(const struct record *record, struct document *d)
{
	document_begin_flat_map(d);
	document_key(d, "records");
	document_unsigned(d, record->merged_records);
	document_key(d, "nodes");
	document_unsigned(d, record->merged_nodes);
	document_end_map(d);
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

/* What of a section is no plain member: written instead of a map, or behind its members. */
static const struct section {
	const char *name;
	void (*format_whole)(const struct record *record, struct document *d);
	void (*format_more)(const struct record *record, struct document *d);
} special_sections[] = {
	{ "cpu", NULL, format_cpu_sums },	 { "memory", NULL, format_victims },
	{ "io", format_io, NULL },		 { "network", format_network, NULL },
	{ "ports", format_ports, NULL },	 { "block", format_block, NULL },
	{ "survivors", format_survivors, NULL }, { "coverage", NULL, format_books },
	{ "merged", format_merged, NULL },	 { "files", format_files, NULL },
	{ "steps", format_steps, NULL },	 { "timeline", format_timeline, NULL },
	{ "syscalls", format_syscalls, NULL },
};

static const struct section *find_special(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(special_sections); i++) {
		if (strcmp(special_sections[i].name, name) == 0)
			return &special_sections[i];
	}
	return NULL;
}

static void format_section(const struct record *record, const char *name, struct document *d)
{
	const struct section *special = find_special(name);

	document_key(d, name);
	if (special && special->format_whole) {
		special->format_whole(record, d);
		return;
	}
	document_begin_map(d);
	format_members(record, name, d);
	if (special)
		special->format_more(record, d);
	document_end_map(d);
}

static bool has_section(const struct record *record, const char *name)
{
	if (strcmp(name, "merged") == 0)
		return record->merged_records > 1;
	if (strcmp(name, "pressure") == 0)
		return values_know(record->reading.values, name);
	if (strcmp(name, "network") == 0)
		return record->reading.network.is_known;
	if (strcmp(name, "ports") == 0)
		return record->ports;
	if (strcmp(name, "block") == 0)
		return record->reading.block.is_known;
	if (strcmp(name, "cores") == 0)
		return record->cores.count.is_known;
	if (strcmp(name, "ranks") == 0)
		return record->ranks.count.is_known;
	if (strcmp(name, "threads") == 0)
		return record->threads.count.is_known;
	if (strcmp(name, "syscalls") == 0)
		return record->syscalls.is_known;
	if (strcmp(name, "thermal") == 0)
		return record->thermal.samples.is_known;
	if (strcmp(name, "steps") == 0)
		return record->steps.count > 0;
	if (strcmp(name, "timeline") == 0)
		return timeline_is_known(&record->timeline);
	return strcmp(name, "files") != 0 || record->files.is_known;
}

void record_format_with(const struct record *record,
			void (*format_more)(const void *context, struct document *d),
			const void *context, struct document *d)
{
	document_begin_map(d);
	document_key(d, "schema");
	document_string(d, RECORD_SCHEMA);
	for (size_t i = 0; i < record_section_count; i++) {
		const char *name = record_sections[i];

		if (*name == '\0')
			format_members(record, name, d);
		else if (has_section(record, name))
			format_section(record, name, d);
	}
	if (format_more)
		format_more(context, d);
	document_end_map(d);
}

void record_format(const struct record *record, struct document *d)
{
	record_format_with(record, NULL, NULL, d);
}
