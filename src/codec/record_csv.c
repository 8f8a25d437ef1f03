/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "basic/csv.h"
#include "basic/decimal.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/record_field.h"
#include "codec/record_format.h"
#include "model/section.h"
#include "basic/timestamp.h"

/* Header and rows are one walk over the same columns: without a record names are written. */
struct row {
	FILE *out;
	const struct record *record; /* NULL: the header */
	bool has_cells;
};

static void separate(struct row *row)
{
	if (row->has_cells)
		fputc(',', row->out);
	row->has_cells = true;
}

static void put_name(struct row *row, const char *section, const char *key)
{
	bool is_top = !*section;

	separate(row);
	for (; *section; section++)
		fputc(*section == '.' ? '_' : *section, row->out);
	fprintf(row->out, "%s%s", is_top ? "" : "_", key);
}

static void put_text(struct row *row, const char *text)
{
	separate(row);
	csv_put(text, row->out);
}

static void put_value(struct row *row, const struct value *value, unsigned int places)
{
	char text[DECIMAL_SIZE];

	put_text(row, value->is_known ? decimal_format(text, value->number, places) : NULL);
}

static void put_number(struct row *row, bool is_known, uint64_t number, enum metric_unit unit)
{
	const struct value value = { number, is_known };

	put_value(row, &value, metric_unit_places(unit));
}

static void put_field_number(struct row *row, const struct record_field *field)
{
	int64_t number;

	separate(row);
	if (record_field_number(field, row->record, &number))
		fprintf(row->out, "%" PRId64, number);
}

static void put_field_value(struct row *row, const struct record_field *field)
{
	const void *at = record_field_get(field, row->record);
	char text[TIMESTAMP_SIZE];
	struct value seconds;

	switch (field->type) {
	case FIELD_STRING:
		put_text(row, *(char *const *)at);
		break;
	case FIELD_BOOL:
		put_text(row, *(const bool *)at ? "true" : "false");
		break;
	case FIELD_U64:
		put_number(row, true, *(const uint64_t *)at, UNIT_COUNT);
		break;
	case FIELD_INT:
	case FIELD_INT64:
		put_field_number(row, field);
		break;
	case FIELD_TIME:
		put_text(row, *(const uint64_t *)at ? timestamp_format(text, *(const uint64_t *)at)
						    : NULL);
		break;
	case FIELD_SECONDS:
		seconds = record_field_seconds(field, row->record);
		put_value(row, &seconds, record_field_places(field));
		break;
	case FIELD_COUNT:
	case FIELD_DURATION:
	case FIELD_CELSIUS:
	case FIELD_SHARE:
		put_value(row, at, record_field_places(field));
		break;
	case FIELD_COMMAND:
	case FIELD_STRINGS: /* no scalars */
		break;
	}
}

static void put_fields(struct row *row, bool is_identity_only)
{
	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];

		if (field->type == FIELD_COMMAND || field->type == FIELD_STRINGS)
			continue;
		if (is_identity_only && !field->is_identity)
			continue;
		if (row->record)
			put_field_value(row, field);
		else
			put_name(row, field->section, field->key);
	}
}

static void put_job_metrics(struct row *row)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (row->record) {
			const struct value *value = &row->record->reading.values[id];

			put_number(row, value->is_known, value->number, metric->unit);
		} else {
			put_name(row, metric->section, metric->key);
		}
	}
}

/* One metric's number of one mount, or of all of them together; over operations its sum. */
static void put_mount_number(struct row *row, const struct mount_row *mount, enum metric_id id)
{
	uint64_t number = 0;
	bool is_known;

	if (mount) {
		is_known = mount_row_knows(mount, id);
		number = mount_row_number(mount, id);
	} else {
		is_known = record_total(row->record, id, &number);
	}
	put_number(row, is_known, number, metric_get(id)->unit);
}

static void put_mount_metrics(struct row *row, const struct mount_row *mount)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if ((metric->scope != SCOPE_MOUNT && metric->scope != SCOPE_MOUNT_OP) ||
		    metric->kind == KIND_HISTOGRAM)
			continue;
		if (row->record)
			put_mount_number(row, mount, id);
		else
			put_name(row, metric->section, metric->key);
	}
}

/* Of each metric of @scope, the part that is @name's, an operation or an interface. */
static void put_parts(struct row *row, struct mount_row *mount, enum metric_scope scope, size_t i,
		      const char *name)
{
	for (size_t k = METRIC_JOB_COUNT; k < METRIC_COUNT; k++) {
		const enum metric_id id = (enum metric_id)k;
		const struct metric *metric = metric_get(id);
		const bool is_of_op = scope == SCOPE_MOUNT_OP;

		if (metric->scope != scope)
			continue;
		if (mount) {
			put_number(row, mount_row_knows(mount, id),
				   is_of_op ? *mount_row_op_number_ref(mount, id, i)
					    : *mount_row_interface_number_ref(mount, id, i),
				   metric->unit);
			continue;
		}
		separate(row);
		fprintf(row->out, "%s_%s%s%s", name, is_of_op ? "" : metric_part(metric),
			is_of_op ? "" : "_", metric->key);
	}
}

/* @mount is NULL for the header. */
static void put_mount_row(struct row *row, struct mount_row *mount)
{
	static const char *const names[] = { "mount", "fstype", "source" };
	const char *const texts[] = { mount ? mount->mount : NULL, mount ? mount->fstype : NULL,
				      mount ? mount->source : NULL };

	put_fields(row, true);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (mount)
			put_text(row, texts[i]);
		else
			put_name(row, "", names[i]);
	}
	put_mount_metrics(row, mount);
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		put_parts(row, mount, SCOPE_MOUNT_OP, op, file_op_names[op]);
	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++)
		put_parts(row, mount, SCOPE_MOUNT_INTERFACE, interface,
			  file_interface_names[interface]);
	fputc('\n', row->out);
}

/* @thing: NULL: over all. */
static void put_table(struct row *row, const struct section *s, const void *thing)
{
	for (size_t i = s->table->first; i < s->table->end; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);
		struct value value;

		if (metric->kind == KIND_HISTOGRAM)
			continue;
		if (!row->record) {
			put_name(row, s->table->has_sums ? metric->section : "", metric->key);
			continue;
		}
		value = section_number(s, section_get(row->record, s), thing, (enum metric_id)i);
		put_value(row, &value, metric_unit_places(metric->unit));
	}
}

static void put_thing(struct row *row, const struct section *s, const void *thing)
{
	char name[SECTION_THING_SIZE];

	put_fields(row, true);
	if (row->record)
		put_text(row, section_thing_name(s, thing, name));
	else
		put_name(row, "", s->table->label);
	put_table(row, s, thing);
	fputc('\n', row->out);
}

static void put_things(const struct record *record, const struct section *s, FILE *out)
{
	const void *thing;

	for (size_t i = 0; (thing = section_thing(s, section_get(record, s), i)); i++)
		put_thing(&(struct row){ .out = out, .record = record }, s, thing);
}

static const struct section *section_of_rows(enum record_rows rows)
{
	static const char *const names[] = { [ROWS_SOCKET] = "network",
					     [ROWS_SYSCALL] = "syscalls",
					     [ROWS_DEVICE] = "block",
					     [ROWS_FUNCTION] = "trace",
					     [ROWS_GPU] = "gpu" };

	return section_find(names[rows]);
}

static void put_record_row(struct row *row)
{
	put_fields(row, false);
	put_job_metrics(row);
	put_mount_metrics(row, NULL);
	for (size_t i = 0; i < section_count; i++) {
		if (sections[i]->table && sections[i]->table->has_sums)
			put_table(row, sections[i], NULL);
	}
	fputc('\n', row->out);
}

void record_format_csv_header(enum record_rows rows, FILE *out)
{
	struct row row = { .out = out };

	if (rows == ROWS_MOUNT)
		put_mount_row(&row, NULL);
	else if (rows == ROWS_RECORD)
		put_record_row(&row);
	else
		put_thing(&row, section_of_rows(rows), NULL);
}

void record_format_csv(const struct record *record, enum record_rows rows, FILE *out)
{
	if (rows == ROWS_RECORD)
		put_record_row(&(struct row){ .out = out, .record = record });
	else if (rows != ROWS_MOUNT)
		put_things(record, section_of_rows(rows), out);
	for (size_t i = 0; rows == ROWS_MOUNT && i < record->reading.mount_count; i++)
		put_mount_row(&(struct row){ .out = out, .record = record },
			      &record->reading.mounts[i]);
}
