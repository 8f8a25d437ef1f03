/* SPDX-License-Identifier: MIT */
#include "model/sections/block.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

static int compare(const void *a, const void *b)
{
	const struct block_device *x = a, *y = b;
	int r = strverscmp(x->name, y->name);

	return r ? r : strcmp(x->name, y->name); /* "01" and "1" are two */
}

static_assert(offsetof(struct block_counts, latencies) == 4 * sizeof(uint64_t),
	      "they stand as the metrics do");
#define OP(op, first_number, first_metric, last_metric)                        \
	SHAPE_NUMBERS, 0, offsetof(struct block_device, ops[op].first_number), \
		.first = (first_metric), .end = (last_metric) + 1

/* clang-format off */
static const struct field device_fields[] = {
	{ "device", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct block_device, name), BLOCK_DEVICE_SIZE },
	{ "read", OP(BLOCK_READ, bytes, METRIC_BLOCK_READ_BYTES, METRIC_BLOCK_READ_LATENCIES) },
	{ "write", OP(BLOCK_WRITE, bytes, METRIC_BLOCK_WRITE_BYTES, METRIC_BLOCK_WRITE_LATENCIES) },
	{ "discard", OP(BLOCK_DISCARD, bytes, METRIC_BLOCK_DISCARD_BYTES, METRIC_BLOCK_DISCARD_LATENCIES) },
	{ "flush", OP(BLOCK_FLUSH, requests, METRIC_BLOCK_FLUSH_REQUESTS, METRIC_BLOCK_FLUSH_LATENCIES) },
};
static const struct shape device_shape = { SHAPE_OF(struct block_device, device_fields),
	.max = BLOCK_DEVICES_MAX, .has_other = true, .order = compare };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct block, items), .rows = &device_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct block, fields) };

void block_clear(void *section)
{
	shape_clear(&shape, section);
}

const struct block *block_of(const struct parts *p)
{
	static const struct block unknown;
	const struct block *b = parts_get(p, &block_section);

	return b ? b : &unknown;
}

int block_add(struct block *b, const char *device, enum block_op op,
	      const struct block_counts *counts)
{
	const size_t before = b->count;
	struct block_device row = {};
	int r;

	assert(*device && op < BLOCK_OP_COUNT);
	snprintf(row.name, sizeof(row.name), "%s", device);
	row.ops[op] = *counts;
	r = shape_add_row(&shape, b, &row);
	if (b->count != before)
		shape_sort(&shape, b);
	return r;
}

const struct block_device *block_find(const struct block *b, const char *device)
{
	struct block_device like = {};

	snprintf(like.name, sizeof(like.name), "%s", device);
	return shape_find(&shape, b, &like);
}

static bool is_same(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	return a->is_known == b->is_known && a->count == b->count &&
	       (!a->count || memcmp(a->items, b->items, a->count * sizeof(*a->items)) == 0);
}

bool block_has(const struct block_device *d, enum metric_id id)
{
	return shape_has(&shape, d, id);
}

uint64_t block_number(const struct block_device *d, enum metric_id id)
{
	return shape_number(&shape, d, id).number;
}

uint64_t block_total(const struct block *b, enum metric_id id)
{
	return shape_total(&shape, b, id).number;
}

static const struct section_table table = { "device", METRIC_BLOCK_FIRST, METRIC_BLOCK_END, true };

const struct section block_section = {
	.name = "block",
	.size = sizeof(struct block),
	.offset = offsetof(struct record, reading.block),
	.counted = COUNTED_BLOCK,
	.shape = &shape,
	.is_same = is_same,
	.type = JSON_ARRAY,
	.table = &table,
};
