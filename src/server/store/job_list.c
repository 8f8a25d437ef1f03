/* SPDX-License-Identifier: MIT */
/* Queries for lists of jobs.  Each contains the condition that limits it to what the caller may
 * see. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/parse.h"
#include "codec/records.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/store/cursor.h"
#include "server/store/store_internal.h"

/* PostgreSQL has indexes of such texts alone, which an entry has room for: pg.sed. */
#define SHORT_TEXT 500
#define SQL_IS_SHORT(column) "length(" column ") <= 500"

/* By the job's number or one of its other names. */
#define NAMED(name) "(job_id = " name " OR part = " name " OR sluid = " name ")"

static bool parse_uid(const char *text, uint64_t *ret)
{
	return parse_u64(text, ret) == 0 && *ret <= UINT32_MAX;
}

enum store_sight store_sight_of(struct store *s, const struct store_who *who)
{
	if (who->sees_all)
		return SEES_ALL;
	/* asked first, so that the lists of all others need no more than an index of theirs */
	if (*who->user && store_number(s, "SELECT count(*) FROM coordinators WHERE user_name = ?1",
				       TEXT(who->user)))
		return SEES_ACCOUNTS;
	return SEES_OWN;
}

bool store_sees_others(struct store *s, const struct store_who *who)
{
	return store_sight_of(s, who) != SEES_OWN;
}

void store_print_filter(struct store *s, const struct job_filter *filter,
			const struct store_who *who, FILE *out)
{
	static const char *const searched[] = { "job_id", "name", "user_name", "account",
						"reason" };
	const enum store_sight sight = store_sight_of(s, who);
	uint64_t uid;
	const bool is_uid = filter->user && parse_uid(filter->user, &uid);
	const struct {
		bool is_wanted;
		const char *condition;
		const char *text, *is_short; /* of one with an index; else NULL */
	} rows[] = {
		{ sight == SEES_OWN, "uid = ?3" },
		{ sight == SEES_ACCOUNTS, "(uid = ?3 OR " SQL_OF_ACCOUNTS("?14") ")" },
		{ filter->id, s->has_facts ? NAMED("?4") : "job_id = ?4" },
		{ is_uid, "(user_name = ?5 AND " SQL_IS_SHORT("user_name") " OR uid = ?6)" },
		{ filter->user && !is_uid, "user_name = ?5", filter->user,
		  SQL_IS_SHORT("user_name") },
		{ filter->account, "account = ?7", filter->account, SQL_IS_SHORT("account") },
		{ filter->partition, "partition_name = ?8", filter->partition,
		  SQL_IS_SHORT("partition_name") },
		{ filter->manager, "manager = ?9" },
		{ filter->state, "lower(state) = lower(?10)" },
		{ filter->name, "name = ?11", filter->name, SQL_IS_SHORT("name") },
		{ filter->cluster, "cluster = ?13" },
		{ filter->node, "id IN (SELECT job FROM records WHERE node = ?15)" },
	};

	fputs(" WHERE end_ns >= ?1 AND start_ns < ?2", out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].is_wanted)
			continue;
		fprintf(out, " AND %s", rows[i].condition);
		if (rows[i].text && strlen(rows[i].text) <= SHORT_TEXT)
			fprintf(out, " AND %s", rows[i].is_short);
	}
	for (size_t i = 0; i < JOB_NUMBER_COUNT; i++)
		store_print_range(s, (enum job_number)i, &filter->ranges[i], out);
	for (size_t i = 0; filter->text && i < ARRAY_SIZE(searched); i++)
		fprintf(out, "%s%s(lower(%s), lower(?12)) > 0", i ? " OR " : " AND (",
			s->database->position, searched[i]);
	fputs(filter->text ? ")" : "", out);
}

void store_put_filter(const struct job_filter *filter, const struct store_who *who,
		      struct arg args[STORE_FILTER_ARGS])
{
	uint64_t until_ns = filter->until_ns ? filter->until_ns : INT64_MAX, uid = 0;
	bool is_number = filter->user && parse_uid(filter->user, &uid);
	const struct arg all[STORE_FILTER_ARGS] = { NUMBER(MIN(filter->since_ns, INT64_MAX)),
						    NUMBER(MIN(until_ns, INT64_MAX)),
						    NUMBER(who->uid),
						    TEXT(filter->id),
						    TEXT(filter->user),
						    NUMBER_IF(is_number, uid),
						    TEXT(filter->account),
						    TEXT(filter->partition),
						    TEXT(filter->manager),
						    TEXT(filter->state),
						    TEXT(filter->name),
						    TEXT(filter->text),
						    TEXT(filter->cluster),
						    TEXT(who->user),
						    TEXT(filter->node) };

	memcpy(args, all, sizeof(all));
}

size_t store_limit_of(const struct job_filter *filter)
{
	return filter->limit ? MIN(filter->limit, (size_t)STORE_LIMIT_MAX) : STORE_LIMIT_MAX;
}

/* Jobs that @rows asks for, as far as the limit. */
static int take_jobs(struct store *s, struct statement *rows, const struct arg *args,
		     size_t arg_count, size_t limit,
		     int (*take)(void *context, const struct store_job *job), void *context,
		     bool *ret_more, struct error *err)
{
	struct value values[STORE_VALUES_MAX];
	size_t count = 0;
	int r = 0, told;

	store_begin_list(s, rows, args, arg_count);
	while (r >= 0 && store_next(s, rows) && ++count <= limit) {
		const struct store_job job = store_read_job(rows, values);

		r = take(context, &job);
	}
	told = store_end_list(s, rows, err);
	if (ret_more)
		*ret_more = count > limit;
	return r < 0 ? r : told;
}

int store_list_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err)
{
	const size_t limit = store_limit_of(filter);
	struct arg args[STORE_FILTER_ARGS + 2];
	struct statement rows = {};
	FILE *out = store_write(s, &rows, "cannot list the jobs");

	if (!out)
		return store_told(s, err);
	fputs("SELECT ", out);
	store_print_columns(s, NULL, out);
	fputs(" FROM jobs", out);
	store_print_filter(s, filter, who, out);
	fputs(" ORDER BY start_ns DESC, id DESC LIMIT ?16 OFFSET ?17", out);
	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(limit + 1);
	args[STORE_FILTER_ARGS + 1] = NUMBER(filter->offset);
	return take_jobs(s, &rows, args, ARRAY_SIZE(args), limit, take, context, ret_more, err);
}

static int put_job(void *context, const struct store_job *job)
{
	store_job_format(job, context);
	return 0;
}

int store_format_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		      struct document *d, struct error *err)
{
	bool has_more = false;
	int r;

	document_begin_list_of(d, "jobs");
	r = store_list_jobs(s, filter, who, put_job, d, &has_more, err);
	document_end_list(d);
	document_put_boolean(d, "more", has_more);
	return r;
}

/* ---- pages ---- */

struct paging {
	int (*take)(void *context, const struct store_job *job);
	void *context;
	size_t order, left;
	char *next; /* behind the job that came last */
};

static int take_of_page(void *context, const struct store_job *job)
{
	struct paging *p = context;
	struct store_cursor cursor = {
		.order = store_job_order(job, p->order),
		.start_ns = (int64_t)job->start_ns,
		.uid = job->uid,
		.texts = { job->id, job->manager, job->cluster, job->node },
	};

	if (--p->left == 0)
		p->next = store_cursor_format(&cursor);
	return p->left || p->next ? p->take(p->context, job) : -ENOMEM;
}

static bool is_by_start(const struct store_page *page)
{
	return strcmp(store_column(page->order).name, "start") == 0;
}

/* What the rows are ordered by, all of it one way: the last of these differ. */
static void print_page(struct store *s, const struct job_filter *filter,
		       const struct store_page *page, const struct store_who *who, FILE *out)
{
	const char *way = page->is_ascending ? "" : " DESC";

	fputs("SELECT ", out);
	store_print_columns(s, page->columns, out);
	fputs(" FROM jobs", out);
	store_print_filter(s, filter, who, out);
	if (page->after) {
		fputs(" AND (", out);
		store_print_order(s, page->order, out);
		fprintf(out, ", " CURSOR_COLUMNS ") %s (?17, ?18, ?19, ?20, ?21, ?22, ?23)",
			page->is_ascending ? ">" : "<");
		if (page->is_ascending && is_by_start(page))
			fputs(" AND start_ns >= ?18", out);
	}
	fputs(" ORDER BY ", out);
	store_print_order(s, page->order, out);
	fprintf(out,
		"%s, start_ns%s, COALESCE(uid, -1)%s, job_id%s, manager%s, cluster%s, node%s "
		"LIMIT ?16",
		way, way, way, way, way, way, way);
}

int store_page_jobs(struct store *s, const struct job_filter *filter, const struct store_page *page,
		    const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    char **ret_next, struct error *err)
{
	const size_t limit = store_limit_of(filter);
	struct paging paging = { take, context, page->order, limit, NULL };
	struct arg args[STORE_FILTER_ARGS + 1 + CURSOR_PARTS];
	struct store_cursor cursor = {};
	struct job_filter from_there = *filter;
	_cleanup_free_ char *kept = NULL;
	struct statement rows = {};
	bool has_more = false;
	FILE *out;
	int r = page->after ? store_cursor_parse(page->after, &cursor, &kept, err) : 0;

	if (r < 0)
		return r;
	out = store_write(s, &rows, "cannot list the jobs");
	if (out)
		print_page(s, filter, page, who, out);
	/* said of the first column alone, so that an index begins where the page does */
	if (page->after && !page->is_ascending && is_by_start(page))
		from_there.until_ns = MIN(filter->until_ns ? filter->until_ns : UINT64_MAX,
					  (uint64_t)MAX(cursor.start_ns, INT64_C(0)) + 1);
	store_put_filter(&from_there, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(limit + 1);
	for (size_t i = 0; i < CURSOR_PARTS; i++)
		args[STORE_FILTER_ARGS + 1 + i] = i == 0   ? NUMBER(cursor.order)
						  : i == 1 ? NUMBER(cursor.start_ns)
						  : i == 2 ? NUMBER(cursor.uid)
							   : TEXT(cursor.texts[i - 3]);
	r = take_jobs(s, &rows, args, ARRAY_SIZE(args), limit, take_of_page, &paging, &has_more,
		      err);
	if (r < 0 || !has_more) {
		free(paging.next);
		paging.next = NULL;
	}
	*ret_next = paging.next;
	return r;
}

/* ---- records ---- */

/* The newest job, and of it the records that were asked for.  @who comes first, so that another
 * user's job is not even read, and the time of an answer does not reveal it. */
#define RECORDS_OF(named, who)                                                        \
	"SELECT id FROM records WHERE job = (SELECT id FROM jobs WHERE " named who    \
	" AND (?3 IS NULL OR manager = ?3)"                                           \
	" AND (?4 IS NULL OR cluster = ?4)"                                           \
	" AND (?5 IS NULL OR start_ns = ?5)"                                          \
	" AND (?6 IS NULL OR EXISTS"                                                  \
	" (SELECT 1 FROM records WHERE records.job = jobs.id AND records.node = ?6))" \
	" ORDER BY start_ns DESC, id DESC LIMIT 1)"                                   \
	" AND (?6 IS NULL OR node = ?6) ORDER BY node, start_ns, id"

int store_find_records(struct store *s, const struct store_question *question,
		       const struct store_who *who, struct id_list *ret, struct error *err)
{
#define OF_WHO(named)                                                                                \
	{                                                                                            \
		[SEES_ALL] = RECORDS_OF(named, ""), [SEES_OWN] = RECORDS_OF(named, " AND uid = ?2"), \
		[SEES_ACCOUNTS] = RECORDS_OF(named,                                                  \
					     " AND (uid = ?2 OR " SQL_OF_ACCOUNTS("?7") ")")         \
	}
	static const char *const texts[2][SIGHT_COUNT] = { OF_WHO("job_id = ?1"),
							   OF_WHO(NAMED("?1")) };
	const char *text = texts[s->has_facts][store_sight_of(s, who)];
	const char *node = question->node;
	size_t before = ret->count;
	int r;

	store_find(s, ret, text, TEXT(question->id), NUMBER(who->uid), TEXT(question->manager),
		   TEXT(question->cluster), NUMBER_IF(question->start_ns, question->start_ns),
		   TEXT(node), TEXT(who->user));
	r = store_told(s, err);
	if (r < 0 || ret->count > before)
		return r;
	/* the same words whether there is none or it is another's */
	return error_set(err, -ENOENT, "there is no job '%s'%s%s", question->id,
			 node ? " on node " : "", node ? node : "");
}

static int put_clock(struct stored_line *line)
{
	char *both;
	int length = asprintf(&both,
			      "{\"schema\":\"" CLOCK_SCHEMA "\",\"ahead_ns\":%" PRId64 "}\n%s",
			      line->clock_offset_ns, line->text);

	if (length < 0)
		return -ENOMEM;
	free(line->text);
	line->text = both;
	line->length = (size_t)length;
	return 0;
}

int store_read_line(struct store *s, uint64_t record, bool tells_clock, char **ret,
		    size_t *ret_length, struct error *err)
{
	struct stored_line line;
	int r = line_read(s, record, true, &line);

	if (r == 0 && tells_clock && line.clock_offset_ns)
		r = put_clock(&line);
	if (r < 0) {
		free(line.text);
		store_fail_at(s, r, "cannot read a record of the database");
		return store_told(s, err);
	}
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

		r = store_read_line(s, ids.items[i], question->tells_clock, &line, &length, err);
		if (r >= 0)
			r = take(context, line, length);
	}
	return r;
}
