/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "model/sections/block.h"
#include "report/record_rows.h"
#include "model/rows.h"

#define DEVICES_SHOWN 8 /* in short */
#define DEVICES_MAX (BLOCK_DEVICES_MAX + 1)

static uint64_t moved(const struct block_device *d)
{
	return d->ops[BLOCK_READ].bytes + d->ops[BLOCK_WRITE].bytes + d->ops[BLOCK_DISCARD].bytes;
}

static uint64_t failed(const struct block_device *d)
{
	uint64_t sum = 0;

	for (size_t op = 0; op < BLOCK_OP_COUNT; op++)
		sum += d->ops[op].errors;
	return sum;
}

/* Those that moved most first. */
static int compare_devices(const void *a, const void *b)
{
	const struct block_device *x = *(const struct block_device *const *)a,
				  *y = *(const struct block_device *const *)b;

	if (moved(x) != moved(y))
		return moved(x) > moved(y) ? -1 : 1;
	return strverscmp(x->name, y->name);
}

static void add_op(const struct block_counts *counts, struct rows_table *table)
{
	double p99 = 0;
	bool has_p99 = histogram_quantile(HISTOGRAM_LATENCY, &counts->latencies, 0.99, &p99) == 0;
	uint64_t mean = counts->requests ? counts->ns / counts->requests : 0;

	rows_cell(table, cell_least(ROWS_BYTES, counts->bytes));
	rows_cell(table, cell_least(ROWS_COUNT, counts->requests));
	rows_cell(table, cell_if(counts->requests, cell_number(ROWS_TIME, mean)));
	rows_cell(table, cell_if(has_p99, cell_number(ROWS_TIME, (uint64_t)p99)));
}

void block_rows(const struct block *b, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "device" },
		{ "read", .group = "read", .under = "bytes" },
		{ "requests", .group = "read" },
		{ "mean", .group = "read", .forms = ROWS_HTML },
		{ "p99", .group = "read", .rank = 2 },
		{ "write", .group = "written", .under = "bytes" },
		{ "requests", .group = "written" },
		{ "mean", .group = "written", .forms = ROWS_HTML },
		{ "p99", .group = "written", .rank = 1 },
		{ "discards", .group = "other", .forms = ROWS_HTML },
		{ "flushes", .group = "other", .rank = 3 },
		{ "failed", .group = "other", .forms = ROWS_HTML },
	};
	const struct block_device *devices[DEVICES_MAX];
	const size_t count = MIN(b->count, (size_t)DEVICES_MAX);
	struct rows_table *table;

	for (size_t i = 0; i < count; i++)
		devices[i] = &b->items[i];
	qsort(devices, count, sizeof(devices[0]), compare_devices);

	rows_part(rows, "Devices");
	table = rows_table(rows, ROWS_ALL, "devices", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++) {
		const struct block_device *d = devices[i];

		rows_row(table, i < DEVICES_SHOWN ? ROWS_ALL : ROWS_HTML);
		rows_cell(table, cell_words(d->name));
		add_op(&d->ops[BLOCK_READ], table);
		add_op(&d->ops[BLOCK_WRITE], table);
		rows_cell(table, cell_least(ROWS_COUNT, d->ops[BLOCK_DISCARD].requests));
		rows_cell(table, cell_least(ROWS_COUNT, d->ops[BLOCK_FLUSH].requests));
		rows_cell(table, cell_least(ROWS_COUNT, failed(d)));
	}
	if (count > DEVICES_SHOWN)
		rows_remark(table, ROWS_SHORT, "and %zu more", count - DEVICES_SHOWN);
}
