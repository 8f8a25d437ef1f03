/* SPDX-License-Identifier: MIT */
#include "agent/api_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/api.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/file_op.h"
#include "node/job_record.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/record_field.h"
#include "model/shape.h"
#include "codec/record_format.h"
#include "codec/wire_snapshot.h"

#define TYPE_JSON "application/json"

int api_answer(void (*format)(const void *what, struct document *d), const void *what,
	       struct http_answer *ret)
{
	ret->status = 200;
	ret->type = TYPE_JSON;
	return document_format_line(format, what, &ret->text, &ret->length);
}

struct shaped {
	const char *schema;
	const struct shape *shape;
	const void *of;
};

static void format_shaped(const void *shaped, struct document *d)
{
	const struct shaped *s = shaped;

	document_begin_map(d);
	document_put_string(d, "schema", s->schema);
	shape_format(s->shape, s->of, d);
	document_end_map(d);
}

int api_answer_shape(const char *schema, const struct shape *shape, const void *of,
		     struct http_answer *ret)
{
	return api_answer(format_shaped, &(struct shaped){ schema, shape, of }, ret);
}

void api_format_nothing(const void *unused UNUSED, struct document *d)
{
	document_begin_map(d);
	document_end_map(d);
}

/* ---- the list of jobs ---- */

struct listed {
	const struct snapshot *snapshot;
	const struct snapshot_job *job;
};

static void add_identity(const struct listed *l, struct document *d)
{
	const struct job *job = l->job->job;

	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];

		if (field->fact & FACT_LIST)
			record_field_format(field, field->in_job, job, d);
	}
	document_put_boolean(d, "live", l->job->is_live);
	document_put_time(d, "start", job->start_ns);
	document_put_time(d, "end", job->end_ns);
	document_put_time(d, "measured_from", job->measured_from_ns);
}

/* What reads, writes and operations on metadata were over all mounts; the row of kernel
 * threads belongs to no job. */
static void sum_rows(const struct listed *l, struct op_counts *ret_data, struct op_counts *ret_meta)
{
	for (size_t i = 0; i < l->job->row_count; i++) {
		const struct snapshot_row *row = &l->job->rows[i];

		if (l->snapshot->mounts[row->mount].kind == ROW_KERNEL ||
		    row->interface == INTERFACE_MAPPING)
			continue;
		op_counts_add(row->op < OP_DATA_COUNT ? &ret_data[row->op] : ret_meta,
			      &row->counts);
	}
}

static void add_counts(struct document *d, const char *key, const struct op_counts *counts,
		       bool has_bytes)
{
	document_begin_map_of(d, key);
	if (has_bytes)
		document_put_unsigned(d, "bytes", counts->bytes);
	document_put_unsigned(d, "calls", counts->calls);
	document_put_unsigned(d, "errors", counts->errors);
	document_end_map(d);
}

static void add_io(const struct listed *l, struct document *d)
{
	struct op_counts data[OP_DATA_COUNT] = {}, meta = {};

	document_key(d, "io");
	if (!l->snapshot->has_mounts) {
		document_null(d);
		return;
	}
	sum_rows(l, data, &meta);
	document_begin_map(d);
	for (size_t op = 0; op < OP_DATA_COUNT; op++)
		add_counts(d, file_op_name((enum file_op)op), &data[op], true);
	add_counts(d, "meta", &meta, false);
	document_end_map(d);
}

static void format_listed(const void *listed, struct document *d)
{
	const struct listed *l = listed;

	document_begin_map(d);
	add_identity(l, d);
	values_format_all(l->job->values, d);
	add_io(l, d);
	document_end_map(d);
}

void api_format_record(const void *record, struct document *d)
{
	record_format(record, d);
}

/* ---- lists, on their way out: one job's text at a time ---- */

struct stream {
	struct snapshot *snapshot;
	struct api_view view;
	const struct list_form *form;
	struct job_record_node node; /* of records */
	struct node_values node_values; /* of a tick */
	struct api_wish wish;
	size_t next, listed;
	char *text; /* what is being sent */
	size_t length, sent;
	bool has_begun, has_ended;
};

struct list_form {
	void (*format_head)(const struct stream *s, struct document *d);
	int (*format_job)(const struct stream *s, const struct snapshot_job *job, char **ret,
			  size_t *ret_length);
};

static void stream_free(void *context)
{
	struct stream *s = context;

	if (s->wish.ahead && s->has_ended)
		*s->wish.ahead = s->wish.ahead_ns;
	snapshot_unref(s->snapshot);
	free(s->text);
	free(s);
}

static int set_text(struct stream *s, char *text)
{
	free(s->text);
	s->text = text;
	s->length = text ? strlen(text) : 0;
	s->sent = 0;
	return text ? 0 : -ENOMEM;
}

static void format_jobs_head(const struct stream *s, struct document *d)
{
	document_put_string(d, "schema", API_JOBS_SCHEMA);
	document_put_time(d, "time", s->snapshot->real_ns);
}

static int format_jobs_job(const struct stream *s, const struct snapshot_job *job, char **ret,
			   size_t *ret_length)
{
	return document_format_line(format_listed, &(struct listed){ s->snapshot, job }, ret,
				    ret_length);
}

static void format_wire_snapshot_head(const struct stream *s, struct document *d)
{
	const struct tick tick = { .real_ns = s->snapshot->real_ns,
				   .boot_ns = s->snapshot->boot_ns,
				   .took_ns = s->snapshot->took_ns,
				   .node = s->node_values };

	wire_snapshot_format_head(&tick, d);
}

static void format_unchanged(const void *listed, struct document *d)
{
	const struct listed *l = listed;

	wire_snapshot_format_unchanged(l->job->job, snapshot_job_elapsed(l->snapshot, l->job), d);
}

static int format_wire_snapshot_job(const struct stream *s, const struct snapshot_job *job,
				    char **ret, size_t *ret_length)
{
	_cleanup_(record_freep) struct record *record = NULL;
	int r;

	if (s->wish.since_ns && job->changed_ns <= s->wish.since_ns)
		return document_format_line(format_unchanged, &(struct listed){ s->snapshot, job },
					    ret, ret_length);
	r = job_record_make(s->snapshot, job, &s->node, s->wish.in_sums, &record);

	if (r >= 0)
		r = job_record_add_label(job, record);
	return r < 0 ? r : document_format_line(api_format_record, record, ret, ret_length);
}

static bool is_listed(const struct stream *s, const struct snapshot_job *job)
{
	uint64_t now_ns = s->snapshot->boot_ns;

	if (!job->is_live && now_ns > job->job->end_boot_ns &&
	    now_ns - job->job->end_boot_ns > s->wish.ended_ns)
		return false;
	return api_view_sees(&s->view, job);
}

static const struct list_form jobs_form = { format_jobs_head, format_jobs_job },
			      tick_form = { format_wire_snapshot_head, format_wire_snapshot_job };

static void format_empty(const void *stream, struct document *d)
{
	const struct stream *s = stream;

	document_begin_map(d);
	s->form->format_head(s, d);
	document_begin_list_of(d, "jobs");
	document_end_list(d);
	document_end_map(d);
}

/* A document without jobs, up to where they come. */
static int begin_list(struct stream *s)
{
	char *text = NULL;
	size_t length;
	int r = document_format_line(format_empty, s, &text, &length);

	s->has_begun = true;
	if (r < 0)
		return r;
	*strrchr(text, ']') = '\0';
	return set_text(s, text);
}

static int list_job(struct stream *s, const struct snapshot_job *job)
{
	char *text = NULL, *item;
	size_t length;
	int r = s->form->format_job(s, job, &text, &length);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0'; /* the document's end */
	if (asprintf(&item, "%s%s\n", s->listed++ ? "," : "", text) < 0)
		item = NULL;
	free(text);
	return set_text(s, item);
}

/* The next piece of text. */
static int go_on(struct stream *s)
{
	if (!s->has_begun)
		return begin_list(s);
	while (s->next < s->snapshot->job_count) {
		const struct snapshot_job *job = &s->snapshot->jobs[s->next++];

		if (is_listed(s, job))
			return list_job(s, job);
	}
	s->has_ended = true;
	return set_text(s, strdup("]}\n"));
}

static ssize_t stream_next(void *context, char *buffer, size_t size)
{
	struct stream *s = context;
	size_t used = 0;

	while (used < size) {
		size_t piece = MIN(size - used, s->length - s->sent);

		if (piece) {
			memcpy(buffer + used, s->text + s->sent, piece);
			s->sent += piece;
			used += piece;
			continue;
		}
		if (s->has_ended)
			break;
		if (go_on(s) < 0)
			return -1;
	}
	return (ssize_t)used;
}

static int answer_stream(const struct stream *stream, struct http_answer *ret)
{
	struct stream *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = *stream;
	snapshot_ref(s->snapshot);
	*ret = (struct http_answer){ .status = 200,
				     .type = TYPE_JSON,
				     .next = stream_next,
				     .done = stream_free,
				     .context = s };
	return 0;
}

int api_stream_jobs(struct snapshot *snapshot, const struct api_view *view, struct http_answer *ret)
{
	const struct stream stream = { .snapshot = snapshot,
				       .view = *view,
				       .form = &jobs_form,
				       .wish = { .ended_ns = UINT64_MAX } };

	return answer_stream(&stream, ret);
}

int api_stream_snapshot(struct snapshot *snapshot, const struct api_view *view,
			const struct job_record_node *node, const struct node_values *values,
			const struct api_wish *wish, struct http_answer *ret)
{
	const struct stream stream = { .snapshot = snapshot,
				       .view = *view,
				       .form = &tick_form,
				       .node = *node,
				       .node_values = *values,
				       .wish = *wish };

	return answer_stream(&stream, ret);
}

/* ---- snapshots for clients that poll ---- */

struct query {
	uint64_t age_ns;
	struct api_wish wish; /* ahead_ns UINT64_MAX: no reading ahead is wanted */
};

/* A number of seconds in the query; without it *@ns stays as it is.  -EINVAL. */
static int take_seconds(const struct http_request *request, const char *key, uint64_t *ns)
{
	const char *text = http_query(request, key);

	return text ? parse_seconds(text, ns) : 0;
}

static int take_query(const struct http_request *request, struct query *ret,
		      struct http_answer *answer)
{
	const char *files = http_query(request, "files");

	*ret = (struct query){ .age_ns = API_LIST_AGE_NS,
			       .wish = { .ahead_ns = UINT64_MAX, .in_sums = files } };
	if (take_seconds(request, "max_age", &ret->age_ns) < 0 ||
	    take_seconds(request, "ended", &ret->wish.ended_ns) < 0 ||
	    take_seconds(request, "ahead", &ret->wish.ahead_ns) < 0 ||
	    take_seconds(request, "since", &ret->wish.since_ns) < 0) {
		(void)http_fail(answer, 400,
				"'max_age', 'ended', 'since' and 'ahead' are numbers of seconds");
		return -1;
	}
	if (files && strcmp(files, "sums") != 0) {
		(void)http_fail(answer, 400, "'files' is 'sums'");
		return -1;
	}
	ret->age_ns = MAX(ret->age_ns, API_RECORD_AGE_NS);
	return 0;
}

/* Every user may have a reading taken, so none is as fresh as a list may be: at most as fresh as a
 * record.  A client that accepts an older one gets the last, with which rates may begin. */
int api_wire_snapshot_answer(struct api_ahead *ahead, struct sampler *sampler,
			     const struct http_request *request, const struct api_view *view,
			     struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct node_values values;
	struct job_record_node node;
	struct error err = {};
	struct query query;

	if (take_query(request, &query, ret) < 0)
		return 0;
	sampler_want_commands(sampler);
	if (sampler_get(sampler, query.age_ns, &snapshot, &err) < 0)
		return http_fail(ret, 503, "there is no reading: %s", err.text);
	sampler_get_node(sampler, &node);
	node.cluster = NULL; /* the configuration's, which may be another before all is sent */
	if (query.wish.ahead_ns < UINT64_MAX) {
		ahead->uid = request->peer.uid;
		query.wish.ahead = &ahead->ns;
		query.wish.ahead_ns = MAX(query.wish.ahead_ns, API_RECORD_AGE_NS);
	}
	values = sampler_get_node_values(sampler);
	return api_stream_snapshot(snapshot, view, &node, &values, &query.wish, ret);
}
