/* SPDX-License-Identifier: MIT */
#include "report_syscalls.h"

#include "cleanup.h"
#include "macro.h"
#include "syscall_lines.h"
#include "table.h"

void report_syscalls(const struct record *r, struct page *page)
{
	/* Where the page is narrow, what the others tell too goes first. */
	static const unsigned int ranks[] = { 0, 0, 0, 0, 3, 2, 1 };
	struct table_column columns[SYSCALL_CELLS + 1] = {};
	struct syscall_line lines[SYSCALL_LINES_SHOWN];
	size_t count = syscall_lines(r, lines);
	_cleanup_(table_freep) struct table *table = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		columns[i] = (struct table_column){ .head = syscall_heads[i], .rank = ranks[i] };
	table = table_new(columns, ARRAY_SIZE(columns));
	if (!table)
		return;
	for (size_t i = 0; i < count; i++) {
		table_cell(table, "%s", lines[i].name);
		for (size_t j = 0; j < SYSCALL_CELLS; j++)
			table_cell(table, "%s", lines[i].cells[j].text);
	}
	table_print(table, "calls", page);
	if (*syscall_rest(r).text)
		page_paragraph(page, NULL, syscall_rest(r).text);
}
