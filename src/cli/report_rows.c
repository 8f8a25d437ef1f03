/* SPDX-License-Identifier: MIT */
#include "report_rows.h"

#include "humanize.h"
#include "table.h"

void cell_bytes(struct table *table, const char *bound, uint64_t bytes)
{
	if (bytes == 0)
		table_cell(table, "0");
	else
		table_cell(table, "%s%s", bound, humanize_bytes(bytes).text);
}

void cell_count(struct table *table, const char *bound, uint64_t count)
{
	table_cell(table, "%s%s", count ? bound : "", humanize_count(count).text);
}
