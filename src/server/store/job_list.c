/* SPDX-License-Identifier: MIT */
/* What is asked of the store.  Who sees what is a condition of the question itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/parse.h"
#include "codec/records.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/store/store_internal.h"

/* By the job's number or one of its other names. */
#define NAMED(name) "(job_id = " name " OR part = " name " OR sluid = " name ")"

/* What an index finds stands there only where it is asked for; of the rest NULL is any. */
static char *make_list_text(const struct store *s, const struct job_filter *filter,
			    const struct store_who *who)
{
	static const char *const searched[] = { "job_id", "name", "user_name", "account",
						"reason" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("SELECT ", out);
	store_print_columns(s, out);
	fprintf(out, " FROM jobs WHERE end_ns >= ?1 AND start_ns < ?2%s%s",
		who->sees_all ? "" : " AND uid = ?3",
		!filter->id    ? ""
		: s->has_facts ? " AND " NAMED("?4")
			       : " AND job_id = ?4");
	fputs(" AND (?5 IS NULL OR user_name = ?5 OR uid = ?6)"
	      " AND (?7 IS NULL OR account = ?7)"
	      " AND (?8 IS NULL OR partition_name = ?8)"
	      " AND (?9 IS NULL OR manager = ?9)"
	      " AND (?10 IS NULL OR lower(state) = lower(?10))"
	      " AND (?11 IS NULL OR name = ?11)"
	      " AND (?12 IS NULL",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(searched); i++)
		fprintf(out, " OR %s(lower(%s), lower(?12)) > 0", s->database->position,
			searched[i]);
	fputs(") AND (?13 IS NULL OR cluster = ?13)"
	      " ORDER BY start_ns DESC, id DESC LIMIT ?14 OFFSET ?15",
	      out);
	fclose(out);
	return text;
}

int store_list_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err)
{
	size_t limit = filter->limit ? MIN(filter->limit, (size_t)STORE_LIMIT_MAX)
				     : STORE_LIMIT_MAX;
	_cleanup_free_ char *text = make_list_text(s, filter, who);
	uint64_t until_ns = filter->until_ns ? filter->until_ns : INT64_MAX, count = 0, uid;
	bool is_number = filter->user && parse_u64(filter->user, &uid) == 0 && uid <= UINT32_MAX;
	struct value values[STORE_VALUES_MAX];
	struct statement rows = { .text = text };
	int r = 0;

	if (!text)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	store_ask_once(s, &rows,
		       ARGS(NUMBER(MIN(filter->since_ns, INT64_MAX)),
			    NUMBER(MIN(until_ns, INT64_MAX)), NUMBER(who->uid), TEXT(filter->id),
			    TEXT(filter->user), NUMBER_IF(is_number, uid), TEXT(filter->account),
			    TEXT(filter->partition), TEXT(filter->manager), TEXT(filter->state),
			    TEXT(filter->name), TEXT(filter->text), TEXT(filter->cluster),
			    NUMBER(limit + 1), NUMBER(filter->offset)));
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + STORE_LIST_NS;
	while (r >= 0 && store_next(s, &rows) && ++count <= limit) {
		const struct store_job job = store_read_job(&rows, values);

		r = take(context, &job);
	}
	s->deadline_ns = 0;
	store_release(s, &rows);
	if (ret_more)
		*ret_more = count > limit;
	return r < 0 ? r : store_told(s, err);
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

/* The newest job, and of it the records that were asked for.  @who stands first, so that another's
 * job is not even looked at: that it is there shall not be told by the time that it takes. */
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
	static const char *const texts[2][2] = {
		{ RECORDS_OF("job_id = ?1", " AND uid = ?2"), RECORDS_OF("job_id = ?1", "") },
		{ RECORDS_OF(NAMED("?1"), " AND uid = ?2"), RECORDS_OF(NAMED("?1"), "") },
	};
	const char *text = texts[s->has_facts][who->sees_all];
	const char *node = question->node;
	size_t before = ret->count;
	int r;

	store_find(s, ret, text, TEXT(question->id), NUMBER(who->uid), TEXT(question->manager),
		   TEXT(question->cluster), NUMBER_IF(question->start_ns, question->start_ns),
		   TEXT(node));
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
