/* SPDX-License-Identifier: MIT */
#include "model/mounts_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/histogram_json.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/reading.h"
#include "model/record.h"

static void format_mount_metric(const struct metric *metric, struct mount_row *row,
				struct document *d)
{
	enum metric_id id = metric_id_of(metric);

	if (metric->kind != KIND_HISTOGRAM) {
		metric_format(metric, mount_row_knows(row, id), mount_row_number(row, id), d);
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

		document_begin_map_of(d, name);
		format_mount_metrics(name, row, d);
		document_end_map(d);
	}
}

static void format_mapped(struct mount_row *row, struct document *d)
{
	if (row->interfaces[INTERFACE_MAPPING][OP_READ].bytes == 0 &&
	    row->interfaces[INTERFACE_MAPPING][OP_WRITE].bytes == 0)
		return;
	document_begin_flat_map_of(d, "mapped");
	format_mount_metrics("mapped", row, d);
	document_end_map(d);
}

static void format_interface_op(struct mount_row *row, enum file_interface interface,
				enum file_op op, struct document *d)
{
	const char *name = file_op_name(op);

	document_begin_flat_map_of(d, name);
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);

		if (metric->scope == SCOPE_MOUNT_INTERFACE &&
		    strcmp(metric_part(metric), name) == 0)
			metric_format(metric, true,
				      *mount_row_interface_number_ref(row, id, interface), d);
	}
	document_end_map(d);
}

/* Plain calls are what is left, and mappings no part of it. */
static void format_interfaces(struct mount_row *row, struct document *d)
{
	document_begin_map_of(d, "interfaces");
	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++) {
		if (!mount_row_has_interface(row, (enum file_interface)interface))
			continue;
		document_begin_map_of(d, file_interface_name((enum file_interface)interface));
		for (size_t op = 0; op < OP_DATA_COUNT; op++)
			format_interface_op(row, (enum file_interface)interface, (enum file_op)op,
					    d);
		document_end_map(d);
	}
	document_end_map(d);
}

static void format_op(struct mount_row *row, enum file_op op, struct document *d)
{
	document_begin_flat_map_of(d, file_op_name(op));
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
	document_put_string(d, "mount", row->mount);
	document_begin_flat_list_of(d, "aliases");
	for (size_t i = 0; i < MOUNT_ALIASES_MAX && row->aliases[i]; i++)
		document_string(d, row->aliases[i]);
	document_end_list(d);
	document_put_string(d, "fstype", row->fstype);
	document_put_string(d, "source", row->source);
	format_data(row, d);
	format_interfaces(row, d);
	format_mapped(row, d);
	document_begin_map_of(d, "meta");
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (row->ops[op].calls > 0)
			format_op(row, (enum file_op)op, d);
	}
	document_end_map(d);
	document_end_map(d);
}

void reading_format_mounts(const struct reading *r, struct document *d)
{
	if (!r->has_mounts) {
		document_null(d);
		return;
	}
	document_begin_list(d);
	for (size_t i = 0; i < r->mount_count; i++)
		format_mount(&r->mounts[i], d);
	document_end_list(d);
}

/* "read_bytes"... */
static const char *sum_key(size_t i, char ret[32])
{
	const struct metric *metric = metric_get(mount_sum_metrics[i]);

	snprintf(ret, 32, "%s_%s", metric->section, metric->key);
	return ret;
}

void reading_format_sums(const struct reading *r, struct document *d)
{
	char key[32];

	document_begin_list(d);
	for (size_t i = 0; i < r->sum_count; i++) {
		document_begin_flat_map(d);
		document_put_string(d, "mount", r->sums[i].mount);
		document_put_string(d, "fstype", r->sums[i].fstype);
		for (size_t m = 0; m < MOUNT_SUMS; m++)
			document_put_unsigned(d, sum_key(m, key), r->sums[i].numbers[m]);
		document_end_map(d);
	}
	document_end_list(d);
}

/* ---- and back ---- */

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
	struct place here = place_below(place, name);
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

static int take_interface(const struct place *place, const json_t *map,
			  enum file_interface interface, struct mount_row *row)
{
	for (size_t i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;
		const struct metric *metric = metric_get(id);
		const json_t *section;
		struct place here;
		int r;

		if (metric->scope != SCOPE_MOUNT_INTERFACE)
			continue;
		here = place_below(place, metric_part(metric));
		r = place_get(place, map, metric_part(metric), JSON_OBJECT, &section);
		if (r == 0 && section)
			r = place_need_number(&here, section, metric->key,
					      mount_row_interface_number_ref(row, id, interface));
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_interfaces(const struct place *place, const struct mount_row *row)
{
	for (size_t id = METRIC_JOB_COUNT; id < METRIC_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);
		struct place here;

		if (metric->scope != SCOPE_MOUNT_INTERFACE ||
		    mount_row_interfaces_fit(row, (enum metric_id)id))
			continue;
		here = place_below(place, metric_part(metric));
		return place_refuse(&here, metric->key, "is less than its ways together");
	}
	return 0;
}

static int take_interfaces(const struct place *place, const json_t *map, struct mount_row *row)
{
	struct place above = place_below(place, "interfaces");
	const json_t *interfaces, *section;
	int r = place_get(place, map, "interfaces", JSON_OBJECT, &interfaces);

	for (size_t interface = INTERFACE_CALL + 1; r == 0 && interface < INTERFACE_MAPPING;
	     interface++) {
		const char *name = file_interface_name((enum file_interface)interface);
		struct place here = place_below(&above, name);

		r = place_get(&above, interfaces, name, JSON_OBJECT, &section);
		if (r == 0 && section)
			r = take_interface(&here, section, (enum file_interface)interface, row);
	}
	return r < 0 ? r : check_interfaces(place, row);
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
	struct place above = place_below(place, "meta");
	const json_t *meta, *section;
	int r = place_get(place, map, "meta", JSON_OBJECT, &meta);

	for (size_t op = OP_DATA_COUNT; r == 0 && op < OP_COUNT; op++) {
		const char *name = file_op_name((enum file_op)op);
		struct place here = place_below(&above, name);

		r = place_get(&above, meta, name, JSON_OBJECT, &section);
		if (r == 0 && section)
			r = take_op(&here, section, (enum file_op)op, row);
	}
	return r;
}

static int take_aliases(const struct place *place, const json_t *map, struct mount_row *row)
{
	const json_t *list;
	int r = place_get(place, map, "aliases", JSON_ARRAY, &list);

	if (r == 0 && list && json_array_size(list) > STRINGS_MAX)
		return place_refuse(place, "aliases", "has more than %d entries", STRINGS_MAX);
	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i++) {
		_cleanup_free_ char *text = NULL;

		r = place_copy_string(place, "aliases", json_array_get(list, i), &text);
		if (r == 0)
			r = mount_row_add_alias(row, text);
	}
	return r;
}

static int take_names(const struct place *place, const json_t *map, char **ret_mount,
		      char **ret_fstype)
{
	int r = place_take_string(place, map, "mount", ret_mount);

	if (r == 0)
		r = place_take_string(place, map, "fstype", ret_fstype);
	return r == 0 && !*ret_mount ? place_refuse(place, "mount", "is missing") : r;
}

/* The row that @map names, which must not be there yet. */
static int add_row(const struct place *place, const json_t *map, struct reading *reading,
		   struct mount_row **ret)
{
	_cleanup_free_ char *mount = NULL, *fstype = NULL;
	int r = take_names(place, map, &mount, &fstype);

	if (r < 0)
		return r;
	if (reading_find_mount(reading, row_kind_of(mount), mount, fstype))
		return place_refuse(place, "mount", "stands there twice");
	*ret = reading_get_mount(reading, row_kind_of(mount), mount, fstype);
	return *ret ? 0 : -ENOMEM;
}

static int take_mount(const struct place *place, const json_t *map, void *data)
{
	struct reading *reading = data;
	struct mount_row *row = NULL;
	int r;

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
		r = take_interfaces(place, map, row);
	if (r == 0)
		r = take_mapped(place, map, row);
	return r < 0 ? r : take_meta(place, map, row);
}

int reading_parse_mounts(const struct place *place, const json_t *list, struct reading *ret)
{
	ret->has_mounts = true;
	return place_each(place, list, MOUNT_ROWS_MAX, take_mount, ret);
}

static int take_sum(const struct place *place, const json_t *map, void *data)
{
	_cleanup_free_ char *mount = NULL, *fstype = NULL;
	struct mount_sum sum = {};
	int r = take_names(place, map, &mount, &fstype);

	for (size_t i = 0; r == 0 && i < MOUNT_SUMS; i++) {
		char key[32];

		r = place_need_number(place, map, sum_key(i, key), &sum.numbers[i]);
	}
	if (r < 0)
		return r;
	sum.mount = mount;
	sum.fstype = fstype;
	return reading_add_sum(data, &sum);
}

int reading_parse_sums(const struct place *place, const json_t *list, struct reading *ret)
{
	ret->has_sums = true;
	return place_each(place, list, MOUNT_ROWS_MAX, take_sum, ret);
}
