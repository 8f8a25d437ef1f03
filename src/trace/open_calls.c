/* SPDX-License-Identifier: MIT */
#include "trace/open_calls.h"

#include <errno.h>
#include <stdbool.h>
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

/* "rank 0, 2-5, python3 (1234)" and how many more there is no room for; returns the longest. */
static uint64_t format_group(const struct open_call *first, size_t count, char *who, size_t size)
{
	uint64_t longest = 0;
	size_t left_out = 0, length = 0;

	*who = '\0';
	for (size_t i = 0, last; i < count; i = last + 1) {
		const struct trace_process *p = first[i].process;

		for (last = i; p->rank >= 0 && last + 1 < count &&
			       first[last + 1].process->rank - first[last].process->rank <= 1;)
			last++;
		for (size_t n = i; n <= last; n++)
			longest = MAX(longest, first[n].ns);
		if (length > size / 2) {
			left_out += last + 1 - i;
			continue;
		}
		length = strlen(who);
		length += (size_t)snprintf(who + length, size - length, "%s%s", i ? ", " : "",
					   p->rank >= 0 && !i ? "rank " : "");
		if (p->rank < 0)
			snprintf(who + length, size - length, "%s (%u)", p->task, p->pid);
		else if (first[last].process->rank == p->rank)
			snprintf(who + length, size - length, "%d", p->rank);
		else
			snprintf(who + length, size - length, "%d-%d", p->rank,
				 first[last].process->rank);
		length = strlen(who);
	}
	if (left_out)
		snprintf(who + length, size - length, " and %zu more", left_out);
	return longest;
}

static const char *since(const struct open_call *call, uint64_t longest, char *ret, size_t size)
{
	if (!longest)
		snprintf(ret, size, "%s",
			 call->row->exit == PROBE_EXIT_NONE ? "not known" : "longer than the trace");
	else
		snprintf(ret, size, "%s%s", humanize_duration(longest).text,
			 call->has_ended ? ", to its end" : "");
	return ret;
}

typedef void (*group_teller)(void *context, const char *function, const char *who,
			     const char *since);

static void tell_groups(struct open_calls *o, group_teller tell, void *context)
{
	char who[WHO_MAX], when[64];

	if (o->count)
		qsort(o->items, o->count, sizeof(*o->items), compare_open);
	for (size_t i = 0, next; i < o->count; i = next) {
		uint64_t longest;

		for (next = i + 1; next < o->count && are_alike(&o->items[i], &o->items[next]);)
			next++;
		longest = format_group(&o->items[i], next - i, who, sizeof(who));
		tell(context, o->items[i].row->name, who,
		     since(&o->items[i], longest, when, sizeof(when)));
	}
}

static void add_row(void *table, const char *function, const char *who, const char *when)
{
	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(function));
	rows_cell(table, cell_words(when));
	rows_cell(table, cell_words(who));
}

void open_calls_rows(struct open_calls *o, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "not returned from" },
		{ "for" },
		{ "which", .is_left = true },
	};

	rows_part(rows, "Calls that have not returned");
	rows_gap(rows);
	tell_groups(o, add_row,
		    rows_table(rows, ROWS_ALL, "still in", columns, ARRAY_SIZE(columns)));
}

static void say_group(void *context UNUSED, const char *function, const char *who, const char *when)
{
	fprintf(stderr, "jobmeter trace: not returned from '%s' for %s: %s\n", function, when,
		who);
}

void open_calls_say(struct open_calls *o)
{
	tell_groups(o, say_group, NULL);
}

void open_calls_clear(struct open_calls *o)
{
	free(o->items);
	*o = (struct open_calls){};
}
