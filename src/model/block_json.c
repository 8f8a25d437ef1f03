/* SPDX-License-Identifier: MIT */
#include "block_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "cleanup.h"
#include "document.h"
#include "histogram_json.h"
#include "json_place.h"
#include "metric_json.h"

static bool is_of_op(const struct metric *metric, enum block_op op)
{
	return metric->scope == SCOPE_DEVICE && strcmp(metric_part(metric), block_op_name(op)) == 0;
}

static void format_op(const struct block_row *row, struct document *d)
{
	document_key(d, block_op_name(row->op));
	document_begin_map(d);
	for (size_t id = METRIC_BLOCK_FIRST; id < METRIC_BLOCK_END; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (!is_of_op(metric, row->op))
			continue;
		if (metric->kind == KIND_HISTOGRAM)
			histogram_format(metric, &row->counts.latencies, d);
		else
			metric_format(metric, true, block_number(&row->counts, (enum metric_id)id), d);
	}
	document_end_map(d);
}

void block_format(const struct block *b, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < b->count;) {
		size_t end = i + block_rows_of_device(b, i);

		document_begin_map(d);
		document_key(d, "device");
		document_string(d, b->rows[i].device);
		for (; i < end; i++)
			format_op(&b->rows[i], d);
		document_end_map(d);
	}
	document_end_list(d);
}

/* ---- the way back ---- */

static int take_metric(const struct place *place, const json_t *map, enum metric_id id, struct block_counts *ret)
{
	const struct metric *metric = metric_get(id);
	bool is_known;

	if (metric->kind == KIND_HISTOGRAM)
		return histogram_take(place, map, metric, &ret->latencies, &is_known);
	return place_take_number(place, map, metric->key, metric_unit_places(metric->unit), block_number_ref(ret, id),
				 &is_known);
}

static int take_op(const struct place *above, const json_t *device, const char *name, enum block_op op,
		   struct block *ret)
{
	struct place here = place_below(above, ".%s", block_op_name(op));
	struct block_counts counts = {};
	const json_t *map;
	int r = place_get(above, device, block_op_name(op), JSON_OBJECT, &map);

	if (r < 0 || !map)
		return r;
	for (size_t id = METRIC_BLOCK_FIRST; r == 0 && id < METRIC_BLOCK_END; id++) {
		if (is_of_op(metric_get((enum metric_id)id), op))
			r = take_metric(&here, map, (enum metric_id)id, &counts);
	}
	return r < 0 ? r : block_add(ret, name, op, &counts);
}

static int take_device(const struct place *place, const json_t *map, struct block *ret)
{
	_cleanup_free_ char *name = NULL;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = place_take_string(place, map, "device", &name);
	if (r < 0)
		return r;
	if (!name || !*name || strlen(name) >= BLOCK_DEVICE_SIZE)
		return place_refuse(place, "device", "is no name of a device");
	for (size_t op = 0; op < BLOCK_OP_COUNT; op++) {
		if (block_find(ret, name, (enum block_op)op))
			return place_refuse(place, "device", "stands there twice");
	}
	for (size_t op = 0; r == 0 && op < BLOCK_OP_COUNT; op++)
		r = take_op(place, map, name, (enum block_op)op, ret);
	return r;
}

int block_parse(const struct place *place, const json_t *list, struct block *ret)
{
	int r = 0;

	if (json_array_size(list) > BLOCK_DEVICES_MAX + 1) /* BLOCK_OTHER's too */
		return place_refuse(place, "", "has more than %d entries", BLOCK_DEVICES_MAX + 1);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_below(place, "[%zu]", i);

		r = take_device(&here, json_array_get(list, i), ret);
	}
	ret->is_known = r == 0;
	return r;
}
