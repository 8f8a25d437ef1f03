/* SPDX-License-Identifier: MIT */
#include "export/exposition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/accept.h"
#include "basic/cleanup.h"
#include "export/exposition_parts.h"
#include "http/http.h"
#include "basic/macro.h"
#include "model/sections/energy.h"
#include "model/sections/job_gpus.h"
#include "model/sections/trace.h"
#include "node/job_record.h"

/* Younger jobs get _created lines: a scraper may not have seen them before.  For all jobs the page
 * would be twice as long. */
#define CREATED_NS UINT64_C(600000000000)

struct exposition {
	struct exposition_options options;
	struct shown_mounts mounts;
	struct row_order order;
	/* The position in the page: the family goes from metric @first to before @last... */
	size_t first, last;
	bool has_heading, is_ended;
	/* ... and in it, next is this metric of this job from this row on; or this sample. */
	size_t job, id, row, sample;
	struct line line;
};

enum exposition_format exposition_choose(const char *accept)
{
	unsigned int openmetrics = accept_exact_type(accept, "application/openmetrics-text",
						     "version", "1.0.0");

	/* who only says that anything will do gets what everybody can read */
	return openmetrics && openmetrics >= accept_type(accept, "text/plain", "version", "0.0.4")
		       ? EXPOSITION_OPENMETRICS
		       : EXPOSITION_TEXT;
}

const char *exposition_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- jobs ---- */

static bool is_same_job(const struct snapshot_job *a, const struct snapshot_job *b)
{
	return strcmp(a->job->id, b->job->id) == 0 && strcmp(a->job->manager, b->job->manager) == 0;
}

/* A page with the same series twice is thrown away whole; so, of several jobs of one name (one that
 * was put back into the queue) the live one is shown, else the last. */
static bool is_overshadowed(const struct snapshot *s, size_t index)
{
	const struct snapshot_job *job = &s->jobs[index];

	for (size_t i = index + 1; i < s->job_count && is_same_job(job, &s->jobs[i]); i++) {
		if (s->jobs[i].is_live || !job->is_live)
			return true;
	}
	for (size_t i = index; i > 0 && is_same_job(job, &s->jobs[i - 1]); i--) {
		if (s->jobs[i - 1].is_live && !job->is_live)
			return true;
	}
	return false;
}

static bool is_shown(const struct exposition *e, size_t index)
{
	const struct exposition_options *o = &e->options;

	return (!o->may_see || o->may_see(o->context, &o->snapshot->jobs[index])) &&
	       !is_overshadowed(o->snapshot, index);
}

/* A series of a job: the values of its labels behind manager and jobid, as metric_labels() names
 * them, and its number. */
struct series {
	const char *values[SCOPE_LABELS_MAX - 2];
	uint64_t number;
	char text[24]; /* a user's number, or the name of a card */
};
_Static_assert(sizeof((struct series){}.text) >= GPU_NAME_SIZE, "a card's name fits");

static bool take_value(struct series *ret, struct value value)
{
	ret->number = value.number;
	return value.is_known;
}

static bool next_value(struct exposition *e UNUSED, enum metric_id id,
		       const struct snapshot_job *job, struct series *ret)
{
	return take_value(ret, job->values[id]);
}

static bool next_energy(struct exposition *e UNUSED, enum metric_id id,
			const struct snapshot_job *job, struct series *ret)
{
	const struct energy *energy = energy_of_parts(&job->parts);

	if (!energy->count)
		return false;
	ret->values[0] = energy_level_name(energy_level(energy));
	ret->values[1] = energy_quality_name(energy_quality(energy));
	return take_value(ret, job->values[id]);
}

static bool next_info(struct exposition *e UNUSED, enum metric_id id UNUSED,
		      const struct snapshot_job *of, struct series *ret)
{
	const struct job *job = of->job;

	if (job->uid >= 0)
		snprintf(ret->text, sizeof(ret->text), "%" PRId64, job->uid);
	ret->values[0] = job->user ? job->user : ret->text;
	ret->values[1] = job->account;
	ret->values[2] = job->partition;
	ret->values[3] = job->name;
	ret->number = 1;
	return true;
}

static bool next_time(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
		      struct series *ret)
{
	ret->number = id == METRIC_JOB_START	 ? job->job->start_ns
		      : id == METRIC_JOB_ELAPSED ? snapshot_job_elapsed(e->options.snapshot, job)
		      : job->is_live		 ? 0
						 : job->job->end_ns;
	return ret->number != 0;
}

/* Of a job that has ended nothing is known now. */
static bool next_now(struct exposition *e UNUSED, enum metric_id id, const struct snapshot_job *job,
		     struct series *ret)
{
	return take_value(ret, thermal_now_value(&job->now, id));
}

static bool next_row(struct exposition *e, enum metric_id id, const struct snapshot_job *job UNUSED,
		     struct series *ret)
{
	const struct snapshot *s = e->options.snapshot;
	const struct metric *metric = metric_get(id);
	const struct snapshot_row *row;

	if (!s->has_mounts || metric->kind == KIND_HISTOGRAM ||
	    (metric->unit == UNIT_SECONDS && !s->has_seconds) ||
	    !row_order_next(&e->order, &e->mounts, id, &e->row, &row, &ret->number))
		return false;
	ret->values[0] = shown_mounts_name(&e->mounts, row->mount);
	ret->values[1] = s->mounts[row->mount].fstype;
	ret->values[2] = metric->scope == SCOPE_MOUNT_OP
				 ? file_op_name((enum file_op)row->op)
				 : file_interface_name((enum file_interface)row->interface);
	return true;
}

/* The next kind of socket that was used. */
static bool next_socket(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
			struct series *ret)
{
	const struct network *n = network_of(&job->parts);
	enum socket_kind kind;

	while (e->row < SOCKET_KIND_COUNT && !(network_has_kind(n, (enum socket_kind)e->row) &&
					       network_takes((enum socket_kind)e->row, id)))
		e->row++;
	if (metric_get(id)->kind == KIND_HISTOGRAM || !network_knows(n, id) ||
	    e->row == SOCKET_KIND_COUNT)
		return false;
	kind = (enum socket_kind)e->row++;
	ret->values[0] = socket_kind_name(kind);
	ret->number = network_number(n, kind, id);
	return true;
}

/* The next device on which there was such an operation. */
static bool next_device(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
			struct series *ret)
{
	const struct block *b = block_of(&job->parts);

	while (e->row < b->count && !block_has(&b->items[e->row], id))
		e->row++;
	if (metric_get(id)->kind == KIND_HISTOGRAM || !b->is_known || e->row >= b->count)
		return false;
	ret->values[0] = b->items[e->row].name;
	ret->number = block_number(&b->items[e->row++], id);
	return true;
}

/* The next component that energy went through; entries of one differ in their source. */
static bool next_component(struct exposition *e, enum metric_id id UNUSED,
			   const struct snapshot_job *job, struct series *ret)
{
	const struct energy *energy = energy_of_parts(&job->parts);
	const struct energy_entry *entry;

	if (!energy_has_components(energy))
		return false;
	while (e->row < energy->count && !energy_of_component(energy, e->row, &ret->number))
		e->row++;
	if (e->row >= energy->count)
		return false;
	entry = &energy->items[e->row++];
	ret->values[0] = energy_part_name(entry->part);
	ret->values[1] = energy_quality_name(entry->quality);
	return true;
}

/* The next function that was traced. */
static bool next_function(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
			  struct series *ret)
{
	const struct traced_calls *calls = traced_calls_of_parts(&job->parts);
	const struct traced_function *function;

	if (e->row >= calls->count)
		return false;
	function = &calls->items[e->row++];
	ret->values[0] = function->set;
	ret->values[1] = function->function;
	ret->number = traced_number(function, id);
	return true;
}

/* The next GPU that the job held, of which the number is known. */
static bool next_gpu(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
		     struct series *ret)
{
	const struct job_gpus *gpus = job_gpus_of_parts(&job->parts);

	while (e->row < gpus->count && !take_value(ret, job_gpu_get(&gpus->items[e->row], id)))
		e->row++;
	if (e->row >= gpus->count)
		return false;
	ret->values[0] = gpus->items[e->row].name;
	ret->values[1] = gpus->items[e->row++].uuid;
	return true;
}

/* The next GPU that the job held. */
static bool next_gpu_info(struct exposition *e, enum metric_id id UNUSED,
			  const struct snapshot_job *job, struct series *ret)
{
	const struct job_gpus *gpus = job_gpus_of_parts(&job->parts);
	const struct job_gpu *gpu;

	if (e->row >= gpus->count)
		return false;
	gpu = &gpus->items[e->row++];
	job_gpu_card(gpu, ret->text);
	ret->values[0] = ret->text;
	ret->values[1] = gpu->uuid;
	ret->values[2] = job_gpu_instance(gpu);
	ret->number = 1;
	return true;
}

static const struct job_scope {
	/* False: the job has no series of it, or no more; NULL: in records alone. */
	bool (*next)(struct exposition *e, enum metric_id id, const struct snapshot_job *job,
		     struct series *ret);
	bool has_parts; /* several series of a job, each with a label of its own */
} job_scopes[SCOPE_JOB_COURSE + 1] = {
	[SCOPE_JOB] = { next_value },
	[SCOPE_JOB_ENERGY] = { next_energy },
	[SCOPE_MOUNT] = { next_row, true },
	[SCOPE_MOUNT_OP] = { next_row, true },
	[SCOPE_MOUNT_INTERFACE] = { next_row, true },
	[SCOPE_SOCKET] = { next_socket, true },
	[SCOPE_DEVICE] = { next_device, true },
	[SCOPE_FUNCTION] = { next_function, true },
	[SCOPE_GPU] = { next_gpu, true },
	[SCOPE_JOB_INFO] = { next_info },
	[SCOPE_JOB_GPU] = { next_gpu_info, true },
	[SCOPE_JOB_TIME] = { next_time },
	[SCOPE_JOB_COMPONENT] = { next_component, true },
	[SCOPE_JOB_NOW] = { next_now },
};

static void begin_sample(struct exposition *e, const struct metric *metric)
{
	if (!e->has_heading)
		line_put_family(&e->line, metric);
	e->has_heading = true;
	line_begin(&e->line, metric);
}

/* The next sample of a job and a metric; without another one the metric moves on. */
static bool put_job_sample(struct exposition *e, const struct snapshot_job *job)
{
	const struct metric *metric = metric_get((enum metric_id)e->id);
	const struct job_scope *scope = &job_scopes[metric->scope];
	const char *const *names = metric_labels(metric->scope);
	struct series series = {};
	const bool has_one = scope->next(e, (enum metric_id)e->id, job, &series);

	if (has_one) {
		begin_sample(e, metric);
		line_put_label(&e->line, names[0], job->job->manager);
		line_put_label(&e->line, names[1], job->job->id);
		for (size_t i = 2; names[i]; i++)
			line_put_label(&e->line, names[i], series.values[i - 2]);
		line_end(&e->line, metric, series.number);
	}
	if (has_one && scope->has_parts)
		return true;
	e->row = 0;
	e->id++;
	return has_one;
}

/* 1: there is one; 0: the family has no more. */
static int put_next_of_jobs(struct exposition *e)
{
	const struct snapshot *s = e->options.snapshot;

	for (; s && e->job < s->job_count; e->job++, e->id = e->first) {
		if (!is_shown(e, e->job))
			continue;
		if (row_order_set(&e->order, &e->mounts, &s->jobs[e->job]) < 0)
			return -ENOMEM;
		e->line.created_ns = snapshot_job_elapsed(s, &s->jobs[e->job]) < CREATED_NS
					     ? s->jobs[e->job].job->start_ns
					     : 0;
		while (e->id < e->last) {
			if (put_job_sample(e, &s->jobs[e->job]))
				return 1;
		}
	}
	return 0;
}

/* ---- node and agent ---- */

static int put_next_of_samples(struct exposition *e)
{
	e->line.created_ns = 0;
	while (e->sample < e->options.samples.count) {
		const struct sample *sample = &e->options.samples.items[e->sample++];
		const struct metric *metric = metric_get(sample->id);
		const char *const *names = metric_labels(metric->scope);

		if (sample->id < e->first || sample->id >= e->last)
			continue;
		begin_sample(e, metric);
		for (size_t i = 0; i < SAMPLE_LABELS_MAX && names[i]; i++)
			line_put_label(&e->line, names[i], sample->labels[i]);
		line_end(&e->line, metric, sample->number);
		return 1;
	}
	return 0;
}

/* ---- the page ---- */

/* Metrics of one name are one family, and neighbours in the table. */
static void set_family(struct exposition *e, size_t first)
{
	e->first = e->last = e->id = first;
	while (e->last < METRIC_COUNT && strcmp(metric_get((enum metric_id)e->last)->name,
						metric_get((enum metric_id)first)->name) == 0)
		e->last++;
	e->job = e->row = e->sample = 0;
	e->has_heading = false;
}

/* 0, with an empty line: the page has ended. */
static int make_line(struct exposition *e)
{
	e->line.length = e->line.given = 0;
	while (e->first < METRIC_COUNT) {
		const enum metric_scope scope = metric_get((enum metric_id)e->first)->scope;
		int r = scope > SCOPE_JOB_COURSE ? put_next_of_samples(e)
			: job_scopes[scope].next ? put_next_of_jobs(e)
						 : 0;

		if (r != 0)
			return r < 0 ? r : 0;
		set_family(e, e->last);
	}
	if (!e->is_ended && e->options.format == EXPOSITION_OPENMETRICS)
		line_put(&e->line, "# EOF\n");
	e->is_ended = true;
	return 0;
}

ssize_t exposition_next(void *context, char *buffer, size_t size)
{
	struct exposition *e = context;
	size_t used = 0;

	while (used < size) {
		size_t length = MIN(e->line.length - e->line.given, size - used);
		int r = length ? 0 : make_line(e);

		if (r < 0)
			return r;
		if (e->line.length == 0)
			break;
		memcpy(buffer + used, e->line.text + e->line.given, length);
		e->line.given += length;
		used += length;
	}
	return (ssize_t)used;
}

int exposition_new(const struct exposition_options *options, struct exposition **ret)
{
	_cleanup_(exposition_freep) struct exposition *e = calloc(1, sizeof(*e));

	if (!e || shown_mounts_init(&e->mounts, options->snapshot, options->names) < 0)
		return -ENOMEM;
	e->options = *options;
	e->line.format = options->format;
	snprintf(e->line.prefix, sizeof(e->line.prefix), "%.*s_", METRIC_PREFIX_SIZE - 2,
		 options->prefix ? options->prefix : METRIC_PREFIX);
	set_family(e, 0);
	*ret = TAKE_PTR(e);
	return 0;
}

struct exposition *exposition_free(struct exposition *e)
{
	if (!e)
		return NULL;
	if (e->options.done)
		e->options.done(e->options.context);
	samples_clear(&e->options.samples);
	shown_mounts_clear(&e->mounts);
	row_order_clear(&e->order);
	free(e);
	return NULL;
}

void exposition_freep(struct exposition **e)
{
	exposition_free(*e);
}

static void free_context(void *context)
{
	exposition_free(context);
}

void exposition_answer(struct exposition *e, struct http_answer *ret)
{
	*ret = (struct http_answer){ .status = 200,
				     .type = exposition_type(e->options.format),
				     .next = exposition_next,
				     .done = free_context,
				     .context = e };
}
