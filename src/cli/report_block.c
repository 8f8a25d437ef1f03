/* SPDX-License-Identifier: MIT */
#include "report_block.h"

#include <stdio.h>

#include "cleanup.h"
#include "device_lines.h"
#include "macro.h"
#include "report_rows.h"
#include "table.h"

#define DEVICES_SHOWN 8

static void add_data(struct table *table, const char *bound, const struct block_counts *counts)
{
	cell_bytes(table, bound, counts->bytes);
	cell_count(table, bound, counts->requests);
	table_cell(table, "%s", device_p99(counts).text);
}

void report_block(const struct record *r, struct page *page)
{
	static const struct table_column columns[] = {
		{ "device" },
		{ "read" },
		{ "requests" },
		{ "p99", .rank = 2 },
		{ "write" },
		{ "requests" },
		{ "p99", .rank = 1 },
		{ "flushes", .rank = 3 },
	};
	struct device_line lines[DEVICE_LINES_MAX];
	size_t count = device_lines(r, lines);
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const char *bound = rows_bound(r);
	char text[64];

	for (size_t i = 0; table && i < MIN(count, (size_t)DEVICES_SHOWN); i++) {
		table_cell(table, "%s", lines[i].device);
		add_data(table, bound, lines[i].ops[BLOCK_READ]);
		add_data(table, bound, lines[i].ops[BLOCK_WRITE]);
		cell_count(table, bound, lines[i].ops[BLOCK_FLUSH]->requests);
	}
	if (table && count)
		table_print(table, "devices", page);
	snprintf(text, sizeof(text), "and %zu more, which moved less", count - MIN(count, (size_t)DEVICES_SHOWN));
	if (count > DEVICES_SHOWN)
		page_paragraph(page, NULL, text);
}
