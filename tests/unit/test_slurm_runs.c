/* SPDX-License-Identifier: MIT */
/*
 * What Slurm's accounting says becomes runs, and these join with what nodes sent.
 *
 * captured/slurm-26.05-sacct.txt: `sacct -a --duplicates --parsable2 --delimiter=$'\x1f' -S
 * now-1hour -o ...` of Slurm 26.05.3 on one node with slurmdbd, of 2026-11-27, users made up; not
 * edited.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/record_format.h"
#include "made.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "place.h"
#include "server/store/pg.h"
#include "server/sync/manager.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define DAY (UINT64_C(1795737600) * SECOND) /* 2026-11-27 00:00 */
#define CAPTURED "captured/slurm-26.05-sacct.txt"
#define HEAD                                                 \
	"JobID\x1fJobIDRaw\x1fSLUID\x1fJobName\x1fState\x1f" \
	"ExitCode\x1fSubmit\x1fStart\x1f"                    \
	"End\x1fNodeList\x1f"                                \
	"Cluster\n"

static const struct store_who all = { .sees_all = true };

/* How many runs said something new; or what open() said. */
static int put_answer(struct store *s, const char *text)
{
	struct manager_answer a = { .text = strdup(text), .length = strlen(text) };
	struct error err = {};
	struct store_run run;
	bool is_news;
	int news = 0, r = manager_slurm.open(&a, &err);

	ASSERT_OK(store_begin(s, &err));
	while (r == 0 && (r = manager_slurm.next(&a, &run, &err)) > 0) {
		ASSERT_OK(store_put_run(s, &run, &is_news, &err));
		news += is_news;
		r = 0;
	}
	ASSERT_OK(store_commit(s, &err));
	free(a.text);
	return r < 0 ? r : news;
}

static void put_record(struct store *s, const char *id, const char *sluid, uint64_t start_ns,
		       uint64_t end_ns)
{
	struct made_text t = {};
	struct record *r = made_record(0);
	struct store_line line = { .arrived_ns = end_ns };
	enum store_answer answer = STORE_REFUSED;
	struct error err = {};
	char *text;

	free(r->job.manager);
	free(r->job.id);
	free(r->job.sluid);
	r->job.manager = strdup("slurm");
	r->job.id = strdup(id);
	r->job.sluid = sluid ? strdup(sluid) : NULL;
	free(r->job.state);
	r->job.state = strdup("ENDED");
	r->job.uid = 1002;
	r->sequence = 1;
	r->time.start_ns = start_ns;
	r->time.end_ns = end_ns;
	r->time.elapsed_ns = end_ns - start_ns;
	record_format(r, made_text_document(&t, DOCUMENT_ONE_LINE));
	record_free(r);
	text = made_text_end(&t);
	line.text = text;
	line.length = strcspn(text, "\n");
	text[line.length] = '\0';
	line.root = json_loads(text, 0, NULL);
	ASSERT_OK(store_begin(s, &err));
	ASSERT_OK(store_put_record(s, &line, &answer, &err));
	ASSERT_EQ(answer, STORE_TAKEN);
	ASSERT_OK(store_commit(s, &err));
	json_decref((json_t *)line.root);
	free(text);
}

static int add_job(void *context, const struct store_job *job)
{
	FILE *out = context;

	fprintf(out, "%s %s", job->id, job->state);
	if (job->exit_code.is_known)
		fprintf(out, " exit %d", (int)job->exit_code.number);
	if (job->signal.is_known)
		fprintf(out, " signal %d", (int)job->signal.number);
	fprintf(out, "%s%s;", job->is_unmeasured ? " unmeasured" : "", job->waits ? " waits" : "");
	return 0;
}

/* The newest first. */
static char *list(struct store *s)
{
	const struct job_filter filter = {};
	struct made_text t = {};
	struct error err = {};

	if (store_list_jobs(s, &filter, &all, add_job, made_text_stream(&t), NULL, &err) < 0)
		fprintf(t.out, "%s", err.text);
	return made_text_end(&t);
}

#define ASSERT_LIST(store, text)                          \
	do {                                              \
		_cleanup_free_ char *list_ = list(store); \
		ASSERT_STREQ(list_, (text));              \
	} while (0)
#define ASSERT_ASKED(name, question, text)                                   \
	do {                                                                 \
		_cleanup_free_ char *asked_ = place_ask((name), (question)); \
		ASSERT_STREQ(asked_, (text));                                \
	} while (0)

TEST(every_row_of_the_capture_is_a_job)
{
	_cleanup_(store_closep) struct store *s = place_open("capture");
	_cleanup_free_ char *text = test_data(CAPTURED);

	ASSERT_EQ(put_answer(s, text), 22);
	ASSERT_EQ(put_answer(s, text), 0);
	ASSERT_ASKED(
		"capture",
		"SELECT job_id, part, state, exit_code, exit_signal, user_name, account, qos FROM jobs "
		"WHERE job_id IN ('1', '2', '3', '6', '7', '9', '15', '14') ORDER BY id",
		"1|-|COMPLETED|0|-|ann|chem|normal\n2|-|FAILED|3|-|ann|chem|normal\n"
		"3|-|FAILED|-|11|bob|chem|normal\n6|-|TIMEOUT|0|-|ann|chem|low\n"
		"7|-|CANCELLED|-|-|ann|chem|normal\n15|9_3|COMPLETED|0|-|cyd|bio|normal\n"
		"9|9_9|COMPLETED|0|-|cyd|bio|normal\n14|-|FAILED|4|-|bob|chem|normal\n");
	ASSERT_ASKED("capture",
		     "SELECT name, comment FROM jobs WHERE job_id IN ('4', '5') ORDER BY id",
		     "pipe|in name `q` \\ äöü|a|b\ntwo\nlines\tand tab|-\n");
	ASSERT_ASKED("capture",
		     "SELECT state, restarts, (end_ns - start_ns) / 1000000000 FROM jobs "
		     "WHERE job_id = '12' ORDER BY start_ns",
		     "REQUEUED|0|3\nCOMPLETED|1|40\n");
	/* it was suspended for 8 of 9 s */
	ASSERT_ASKED("capture",
		     "SELECT elapsed_ns / 1000000000, suspended_ns / 1000000000 FROM jobs "
		     "WHERE job_id = '13'",
		     "1|8\n");
	ASSERT_ASKED("capture",
		     "SELECT time_limit_ns / 1000000000, requested_memory, requested_cores, "
		     "has_begun, is_measured, node FROM jobs WHERE job_id = '6'",
		     "60|16777216000|1|1|0|vm\n");
	ASSERT_ASKED("capture", "SELECT count(*) FROM jobs WHERE has_begun = 0", "5\n");
}

TEST(records_that_have_a_sluid_alone_find_their_run)
{
	_cleanup_(store_closep) struct store *s = place_open("sluid");
	_cleanup_free_ char *text = test_data(CAPTURED);
	/* as agents that never learned the number say it, in whatever order both come */
	static const struct {
		const char *sluid;
		unsigned int start_s;
	} runs[] = { { "s925M8F6J15V00", 69017 },
		     { "s925M8F6JPPD00", 69117 },
		     { "s925M8F6QZ8200", 69150 },
		     { "s925M8F6J11E00", 68928 } };

	for (size_t i = 0; i < 2; i++)
		put_record(s, runs[i].sluid, runs[i].sluid, DAY + runs[i].start_s * SECOND,
			   DAY + (runs[i].start_s + 3) * SECOND);
	ASSERT_EQ(put_answer(s, text), 22);
	for (size_t i = 2; i < 4; i++)
		put_record(s, runs[i].sluid, runs[i].sluid, DAY + runs[i].start_s * SECOND,
			   DAY + (runs[i].start_s + 3) * SECOND);
	ASSERT_ASKED("sluid",
		     "SELECT j.job_id, j.sluid, j.state FROM jobs j JOIN records r ON r.job = j.id "
		     "WHERE j.is_measured = 1 AND r.job_id = j.sluid ORDER BY j.start_ns",
		     "1|s925M8F6J11E00|COMPLETED\n9|s925M8F6J15V00|COMPLETED\n"
		     "12|s925M8F6JPPD00|REQUEUED\n12|s925M8F6QZ8200|COMPLETED\n");
	ASSERT_ASKED("sluid", "SELECT count(*) FROM jobs", "22\n");
}

/* Jobs wait for the upkeep where there are many records, or none. */
static void work(struct store *s)
{
	const struct store_upkeep upkeep = { .now_ns = DAY };
	struct error err = {};
	bool has_more = true;

	while (has_more)
		ASSERT_OK(store_work(s, &upkeep, &has_more, &err));
}

TEST(a_database_of_before_a_fact_was_known_shows_the_others)
{
	_cleanup_free_ char *text = test_data(CAPTURED);
	struct store *s = place_open("before");
	struct made_text t = {};
	struct error err = {};

	ASSERT_EQ(put_answer(s, text), 22);
	store_close(s);
	place_execute("before", "ALTER TABLE runs DROP COLUMN reservation; "
				"ALTER TABLE jobs DROP COLUMN reservation");
	ASSERT_OK(store_open_any(place_of("before"), STORE_READ, &s, &err));
	ASSERT_OK(store_format_jobs(s, &(struct job_filter){ .id = "6" }, &all,
				    made_text_document(&t, DOCUMENT_ONE_LINE), &err));
	ASSERT_TOLD(made_text_end(&t), "\"submit\":\"2026-11-", "\"time_limit_seconds\":60");
	store_close(s);
}

TEST(the_index_is_made_again_of_records_and_runs)
{
	_cleanup_(store_closep) struct store *s = place_open("again");
	_cleanup_free_ char *text = test_data(CAPTURED), *before = NULL;
	struct error err = {};
	uint64_t count;

	put_record(s, "s925M8F6J11E00", "s925M8F6J11E00", DAY + 68928 * SECOND,
		   DAY + 68931 * SECOND);
	ASSERT_EQ(put_answer(s, text), 22);
	before = list(s);
	for (int i = 0; i < 2; i++) {
		ASSERT_OK(store_reindex(s, &count, &err));
		work(s);
		ASSERT_LIST(s, before);
		place_execute("again", "DELETE FROM jobs");
	}
}

TEST(who_is_forgotten_has_no_runs)
{
	_cleanup_(store_closep) struct store *s = place_open("forgotten");
	_cleanup_free_ char *text = test_data(CAPTURED);
	struct error err = {};
	uint64_t count;

	ASSERT_EQ(put_answer(s, text), 22);
	ASSERT_OK(store_forget(s, "cyd", -1, DAY, &count, &err));
	ASSERT_ASKED("forgotten", "SELECT user_name, count(*) FROM jobs GROUP BY 1 ORDER BY 1",
		     "ann|10\nbob|3\n");
	ASSERT_ASKED("forgotten", "SELECT count(*) FROM runs", "13\n");
}

TEST(a_requeue_without_sluids_is_told_apart_by_time)
{
	_cleanup_(store_closep) struct store *s = place_open("requeue");

	/* 3 s apart: records alone are one job */
	put_record(s, "12", NULL, DAY + 100 * SECOND, DAY + 110 * SECOND);
	put_record(s, "12", NULL, DAY + 113 * SECOND, DAY + 200 * SECOND);
	ASSERT_LIST(s, "12 ENDED exit 0;");
	ASSERT_EQ(put_answer(s, HEAD "12\x1f"
				     "12\x1f\x1fn\x1fREQUEUED\x1f"
				     "0:0\x1f"
				     "2026-11-27T00:01:00\x1f"
				     "2026-11-27T00:01:40\x1f"
				     "2026-11-27T00:01:50\x1fn\x1f"
				     "c\n"
				     "12\x1f"
				     "12\x1f\x1fn\x1fRUNNING\x1f"
				     "0:0\x1f"
				     "2026-11-27T00:01:51\x1f"
				     "2026-11-27T00:01:53\x1f"
				     "Unknown\x1fn\x1f"
				     "c\n"),
		  2);
	/* what the nodes know of its end is not taken back */
	ASSERT_LIST(s, "12 ENDED exit 0;12 REQUEUED exit 0;");
	ASSERT_ASKED("requeue",
		     "SELECT count(*) FROM jobs j JOIN records r ON r.job = j.id "
		     "WHERE r.start_ns - j.start_ns < 1000000000",
		     "2\n");
}

TEST(an_array_that_waits_is_one_row_and_leaves_none)
{
	_cleanup_(store_closep) struct store *s = place_open("array");

	ASSERT_EQ(put_answer(s,
			     HEAD "9_[3-5%2]\x1f"
				  "9\x1f\x1f"
				  "a\x1fPENDING\x1f"
				  "0:0\x1f"
				  "2026-11-27T00:01:00\x1fUnknown\x1fUnknown\x1fNone assigned\x1f"
				  "c\n"),
		  1);
	ASSERT_LIST(s, "9 PENDING unmeasured waits;");
	ASSERT_ASKED("array", "SELECT array_id, array_tasks, part FROM jobs", "9|[3-5%2]|-\n");
#define TASK(index, id, second)                \
	"9_" index "\x1f" id "\x1f\x1f"        \
	"a\x1f"                                \
	"COMPLETED\x1f"                        \
	"0:0\x1f"                              \
	"2026-11-27T00:01:00\x1f"              \
	"2026-11-27T00:01:" second "\x1f"      \
	"2026-11-27T00:02:" second "\x1fn\x1f" \
	"c\n"
	ASSERT_EQ(put_answer(s,
			     HEAD TASK("3", "10", "01") TASK("4", "11", "02") TASK("5", "9", "03")),
		  3);
	ASSERT_ASKED(
		"array",
		"SELECT job_id, array_index, array_tasks, part, state FROM jobs ORDER BY array_index",
		"10|3|-|9_3|COMPLETED\n11|4|-|9_4|COMPLETED\n9|5|-|9_5|COMPLETED\n");
}

TEST(an_answer_that_is_not_whole_changes_nothing)
{
	_cleanup_(store_closep) struct store *s = place_open("broken");
	_cleanup_free_ char *text = test_data(CAPTURED);

	for (size_t length = strlen(text) - 1; length > 900; length -= 371) {
		if (text[length - 1] != '\n') {
			text[length] = '\0';
			ASSERT_EQ(put_answer(s, text), -EBADMSG);
		}
	}
	ASSERT_EQ(put_answer(s, ""), -EBADMSG);
	ASSERT_EQ(put_answer(s, "sacct: error: no\n"), -EBADMSG);
	ASSERT_LIST(s, "");
}

TEST(bytes_of_no_character_and_long_texts_are_taken)
{
	_cleanup_(store_closep) struct store *s = place_open("bytes");
	_cleanup_free_ char *text = NULL;
	char name[3000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[1] = '\xff';
	ASSERT(asprintf(&text,
			HEAD "1\x1f"
			     "1\x1f\x1f%s\x1f"
			     "CANCELLED by 7\x1f"
			     "0:15\x1f"
			     "2026-11-27T00:01:00\x1f"
			     "2026-11-27T00:01:00\x1f"
			     "2026-11-27T00:02:00\x1fn\x1f"
			     "c\n",
			name) > 0);
	ASSERT_EQ(put_answer(s, text), 1);
	ASSERT_LIST(s, "1 CANCELLED signal 15 unmeasured;");
	ASSERT_ASKED("bytes", "SELECT length(name), substr(name, 1, 3) FROM jobs", "1024|x?x\n");
}
