/* SPDX-License-Identifier: MIT */
#include "syscall_lines.h"

#include <stdio.h>

#include "macro.h"
#include "record.h"

const char *const syscall_heads[SYSCALL_CELLS + 1] = { "system call", "calls", "failed", "time", "of all", "mean", "longest" };

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static struct human none(void)
{
	return (struct human){ "-" };
}

/* "17 (3 %)" */
static struct human failed(uint64_t errors, uint64_t calls)
{
	struct human ret;

	snprintf(ret.text, sizeof(ret.text), "%.14s (%.10s)", humanize_count(errors).text,
		 humanize_percent(share(errors, calls)).text);
	return ret;
}

static void fill(const struct syscall_row *row, uint64_t all_ns, struct syscall_line *ret)
{
	uint64_t calls = syscall_number(row, METRIC_SYSCALL_CALLS), ns = syscall_number(row, METRIC_SYSCALL_SECONDS);
	uint64_t errors = syscall_number(row, METRIC_SYSCALL_ERRORS);
	bool knows_longest = syscall_knows(row, METRIC_SYSCALL_LONGEST);

	*ret = (struct syscall_line){
		row->name,
		{ humanize_count(calls), errors ? failed(errors, calls) : none(), humanize_duration(ns),
		  all_ns ? humanize_percent(share(ns, all_ns)) : none(), calls ? humanize_duration(ns / calls) : none(),
		  knows_longest ? humanize_duration(syscall_number(row, METRIC_SYSCALL_LONGEST)) : none() },
	};
}

size_t syscall_lines(const struct record *r, struct syscall_line ret[SYSCALL_LINES_SHOWN])
{
	const struct syscalls *s = &r->syscalls;
	size_t count = MIN(s->count, (size_t)SYSCALL_LINES_SHOWN);
	uint64_t all_ns = syscalls_total(s, METRIC_SYSCALL_SECONDS);

	for (size_t i = 0; i < count; i++)
		fill(&s->items[i], all_ns, &ret[i]);
	return count;
}

struct syscall_rest syscall_rest(const struct record *r)
{
	const struct syscalls *s = &r->syscalls;
	struct syscall_rest ret = { "" };
	struct syscalls rest;

	if (s->count <= SYSCALL_LINES_SHOWN)
		return ret;
	rest = (struct syscalls){ .items = s->items + SYSCALL_LINES_SHOWN, .count = s->count - SYSCALL_LINES_SHOWN };
	snprintf(ret.text, sizeof(ret.text), "and %zu more: %s calls, %s failed, %s", rest.count,
		 humanize_count(syscalls_total(&rest, METRIC_SYSCALL_CALLS)).text,
		 humanize_count(syscalls_total(&rest, METRIC_SYSCALL_ERRORS)).text,
		 humanize_duration(syscalls_total(&rest, METRIC_SYSCALL_SECONDS)).text);
	return ret;
}
