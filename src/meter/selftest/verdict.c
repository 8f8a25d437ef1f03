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

static struct judged *get_judged(struct verdict *v, const char *program)
{
	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->items[i].program, program) == 0)
			return &v->items[i];
	}
	if (v->count == VERDICT_MAX)
		return NULL;
	v->items[v->count] = (struct judged){ .program = program };
	return &v->items[v->count++];
}

static void believe(struct verdict *v, const char *program)
{
	(void)get_judged(v, program);
}

static void doubt(struct verdict *v, const char *program, const char *format, ...)
{
	struct judged *judged = get_judged(v, program);
	va_list args;

	if (!judged || *judged->why) /* the first reason is the nearest */
		return;
	va_start(args, format);
	vsnprintf(judged->why, sizeof(judged->why), format, args);
	va_end(args);
}

/* ---- how much ---- */

static void add_result(struct op_counts *to, enum file_op op, long result)
{
	to->calls++;
	if (result < 0)
		to->errors++;
	else if (op < OP_DATA_COUNT)
		to->bytes += (uint64_t)result;
}

/* What was run of an operation by one way. */
static struct op_counts sum_selftest(const long *results, enum file_op op,
				     enum file_interface interface)
{
	struct op_counts sum = {};
	size_t count;
	const struct case_ *cases = selftest_cases(&count);

	for (size_t i = 0; i < count; i++) {
		if (results[i] == CASE_NOT_RUN || cases[i].interface != interface)
			continue;
		if (cases[i].op == op || (cases[i].is_copy && op == OP_WRITE))
			add_result(&sum, op, results[i]);
	}
	return sum;
}

static void take_off(struct op_counts *from, const struct op_counts *part)
{
	from->calls -= part->calls;
	from->bytes -= part->bytes;
	from->errors -= part->errors;
}

/* What was counted of it, over all rows that are a group's. */
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
		     op < OP_DATA_COUNT && other < INTERFACE_MAPPING; other++)
			take_off(&sum, &row->interfaces[other][op]);
	}
	return sum;
}

static bool are_equal(const struct op_counts *a, const struct op_counts *b)
{
	return a->calls == b->calls && a->bytes == b->bytes && a->errors == b->errors;
}

/* What the canary's own program and libraries cost in page-ins is in it, where they were not in
 * memory. */
static bool is_right(const struct op_counts *is, const struct op_counts *should, enum file_op op,
		     enum file_interface interface)
{
	if (interface == INTERFACE_MAPPING && op == OP_READ)
		return is->calls >= should->calls && is->bytes >= should->bytes;
	return are_equal(is, should);
}

static void judge_count(const struct evidence *e, enum file_op op, enum file_interface interface,
			struct verdict *v)
{
	struct op_counts should = sum_selftest(e->results, op, interface);
	struct op_counts is = sum_reading(e->reading, op, interface);
	const char *const *programs = programs_of(op, interface);

	if (should.calls == 0 && interface != INTERFACE_CALL)
		return;
	for (size_t i = 0; i < RESTS_MAX && programs[i]; i++) {
		if (is_right(&is, &should, op, interface))
			believe(v, programs[i]);
		else if (interface != INTERFACE_LIBAIO || !e->is_disturbed)
			doubt(v, programs[i],
			      "the self-test's %s%s%s of %" PRIu64 " calls, %" PRIu64
			      " bytes, %" PRIu64 " errors was counted as %" PRIu64 ", %" PRIu64
			      " and %" PRIu64,
			      file_op_name(op), interface == INTERFACE_CALL ? "" : " by ",
			      interface == INTERFACE_CALL ? "" : file_interface_name(interface),
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

	if (pipe && pipe->has_seconds && !pipe->ops[OP_READ].ns) /* of a call that was forgotten
								    there is none */
		doubt(v, "park_call", "the self-test's sleep in a read was not timed");
	else if (pipe && pipe->has_seconds)
		believe(v, "park_call");
	if (lacks_interrupted(e))
		doubt(v, "settle_interrupted_call",
		      "the self-test's read that a signal ended was not counted");
	else
		believe(v, "settle_interrupted_call");
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
		if (is_traffic_right(n, e->talk))
			believe(v, rests_of_calls[i]);
		else
			doubt(v, rests_of_calls[i],
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

	if (!is_on(e, "open_connection") || !is_on(e, "end_connection"))
		return;
	if (opened == 1 && accepted == 1 && segments == e->talk->calls)
		believe(v, "open_connection");
	else if (!e->is_disturbed)
		doubt(v, "open_connection",
		      "the self-test's connection to itself and its %u segments were counted as %" PRIu64
		      " opened, %" PRIu64 " accepted and %" PRIu64 " segments",
		      e->talk->calls, opened, accepted, segments);
	if (!e->has_left_connections)
		believe(v, "end_connection");
	else if (!e->is_disturbed)
		doubt(v, "end_connection", "the end of the self-test's connection was not seen");
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

/* Whether a call got as far as to where its place is told; some are refused before. */
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
		if (is == should)
			believe(v, cases[i].placed_by);
		else if (!e->is_disturbed)
			doubt(v, cases[i].placed_by,
			      "of the self-test's %" PRIu64 " calls of %s %" PRIu64
			      " were placed on its file system",
			      should, file_op_name(op), is);
	}
}

static void judge_places(const struct evidence *e, struct verdict *v)
{
	const struct mount_row *fixture = find_stage(e->reading);

	for (size_t op = OP_DATA_COUNT; fixture && op < OP_COUNT; op++)
		judge_place(e, (enum file_op)op, fixture, v);
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
		doubt(v, "count_freed_task", "the self-test's end was not seen in %d ms",
		      e->settle_ms);
		return;
	}
	believe(v, "count_exit");
	if (values[METRIC_IO_CHARS_READ].number == read_bytes &&
	    values[METRIC_IO_CHARS_WRITTEN].number == written)
		believe(v, "count_freed_task");
	else
		doubt(v, "count_freed_task",
		      "the self-test's %" PRIu64 " and %" PRIu64 " bytes were counted as %" PRIu64
		      " and %" PRIu64,
		      read_bytes, written, values[METRIC_IO_CHARS_READ].number,
		      values[METRIC_IO_CHARS_WRITTEN].number);
}

/* The program that sees tasks leave a CPU; NULL: there is none. */
static const char *find_switch(const struct evidence *e)
{
	static const char *const programs[] = { "charge_switch", "charge_switch_unstated" };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		if (is_on(e, programs[i]))
			return programs[i];
	}
	return NULL;
}

/* The canary slept in a read of a pipe, unless it came to it late; and before that until it was let
 * go. */
static void judge_times(const struct evidence *e, struct verdict *v)
{
	const char *program = find_switch(e);
	const struct value *slept = &e->reading->values[METRIC_BLOCKED_PIPE];

	if (!program)
		return;
	if (slept->number >= SELFTEST_SLEEP_NS / 10 &&
	    slept->number < SELFTEST_SLEEP_NS * NAP_LONGEST)
		believe(v, program);
	else
		doubt(v, program,
		      "the self-test's sleep of %" PRIu64 " us in a read was counted as %" PRIu64
		      " us",
		      SELFTEST_SLEEP_NS / 1000, slept->number / 1000);
}

void verdict_find(const struct evidence *e, struct verdict *ret)
{
	*ret = (struct verdict){};
	if (is_tier_on(e, "T2")) {
		judge_files(e, ret);
		judge_places(e, ret);
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
