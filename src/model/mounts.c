/* SPDX-License-Identifier: MIT */
/* The mounts of a reading as a record's members `io` and `io_sums`. */
#include <string.h>

#include "basic/macro.h"
#include "model/json_place.h"
#include "model/reading.h"
#include "model/shape.h"

static bool knows(const void *root UNUSED, const void *row, enum metric_id id)
{
	return mount_row_knows(row, id);
}

static bool lacks(void *root UNUSED, void *row, enum metric_id id)
{
	const struct metric *metric = metric_get(id);
	struct mount_row *mount = row;

	if (id == METRIC_META_NOT_FOUND)
		mount->lacks_not_found = true;
	else if (metric->kind == KIND_HISTOGRAM && metric->unit != UNIT_SECONDS)
		mount->has_histograms = false;
	else if (metric->kind != KIND_HISTOGRAM && metric->scope == SCOPE_MOUNT &&
		 metric->unit == UNIT_SECONDS)
		mount->has_seconds = false;
	return metric->unit == UNIT_SECONDS || metric->scope == SCOPE_MOUNT_OP;
}

static int check_operation(const struct place *place, void *of)
{
	const struct op_counts *counts = of;

	return counts->not_found > counts->errors
		       ? place_refuse(place, "errors", "is less than its not_found")
		       : 0;
}

static int check_row(const struct place *place, void *of)
{
	struct mount_row *row = of;

	row->kind = row_kind_of(row->mount);
	for (size_t id = METRIC_INTERFACE_READ_BYTES; id <= METRIC_INTERFACE_WRITE_ERRORS; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);
		const struct place here = place_below(place, metric_part(metric));

		if (!mount_row_interfaces_fit(row, (enum metric_id)id))
			return place_refuse(&here, metric->key, "is less than its ways together");
	}
	return 0;
}

#define ROW(member) offsetof(struct mount_row, member)
#define OF(op, member) ((op) * sizeof(struct op_counts) + offsetof(struct op_counts, member))

/* clang-format off */
#define NUMBER(metric, at) { NULL, SHAPE_NUMBERS, SHAPE_NEEDED, at, .first = (metric), .end = (metric) + 1 }

static const struct field read_fields[] = {
	NUMBER(METRIC_READ_BYTES, ROW(ops[OP_READ].bytes)),
	NUMBER(METRIC_READ_CALLS, ROW(ops[OP_READ].calls)),
	NUMBER(METRIC_READ_ERRORS, ROW(ops[OP_READ].errors)),
	NUMBER(METRIC_READ_SECONDS, ROW(ops[OP_READ].ns)),
	NUMBER(METRIC_READ_SIZES, ROW(sizes[OP_READ])),
	NUMBER(METRIC_READ_LATENCIES, ROW(latencies[OP_READ])),
};
static const struct field write_fields[] = {
	NUMBER(METRIC_WRITE_BYTES, ROW(ops[OP_WRITE].bytes)),
	NUMBER(METRIC_WRITE_CALLS, ROW(ops[OP_WRITE].calls)),
	NUMBER(METRIC_WRITE_ERRORS, ROW(ops[OP_WRITE].errors)),
	NUMBER(METRIC_WRITE_SECONDS, ROW(ops[OP_WRITE].ns)),
	NUMBER(METRIC_WRITE_SIZES, ROW(sizes[OP_WRITE])),
	NUMBER(METRIC_WRITE_LATENCIES, ROW(latencies[OP_WRITE])),
};
static const struct field interface_read_fields[] = {
	NUMBER(METRIC_INTERFACE_READ_BYTES, OF(OP_READ, bytes)),
	NUMBER(METRIC_INTERFACE_READ_CALLS, OF(OP_READ, calls)),
	NUMBER(METRIC_INTERFACE_READ_ERRORS, OF(OP_READ, errors)),
};
static const struct field interface_write_fields[] = {
	NUMBER(METRIC_INTERFACE_WRITE_BYTES, OF(OP_WRITE, bytes)),
	NUMBER(METRIC_INTERFACE_WRITE_CALLS, OF(OP_WRITE, calls)),
	NUMBER(METRIC_INTERFACE_WRITE_ERRORS, OF(OP_WRITE, errors)),
};
static const struct field mapped_fields[] = {
	NUMBER(METRIC_MAPPED_READ_BYTES, OF(OP_READ, bytes)),
	NUMBER(METRIC_MAPPED_WRITE_BYTES, OF(OP_WRITE, bytes)),
};
static const struct field meta_fields[] = {
	NUMBER(METRIC_META_CALLS, OF(0, calls)),
	NUMBER(METRIC_META_ERRORS, OF(0, errors)),
	NUMBER(METRIC_META_NOT_FOUND, OF(0, not_found)),
	NUMBER(METRIC_META_SECONDS, OF(0, ns)),
};
static const struct shape read_shape = { SHAPE_OF(struct mount_row, read_fields) };
static const struct shape write_shape = { SHAPE_OF(struct mount_row, write_fields) };
static const struct shape interface_read_shape = { SHAPE_OF(struct op_counts, interface_read_fields) };
static const struct shape interface_write_shape = { SHAPE_OF(struct op_counts, interface_write_fields) };
static const struct shape mapped_shape = { SHAPE_OF(struct op_counts, mapped_fields) };
static const struct shape meta_shape = { SHAPE_OF(struct op_counts, meta_fields), .check = check_operation };

static const struct field interface_fields[] = {
	{ "read", SHAPE_MAP, SHAPE_FLAT | SHAPE_ALWAYS, 0, .rows = &interface_read_shape },
	{ "write", SHAPE_MAP, SHAPE_FLAT | SHAPE_ALWAYS, 0, .rows = &interface_write_shape },
};
static const struct shape interface_shape = { SHAPE_OF(struct op_counts[OP_DATA_COUNT], interface_fields) };

static const struct field row_fields[] = {
	{ "mount", SHAPE_STRING, SHAPE_KEY | SHAPE_NEEDED, ROW(mount) },
	{ "aliases", SHAPE_STRINGS, 0, ROW(aliases), MOUNT_ALIASES_MAX },
	{ "fstype", SHAPE_STRING, SHAPE_KEY, ROW(fstype) },
	{ "source", SHAPE_STRING, 0, ROW(source) },
	{ "read", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_AS_EMPTY, 0, .rows = &read_shape },
	{ "write", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_AS_EMPTY, 0, .rows = &write_shape },
	{ "interfaces", SHAPE_NAMED, 0, ROW(interfaces[INTERFACE_CALL + 1]), INTERFACE_MAPPING - INTERFACE_CALL - 1,
	  .rows = &interface_shape, .names = file_interface_names + INTERFACE_CALL + 1 },
	{ "mapped", SHAPE_MAP, SHAPE_FLAT, ROW(interfaces[INTERFACE_MAPPING]), .rows = &mapped_shape },
	{ "meta", SHAPE_NAMED, SHAPE_FLAT | SHAPE_IF_FIRST, ROW(ops[OP_DATA_COUNT]), OP_COUNT - OP_DATA_COUNT,
	  .rows = &meta_shape, .names = file_op_names + OP_DATA_COUNT },
};
static const struct mount_row blank = { .has_seconds = true, .has_histograms = true };
static const struct shape row_shape = { SHAPE_OF(struct mount_row, row_fields), .blank = &blank,
	.check = check_row, .knows = knows, .lacks = lacks, .max = MOUNT_ROWS_MAX };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct reading, mounts), .rows = &row_shape },
};
const struct shape mounts_shape = { SHAPE_OF(struct reading, fields) };

static const struct field sum_fields[] = { /* as mount_sum_metrics[] */
	{ "mount", SHAPE_STRING, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct mount_sum, mount) },
	{ "fstype", SHAPE_STRING, SHAPE_KEY, offsetof(struct mount_sum, fstype) },
	{ "read_bytes", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct mount_sum, numbers[0]) },
	{ "write_bytes", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct mount_sum, numbers[1]) },
	{ "meta_calls", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct mount_sum, numbers[2]) },
};
static const struct shape sum_shape = { SHAPE_OF(struct mount_sum, sum_fields), .is_flat = true,
	.max = MOUNT_ROWS_MAX };
static const struct field sums_fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct reading, sums), .rows = &sum_shape },
};
const struct shape mount_sums_shape = { SHAPE_OF(struct reading, sums_fields) };
/* clang-format on */
