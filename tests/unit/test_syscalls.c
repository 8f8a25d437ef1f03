/* SPDX-License-Identifier: MIT */
#include "model/sections/syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "reported.h"
#include "model/rows.h"
#include "model/section.h"
#include "test.h"

static void add(struct syscalls *s, const char *name, uint64_t calls, uint64_t errors, uint64_t ns,
		uint64_t longest_ns)
{
	struct syscall_row *row = syscalls_get(s, name);

	s->is_known = true;
	syscall_set(row, METRIC_SYSCALL_CALLS, calls);
	syscall_set(row, METRIC_SYSCALL_ERRORS, errors);
	syscall_set(row, METRIC_SYSCALL_SECONDS, ns);
	syscall_set(row, METRIC_SYSCALL_LONGEST, longest_ns);
	syscalls_sort(s);
}

static uint64_t number(const struct syscalls *s, const char *name, enum metric_id id)
{
	return syscall_number(syscalls_find(s, name), id).number;
}

TEST(rows_stand_by_time_then_calls_then_name)
{
	_cleanup_(syscalls_clear) struct syscalls s = {};

	add(&s, "close", 7, 0, 100, 20);
	add(&s, "read", 3, 1, 500, 400);
	add(&s, "brk", 7, 0, 100, 20);
	add(&s, "openat", 11, 0, 100, 20);
	ASSERT_STREQ(s.items[0].name, "read");
	ASSERT_STREQ(s.items[1].name, "openat");
	ASSERT_STREQ(s.items[2].name, "brk");
	ASSERT_STREQ(s.items[3].name, "close");
	ASSERT_EQ(syscalls_total(&s, METRIC_SYSCALL_CALLS), 28u);
}

TEST(a_record_comes_back_as_it_was_written)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *text = NULL;

	add(&r->syscalls, "read", 1009, 13, 1000000007, 500000003);
	add(&r->syscalls, "getpid (i386)", 17, 0, 19, 7);
	r->syscalls.items[1].numbers[METRIC_SYSCALL_LONGEST - METRIC_SYSCALL_FIRST].is_known = 0;
	text = made_json(r);
	ASSERT_CONTAINS(
		text,
		"{\"name\": \"read\", \"calls\": 1009, \"errors\": 13, \"seconds\": 1.000000007, "
		"\"longest_seconds\": 0.500000003}");
	ASSERT_CONTAINS(text, "\"longest_seconds\": null");
	again = made_again(text, NULL);
	ASSERT(again && again->syscalls.is_known && again->syscalls.count == 2);
	ASSERT_EQ(number(&again->syscalls, "read", METRIC_SYSCALL_SECONDS), 1000000007u);
	ASSERT_EQ(number(&again->syscalls, "getpid (i386)", METRIC_SYSCALL_CALLS), 17u);
	ASSERT(!syscall_number(syscalls_find(&again->syscalls, "getpid (i386)"),
			       METRIC_SYSCALL_LONGEST)
			.is_known);
}

TEST(csv_by_syscall_has_a_row_a_name)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *none = made_csv(r, ROWS_SYSCALL);

	ASSERT_CONTAINS(none, ",name,calls,errors,seconds,longest_seconds\n");
	ASSERT_EQ(strlen(strchr(none, '\n')), 1u);
	add(&r->syscalls, "read", 1009, 13, 1000000007, 500000003);
	ASSERT_TOLD(made_csv(r, ROWS_SYSCALL), ",read,1009,13,1.000000007,0.500000003\n");
}

static char *report(const struct syscalls *s)
{
	struct rows *rows = rows_new();

	syscalls_rows(s, rows);
	return reported_rows(rows, ROWS_TEXT, 100);
}

TEST(reports_show_those_that_took_most_and_sum_the_rest)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *many = NULL;
	char name[32];

	ASSERT_TEXT(report(&r->syscalls), "");
	add(&r->syscalls, "read", 100, 3, 3000000000, 2000000000);
	ASSERT_TEXT(report(&r->syscalls),
		    "  system call  calls   failed  time  of all   mean  longest\n"
		    "  read           100  3 (3 %)   3 s   100 %  30 ms      2 s\n");
	for (int i = 0; i < 13; i++) {
		snprintf(name, sizeof(name), "syscall_%d", 100 + i);
		add(&r->syscalls, name, 7, 1, 1000000 - (uint64_t)i, 1000);
	}
	many = report(&r->syscalls);
	ASSERT_CONTAINS(many, "\n  syscall_110 ");
	ASSERT_LACKS(many, "syscall_111");
	ASSERT_CONTAINS(many, "\n  and 2 more: 14 calls, 2 failed, 2 ms\n");
}
