/* SPDX-License-Identifier: MIT */
#include "model/sections/block.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/histogram_json.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

static const char *const names[BLOCK_OP_COUNT] = {
	[BLOCK_READ] = "read",
	[BLOCK_WRITE] = "write",
	[BLOCK_DISCARD] = "discard",
	[BLOCK_FLUSH] = "flush",
};

const char *block_op_name(enum block_op op)
{
	assert(op < BLOCK_OP_COUNT);
	return names[op];
}

enum block_op block_op_find(const char *name)
{
	size_t op = 0;

	while (op < BLOCK_OP_COUNT && strcmp(names[op], name) != 0)
		op++;
	return (enum block_op)op;
}

static_assert(offsetof(struct block_counts, latencies) == BLOCK_NUMBERS * sizeof(uint64_t),
	      "numbers stand before it");

static uint64_t *numbers_of(struct block_counts *counts)
{
	return (uint64_t *)(void *)counts;
}

static void add_counts(struct block_counts *to, const struct block_counts *from)
{
	for (size_t i = 0; i < BLOCK_NUMBERS; i++)
		numbers_of(to)[i] += numbers_of((struct block_counts *)from)[i];
	histogram_add(&to->latencies, &from->latencies);
}

static void raise_counts(struct block_counts *to, const struct block_counts *least)
{
	for (size_t i = 0; i < BLOCK_NUMBERS; i++)
		numbers_of(to)[i] = MAX(numbers_of(to)[i],
					numbers_of((struct block_counts *)least)[i]);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->latencies.counts[i] = MAX(to->latencies.counts[i], least->latencies.counts[i]);
}

/* False: a number fell. */
static bool take_off(uint64_t *to, uint64_t from)
{
	bool is_well = from <= *to;

	*to -= is_well ? from : *to;
	return is_well;
}

static bool subtract_counts(struct block_counts *to, const struct block_counts *from)
{
	bool is_well = true;

	for (size_t i = 0; i < BLOCK_NUMBERS; i++)
		is_well &= take_off(&numbers_of(to)[i], numbers_of((struct block_counts *)from)[i]);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		is_well &= take_off(&to->latencies.counts[i], from->latencies.counts[i]);
	return is_well;
}

/* ---- rows ---- */

void block_clear(void *section)
{
	struct block *b = section;

	free(b->rows);
	*b = (struct block){};
}

static bool block_is_same(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	if (a->is_known != b->is_known || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->rows[i].device, b->rows[i].device) != 0 ||
		    a->rows[i].op != b->rows[i].op ||
		    memcmp(&a->rows[i].counts, &b->rows[i].counts, sizeof(a->rows[i].counts)) != 0)
			return false;
	}
	return true;
}

static int reserve(struct block *b, size_t more)
{
	struct block_row *larger;

	if (b->count + more <= b->room)
		return 0;
	larger = reallocarray(b->rows, b->count + more, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	b->rows = larger;
	b->room = b->count + more;
	return 0;
}

static int compare(const struct block_row *row, const char *device, enum block_op op)
{
	int r = strverscmp(row->device, device);

	if (r == 0) /* "01" and "1" are two */
		r = strcmp(row->device, device);
	return r ? r : (int)row->op - (int)op;
}

/* Where it stands, or would stand. */
static size_t place_of(const struct block *b, const char *device, enum block_op op)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&b->rows[middle], device, op) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct block_row *block_find(const struct block *b, const char *device, enum block_op op)
{
	size_t at = place_of(b, device, op);

	return at < b->count && compare(&b->rows[at], device, op) == 0 ? &b->rows[at] : NULL;
}

size_t block_rows_of_device(const struct block *b, size_t first)
{
	size_t end = first;

	while (end < b->count && strcmp(b->rows[end].device, b->rows[first].device) == 0)
		end++;
	return end - first;
}

static bool has_device(const struct block *b, const char *device)
{
	size_t at = place_of(b, device, BLOCK_READ);

	return at < b->count && strcmp(b->rows[at].device, device) == 0;
}

static size_t count_devices(const struct block *b)
{
	size_t count = 0;

	for (size_t i = 0; i < b->count; i += block_rows_of_device(b, i))
		count++;
	return count;
}

/* The row, which is made where there is none; NULL: no memory. */
static struct block_row *get_row(struct block *b, const char *device, enum block_op op)
{
	size_t at;

	assert(*device && op < BLOCK_OP_COUNT);
	if (!has_device(b, device) && count_devices(b) >= BLOCK_DEVICES_MAX)
		device = BLOCK_OTHER;
	at = place_of(b, device, op);
	if (at < b->count && compare(&b->rows[at], device, op) == 0)
		return &b->rows[at];
	if (reserve(b, 1) < 0)
		return NULL;
	memmove(b->rows + at + 1, b->rows + at, (b->count - at) * sizeof(*b->rows));
	b->rows[at] = (struct block_row){ .op = op };
	snprintf(b->rows[at].device, sizeof(b->rows[at].device), "%s", device);
	b->count++;
	return &b->rows[at];
}

int block_add(struct block *b, const char *device, enum block_op op,
	      const struct block_counts *counts)
{
	struct block_row *row = get_row(b, device, op);

	if (row)
		add_counts(&row->counts, counts);
	return row ? 0 : -ENOMEM;
}

static int block_raise(void *section, const void *shown)
{
	const struct block *least = shown;
	struct block *to = section;

	for (size_t i = 0; i < least->count; i++) {
		struct block_row *row = get_row(to, least->rows[i].device, least->rows[i].op);

		if (!row)
			return -ENOMEM;
		raise_counts(&row->counts, &least->rows[i].counts);
	}
	return 0;
}

static int block_begin(void *ret, unsigned int counted)
{
	*(struct block *)ret = (struct block){ .is_known = counted & COUNTED_BLOCK };
	return 0;
}

/* By names of devices. */
static int block_merge(void *sum, const void *part)
{
	const struct block *from = part;
	struct block *to = sum;
	int r = to->is_known && from->is_known ? reserve(to, from->count) : 0;

	if (!to->is_known || !from->is_known)
		block_clear(to);
	for (size_t i = 0; r == 0 && to->is_known && i < from->count; i++)
		r = block_add(to, from->rows[i].device, from->rows[i].op, &from->rows[i].counts);
	return r;
}

/* Rows in which nothing was done go. */
static void drop_idle(struct block *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		if (b->rows[i].counts.requests)
			b->rows[kept++] = b->rows[i];
	}
	b->count = kept;
}

static int block_subtract(void *later, const void *before, struct strings *notes UNUSED)
{
	const struct block *earlier = before;
	struct block *from = later;
	bool is_known = from->is_known && earlier->is_known;

	for (size_t i = 0; i < earlier->count; i++) {
		const struct block_row *old = &earlier->rows[i];
		struct block_row *row = (struct block_row *)block_find(from, old->device, old->op);

		is_known &= row && subtract_counts(&row->counts, &old->counts);
	}
	if (is_known)
		drop_idle(from);
	else
		block_clear(from);
	return 0;
}

/* ---- metrics ---- */

enum block_op block_metric_op(enum metric_id id)
{
	assert(metric_get(id)->scope == SCOPE_DEVICE);
	return block_op_find(metric_part(metric_get(id)));
}

uint64_t *block_number_ref(struct block_counts *counts, enum metric_id id)
{
	static const char *const keys[BLOCK_NUMBERS] = { "bytes", "requests", "errors", "seconds" };
	const char *key = metric_get(id)->key;
	size_t i = 0;

	assert(metric_get(id)->scope == SCOPE_DEVICE && metric_get(id)->kind != KIND_HISTOGRAM);
	while (i < BLOCK_NUMBERS - 1 && strcmp(keys[i], key) != 0)
		i++;
	return &numbers_of(counts)[i];
}

uint64_t block_number(const struct block_counts *counts, enum metric_id id)
{
	return *block_number_ref((struct block_counts *)counts, id);
}

uint64_t block_total(const struct block *b, enum metric_id id)
{
	enum block_op op = block_metric_op(id);
	uint64_t sum = 0;

	for (size_t i = 0; i < b->count; i++)
		sum += b->rows[i].op == op ? block_number(&b->rows[i].counts, id) : 0;
	return sum;
}

/* ---- as text ---- */

static bool is_of_op(const struct metric *metric, enum block_op op)
{
	return metric->scope == SCOPE_DEVICE && strcmp(metric_part(metric), block_op_name(op)) == 0;
}

static void format_op(const struct block_row *row, struct document *d)
{
	document_begin_map_of(d, block_op_name(row->op));
	for (size_t id = METRIC_BLOCK_FIRST; id < METRIC_BLOCK_END; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (!is_of_op(metric, row->op))
			continue;
		if (metric->kind == KIND_HISTOGRAM)
			histogram_format(metric, &row->counts.latencies, d);
		else
			metric_format(metric, true, block_number(&row->counts, (enum metric_id)id),
				      d);
	}
	document_end_map(d);
}

static void block_format(const void *section, struct document *d)
{
	const struct block *b = section;

	document_begin_list(d);
	for (size_t i = 0; i < b->count;) {
		size_t end = i + block_rows_of_device(b, i);

		document_begin_map(d);
		document_put_string(d, "device", b->rows[i].device);
		for (; i < end; i++)
			format_op(&b->rows[i], d);
		document_end_map(d);
	}
	document_end_list(d);
}

/* ---- the way back ---- */

static int take_metric(const struct place *place, const json_t *map, enum metric_id id,
		       struct block_counts *ret)
{
	const struct metric *metric = metric_get(id);
	bool is_known;

	if (metric->kind == KIND_HISTOGRAM)
		return histogram_take(place, map, metric, &ret->latencies, &is_known);
	return place_take_number(place, map, metric->key, metric_unit_places(metric->unit),
				 block_number_ref(ret, id), &is_known);
}

static int take_op(const struct place *above, const json_t *device, const char *name,
		   enum block_op op, struct block *ret)
{
	struct place here = place_below(above, block_op_name(op));
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

static int take_device(const struct place *place, const json_t *map, void *data)
{
	struct block *ret = data;
	_cleanup_free_ char *name = NULL;
	int r;

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

static int block_parse(const struct place *place, const json_t *list, void *section)
{
	struct block *ret = section;
	int r = place_each(place, list, BLOCK_DEVICES_MAX + 1 /* BLOCK_OTHER */, take_device, ret);

	ret->is_known = r == 0;
	return r;
}

static const void *block_idle(const void *section)
{
	static const struct block idle[2] = { [1] = { .is_known = true } };
	const struct block *b = section;

	return b->count ? NULL : &idle[b->is_known];
}

static const char *block_thing(const void *section, size_t i)
{
	const struct block *b = section;

	for (size_t at = 0; at < b->count; at += block_rows_of_device(b, at)) {
		if (i-- == 0)
			return b->rows[at].device;
	}
	return NULL;
}

/* What a device did none of is 0. */
static bool block_get(const void *section, const char *thing, enum metric_id id, uint64_t *ret)
{
	const struct block *b = section;
	const struct block_row *row = thing ? block_find(b, thing, block_metric_op(id)) : NULL;

	*ret = row ? block_number(&row->counts, id) : thing ? 0 : block_total(b, id);
	return b->is_known;
}

static const struct section_table block_table = {
	.label = "device",
	.first = METRIC_BLOCK_FIRST,
	.end = METRIC_BLOCK_END,
	.has_sums = true,
	.thing = block_thing,
	.number = block_get,
};

const struct section block_section = {
	.name = "block",
	.size = sizeof(struct block),
	.offset = offsetof(struct record, reading.block),
	.counted = COUNTED_BLOCK,
	.begin = block_begin,
	.clear = block_clear,
	.idle = block_idle,
	.add = block_merge,
	.raise = block_raise,
	.subtract = block_subtract,
	.is_same = block_is_same,
	.format = block_format,
	.type = JSON_ARRAY,
	.parse = block_parse,
	.table = &block_table,
};

const struct block *block_of(const struct parts *p)
{
	static const struct block unknown;
	const struct block *b = parts_get(p, &block_section);

	return b ? b : &unknown;
}
