/* SPDX-License-Identifier: MIT */
/*
 * Any body, plain or as gzip: there is an answer for each line, or none and nothing is stored; what
 * was taken comes back byte for byte, is known when it comes again, and is listed once.  With a
 * credential only what is of its host is taken.
 */
#include <stdbool.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "server/ingest.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/store/store.h"
#include "service/credential.h"

#define NOW UINT64_C(1770100000000000000)

/* In memory, and the same for all inputs: a bound keeps it small. */
static struct store *store_get(void)
{
	static struct store *store;
	static unsigned int uses;
	struct error err = {};

	if (++uses % 5000 == 0)
		store = store_close(store);
	if (!store)
		CHECK(store_open(":memory:", STORE_WRITE, &store, &err) == 0);
	return store;
}

static size_t count(const char *text, const char *word)
{
	size_t found = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		found++;
	return found;
}

static char *take(const struct ingest_request *request, struct ingest_counts *counts)
{
	struct error err = {};
	char *answer = NULL;
	size_t length;

	if (ingest_take(store_get(), request, counts, &answer, &length, &err) < 0) {
		CHECK(*err.text && !strchr(err.text, '\n') && !answer);
		return NULL;
	}
	CHECK(strlen(answer) == length);
	CHECK(count(answer, "\n") == counts->answers[STORE_TAKEN] + counts->answers[STORE_KNOWN] +
					     counts->answers[STORE_REFUSED]);
	return answer;
}

static int check_line(void *context, const char *line, size_t length)
{
	const struct ingest_request *request = context;

	CHECK(strlen(line) == length);
	/* of another input, or a part of this one */
	if (!request->encoding && length <= request->length &&
	    memmem(request->body, request->length, line, length))
		return 1;
	return 0;
}

static int read_job(void *context, const struct store_job *job)
{
	const struct store_who all = { .sees_all = true };
	const struct store_question question = { .id = job->id,
						 .manager = job->manager,
						 .cluster = job->cluster,
						 .start_ns = job->start_ns };
	struct error err = {};

	CHECK(store_read_records(store_get(), &question, &all, check_line, context, &err) >= 0);
	return 0;
}

/* Each entry of the ledger is one map, and nobody's are for all alone. */
static void check_ledger(const struct store_who *who)
{
	const struct job_filter filter = { .limit = 3 };
	_cleanup_free_ char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);
	struct error err = {};

	document_begin_map(d);
	CHECK(store_format_ledger(store_get(), &filter, who, NULL, d, &err) == 0);
	document_end_map(d);
	CHECK(document_finish(d) == 0);
	document_free(d);
	fclose(out);
	CHECK(count(text, "\"microjoules\":") <= 3);
	CHECK(who->sees_all || !strstr(text, "\"uid\":null"));
}

static void check_list(const struct ingest_request *request)
{
	const struct store_who all = { .sees_all = true }, nobody = { .uid = 4294967294 };
	const struct job_filter few = { .limit = 3 };
	struct error err = {};

	check_ledger(&all);
	check_ledger(&nobody);
	CHECK(store_list_jobs(store_get(), &few, &all, read_job, (void *)request, NULL, &err) == 0);
	CHECK(store_list_jobs(store_get(), &few, &nobody, read_job, (void *)request, NULL, &err) ==
	      0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct credential sender = { .host = "node17.made n " };
	/* the first byte says which it is */
	const struct ingest_request request = { .body = (const char *)data + (size > 0),
						.length = size - (size > 0),
						.encoding = size && data[0] == 'z' ? "gzip" : NULL,
						.now_ns = NOW,
						.sender = size && data[0] == 'm' ? &sender : NULL };
	struct ingest_counts first = {}, second = {};
	_cleanup_free_ char *answer = take(&request, &first), *again = NULL;

	if (!answer)
		return 0;
	again = take(&request, &second);
	/* what was refused for a record of the same batch may be older than one that came behind it
	 */
	CHECK(again && second.answers[STORE_TAKEN] == 0 &&
	      second.answers[STORE_KNOWN] >= first.answers[STORE_TAKEN]);
	if (first.answers[STORE_TAKEN])
		check_list(&request);
	return 0;
}
