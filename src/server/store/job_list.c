/* SPDX-License-Identifier: MIT */
/* What is asked of the store.  Who sees what is a condition of the question itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/parse.h"
#include "server/store/store_internal.h"

#define ARGS_MAX 16 /* of a question */
#define LIST_NS UINT64_C(5000000000)

/* ---- a question, with its conditions ---- */

struct query {
	FILE *out; /* the text, as it grows; NULL: no memory */
	char *text;
	size_t size;
	struct arg args[ARGS_MAX]; /* ?1, ?2... */
	size_t count;
};

static void query_clear(struct query *q)
{
	if (q->out)
		fclose(q->out);
	free(q->text);
}

/* @condition: with "?": the value, as often as it stands there. */
static void add(struct query *q, bool is_asked, const char *condition, struct arg arg)
{
	if (!is_asked)
		return;
	fputs(q->count ? " AND " : " WHERE ", q->out);
	q->args[q->count++] = arg;
	for (const char *p = condition; *p; p++) {
		if (*p == '?')
			fprintf(q->out, "?%zu", q->count);
		else
			fputc(*p, q->out);
	}
}

static void add_who(struct query *q, const struct store_who *who)
{
	add(q, !who->sees_all, "uid = ?", NUMBER(who->uid));
}

/* Its statement, which the caller finalizes. */
static sqlite3_stmt *query_prepare(struct store *s, struct query *q)
{
	fclose(q->out);
	q->out = NULL;
	return store_prepare(s, q->text, q->args, q->count);
}

#define AT(member) offsetof(struct store_filter, member)
#define HAS(column) "instr(lower(" column "), lower(?)) > 0"
static const struct filter_text {
	const char *key;
	size_t offset;
	const char *condition;
} filter_texts[] = {
	{ "user", AT(user), "user_name = ?" },
	{ "account", AT(account), "account = ?" },
	{ "partition", AT(partition), "partition_name = ?" },
	{ "manager", AT(manager), "manager = ?" },
	{ "cluster", AT(cluster), "cluster = ?" },
	{ "state", AT(state), "lower(state) = lower(?)" },
	{ "name", AT(name), "name = ?" },
	{ "id", AT(id), "job_id = ?" },
	{ "text", AT(text),
	  "(" HAS("job_id") " OR " HAS("name") " OR " HAS("user_name") " OR " HAS(
		  "account") " OR " HAS("reason") ")" },
};

const char **store_filter_text(const struct store_filter *filter, size_t i, const char **ret_key)
{
	if (i == ARRAY_SIZE(filter_texts))
		return NULL;
	*ret_key = filter_texts[i].key;
	return (const char **)(void *)((char *)filter + filter_texts[i].offset);
}

static void add_filter(struct query *q, const struct store_filter *filter)
{
	const char **text, *key;
	uint64_t uid;

	for (size_t i = 0; (text = store_filter_text(filter, i, &key)); i++) {
		if (text == &filter->user && *text && parse_u64(*text, &uid) == 0)
			add(q, true, "uid = ?", NUMBER(MIN(uid, (uint64_t)INT64_MAX)));
		else
			add(q, *text, filter_texts[i].condition, TEXT(*text));
	}
	add(q, filter->since_ns, "end_ns >= ?", NUMBER(MIN(filter->since_ns, INT64_MAX)));
	add(q, filter->until_ns, "start_ns < ?", NUMBER(MIN(filter->until_ns, INT64_MAX)));
}

/* ---- the list ---- */

int store_list_jobs(struct store *s, const struct store_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err)
{
	_cleanup_(query_clear) struct query q = {};
	struct value values[STORE_VALUES_MAX];
	unsigned int limit = STORE_LIMIT_MAX, count = 0;
	sqlite3_stmt *rows;
	int r = 0;

	if (filter->limit)
		limit = MIN(limit, filter->limit);
	q.out = open_memstream(&q.text, &q.size);
	if (!q.out)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	fputs("SELECT ", q.out);
	store_print_columns(s, q.out);
	fputs(" FROM jobs", q.out);
	add_who(&q, who);
	add_filter(&q, filter);
	fprintf(q.out, " ORDER BY start_ns DESC, id DESC LIMIT %u OFFSET %u", limit + 1,
		filter->offset);
	rows = query_prepare(s, &q);
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + LIST_NS;
	while (r >= 0 && (r = store_step(s, rows, err)) > 0 && ++count <= limit) {
		const struct store_job job = store_read_job(rows, values);

		r = take(context, &job);
	}
	s->deadline_ns = 0;
	sqlite3_finalize(rows);
	if (r >= 0 && ret_more)
		*ret_more = count > limit;
	return MIN(r, 0);
}

/* ---- records of a job ---- */

/* Of the newest job that @who sees the records that were asked for. */
int store_find_records(struct store *s, const struct store_question *question,
		       const struct store_who *who, struct id_list *ret, struct error *err)
{
	_cleanup_(query_clear) struct query q = {};
	const char *node = question->node;
	size_t before = ret->count;
	sqlite3_stmt *records;
	int r;

	q.out = open_memstream(&q.text, &q.size);
	if (!q.out)
		return error_set_errno(err, ENOMEM, "cannot look for the job");
	fputs("SELECT id FROM records WHERE job = (SELECT id FROM jobs", q.out);
	add_who(&q, who);
	add(&q, true, "job_id = ?", TEXT(question->id));
	add(&q, question->manager, "manager = ?", TEXT(question->manager));
	add(&q, question->cluster, "cluster = ?", TEXT(question->cluster));
	add(&q, question->start_ns, "start_ns = ?", NUMBER(question->start_ns));
	add(&q, node,
	    "EXISTS (SELECT 1 FROM records WHERE records.job = jobs.id AND records.node = ?)",
	    TEXT(node));
	fputs(" ORDER BY start_ns DESC, id DESC LIMIT 1)", q.out);
	add(&q, node, "node = ?", TEXT(node));
	fputs(" ORDER BY node, start_ns, id", q.out);
	records = query_prepare(s, &q);
	r = store_collect(s, records, ret, err);
	sqlite3_finalize(records);
	if (r < 0 || ret->count > before)
		return r;
	/* the same words whether there is none or it is another's */
	return error_set(err, -ENOENT, "there is no job '%s'%s%s", question->id,
			 node ? " on node " : "", node ? node : "");
}

int store_read_line(struct store *s, uint64_t record, char **ret, size_t *ret_length,
		    struct error *err)
{
	struct stored_line line;
	int r = line_read(s, record, &line, err);

	if (r < 0)
		return r;
	*ret = line.text;
	*ret_length = line.length;
	return 0;
}

int store_read_records(struct store *s, const struct store_question *question,
		       const struct store_who *who,
		       int (*take)(void *context, const char *line, size_t length), void *context,
		       struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = store_find_records(s, question, who, &ids, err);

	for (size_t i = 0; i < ids.count && r >= 0; i++) {
		_cleanup_free_ char *line = NULL;
		size_t length = 0;

		r = store_read_line(s, ids.items[i], &line, &length, err);
		if (r >= 0)
			r = take(context, line, length);
	}
	return r;
}
