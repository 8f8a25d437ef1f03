/* SPDX-License-Identifier: MIT */
#include "codec/session.h"

#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/metric.h"
#include "basic/text.h"

void session_clear(struct session *s)
{
	records_clear(&s->jobs);
	*s = (struct session){};
}

/* A run within a job of a manager is that job's child, and counted in both. */
static bool may_overlap(const struct session *s)
{
	size_t runs = 0;

	for (size_t i = 0; i < s->jobs.count; i++)
		runs += text_is_equal(s->jobs.items[i]->job.manager, "run");
	return runs > 0 && s->jobs.count > 1;
}

int session_sum(const struct session *s, struct record **ret)
{
	_cleanup_(record_freep) struct record *sum = NULL;
	int r;

	if (!s->jobs.count)
		return -ENODATA;
	r = record_merge((const struct record *const *)s->jobs.items, s->jobs.count, &sum);
	if (r < 0)
		return r;
	sum->time.elapsed_ns = s->elapsed_ns; /* jobs have starts of their own */
	sum->time.measured_from_ns = s->start_ns;
	if (may_overlap(s))
		r = strings_add(&sum->coverage.notes,
				"a run within another job is counted in both");
	if (r < 0 && r != -ENOSPC)
		return r;
	*ret = TAKE_PTR(sum);
	return 0;
}

static void format_head(const struct session *s, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "name", s->name);
	document_put_time(d, "start", s->start_ns);
	document_put_time(d, "end", s->end_ns);
	document_key(d, "elapsed_seconds");
	document_decimal(d, s->elapsed_ns, metric_unit_places(UNIT_SECONDS));
	document_end_map(d);
}

int session_format(const struct session *s, const struct record *summary,
		   const struct record_writer *writer, struct document *d)
{
	int r = 0;

	document_begin_map(d);
	document_put_string(d, "schema", SESSION_SCHEMA);
	document_key(d, "session");
	format_head(s, d);
	document_begin_list_of(d, "jobs");
	for (size_t i = 0; r == 0 && i < s->jobs.count; i++)
		r = writer->write(writer->context, s->jobs.items[i], d);
	document_end_list(d);
	document_key(d, "summary");
	if (summary && r == 0)
		r = writer->write(writer->context, summary, d);
	else
		document_null(d);
	document_end_map(d);
	return r;
}
