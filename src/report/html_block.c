/* SPDX-License-Identifier: MIT */
#include "device_lines.h"
#include "html_parts.h"
#include "html_table.h"
#include "humanize.h"

static void put_data(const struct block_counts *counts, struct html *h)
{
	html_table_cell(h, "%s", humanize_bytes(counts->bytes).text);
	html_table_cell(h, "%s", humanize_count(counts->requests).text);
	html_table_cell(h, "%s", device_mean(counts).text);
	html_table_cell(h, "%s", device_p99(counts).text);
}

static uint64_t failed(const struct device_line *line)
{
	uint64_t sum = 0;

	for (size_t op = 0; op < BLOCK_OP_COUNT; op++)
		sum += line->ops[op]->errors;
	return sum;
}

void html_put_block(const struct record *r, struct html *h)
{
	static const struct html_column columns[] = {
		{ "device" },
		{ "bytes", .group = "read" },
		{ "requests", .group = "read" },
		{ "mean", .group = "read" },
		{ "p99", .group = "read" },
		{ "bytes", .group = "written" },
		{ "requests", .group = "written" },
		{ "mean", .group = "written" },
		{ "p99", .group = "written" },
		{ "discards", .group = "other" },
		{ "flushes", .group = "other" },
		{ "failed", .group = "other" },
	};
	struct device_line lines[DEVICE_LINES_MAX];
	size_t count = device_lines(r, lines);

	if (!count)
		return;
	html_begin(h, "section");
	html_element(h, "h2", NULL, "Devices");
	html_table_begin(h, "Block devices", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++) {
		html_table_begin_row(h, "%s", lines[i].device);
		html_table_end_name(h);
		put_data(lines[i].ops[BLOCK_READ], h);
		put_data(lines[i].ops[BLOCK_WRITE], h);
		html_table_cell(h, "%s", humanize_count(lines[i].ops[BLOCK_DISCARD]->requests).text);
		html_table_cell(h, "%s", humanize_count(lines[i].ops[BLOCK_FLUSH]->requests).text);
		html_table_cell(h, "%s", humanize_count(failed(&lines[i])).text);
		html_table_end_row(h);
	}
	html_table_end(h);
	html_end(h);
}
