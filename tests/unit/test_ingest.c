/* SPDX-License-Identifier: MIT */
#include "server/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/gzip_member.h"
#include "codec/records.h"
#include "server/store/store.h"
#include "place.h"
#include "service/credential.h"
#include "test.h"

#define NOW UINT64_C(1770100000000000000)
#define LINE(id)                                                                                     \
	"{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"run\",\"id\":\"" id \
	"\"},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"}}"
#define JOB_LINE(id, node)                                   \
	"{\"schema\":\"jobmeter.record/1\",\"node\":\"" node \
	"\",\"job\":{\"manager\":\"slurm\",\"id\":\"" id     \
	"\"},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"},\"sequence\":1}"
#define TAKEN "{\"answer\":\"taken\"}\n"
#define KNOWN "{\"answer\":\"known\"}\n"

static struct store *open_store(const char *name)
{
	struct store *s = NULL;
	char path[256];
	struct error err;

	snprintf(path, sizeof(path), "%s/%s.db", test_dir(), name);
	ASSERT_OK(store_open(path, STORE_WRITE, &s, &err));
	return s;
}

/* The answer, or why there is none. */
static char *take(struct store *s, const void *body, size_t length, const char *encoding)
{
	const struct ingest_request request = { body, length, encoding, NOW, 0, NULL, NULL };
	struct ingest_counts counts = {};
	struct error err = {};
	char *answer = NULL;
	size_t size;

	if (ingest_take(s, &request, &counts, &answer, &size, &err) < 0)
		return strdup(err.text);
	ASSERT_EQ(strlen(answer), size);
	return answer;
}

static char *take_text(struct store *s, const char *text)
{
	return take(s, text, strlen(text), NULL);
}

TEST(each_line_is_answered_in_its_order)
{
	_cleanup_(store_closep) struct store *s = open_store("order");

	ASSERT_TEXT(
		take_text(s, LINE("1") "\n" LINE("2") "\n\n[]\n" LINE("1")), TAKEN TAKEN
		"{\"answer\":\"refused\",\"reason\":\"column 0: '[' or '{' expected near end of "
		"file\"}\n"
		"{\"answer\":\"refused\",\"reason\":\"it names no schema\"}\n" KNOWN);
}

TEST(gzip_members_are_one_text)
{
	_cleanup_(store_closep) struct store *s = open_store("gzip");
	_cleanup_free_ void *first = NULL, *second = NULL;
	size_t first_length, second_length;
	_cleanup_free_ char *both = NULL;

	ASSERT_OK(gzip_member_pack(LINE("1") "\n", strlen(LINE("1")) + 1, GZIP_FAST, &first,
				   &first_length));
	ASSERT_OK(gzip_member_pack(LINE("2") "\n", strlen(LINE("2")) + 1, GZIP_FAST, &second,
				   &second_length));
	both = malloc(first_length + second_length);
	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	ASSERT_TEXT(take(s, both, first_length + second_length, "gzip"), TAKEN TAKEN);
	ASSERT_TEXT(take(s, both, first_length + second_length, "GZIP"), KNOWN KNOWN);
	ASSERT_TEXT(take(s, both, first_length + second_length - 1, "gzip"),
		    "it is no gzip, or not whole");
}

TEST(what_is_too_much_is_not_begun)
{
	_cleanup_(store_closep) struct store *s = open_store("bounds");
	_cleanup_free_ char *lines = malloc(INGEST_LINES_MAX + 1);

	memset(lines, '\n', INGEST_LINES_MAX + 1);
	ASSERT_TEXT(take(s, lines, INGEST_LINES_MAX + 1, NULL), "it has more than 1024 lines");
	ASSERT_TOLD(take(s, lines, INGEST_LINES_MAX, NULL), "refused");
	ASSERT_TEXT(take(s, "", 0, "br"), "the content coding 'br' is not known here: gzip is");
	ASSERT_TEXT(take(s, "", 0, NULL), "");
}

TEST(a_line_that_is_too_long_is_refused_by_itself)
{
	_cleanup_(store_closep) struct store *s = open_store("long");
	size_t length = RECORD_FILE_MAX + 1;
	_cleanup_free_ char *text = malloc(length + sizeof(LINE("1")) + 1);

	memset(text, ' ', length);
	text[length] = '\n';
	strcpy(text + length + 1, LINE("1"));
	ASSERT_TEXT(
		take_text(s, text),
		"{\"answer\":\"refused\",\"reason\":\"the line has 16777217 bytes, and may have "
		"16777216\"}\n" TAKEN);
}

/* Small as it is, the parser would need more than a GB for it. */
TEST(a_line_of_too_many_values_is_refused_by_itself)
{
	_cleanup_(store_closep) struct store *s = open_store("values");
	const size_t count = 2 << 20;
	_cleanup_free_ char *text = malloc(3 * count + sizeof(LINE("1")) + 8);
	char *at = stpcpy(text, "[{}");

	for (size_t i = 1; i < count; i++)
		at = stpcpy(at, ",{}");
	stpcpy(at, "]\n" LINE("1"));
	ASSERT_TEXT(take_text(s, text),
		    "{\"answer\":\"refused\",\"reason\":\"the line has more than 1048576 "
		    "values\"}\n" TAKEN);
}

/* The index stands for whatever keeps the row of one job from being made. */
TEST(a_job_whose_row_cannot_be_made_keeps_no_record_from_being_stored)
{
	_cleanup_(store_closep) struct store *s = open_store("odd");

	ASSERT_TEXT(take_text(s, JOB_LINE("1", "a") "\n" JOB_LINE("1", "b")), TAKEN TAKEN);
	place_execute("odd", "CREATE UNIQUE INDEX odd ON jobs (nodes) WHERE nodes = 2");
	ASSERT_TEXT(take_text(s, JOB_LINE("2", "a") "\n" LINE("3") "\n" JOB_LINE("2", "b")),
		    TAKEN TAKEN TAKEN);
	ASSERT_TEXT(place_ask("odd", "SELECT job_id, is_stale FROM jobs ORDER BY job_id"),
		    "1|0\n2|2\n3|2\n");
}

/* What each is refused for; the line behind it is taken. */
static const struct hostile {
	const char *line, *reason;
} hostiles[] = {
	{ "{", "'}' expected" },
	{ "nonsense", "expected" },
	{ "{\"schema\":\"jobmeter.record/2\"}", "'jobmeter.record/2' is not known here" },
	{ "{\"schema\":7}", "it names no schema" },
	{ "{\"schema\":\"jobmeter.record/1\"}", "it has no node" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"a\\u0000b\"}", "\\\\u0000 is not allowed" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"\xff\xfe\"}", "decode byte 0xff" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"sequence\":9223372036854775808}",
	  "too big integer" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"sequence\":-1}", "sequence" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"sequence\":1e400}",
	  "real number overflow" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"node\":\"m\"}", "duplicate" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":[]}", "job is a list" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"run\",\"id\":7}}",
	  "job.id is a number" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"run\",\"id\":\"1\"},"
	  "\"time\":{\"start\":\"9999-01-01T00:00:00Z\"}}",
	  "time" },
	{ "{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":\"run\",\"id\":\"1\","
	  "\"uid\":4294967296},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"}}",
	  "job.uid is no user's number" },
};

TEST(hostile_lines_are_refused_and_the_rest_is_taken)
{
	_cleanup_(store_closep) struct store *s = open_store("hostile");

	for (size_t i = 0; i < ARRAY_SIZE(hostiles); i++) {
		_cleanup_free_ char *text = NULL, *answers = NULL;
		size_t length;

		ASSERT(asprintf(
			       &text,
			       "%s\n{\"schema\":\"jobmeter.record/1\",\"node\":\"n\",\"job\":{\"manager\":"
			       "\"run\",\"id\":\"h%zu\"},\"time\":{\"start\":\"2026-02-03T04:05:06Z\"}}\n",
			       hostiles[i].line, i) > 0);
		answers = take_text(s, text);
		ASSERT_CONTAINS(answers, "{\"answer\":\"refused\",\"reason\":\"");
		ASSERT_CONTAINS(answers, hostiles[i].reason);
		length = strlen(answers);
		ASSERT(length > strlen(TAKEN));
		ASSERT_STREQ(answers + length - strlen(TAKEN), TAKEN);
	}
}

TEST(with_a_credential_a_node_writes_in_its_own_name_only)
{
	_cleanup_(store_closep) struct store *s = open_store("credential");
	const struct credential sender = { .host = "n.example " }, unknown = {};
	struct ingest_request request = { .body = LINE("1") "\n{\"schema\":\"jobmeter.record/1\","
							    "\"node\":\"other\"}\n"
							    "{\"schema\":\"jobmeter.ledger/1\"}",
					  .now_ns = NOW,
					  .sender = &sender };
	struct ingest_counts counts = {};
	_cleanup_free_ char *answers = NULL, *of_unknown = NULL;
	struct error err;
	size_t size;

	request.length = strlen(request.body);
	ASSERT_OK(ingest_take(s, &request, &counts, &answers, &size, &err));
	ASSERT_STREQ(answers, TAKEN
		     "{\"answer\":\"refused\",\"reason\":\"it is of node 'other', and its "
		     "credential of n.example (the machine's names as the server knows them)\"}\n"
		     "{\"answer\":\"refused\",\"reason\":\"it is of node '', and its "
		     "credential of n.example (the machine's names as the server knows them)\"}\n");
	request.sender = &unknown;
	ASSERT_OK(ingest_take(s, &request, &counts, &of_unknown, &size, &err));
	ASSERT_CONTAINS(of_unknown, "it is of node 'n', and its credential of no machine that is "
				    "known here\"}\n");
}

TEST(a_nul_and_deep_nesting_are_refused)
{
	_cleanup_(store_closep) struct store *s = open_store("deep");
	static const char nul[] = "{\"schema\":\"jobmeter.record/1\",\"node\":\"a\0b\"}";
	_cleanup_free_ char *deep = malloc(100001);

	ASSERT_TOLD(take(s, nul, sizeof(nul) - 1, NULL), "refused");
	memset(deep, '[', 100000);
	deep[100000] = '\0';
	ASSERT_TOLD(take_text(s, deep), "maximum parsing depth reached");
}

TEST(words_of_the_database_are_words)
{
	static const char words[] = "'); DROP TABLE records; --";
	_cleanup_(store_closep) struct store *s = open_store("words");
	const struct store_who all = { .sees_all = true };
	const struct store_question question = { .id = words };
	_cleanup_free_ char *text = NULL;
	struct id_list ids = {};
	struct error err;

	ASSERT(asprintf(
		       &text,
		       "{\"schema\":\"jobmeter.record/1\",\"cluster\":\"%s\",\"node\":\"%s\",\"boot_id\":\"%s\","
		       "\"job\":{\"manager\":\"%s\",\"id\":\"%s\",\"user\":\"%s\",\"name\":\"%s\"},"
		       "\"time\":{\"start\":\"2026-02-03T04:05:06Z\"}}",
		       words, words, words, words, words, words, words) > 0);
	ASSERT_TEXT(take_text(s, text), TAKEN);
	ASSERT_OK(store_find_records(s, &question, &all, &ids, &err));
	ASSERT_EQ(ids.count, (size_t)1);
	id_list_clear(&ids);
}
