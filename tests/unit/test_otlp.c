/* SPDX-License-Identifier: MIT */
/* Calls as OpenTelemetry's spans: ids, parents, what becomes one; and what a collector answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "export/otlp.h"
#include "export/otlp_sender.h"
#include "test.h"
#include "trace/call.h"
#include "trace/names.h"

static const char set_text[] =
	"[set made]\nabout = a test\nexit = return\n[library l]\nfile = l\n"
	"[probe write]\nkind = write\ncap.fh = p1:u64\n"
	"[probe open]\nkind = open\nsleepable = yes\ncap.path = str(p1, 64)\ncap.fh = ret:s64\n"
	"fails = below-0\nnames = fh\n"
	"[probe call]\n[probe wait]\nkind = wait\n";

enum { WRITE, OPEN, CALL, WAIT };

static const struct trace_process rank = { 4711, 3, "ior" }, other = { 4712, -1, "sh \"x\"" };

struct requests { /* begins as {} */
	json_t *spans; /* of all of them, each with its resource */
	size_t count, told;
};

static int take(void *context, char *text, size_t length, size_t spans)
{
	struct requests *all = context;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *resource, *span;
	size_t i, k;

	free(text);
	ASSERT(root && json_object_size(root) == 1);
	all->count++;
	all->told += spans;
	json_array_foreach(json_object_get(root, "resourceSpans"), i, resource)
	{
		const json_t *scope = json_array_get(json_object_get(resource, "scopeSpans"), 0);

		json_array_foreach(json_object_get(scope, "spans"), k, span)
			json_array_append(all->spans, (json_t *)span);
	}
	json_decref(root);
	return 0;
}

static struct otlp *begin(struct requests *requests, const char *manager, const char *id,
			  const char *scope)
{
	struct otlp *o = NULL;
	const struct otlp_options options = {
		.manager = manager,
		.id = id,
		.scope = scope,
		.name = "a job",
		.host = "node17",
		.slow_ns = OTLP_SLOW_NS,
		.start_ns = 1000,
		.unix_offset_ns = 1000000,
		.take = take,
		.context = requests,
	};
	struct error err = {};

	requests->spans = json_array();
	ASSERT_OK(otlp_open(&options, &o, &err));
	return o;
}

static struct probe_set *made_set(void)
{
	struct probe_set *set = NULL;
	struct error err = {};

	if (probe_set_parse(set_text, strlen(set_text), "made.probe", &set, &err) < 0)
		test_string(err.text, "", "set", __FILE__, __LINE__);
	return set;
}

static struct trace_call made_call(const struct probe_set *set, size_t probe, const char *name,
				   uint32_t depth, uint64_t start_ns, uint64_t end_ns)
{
	return (struct trace_call){
		.set = set,
		.probe = set->probes[probe],
		.name = name,
		.process = &rank,
		.tid = 13,
		.depth = depth,
		.start_ns = start_ns,
		.has_returned = true,
		.duration_ns = end_ns - start_ns,
	};
}

static void add(struct otlp *o, const struct probe_set *set, size_t probe, const char *name,
		uint32_t depth, uint64_t start_ns, uint64_t end_ns)
{
	const struct trace_call call = made_call(set, probe, name, depth, start_ns, end_ns);

	ASSERT_OK(otlp_add(o, &call));
}

static const json_t *span_of(const struct requests *all, const char *name)
{
	const json_t *span, *found = NULL;
	size_t i;

	json_array_foreach(all->spans, i, span)
	{
		if (strcmp(json_string_value(json_object_get(span, "name")), name) == 0)
			found = span;
	}
	return found;
}

static const char *text_of(const json_t *map, const char *key)
{
	const char *text = json_string_value(json_object_get(map, key));

	return text ? text : "";
}

static void check_parent(const struct requests *all, const char *name, const char *parent)
{
	const char *id = text_of(span_of(all, name), "parentSpanId");

	test_string(id, text_of(span_of(all, parent), "spanId"), name, __FILE__, __LINE__);
}

static const char *attribute(const json_t *span, const char *key)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(span, "attributes"), i, item)
	{
		const json_t *value = json_object_get(item, "value");

		if (strcmp(text_of(item, "key"), key) == 0)
			return json_object_get(value, "intValue") ? text_of(value, "intValue")
								  : text_of(value, "stringValue");
	}
	return "";
}

static struct otlp_counts finish(struct otlp *o, uint64_t end_ns)
{
	struct otlp_counts counts;

	ASSERT_OK(otlp_finish(o, end_ns, &counts));
	return counts;
}

TEST(a_span_stands_in_the_narrowest_call_that_is_one)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, "slurm", "17", "");
	struct otlp_counts counts;

	add(o, set, WRITE, "innermost", 3, 2300, 2400); /* in one that was not counted */
	add(o, set, CALL, "short", 1, 2200, 2500); /* is none itself */
	add(o, set, WRITE, "sister", 1, 2600, 2700);
	add(o, set, WRITE, "outer", 0, 2000, 3000);
	add(o, set, WRITE, "lone", 1, 4100, 4200);
	add(o, set, CALL, "short", 0, 4000, 5000);
	add(o, set, WRITE, "of a lost call", 1, 6000, 6100);
	add(o, set, WRITE, "behind it", 0, 6500, 7000);
	add(o, set, WRITE, "unfinished", 2, 8000, 8100);
	counts = finish(o, 9000);

	check_parent(&all, "innermost", "outer");
	check_parent(&all, "sister", "outer");
	check_parent(&all, "outer", "rank 3");
	check_parent(&all, "lone", "rank 3");
	check_parent(&all, "of a lost call", "rank 3");
	check_parent(&all, "behind it", "rank 3");
	check_parent(&all, "unfinished", "rank 3");
	check_parent(&all, "rank 3", "a job");
	ASSERT_STREQ(text_of(span_of(&all, "a job"), "parentSpanId"), "");
	ASSERT_STREQ(text_of(span_of(&all, "a job"), "startTimeUnixNano"), "1001000");
	ASSERT_STREQ(text_of(span_of(&all, "a job"), "endTimeUnixNano"), "1009000");
	ASSERT_STREQ(text_of(span_of(&all, "rank 3"), "startTimeUnixNano"), "1002000");
	ASSERT_STREQ(text_of(span_of(&all, "rank 3"), "endTimeUnixNano"), "1008100");
	ASSERT_EQ(counts.calls, UINT64_C(9));
	ASSERT_EQ(counts.call_spans, UINT64_C(7));
	ASSERT_EQ(counts.spans, UINT64_C(9));
	ASSERT(all.told == 9 && json_array_size(all.spans) == 9 && !counts.misplaced);
	json_decref(all.spans);
}

TEST(other_calls_are_spans_if_they_took_long_or_failed)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, NULL, NULL, "");
	struct trace_call call;
	const json_t *status;

	add(o, set, CALL, "quick", 0, 2000, 2000 + OTLP_SLOW_NS - 1);
	add(o, set, CALL, "slow", 0, 2000, 2000 + OTLP_SLOW_NS);
	call = made_call(set, CALL, "a value", 0, 2000, 2001);
	call.result = -17; /* of which nothing says that it is a failure */
	ASSERT_OK(otlp_add(o, &call));
	call = made_call(set, WAIT, "failed", 0, 2000, 2001);
	call.result = (int64_t)(UINT64_C(0xabcd00000000) + 19); /* 32 bits, and rubbish */
	ASSERT_OK(otlp_add(o, &call));
	call = made_call(set, OPEN, "handle", 0, 2000, 2001);
	call.result = 5;
	ASSERT_OK(otlp_add(o, &call));
	call.name = "no handle";
	call.result = -1;
	ASSERT_OK(otlp_add(o, &call));
	ASSERT_EQ(finish(o, 3000).call_spans, UINT64_C(4));

	ASSERT(!span_of(&all, "quick") && !span_of(&all, "a value"));
	ASSERT(!json_object_get(span_of(&all, "slow"), "status"));
	ASSERT(!json_object_get(span_of(&all, "handle"), "status"));
	status = json_object_get(span_of(&all, "failed"), "status");
	ASSERT_STREQ(text_of(status, "message"), "returned 19");
	ASSERT_EQ(json_integer_value(json_object_get(status, "code")), 2);
	status = json_object_get(span_of(&all, "no handle"), "status");
	ASSERT_STREQ(text_of(status, "message"), "returned -1");
	json_decref(all.spans);
}

TEST(what_is_done_with_a_file_has_its_path)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, NULL, NULL, "");
	struct names names = {};
	struct trace_call open = made_call(set, OPEN, "open", 0, 2000, 2001),
			  write = made_call(set, WRITE, "first", 0, 3000, 3001);

	open.have = write.have = 1;
	open.values[0] = write.values[0] = 77;
	open.names = write.names = &names;
	open.text = "/scratch/\"a\"";
	ASSERT_OK(names_add(&names, &open));
	ASSERT_OK(otlp_add(o, &open));
	ASSERT_OK(otlp_add(o, &write));
	open.text = "b";
	ASSERT_OK(names_add(&names, &open));
	ASSERT_OK(otlp_add(o, &open)); /* another one gets that handle */
	write.name = "second";
	ASSERT_OK(otlp_add(o, &write));
	write.name = "of nobody knows what";
	write.values[0] = 78;
	ASSERT_OK(otlp_add(o, &write));
	write.name = "another process";
	write.values[0] = 77;
	write.tid = 14;
	write.process = &other;
	ASSERT_OK(otlp_add(o, &write));
	finish(o, 9000);
	ASSERT_STREQ(attribute(span_of(&all, "first"), "file.path"), "/scratch/\"a\"");
	ASSERT_STREQ(attribute(span_of(&all, "second"), "file.path"), "b");
	ASSERT_STREQ(attribute(span_of(&all, "of nobody knows what"), "file.path"), "");
	ASSERT_STREQ(attribute(span_of(&all, "another process"), "file.path"), "");
	check_parent(&all, "another process", "sh \"x\"");
	json_decref(all.spans);
	names_clear(&names);
}

/* The caller frees. */
static char *trace_id_of(const char *manager, const char *id, const char *scope)
{
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, manager, id, scope);
	char *text;

	finish(o, 2000);
	text = strdup(text_of(span_of(&all, "a job"), "traceId"));
	json_decref(all.spans);
	return text;
}

TEST(a_job_has_one_trace_id_on_all_nodes)
{
	static const struct {
		const char *manager, *id, *scope;
	} jobs[] = { { "slurm", "17", "" }, { "slurm", "17", "" },   { "slurm", "18", "" },
		     { "pbs", "17", "" },   { "run", "17", "boot" }, { "run", "17", "other" },
		     { "slurm", "1", "7" }, { NULL, NULL, "" },	     { NULL, NULL, "" } };
	char *ids[ARRAY_SIZE(jobs)];

	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		ids[i] = trace_id_of(jobs[i].manager, jobs[i].id, jobs[i].scope);
		ASSERT_EQ((int)strspn(ids[i], "0123456789abcdef"), 32);
		for (size_t k = 0; k < i; k++)
			ASSERT_EQ(strcmp(ids[i], ids[k]) == 0, i == 1 && k == 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		free(ids[i]);
}

TEST(calls_that_wait_for_their_callers_are_bounded)
{
	enum { CALLS = 16384 + 101 };
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, NULL, NULL, "");
	struct otlp_counts counts;
	const json_t *span;
	const char *outer;
	size_t i, in_main = 0;

	for (uint64_t call = 0; call < CALLS; call++)
		add(o, set, WRITE, "write", 1, 2000 + 10 * call, 2005 + 10 * call);
	add(o, set, WRITE, "main", 0, 1500, 2000 + 10 * CALLS);
	counts = finish(o, 1000000);
	outer = text_of(span_of(&all, "main"), "spanId");
	json_array_foreach(all.spans, i, span)
		in_main += strcmp(text_of(span, "parentSpanId"), outer) == 0;
	ASSERT_EQ(counts.call_spans, (uint64_t)CALLS + 1);
	ASSERT_EQ(counts.misplaced, UINT64_C(16384));
	ASSERT_EQ((int)in_main, 101);
	ASSERT(all.told == CALLS + 3 && json_array_size(all.spans) == CALLS + 3);
	json_decref(all.spans);
}

TEST(calls_of_another_thread_are_bounded_with_them)
{
	enum { CALLS = 16384, OTHERS = 101 };
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, NULL, NULL, "");
	struct otlp_counts counts;

	for (uint64_t call = 0; call < CALLS; call++)
		add(o, set, WRITE, "write", 1, 2000 + 10 * call, 2005 + 10 * call);
	for (uint64_t i = 0; i < OTHERS; i++) {
		struct trace_call call = made_call(set, WRITE, "other", 1, 2000 + 10 * i,
						   2005 + 10 * i);

		call.tid = 14;
		ASSERT_OK(otlp_add(o, &call));
	}
	add(o, set, WRITE, "main", 0, 1500, 2000 + 10 * CALLS);
	counts = finish(o, 1000000);
	ASSERT_EQ(counts.misplaced, (uint64_t)OTHERS - 1); /* but for the last, which waits */
	ASSERT_EQ(counts.call_spans, (uint64_t)CALLS + OTHERS + 1);
	json_decref(all.spans);
}

TEST(a_request_has_some_hundred_spans)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct requests all = {};
	_cleanup_(otlp_freep) struct otlp *o = begin(&all, NULL, NULL, "");

	for (uint64_t call = 0; call < 1031; call++)
		add(o, set, WRITE, "write", 0, 2000 + 10 * call, 2005 + 10 * call);
	ASSERT_EQ((int)all.count, 2);
	add(o, set, WRITE, "write", 0, 2000000000, 2000000001); /* and waits no longer than 1 s */
	ASSERT_EQ((int)all.count, 3);
	ASSERT_EQ((int)all.told, 1032);
	ASSERT_EQ(finish(o, 3000000000).spans, UINT64_C(1034));
	ASSERT_EQ((int)all.told, 1034);
	json_decref(all.spans);
}

/* ---- what a collector answers ---- */

static uint64_t parse(const char *text, uint64_t spans, char why[OTLP_SENDER_REASON_SIZE])
{
	strcpy(why, "-");
	return otlp_answer_parse(text, strlen(text), spans, why);
}

TEST(an_answer_says_how_many_were_rejected_and_why)
{
	char why[OTLP_SENDER_REASON_SIZE];

	ASSERT_EQ(parse("{\"partialSuccess\":{\"rejectedSpans\":\"17\",\"errorMessage\":"
			"\"a\\u001b[2J\\nb\"}}",
			20, why),
		  UINT64_C(17));
	ASSERT_STREQ(why, "a [2J b");
	ASSERT_EQ(parse("{\"partialSuccess\":{\"rejectedSpans\":19}}", 20, why), UINT64_C(19));
	ASSERT_STREQ(why, "-");
	ASSERT_EQ(parse("{\"partialSuccess\":{\"rejectedSpans\":\"99\"}}", 20, why), UINT64_C(20));
	ASSERT_EQ(parse("{\"code\":3,\"message\":\"no\"}", 20, why), UINT64_C(0));
	ASSERT_STREQ(why, "no");
}

TEST(what_is_no_answer_rejects_none)
{
	static const char *const texts[] = {
		"",
		"{}",
		"<html>",
		"[1]",
		"{\"partialSuccess\":7}",
		"{\"partialSuccess\":{\"rejectedSpans\":-3}}",
		"{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}",
		"{\"partialSuccess\":{\"rejectedSpans\":\"3x\"}}",
		"{\"partialSuccess\":{\"rejectedSpans\":\"99999999999999999999\"}}",
		"{\"partialSuccess\":{\"rejectedSpans\":[3],\"errorMessage\":4}}",
		"{\"message\":{}}",
	};
	char why[OTLP_SENDER_REASON_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		ASSERT_EQ(parse(texts[i], 20, why), UINT64_C(0));
		ASSERT_STREQ(why, "-");
	}
}
