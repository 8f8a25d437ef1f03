/* SPDX-License-Identifier: MIT */
/* What is asked of the store.  Who sees what is a condition of the question itself. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/parse.h"
#include "model/document.h"
#include "model/metric_json.h"
#include "server/store/store_internal.h"

#define CONDITIONS_MAX 16
#define LIST_NS UINT64_C(5000000000)

/* ---- conditions ---- */

struct conditions {
	struct condition {
		const char *text; /* with "?": the value, as often as it stands there */
		const char *string; /* or else... */
		uint64_t number;
	} items[CONDITIONS_MAX];
	size_t count;
};

static void add_text(struct conditions *c, const char *text, const char *value)
{
	if (value)
		c->items[c->count++] = (struct condition){ .text = text, .string = value };
}

static void add_number(struct conditions *c, bool is_asked, const char *text, uint64_t value)
{
	if (is_asked)
		c->items[c->count++] = (struct condition){ .text = text, .number = value };
}

static void print_conditions(const struct conditions *c, FILE *out)
{
	for (size_t i = 0; i < c->count; i++) {
		fputs(i ? " AND " : " WHERE ", out);
		for (const char *p = c->items[i].text; *p; p++) {
			if (*p == '?')
				fprintf(out, "?%zu", i + 1);
			else
				fputc(*p, out);
		}
	}
}

static void bind_conditions(const struct conditions *c, sqlite3_stmt *statement)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->items[i].string)
			store_bind_text(statement, (int)i + 1, c->items[i].string);
		else
			store_bind_number(statement, (int)i + 1, c->items[i].number);
	}
}

static void add_who(struct conditions *c, const struct store_who *who)
{
	add_number(c, !who->sees_all, "uid = ?", who->uid);
}

/* "50%" is "%50\%%": what stands somewhere. */
static char *make_pattern(const char *text)
{
	char *pattern = malloc(2 * strlen(text) + 3), *p = pattern;

	if (!pattern)
		return NULL;
	*p++ = '%';
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			*p++ = '\\';
		*p++ = *text;
	}
	*p++ = '%';
	*p = '\0';
	return pattern;
}

#define LIKE(column) column " LIKE ? ESCAPE '\\'"

static void add_user(struct conditions *c, const char *user)
{
	uint64_t uid;

	if (user && parse_u64(user, &uid) == 0 && uid <= UINT32_MAX)
		add_number(c, true, "uid = ?", uid);
	else
		add_text(c, "user_name = ?", user);
}

static struct conditions conditions_of(const struct store_filter *filter,
				       const struct store_who *who, const char *pattern)
{
	struct conditions c = {};

	add_who(&c, who);
	add_user(&c, filter->user);
	add_text(&c, "job_id = ?", filter->id);
	add_text(&c, "cluster = ?", filter->cluster);
	add_text(&c, "manager = ?", filter->manager);
	add_text(&c, "name = ?", filter->name);
	add_text(&c, "account = ?", filter->account);
	add_text(&c, "partition_name = ?", filter->partition);
	add_text(&c, "lower(state) = lower(?)", filter->state);
	add_number(&c, filter->since_ns, "end_ns >= ?", MIN(filter->since_ns, (uint64_t)INT64_MAX));
	add_number(&c, filter->until_ns, "start_ns < ?",
		   MIN(filter->until_ns, (uint64_t)INT64_MAX));
	add_text(&c,
		 "(" LIKE("job_id") " OR " LIKE("name") " OR " LIKE("user_name") " OR " LIKE(
			 "account") " OR " LIKE("reason") ")",
		 pattern);
	return c;
}

/* ---- the list ---- */

enum { /* columns of the question before the values */
       ROW_CLUSTER,
       ROW_NODE,
       ROW_MANAGER,
       ROW_ID,
       ROW_NAME,
       ROW_USER,
       ROW_ACCOUNT,
       ROW_PARTITION,
       ROW_STATE,
       ROW_REASON,
       ROW_UID,
       ROW_FINAL,
       ROW_START,
       ROW_END,
       ROW_ELAPSED,
       ROW_NODES,
       ROW_VALUES,
};

#define ROW_TEXT                                                                                    \
	"cluster, node, manager, job_id, name, user_name, account, partition_name, state, reason, " \
	"uid, final, start_ns, end_ns, elapsed_ns, nodes, "

static struct value read_value(sqlite3_stmt *statement, int column)
{
	bool is_known = sqlite3_column_type(statement, column) == SQLITE_INTEGER;

	return (struct value){
		.number = is_known ? store_column_number(statement, column) & VALUE_MAX : 0,
		.is_known = is_known
	};
}

static struct store_job read_job(sqlite3_stmt *statement, struct value *values)
{
	struct value uid = read_value(statement, ROW_UID);
	struct store_job job = {
		.cluster = store_column_text(statement, ROW_CLUSTER),
		.node = store_column_text(statement, ROW_NODE),
		.manager = store_column_text(statement, ROW_MANAGER),
		.id = store_column_text(statement, ROW_ID),
		.name = store_column_text(statement, ROW_NAME),
		.user = store_column_text(statement, ROW_USER),
		.account = store_column_text(statement, ROW_ACCOUNT),
		.partition = store_column_text(statement, ROW_PARTITION),
		.state = store_column_text(statement, ROW_STATE),
		.reason = store_column_text(statement, ROW_REASON),
		.uid = uid.is_known ? (int64_t)uid.number : -1,
		.is_final = store_column_number(statement, ROW_FINAL),
		.start_ns = store_column_number(statement, ROW_START),
		.end_ns = store_column_number(statement, ROW_END),
		.elapsed_ns = read_value(statement, ROW_ELAPSED),
		.nodes = read_value(statement, ROW_NODES),
		.values = values,
	};

	if (!job.is_final)
		job.end_ns = 0;
	for (size_t i = 0; i < store_value_count(); i++)
		values[i] = read_value(statement, ROW_VALUES + (int)i);
	return job;
}

static char *make_list_text(const struct store *s, const struct conditions *c)
{
	_cleanup_free_ char *columns = store_columns_to_read(s);
	char *text = NULL;
	size_t size;
	FILE *out = columns ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	fprintf(out, "SELECT " ROW_TEXT "%s FROM jobs", columns);
	print_conditions(c, out);
	fprintf(out, " ORDER BY start_ns DESC, id DESC LIMIT ?%zu OFFSET ?%zu", c->count + 1,
		c->count + 2);
	fclose(out);
	return text;
}

struct listing {
	int (*take)(void *context, const struct store_job *job);
	void *context;
	unsigned int limit;
	bool has_more;
};

static int walk_jobs(struct store *s, sqlite3_stmt *statement, struct listing *l, struct error *err)
{
	struct value values[STORE_VALUES_MAX];
	unsigned int count = 0;
	int r;

	while ((r = store_step(s, statement, err)) > 0) {
		struct store_job job;

		l->has_more = ++count > l->limit;
		if (l->has_more)
			return 0;
		job = read_job(statement, values);
		r = l->take(l->context, &job);
		if (r < 0)
			return r;
	}
	return r;
}

static int run_list(struct store *s, const struct conditions *c, const struct store_filter *filter,
		    struct listing *l, struct error *err)
{
	_cleanup_free_ char *text = make_list_text(s, c);
	sqlite3_stmt *statement = NULL;
	int r;

	if (!text)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	if (sqlite3_prepare_v2(s->db, text, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, err);
	bind_conditions(c, statement);
	store_bind_number(statement, (int)c->count + 1, (uint64_t)l->limit + 1);
	store_bind_number(statement, (int)c->count + 2, filter->offset);
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + LIST_NS;
	r = walk_jobs(s, statement, l, err);
	s->deadline_ns = 0;
	sqlite3_finalize(statement);
	return r;
}

int store_list_jobs(struct store *s, const struct store_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err)
{
	_cleanup_free_ char *pattern = filter->text ? make_pattern(filter->text) : NULL;
	struct listing l = {
		.take = take,
		.context = context,
		.limit = filter->limit ? MIN(filter->limit, (unsigned int)STORE_LIMIT_MAX)
				       : STORE_LIMIT_MAX,
	};
	struct conditions c;
	int r;

	if (filter->text && !pattern)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	c = conditions_of(filter, who, pattern);
	r = run_list(s, &c, filter, &l, err);
	if (r >= 0 && ret_more)
		*ret_more = l.has_more;
	return r;
}

static void put_decimal(struct document *d, const char *key, const struct value *value,
			unsigned int places)
{
	document_key(d, key);
	if (value->is_known)
		document_decimal(d, value->number, places);
	else
		document_null(d);
}

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

void store_job_format(const struct store_job *job, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "cluster", text_or_null(job->cluster));
	document_put_string(d, "node", text_or_null(job->node));
	document_put_string(d, "manager", job->manager);
	document_put_string(d, "id", job->id);
	document_put_string(d, "name", job->name);
	document_put_string(d, "user", job->user);
	document_key(d, "uid");
	if (job->uid >= 0)
		document_signed(d, job->uid);
	else
		document_null(d);
	document_put_string(d, "account", job->account);
	document_put_string(d, "partition", job->partition);
	document_put_string(d, "state", job->state);
	document_put_boolean(d, "final", job->is_final);
	document_put_time(d, "start", job->start_ns);
	document_put_time(d, "end", job->end_ns);
	put_decimal(d, "elapsed_seconds", &job->elapsed_ns, metric_unit_places(UNIT_SECONDS));
	put_decimal(d, "nodes", &job->nodes, 0);
	document_put_string(d, "reason", job->reason);
	for (size_t i = 0; i < store_value_count(); i++)
		put_decimal(d, store_value_name(i), &job->values[i],
			    metric_unit_places(store_value_metric(i)->unit));
	document_end_map(d);
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
	sqlite3_stmt *statement = NULL;
	struct conditions c = {};
	size_t before = ret->count;
	int r;

	add_who(&c, who);
	add_text(&c, "job_id = ?", question->id);
	add_text(&c, "manager = ?", question->manager);
	add_text(&c, "cluster = ?", question->cluster);
	add_number(&c, question->start_ns, "start_ns = ?", question->start_ns);
	add_text(&c,
		 "EXISTS (SELECT 1 FROM records WHERE records.job = jobs.id AND "
		 "records.node = ?)",
		 question->node);
	text = make_records_text(question, &c);
	if (!text)
		return error_set_errno(err, ENOMEM, "cannot look for the job");
	if (sqlite3_prepare_v2(s->db, text, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, err);
	bind_conditions(&c, statement);
	r = store_collect(s, statement, ret, err);
	sqlite3_finalize(statement);
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
	sqlite3_stmt *statement = store_sql(s, SQL_READ_RECORD);
	struct line_parts parts;
	int r;

	store_bind_number(statement, 1, record);
	r = store_step(s, statement, err);
	if (r == 0)
		return error_set(err, -ENOENT, "the record is gone");
	if (r < 0)
		return r;
	parts = (struct line_parts){
		.record = sqlite3_column_blob(statement, 0),
		.record_length = (size_t)sqlite3_column_bytes(statement, 0),
		.timeline = sqlite3_column_blob(statement, 1),
		.timeline_length = (size_t)sqlite3_column_bytes(statement, 1),
		.timeline_at = sqlite3_column_int64(statement, 2),
	};
	r = parts.record ? line_join(&parts, ret, ret_length) : -EBADMSG;
	sqlite3_reset(statement);
	return r < 0 ? error_set_errno(err, r, "cannot read a record of the database") : 0;
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
