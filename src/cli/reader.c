/* SPDX-License-Identifier: MIT */
#include "cli/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "client/server_client.h"
#include "client/web.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/json_place.h"
#include "server/store/store.h"

#define MAGIC "SQLite format 3" /* and a NUL */
#define PAGE 1000 /* jobs that are asked for at once */

struct reader { /* one of the two */
	struct server_client *client;
	struct store *store;
	const char *path; /* of the store: the caller's */
};

/* Whoever can open the file sees all that is in it. */
static const struct store_who everybody = { .sees_all = true };

/* ---- files of records, as a database in memory ---- */

static void format_record(const void *record, struct document *d)
{
	record_format(record, d);
}

/* 1: it was refused, and *err says why. */
static int put_record(struct store *store, const struct record *record, struct error *err)
{
	struct store_line line = { .arrived_ns = clock_now_ns(CLOCK_REALTIME) };
	_cleanup_(json_freep) json_t *root = NULL;
	_cleanup_free_ char *text = NULL;
	enum store_answer answer;
	int r = document_format_line(format_record, record, &text, &line.length);

	if (r == 0)
		root = json_loadb(text, line.length, JSON_REJECT_DUPLICATES, NULL);
	if (!root)
		return error_set_errno(err, r < 0 ? r : ENOMEM, "cannot take the record");
	line.text = text;
	line.root = root;
	r = store_put_record(store, &line, &answer, err);
	return r < 0 ? r : answer == STORE_REFUSED;
}

struct refusal {
	void (*refuse)(void *context, const struct error *err);
	void *context;
};

/* What the store refuses is passed over in a directory, and said; the sum over nodes, which often
 * lies beside its parts, is not said. */
static int put_records(const struct reader *reader, const struct records *records, bool is_dir,
		       const struct refusal *refusal, struct error *err)
{
	int r = store_begin(reader->store, err);

	for (size_t i = 0; r >= 0 && i < records->count; i++) {
		struct record *record = records->items[i];

		if (!record->sequence)
			record->sequence = i + 1; /* of a `run`, which has one record */
		r = put_record(reader->store, record, err);
		if (r > 0) {
			r = error_prefix(err, -EINVAL, "%s", reader->path);
			if (is_dir && record->merged_nodes <= 1)
				refusal->refuse(refusal->context, err);
			r = is_dir ? 0 : r;
		}
	}
	if (r >= 0)
		return store_commit(reader->store, err);
	store_abandon(reader->store);
	return r;
}

static int open_files(struct reader *reader, const struct refusal *refusal, struct error *err)
{
	const struct store_upkeep nothing = {};
	_cleanup_(records_clear) struct records records = {};
	bool has_more = true;
	struct stat st;
	bool is_dir = stat(reader->path, &st) == 0 && S_ISDIR(st.st_mode);
	int r = is_dir ? records_read_dir(reader->path, &records, refusal->refuse, refusal->context,
					  err)
		       : records_read(reader->path, &records, err);

	if (r == 0 && !records.count)
		r = error_set(err, -ENOENT, "there is no record in '%s'", reader->path);
	if (r == 0)
		r = store_open(":memory:", STORE_WRITE, &reader->store, err);
	if (r == 0)
		r = put_records(reader, &records, is_dir, refusal, err);
	while (r == 0 && has_more) /* jobs of many records wait for it */
		r = store_work(reader->store, &nothing, &has_more, err);
	return r;
}

/* ---- opening ---- */

static bool is_database(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[sizeof(MAGIC)];

	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       memcmp(head, MAGIC, sizeof(head)) == 0;
}

int reader_open(const char *path, void (*refuse)(void *context, const struct error *err),
		void *context, struct reader **ret, struct error *err)
{
	const struct refusal refusal = { refuse, context };
	_cleanup_(reader_closep) struct reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return error_set_errno(err, ENOMEM, "cannot read jobs");
	reader->path = path;
	if (!path)
		r = server_client_open(NULL, &reader->client, err);
	else if (web_is_url(path))
		r = server_client_open_url(path, &reader->client, err);
	else if (is_database(path))
		r = store_open(path, STORE_READ, &reader->store, err);
	else
		r = open_files(reader, &refusal, err);
	if (r == 0)
		*ret = TAKE_PTR(reader);
	return r;
}

struct reader *reader_close(struct reader *reader)
{
	if (!reader)
		return NULL;
	server_client_close(reader->client);
	store_close(reader->store);
	free(reader);
	return NULL;
}

void reader_closep(struct reader **reader)
{
	reader_close(*reader);
}

/* ---- jobs ---- */

struct question {
	struct store *store;
	const char *by; /* what to add up by; NULL: jobs are listed */
	const char *period; /* of usage */
	bool is_of_usage;
	const struct job_filter *filter;
	int *ret;
	struct error *err;
};

/* As a server answers it. */
static void format_answer(const void *what, struct document *d)
{
	const struct question *q = what;

	document_begin_map(d);
	if (q->is_of_usage)
		*q->ret = store_format_usage(q->store, q->by, q->period, q->filter, &everybody, d,
					     q->err);
	else if (q->by)
		*q->ret = store_format_counters(q->store, q->by, q->filter, &everybody, d, q->err);
	else
		*q->ret = store_format_jobs(q->store, q->filter, &everybody, d, q->err);
	document_end_map(d);
}

/* The caller frees *ret. */
static int ask_stored(struct question q, char **ret, size_t *ret_length, struct error *err)
{
	int r = 0, format;

	q.ret = &r;
	q.err = err;
	format = document_format_line(format_answer, &q, ret, ret_length);

	if (r == 0 && format < 0)
		r = error_set_errno(err, format, "cannot list the jobs");
	return r;
}

static int list_stored(struct store *store, const struct job_filter *filter, json_t *jobs,
		       bool *ret_more, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r = ask_stored((struct question){ .store = store, .filter = filter }, &text, &length,
			   err);

	return r < 0 ? r : server_parse_jobs(text, length, jobs, ret_more, err);
}

int reader_list_jobs(struct reader *reader, const struct job_filter *filter, json_t *jobs,
		     struct error *err)
{
	size_t limit = filter->limit ? filter->limit : SIZE_MAX;
	struct job_filter page = *filter;
	bool has_more = true;

	while (has_more && json_array_size(jobs) < limit) {
		const size_t before = json_array_size(jobs);
		int r;

		page.offset = filter->offset + before;
		page.limit = MIN(limit - before, (size_t)PAGE);
		r = reader->client
			    ? server_client_list_jobs(reader->client, &page, jobs, &has_more, err)
			    : list_stored(reader->store, &page, jobs, &has_more, err);
		if (r < 0)
			return r;
		has_more &= json_array_size(jobs) > before; /* else it would never end */
	}
	return 0;
}

int reader_sum_jobs(struct reader *reader, const char *by, const struct job_filter *filter,
		    json_t **ret, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r;

	if (reader->client)
		return server_client_sum_jobs(reader->client, by, filter, ret, err);
	r = ask_stored((struct question){ .store = reader->store, .by = by, .filter = filter },
		       &text, &length, err);
	return r < 0 ? r : server_parse_sums(text, length, ret, err);
}

int reader_get_usage(struct reader *reader, const char *by, const char *period,
		     const struct job_filter *filter, json_t **ret, struct error *err)
{
	const struct question question = {
		.store = reader->store,
		.by = by,
		.period = period,
		.is_of_usage = true,
		.filter = filter,
	};
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r;

	if (reader->client)
		return server_client_get_usage(reader->client, by, period, filter, ret, err);
	r = ask_stored(question, &text, &length, err);
	if (r == 0 && !(*ret = json_loadb(text, length, 0, NULL)))
		r = error_set_errno(err, ENOMEM, "cannot list the jobs");
	return r;
}

int reader_get_emissions(struct reader *reader, const char *by, const struct job_filter *filter,
			 json_t **ret, struct error *err)
{
	if (!reader->client)
		return error_set(err, -ENOTSUP,
				 "what jobs emitted and cost is known to a server, not to '%s'",
				 reader->path);
	return server_client_get_emissions(reader->client, by, filter, ret, err);
}

/* ---- records ---- */

struct taking {
	struct records *records;
	struct error *err;
};

static int take_line(void *context, const char *line, size_t length)
{
	struct taking *taking = context;

	return records_parse(line, length, "the database", taking->records, taking->err);
}

int reader_get_records(struct reader *reader, const struct job_name *name, struct records *records,
		       struct error *err)
{
	const struct store_question question = { .id = name->id,
						 .node = name->node,
						 .manager = name->manager,
						 .cluster = name->cluster,
						 .tells_clock = true };
	struct taking taking = { records, err };
	int r;

	if (reader->client)
		return server_client_get_records(reader->client, name, records, err);
	r = store_read_records(reader->store, &question, &everybody, take_line, &taking, err);
	return r == -ENOENT ? error_prefix(err, r, "'%s'", reader->path) : r;
}
