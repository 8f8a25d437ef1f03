/* SPDX-License-Identifier: MIT */
#include "block.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

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

static_assert(offsetof(struct block_counts, latencies) == BLOCK_NUMBERS * sizeof(uint64_t), "numbers stand before it");

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
		numbers_of(to)[i] = MAX(numbers_of(to)[i], numbers_of((struct block_counts *)least)[i]);
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

void block_clear(struct block *b)
{
	free(b->rows);
	*b = (struct block){};
}

int block_copy(struct block *to, const struct block *from)
{
	struct block copy = { .is_known = from->is_known };
	int r = block_reserve(&copy, from->count);

	if (r < 0)
		return r;
	if (from->count)
		memcpy(copy.rows, from->rows, from->count * sizeof(*copy.rows));
	copy.count = from->count;
	block_clear(to);
	*to = copy;
	return 0;
}

bool block_is_equal(const struct block *a, const struct block *b)
{
	if (a->is_known != b->is_known || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->rows[i].device, b->rows[i].device) != 0 || a->rows[i].op != b->rows[i].op ||
		    memcmp(&a->rows[i].counts, &b->rows[i].counts, sizeof(a->rows[i].counts)) != 0)
			return false;
	}
	return true;
}

int block_reserve(struct block *b, size_t more)
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
	if (block_reserve(b, 1) < 0)
		return NULL;
	memmove(b->rows + at + 1, b->rows + at, (b->count - at) * sizeof(*b->rows));
	b->rows[at] = (struct block_row){ .op = op };
	snprintf(b->rows[at].device, sizeof(b->rows[at].device), "%s", device);
	b->count++;
	return &b->rows[at];
}

int block_add(struct block *b, const char *device, enum block_op op, const struct block_counts *counts)
{
	struct block_row *row = get_row(b, device, op);

	if (row)
		add_counts(&row->counts, counts);
	return row ? 0 : -ENOMEM;
}

int block_add_all(struct block *to, const struct block *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = block_add(to, from->rows[i].device, from->rows[i].op, &from->rows[i].counts);
	return r;
}

int block_raise(struct block *to, const struct block *least)
{
	for (size_t i = 0; i < least->count; i++) {
		struct block_row *row = get_row(to, least->rows[i].device, least->rows[i].op);

		if (!row)
			return -ENOMEM;
		raise_counts(&row->counts, &least->rows[i].counts);
	}
	return 0;
}

int block_merge(struct block *to, const struct block *from)
{
	if (to->is_known && from->is_known)
		return block_add_all(to, from);
	block_clear(to);
	return 0;
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

void block_subtract(struct block *from, const struct block *earlier)
{
	bool is_known = from->is_known && earlier->is_known;

	for (size_t i = 0; i < earlier->count; i++) {
		const struct block_row *before = &earlier->rows[i];
		struct block_row *row = (struct block_row *)block_find(from, before->device, before->op);

		is_known &= row && subtract_counts(&row->counts, &before->counts);
	}
	if (is_known)
		drop_idle(from);
	else
		block_clear(from);
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
