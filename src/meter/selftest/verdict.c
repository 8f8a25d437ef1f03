/* SPDX-License-Identifier: MIT */
#include "selftest/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "load/hooks.h"
#include "model/reading.h"
#include "selftest/selftest.h"
#include "selftest/fixture.h"

#define RESTS_MAX 3
#define NAP_LONGEST 1000 /* times as long, where the machine is busy */

/* Which hooks counts rest on. */
/* clang-format off */
static const struct {
	enum file_interface interface;
	const char *programs[OP_DATA_COUNT][RESTS_MAX]; /* for reads, for writes */
} rests[] = {
	{ INTERFACE_IO_URING, { { "count_request_result", "count_request_entry" }, { "count_request_result", "count_request_entry" } } },
	{ INTERFACE_LIBAIO,   { { "start_libaio_read", "end_libaio_request" }, { "start_libaio_write", "end_libaio_request" } } },
	{ INTERFACE_MAPPING,  { { "count_page_in" }, { "count_dirtied", "count_dirtied_page" } } },
};
static const char *const rests_of_calls[RESTS_MAX] = { "enter_call", "leave_call" };
/* clang-format on */

static const char *const *programs_of(enum file_op op, enum file_interface interface)
{
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		if (interface != INTERFACE_CALL && rests[i].interface == interface)
			return rests[i].programs[op];
	}
	return rests_of_calls;
}

static bool is_on(const struct evidence *e, const char *program)
{
	for (size_t i = 0; i < e->hook_count; i++) {
		if (strcmp(e->hooks[i].program, program) == 0)
			return e->hooks[i].is_on;
	}
	return false;
}

static bool is_tier_on(const struct evidence *e, const char *tier)
{
	for (size_t i = 0; i < e->hook_count; i++) {
		if (strcmp(e->hooks[i].tier, tier) == 0 && !e->hooks[i].is_on)
			return false;
	}
	return true;
}

void verdict_judge(struct verdict *v, const char *program, bool is_right, const char *format, ...)
{
	struct judged *judged;
	va_list args;
	size_t i = 0;

	while (i < v->count && strcmp(v->items[i].program, program) != 0)
		i++;
	if (i == VERDICT_MAX)
		return;
	judged = &v->items[i];
	if (i == v->count) {
		*judged = (struct judged){ .program = program };
		v->count++;
	}
	if (is_right || *judged->why) /* the first reason is the nearest */
		return;
	v->doubts++;
	va_start(args, format);
	vsnprintf(judged->why, sizeof(judged->why), format, args);
	va_end(args);
}

/* ---- how much ---- */

/* The self-test's calls of an operation by one interface. */
static struct op_counts sum_selftest(const long *results, enum file_op op,
				     enum file_interface interface)
{
	struct op_counts sum = {};
	size_t count;
	const struct case_ *cases = selftest_cases(&count);

	for (size_t i = 0; i < count; i++) {
		if (results[i] == CASE_NOT_RUN || cases[i].interface != interface)
			continue;
		if (cases[i].op != op && !(cases[i].is_copy && op == OP_WRITE))
			continue;
		sum.calls++;
		sum.errors += results[i] < 0;
		sum.bytes += op < OP_DATA_COUNT && results[i] > 0 ? (uint64_t)results[i] : 0;
	}
	return sum;
}

/* What was counted of it, over all rows of groups. */
static struct op_counts sum_reading(const struct reading *reading, enum file_op op,
				    enum file_interface interface)
{
	struct op_counts sum = {};

	for (size_t i = 0; i < reading->mount_count; i++) {
		const struct mount_row *row = &reading->mounts[i];

		if (row->kind == ROW_KERNEL)
			continue;
		if (interface != INTERFACE_CALL) {
			op_counts_add(&sum, &row->interfaces[interface][op]);
			continue;
		}
		op_counts_add(&sum, &row->ops[op]);
		for (size_t other = INTERFACE_CALL + 1;
		     op < OP_DATA_COUNT && other < INTERFACE_MAPPING; other++) {
			const struct op_counts *part = &row->interfaces[other][op];

			sum.calls -= part->calls;
			sum.bytes -= part->bytes;
			sum.errors -= part->errors;
		}
	}
	return sum;
}

static bool are_equal(const struct op_counts *a, const struct op_counts *b)
{
	return a->calls == b->calls && a->bytes == b->bytes && a->errors == b->errors;
}

static void judge_count(const struct evidence *e, enum file_op op, enum file_interface interface,
			struct verdict *v)
{
	struct op_counts should = sum_selftest(e->results, op, interface);
	struct op_counts is = sum_reading(e->reading, op, interface);
	const char *const *programs = programs_of(op, interface);
	bool is_right = are_equal(&is, &should);

	if (should.calls == 0 && interface != INTERFACE_CALL)
		return;
	/* Page-ins of the canary's own program and libraries are counted too. */
	if (interface == INTERFACE_MAPPING && op == OP_READ)
		is_right = is.calls >= should.calls && is.bytes >= should.bytes;
	for (size_t i = 0; i < RESTS_MAX && programs[i]; i++) {
		if (is_right || interface != INTERFACE_LIBAIO || !e->is_disturbed)
			verdict_judge(v, programs[i], is_right,
				      "the self-test's %s%s%s of %" PRIu64 " calls, %" PRIu64
				      " bytes, %" PRIu64 " errors was counted as %" PRIu64
				      ", %" PRIu64 " and %" PRIu64,
				      file_op_name(op), interface == INTERFACE_CALL ? "" : " by ",
				      interface == INTERFACE_CALL ? ""
								  : file_interface_name(interface),
				      should.calls, should.bytes, should.errors, is.calls, is.bytes,
				      is.errors);
	}
}

/* Is all as it should be but for the read that a signal ended? */
static bool lacks_interrupted(const struct evidence *e)
{
	struct op_counts should = sum_selftest(e->results, OP_READ, INTERFACE_CALL);
	struct op_counts is = sum_reading(e->reading, OP_READ, INTERFACE_CALL);

	is.calls++;
	is.errors++;
	return are_equal(&is, &should);
}

static void judge_sleep(const struct evidence *e, struct verdict *v)
{
	const struct mount_row *pipe = reading_find_mount(e->reading, ROW_PIPE,
							  row_kind_name(ROW_PIPE), NULL);

	/* a call that was forgotten, or not counted, has no time */
	if (pipe && pipe->has_seconds && !lacks_interrupted(e))
		verdict_judge(v, "park_call", pipe->ops[OP_READ].ns,
			      "the self-test's sleep in a read was not timed");
	verdict_judge(v, "settle_interrupted_call", !lacks_interrupted(e),
		      "the self-test's read that a signal ended was not counted");
}

static void judge_files(const struct evidence *e, struct verdict *v)
{
	judge_sleep(e, v);
	for (size_t op = 0; op < OP_COUNT; op++) {
		if (op == OP_READ && lacks_interrupted(e))
			continue;
		judge_count(e, (enum file_op)op, INTERFACE_CALL, v);
	}
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_COUNT;
		     interface++)
			judge_count(e, (enum file_op)op, (enum file_interface)interface, v);
	}
}

/* ---- a connection ---- */

static bool is_traffic_right(const struct network *n, const struct selftest_talk *talk)
{
	static const enum metric_id calls[] = { METRIC_NETWORK_SENT_CALLS,
						METRIC_NETWORK_RECEIVED_CALLS };
	static const enum metric_id bytes[] = { METRIC_NETWORK_SENT_BYTES,
						METRIC_NETWORK_RECEIVED_BYTES };
	bool is_right = true;

	for (size_t interface = 0; interface < ARRAY_SIZE(calls); interface++) {
		is_right &= network_number(n, SOCKET_TCP, calls[interface]) == talk->calls;
		is_right &= network_number(n, SOCKET_TCP, bytes[interface]) == talk->bytes;
	}
	return is_right;
}

static void judge_traffic(const struct evidence *e, struct verdict *v)
{
	const struct network *n = &e->reading->network;

	for (size_t i = 0; i < RESTS_MAX && rests_of_calls[i]; i++) {
		verdict_judge(
			v, rests_of_calls[i], is_traffic_right(n, e->talk),
			"the self-test's %u calls and %u bytes each way by TCP were counted as %" PRIu64
			" and %" PRIu64 " sent, %" PRIu64 " and %" PRIu64 " received",
			e->talk->calls, e->talk->bytes,
			network_number(n, SOCKET_TCP, METRIC_NETWORK_SENT_CALLS),
			network_number(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES),
			network_number(n, SOCKET_TCP, METRIC_NETWORK_RECEIVED_CALLS),
			network_number(n, SOCKET_TCP, METRIC_NETWORK_RECEIVED_BYTES));
	}
}

/* It opened one and accepted it, and sent a segment with each call. */
static void judge_connection(const struct evidence *e, struct verdict *v)
{
	const struct network *n = &e->reading->network;
	uint64_t opened = network_number(n, SOCKET_TCP, METRIC_NETWORK_OPENED);
	uint64_t accepted = network_number(n, SOCKET_TCP, METRIC_NETWORK_ACCEPTED);
	uint64_t segments = network_number(n, SOCKET_TCP, METRIC_NETWORK_SEGMENTS);
	bool is_right;

	if (!is_on(e, "open_connection") || !is_on(e, "end_connection"))
		return;
	is_right = opened == 1 && accepted == 1 && segments == e->talk->calls;
	if (is_right || !e->is_disturbed)
		verdict_judge(
			v, "open_connection", is_right,
			"the self-test's connection to itself and its %u segments were counted as %" PRIu64
			" opened, %" PRIu64 " accepted and %" PRIu64 " segments",
			e->talk->calls, opened, accepted, segments);
	if (!e->has_left_connections || !e->is_disturbed)
		verdict_judge(v, "end_connection", !e->has_left_connections,
			      "the end of the self-test's connection was not seen");
}

/* ---- where ---- */

/* The row of the canary's directory: fsync is by descriptor, and is done nowhere else. */
static const struct mount_row *find_stage(const struct reading *reading)
{
	for (size_t i = 0; i < reading->mount_count; i++) {
		if (reading->mounts[i].kind == ROW_MOUNT && reading->mounts[i].ops[OP_FSYNC].calls)
			return &reading->mounts[i];
	}
	return NULL;
}

/* Did the call get as far as to the hook for its place?  Some are refused before. */
static bool has_got_far(long result)
{
	return result >= 0 || result == -ENOENT || result == -ENODATA || result == -EOPNOTSUPP;
}

/* Whether all that the operation's place rests on is on, and was asked. */
static bool is_place_told(const struct evidence *e, enum file_op op, uint64_t *ret_calls)
{
	size_t count;
	const struct case_ *cases = selftest_cases(&count);
	bool is_told = false;

	*ret_calls = 0;
	for (size_t i = 0; i < count; i++) {
		if (cases[i].op != op)
			continue;
		if (!has_got_far(e->results[i]) ||
		    (cases[i].placed_by && !is_on(e, cases[i].placed_by)))
			return false;
		is_told |= cases[i].placed_by != NULL;
		++*ret_calls;
	}
	return is_told;
}

static void judge_place(const struct evidence *e, enum file_op op, const struct mount_row *fixture,
			struct verdict *v)
{
	uint64_t is = fixture->ops[op].calls, should;
	size_t count;
	const struct case_ *cases = selftest_cases(&count);

	if (!is_place_told(e, op, &should))
		return;
	for (size_t i = 0; i < count; i++) {
		if (cases[i].op != op || !cases[i].placed_by)
			continue;
		if (is == should || !e->is_disturbed)
			verdict_judge(v, cases[i].placed_by, is == should,
				      "of the self-test's %" PRIu64 " calls of %s %" PRIu64
				      " were placed on its file system",
				      should, file_op_name(op), is);
	}
}

/* ---- the tasks' own counters ---- */

static uint64_t sum_accounting(const long *results, enum file_op op)
{
	uint64_t sum = 0;

	for (size_t interface = 0; interface < INTERFACE_COUNT; interface++) {
		if (file_interface_is_accounted((enum file_interface)interface))
			sum += sum_selftest(results, op, (enum file_interface)interface).bytes;
	}
	return sum;
}

static void judge_tasks(const struct evidence *e, struct verdict *v)
{
	const uint64_t read_bytes = sum_accounting(e->results, OP_READ);
	const uint64_t written = sum_accounting(e->results, OP_WRITE);
	const struct value *values = e->reading->values;

	if (!e->is_settled) {
		verdict_judge(v, "count_freed_task", false,
			      "the self-test's end was not seen in %d ms", e->settle_ms);
		return;
	}
	verdict_judge(v, "count_exit", true, "");
	verdict_judge(v, "count_freed_task",
		      values[METRIC_IO_CHARS_READ].number == read_bytes &&
			      values[METRIC_IO_CHARS_WRITTEN].number == written,
		      "the self-test's %" PRIu64 " and %" PRIu64 " bytes were counted as %" PRIu64
		      " and %" PRIu64,
		      read_bytes, written, values[METRIC_IO_CHARS_READ].number,
		      values[METRIC_IO_CHARS_WRITTEN].number);
}

/* The canary slept in a read of a pipe, unless it came to it late; and before that until it was let
 * go. */
static void judge_times(const struct evidence *e, struct verdict *v)
{
	const char *program = is_on(e, "charge_switch") ? "charge_switch"
							: "charge_switch_unstated";
	const struct value *slept = &e->reading->values[METRIC_BLOCKED_PIPE];

	if (!is_on(e, program))
		return;
	verdict_judge(v, program,
		      slept->number >= SELFTEST_SLEEP_NS / 10 &&
			      slept->number < SELFTEST_SLEEP_NS * NAP_LONGEST,
		      "the self-test's sleep of %" PRIu64 " us in a read was counted as %" PRIu64
		      " us",
		      SELFTEST_SLEEP_NS / 1000, slept->number / 1000);
}

void verdict_find(const struct evidence *e, struct verdict *ret)
{
	*ret = (struct verdict){};
	if (is_tier_on(e, "T2")) {
		const struct mount_row *fixture = find_stage(e->reading);

		judge_files(e, ret);
		for (size_t op = OP_DATA_COUNT; fixture && op < OP_COUNT; op++)
			judge_place(e, (enum file_op)op, fixture, ret);
		if (e->talk && e->talk->is_made) {
			judge_traffic(e, ret);
			judge_connection(e, ret);
		}
	}
	if (is_tier_on(e, "T0"))
		judge_tasks(e, ret);
	if (is_tier_on(e, "T1"))
		judge_times(e, ret);
}
