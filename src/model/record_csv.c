/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "csv.h"
#include "decimal.h"
#include "macro.h"
#include "record.h"
#include "record_field.h"
#include "record_format.h"
#include "timestamp.h"

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
		put_number(row, true, *(const uint64_t *)at, UNIT_SECONDS);
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

/* Over all kinds of sockets. */
static void put_network_metrics(struct row *row)
{
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (row->record)
			put_number(row, network_knows(&row->record->reading.network, (enum metric_id)i),
				   network_total(&row->record->reading.network, (enum metric_id)i), metric->unit);
		else
			put_name(row, metric->section, metric->key);
	}
}

/* What one operation of a device was, where there is any; of those that are not known nothing. */
static void put_block_number(struct row *row, const char *device, enum metric_id id)
{
	const struct block *b = &row->record->reading.block;
	const struct block_row *found = device ? block_find(b, device, block_metric_op(id)) : NULL;
	uint64_t number = found ? block_number(&found->counts, id) : 0;

	put_number(row, b->is_known, device ? number : block_total(b, id), metric_get(id)->unit);
}

/* Of a device, or over all of them. */
static void put_block_metrics(struct row *row, const char *device)
{
	for (size_t i = METRIC_BLOCK_FIRST; i < METRIC_BLOCK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->kind == KIND_HISTOGRAM)
			continue;
		if (row->record)
			put_block_number(row, device, (enum metric_id)i);
		else
			put_name(row, metric->section, metric->key);
	}
}

/* @device is NULL for the header. */
static void put_device_row(struct row *row, const char *device)
{
	put_fields(row, true);
	if (device)
		put_text(row, device);
	else
		put_name(row, "", "device");
	put_block_metrics(row, device);
	fputc('\n', row->out);
}

static void put_device_rows(const struct record *record, FILE *out)
{
	const struct block *b = &record->reading.block;

	for (size_t i = 0; i < b->count; i += block_rows_of_device(b, i))
		put_device_row(&(struct row){ .out = out, .record = record }, b->rows[i].device);
}

static void put_op(struct row *row, struct mount_row *mount, enum file_op op)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if (metric->scope != SCOPE_MOUNT_OP)
			continue;
		if (mount)
			put_number(row, mount_row_knows(mount, id),
				   *mount_row_op_number_ref(mount, id, op), metric->unit);
		else
			put_name(row, file_op_name(op), metric->key);
	}
}

static void put_way(struct row *row, struct mount_row *mount, enum file_way way)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if (metric->scope != SCOPE_MOUNT_WAY)
			continue;
		if (mount) {
			put_number(row, true, *mount_row_way_number_ref(mount, id, way),
				   metric->unit);
			continue;
		}
		separate(row);
		fprintf(row->out, "%s_%s_%s", file_way_name(way), metric_part(metric), metric->key);
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
		put_op(row, mount, (enum file_op)op);
	for (size_t way = WAY_CALL + 1; way < WAY_MAPPING; way++)
		put_way(row, mount, (enum file_way)way);
	fputc('\n', row->out);
}

/* @syscall is NULL for the header. */
static void put_syscall_row(struct row *row, const struct syscall_row *syscall)
{
	put_fields(row, true);
	if (syscall)
		put_text(row, syscall->name);
	else
		put_name(row, "", "name");
	for (size_t i = METRIC_SYSCALL_FIRST; i < METRIC_SYSCALL_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (syscall)
			put_number(row, syscall_knows(syscall, (enum metric_id)i),
				   syscall_number(syscall, (enum metric_id)i), metric->unit);
		else
			put_name(row, "", metric->key);
	}
	fputc('\n', row->out);
}

/* @kind is SOCKET_KIND_COUNT for the header. */
static void put_socket_row(struct row *row, enum socket_kind kind)
{
	const struct network *n = kind < SOCKET_KIND_COUNT ? &row->record->reading.network : NULL;

	put_fields(row, true);
	if (n)
		put_text(row, socket_kind_name(kind));
	else
		put_name(row, "", "socket");
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (n)
			put_number(row, network_knows(n, (enum metric_id)i) && network_takes(kind, (enum metric_id)i),
				   network_number(n, kind, (enum metric_id)i), metric->unit);
		else
			put_name(row, metric->section, metric->key);
	}
	fputc('\n', row->out);
}

static void put_socket_rows(const struct record *record, FILE *out)
{
	const struct network *n = &record->reading.network;

	for (size_t kind = 0; n->is_known && kind < SOCKET_KIND_COUNT; kind++) {
		if (network_has_kind(n, (enum socket_kind)kind))
			put_socket_row(&(struct row){ .out = out, .record = record }, (enum socket_kind)kind);
	}
}

static void put_record_row(struct row *row)
{
	put_fields(row, false);
	put_job_metrics(row);
	put_mount_metrics(row, NULL);
	put_network_metrics(row);
	put_block_metrics(row, NULL);
	fputc('\n', row->out);
}

void record_format_csv_header(enum record_rows rows, FILE *out)
{
	struct row row = { .out = out };

	if (rows == ROWS_MOUNT)
		put_mount_row(&row, NULL);
	else if (rows == ROWS_SOCKET)
		put_socket_row(&row, SOCKET_KIND_COUNT);
	else if (rows == ROWS_SYSCALL)
		put_syscall_row(&row, NULL);
	else if (rows == ROWS_DEVICE)
		put_device_row(&row, NULL);
	else
		put_record_row(&row);
}

void record_format_csv(const struct record *record, enum record_rows rows, FILE *out)
{
	if (rows == ROWS_RECORD) {
		put_record_row(&(struct row){ .out = out, .record = record });
		return;
	}
	if (rows == ROWS_DEVICE)
		put_device_rows(record, out);
	if (rows == ROWS_SOCKET)
		put_socket_rows(record, out);
	for (size_t i = 0; rows == ROWS_SYSCALL && i < record->syscalls.count; i++)
		put_syscall_row(&(struct row){ .out = out, .record = record }, &record->syscalls.items[i]);
	for (size_t i = 0; rows == ROWS_MOUNT && i < record->reading.mount_count; i++)
		put_mount_row(&(struct row){ .out = out, .record = record },
			      &record->reading.mounts[i]);
}
