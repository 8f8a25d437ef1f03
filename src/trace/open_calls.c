/* SPDX-License-Identifier: MIT */
#include "trace/open_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "bpf/trace_rows.h"
#include "model/rows.h"
#include "trace/call.h"
#include "trace/sites.h"

#define WHO_MAX 160 /* letters */
#define WHO_EACH 48

struct open_call {
	const struct site_row *row;
	const struct trace_process *process;
	uint64_t ns; /* how long it went on; 0: since before it was probed, or that is not known */
	bool has_ended;
};

int open_calls_add(struct open_calls *o, const struct trace_event *event,
		   const struct site_row *row, const struct trace_process *process)
{
	if (array_reserve(&o->items, &o->room, o->count, sizeof(*o->items)) < 0)
		return -ENOMEM;
	o->items[o->count++] = (struct open_call){
		.row = row,
		.process = process,
		.ns = event->start_ns ? event->duration_ns : 0,
		.has_ended = event->flags & TRACE_HAS_ENDED,
	};
	return 0;
}

static bool are_alike(const struct open_call *a, const struct open_call *b)
{
	return a->row->set == b->row->set && strcmp(a->row->name, b->row->name) == 0 &&
	       a->has_ended == b->has_ended && !a->ns == !b->ns;
}

/* Functions together, and in each the ranks in order. */
static int compare_open(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;
	int by_name = strcmp(x->row->name, y->row->name);

	if (by_name || x->has_ended != y->has_ended || !x->ns != !y->ns)
		return by_name ? by_name : (x->has_ended - y->has_ended) * 2 + (!x->ns - !y->ns);
	if (x->process->rank != y->process->rank)
		return x->process->rank < y->process->rank ? -1 : 1;
	return x->process->pid < y->process->pid ? -1 : x->process->pid > y->process->pid;
}

/* "rank 0, 2, python3 (1234) and 5 more"; returns the longest. */
static uint64_t format_group(const struct open_call *first, size_t count, char *who, size_t size)
{
	uint64_t longest = 0;
	size_t length = 0, i;

	for (i = 0; i < count; i++)
		longest = MAX(longest, first[i].ns);
	for (i = 0; i < count && length + WHO_EACH < size; i++) {
		const struct trace_process *p = first[i].process;
		const char *between = i ? ", " : p->rank >= 0 ? "rank " : "";

		length += (size_t)(p->rank >= 0 ? snprintf(who + length, size - length, "%s%d",
							   between, p->rank)
						: snprintf(who + length, size - length, "%s%s (%u)",
							   between, p->task, p->pid));
	}
	if (i < count)
		snprintf(who + length, size - length, " and %zu more", count - i);
	return longest;
}

void open_calls_rows(struct open_calls *o, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "not returned from" },
		{ "for" },
		{ "which", .is_left = true },
	};
	struct rows_table *table;
	char who[WHO_MAX];

	rows_part(rows, "Calls that have not returned");
	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, "still in", columns, ARRAY_SIZE(columns));
	if (o->count)
		qsort(o->items, o->count, sizeof(*o->items), compare_open);
	for (size_t i = 0, next; i < o->count; i = next) {
		const struct open_call *c = &o->items[i];
		uint64_t longest;

		for (next = i + 1; next < o->count && are_alike(c, &o->items[next]);)
			next++;
		longest = format_group(c, next - i, who, sizeof(who));
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(c->row->name));
		if (longest)
			rows_words(table, "%s%s", humanize_duration(longest).text,
				   c->has_ended ? ", to its end" : "");
		else
			rows_words(table, "%s",
				   c->row->exit == PROBE_EXIT_NONE ? "not known"
								   : "longer than the trace");
		rows_cell(table, cell_words(who));
	}
}

void open_calls_clear(struct open_calls *o)
{
	free(o->items);
	*o = (struct open_calls){};
}
