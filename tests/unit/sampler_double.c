/* SPDX-License-Identifier: MIT */
#include "sampler_double.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "codec/trace_post.h"
#include "model/document.h"
#include "node/job_record.h"
#include "model/record.h"

struct sampler {
	struct snapshot *snapshot;
	uint64_t asked_age_ns;
	bool wants_commands;
};

struct sampler *sampler_double_new(struct snapshot *snapshot)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->snapshot = snapshot ? snapshot_ref(snapshot) : NULL;
	return s;
}

struct sampler *sampler_double_free(struct sampler *s)
{
	snapshot_unref(s->snapshot);
	free(s);
	return NULL;
}

void sampler_double_set(struct sampler *s, struct snapshot *snapshot)
{
	snapshot_unref(s->snapshot);
	s->snapshot = snapshot_ref(snapshot);
}

uint64_t sampler_double_asked_age(const struct sampler *s)
{
	return s->asked_age_ns;
}

bool sampler_double_wants_commands(const struct sampler *s)
{
	return s->wants_commands;
}

void sampler_want_commands(struct sampler *s)
{
	s->wants_commands = true;
}

int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err)
{
	s->asked_age_ns = max_age_ns;
	if (!s->snapshot)
		return error_set(err, -EIO, "the double has none");
	*ret = snapshot_ref(s->snapshot);
	return 0;
}

int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err)
{
	struct record *record = record_new();

	(void)err;
	if (!record || snapshot != s->snapshot)
		abort();
	record->job.manager = strdup(job->job->manager);
	record->job.id = strdup(job->job->id);
	record->job.uid = job->job->uid;
	record->is_final = !job->is_live;
	memcpy(record->reading.values, job->values, sizeof(job->values));
	*ret = record;
	return 0;
}

int sampler_add_trace(struct sampler *s, const struct trace_post *post, struct error *err)
{
	(void)s;
	if (post->group_id == 1009)
		return 0;
	return error_set(err, post->group_id == 1013 ? -ESTALE : -ENOENT, "the double has none");
}

void sampler_format_energy(const struct sampler *s UNUSED, struct document *d)
{
	document_begin_map(d);
	document_end_map(d);
}

void sampler_format_gpus(const struct sampler *s, int64_t only_uid, struct document *d)
{
	(void)s;
	document_begin_map(d);
	document_put_signed(d, "only_uid", only_uid);
	document_end_map(d);
}

struct node_values sampler_get_node_values(struct sampler *s)
{
	(void)s;
	return (struct node_values){ .boot_ns = 7000000000, .values[NODE_CPUS] = { 4, true } };
}

void sampler_get_node(const struct sampler *s, struct job_record_node *ret)
{
	(void)s;
	*ret = (struct job_record_node){ .node = "made-node" };
}

int sampler_describe(const struct sampler *s, struct record *record)
{
	(void)s;
	return strings_add(&record->coverage.missing, "made: by a double");
}

void sampler_get_state(const struct sampler *s, struct sampler_state *ret)
{
	(void)s;
	*ret = (struct sampler_state){ .readings = 41, .jobs_live = 3 };
}

struct snapshot *snapshot_double_new(size_t count)
{
	struct snapshot *s = snapshot_new();

	if (!s)
		abort();
	s->jobs = calloc(count, sizeof(*s->jobs));
	s->job_count = count;
	s->real_ns = UINT64_C(1770091506123456789);
	return s;
}

struct snapshot_job *snapshot_double_fill(struct snapshot *s, size_t index, const char *manager,
					  const char *id, int64_t uid)
{
	struct snapshot_job *job = &s->jobs[index];

	job->job = job_new(manager, id);
	if (!job->job)
		abort();
	job->job->uid = uid;
	job->is_live = true;
	job->values[METRIC_CPU_USER] = (struct value){ 7 + index, true };
	return job;
}

const char *http_query(const struct http_request *request, const char *key)
{
	for (const struct query_double *q = request->connection; q && q->key; q++) {
		if (strcmp(q->key, key) == 0)
			return q->value;
	}
	return NULL;
}

int http_fail(struct http_answer *ret, unsigned int status, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&ret->text, format, args);
	va_end(args);
	ret->status = status;
	ret->length = length < 0 ? 0 : (size_t)length;
	return length < 0 ? -ENOMEM : 0;
}
