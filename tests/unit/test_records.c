/* SPDX-License-Identifier: MIT */
#include "codec/records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "test.h"

static struct record *parse(const char *text)
{
	struct records list = {};
	struct error err = { "" };
	struct record *record;

	ASSERT_OK(records_parse(text, strlen(text), "made", &list, &err));
	ASSERT_EQ(list.count, 1);
	record = list.items[0];
	list.count = 0;
	records_clear(&list);
	return record;
}

static void rtt(const struct record *record)
{
	_cleanup_free_ char *before = made_json(record), *after = NULL;
	_cleanup_(record_freep) struct record *back = parse(before);

	after = made_json(back);
	ASSERT_STREQ(after, before);
}

TEST(a_record_comes_back_byte_by_byte)
{
	_cleanup_(record_freep) struct record *full = made_record(3), *empty = record_new();

	rtt(full);
	rtt(empty);
}

TEST(a_clock_that_was_off_is_corrected_for_the_next_record_alone)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *json = made_json(r), *text = NULL;
	struct records list = {};
	struct error err;

	ASSERT(asprintf(&text, "{\"schema\":\"jobmeter.clock/1\",\"ahead_ns\":3000000001}\n%s%s",
			json, json) > 0);
	ASSERT_OK(records_parse(text, strlen(text), "made", &list, &err));
	ASSERT_EQ(list.count, 2);
	ASSERT_EQ(list.items[0]->time.start_ns, r->time.start_ns - 3000000001);
	ASSERT_EQ(list.items[0]->time.end_ns, r->time.end_ns - 3000000001);
	ASSERT_EQ(list.items[1]->time.start_ns, r->time.start_ns);
	records_clear(&list);
	ASSERT_ERR(records_parse("{\"schema\":\"jobmeter.clock/1\",\"ahead_ns\":\"x\"}", 44, "made",
				 &list, &err),
		   -EINVAL);
	records_clear(&list);
}

TEST(causes_stand_in_a_map_of_their_own)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *json = made_json(r);

	ASSERT_CONTAINS(json, "\"causes\": {");
	ASSERT_CONTAINS(json, "\"file_write_seconds\": 1.000000007");
	ASSERT_CONTAINS(json, "\"blocked_seconds\": 105.000000735");
	back = parse(json);
	ASSERT_EQ(back->reading.values[METRIC_BLOCKED_FILE_WRITE].number, 1000000007);
	ASSERT_EQ(back->cores.balance.number, 9973);
	ASSERT(!back->ranks.count.is_known);
}

TEST(what_is_unknown_stays_unknown)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *json = NULL;

	r->reading.mounts[0].has_seconds = false;
	r->reading.mounts[1].has_histograms = false;
	r->reading.values[METRIC_CPU_USER].is_known = false;
	r->coverage.read_accounting.is_known = false;
	rtt(r);
	json = made_json(r);
	back = parse(json);
	ASSERT(!back->reading.mounts[0].has_seconds && back->reading.mounts[0].has_histograms);
	ASSERT(back->reading.mounts[1].has_seconds && !back->reading.mounts[1].has_histograms);
	ASSERT(!back->reading.values[METRIC_CPU_USER].is_known);
	ASSERT(!back->coverage.read_accounting.is_known &&
	       back->coverage.write_accounting.is_known);

	r->reading.has_mounts = false;
	rtt(r);
}

TEST(a_job_that_nobody_saw_begin_has_no_elapsed_time)
{
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_free_ char *json = made_json(r);

	ASSERT_CONTAINS(json, "\"elapsed_seconds\": null");
	ASSERT_CONTAINS(json, "\"unmeasured_seconds\": 0,"); /* which is known, always */
}

TEST(a_record_tells_interfaces_and_mappings_where_there_are_any)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *json = NULL;
	const struct mount_row *row;

	r->reading.mounts[0].interfaces[INTERFACE_CALL][OP_READ].bytes = 5; /* is what is left, and
									       not told */
	r->reading.mounts[1].interfaces[INTERFACE_LIBAIO][OP_READ] = (struct op_counts){ 1, 0, 1, 0,
											 0 };
	json = made_json(r);
	ASSERT_CONTAINS(json,
			"      \"interfaces\": {\n"
			"        \"sendfile\": {\n"
			"          \"read\": {\"bytes\": 4095, \"calls\": 7, \"errors\": 0},\n"
			"          \"write\": {\"bytes\": 0, \"calls\": 0, \"errors\": 0}\n"
			"        }\n"
			"      },\n"
			"      \"mapped\": {\"read_bytes\": 0, \"write_bytes\": 8192},\n"
			"      \"meta\": {\n"
			"        \"open\": {\"calls\": 17, \"errors\": 2, \"not_found\": 1, "
			"\"seconds\": 0.000013}\n");
	ASSERT_CONTAINS(json, "      \"interfaces\": {},\n      \"meta\": {\n");
	ASSERT_LACKS(json, "\"call\"");
	ASSERT_LACKS(json, "mapping");
	back = parse(json);
	row = reading_find_mount(&back->reading, ROW_MOUNT, "/scratch", "lustre");
	ASSERT_EQ(row->interfaces[INTERFACE_SENDFILE][OP_READ].calls, 7);
	ASSERT_EQ(row->interfaces[INTERFACE_MAPPING][OP_WRITE].bytes, 8192);
	ASSERT_EQ(row->ops[OP_OPEN].not_found, 1);
	ASSERT(mount_row_has_interface(&back->reading.mounts[1], INTERFACE_LIBAIO)); /* one that
											failed */
	rtt(r);
}

TEST(an_older_record_does_not_know_what_was_not_found)
{
	static const char text[] =
		"{\"schema\": \"jobmeter.record/1\", \"io\": [{\"mount\": \"/\", \"read\": "
		"{\"bytes\": 1, \"calls\": 1, \"errors\": 0}, \"write\": {\"bytes\": 1, "
		"\"calls\": 1, \"errors\": 0}, \"meta\": {\"open\": {\"calls\": 7, \"errors\": 3,"
		" \"seconds\": 1}}}], \"coverage\": {\"accounting\": {\"read\": {\"tasks_bytes\": 1,"
		" \"rows_bytes\": 1, \"difference_bytes\": 0}}}}";
	_cleanup_(record_freep) struct record *r = parse(text);
	_cleanup_free_ char *json = made_json(r);

	ASSERT(!mount_row_knows(&r->reading.mounts[0], METRIC_META_NOT_FOUND));
	ASSERT(mount_row_knows(&r->reading.mounts[0], METRIC_META_ERRORS));
	ASSERT_CONTAINS(json, "{\"calls\": 7, \"errors\": 3, \"not_found\": null, ");
	ASSERT_CONTAINS(json, "\"twice_bytes\": 0, \"difference_bytes\": 0}");
	rtt(r);
}

/* 3 s of which the last two readings know user time; bytes read are what the rows have. */
static void add_timeline(struct record *r)
{
	struct value values[TIMELINE_SERIES];

	timeline_values(&r->reading, NULL, values);
	ASSERT_OK(timeline_begin(&r->timeline, 1790000000500000000, 7));
	values[timeline_find("cpu", "user_seconds")].is_known = false;
	ASSERT_OK(timeline_feed(&r->timeline, 0, 7 + 1000000000, values));
	timeline_values(&r->reading, NULL, values);
	ASSERT_OK(timeline_feed(&r->timeline, 0, 7 + 2300000000, values));
}

TEST(a_timeline_comes_back_with_its_record)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *json = NULL;
	uint64_t total, user = r->reading.values[METRIC_CPU_USER].number;

	json = made_json(r);
	ASSERT_LACKS(json, "\"timeline\"");
	add_timeline(r);
	rtt(r);
	free(json);
	json = made_json(r);
	ASSERT_CONTAINS(json, "\"timeline\": {\n    \"start\": \"2026-09-21T14:13:20.000000000Z\"");
	back = parse(json);
	ASSERT(record_total(back, METRIC_READ_BYTES, &total));
	ASSERT_EQ(timeline_sum(&back->timeline, timeline_find("read", "bytes")), total);
	ASSERT_EQ(timeline_sum(&back->timeline, timeline_find("cpu", "user_seconds")), user);
}

TEST(nobody_knows_how_often_cpus_of_two_records_of_one_node_were_throttled)
{
	static const char *const nodes[] = { "n1", "n2", "n1" };
	const uint64_t throttles[] = { 0, 5, 2 };
	const size_t series = timeline_find("thermal", "core_throttles");
	struct record *records[] = { made_record(0), made_record(1), made_record(2) };
	_cleanup_(record_freep) struct record *two = NULL, *three = NULL;

	for (size_t i = 0; i < 3; i++) {
		free(records[i]->node);
		records[i]->node = strdup(nodes[i]);
		add_timeline(records[i]);
		ASSERT_OK(timeline_put(&records[i]->timeline, series, throttles, 3));
	}
	ASSERT_OK(record_merge((const struct record *const *)records, 2, &two));
	ASSERT_EQ(timeline_sum(&two->timeline, series), UINT64_C(14));
	ASSERT_OK(record_merge((const struct record *const *)records, 3, &three));
	ASSERT(timeline_is_known(&three->timeline) && !timeline_knows(&three->timeline, series));
	for (size_t i = 0; i < 3; i++)
		record_free(records[i]);
}

TEST(timelines_are_merged_with_their_records)
{
	struct record *records[] = { made_record(0), made_record(1), made_record(2) };
	_cleanup_(record_freep) struct record *merged = NULL, *lacking = NULL;
	uint64_t total;

	add_timeline(records[0]);
	add_timeline(records[1]);
	ASSERT_OK(record_merge((const struct record *const *)records, 2, &merged));
	ASSERT(record_total(merged, METRIC_READ_BYTES, &total));
	ASSERT_EQ(timeline_sum(&merged->timeline, timeline_find("read", "bytes")), total);
	ASSERT_EQ(timeline_sum(&merged->timeline, timeline_find("cpu", "user_seconds")),
		  merged->reading.values[METRIC_CPU_USER].number);
	rtt(merged);
	ASSERT_OK(record_merge((const struct record *const *)records, 3, &lacking));
	ASSERT(!timeline_is_known(&lacking->timeline));
	for (int i = 0; i < 3; i++)
		record_free(records[i]);
}

TEST(a_merged_record_comes_back)
{
	struct record *records[] = { made_record(0), made_record(1), made_record(2) };
	_cleanup_(record_freep) struct record *merged = NULL;

	ASSERT_OK(record_merge((const struct record *const *)records, 3, &merged));
	ASSERT_TOLD(made_json(merged), "\"merged\": {\"records\": 3, \"nodes\": 2}");
	rtt(merged);
	for (int i = 0; i < 3; i++)
		record_free(records[i]);
}

/* But for lists, which are in that of the records. */
TEST(merging_does_not_depend_on_the_order)
{
	struct record *r[] = { made_record(0), made_record(1), made_record(2) };
	const struct record *const there[] = { r[0], r[1], r[2] }, *const back[] = { r[2], r[1],
										     r[0] };

	for (size_t unknown = 0; unknown <= ARRAY_SIZE(r); unknown++) {
		_cleanup_(record_freep) struct record *one = NULL, *other = NULL;

		if (unknown)
			r[unknown - 1]->time.measured_from_ns = 0; /* of those before, too */
		ASSERT_OK(record_merge(there, 3, &one));
		ASSERT_OK(record_merge(back, 3, &other));
		ASSERT(memcmp(&one->time, &other->time, sizeof(one->time)) == 0);
		ASSERT(memcmp(one->reading.values, other->reading.values,
			      sizeof(one->reading.values)) == 0);
		ASSERT_EQ(one->merged_nodes, other->merged_nodes);
		ASSERT((one->time.measured_from_ns == 0) == (unknown > 0));
	}
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		record_free(r[i]);
}

TEST(nasty_names_survive)
{
	static char *const argv[] = { "a\nb", "\x1b[2J", "\xff", "\"", "", "\xe2\x80\xae", NULL };
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *json = NULL;

	ASSERT_OK(record_set_command(r, argv));
	json = made_json(r);
	back = parse(json);
	ASSERT_STREQ(back->job.command[1], "\x1b[2J");
	ASSERT_STREQ(back->job.command[2], "\uFFFD");
	ASSERT_STREQ(back->job.command[4], "");
	rtt(back);
}

TEST(keys_of_a_newer_version_are_left_alone)
{
	_cleanup_(record_freep) struct record *r = parse(
		"{\"schema\": \"jobmeter.record/1\", \"newer\": [1, {}], \"cpu\": "
		"{\"user_seconds\": 1.5,"
		" \"causes\": {\"read\": 3}}, \"job\": {\"colour\": 7, \"rank\": 2}}");

	ASSERT_EQ(r->reading.values[METRIC_CPU_USER].number, 1500000000);
	ASSERT_EQ(r->job.rank, 2);
	ASSERT_EQ(r->job.exit_code, -1);
	ASSERT(!r->reading.has_mounts);
}

#define HEAD "{\"schema\": \"jobmeter.record/1\", "
#define READ "\"read\": {\"bytes\": 1, \"calls\": 1, \"errors\": 0}"
#define WRITE "\"write\": {\"bytes\": 1, \"calls\": 1, \"errors\": 0}"
#define ROW "\"io\": [{\"mount\": \"/\", " READ ", " WRITE ", "

/* clang-format off */
#define SYSCALL(name, calls, errors) "{\"name\": \"" name "\", \"calls\": " calls ", \"errors\": " errors ", \"seconds\": 1}"
#define FUNCTIONS(list) HEAD "\"trace\": {\"process_seconds\": 1, \"functions\": [" list "]}}"
#define TRACED(names, calls, failed) \
	"{" names ", \"calls\": " calls ", \"failed\": " failed ", \"lost\": 0, \"bytes\": 0, \"unsized\": 0, \"seconds\": 0, \"dropped_probes\": 0}"
#define NAMES "\"set\": \"s\", \"function\": \"f\""

static const struct broken {
	const char *text, *reason;
} broken_records[] = {
	{ "", "made: it is empty" },
	{ " \n\t ", "made: it is empty" },
	{ "[]", "made: this is a list and no record of jobmeter" },
	{ "{}", "made: there is no 'schema': no record of jobmeter" },
	{ "{\"schema\": 1}", "made: there is no 'schema': no record of jobmeter" },
	{ "{\"schema\": \"jobmeter.record/2\"}", "made: the schema is 'jobmeter.record/2', and this jobmeter reads 'jobmeter.record/1'" },
	{ "{\n\"schema\": }", "made: line 2: " },
	{ HEAD, "made: line 1: " },
	{ HEAD "\"final\": true} rubbish", "made: line 1: " },
	{ HEAD "\"final\": true}\n\n{\"a\" 1}", "made: line 3: " },
	{ HEAD "\"final\": true, \"final\": true}", "duplicate" },
	{ HEAD "\"final\": 1}", "made: final is a number and should be true or false" },
	{ HEAD "\"node\": 17}", "made: node is a number and should be a string" },
	{ HEAD "\"sequence\": -1}", "made: sequence is out of range" },
	{ HEAD "\"sequence\": 99999999999999999999}", "made: line 1: too big integer" },
	{ HEAD "\"job\": 1}", "made: job is a number and should be a map" },
	{ HEAD "\"job\": {\"rank\": 2147483648}}", "made: job.rank is out of range" },
	{ HEAD "\"job\": {\"rank\": 1.5}}", "made: job.rank is a fraction and should be a whole number" },
	{ HEAD "\"job\": {\"command\": \"ls\"}}", "made: job.command is a string and should be a list" },
	{ HEAD "\"job\": {\"command\": [1]}}", "made: job.command holds a number where a string should be" },
	{ HEAD "\"job\": {\"name\": \"\\u0000\"}}", "made: line 1: " },
	{ HEAD "\"time\": {\"start\": \"yesterday\"}}", "made: time.start is not a time such as" },
	{ HEAD "\"time\": {\"elapsed_seconds\": -1}}", "made: time.elapsed_seconds is out of range" },
	{ HEAD "\"cpu\": {\"user_seconds\": \"1\"}}", "made: cpu.user_seconds is a string and should be" },
	{ HEAD "\"cpu\": {\"user_seconds\": 1e300}}", "made: cpu.user_seconds is out of range" },
	{ HEAD "\"memory\": {\"peak_bytes\": 1.5}}", "made: memory.peak_bytes is a fraction" },
	{ HEAD "\"io\": {}}", "made: io is a map and should be a list" },
	{ HEAD "\"io\": [1]}", "made: io[0] is a number and should be a map" },
	{ HEAD "\"io\": [{}]}", "made: io[0].mount is missing" },
	{ HEAD "\"io\": [{\"mount\": \"/\"}]}", "made: io[0].read.bytes is missing" },
	{ HEAD "\"io\": [{\"mount\": \"/\", " READ ", \"write\": {\"bytes\": 1, \"calls\": -1}}]}", "made: io[0].write.calls is out of range" },
	{ HEAD "\"io\": [{\"mount\": \"/\", " READ "," WRITE "}, {\"mount\": \"/\"}]}", "made: io[1].mount stands there twice" },
	{ HEAD "\"io\": [{\"mount\": \"/\", " READ "," WRITE ", \"meta\": {\"open\": 1}}]}", "made: io[0].meta.open is a number" },
	{ HEAD "\"io\": [{\"mount\": \"/\", \"read\": {\"bytes\": 1, \"calls\": 1, \"errors\": 0, \"sizes\": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}}]}", "made: io[0].read.sizes has more than 28 entries" },
	{ HEAD "\"io\": [{\"mount\": \"/\", \"read\": {\"bytes\": 1, \"calls\": 1, \"errors\": 0, \"sizes\": [-1]}}]}", "made: io[0].read.sizes holds something else than counts" },
	{ HEAD ROW "\"meta\": {\"open\": {\"calls\": 9, \"errors\": 2, \"not_found\": 3}}}]}", "made: io[0].meta.open.errors is less than its not_found" },
	{ HEAD ROW "\"interfaces\": []}]}", "made: io[0].interfaces is a list and should be a map" },
	{ HEAD ROW "\"interfaces\": {\"splice\": 1}}]}", "made: io[0].interfaces.splice is a number and should be a map" },
	{ HEAD ROW "\"interfaces\": {\"splice\": {\"read\": 1}}}]}", "made: io[0].interfaces.splice.read is a number and should be a map" },
	{ HEAD ROW "\"interfaces\": {\"splice\": {\"read\": {\"bytes\": 1}}}}]}", "made: io[0].interfaces.splice.read.calls is missing" },
	{ HEAD ROW "\"interfaces\": {\"splice\": {\"write\": {\"bytes\": -1}}}}]}", "made: io[0].interfaces.splice.write.bytes is out of range" },
	{ HEAD ROW "\"interfaces\": {\"splice\": {" READ "}, \"libaio\": {" READ "}}}]}", "made: io[0].read.bytes is less than its ways together" },
	{ HEAD ROW "\"interfaces\": {\"splice\": {\"write\": {\"bytes\": 1, \"calls\": 2, \"errors\": 0}}}}]}", "made: io[0].write.calls is less than its ways together" },
	{ HEAD ROW "\"mapped\": 4096}]}", "made: io[0].mapped is a number and should be a map" },
	{ HEAD ROW "\"mapped\": {\"read_bytes\": 4096}}]}", "made: io[0].mapped.write_bytes is missing" },
	{ HEAD "\"coverage\": {\"accounting\": {\"read\": {\"tasks_bytes\": 1, \"rows_bytes\": 1, \"twice_bytes\": \"\"}}}}", "made: coverage.accounting.read.twice_bytes is a string" },
	{ HEAD "\"survivors\": [{\"pid\": \"1\"}]}", "made: survivors[0].pid is a string" },
	{ HEAD "\"coverage\": {\"tiers\": \"T0\"}}", "made: coverage.tiers is a string and should be a list" },
	{ HEAD "\"coverage\": {\"accounting\": {\"read\": {}}}}", "made: coverage.accounting.read.tasks_bytes is missing" },
	{ HEAD "\"timeline\": []}", "made: timeline is a list and should be a map" },
	{ HEAD "\"timeline\": {\"interval_seconds\": 6}}", "made: timeline.interval_seconds is no power of two" },
	{ HEAD "\"timeline\": {\"interval_seconds\": 4, \"start\": \"2026-02-03T04:05:06Z\", \"series\": {\"read.bytes\": {\"values\": [1]}}}}", "made: timeline.start is no multiple of the interval" },
	{ HEAD "\"timeline\": {\"interval_seconds\": 2, \"start\": \"2026-02-03T04:05:06Z\", \"series\": {\"read.bytes\": {\"values\": [\"1\"]}}}}", "made: timeline.series.read.bytes.values is a string" },
	{ HEAD "\"merged\": {\"records\": 0}}", "made: merged.records is out of range" },
	{ HEAD "\"block\": {}}", "block" },
	{ HEAD "\"block\": [3]}", "block" },
	{ HEAD "\"block\": [{}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"\"}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"a234567890123456789012345678901234567890\"}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"sda\", \"read\": 7}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"sda\", \"read\": {\"bytes\": -1}}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"sda\", \"read\": {\"latencies\": [-1]}}]}", "block" },
	{ HEAD "\"block\": [{\"device\": \"sda\", \"read\": {}}, {\"device\": \"sda\", \"write\": {}}]}", "block" },
	{ HEAD "\"network\": []}", "network" },
	{ HEAD "\"network\": {\"tcp\": 3}}", "network" },
	{ HEAD "\"network\": {\"tcp\": {\"sent\": {\"bytes\": -1}}}}", "network" },
	{ HEAD "\"network\": {\"tcp\": {\"sent\": {}}}}", "network" },
	{ HEAD "\"network\": {\"tcp\": {\"connections\": {\"rtt_distribution\": [-1]}}}}", "network" },
	{ HEAD "\"network\": {\"tcp\": {\"connections\": {\"rtt_distribution\": 5}}}}", "network" },
	{ HEAD "\"syscalls\": {}}", "syscalls" },
	{ HEAD "\"syscalls\": [3]}", "syscalls[0]" },
	{ HEAD "\"syscalls\": [{\"calls\": 1}]}", "syscalls[0].name" },
	{ HEAD "\"syscalls\": [" SYSCALL("", "1", "0") "]}", "syscalls[0].name" },
	{ HEAD "\"syscalls\": [" SYSCALL("read", "1", "2") "]}", "syscalls[0].errors" },
	{ HEAD "\"syscalls\": [" SYSCALL("read", "-1", "0") "]}", "syscalls[0].calls" },
	{ HEAD "\"syscalls\": [" SYSCALL("read", "1", "0") "," SYSCALL("read", "1", "0") "]}", "syscalls[1].name" },
	{ HEAD "\"syscalls\": [{\"name\": \"read\", \"calls\": 1, \"errors\": 0}]}", "syscalls[0].seconds" },
	{ HEAD "\"trace\": []}", "trace" },
	{ HEAD "\"trace\": {}}", "trace.process_seconds" },
	{ HEAD "\"trace\": {\"process_seconds\": -1}}", "trace.process_seconds" },
	{ HEAD "\"trace\": {\"process_seconds\": 1, \"functions\": {}}}", "trace.functions" },
	{ FUNCTIONS("7"), "trace.functions[0]" },
	{ FUNCTIONS(TRACED("\"set\": \"s\"", "1", "0")), "trace.functions[0]" },
	{ FUNCTIONS(TRACED("\"set\": \"s/\", \"function\": \"f\"", "1", "0")), "trace.functions[0]" },
	{ FUNCTIONS(TRACED(NAMES, "1", "2")), "trace.functions[0]" },
	{ FUNCTIONS(TRACED(NAMES, "9223372036854775807", "0")), "trace.functions[0].calls" },
	{ FUNCTIONS("{" NAMES ", \"calls\": 1}"), "trace.functions[0].failed" },
	{ FUNCTIONS(TRACED(NAMES, "1", "0") "," TRACED(NAMES, "1", "0")), "trace.functions[1]" },
	{ HEAD "\"steps\": [7]}", "steps[0]" },
	{ HEAD "\"steps\": [{}]}", "made: steps[0].id is missing" },
	{ HEAD "\"steps\": [{\"id\": 7}]}", "made: steps[0].id is a number" },
	{ HEAD "\"steps\": [{\"id\": \"0\"}, {\"id\": \"0\"}]}", "twice" },
	{ HEAD "\"steps\": [{\"id\": \"0\", \"cpu\": {\"user_seconds\": \"x\"}}]}", "steps[0].cpu.user_seconds" },
	{ HEAD "\"steps\": [{\"id\": \"0\", \"cpu\": []}]}", "steps[0].cpu" },
	{ HEAD "\"steps\": [{\"id\": \"0\", \"network\": []}]}", "steps[0].network" },
	{ HEAD "\"steps\": [{\"id\": \"0\", \"network\": {\"udp\": {\"sent\": {\"bytes\": -1}}}}]}", "steps[0].network.udp.sent.bytes" },
	{ HEAD "\"ports\": [7]}", "ports[0]" },
	{ HEAD "\"ports\": [{}]}", "ports[0]" },
	{ HEAD "\"ports\": [{\"device\": \"a\"}]}", "ports[0]" },
	{ HEAD "\"ports\": [{\"device\": \"a\", \"port\": 1}]}", "ports[0]" },
	{ HEAD "\"ports\": [{\"device\": \"a\", \"port\": \"1\", \"transmit_bytes\": -1}]}", "ports[0]" },
	{ HEAD "\"ports\": [{\"device\": \"a\", \"port\": \"1\", \"from\": 3}]}", "ports[0]" },
	{ HEAD "\"memory\": {\"oom\": [7]}}", "memory.oom[0]" },
	{ HEAD "\"memory\": {\"oom\": [{\"pid\": -1}]}}", "memory.oom[0].pid" },
	{ HEAD "\"memory\": {\"oom\": [{\"uid\": 4294967296}]}}", "memory.oom[0].uid" },
	{ HEAD "\"memory\": {\"oom\": [{\"time\": \"noon\"}]}}", "memory.oom[0].time" },
	{ HEAD "\"memory\": {\"oom\": [{\"rss_bytes\": -4096}]}}", "memory.oom[0].rss_bytes" },
	{ HEAD "\"memory\": {\"oom\": [{\"command\": \"123456789012345678901234567890123456789012345678\"}]}}", "memory.oom[0].command" },
};
/* clang-format on */

TEST(what_is_broken_is_refused_in_words)
{
	for (size_t i = 0; i < sizeof(broken_records) / sizeof(broken_records[0]); i++) {
		const struct broken *row = &broken_records[i];
		struct records list = {};
		struct error err = { "" };

		ASSERT_ERR(records_parse(row->text, strlen(row->text), "made", &list, &err),
			   -EINVAL);
		ASSERT_CONTAINS(err.text, row->reason);
		records_clear(&list);
	}
}

TEST(lists_have_bounds)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_(records_clear) struct records list = {};
	struct error err;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(HEAD "\"io\": [0", out);
	for (int i = 0; i < MOUNT_ROWS_MAX; i++)
		fputs(",0", out);
	fputs("]}", out);
	fclose(out);
	ASSERT_ERR(records_parse(text, size, "made", &list, &err), -EINVAL);
	ASSERT_STREQ(err.text, "made: io has more than 4096 entries");
}

TEST(a_deep_nest_is_an_error_and_no_crash)
{
	char text[20000];
	_cleanup_(records_clear) struct records list = {};
	struct error err;

	memset(text, '[', sizeof(text));
	ASSERT_ERR(records_parse(text, sizeof(text), "made", &list, &err), -EINVAL);
}

TEST(several_records_stand_behind_each_other)
{
	static const char text[] = HEAD "\"sequence\": 1}\n" HEAD "\"sequence\": 2}\n\n";
	_cleanup_(records_clear) struct records list = {};
	struct error err = { "" };

	ASSERT_OK(records_parse(text, strlen(text), "made", &list, &err));
	ASSERT_EQ(list.count, 2);
	ASSERT_EQ(list.items[1]->sequence, 2);
}

TEST(a_file_that_is_not_there_is_named)
{
	struct records list = {};
	struct error err;

	ASSERT_ERR(records_read("/nonexistent/x.json", &list, &err), -ENOENT);
	ASSERT_STREQ(err.text, "cannot read '/nonexistent/x.json': No such file or directory");
}
