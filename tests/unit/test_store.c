/* SPDX-License-Identifier: MIT */
#include "model/job_filter.h"
#include "server/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/record_format.h"
#include "made.h"
#include "model/document.h"
#include "place.h"
#include "server/store/pg.h"
#include "server/store/store_internal.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1770100000) * SECOND)

static const struct store_who all = { .sees_all = true };

/* ---- a store and lines for it ---- */

static void set(char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
}

/* A job of Slurm on one node, that began so many seconds after the others and took 100 s. */
static struct record *made_job(const char *id, const char *node, unsigned int after_s)
{
	struct record *r = made_record(0);

	set(&r->job.manager, "slurm");
	set(&r->job.id, id);
	set(&r->node, node);
	set(&r->boot_id, "first-boot");
	r->sequence = 1000;
	r->time.start_ns = NOW - 2000 * SECOND + after_s * SECOND;
	r->time.elapsed_ns = 100 * SECOND;
	r->time.end_ns = r->time.start_ns + r->time.elapsed_ns;
	return r;
}

static struct record *made_checkpoint(const char *id, const char *node)
{
	struct record *r = made_job(id, node, 0);

	r->is_final = false;
	r->time.end_ns = 0;
	set(&r->job.state, "RUNNING");
	return r;
}

/* Without its newline. */
static char *line_of(const struct record *record)
{
	struct made_text t = {};
	char *text;

	record_format(record, made_text_document(&t, DOCUMENT_ONE_LINE));
	text = made_text_end(&t);
	text[t.size - 1] = '\0';
	return text;
}

/* After whatever happened the usage is what the jobs add up to. */
static void check_rollups(struct store *s)
{
	uint64_t wrong = 1;

	ASSERT_OK(store_check_rollups(s, &wrong, NULL));
	ASSERT_EQ(wrong, 0u);
}

/* A letter of what became of it: t, k or r. */
static char put_text_at(struct store *s, const char *text, uint64_t arrived_ns)
{
	struct store_line line = { .text = text, .length = strlen(text), .arrived_ns = arrived_ns };
	enum store_answer answer = STORE_REFUSED;
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	struct error err = {};

	ASSERT(root);
	line.root = root;
	ASSERT_OK(store_begin(s, &err));
	ASSERT_OK(store_put_record(s, &line, &answer, &err));
	if (store_commit(s, &err) < 0)
		printf("  %s\n", err.text);
	json_decref(root);
	check_rollups(s);
	return "tkr"[answer];
}

static char put_at(struct store *s, struct record *record, uint64_t arrived_ns)
{
	_cleanup_free_ char *text = line_of(record);

	record_free(record);
	return put_text_at(s, text, arrived_ns);
}

static char put(struct store *s, struct record *record)
{
	return put_at(s, record, NOW);
}

/* ---- what is there ---- */

static int add_line(void *context, const char *line, size_t length)
{
	FILE *out = context;

	fwrite(line, 1, length, out);
	fputc('\n', out);
	return 0;
}

/* The lines of the newest job of that id; "" where there is none. */
static char *read_lines(struct store *s, const struct store_question *question,
			const struct store_who *who)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct error err;
	int r = store_read_records(s, question, who, add_line, out, &err);

	fclose(out);
	ASSERT(r == 0 || (r == -ENOENT && size == 0));
	return text;
}

static int add_job(void *context, const struct store_job *job)
{
	FILE *out = context;

	fprintf(out, "%s@%s %s %" PRIu64 ";", job->id, job->node, job->state ? job->state : "-",
		(uint64_t)job->nodes.number);
	return 0;
}

/* "7@node1 ENDED 1;" for each. */
static char *list(struct store *s, const struct job_filter *filter, const struct store_who *who)
{
	struct made_text t = {};
	struct error err = {};

	if (store_list_jobs(s, filter, who, add_job, made_text_stream(&t), NULL, &err) < 0)
		fprintf(t.out, "%s", err.text);
	return made_text_end(&t);
}

#define ASSERT_LIST(store, who, text, ...)                                   \
	do {                                                                 \
		const struct job_filter filter_ = { __VA_ARGS__ };           \
		_cleanup_free_ char *list_ = list((store), &filter_, (who)); \
		ASSERT_STREQ(list_, (text));                                 \
	} while (0)

#define ASSERT_ASKED(name, question, text)                                   \
	do {                                                                 \
		_cleanup_free_ char *asked_ = place_ask((name), (question)); \
		ASSERT_STREQ(asked_, (text));                                \
	} while (0)

/* The tables that are an index, without numbers that only they use. */
static char *dump_index(const char *name)
{
	_cleanup_free_ char *columns = NULL, *jobs = NULL, *mounts = NULL, *steps = NULL;
	char *text = NULL, question[65536];

	columns = place_ask(
		name,
		place_is_file()
			? "SELECT group_concat('\"' || name || '\"', ', ') FROM (SELECT name FROM "
			  "pragma_table_info('jobs') WHERE name <> 'id' ORDER BY name)"
			: "SELECT string_agg('\"' || attname || '\"', ', ' ORDER BY attname) FROM "
			  "pg_attribute WHERE attrelid = to_regclass('jobs') AND attnum > 0 "
			  "AND NOT attisdropped AND attname <> 'id'");
	columns[strcspn(columns, "\n")] = '\0';
	snprintf(question, sizeof(question),
		 "SELECT %s FROM jobs ORDER BY cluster, manager, job_id, node, start_ns, uid",
		 columns);
	jobs = place_ask(name, question);
	mounts = place_ask(name,
			   "SELECT j.job_id, j.node, j.start_ns, m.mount, m.fstype, "
			   "m.\"io.read.bytes\", m.\"io.read.calls\", m.\"io.meta.calls\" FROM "
			   "job_mounts m JOIN jobs j ON m.job = j.id ORDER BY 1, 2, 3, 4, 5");
	steps = place_ask(name, "SELECT count(*) FROM job_steps");
	ASSERT(asprintf(&text, "%s\n%s\n%s", jobs, mounts, steps) > 0);
	return text;
}

static void reindex(struct store *s)
{
	struct error err = {};
	uint64_t records;

	ASSERT_OK(store_reindex(s, &records, &err));
}

/* ---- one record ---- */

/* Without its last bracket. */
#define TIMELINE \
	"{\"start\":\"2026-02-03T04:05:06Z\",\"interval_seconds\":1,\"series\":{\"cpu.user_seconds\":{\"unit\":\"seconds\",\"values\":[1,2.5]}}"

static char *one_line(const char *name)
{
	char *text = test_data(name);

	for (char *p = text; *p; p++) {
		if (*p == '\n')
			*p = ' ';
	}
	return text;
}

TEST(a_line_comes_back_byte_for_byte)
{
	static const char *const names[] = { "made-train.json", "made-long.json", "made-short.json",
					     "made-hot.json", "made-ways.json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(store_closep) struct store *s = place_open(names[i]);
		_cleanup_free_ char *text = one_line(names[i]), *back = NULL, *wanted = NULL;
		json_t *root = json_loads(text, 0, NULL);
		struct store_question question = {
			.id = json_string_value(json_object_get(json_object_get(root, "job"), "id"))
		};

		if (json_is_string(json_object_get(root, "node")) && question.id) {
			ASSERT_EQ(put_text_at(s, text, NOW), 't');
			ASSERT_EQ(put_text_at(s, text, NOW), 'k');
			back = read_lines(s, &question, &all);
			ASSERT(asprintf(&wanted, "%s\n", text) > 0);
			ASSERT_STREQ(back, wanted);
		}
		json_decref(root);
	}
}

TEST(a_timeline_stands_apart_wherever_it_stood)
{
	static const char *const lines[] = {
		("{\"timeline\": " TIMELINE
		 "}, \"schema\": \"jobmeter.record/1\", \"node\": \"n\", \"job\": "
		 "{\"manager\": \"run\", \"id\": \"1\"}, \"time\": {\"start\": \"2026-02-03T04:05:06Z\"}}"),
		("{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"x\":{\"timeline\":{}},\"job\":"
		 "{\"manager\":\"run\",\"id\":\"2\"},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"},"
		 "\"s\":\"\\\"},{\\\\\",\"timeline\" : " TIMELINE ",\"a\":[\"}\"]} }"),
		("{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"run\",\"id\":\"3\"},"
		 "\"time\":{\"start\":\"2026-02-03T04:05:06Z\"},\"timeline\":null}"),
	};
	_cleanup_(store_closep) struct store *s = place_open("apart");

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char id[] = { (char)('1' + i), '\0' };
		struct store_question question = { .id = id };
		_cleanup_free_ char *back = NULL;

		ASSERT_EQ(put_text_at(s, lines[i], NOW), 't');
		back = read_lines(s, &question, &all);
		back[strcspn(back, "\n")] = '\0';
		ASSERT_STREQ(back, lines[i]);
	}
	ASSERT_ASKED("apart",
		     "SELECT job_id, CASE WHEN timeline IS NULL THEN 1 ELSE 0 END, "
		     "CASE WHEN timeline_at > 0 THEN 1 ELSE 0 END FROM records ORDER BY job_id",
		     "1|0|1\n2|0|1\n3|1|0\n");
}

TEST(a_newer_version_replaces_and_an_older_one_is_known)
{
	_cleanup_(store_closep) struct store *s = place_open("versions");
	struct record *record = made_checkpoint("7", "n");

	ASSERT_EQ(put(s, record), 't');
	ASSERT_EQ(put(s, made_checkpoint("7", "n")), 'k');
	record = made_checkpoint("7", "n");
	record->reading.values[METRIC_CPU_USER].number++; /* the same version, another record */
	ASSERT_EQ(put(s, record), 'r');
	record = made_checkpoint("7", "n");
	record->sequence = 999;
	ASSERT_EQ(put(s, record), 'k');
	record = made_checkpoint("7", "n");
	record->sequence = 1001;
	record->time.elapsed_ns *= 2;
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "7@n RUNNING 1;");
	ASSERT_ASKED("versions", "SELECT sequence, final FROM records", "1001|0\n");
}

TEST(a_final_record_stands_against_checkpoints_and_not_against_a_newer_one)
{
	_cleanup_(store_closep) struct store *s = place_open("finals");
	struct record *record = made_job("7", "n", 0);

	ASSERT_EQ(put(s, record), 't');
	record = made_checkpoint("7", "n");
	record->sequence = 5000;
	ASSERT_EQ(put(s, record), 'k');
	record = made_job("7", "n", 0);
	record->sequence = 2000;
	set(&record->job.state, "ENDED");
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "7@n ENDED 1;");
}

TEST(what_has_no_key_is_refused)
{
	_cleanup_(store_closep) struct store *s = place_open("keys");
	struct record *record = made_job("7", NULL, 0);

	ASSERT_EQ(put(s, record), 'r');
	ASSERT_EQ(put(s, made_job(NULL, "n", 0)), 'r');
	ASSERT_EQ(put(s, made_job("", "n", 0)), 'r');
	record = made_job("7", "n", 0);
	set(&record->job.manager, NULL);
	ASSERT_EQ(put(s, record), 'r');
	record = made_job("7", "n", 0);
	record->time.start_ns = record->time.measured_from_ns = 0;
	ASSERT_EQ(put(s, record), 'r');
	ASSERT_LIST(s, &all, "");
}

TEST(a_job_that_ran_before_its_agent_counts_from_when_it_was_seen)
{
	_cleanup_(store_closep) struct store *s = place_open("earlier");
	struct record *record = made_checkpoint("7", "a");

	record->time.measured_from_ns = record->time.start_ns;
	record->time.start_ns = record->time.elapsed_ns = 0;
	record->sequence = NOW / 1000 - 1000000;
	ASSERT_EQ(put(s, record), 't');
	reindex(s);
	ASSERT_LIST(s, &all, "7@a RUNNING 1;", .since_ns = NOW - 2 * SECOND);
	ASSERT_ASKED("earlier", "SELECT start_ns FROM jobs", "1770098000000000000\n");
	record = made_checkpoint("8", "a");
	record->time.start_ns = record->time.measured_from_ns = 0;
	ASSERT_EQ(put(s, record), 'r');
}

TEST(what_is_abandoned_is_not_there)
{
	_cleanup_(store_closep) struct store *s = place_open("abandoned");
	struct record *record = made_job("7", "n", 0);
	_cleanup_free_ char *text = line_of(record);
	struct store_line line = { .text = text, .length = strlen(text), .arrived_ns = NOW };
	enum store_answer answer;
	json_t *root = json_loads(text, 0, NULL);
	struct error err;

	record_free(record);
	line.root = root;
	ASSERT_OK(store_begin(s, &err));
	ASSERT_OK(store_put_record(s, &line, &answer, &err));
	store_abandon(s);
	json_decref(root);
	ASSERT_LIST(s, &all, "");
	ASSERT_EQ(put_text_at(s, text, NOW), 't');
	ASSERT_LIST(s, &all, "7@n - 1;");
}

TEST(unknown_and_missing_sections_are_stored_whole)
{
	static const char line[] =
		"{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"from_tomorrow\":{\"x\":[1,2.50,{}]},"
		"\"job\":{\"manager\":\"run\",\"id\":\"9\",\"new\":true},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"}}";
	_cleanup_(store_closep) struct store *s = place_open("unknown");
	const struct store_question question = { .id = "9" };
	_cleanup_free_ char *before = NULL, *back = NULL;

	ASSERT_EQ(put_text_at(s, line, NOW), 't');
	before = dump_index("unknown");
	reindex(s);
	ASSERT_TEXT(dump_index("unknown"), before);
	back = read_lines(s, &question, &all);
	back[strcspn(back, "\n")] = '\0';
	ASSERT_STREQ(back, line);
	ASSERT_ASKED("unknown", "SELECT \"cpu.user_seconds\", \"io.read.bytes\", uid FROM jobs",
		     "-|-|-\n");
}

/* ---- nodes of one job ---- */

TEST(nodes_of_a_job_are_summed)
{
	_cleanup_(store_closep) struct store *s = place_open("nodes");

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_EQ(put(s, made_job("7", "b", 3)), 't');
	ASSERT_LIST(s, &all, "7@ - 2;");
	ASSERT_ASKED("nodes", "SELECT \"cpu.user_seconds\", \"io.read.bytes\", final FROM jobs",
		     "380000000002|16320879820|1\n");
	ASSERT_ASKED("nodes",
		     "SELECT mount, \"io.read.bytes\" FROM job_mounts WHERE mount = '/scratch'",
		     "/scratch|16320875724\n");
}

TEST(the_id_of_a_run_is_its_nodes_own)
{
	static const char *const nodes[] = { "a", "b" };
	_cleanup_(store_closep) struct store *s = place_open("runs");

	for (size_t i = 0; i < 2; i++) {
		struct record *record = made_job("7", nodes[i], 0);

		set(&record->job.manager, "run");
		ASSERT_EQ(put(s, record), 't');
	}
	ASSERT_LIST(s, &all, "7@b - 1;7@a - 1;");
}

TEST(times_that_lie_within_a_minute_are_one_job)
{
	_cleanup_(store_closep) struct store *s = place_open("minute");

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_EQ(put(s, made_job("7", "b", 161)), 't'); /* it began 61 s after the other's end */
	ASSERT_LIST(s, &all, "7@b - 1;7@a - 1;");
	ASSERT_EQ(put(s, made_job("8", "a", 0)), 't');
	ASSERT_EQ(put(s, made_job("8", "b", 160)), 't');
	ASSERT_LIST(s, &all, "8@ - 2;", .id = "8");
	/* between the two of before, and so all are one */
	ASSERT_EQ(put(s, made_job("7", "c", 90)), 't');
	ASSERT_LIST(s, &all, "7@ - 3;", .id = "7");
	ASSERT_ASKED("minute", "SELECT count(*) FROM jobs", "2\n");
	ASSERT_ASKED("minute",
		     "SELECT count(*) FROM job_mounts WHERE job NOT IN (SELECT id FROM jobs)",
		     "0\n");
}

TEST(another_user_or_cluster_is_another_job)
{
	_cleanup_(store_closep) struct store *s = place_open("others");
	struct record *record = made_job("7", "b", 0);

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	record->job.uid = 1001;
	ASSERT_EQ(put(s, record), 't');
	record = made_job("7", "c", 0);
	set(&record->cluster, "other");
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "7@c - 1;7@b - 1;7@a - 1;");
}

TEST(a_job_on_many_nodes_waits_for_the_upkeep)
{
	_cleanup_(store_closep) struct store *s = place_open("many");
	const struct store_upkeep upkeep = { .now_ns = NOW };
	struct error err;
	bool has_more;

	for (int i = 0; i < 23; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", i);
		ASSERT_EQ(put(s, made_job("7", node, 0)), 't');
	}
	ASSERT_OK(store_work(s, &upkeep, &has_more, &err));
	ASSERT(has_more);
	ASSERT_OK(store_work(s, &upkeep, &has_more, &err));
	ASSERT(!has_more);
	ASSERT_LIST(s, &all, "7@ - 23;");
	ASSERT_ASKED("many", "SELECT \"cpu.user_seconds\", is_stale FROM jobs",
		     "4370000000023|0\n");
}

static void put_on_nodes(struct store *s, const char *id, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%u", i);
		ASSERT_EQ(put(s, made_job(id, node, 0)), 't');
	}
}

/* All that the upkeep has to do; the last of what it says. */
static struct error work_all(struct store *s)
{
	const struct store_upkeep upkeep = { .now_ns = NOW };
	struct error said = {};
	bool has_more;

	do {
		struct error err = {};

		ASSERT_OK(store_work(s, &upkeep, &has_more, &err));
		if (*err.text)
			said = err;
	} while (has_more);
	return said;
}

/* The index stands for whatever keeps the row of one job from being made. */
TEST(a_job_whose_row_cannot_be_made_is_passed_over_until_it_can)
{
	struct store *s = place_open("odd");
	struct store_facts facts;
	struct error said;

	put_on_nodes(s, "5", 9);
	work_all(s);
	place_execute("odd", "CREATE UNIQUE INDEX odd ON jobs (nodes) WHERE nodes = 9");
	put_on_nodes(s, "7", 9);
	put_on_nodes(s, "8", 10);
	put_on_nodes(s, "9", 11);
	said = work_all(s);
	ASSERT_CONTAINS(said.text, "job 7 keeps its row ");
	ASSERT_OK(store_read_facts(s, false, &facts, NULL));
	ASSERT_EQ(facts.failed_jobs, (uint64_t)1);
	ASSERT_ASKED("odd", "SELECT job_id, nodes, is_stale FROM jobs ORDER BY job_id",
		     "5|9|0\n7|8|3\n8|10|0\n9|11|0\n");
	said = work_all(s);
	ASSERT_STREQ(said.text, "");
	place_execute("odd", "DROP INDEX odd");
	store_close(s);
	s = place_open("odd");
	work_all(s);
	ASSERT_ASKED("odd", "SELECT nodes, is_stale FROM jobs WHERE job_id = '7'", "9|0\n");
	store_close(s);
}

/* ---- who asks, and for what ---- */

TEST(each_sees_his_own_and_nobody_what_is_nobodys)
{
	_cleanup_(store_closep) struct store *s = place_open("who");
	const struct store_who first = { .uid = 1000 }, second = { .uid = 1001 },
			       nobody = { .uid = UINT32_MAX };
	const struct store_question seven = { .id = "7" }, eight = { .id = "8", .node = "a" };
	struct record *record = made_job("8", "a", 0);
	struct error missing = {}, hidden = {};
	struct id_list ids = {};

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	record->job.uid = -1;
	set(&record->job.user, NULL);
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &first, "7@a - 1;");
	ASSERT_LIST(s, &second, "");
	ASSERT_LIST(s, &nobody, "");
	ASSERT_LIST(s, &all, "8@a - 1;7@a - 1;");
	ASSERT_LIST(s, &second, "", .id = "7");
	ASSERT_LIST(s, &second, "", .user = "made-user");
	ASSERT_LIST(s, &second, "", .user = "1000");
	ASSERT_LIST(s, &second, "", .text = "made");
	ASSERT_LIST(s, &second, "", .text = "' OR 1 = 1 --");
	ASSERT_TOLD(read_lines(s, &seven, &first), "\"id\":\"7\"");
	ASSERT_TEXT(read_lines(s, &seven, &second), "");
	ASSERT_TEXT(read_lines(s, &eight, &nobody), "");
	ASSERT_TOLD(read_lines(s, &eight, &all), "\"id\":\"8\"");
	ASSERT_ERR(store_find_records(s, &seven, &second, &ids, &hidden), -ENOENT);
	ASSERT_ERR(store_find_records(s, &(struct store_question){ .id = "9" }, &second, &ids,
				      &missing),
		   -ENOENT);
	ASSERT_STREQ(hidden.text, "there is no job '7'");
	ASSERT_STREQ(missing.text, "there is no job '9'");
	id_list_clear(&ids);
}

TEST(filters_choose)
{
	_cleanup_(store_closep) struct store *s = place_open("filters");
	struct record *record = made_job("7", "a", 0);
	bool has_more = false;
	struct error err;
	const struct job_filter one = { .limit = 1 };
	_cleanup_free_ char *text = NULL;
	struct made_text written = {};

	set(&record->job.name, "100%_done");
	set(&record->job.account, "physics");
	set(&record->job.partition, "batch");
	ASSERT_EQ(put(s, record), 't');
	record = made_checkpoint("8", "b");
	record->time.start_ns += 500 * SECOND;
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "7@a - 1;", .account = "physics");
	ASSERT_LIST(s, &all, "7@a - 1;", .partition = "batch", .manager = "slurm");
	ASSERT_LIST(s, &all, "7@a - 1;", .name = "100%_done");
	ASSERT_LIST(s, &all, "7@a - 1;", .text = "0%_D");
	ASSERT_LIST(s, &all, "", .text = "0%%");
	ASSERT_LIST(s, &all, "", .text = "0\\");
	ASSERT_LIST(s, &all, "8@b RUNNING 1;", .state = "running");
	ASSERT_LIST(s, &all, "8@b RUNNING 1;7@a - 1;", .user = "1000");
	ASSERT_LIST(s, &all, "7@a - 1;", .until_ns = NOW - 1600 * SECOND);
	ASSERT_LIST(s, &all, "8@b RUNNING 1;", .since_ns = NOW - 1600 * SECOND);
	ASSERT_LIST(s, &all, "7@a - 1;", .limit = 1, .offset = 1);
	ASSERT_OK(store_list_jobs(s, &one, &all, add_job, made_text_stream(&written), &has_more,
				  &err));
	text = made_text_end(&written);
	ASSERT(has_more);
}

/* Also texts that do not compress and are larger than an index of PostgreSQL has room for. */
TEST(a_text_of_any_length_is_found)
{
	static const size_t lengths[] = { 499, 500, 501, 4001 };
	_cleanup_(store_closep) struct store *s = place_open("lengths");
	char texts[2 * ARRAY_SIZE(lengths)][4 * 4001 + 1] = {};
	uint64_t state = 1;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct record *record;
		char id[2] = { (char)('1' + (char)i), '\0' }, expected[16];
		char *at = texts[i];

		for (size_t k = 0; k < lengths[i / 2]; k++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			if (i % 2) /* four bytes a letter */
				at = mempcpy(at, "\xf0\x9f\x98", 3);
			*at++ = (char)((i % 2 ? 0x80 : '0') + (char)(state >> 58) % 60);
		}
		record = made_job(id, "a", 0);
		set(&record->job.name, texts[i]);
		set(&record->job.account, texts[i]);
		ASSERT_EQ(put(s, record), 't');
		snprintf(expected, sizeof(expected), "%s@a - 1;", id);
		ASSERT_LIST(s, &all, expected, .name = texts[i]);
		ASSERT_LIST(s, &all, expected, .account = texts[i], .name = texts[i]);
	}
}

TEST(of_several_jobs_of_an_id_the_newest_is_meant)
{
	_cleanup_(store_closep) struct store *s = place_open("newest");
	const struct store_question newest = { .id = "7" }, node = { .id = "7", .node = "a" };
	_cleanup_free_ char *found = NULL;

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_EQ(put(s, made_job("7", "b", 900)), 't');
	found = read_lines(s, &newest, &all);
	ASSERT_CONTAINS(found, "\"node\":\"b\"");
	ASSERT_LACKS(found, "\"node\":\"a\"");
	ASSERT_TOLD(read_lines(s, &node, &all), "\"node\":\"a\"");
}

TEST(a_job_is_found_by_each_of_its_names)
{
	static const char *const names[] = { "4160740", "4160739_207", "sEKNKTV3WPV500" };
	_cleanup_(store_closep) struct store *s = place_open("names");
	struct record *r = made_job("4160740", "a", 0);

	set(&r->job.array_id, "4160739");
	set(&r->job.sluid, "sEKNKTV3WPV500");
	r->job.array_index = 207;
	ASSERT_EQ(put(s, r), 't');
	ASSERT_EQ(put(s, made_job("4160739", "a", 900)), 't');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct store_question question = { .id = names[i] };
		_cleanup_free_ char *found = read_lines(s, &question, &all);

		ASSERT_CONTAINS(found, "\"id\":\"4160740\"");
		ASSERT_LIST(s, &all, "4160740@a - 1;", .id = names[i]);
	}
}

/* ---- closing ---- */

static void work(struct store *s, const struct store_upkeep *upkeep)
{
	bool has_more = true;
	struct error err;

	while (has_more) {
		ASSERT_OK(store_work(s, upkeep, &has_more, &err));
		check_rollups(s);
	}
}

TEST(a_job_whose_checkpoints_stop_is_closed_until_something_comes)
{
	_cleanup_(store_closep) struct store *s = place_open("closed");
	struct store_upkeep upkeep = { .now_ns = NOW, .closing_ns = NOW };
	struct record *record = made_job("7", "a", 0);

	ASSERT_EQ(put(s, made_checkpoint("7", "a")), 't');
	work(s, &upkeep);
	ASSERT_LIST(s, &all, "7@a RUNNING 1;"); /* it came at that very time */
	upkeep.closing_ns++;
	work(s, &upkeep);
	ASSERT_LIST(s, &all, "7@a INCOMPLETE 1;");
	ASSERT_ASKED("closed", "SELECT kind, node, job_id, detail FROM events",
		     "closed|a|7|its checkpoints stopped\n");
	record->sequence = 1001;
	set(&record->job.state, "ENDED");
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "7@a ENDED 1;");
	ASSERT_ASKED("closed", "SELECT closed FROM records", "-\n");
}

TEST(a_node_that_starts_anew_closes_what_it_ran_before)
{
	_cleanup_(store_closep) struct store *s = place_open("boots");
	struct record *record = made_checkpoint("8", "a");

	ASSERT_EQ(put(s, made_checkpoint("7", "a")), 't');
	ASSERT_EQ(put(s, made_checkpoint("7", "b")), 't');
	ASSERT_EQ(put(s, made_checkpoint("6", "b")), 't');
	set(&record->boot_id, "second-boot");
	record->sequence = 2000;
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "6@b RUNNING 1;", .id = "6");
	ASSERT_LIST(s, &all, "7@ RUNNING 2;", .id = "7"); /* on b it goes on */
	ASSERT_LIST(s, &all, "8@a RUNNING 1;", .id = "8");
	ASSERT_ASKED("boots", "SELECT node, job_id FROM records WHERE closed IS NOT NULL", "a|7\n");
	/* a late one of the first boot says nothing of the second */
	record = made_checkpoint("5", "a");
	record->sequence = 1500;
	ASSERT_EQ(put(s, record), 't');
	ASSERT_LIST(s, &all, "8@a RUNNING 1;", .id = "8");
}

TEST(a_record_from_the_future_is_noted)
{
	_cleanup_(store_closep) struct store *s = place_open("clock");
	struct record *record = made_job("7", "a", 0);

	record->sequence = (NOW + 5 * SECOND) / 1000;
	ASSERT_EQ(put(s, record), 't');
	record = made_job("8", "a", 0);
	record->sequence = (NOW + 6 * SECOND) / 1000;
	ASSERT_EQ(put(s, record), 't'); /* one event an hour says it */
	ASSERT_EQ(put(s, made_job("9", "b", 0)), 't');
	ASSERT_ASKED("clock", "SELECT job_id, clock_offset_ns FROM records ORDER BY job_id",
		     "7|5000000000\n8|6000000000\n9|0\n");
	ASSERT_ASKED("clock", "SELECT kind, node, detail FROM events",
		     "clock|a|the node's clock is 5000 ms ahead\n");
}

/* Of one job; its node's clock is so much ahead, and was more so before: its sequence keeps that.
 */
static void put_by_clock(struct store *s, const char *node, int64_t offset_ns)
{
	struct record *record = made_job("7", node, 0);
	struct store_line line = { .arrived_ns = NOW,
				   .clock_offset_ns = offset_ns,
				   .is_clock_told = true };
	enum store_answer answer = STORE_REFUSED;
	_cleanup_free_ char *text = NULL;
	struct error err;

	record->sequence = (NOW + 3600 * SECOND) / 1000;
	record->time.start_ns += (uint64_t)offset_ns;
	record->time.end_ns += (uint64_t)offset_ns;
	text = line_of(record);
	record_free(record);
	line.text = text;
	line.length = strlen(text);
	line.root = json_loads(text, 0, NULL);
	ASSERT_OK(store_begin(s, &err));
	ASSERT_OK(store_put_record(s, &line, &answer, &err));
	ASSERT_OK(store_commit(s, &err));
	ASSERT_EQ(answer, STORE_TAKEN);
	json_decref((json_t *)line.root);
}

TEST(nodes_whose_clocks_differ_have_the_same_times)
{
	_cleanup_(store_closep) struct store *s = place_open("clocks");
	_cleanup_free_ char *before = NULL;

	put_by_clock(s, "a", 0);
	put_by_clock(s, "b", 300 * (int64_t)SECOND);
	put_by_clock(s, "c", -300 * (int64_t)SECOND);
	put_by_clock(s, "d", 999999999); /* less than a second is none */
	ASSERT_ASKED("clocks", "SELECT nodes, end_ns - start_ns FROM jobs", "4|100999999999\n");
	ASSERT_ASKED("clocks", "SELECT node, clock_offset_ns FROM records ORDER BY node",
		     "a|0\nb|300000000000\nc|-300000000000\nd|0\n");
	ASSERT_ASKED(
		"clocks", "SELECT node, detail FROM events ORDER BY node",
		"b|the node's clock is 300000 ms ahead\nc|the node's clock is 300000 ms behind\n");
	before = dump_index("clocks");
	reindex(s);
	ASSERT_TEXT(dump_index("clocks"), before);
}

/* ---- what is deleted ---- */

TEST(timelines_go_first_and_records_later)
{
	_cleanup_(store_closep) struct store *s = place_open("retention");
	struct store_upkeep upkeep = { .now_ns = NOW, .timelines_ns = NOW - 5 };
	const struct store_question question = { .id = "old" };
	static const char line[] =
		"{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"slurm\",\"id\":\"old\"},"
		"\"time\":{\"start\":\"2026-02-03T04:05:06Z\"},\"timeline\":" TIMELINE
		"},\"final\":true}";

	ASSERT_EQ(put_text_at(s, line, NOW - 10), 't');
	ASSERT_EQ(put_at(s, made_job("new", "a", 0), NOW - 3), 't');
	work(s, &upkeep);
	ASSERT_TOLD(read_lines(s, &question, &all), "\"timeline\":null,\"final\":true}\n");
	ASSERT_EQ(put_text_at(s, line, NOW), 'k'); /* it is still known by its bytes */
	upkeep.records_ns = NOW - 5;
	work(s, &upkeep);
	ASSERT_LIST(s, &all, "new@a - 1;");
	ASSERT_ASKED("retention", "SELECT job_id FROM records", "new\n");
	ASSERT_ASKED("retention",
		     "SELECT count(*) FROM job_mounts WHERE job NOT IN (SELECT id FROM jobs)",
		     "0\n");
}

TEST(of_a_job_on_two_nodes_the_other_one_stays)
{
	_cleanup_(store_closep) struct store *s = place_open("half");
	const struct store_upkeep upkeep = { .now_ns = NOW, .records_ns = NOW - 5 };

	ASSERT_EQ(put_at(s, made_job("7", "a", 0), NOW - 10), 't');
	ASSERT_EQ(put_at(s, made_job("7", "b", 0), NOW), 't');
	work(s, &upkeep);
	ASSERT_LIST(s, &all, "7@b - 1;");
	ASSERT_ASKED("half", "SELECT \"cpu.user_seconds\" FROM jobs", "190000000001\n");
}

TEST(a_user_is_forgotten_by_name_and_number)
{
	_cleanup_(store_closep) struct store *s = place_open("forgotten");
	struct record *record = made_job("8", "a", 0);
	uint64_t count = 0;
	struct error err;

	set(&record->job.user, "another");
	record->job.uid = 1001;
	ASSERT_EQ(put(s, record), 't');
	for (int i = 0; i < 211; i++) { /* more than a batch */
		char id[16];

		snprintf(id, sizeof(id), "%d", 100 + i);
		record = made_job(id, "a", 0);
		if (i % 2)
			set(&record->job.user, NULL);
		ASSERT_EQ(put(s, record), 't');
	}
	ASSERT_EQ(put_at(s, made_checkpoint("9", "a"), NOW), 't');
	work(s, &(struct store_upkeep){ .now_ns = NOW, .closing_ns = NOW + 50 });
	ASSERT_ASKED("forgotten", "SELECT kind, job_id FROM events", "closed|9\n");
	ASSERT_OK(store_forget(s, "made-user", 1000, NOW, &count, &err));
	ASSERT_EQ(count, 212u);
	check_rollups(s);
	ASSERT_ASKED("forgotten", "SELECT user_name, jobs FROM rollups", "another|1\n");
	ASSERT_LIST(s, &all, "8@a - 1;");
	ASSERT_ASKED("forgotten", "SELECT kind, detail FROM events",
		     "forgotten|212 records of one user\n");
	ASSERT_OK(store_forget(s, "made-user", 1000, NOW, &count, &err));
	ASSERT_EQ(count, 0u);
}

/* ---- usage ---- */

static struct record *made_usage(const char *id, uint64_t start_ns, unsigned int cores,
				 uint64_t used_s, uint64_t lock_s)
{
	struct record *r = made_job(id, "a", 0);
	struct value *values = r->reading.values;

	r->time.start_ns = start_ns;
	r->time.end_ns = start_ns + r->time.elapsed_ns;
	for (size_t i = METRIC_BLOCKED_FILE_READ; i <= METRIC_BLOCKED_LOCK; i++)
		values[i] = (struct value){ .is_known = true };
	values[METRIC_CPU_ALLOCATED] = (struct value){ .number = cores * 1000, .is_known = true };
	values[METRIC_CPU_USER] = (struct value){ .number = used_s * SECOND, .is_known = true };
	values[METRIC_CPU_SYSTEM] = (struct value){ .is_known = true };
	values[METRIC_BLOCKED_LOCK] = (struct value){ .number = lock_s * SECOND, .is_known = true };
	return r;
}

/* Core time, and what of it was wasted, on locks and idle, in ms. */
#define WASTE \
	"SELECT jobs, measured, core_ms, wasted_ms, locks_ms, idle_ms FROM rollups ORDER BY day_ns"

TEST(usage_is_exact_whatever_comes_late_or_again)
{
	_cleanup_(store_closep) struct store *s = place_open("usage");
	const uint64_t day = NOW / (86400 * SECOND) * (86400 * SECOND);
	struct record *record = made_usage("7", day, 4, 300, 37);

	/* of 4 cores for 100 s 300 s were used: of the 100 that are left 37 are the locks' */
	ASSERT_EQ(put(s, record), 't');
	ASSERT_ASKED("usage", WASTE, "1|1|400000|100000|37000|63000\n");
	/* all threads together may be blocked for longer than cores are free */
	record = made_usage("8", day + SECOND, 2, 150, 1000);
	ASSERT_EQ(put(s, record), 't');
	ASSERT_ASKED("usage", WASTE, "2|2|600000|150000|87000|63000\n");
	/* it comes again, corrected, and another one of the day before */
	record = made_usage("8", day + SECOND, 2, 200, 1000);
	record->sequence++;
	ASSERT_EQ(put(s, record), 't');
	ASSERT_EQ(put(s, made_usage("6", day - SECOND, 1, 0, 0)), 't');
	ASSERT_ASKED("usage", WASTE, "1|1|100000|100000|0|100000\n2|2|600000|100000|37000|63000\n");
	work(s, &(struct store_upkeep){ .now_ns = NOW, .records_ns = NOW + 1 });
	ASSERT_ASKED("usage", "SELECT count(*) FROM rollups", "0\n");
}

TEST(usage_that_cannot_be_made_anew_is_said_and_an_absurd_day_has_its_own)
{
	struct store *s = place_open("failing");
	struct error err = {};

	ASSERT_EQ(put(s, made_usage("7", INT64_MAX - 200 * SECOND, 4, 300, 37)), 't');
	ASSERT_EQ(put(s, made_usage("8", NOW, 4, 300, 37)), 't');
	reindex(s);
	check_rollups(s);
	store_close(s);
	if (!place_is_file())
		return;
	place_execute("failing", "DELETE FROM meta WHERE name = 'rollups'");
	place_execute("failing", "CREATE TRIGGER refuses BEFORE INSERT ON rollups BEGIN "
				 "SELECT RAISE(ABORT, 'refused'); END");
	ASSERT(store_open_any(place_of("failing"), STORE_WRITE, &s, &err) < 0);
	ASSERT_CONTAINS(err.text, "refused");
}

/* ---- the index anew ---- */

static void fill(struct store *s)
{
	for (unsigned int i = 0; i < 131; i++) {
		char id[16], node[16];
		struct record *record;

		snprintf(id, sizeof(id), "%u", 100 + i / 3);
		snprintf(node, sizeof(node), "n%u", i % 5);
		record = i % 7 ? made_job(id, node, i * 31 % 400) : made_checkpoint(id, node);
		record->sequence = 1000 + i;
		if (i % 11 == 0)
			set(&record->job.manager, "run");
		if (i % 13 == 0)
			record->job.uid = 1001;
		ASSERT_EQ(put_at(s, record, NOW + i), 't');
	}
	work(s, &(struct store_upkeep){ .now_ns = NOW, .closing_ns = NOW + 50 });
}

TEST(the_index_made_anew_is_the_same)
{
	struct store *s = place_open("reindex");
	_cleanup_free_ char *before = NULL;

	fill(s);
	before = dump_index("reindex");
	ASSERT_CONTAINS(before, "INCOMPLETE");
	reindex(s);
	check_rollups(s);
	ASSERT_TEXT(dump_index("reindex"), before);
	store_close(s);
	place_execute("reindex", "DROP TABLE jobs; DROP TABLE job_mounts; DROP TABLE job_steps");
	s = place_open("reindex");
	reindex(s);
	work(s, &(struct store_upkeep){ .now_ns = NOW });
	check_rollups(s);
	ASSERT_TEXT(dump_index("reindex"), before);
	store_close(s);
}

TEST(a_column_that_is_new_is_empty_until_then)
{
	struct store *s = place_open("column");
	struct error err;

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	store_close(s);
	place_execute("column", "ALTER TABLE jobs DROP COLUMN \"cpu.user_seconds\"");
	ASSERT_OK(store_open_any(place_of("column"), STORE_READ, &s, &err));
	ASSERT_LIST(s, &all, "7@a - 1;");
	store_close(s);
	s = place_open("column");
	ASSERT_ASKED("column", "SELECT \"cpu.user_seconds\" FROM jobs", "-\n");
	reindex(s);
	ASSERT_ASKED("column", "SELECT \"cpu.user_seconds\" FROM jobs", "190000000001\n");
	store_close(s);
}

/* ---- the file ---- */

TEST(a_copy_is_a_file_of_its_own_that_can_be_read)
{
	_cleanup_(store_closep) struct store *s = place_open("original");
	_cleanup_free_ char *copy = strdup(place_of("copy"));
	struct store *other = NULL;
	struct error err = {};
	struct stat st;

	if (!place_is_file()) {
		ASSERT_ERR(store_backup(s, "/nonexistent/copy.db", &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "pg_dump");
		return;
	}
	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_OK(store_backup(s, copy, &err));
	ASSERT_EQ(put(s, made_job("8", "a", 0)), 't');
	ASSERT_OK(stat(copy, &st));
	ASSERT_EQ(st.st_mode & 07777, 0600U);
	ASSERT_OK(store_open(copy, STORE_READ, &other, &err));
	ASSERT_LIST(other, &all, "7@a - 1;");
	store_close(other);
	ASSERT_OK(store_backup(s, copy, &err)); /* in the place of the first */
	ASSERT_OK(store_open(copy, STORE_READ, &other, &err));
	ASSERT_LIST(other, &all, "8@a - 1;7@a - 1;");
	store_close(other);
	ASSERT_ERR(store_backup(s, "/nonexistent/copy.db", &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "/nonexistent/copy.db");
}

TEST(the_file_is_its_owners_alone)
{
	_cleanup_(store_closep) struct store *s = place_open("private");
	_cleanup_free_ char *log = NULL;
	struct stat st;

	if (!place_is_file())
		return;
	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_OK(stat(place_of("private"), &st));
	ASSERT_EQ(st.st_mode & 07777, 0600U);
	ASSERT(asprintf(&log, "%s-wal", place_of("private")) > 0);
	ASSERT_OK(stat(log, &st));
	ASSERT_EQ(st.st_mode & 07777, 0600U);
}

/* By SQLite's plan; full scans of what is small, or of what the rarest of questions need. */
static void check_plan(struct store *s, const char *statement)
{
	static const char *const allowed[] = { "meta", "sqlite_master", "nodes" };
	_cleanup_free_ char *text = NULL;
	struct statement plan = {};

	ASSERT(asprintf(&text, "EXPLAIN QUERY PLAN %s", statement) > 0);
	plan.text = text;
	store_ask_once(s, &plan, NULL, 0);
	while (store_next(s, &plan)) {
		const char *step = COLUMN_TEXT(&plan, 3);
		bool is_allowed = strncmp(step, "SCAN ", 5) != 0 || strstr(step, "USING") ||
				  strstr(step, "VIRTUAL TABLE");

		for (size_t k = 0; k < ARRAY_SIZE(allowed); k++)
			is_allowed |= strcmp(step + 5, allowed[k]) == 0;
		if (!is_allowed)
			printf("  %s\n  %s\n", statement, step);
		ASSERT(is_allowed);
	}
	store_release(s, &plan);
}

TEST(no_statement_reads_a_whole_table)
{
	_cleanup_(store_closep) struct store *s = place_open("plans");
	const struct store_upkeep upkeep = { .now_ns = NOW };
	const struct store_question question = { .id = "7" };
	const struct store_who own = { .uid = 1000 };
	size_t asked = 0;

	if (!place_is_file())
		return;
	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_EQ(put(s, made_checkpoint("8", "a")), 't');
	work(s, &upkeep);
	ASSERT_LIST(s, &own, "", .id = "9");
	free(read_lines(s, &question, &all));
	free(read_lines(s, &question, &own));
	for (size_t i = 0; i < STORE_STATEMENTS_MAX && s->statements[i].text; i++, asked++)
		check_plan(s, s->statements[i].text);
	ASSERT(asked > 20);
}

TEST(jobs_of_a_node_are_found_by_an_index)
{
	static const struct store_who callers[] = { { .sees_all = true }, { .uid = 1000 } };
	_cleanup_(store_closep) struct store *s = place_open("jobs-of-node");
	const struct job_filter filter = { .node = "a" };

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	ASSERT_EQ(put(s, made_job("7", "b", 0)), 't');
	ASSERT_EQ(put(s, made_job("8", "b", 0)), 't');
	ASSERT_LIST(s, &all, "7@ - 2;", .node = "a");
	ASSERT_LIST(s, &all, "8@b - 1;7@ - 2;", .node = "b");
	ASSERT_LIST(s, &all, "", .node = "c");
	ASSERT_LIST(s, &((struct store_who){ .uid = 1 }), "", .node = "a");
	for (size_t i = 0; i < ARRAY_SIZE(callers) && place_is_file(); i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		fputs("SELECT id FROM jobs", out);
		store_print_filter(s, &filter, &callers[i], out);
		fputs(" ORDER BY start_ns DESC, id DESC LIMIT ?16", out);
		fclose(out);
		ASSERT_CONTAINS(text, "node = ?15");
		check_plan(s, text);
	}
}

static void set_version(const char *name, int version)
{
	char text[64];

	snprintf(text, sizeof(text),
		 place_is_file() ? "PRAGMA user_version = %d"
				 : "UPDATE meta SET value = %d WHERE name = 'version'",
		 version);
	place_execute(name, text);
}

TEST(an_older_database_gets_what_it_lacks)
{
	struct store *s = place_open("older");
	struct error err = {};

	ASSERT_EQ(put(s, made_job("7", "a", 0)), 't');
	store_close(s);
	s = NULL;
	place_execute("older", "ALTER TABLE jobs DROP COLUMN exit_code; "
			       "ALTER TABLE jobs DROP COLUMN exit_signal; "
			       "ALTER TABLE jobs DROP COLUMN is_measured; "
			       "ALTER TABLE jobs DROP COLUMN has_begun; "
			       "ALTER TABLE records DROP COLUMN sluid; DROP TABLE runs");
	set_version("older", 1);
	ASSERT_ERR(store_open_any(place_of("older"), STORE_READ, &s, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "older jobmeter-server");
	s = place_open("older");
	reindex(s);
	ASSERT_LIST(s, &all, "7@a - 1;");
	ASSERT_ASKED("older", "SELECT job_id, exit_code FROM jobs", "7|0\n");
	store_close(s);
}

static void refuse_to_open(const char *name, const char *words)
{
	struct store *s = NULL;
	struct error err = {};

	ASSERT_ERR(store_open_any(place_of(name), STORE_WRITE, &s, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, words);
	ASSERT(!s);
}

TEST(a_text_is_no_database)
{
	FILE *out;
	struct store *s = NULL;
	struct error err;

	if (!place_is_file())
		return;
	out = fopen(place_of("text"), "w");
	fputs("this is a text, and no database at all, however long it may be\n", out);
	fclose(out);
	refuse_to_open("text", "not a database");
	ASSERT_ERR(store_open(place_of("missing"), STORE_READ, &s, &err), -ENOENT);
}

TEST(what_is_no_database_of_ours_is_left_alone)
{
	place_execute("foreign", "CREATE TABLE mine (x BIGINT)");
	refuse_to_open("foreign", "is no database of jobmeter");
	store_close(place_open("tomorrow"));
	set_version("tomorrow", 5);
	refuse_to_open("tomorrow", "newer jobmeter-server");
}

/* ---- moving ---- */

static int move(struct store *from, struct store *to, char **ret, struct error *err)
{
	size_t size;
	FILE *out = open_memstream(ret, &size);
	int r = store_move(from, to, out, err);

	fclose(out);
	return r;
}

TEST(a_database_is_moved_whole)
{
	_cleanup_(store_closep) struct store *from = place_open("old"), *to = NULL;
	_cleanup_free_ char *before = NULL, *told = NULL, *again = NULL;
	const struct store_question question = { .id = "101" };
	_cleanup_free_ char *line = NULL;
	struct error err = {};

	fill(from);
	ASSERT_OK(store_open_any(place_of("new"), STORE_MOVE, &to, &err));
	if (move(from, to, &told, &err) < 0)
		printf("  %s\n", err.text);
	ASSERT_CONTAINS(told, "records             131 rows");
	before = dump_index("old");
	ASSERT_TEXT(dump_index("new"), before);
	line = read_lines(from, &question, &all);
	ASSERT_TEXT(read_lines(to, &question, &all), line);
	ASSERT_ERR(move(from, to, &again, &err), -EEXIST);
	store_close(TAKE_PTR(to));
	to = place_open("new"); /* numbers go on behind those that came */
	ASSERT_EQ(put(to, made_job("900", "z", 0)), 't');
	ASSERT_LIST(to, &all, "900@z - 1;", .id = "900");
}

TEST(what_was_half_moved_is_finished_and_takes_nothing_before)
{
	_cleanup_(store_closep) struct store *from = place_open("first"), *to = NULL;
	_cleanup_free_ char *told = NULL, *again = NULL;
	struct error err = {};

	fill(from);
	ASSERT_OK(store_open_any(place_of("second"), STORE_MOVE, &to, &err));
	ASSERT_OK(move(from, to, &told, &err));
	/* as it was broken off within the events */
	place_execute("second", "INSERT INTO meta VALUES ('moving', 1), ('move_records', 131), "
				"('move_jobs', 1000000), ('move_job_mounts', 1000000), "
				"('move_events', 1); DELETE FROM events WHERE id > 1");
	refuse_to_open("second", "was broken off");
	ASSERT_OK(move(from, to, &again, &err));
	ASSERT_STREQ(again, told);
	free(TAKE_PTR(again));
	place_execute("second", "INSERT INTO meta VALUES ('moving', 1), ('move_records', 131), "
				"('move_jobs', 1000000), ('move_job_mounts', 1000000), "
				"('move_events', 1000000); DELETE FROM events WHERE id = 1");
	ASSERT_ERR(move(from, to, &again, &err), -EBADMSG);
	ASSERT_CONTAINS(err.text, "events: ");
}

TEST(columns_have_the_names_of_the_records_json)
{
	bool has_read = false, has_user = false;

	for (size_t i = 0; i < store_value_count(); i++) {
		has_read |= strcmp(store_value_name(i), "io.read.bytes") == 0;
		has_user |= strcmp(store_value_name(i), "cpu.user_seconds") == 0;
	}
	ASSERT(has_read && has_user);
}
