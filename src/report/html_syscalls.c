/* SPDX-License-Identifier: MIT */
#include "html_parts.h"
#include "html_table.h"
#include "record.h"
#include "syscall_lines.h"

void html_put_syscalls(const struct record *r, struct html *h)
{
	struct html_column columns[SYSCALL_CELLS + 1] = {};
	struct syscall_line lines[SYSCALL_LINES_SHOWN];
	size_t count = syscall_lines(r, lines);

	if (!count)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		columns[i].head = syscall_heads[i];
	html_begin(h, "section");
	html_element(h, "h2", NULL, "System calls");
	html_table_begin(h, "System calls", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++) {
		html_table_begin_row(h, "%s", lines[i].name);
		html_table_end_name(h);
		for (size_t j = 0; j < SYSCALL_CELLS; j++)
			html_table_cell(h, "%s", lines[i].cells[j].text);
		html_table_end_row(h);
	}
	html_table_end(h);
	if (*syscall_rest(r).text)
		html_element(h, "p", "note", "%s.", syscall_rest(r).text);
	html_end(h);
}
