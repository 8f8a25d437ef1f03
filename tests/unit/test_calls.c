/* SPDX-License-Identifier: MIT */
/* What is made of traced calls: Chrome's JSON, stacks, lines and the summary. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "bpf/trace_rows.h"
#include "export/chrome.h"
#include "export/folded.h"
#include "export/trace_output.h"
#include "model/reading.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "made.h"
#include "test.h"
#include "trace/call.h"
#include "trace/gpu_work.h"
#include "trace/names.h"
#include "trace/summary.h"

static const char set_text[] =
	"[set made]\nabout = a test\nexit = return\n[library l]\nfile = l\n"
	"[probe write_at]\nkind = write\ncap.offset = p2:s64\ncap.fh = p1:u64\n"
	"cap.count = p3:s32\nbytes = 8 * count\n"
	"[probe barrier]\nkind = collective\ncap.comm = p1:u64\n"
	"[probe open]\nkind = open\nsleepable = yes\ncap.path = str(p1, 64)\n"
	"cap.fh = ret:u64\n[probe begin]\nexit = none\n"
	"[words way]\nrows = to from\n"
	"[probe copy]\nkind = copy\ncap.way = p1:u32\ncap.size = p2:u64\nbytes = size\nkey = way\n"
	"[probe launch]\nkind = launch\nasync = yes\ncap.f = p1:u64\nkey = f\n"
	"[probe name]\nsilent = yes\nsleepable = yes\nexit = return\ncap.f = p1:u64\n"
	"cap.text = str(p2, 64)\nnames = f\n"
	"[probe reduce]\nkind = collective\ncap.way = p1:u32\ncap.size = p2:u64\nbytes = size\n"
	"key = way\n[probe sync]\nkind = synchronise\n[probe get]\nkind = allocate\n"
	"cap.size = p1:u64\nbytes = size\n";

enum { WRITE_AT, BARRIER, OPEN, BEGIN, COPY, LAUNCH, NAME, REDUCE, SYNC, GET };

static const struct trace_process ranks[] = { { 4711, 0, "ior" }, { 4712, 1, "ior" } };
static const struct trace_process other = { 4713, -1, "sh \"x\"" };

static struct probe_set *made_set(void)
{
	struct probe_set *set = NULL;
	struct error err = {};

	if (probe_set_parse(set_text, strlen(set_text), "made.probe", &set, &err) < 0)
		test_string(err.text, "", "set", __FILE__, __LINE__);
	return set;
}

static struct trace_call made_call(const struct probe_set *set, size_t probe,
				   const struct trace_process *process, uint64_t start_ns,
				   uint64_t duration_ns)
{
	return (struct trace_call){
		.set = set,
		.probe = set->probes[probe],
		.name = set->probes[probe]->name,
		.process = process,
		.tid = process->pid,
		.cpu = 3,
		.start_ns = start_ns,
		.has_returned = probe != BEGIN,
		.duration_ns = duration_ns,
	};
}

TEST(an_event_becomes_a_call_with_what_it_has)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct trace_event_long event = { .event = { .size = sizeof(event),
						     .flags = TRACE_HAS_RETURNED | TRACE_HAS_TEXT,
						     .has = 0x21,
						     .start_ns = 7,
						     .duration_ns = 11,
						     .tid = 13,
						     .cpu = 1,
						     .result = -17,
						     .depth = 2,
						     .captures = { 19 } },
					  .captures = { 0, 23 },
					  .text = "path" };
	struct trace_call call;

	call_decode(&event.event, set, set->probes[OPEN], "open64", &call);
	ASSERT_STREQ(call.name, "open64");
	ASSERT_STREQ(call.text, "path");
	ASSERT(call.has_returned && !call.has_bytes && call.depth == 2 && call.result == -17);
	ASSERT(call.have == 0x21 && call.values[0] == 19 && call.values[5] == 23);
	event.event.size = sizeof(event.event);
	call_decode(&event.event, set, set->probes[OPEN], "open", &call);
	ASSERT(call.have == 1 && !call.text);
}

static const json_t *find_event(const json_t *events, const char *name, const char *phase,
				size_t number)
{
	const json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0 &&
		    strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0 &&
		    number-- == 0)
			return event;
	}
	return NULL;
}

static json_int_t number_of(const json_t *map, const char *key)
{
	return json_integer_value(json_object_get(map, key));
}

static json_t *read_chrome(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		test_string(error.text, "", path, __FILE__, __LINE__);
	return root;
}

TEST(a_chrome_file_has_ranks_threads_and_slices)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(chrome_freep) struct chrome *c = NULL;
	const char *path = test_path("trace.json");
	struct chrome_options options = { .part_bytes = 1 << 20,
					  .start_ns = 1000,
					  .start_unix_ns = 1700000000000000000,
					  .job = "17" };
	struct trace_call write = made_call(set, WRITE_AT, &ranks[1], 3345, 67089);
	struct trace_call begin = made_call(set, BEGIN, &other, 5000, 0);
	struct trace_call early = made_call(set, BARRIER, &ranks[0], 999, 5);
	const json_t *event, *args;
	struct error err = {};
	unsigned int parts = 0;
	json_t *root;

	write.have = 7;
	write.values[0] = 1 << 20;
	write.values[1] = -1;
	write.values[2] = 5;
	write.has_bytes = true;
	write.bytes = 40;
	options.path = path;
	ASSERT_OK(chrome_open(&options, &c, &err));
	ASSERT_OK(chrome_add(c, &write, &err));
	ASSERT_OK(chrome_add(c, &begin, &err));
	ASSERT_OK(chrome_add(c, &early, &err));
	ASSERT_OK(chrome_finish(c, &parts, &err));
	ASSERT_EQ(parts, (unsigned int)1);

	root = read_chrome(path);
	ASSERT_STREQ(json_string_value(json_object_get(json_object_get(root, "otherData"), "job")),
		     "17");
	event = find_event(json_object_get(root, "traceEvents"), "write_at", "X", 0);
	ASSERT(event);
	ASSERT_EQ(number_of(event, "pid"), 1);
	ASSERT_EQ(number_of(event, "tid"), 4712);
	ASSERT_STREQ(json_string_value(json_object_get(event, "cat")), "made");
	ASSERT(json_real_value(json_object_get(event, "ts")) == 2.345);
	ASSERT(json_real_value(json_object_get(event, "dur")) == 67.089);
	args = json_object_get(event, "args");
	ASSERT_EQ(number_of(args, "offset"), 1 << 20);
	ASSERT_EQ(number_of(args, "bytes"), 40);
	event = find_event(json_object_get(root, "traceEvents"), "begin", "i", 0);
	ASSERT(event && number_of(event, "pid") == 4713 && !json_object_get(event, "dur"));
	event = find_event(json_object_get(root, "traceEvents"), "process_name", "M", 0);
	ASSERT_STREQ(json_string_value(json_object_get(json_object_get(event, "args"), "name")),
		     "rank 1 (ior)");
	ASSERT(!find_event(json_object_get(root, "traceEvents"), "barrier", "X", 0));
	json_decref(root);
}

TEST(ranks_of_another_run_have_numbers_of_their_own)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(chrome_freep) struct chrome *c = NULL;
	struct chrome_options options = { .path = test_path("runs.json"), .part_bytes = 1 << 20 };
	const struct trace_process one = { .pid = 700, .rank = 0, .run = 1 },
				   another = { .pid = 800, .rank = 0, .run = 2 };
	const struct trace_call first = made_call(set, BARRIER, &one, 10, 5),
				second = made_call(set, BARRIER, &another, 20, 5);
	struct error err = {};
	unsigned int parts;
	json_t *root;

	ASSERT_OK(chrome_open(&options, &c, &err));
	ASSERT_OK(chrome_add(c, &first, &err));
	ASSERT_OK(chrome_add(c, &second, &err));
	ASSERT_OK(chrome_finish(c, &parts, &err));
	root = read_chrome(options.path);
	ASSERT_EQ(number_of(find_event(json_object_get(root, "traceEvents"), "barrier", "X", 0),
			    "pid"),
		  0);
	ASSERT_EQ(number_of(find_event(json_object_get(root, "traceEvents"), "barrier", "X", 1),
			    "pid"),
		  800);
	json_decref(root);
}

TEST(a_large_chrome_trace_is_several_whole_files)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(chrome_freep) struct chrome *c = NULL;
	const char *path = test_path("many.json");
	struct chrome_options options = { .part_bytes = 2000 };
	struct error err = {};
	unsigned int parts = 0;
	size_t found = 0;

	options.path = path;
	ASSERT_OK(chrome_open(&options, &c, &err));
	for (uint64_t i = 0; i < 97; i++) {
		struct trace_call call = made_call(set, BARRIER, &ranks[i % 2], 1000 * i, 7);

		ASSERT_OK(chrome_add(c, &call, &err));
	}
	ASSERT_OK(chrome_finish(c, &parts, &err));
	ASSERT(parts > 3);
	for (unsigned int part = 1; part <= parts; part++) {
		_cleanup_free_ char *name = NULL;
		const json_t *events;
		json_t *root;

		ASSERT(asprintf(&name, part == 1 ? "%s/many.json" : "%s/many-%u.json", test_dir(),
				part) > 0);
		root = read_chrome(name);
		events = json_object_get(root, "traceEvents");
		ASSERT(find_event(events, "process_name", "M", 0));
		for (size_t i = 0; find_event(events, "barrier", "X", i); i++)
			found++;
		json_decref(root);
	}
	ASSERT_EQ((uint64_t)found, (uint64_t)97);
}

TEST(a_chrome_file_that_cannot_be_made_is_an_error)
{
	struct chrome_options options = { .path = "/nowhere/x.json", .part_bytes = 1 };
	struct chrome *c = NULL;
	struct error err = {};

	ASSERT_ERR(chrome_open(&options, &c, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "cannot write '/nowhere/x.json'");
	ASSERT(!c);
}

static void add_folded(struct folded *f, struct trace_call call, uint32_t depth)
{
	call.depth = depth;
	ASSERT_OK(folded_add(f, &call));
}

TEST(a_functions_own_time_is_what_none_below_has)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(folded_freep) struct folded *f = folded_new();
	_cleanup_free_ char *text = NULL;
	struct made_text t = {};

	/* rank 0: write_at { barrier barrier open { barrier } } write_at, rank 1: barrier */
	add_folded(f, made_call(set, BARRIER, &ranks[0], 10, 3), 1);
	add_folded(f, made_call(set, BARRIER, &ranks[1], 10, 41), 0);
	add_folded(f, made_call(set, BARRIER, &ranks[0], 20, 4), 1);
	add_folded(f, made_call(set, BARRIER, &ranks[0], 31, 5), 2);
	add_folded(f, made_call(set, OPEN, &ranks[0], 30, 11), 1);
	add_folded(f, made_call(set, WRITE_AT, &ranks[0], 5, 101), 0);
	add_folded(f, made_call(set, WRITE_AT, &ranks[0], 200, 13), 0);
	add_folded(f, made_call(set, BEGIN, &ranks[0], 300, 13), 0);
	ASSERT_OK(folded_write(f, made_text_stream(&t)));
	text = made_text_end(&t);
	ASSERT_CONTAINS(text, "rank 0;write_at 96\n"); /* 101 + 13 - 3 - 4 - 11 */
	ASSERT_CONTAINS(text, "rank 0;write_at;barrier 7\n");
	ASSERT_CONTAINS(text, "rank 0;write_at;open 6\n");
	ASSERT_CONTAINS(text, "rank 0;write_at;open;barrier 5\n");
	ASSERT_CONTAINS(text, "rank 1;barrier 41\n");
	ASSERT_LACKS(text, "begin");
}

TEST(a_line_says_what_is_known_and_null_for_the_rest)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	struct trace_call write = made_call(set, WRITE_AT, &ranks[1], 345, 67);
	struct trace_call begin = made_call(set, BEGIN, &other, 400, 0);
	struct made_text t = {};
	FILE *out = made_text_stream(&t);

	write.have = 5;
	write.values[0] = 1 << 20;
	write.values[2] = 5;
	write.has_bytes = true;
	write.bytes = 40;
	ASSERT_OK(call_line_write(&write, "17", 1000, out));
	ASSERT_OK(call_line_write(&begin, NULL, 1000, out));
	ASSERT_TEXT(made_text_end(&t),
		    "{\"task\":\"ior\",\"rank\":1,\"pid\":4712,\"tid\":4712,\"cpu\":3,"
		    "\"timestamp_ns\":1345,\"job\":\"17\",\"probe\":\"made:write_at\","
		    "\"arguments\":{\"offset\":1048576,\"count\":5},\"bytes\":40,"
		    "\"duration_ns\":67,\"return\":0}\n"
		    "{\"task\":\"sh \\\"x\\\"\",\"rank\":null,\"pid\":4713,\"tid\":4713,\"cpu\":3,"
		    "\"timestamp_ns\":1400,\"job\":null,\"probe\":\"made:begin\","
		    "\"arguments\":{},\"bytes\":null,\"duration_ns\":null,\"return\":null}\n");
}

static char *summary_text(struct trace_summary *s, const struct reading *kernel)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct made_text t = {};
	FILE *out = made_text_stream(&t);
	struct page page = { .out = out, .width = 100, .is_utf8 = true };

	trace_summary_rows(s, 1000000000, false, kernel, rows);
	rows_text(rows, ROWS_TEXT, &page);
	return made_text_end(&t);
}

TEST(a_summary_says_functions_sizes_waits_and_files)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(trace_summary_freep) struct trace_summary *s = trace_summary_new();
	struct trace_sums writes = { { .calls = 5, .bytes = 31 << 20, .ns = 250000000 } };
	struct trace_sums barriers = { { .calls = 23, .ns = 100000000, .failed = 3 } };
	struct mount_row mounts[] = {
		{ .kind = ROW_MOUNT,
		  .mount = (char *)"/scratch",
		  .ops[OP_WRITE] = { .calls = 10, .bytes = 62 << 20 } },
		{ .kind = ROW_PIPE, .mount = (char *)"(pipe)", .ops[OP_READ] = { 7, 7, 0, 0, 0 } },
	};
	const struct reading kernel = { .mounts = mounts, .mount_count = 2, .has_mounts = true };
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < 5; i++)
		writes.sizes[21 + i] = 1; /* 1 to 16 MiB */
	writes.durations[26] = 5;
	for (size_t i = 0; i < 2; i++) {
		struct trace_call call = made_call(set, BARRIER, &ranks[i], 100 + 60 * i, 200);

		call.have = 1;
		ASSERT_OK(trace_summary_add_sums(s, &ranks[i], set->probes[WRITE_AT], "write_at",
						 NULL, &writes));
		barriers.numbers.ns *= 1 + 2 * i;
		ASSERT_OK(trace_summary_add_sums(s, &ranks[i], set->probes[BARRIER], "barrier",
						 NULL, &barriers));
		ASSERT_OK(trace_summary_add_call(s, &call));
		call.values[0] = 1; /* another communicator: not compared */
		ASSERT_OK(trace_summary_add_call(s, &call));
	}
	text = summary_text(s, &kernel);
	ASSERT_GOLDEN(text, "made-trace.txt");
	ASSERT_TOLD(summary_text(s, NULL), "not measured");
}

static void add_gpu(struct trace_summary *s, const struct probe_set *set, size_t probe,
		    const char *label, uint64_t calls, uint64_t bytes, uint64_t ns)
{
	const struct trace_sums sums = { { .calls = calls, .bytes = bytes, .ns = ns } };

	ASSERT_OK(trace_summary_add_sums(s, &ranks[0], set->probes[probe], set->probes[probe]->name,
					 label, &sums));
}

TEST(work_for_gpus_is_summed_by_what_it_is)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(trace_summary_freep) struct trace_summary *s = trace_summary_new();

	for (size_t i = 0; i < 2; i++) { /* of two CPUs */
		add_gpu(s, set, LAUNCH, "_Z4axpyPfi", 601, 0, 5000);
		add_gpu(s, set, LAUNCH, "scale", 11, 0, 5000);
		add_gpu(s, set, LAUNCH, "0x7f01", 1, 0, 5000);
		add_gpu(s, set, COPY, "from", 7, 7 << 20, 1000000);
		add_gpu(s, set, COPY, "to", 3, 3 << 10, 1000000);
	}
	add_gpu(s, set, REDUCE, "float16", 5, 5 << 10, 1000);
	add_gpu(s, set, SYNC, NULL, 13, 0, 250000000);
	add_gpu(s, set, GET, NULL, 17, 17 << 20, 1000);
	ASSERT_TOLD(summary_text(s, NULL), "axpy       1,202   98 %\n", "scale         22    2 %\n",
		    "the names of 1 kernels were not seen",
		    "copies      from  14 MiB in 14 calls, 6.8 GiB/s\n"
		    "            to  6 KiB in 6 calls, 2.9 MiB/s\n",
		    "reduce of float16  5 KiB in 5 calls", "17 MiB allocated in 17 calls",
		    "waited 250 ms for the GPU in 13 calls, 25.0 %");
}

TEST(a_kernel_has_a_short_name)
{
	static const char *const cases[][2] = {
		{ "axpy", "axpy" },
		{ "ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn" },
		{ "_Z4axpyPfi", "axpy" },
		{ "_ZL4axpyPfi", "axpy" },
		{ "_Z5scaleIdEvPT_", "scale<...>" },
		{ "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor",
		  "at::native::vectorized_elementwise_kernel<...>" },
		{ "_ZN12_GLOBAL__N_14axpyEPf", "axpy" },
		{ "_ZN29_GLOBAL__N__0d1f_tmpxft_000013addEv", "add" }, /* nvcc's */
		{ "_ZN3std", "std" }, /* cut */
		{ "_ZSt4swapIiEvv", "std::swap<...>" },
		{ "_ZN12longername", "longername" },
		{ "_ZN99999999999999999999999a", "_ZN99999999999999999999999a" },
		{ "_Z", "_Z" },
		{ "_ZN0", "_ZN0" },
	};
	char name[64], tiny[6];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		gpu_work_kernel_name(cases[i][0], name, sizeof(name));
		ASSERT_STREQ(name, cases[i][1]);
	}
	gpu_work_kernel_name("_ZN2at6nativeE", tiny, sizeof(tiny));
	ASSERT_STREQ(tiny, "at::n");
}

TEST(a_number_is_shown_with_the_name_that_it_was_given)
{
	_cleanup_(probe_set_freep) struct probe_set *set = made_set();
	_cleanup_(names_clear) struct names names = {};
	struct trace_call name = made_call(set, NAME, &ranks[0], 7, 5);
	const struct trace_process forked = { 4799, -1, "ior" };

	name.values[0] = 0x7f0011;
	name.text = "axpy";
	ASSERT_OK(names_add(&names, &name)); /* its number is not there */
	ASSERT(!names_find(&names, set, "f", &ranks[0], 0x7f0011));
	name.have = 1;
	name.result = 3;
	ASSERT_OK(names_add(&names, &name)); /* it has failed */
	ASSERT(!names_find(&names, set, "f", &ranks[0], 0x7f0011));
	name.result = 0;
	for (int64_t i = 0; i < 4001; i++) {
		name.values[0] = 0x7f0011 + i * 16;
		ASSERT_OK(names_add(&names, &name));
	}
	name.text = "scale";
	ASSERT_OK(names_add(&names, &name));
	ASSERT_STREQ(names_find(&names, set, "f", &ranks[0], 0x7f0011), "axpy");
	ASSERT_STREQ(names_find(&names, set, "f", &ranks[0], 0x7f0011 + 4000 * 16), "scale");
	ASSERT(!names_find(&names, set, "g", &ranks[0], 0x7f0011));
	ASSERT(!names_find(&names, set, "f", &forked, 0x7f0011));
	ASSERT_STREQ(names_find(NULL, set, "way", &forked, 1), "from");
}
