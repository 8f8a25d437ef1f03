/* SPDX-License-Identifier: MIT */
#include "codec/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/document.h"
#include "server/ingest.h"
#include "server/store/store.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define NOW (UINT64_C(1770100000) * SECOND)
#define TAKEN "{\"answer\":\"taken\"}\n"
#define KNOWN "{\"answer\":\"known\"}\n"

#define LINE(node, sequence, entries)                                                               \
	"{\"schema\":\"jobmeter.ledger/1\",\"cluster\":\"c\",\"node\":\"" node                      \
	"\",\"boot_id\":\"b\",\"start\":\"2026-02-03T04:00:00Z\",\"end\":\"2026-02-03T04:15:00Z\"," \
	"\"sequence\":" sequence ",\"entries\":[" entries "]}"
#define JOB(id, uid, microjoules)                                                                         \
	"{\"owner\":\"job\",\"manager\":\"slurm\",\"job\":\"" id                                          \
	"\",\"start\":\"2026-02-03T03:00:00Z\",\"uid\":" uid                                              \
	",\"level\":\"node\",\"source\":\"rapl\",\"quality\":\"attributed\",\"microjoules\":" microjoules \
	"}"
#define OTHER(owner, microjoules)                                                      \
	"{\"owner\":\"" owner "\",\"level\":\"node\",\"source\":\"rapl\",\"quality\":" \
	"\"measured\",\"microjoules\":" microjoules "}"

static const struct store_who all = { .sees_all = true };

static struct store *open_store(void)
{
	struct store *s = NULL;
	struct error err;

	ASSERT_OK(store_open(":memory:", STORE_WRITE, &s, &err));
	return s;
}

static char *take_at(struct store *s, const char *text, uint64_t now_ns, int64_t clock_offset_ns)
{
	const struct ingest_request request = { .body = text,
						.length = strlen(text),
						.now_ns = now_ns,
						.clock_offset_ns = clock_offset_ns };
	struct ingest_counts counts = {};
	struct error err = {};
	char *answer = NULL;
	size_t size;

	if (ingest_take(s, &request, &counts, &answer, &size, &err) < 0)
		return strdup(err.text);
	return answer;
}

static char *take(struct store *s, const char *text)
{
	return take_at(s, text, NOW, 0);
}

static char *ask(struct store *s, const struct job_filter *filter, const struct store_who *who)
{
	struct made_text t = {};
	struct document *d = made_text_document(&t, DOCUMENT_ONE_LINE);
	struct error err;

	document_begin_map(d);
	ASSERT_OK(store_format_ledger(s, filter, who, NULL, d, &err));
	document_end_map(d);
	return made_text_end(&t);
}

static size_t count(const char *text, const char *word)
{
	size_t found = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		found++;
	return found;
}

static uint64_t sum(const char *text)
{
	static const char key[] = "\"microjoules\":";
	uint64_t total = 0;

	for (; (text = strstr(text, key)); text += strlen(key))
		total += strtoull(text + strlen(key), NULL, 10);
	return total;
}

TEST(each_line_is_taken_once_and_adds_up)
{
	_cleanup_(store_closep) struct store *s = open_store();
	static const char lines[] = LINE(
		"n", "1",
		JOB("7", "1000", "101") "," OTHER("system", "103") "," OTHER(
			"idle", "107")) "\n" LINE("n", "2",
						  OTHER("unattributed",
							"109")) "\n" LINE("m", "1",
									  JOB("7", "1000", "113"));
	_cleanup_free_ char *back = NULL;

	ASSERT_TEXT(take(s, lines), TAKEN TAKEN TAKEN);
	ASSERT_TEXT(take(s, lines), KNOWN KNOWN KNOWN);
	back = ask(s, &(struct job_filter){}, &all);
	ASSERT_EQ(sum(back), (uint64_t)(101 + 103 + 107 + 109 + 113));
	ASSERT_CONTAINS(
		back,
		"{\"cluster\":\"c\",\"node\":\"n\",\"owner\":\"job\",\"manager\":\"slurm\",\"job\":\"7\","
		"\"level\":\"node\",\"source\":\"rapl\",\"quality\":\"attributed\","
		"\"start\":\"2026-02-03T04:00:00.000000000Z\",\"end\":\"2026-02-03T04:15:00.000000000Z\","
		"\"job_start\":\"2026-02-03T03:00:00.000000000Z\",\"uid\":1000,\"microjoules\":101}");
	ASSERT_CONTAINS(back, "\"owner\":\"idle\",\"manager\":null,\"job\":null");
	ASSERT_CONTAINS(back, "\"more\":false");
}

TEST(another_line_of_the_same_key_is_refused)
{
	_cleanup_(store_closep) struct store *s = open_store();
	_cleanup_free_ char *answers = take(s, LINE("n", "1", OTHER("idle", "107")) "\n" LINE(
						       "n", "1", OTHER("idle", "109"))),
			    *back = ask(s, &(struct job_filter){}, &all);

	ASSERT_STREQ(answers,
		     TAKEN "{\"answer\":\"refused\",\"reason\":\"another line has this key "
			   "and sequence\"}\n");
	ASSERT_EQ(sum(back), (uint64_t)107);
}

#define HEAD "{\"schema\":\"jobmeter.ledger/1\",\"node\":\"n\","
#define TIMES "\"start\":\"2026-02-03T04:00:00Z\",\"end\":\"2026-02-03T04:15:00Z\",\"sequence\":1"
static const struct {
	const char *line, *reason;
} hostiles[] = {
	{ "{\"schema\":\"jobmeter.ledger/1\"}", "node is missing" },
	{ "{\"schema\":\"jobmeter.ledger/2\"}", "is not known here" },
	{ HEAD "\"cluster\":7}", "cluster is a number" },
	{ HEAD "\"end\":\"2026-02-03T04:15:00Z\"}", "start is missing" },
	{ HEAD "\"start\":\"2026-02-03T04:15:00Z\",\"end\":\"2026-02-03T04:00:00Z\"}",
	  "end is before start" },
	{ HEAD "\"start\":\"2300-01-01T00:00:00Z\",\"end\":\"2300-01-01T00:00:00Z\"}", "start is" },
	{ HEAD "\"start\":\"yesterday\"}", "start is not a time" },
	{ HEAD "\"start\":\"2026-02-03T04:00:00Z\",\"end\":\"2026-02-03T04:15:00Z\"}",
	  "sequence is missing" },
	{ HEAD TIMES "}", "entries is missing" },
	{ HEAD TIMES ",\"entries\":{}}", "entries is a map" },
	{ HEAD TIMES ",\"entries\":[7]}", "entries[0] is a number" },
	{ HEAD TIMES ",\"entries\":[{\"owner\":\"me\"}]}", "entries[0].owner is 'me'" },
	{ LINE("n", "1", JOB("7", "-1", "1")), "entries[0].uid is out of range" },
	{ LINE("n", "1", JOB("7", "4294967296", "1")), "entries[0].uid is out of range" },
	{ LINE("n", "1", JOB("", "1000", "1")), "entries[0].job is missing" },
	{ LINE("n", "1", "{\"owner\":\"idle\",\"uid\":-4,\"level\":\"node\",\"microjoules\":1}"),
	  "entries[0].uid is out of range" },
	{ LINE("n", "1", OTHER("idle", "-1")), "microjoules is out of range" },
	{ LINE("n", "1", OTHER("idle", "1.5")), "microjoules is a fraction" },
	{ LINE("n", "1", OTHER("idle", "null")), "microjoules is missing" },
	{ LINE("n", "1", OTHER("idle", "1000000000000001")), "microjoules is out of range" },
	{ LINE("n", "1", OTHER("idle", "9223372036854775808")), "too big integer" },
	{ LINE("n", "1", OTHER("idle", "1") "," OTHER("system'; DROP TABLE ledger; --", "1")),
	  "entries[1].owner is" },
};

TEST(hostile_lines_are_refused_and_the_rest_is_taken)
{
	_cleanup_(store_closep) struct store *s = open_store();

	for (size_t i = 0; i < ARRAY_SIZE(hostiles); i++) {
		_cleanup_free_ char *text = NULL, *answers = NULL;

		ASSERT(asprintf(&text,
				"%s\n" HEAD "\"start\":\"2026-02-03T04:00:00Z\","
				"\"end\":\"2026-02-03T04:00:00Z\",\"sequence\":%zu,\"entries\":[]}",
				hostiles[i].line, i + 100) > 0);
		answers = take(s, text);
		ASSERT_CONTAINS(answers, "{\"answer\":\"refused\",\"reason\":\"");
		ASSERT_CONTAINS(answers, hostiles[i].reason);
		ASSERT_STREQ(strchr(answers, '\n') + 1, TAKEN);
	}
	ASSERT_TEXT(ask(s, &(struct job_filter){}, &all), "{\"entries\":[],\"more\":false}\n");
}

TEST(an_entry_of_no_job_is_nobodys)
{
	_cleanup_(store_closep) struct store *s = open_store();

	ASSERT_TEXT(take(s, LINE("n", "1",
				 "{\"owner\":\"idle\",\"manager\":\"slurm\",\"job\":\"7\","
				 "\"uid\":1000,\"level\":\"node\",\"source\":\"rapl\","
				 "\"quality\":\"measured\",\"microjoules\":107}")),
		    TAKEN);
	ASSERT_TEXT(ask(s, &(struct job_filter){}, &(struct store_who){ .uid = 1000 }),
		    "{\"entries\":[],\"more\":false}\n");
	ASSERT_TOLD(ask(s, &(struct job_filter){}, &all),
		    "\"owner\":\"idle\",\"manager\":null,\"job\":null");
}

TEST(words_of_the_database_are_words)
{
	static const char words[] = "x' OR '1'='1";
	_cleanup_(store_closep) struct store *s = open_store();
	const struct job_filter question = { .id = words };
	_cleanup_free_ char *answers = take(s, LINE("n", "1",
						    JOB("x' OR '1'='1", "1000",
							"5") "," JOB("7", "1000", "3"))),
			    *back = ask(s, &question, &all);

	ASSERT_STREQ(answers, TAKEN);
	ASSERT_EQ(sum(back), (uint64_t)5);
}

TEST(each_sees_his_own_and_nobody_what_is_nobodys)
{
	_cleanup_(store_closep) struct store *s = open_store();
	_cleanup_free_ char
		*answers = take(s, LINE("n", "1",
					JOB("7", "1000", "101") "," JOB("8", "1001", "103") "," JOB(
						"9", "null", "107") "," OTHER("idle", "109"))),
		*mine = NULL, *others = NULL, *of_nobody = NULL;

	ASSERT_STREQ(answers, TAKEN);
	mine = ask(s, &(struct job_filter){}, &(struct store_who){ .uid = 1000 });
	ASSERT_EQ(sum(mine), (uint64_t)101);
	others = ask(s, &(struct job_filter){ .id = "8" }, &(struct store_who){ .uid = 1000 });
	ASSERT_STREQ(others, "{\"entries\":[],\"more\":false}\n");
	of_nobody = ask(s, &(struct job_filter){}, &(struct store_who){ .uid = 0 });
	ASSERT_EQ(count(of_nobody, "owner"), (size_t)0);
}

TEST(a_question_has_bounds)
{
	_cleanup_(store_closep) struct store *s = open_store();
	_cleanup_free_ char *of_node = NULL, *before = NULL, *first = NULL;

	ASSERT_TEXT(take(s,
			 LINE("n", "1", JOB("7", "1000", "101") "," OTHER("idle", "109")) "\n" LINE(
				 "m", "1", OTHER("idle", "113"))),
		    TAKEN TAKEN);
	of_node = ask(s, &(struct job_filter){ .node = "m" }, &all);
	ASSERT_EQ(sum(of_node), (uint64_t)113);
	before = ask(s, &(struct job_filter){ .until_ns = 1000 }, &all);
	ASSERT_EQ(sum(before), (uint64_t)0);
	first = ask(s, &(struct job_filter){ .limit = 1, .offset = 1 }, &all);
	ASSERT_EQ(sum(first), (uint64_t)109);
	ASSERT_CONTAINS(first, "\"more\":true");
}

TEST(times_are_by_our_clock)
{
	_cleanup_(store_closep) struct store *s = open_store();

	ASSERT_TEXT(take_at(s, LINE("n", "1", OTHER("idle", "1")), NOW, 3 * (int64_t)SECOND),
		    TAKEN);
	ASSERT_TOLD(ask(s, &(struct job_filter){}, &all),
		    "\"start\":\"2026-02-03T03:59:57.000000000Z\"",
		    "\"end\":\"2026-02-03T04:14:57.000000000Z\"");
}

TEST(what_is_old_is_deleted_whole)
{
	_cleanup_(store_closep) struct store *s = open_store();
	const struct store_upkeep upkeep = { .now_ns = NOW, .ledger_ns = NOW - 5 };
	_cleanup_free_ char *old = take_at(s, LINE("n", "1", OTHER("idle", "101")), NOW - 10, 0),
			    *new = take(s, LINE("n", "2", OTHER("idle", "103"))), *back = NULL;
	struct store_facts facts;
	struct error err;
	bool more = true;

	while (more)
		ASSERT_OK(store_work(s, &upkeep, &more, &err));
	back = ask(s, &(struct job_filter){}, &all);
	ASSERT_EQ(sum(back), (uint64_t)103);
	ASSERT_OK(store_read_facts(s, false, &facts, &err));
	ASSERT_EQ(facts.deleted_ledger, (uint64_t)1);
	ASSERT_STREQ(old, new);
	ASSERT_TEXT(take(s, LINE("n", "2", OTHER("idle", "103"))), KNOWN);
}

TEST(what_a_forgotten_user_took_still_adds_up_and_is_nobodys)
{
	_cleanup_(store_closep) struct store *s = open_store();
	static const char line[] = LINE("n", "1",
					JOB("7", "1000", "101") "," JOB("8", "1001", "103"));
	_cleanup_free_ char *back = NULL, *his = NULL;
	uint64_t records;
	struct error err;

	ASSERT_TEXT(take(s, line), TAKEN);
	ASSERT_OK(store_forget(s, "made-user", 1000, NOW, &records, &err));
	back = ask(s, &(struct job_filter){}, &all);
	ASSERT_EQ(sum(back), (uint64_t)(101 + 103));
	ASSERT_LACKS(back, "\"job\":\"7\"");
	ASSERT_LACKS(back, "1000");
	his = ask(s, &(struct job_filter){}, &(struct store_who){ .uid = 1000 });
	ASSERT_EQ(sum(his), (uint64_t)0);
	ASSERT_TEXT(take(s, line), KNOWN);
}
