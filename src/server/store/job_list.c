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

#define CONDITIONS_MAX 20 /* and a limit and an offset */
#define LIST_NS UINT64_C(5000000000)

/* ---- conditions ---- */

struct conditions {
	const char *texts[CONDITIONS_MAX]; /* with "?": the value, as often as it stands there */
	struct arg args[CONDITIONS_MAX];
	size_t count;
};

static void add(struct conditions *c, bool is_asked, const char *text, struct arg arg)
{
	if (!is_asked)
		return;
	c->texts[c->count] = text;
	c->args[c->count++] = arg;
}

static void add_who(struct conditions *c, const struct store_who *who)
{
	add(c, !who->sees_all, "uid = ?", NUMBER(who->uid));
}

static void print_conditions(const struct conditions *c, FILE *out)
{
	for (size_t i = 0; i < c->count; i++) {
		fputs(i ? " AND " : " WHERE ", out);
		for (const char *p = c->texts[i]; *p; p++) {
			if (*p == '?')
				fprintf(out, "?%zu", i + 1);
			else
				fputc(*p, out);
		}
	}
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

static struct conditions conditions_of(const struct store_filter *filter,
				       const struct store_who *who)
{
	struct conditions c = {};
	const char **text, *key;
	uint64_t uid;

	add_who(&c, who);
	for (size_t i = 0; (text = store_filter_text(filter, i, &key)); i++) {
		if (text == &filter->user && *text && parse_u64(*text, &uid) == 0)
			add(&c, true, "uid = ?", NUMBER(MIN(uid, (uint64_t)INT64_MAX)));
		else
			add(&c, *text, filter_texts[i].condition, TEXT(*text));
	}
	add(&c, filter->since_ns, "end_ns >= ?", NUMBER(MIN(filter->since_ns, INT64_MAX)));
	add(&c, filter->until_ns, "start_ns < ?", NUMBER(MIN(filter->until_ns, INT64_MAX)));
	return c;
}

/* ---- the list ---- */

static char *make_list_text(const struct store *s, const struct conditions *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("SELECT ", out);
	store_print_columns(s, out);
	fputs(" FROM jobs", out);
	print_conditions(c, out);
	fprintf(out, " ORDER BY start_ns DESC, id DESC LIMIT ?%zu OFFSET ?%zu", c->count + 1,
		c->count + 2);
	fclose(out);
	return text;
}

int store_list_jobs(struct store *s, const struct store_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err)
{
	unsigned int most = STORE_LIMIT_MAX, limit = MIN(filter->limit - 1, most - 1) + 1,
		     count = 0;
	struct conditions c = conditions_of(filter, who);
	_cleanup_free_ char *text = make_list_text(s, &c);
	struct value values[STORE_VALUES_MAX];
	sqlite3_stmt *rows;
	int r = 0;

	if (!text)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	c.args[c.count] = NUMBER(limit + 1);
	c.args[c.count + 1] = NUMBER(filter->offset);
	rows = store_prepare(s, text, c.args, c.count + 2);
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

/* The newest job that @who sees, and of it the records that were asked for. */
static char *make_records_text(const struct store_question *question, const struct conditions *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("SELECT id FROM records WHERE job = (SELECT id FROM jobs", out);
	print_conditions(c, out);
	fputs(" ORDER BY start_ns DESC, id DESC LIMIT 1)", out);
	if (question->node)
		fprintf(out, " AND node = ?%zu", c->count); /* the last condition's */
	fputs(" ORDER BY node, start_ns, id", out);
	fclose(out);
	return text;
}

int store_find_records(struct store *s, const struct store_question *question,
		       const struct store_who *who, struct id_list *ret, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	sqlite3_stmt *records;
	struct conditions c = {};
	size_t before = ret->count;
	int r;

	add_who(&c, who);
	add(&c, true, "job_id = ?", TEXT(question->id));
	add(&c, question->manager, "manager = ?", TEXT(question->manager));
	add(&c, question->cluster, "cluster = ?", TEXT(question->cluster));
	add(&c, question->start_ns, "start_ns = ?", NUMBER(question->start_ns));
	add(&c, question->node,
	    "EXISTS (SELECT 1 FROM records WHERE records.job = jobs.id AND records.node = ?)",
	    TEXT(question->node));
	text = make_records_text(question, &c);
	if (!text)
		return error_set_errno(err, ENOMEM, "cannot look for the job");
	records = store_prepare(s, text, c.args, c.count);
	r = store_collect(s, records, ret, err);
	sqlite3_finalize(records);
	if (r < 0)
		return r;
	/* the same words whether there is none or it is another's */
	return ret->count > before ? 0
				   : error_set(err, -ENOENT, "there is no job '%s'%s%s",
					       question->id, question->node ? " on node " : "",
					       question->node ? question->node : "");
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
