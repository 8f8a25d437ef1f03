/* SPDX-License-Identifier: MIT */
#include "selftest/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "load/hooks.h"
#include "model/reading.h"
#include "selftest/selftest.h"
#include "selftest/fixture.h"
#include "test.h"

#define FIXTURE "/dev/shm"
#define NAP_NS 1100000

/* clang-format off */
static const char *const programs[][2] = {
	{ "T0", "count_freed_task" }, { "T0", "count_exit" },
	{ "T1", "charge_switch" },
	{ "T2", "enter_call" }, { "T2", "leave_call" }, { "T2", "park_call" }, { "T2", "settle_interrupted_call" },
	{ "T2+", "count_request_result" }, { "T2+", "count_page_in" }, { "T2+", "count_dirtied" },
	{ "T2+", "note_permission" }, { "T2+", "note_getattr" }, { "T2+", "note_setattr" },
	{ "T2+", "note_readlink" }, { "T2+", "note_getxattr" }, { "T2+", "note_setxattr" },
	{ "T2+", "note_listxattr" }, { "T2+", "note_removexattr" }, { "T2+", "note_statfs" },
	{ "T2+", "start_libaio_read" }, { "T2+", "start_libaio_write" }, { "T2+", "end_libaio_request" },
	{ "T2+", "count_kernel_read" },
	{ "T2+", "open_connection" }, { "T2+", "end_connection" },
};
/* clang-format on */

/* A self-test that went well, and what a meter that counts right reads of it. */
struct trial {
	long results[SELFTEST_CASES_MAX];
	struct selftest_talk talk;
	struct hook hooks[ARRAY_SIZE(programs)];
	struct reading reading;
	struct evidence evidence;
	struct verdict verdict;
};

static void clear(struct trial *t)
{
	reading_clear(&t->reading);
}
#define _cleanup_trial_ _cleanup_(clear)

static struct mount_row *row_of(struct trial *t, enum case_place place)
{
	if (place == CASE_ON_PIPE)
		return reading_get_mount(&t->reading, ROW_PIPE, "(pipe)", NULL);
	return reading_get_mount(&t->reading, ROW_MOUNT, place == CASE_ON_FIXTURE ? FIXTURE : "/",
				 "fs");
}

static void count(struct trial *t, const struct case_ *v, enum file_op op, enum case_place place,
		  long result)
{
	struct mount_row *row = row_of(t, place);
	struct op_counts counts = { .calls = 1, .errors = result < 0 };

	if (op < OP_DATA_COUNT && result >= 0)
		counts.bytes = (uint64_t)result;
	row->has_seconds = true;
	if (v->is_ended_by_signal) {
		counts.ns = NAP_NS;
		reading_add(&t->reading, METRIC_BLOCKED_PIPE, NAP_NS);
	}
	if (v->interface != INTERFACE_MAPPING)
		op_counts_add(&row->ops[op], &counts);
	if (v->interface != INTERFACE_CALL)
		op_counts_add(&row->interfaces[v->interface][op], &counts);
	if (op < OP_DATA_COUNT && file_interface_is_accounted(v->interface))
		reading_add(&t->reading,
			    op == OP_READ ? METRIC_IO_CHARS_READ : METRIC_IO_CHARS_WRITTEN,
			    counts.bytes);
}

static uint64_t *tcp_of(struct trial *t, enum metric_id id)
{
	return network_number_ref(&t->reading.network, SOCKET_TCP, id);
}

static void read_talk(struct trial *t)
{
	t->reading.network =
		(struct network){ .is_known = true, .has_connections = true, .has_details = true };
	*tcp_of(t, METRIC_NETWORK_SENT_CALLS) = *tcp_of(t, METRIC_NETWORK_RECEIVED_CALLS) = 2;
	*tcp_of(t, METRIC_NETWORK_SENT_BYTES) = *tcp_of(t, METRIC_NETWORK_RECEIVED_BYTES) = 8;
	*tcp_of(t, METRIC_NETWORK_OPENED) = *tcp_of(t, METRIC_NETWORK_ACCEPTED) = 1;
	*tcp_of(t, METRIC_NETWORK_SEGMENTS) = 2;
}

/* Count the cases as they went. */
static void read_selftest(struct trial *t)
{
	size_t case_count;
	const struct case_ *cases = selftest_cases(&case_count);

	reading_clear(&t->reading);
	read_talk(t);
	for (size_t i = 0; i < case_count; i++) {
		if (t->results[i] == CASE_NOT_RUN)
			continue;
		count(t, &cases[i], cases[i].op, cases[i].place, t->results[i]);
		if (cases[i].is_copy)
			count(t, &cases[i], OP_WRITE, cases[i].to, t->results[i]);
	}
}

static void begin(struct trial *t)
{
	size_t case_count;
	const struct case_ *cases = selftest_cases(&case_count);

	*t = (struct trial){};
	for (size_t i = 0; i < case_count; i++)
		t->results[i] = cases[i].is_ended_by_signal ? -EINTR : 5 + (long)i;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		t->hooks[i] = (struct hook){ .tier = programs[i][0],
					     .program = programs[i][1],
					     .is_on = true };
	t->talk = (struct selftest_talk){ true, 2, 8 };
	t->evidence = (struct evidence){ .results = t->results,
					 .talk = &t->talk,
					 .hooks = t->hooks,
					 .hook_count = ARRAY_SIZE(programs),
					 .reading = &t->reading,
					 .is_settled = true,
					 .settle_ms = 500 };
	read_selftest(t);
}

/* All that is doubted, as "program: why", a line each. */
static const char *doubts(struct trial *t)
{
	static char text[8192];
	size_t used = 0;

	verdict_find(&t->evidence, &t->verdict);
	*text = '\0';
	for (size_t i = 0; i < t->verdict.count; i++) {
		const struct judged *j = &t->verdict.items[i];

		if (*j->why)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s: %s\n",
						 j->program, j->why);
	}
	return text;
}

static bool is_judged(const struct trial *t, const char *program)
{
	for (size_t i = 0; i < t->verdict.count; i++) {
		if (strcmp(t->verdict.items[i].program, program) == 0)
			return true;
	}
	return false;
}

static struct hook *hook_of(struct trial *t, const char *program)
{
	size_t i = 0;

	while (strcmp(t->hooks[i].program, program) != 0)
		i++;
	return &t->hooks[i];
}

static struct mount_row *stage_of(struct trial *t)
{
	return row_of(t, CASE_ON_FIXTURE);
}

/* A test of a trial @t that went well. */
#define TRIAL(what) TEST_WITH(what, struct trial, t, begin, clear)

TRIAL(what_was_counted_as_it_was_done_is_believed)
{
	ASSERT_STREQ(doubts(t), "");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		bool is_kernels = strcmp(programs[i][1], "count_kernel_read") == 0;

		ASSERT(is_judged(t, programs[i][1]) == !is_kernels);
	}
}

TEST(every_operation_is_run)
{
	bool is_run[OP_COUNT] = {}, is_run_by[INTERFACE_COUNT] = {};
	size_t case_count;
	const struct case_ *cases = selftest_cases(&case_count);

	for (size_t i = 0; i < case_count; i++)
		is_run[cases[i].op] = is_run_by[cases[i].interface] = true;
	for (size_t op = 0; op < OP_COUNT; op++)
		ASSERT(is_run[op]);
	for (size_t interface = 0; interface < INTERFACE_COUNT; interface++)
		ASSERT(is_run_by[interface]);
}

TEST(a_call_too_few_or_too_many_is_the_fault_of_those_that_count_calls)
{
	_cleanup_trial_ struct trial t;

	for (size_t op = 0; op < OP_COUNT; op++) {
		begin(&t);
		stage_of(&t)->ops[op].calls++;
		ASSERT_CONTAINS(doubts(&t), "enter_call: the self-test's ");
		ASSERT_CONTAINS(doubts(&t), "leave_call: the self-test's ");
		stage_of(&t)->ops[op].calls -= 2;
		ASSERT_CONTAINS(doubts(&t), "enter_call: the self-test's ");
		reading_clear(&t.reading);
	}
}

TRIAL(the_words_have_both_numbers)
{
	stage_of(t)->ops[OP_STAT].calls = 1;
	ASSERT_CONTAINS(
		doubts(t),
		"leave_call: the self-test's stat of 2 calls, 0 bytes, 0 errors was counted "
		"as 1, 0 and 0\n");
}

TRIAL(a_byte_or_an_error_more_is_wrong_too)
{
	stage_of(t)->ops[OP_WRITE].bytes++;
	ASSERT_CONTAINS(doubts(t), "leave_call: the self-test's write of 3 calls");
	stage_of(t)->ops[OP_WRITE].bytes--;
	stage_of(t)->ops[OP_MKDIR].errors++;
	ASSERT_CONTAINS(doubts(t), "leave_call: the self-test's mkdir of 1 calls");
}

TRIAL(the_read_that_a_signal_ended_has_a_hook_of_its_own)
{
	struct op_counts *reads;

	reads = &row_of(t, CASE_ON_PIPE)->ops[OP_READ];
	reads->calls--;
	reads->errors--;
	ASSERT_STREQ(doubts(t),
		     "settle_interrupted_call: the self-test's read that a signal ended was not "
		     "counted\n");
	reads->ns = 0; /* as where it was not counted at all */
	ASSERT_LACKS(doubts(t), "park_call");
	reads->calls++;
	reads->errors++;
	ASSERT_STREQ(doubts(t), "park_call: the self-test's sleep in a read was not timed\n");
	row_of(t, CASE_ON_PIPE)->has_seconds = false; /* the clock is off */
	ASSERT_LACKS(doubts(t), "park_call");
	ASSERT(!is_judged(t, "park_call"));
}

TEST(each_interface_is_the_fault_of_its_own_hooks)
{
	_cleanup_trial_ struct trial t;

	begin(&t);
	stage_of(&t)->interfaces[INTERFACE_IO_URING][OP_WRITE].bytes--;
	stage_of(&t)->ops[OP_WRITE].bytes--;
	ASSERT(strncmp(doubts(&t), "count_request_", 14) == 0);
	ASSERT_CONTAINS(doubts(&t), "the self-test's write by io_uring of 1 calls");
	ASSERT_LACKS(doubts(&t), "enter_call");

	reading_clear(&t.reading);
	begin(&t);
	stage_of(&t)->interfaces[INTERFACE_LIBAIO][OP_READ].calls--;
	stage_of(&t)->ops[OP_READ].calls--;
	ASSERT_CONTAINS(doubts(&t), "start_libaio_read: the self-test's read by libaio");
	ASSERT_CONTAINS(doubts(&t), "end_libaio_request: the self-test's read by libaio");
	ASSERT_LACKS(doubts(&t), "start_libaio_write");
}

TRIAL(pages_of_the_canarys_own_program_may_come_in_with_those_of_its_mapping)
{
	struct mount_row *row;

	row = row_of(t, CASE_ON_STORAGE);
	row->interfaces[INTERFACE_MAPPING][OP_READ].calls += 3;
	row->interfaces[INTERFACE_MAPPING][OP_READ].bytes += 3 * 4096;
	ASSERT_STREQ(doubts(t), "");
	row->interfaces[INTERFACE_MAPPING][OP_READ] = (struct op_counts){};
	row->interfaces[INTERFACE_MAPPING][OP_WRITE].calls++;
	ASSERT_CONTAINS(doubts(t), "count_page_in: the self-test's read by mapping");
	ASSERT_CONTAINS(doubts(t), "count_dirtied: the self-test's write by mapping");
}

TEST(a_connection_that_was_not_seen_is_the_fault_of_its_own_hooks)
{
	static const enum metric_id numbers[] = { METRIC_NETWORK_OPENED, METRIC_NETWORK_ACCEPTED,
						  METRIC_NETWORK_SEGMENTS };
	_cleanup_trial_ struct trial t;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		begin(&t);
		--*tcp_of(&t, numbers[i]);
		ASSERT_CONTAINS(
			doubts(&t),
			"open_connection: the self-test's connection to itself and its 2 segments");
		ASSERT_LACKS(doubts(&t), "end_connection");
		ASSERT_LACKS(doubts(&t), "leave_call");
		t.evidence.is_disturbed = true;
		ASSERT_STREQ(doubts(&t), "");
		reading_clear(&t.reading);
	}
	begin(&t);
	t.evidence.has_left_connections = true;
	ASSERT_STREQ(doubts(&t),
		     "end_connection: the end of the self-test's connection was not seen\n");
}

TRIAL(bytes_that_it_sent_itself_are_the_fault_of_those_that_count_calls)
{
	--*tcp_of(t, METRIC_NETWORK_RECEIVED_BYTES);
	ASSERT_CONTAINS(
		doubts(t),
		"leave_call: the self-test's 2 calls and 8 bytes each way by TCP were counted as "
		"2 and 8 sent, 2 and 7 received\n");
	ASSERT_LACKS(doubts(t), "open_connection");
}

TRIAL(without_a_loopback_the_hooks_of_connections_are_not_judged)
{
	t->talk.is_made = false;
	*tcp_of(t, METRIC_NETWORK_OPENED) = 0;
	ASSERT_STREQ(doubts(t), "");
	ASSERT(!is_judged(t, "open_connection") && !is_judged(t, "end_connection"));
}

TRIAL(what_was_not_run_is_not_judged)
{
	size_t case_count;
	const struct case_ *cases = selftest_cases(&case_count);

	for (size_t i = 0; i < case_count; i++) {
		if (cases[i].interface == INTERFACE_IO_URING ||
		    cases[i].interface == INTERFACE_LIBAIO ||
		    cases[i].interface == INTERFACE_MAPPING)
			t->results[i] = CASE_NOT_RUN;
	}
	read_selftest(t);
	ASSERT_STREQ(doubts(t), "");
	ASSERT(!is_judged(t, "count_request_result"));
	ASSERT(!is_judged(t, "end_libaio_request"));
	ASSERT(!is_judged(t, "count_page_in"));
	ASSERT(is_judged(t, "leave_call"));
}

TRIAL(what_kernel_threads_did_meanwhile_is_not_the_canarys)
{
	reading_get_mount(&t->reading, ROW_KERNEL, "(kernel)", NULL)->ops[OP_READ] =
		(struct op_counts){ .calls = 3, .bytes = 1024 };
	ASSERT_STREQ(doubts(t), "");
}

/* As many calls, but elsewhere. */
static void misplace(struct trial *t, enum file_op op, uint64_t calls)
{
	stage_of(t)->ops[op].calls -= calls;
	reading_get_mount(&t->reading, ROW_UNRESOLVED, "(unresolved)", NULL)->ops[op].calls +=
		calls;
}

TRIAL(a_call_that_stands_elsewhere_is_the_fault_of_the_hook_that_places_it)
{
	misplace(t, OP_STATFS, 1);
	misplace(t, OP_CHMOD, 1);
	ASSERT_CONTAINS(
		doubts(t),
		"note_statfs: of the self-test's 1 calls of statfs 0 were placed on its file "
		"system\n");
	ASSERT_CONTAINS(doubts(t), "note_setattr: of the self-test's 1 calls of chmod");
	ASSERT_LACKS(doubts(t), "note_permission");
	ASSERT_LACKS(doubts(t), "leave_call");
}

TRIAL(where_a_hook_is_off_the_others_are_not_blamed_for_it)
{
	hook_of(t, "note_getxattr")->is_on = false;
	misplace(t, OP_XATTR, 1);
	ASSERT_STREQ(doubts(t), "");
	ASSERT(!is_judged(t, "note_setxattr"));
}

TRIAL(calls_that_were_refused_tell_no_place)
{
	size_t case_count;
	const struct case_ *cases = selftest_cases(&case_count);

	for (size_t i = 0; i < case_count; i++) {
		if (cases[i].op == OP_MKNOD)
			t->results[i] = -EPERM;
	}
	read_selftest(t);
	misplace(t, OP_MKNOD, 1);
	ASSERT_STREQ(doubts(t), "");
}

TRIAL(programs_that_the_kernel_skipped_are_not_doubted)
{
	t->evidence.is_disturbed = true;
	misplace(t, OP_STATFS, 1);
	ASSERT_STREQ(doubts(t), "");
	ASSERT(!is_judged(t, "note_statfs"));
	ASSERT(is_judged(t, "note_getattr"));
	stage_of(t)->ops[OP_STAT].calls++;
	ASSERT_CONTAINS(doubts(t), "enter_call");
}

TRIAL(a_tier_of_which_a_hook_is_off_is_not_judged)
{
	hook_of(t, "park_call")->is_on = false;
	stage_of(t)->ops[OP_STAT].calls++;
	ASSERT_STREQ(doubts(t), "");
	ASSERT(!is_judged(t, "leave_call"));
	ASSERT(is_judged(t, "count_freed_task"));
}

TRIAL(tasks_are_judged_by_their_own_bytes_and_by_their_end)
{
	reading_add(&t->reading, METRIC_IO_CHARS_READ, 1);
	ASSERT_CONTAINS(doubts(t), "count_freed_task: the self-test's ");
	t->evidence.is_settled = false;
	ASSERT_CONTAINS(doubts(t),
			"count_freed_task: the self-test's end was not seen in 500 ms\n");
	ASSERT(!is_judged(t, "count_exit"));
}

TRIAL(a_sleep_that_was_counted_as_nothing_else_is_doubted)
{
	ASSERT_STREQ(doubts(t), "");
	ASSERT(is_judged(t, "charge_switch"));
	reading_set(&t->reading, METRIC_BLOCKED_PIPE, 0);
	ASSERT_STREQ(
		doubts(t),
		"charge_switch: the self-test's sleep of 1000 us in a read was counted as 0 us\n");
	hook_of(t, "charge_switch")->is_on = false;
	ASSERT_STREQ(doubts(t), "");
}
