/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "report/mount_rows.h"
#include "report/record_rows.h"
#include "report/sentence.h"
#include "report/text_table.h"

#define MOUNTS_SHOWN 6
#define OPS_MAX 12
#define OPS_GOOD 3 /* so many are worth a shortened mount; fewer leave no room for others */
#define FAILURES_SHOWN 3
/* A failure is worth a sentence if there were so many, and once in so many calls. */
#define METADATA_FAILED_MIN 1000
#define METADATA_FAILED_SHARE 10

/* One operation over all of the job's own rows. */
struct total {
	struct op_counts counts;
	bool has_seconds, has_not_found;
	const struct mount_row *worst; /* the one with the most errors; NULL: none failed */
};

struct totals {
	struct total ops[OP_COUNT], all;
};

static void add_op(struct total *total, const struct mount_row *row, enum file_op op)
{
	const struct op_counts *counts = &row->ops[op];

	op_counts_add(&total->counts, counts);
	total->has_seconds &= counts->calls == 0 || row->has_seconds;
	total->has_not_found &= counts->errors == 0 || !row->lacks_not_found;
	if (counts->errors > (total->worst ? total->worst->ops[op].errors : 0))
		total->worst = row;
}

static struct totals sum_up(const struct record *r)
{
	struct totals totals = {};

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		struct total *total = &totals.ops[op];

		total->has_seconds = total->has_not_found = true;
		for (size_t i = 0; i < r->reading.mount_count; i++) {
			if (row_is_own(&r->reading.mounts[i]))
				add_op(total, &r->reading.mounts[i], (enum file_op)op);
		}
		op_counts_add(&totals.all.counts, &total->counts);
	}
	return totals;
}

typedef double op_weight(const struct totals *totals, enum file_op op);

/* The operation that is not done and weighs most; OP_COUNT: none weighs anything. */
static enum file_op find_heaviest(const struct totals *totals, const bool *is_done,
				  op_weight *weight)
{
	enum file_op heaviest = OP_COUNT;
	double most = 0;

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		double here = is_done[op] ? 0 : weight(totals, (enum file_op)op);

		if (here <= most)
			continue;
		heaviest = (enum file_op)op;
		most = here;
	}
	return heaviest;
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* By its calls and by its time, so that few slow ones show too. */
static double use_of(const struct totals *totals, enum file_op op)
{
	const struct op_counts *counts = &totals->ops[op].counts, *all = &totals->all.counts;

	return share_of(counts->calls, all->calls) + share_of(counts->ns, all->ns);
}

static double calls_of(const struct totals *totals, enum file_op op)
{
	return (double)totals->ops[op].counts.calls;
}

/* Its failures, if they are many. */
static double failures_of(const struct totals *totals, enum file_op op)
{
	const struct op_counts *counts = &totals->ops[op].counts;

	if (counts->errors < METADATA_FAILED_MIN ||
	    counts->errors < counts->calls / METADATA_FAILED_SHARE)
		return 0;
	return (double)counts->errors;
}

struct choice { /* which operations have a column of their own */
	bool is_shown[OP_COUNT];
	size_t shown, others;
};

static struct choice choose(const struct totals *totals, size_t wanted)
{
	struct choice choice = {};

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		choice.others += totals->ops[op].counts.calls > 0;
	while (choice.shown < wanted && choice.others > 0) {
		enum file_op op = find_heaviest(totals, choice.is_shown, use_of);

		if (op == OP_COUNT)
			break;
		choice.is_shown[op] = true;
		choice.shown++;
		choice.others--;
	}
	return choice;
}

/* On a narrow page an operation more is worth more than the sum of the rest. */
static bool has_others(const struct choice *choice)
{
	return choice->others > 0 && choice->shown >= OPS_GOOD;
}

static struct rows_table *begin_table(const struct choice *choice, struct rows *rows)
{
	struct rows_column columns[OPS_MAX + 4];
	size_t count = 0;

	columns[count++] = (struct rows_column){ "mount" };
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (choice->is_shown[op])
			columns[count++] = (struct rows_column){ file_op_name((enum file_op)op) };
	}
	if (has_others(choice))
		columns[count++] = (struct rows_column){ "others" };
	columns[count++] = (struct rows_column){ "failed", .rank = 1 };
	columns[count++] = (struct rows_column){ "time", .rank = 2 };
	return rows_table(rows, ROWS_TEXT, "metadata", columns, count);
}

static void add_row(struct rows_table *table, const struct choice *choice, const struct record *r,
		    const struct mount_row *row)
{
	uint64_t others = 0;

	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(row->mount));
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (choice->is_shown[op])
			rows_cell(table, cell_least(ROWS_COUNT, row->ops[op].calls));
		else
			others += row->ops[op].calls;
	}
	if (has_others(choice))
		rows_cell(table, cell_least(ROWS_COUNT, others));
	rows_cell(table, cell_failed(r, row));
	rows_cell(table, cell_time(r, row->has_seconds, mount_row_number(row, METRIC_META_CALLS),
				   mount_row_number(row, METRIC_META_SECONDS)));
}

static void remark_left_out(struct rows_table *table, const struct mount_rows *mounts)
{
	uint64_t calls = 0;
	size_t count = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		if (!mount_rows_leave_out(mounts, i, MOUNTS_SHOWN))
			continue;
		count++;
		calls += mount_row_number(mounts->items[i], METRIC_META_CALLS);
	}
	if (count)
		rows_remark(table, ROWS_ALL, "and %zu more mount%s (%s calls)", count,
			    count == 1 ? "" : "s", humanize_count(calls).text);
}

/* "others: 613 readlink, 12 access" */
static void remark_others(struct rows_table *table, const struct totals *totals,
			  const struct choice *shown)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	struct choice told = *shown;
	enum file_op op;

	while ((op = find_heaviest(totals, told.is_shown, calls_of)) != OP_COUNT) {
		sentence_add(&s, ", ", "%s%s %s", s.text ? "" : "others: ",
			     humanize_count(totals->ops[op].counts.calls).text, file_op_name(op));
		told.is_shown[op] = true;
	}
	if (s.text)
		rows_remark(table, ROWS_ALL, "%s", s.text);
}

static uint64_t row_calls(const struct mount_row *row, const void *what)
{
	(void)what;
	return mount_row_number(row, METRIC_META_CALLS);
}

/* A table of the operations that the job used most, as many as fit, and a line of the others. */
void metadata_rows(const struct record *r, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, row_calls,
										 NULL);
	struct totals totals = sum_up(r);

	for (size_t wanted = mounts.count ? choose(&totals, OPS_MAX).shown : 0; wanted > 0;
	     wanted--) {
		struct choice choice = choose(&totals, wanted);
		struct rows_table *table = begin_table(&choice, rows);

		for (size_t i = 0; i < mounts.count; i++) {
			if (!mount_rows_leave_out(&mounts, i, MOUNTS_SHOWN))
				add_row(table, &choice, r, mounts.items[i]);
		}
		if (wanted > 1)
			rows_else_next(table, choice.shown > OPS_GOOD ? SIZE_MAX : TABLE_FIRST_MIN);
		remark_left_out(table, &mounts);
		remark_others(table, &totals, &choice);
	}
}

/* A row an operation, where there is room for it. */
void operations_rows(const struct record *r, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "operation" }, { "calls" }, { "failed" }, { "not there" }, { "time" }, { "each" },
	};
	struct rows_table *table = rows_table(rows, ROWS_HTML, "operations on metadata, all mounts",
					      columns, ARRAY_SIZE(columns));
	struct totals totals = sum_up(r);

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		const struct total *total = &totals.ops[op];
		const struct op_counts *counts = &total->counts;

		if (!counts->calls)
			continue;
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(file_op_name((enum file_op)op)));
		rows_cell(table, cell_least(ROWS_COUNT, counts->calls));
		rows_cell(table, cell_least(ROWS_COUNT, counts->errors));
		rows_cell(table, cell_if(total->has_not_found,
					 cell_number(ROWS_COUNT, counts->not_found)));
		rows_cell(table, cell_time(r, total->has_seconds, counts->calls, counts->ns));
		rows_cell(table, cell_time(r, total->has_seconds, counts->calls,
					   counts->ns / counts->calls));
	}
}

/* ---- failures ---- */

struct portion {
	char text[sizeof("all but ") + sizeof(struct human)];
};

/* "all", or "all but 3" where the two numbers would read alike, or the part. */
static struct portion portion_of(uint64_t part, uint64_t whole)
{
	struct human number = humanize_count(part);
	struct portion portion;

	if (part >= whole)
		snprintf(portion.text, sizeof(portion.text), "all");
	else if (strcmp(number.text, humanize_count(whole).text) == 0)
		snprintf(portion.text, sizeof(portion.text), "all but %s",
			 humanize_count(whole - part).text);
	else
		snprintf(portion.text, sizeof(portion.text), "%s", number.text);
	return portion;
}

static void add_failure(const struct total *total, enum file_op op, const char *label,
			struct rows *rows)
{
	const struct op_counts *counts = &total->counts;
	uint64_t there = total->worst->ops[op].errors;

	rows_line(rows, ROWS_TEXT, label, "%s%s%s %s calls failed",
		  portion_of(counts->errors, counts->calls).text,
		  counts->errors >= counts->calls ? " " : " of ",
		  humanize_count(counts->calls).text, file_op_name(op));
	if (total->has_not_found && counts->not_found > 0)
		rows_say(rows, ", ", "%s of them for files that do not exist (ENOENT)",
			 portion_of(counts->not_found, counts->errors).text);
	if (total->worst->kind == ROW_MOUNT)
		rows_say(rows, ", ", "%s on %s", portion_of(there, counts->errors).text,
			 total->worst->mount);
	if (total->has_seconds)
		rows_say(rows, "; ", "%s took %s", file_op_name(op),
			 humanize_duration(counts->ns).text);
}

size_t metadata_failure_rows(const struct record *r, const char *label, struct rows *rows)
{
	struct totals totals = sum_up(r);
	bool is_told[OP_COUNT] = {};
	size_t told = 0;

	for (; told < FAILURES_SHOWN; told++) {
		enum file_op op = find_heaviest(&totals, is_told, failures_of);

		if (op == OP_COUNT)
			break;
		add_failure(&totals.ops[op], op, told ? NULL : label, rows);
		is_told[op] = true;
	}
	return told;
}
