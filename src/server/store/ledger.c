/* SPDX-License-Identifier: MIT */
/* The ledger: which job or other owner used the energy of a node.  Times of its rows are by our
 * clock. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "codec/ledger.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "model/shape.h"
#include "server/store/store_internal.h"

#define KEY_ARGS(l)                                                                     \
	TEXT((l)->cluster), TEXT((l)->node), TEXT((l)->boot_id), NUMBER((l)->start_ns), \
		NUMBER((l)->sequence)

static enum store_answer judge(struct store *s, const struct ledger *line, uint64_t digest,
			       struct error *reason)
{
	struct statement *found = store_ask(
		s,
		"SELECT digest FROM ledger_lines WHERE cluster = ?1 AND node = ?2 AND boot_id = ?3 "
		"AND start_ns = ?4 AND sequence = ?5",
		KEY_ARGS(line));
	bool is_there = store_next(s, found),
	     is_equal = is_there && COLUMN_NUMBER(found, 0) == digest;

	store_reset(found);
	if (is_there && !is_equal)
		error_set(reason, 0, "another line has this key and sequence");
	return !is_there ? STORE_TAKEN : is_equal ? STORE_KNOWN : STORE_REFUSED;
}

static void write_line(struct store *s, const struct ledger *line, uint64_t digest,
		       uint64_t arrived_ns, int64_t clock_offset_ns)
{
	uint64_t start_ns = line->start_ns, end_ns = line->end_ns, id;

	clock_correct(&start_ns, clock_offset_ns);
	clock_correct(&end_ns, clock_offset_ns);
	id = store_number(s,
			  "INSERT INTO ledger_lines (cluster, node, boot_id, start_ns, sequence, "
			  "digest, arrived_ns, clock_offset_ns) "
			  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
			  KEY_ARGS(line), NUMBER(digest), NUMBER(arrived_ns),
			  NUMBER(clock_offset_ns));
	for (size_t i = 0; i < line->count && !s->failure; i++) {
		const struct ledger_entry *e = &line->entries[i];
		uint64_t job_start_ns = e->job_start_ns;

		clock_correct(&job_start_ns, clock_offset_ns);
		store_do(s,
			 "INSERT INTO ledger (line, start_ns, end_ns, owner, manager, job_id, "
			 "job_start_ns, uid, level, source, quality, microjoules) "
			 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
			 NUMBER(id), NUMBER(start_ns), NUMBER(end_ns), TEXT(e->owner),
			 TEXT(e->manager), TEXT(e->job), NUMBER_IF(job_start_ns, job_start_ns),
			 NUMBER_IF(e->uid >= 0, e->uid), TEXT(e->level), TEXT(e->source),
			 TEXT(e->quality), NUMBER(e->microjoules));
	}
	store_note_clock(s, line->cluster, line->node, clock_offset_ns, arrived_ns);
}

int store_put_ledger(struct store *s, const struct store_line *text, enum store_answer *ret,
		     struct error *reason)
{
	uint64_t digest = store_digest(text);
	const struct place top = { .err = reason };
	_cleanup_(ledger_clear) struct ledger line = {};
	int r = shape_parse(&ledger_shape, &top, text->root, &line);

	if (r == -EINVAL) {
		*ret = STORE_REFUSED;
		return 0;
	}
	if (r < 0)
		return error_set_errno(reason, r, "cannot read the ledger's line");
	*ret = judge(s, &line, digest, reason);
	if (*ret == STORE_TAKEN && !s->failure)
		write_line(s, &line, digest, text->arrived_ns,
			   store_clock_offset(text, line.end_ns, (uint64_t)line.sequence));
	return store_told(s, reason);
}

/* ---- queries ---- */

/* @who comes first, and an index begins with it, so that the time of an answer does not reveal
 * entries of others. */
#define ENTRIES_OF(who)                                                                   \
	"SELECT l.cluster, l.node, e.owner, e.manager, e.job_id, e.level, e.source, "     \
	"e.quality, e.start_ns, e.end_ns, e.job_start_ns, e.uid, e.microjoules "          \
	"FROM ledger e JOIN ledger_lines l ON l.id = e.line "                             \
	"WHERE e.end_ns > ?1 AND e.start_ns < ?2" who " AND (?4 IS NULL OR l.node = ?4) " \
	"AND (?5 IS NULL OR e.manager = ?5) AND (?6 IS NULL OR e.job_id = ?6) "           \
	"ORDER BY e.start_ns DESC, e.id DESC LIMIT ?7 OFFSET ?8"

static void put_entry(const void *context, const struct statement *row, struct document *d)
{
	const struct store_ledger_more *more = context;
	static const char *const texts[] = { "cluster", "node",	 "owner",  "manager",
					     "job",	"level", "source", "quality" };
	uint64_t start_ns, microjoules;
	int column = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = COLUMN_TEXT(row, column++);

		document_put_string(d, texts[i], text && *text ? text : NULL);
	}
	start_ns = COLUMN_NUMBER(row, column++);
	document_put_time(d, "start", start_ns);
	document_put_time(d, "end", COLUMN_NUMBER(row, column++));
	document_put_time(d, "job_start", COLUMN_NUMBER(row, column++));
	store_put_value(d, "uid", store_value(row, column++), 0);
	microjoules = COLUMN_NUMBER(row, column);
	document_put_unsigned(d, "microjoules", microjoules);
	if (more)
		more->put(more->context, start_ns, microjoules, d);
}

int store_format_ledger(struct store *s, const struct job_filter *filter,
			const struct store_who *who, const struct store_ledger_more *more,
			struct document *d, struct error *err)
{
	const size_t limit = store_limit_of(filter);
	uint64_t until_ns = filter->until_ns ? filter->until_ns : INT64_MAX;
	static const char *const texts[SIGHT_COUNT] = {
		[SEES_ALL] = ENTRIES_OF(""),
		[SEES_OWN] = ENTRIES_OF(" AND e.uid = ?3"),
		[SEES_ACCOUNTS] = ENTRIES_OF(
			" AND (e.uid = ?3 OR EXISTS (SELECT 1 FROM jobs j WHERE j.job_id = e.job_id "
			"AND j.manager = e.manager AND j.cluster = l.cluster AND j.uid = e.uid "
			"AND j.start_ns < e.end_ns AND j.end_ns > e.start_ns "
			"AND (j.manager, j.account) IN (SELECT manager, account FROM coordinators "
			"WHERE user_name = ?9)))"),
	};
	struct statement rows = { .text = texts[store_sight_of(s, who)] };

	store_begin_list(s, &rows,
			 ARGS(NUMBER(MIN(filter->since_ns, (uint64_t)INT64_MAX)),
			      NUMBER(MIN(until_ns, (uint64_t)INT64_MAX)), NUMBER(who->uid),
			      TEXT(filter->node), TEXT(filter->manager), TEXT(filter->id),
			      NUMBER(limit + 1), NUMBER(filter->offset), TEXT(who->user)));
	return store_format_list(s, &rows, "entries", limit, put_entry, more, d, err);
}

/* ---- beside jobs ---- */

/* Entries are of a quarter of an hour, and begin before their job as often as behind it. */
#define ENTRY_MOST_NS "7200000000000"
/* Of several jobs with one number and one owner, by when the node says that it started: nodes of a
 * job start it one by one. */
#define IS_OF_JOB                                                                    \
	"e.uid = j.uid AND e.manager = j.manager AND e.job_id = j.job_id AND "       \
	"e.start_ns > j.start_ns - " ENTRY_MOST_NS " AND e.start_ns < j.end_ns AND " \
	"(e.job_start_ns IS NULL OR e.job_start_ns BETWEEN "                         \
	"j.start_ns - " STORE_NEAR_NS " AND j.end_ns + " STORE_NEAR_NS ")"
#define CORE_NS "CAST(\"cpu.allocated_cores\" / 1000.0 * elapsed_ns AS BIGINT)"

static void print_shares(struct store *s, const char *key, const struct job_filter *filter,
			 const struct store_who *who, FILE *out)
{
	fprintf(out,
		"SELECT j.k, j.id, j.cluster, j.manager, j.job_id, j.start_ns, j.core_ns, "
		"e.quality, e.start_ns, e.microjoules FROM (SELECT %s AS k, %s AS core_ns, id, "
		"cluster, manager, job_id, start_ns, end_ns, uid FROM jobs",
		key ? key : "NULL",
		store_has_metrics(s, "cpu.allocated_cores") ? CORE_NS : "CAST(NULL AS BIGINT)");
	store_print_filter(s, filter, who, out);
	fprintf(out,
		"%s) j LEFT JOIN ledger e ON " IS_OF_JOB " LEFT JOIN ledger_lines l ON l.id = "
		"e.line WHERE e.line IS NULL OR l.cluster = j.cluster ORDER BY %s",
		key ? "" : " ORDER BY start_ns DESC, id DESC LIMIT ?16 OFFSET ?17",
		key ? "1, 2, 9" : "6 DESC, 2 DESC, 9");
}

static struct store_share read_share(const struct statement *row)
{
	const char *quality = COLUMN_TEXT(row, 7);

	return (struct store_share){
		.key = COLUMN_TEXT(row, 0),
		.job = COLUMN_NUMBER(row, 1),
		.cluster = COLUMN_TEXT(row, 2),
		.manager = COLUMN_TEXT(row, 3),
		.id = COLUMN_TEXT(row, 4),
		.job_start_ns = COLUMN_NUMBER(row, 5),
		.core_ns = store_value(row, 6),
		.has_entry = quality,
		.is_estimated = quality && strcmp(quality, "estimated") == 0,
		.start_ns = COLUMN_NUMBER(row, 8),
		.microjoules = COLUMN_NUMBER(row, 9),
	};
}

int store_read_shares(struct store *s, const char *by, const struct job_filter *filter,
		      const struct store_who *who,
		      int (*take)(void *context, const struct store_share *share), void *context,
		      struct error *err)
{
	const char *key = by ? store_sum_text(by) : NULL;
	struct arg args[STORE_FILTER_ARGS + 2];
	struct statement rows = {};
	int r = 0, told;
	FILE *out;

	if (by && !key)
		return error_set(err, -ENOTSUP, "no energy is added up by '%.64s'", by);
	out = store_write(s, &rows, "cannot read the ledger");
	if (out)
		print_shares(s, key, filter, who, out);
	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(store_limit_of(filter));
	args[STORE_FILTER_ARGS + 1] = NUMBER(filter->offset);
	store_begin_list(s, &rows, args, key ? STORE_FILTER_ARGS : ARRAY_SIZE(args));
	while (r >= 0 && store_next(s, &rows)) {
		const struct store_share share = read_share(&rows);

		r = take(context, &share);
	}
	told = store_end_list(s, &rows, err);
	return r < 0 ? r : told;
}
