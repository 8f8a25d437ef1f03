/* SPDX-License-Identifier: MIT */
#include "basic/humanize.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "model/sections/syscalls.h"

#define SYSCALLS_SHOWN 12

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void add_syscall(const struct syscall_row *row, uint64_t all_ns, struct rows *rows,
			struct rows_table *table)
{
	const uint64_t calls = syscall_number(row, METRIC_SYSCALL_CALLS).number,
		       ns = syscall_number(row, METRIC_SYSCALL_SECONDS).number;
	const uint64_t errors = syscall_number(row, METRIC_SYSCALL_ERRORS).number;
	const char *failed = rows_format(rows, "%s (%s)", humanize_count(errors).text,
					 humanize_percent(share_of(errors, calls)).text);

	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(row->name));
	rows_cell(table, cell_number(ROWS_COUNT, calls));
	rows_cell(table, cell_words(errors ? failed : NULL)); /* "17 (3 %)" */
	rows_cell(table, cell_number(ROWS_TIME, ns));
	rows_cell(table, cell_if(all_ns, cell_share(share_of(ns, all_ns))));
	rows_cell(table, cell_if(calls, cell_number(ROWS_TIME, calls ? ns / calls : 0)));
	rows_cell(table, cell_if(syscall_number(row, METRIC_SYSCALL_LONGEST).is_known,
				 cell_number(ROWS_TIME,
					     syscall_number(row, METRIC_SYSCALL_LONGEST).number)));
}

void syscalls_rows(const struct syscalls *s, struct rows *rows)
{
	/* where the page is narrow, what the others tell too goes first */
	static const struct rows_column columns[] = {
		{ "system call" },
		{ "calls" },
		{ "failed" },
		{ "time" },
		{ "of all", .rank = 3 },
		{ "mean", .rank = 2 },
		{ "longest", .rank = 1 },
	};
	const uint64_t all_ns = syscalls_total(s, METRIC_SYSCALL_SECONDS);
	const size_t shown = MIN(s->count, (size_t)SYSCALLS_SHOWN);
	const struct syscalls rest = { .items = shown ? s->items + shown : NULL,
				       .count = s->count - shown };
	struct rows_table *table;

	rows_part(rows, "System calls");
	table = rows_table(rows, ROWS_FIRST, "calls", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown; i++)
		add_syscall(&s->items[i], all_ns, rows, table);
	if (rest.count)
		rows_remark(table, ROWS_ALL, "and %zu more: %s calls, %s failed, %s", rest.count,
			    humanize_count(syscalls_total(&rest, METRIC_SYSCALL_CALLS)).text,
			    humanize_count(syscalls_total(&rest, METRIC_SYSCALL_ERRORS)).text,
			    humanize_duration(syscalls_total(&rest, METRIC_SYSCALL_SECONDS)).text);
}
